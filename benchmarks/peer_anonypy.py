"""Run in the peers' own environment: time anonypy's k-anonymity on a CSV file and print it as JSON."""

from __future__ import annotations

import json
import sys
import time

import anonypy
import pandas as pd

if __name__ == "__main__":
    frame = pd.read_csv(sys.argv[1])
    frame["sensitive"] = 1
    features = list(frame.columns[:-1])
    start = time.perf_counter()
    rows = anonypy.Preserver(frame, features, "sensitive").anonymize_k_anonymity(k=10)
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": len(rows)}))
