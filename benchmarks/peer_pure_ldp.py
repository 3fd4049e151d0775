"""Run in the peers' own environment: time pure-ldp's aggregation of local-hashing reports and print it as JSON.

Called as `peer_pure_ldp.py FILE DOMAIN`, with the users' codes in a .npy file.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer

EPSILON = 1.0

if __name__ == "__main__":
    codes, domain = np.load(sys.argv[1]), int(sys.argv[2])
    client = LHClient(EPSILON, domain, use_olh=True)
    server = LHServer(EPSILON, domain, use_olh=True)
    reports = [client.privatise(1 + code) for code in codes]
    start = time.perf_counter()
    for report in reports:
        server.aggregate(report)
    print(json.dumps({"seconds": time.perf_counter() - start}))
