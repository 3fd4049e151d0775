"""Run in OpenDP's own environment: time draws of its discrete Laplace noise and print it as JSON.

Called as `peer_opendp_noise.py SCALE DRAWS`.
"""

from __future__ import annotations

import json
import sys
import time

import opendp.prelude as dp

if __name__ == "__main__":
    scale, draws = float(sys.argv[1]), int(sys.argv[2])
    dp.enable_features("contrib")
    mechanism = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale)
    zeros = [0] * draws
    mechanism(zeros[:1000])
    start = time.perf_counter()
    mechanism(zeros)
    print(json.dumps({"seconds": time.perf_counter() - start}))
