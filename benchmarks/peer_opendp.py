"""Run in OpenDP's own environment: time its group-by over a Parquet file and print it as JSON."""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib import import_module
from typing import Any

import polars as pl

warnings.simplefilter("ignore")
dp: Any = import_module("opendp.prelude")  # its types know nothing of its polars part
dp.enable_features("contrib")


def ask(frame: pl.DataFrame) -> int:
    """Answer a count per hour once, with a new budget, and return how many groups came out."""
    context = dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["hour"], max_groups=24, invariant="keys")],
    )
    return len(context.query().group_by("hour").agg(dp.len()).release().collect())


if __name__ == "__main__":
    rows = pl.read_parquet(sys.argv[1])
    ask(rows)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        groups = ask(rows)
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": min(times), "groups": groups}))
