"""Run in the peers' own environment: time multi-freq-ldpy's unary encoding of many users and print it as JSON.

Called as `peer_multi_freq_ldpy.py FILE DOMAIN`, with the users' codes in a .npy file.
Its aggregator adds up a list of vectors; a list of all users would need 8 bytes a bit, so the sum is taken in batches.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

BATCH = 10_000
EPSILON = 1.0

if __name__ == "__main__":
    codes, domain = np.load(sys.argv[1]), int(sys.argv[2])
    UE_Client(0, domain, EPSILON)  # compiles
    start = time.perf_counter()
    total = np.zeros(domain)
    for first in range(0, len(codes), BATCH):
        total += sum(UE_Client(code, domain, EPSILON) for code in codes[first : first + BATCH])
    print(json.dumps({"seconds": time.perf_counter() - start}))
