"""Run in anonypyx's own environment: time it on a CSV file and print time, classes and loss as JSON.

Called as `peer_anonypyx.py FILE ALGORITHM [COLUMN]`: with a column the table is to be 3-diverse in it as well.
"""

from __future__ import annotations

import json
import sys
import time

import anonypyx
import pandas as pd

if __name__ == "__main__":
    file, algorithm, *sensitive = sys.argv[1:]
    frame = pd.read_csv(file)
    quasi = [name for name in frame.columns if name not in sensitive]
    if algorithm == "MDAV-generic":
        frame = frame.astype(float)  # it standardizes in place, which pandas refuses for integers
    diverse = {"l": 3, "sensitive_column": sensitive[0]} if sensitive else {}
    start = time.perf_counter()
    found = anonypyx.Anonymiser(frame, k=10, feature_columns=quasi, algorithm=algorithm, **diverse).anonymise()
    seconds = time.perf_counter() - start
    spans = {name: float(frame[name].max() - frame[name].min()) for name in quasi}
    loss = sum((found[f"{name}_max"] - found[f"{name}_min"]) / spans[name] for name in quasi) / len(quasi)
    edges = [f"{name}_{end}" for name in quasi for end in ("min", "max")]
    ncp = float((loss * found["count"]).sum() / found["count"].sum())
    print(json.dumps({"seconds": seconds, "classes": len(found[edges].drop_duplicates()), "ncp": ncp}))
