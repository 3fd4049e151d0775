"""Run in pyCANON's own environment: time its measures of a CSV file and print them as JSON.

Called as `peer_pycanon.py FILE SENSITIVE...`; all other columns are quasi-identifiers.
"""

from __future__ import annotations

import json
import sys
import time

import pandas as pd
from pycanon import anonymity

PER_COLUMN = {
    "l": anonymity.l_diversity,
    "t": anonymity.t_closeness,
    "beta": anonymity.basic_beta_likeness,
    "delta": anonymity.delta_disclosure,
}

if __name__ == "__main__":
    frame, sensitive = pd.read_csv(sys.argv[1]), sys.argv[2:]
    quasi = [name for name in frame.columns if name not in sensitive]
    start = time.perf_counter()
    values: dict[str, float] = {"k": anonymity.k_anonymity(frame, quasi)}
    for column in sensitive:
        values |= {f"{name} of {column}": float(tell(frame, quasi, [column])) for name, tell in PER_COLUMN.items()}
        values[f"alpha of {column}"] = float(anonymity.alpha_k_anonymity(frame, quasi, [column])[0])
    print(json.dumps({"seconds": time.perf_counter() - start, "values": values}))
