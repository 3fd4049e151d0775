"""How low the search goes: median loss over fresh seeds on the published sets, as `python benchmarks/goals.py 10 60`.

Takes the number of seeds, the seconds for each run, and optionally the sets; one thread; needs SFUMATO_DATA.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

import polars as pl

from sfumato.tabular.microaggregation.improve import improve
from sfumato.tabular.microaggregation.loss import information_loss, standardize
from sfumato.tabular.microaggregation.mdav import mdav

GOALS = {
    ("census", 3): 4.69,
    ("census", 10): 11.42,
    ("tarragona", 3): 14.475,
    ("tarragona", 10): 30.12,
    ("eia", 3): 0.350,
    ("eia", 4): 0.485,
    ("eia", 5): 0.735,
    ("eia", 10): 1.95,
}
NOT_USED = ["UTILNAME", "STATE", "YEAR", "MONTH"]
FIRST_SEED = 101


def losses(name: str, k: int, seeds: int, seconds: float) -> list[float]:
    """Return the loss of a run from MDAV for every seed."""
    frame = pl.read_csv(Path(os.environ["SFUMATO_DATA"]) / f"{name}.csv").drop(NOT_USED, strict=False)
    x = standardize(frame.to_numpy().astype(float))
    start = mdav(x, k)
    runs = (improve(x, k, start, seconds=seconds, seed=FIRST_SEED + number) for number in range(seeds))
    return [information_loss(x, labels) for labels in runs]


def main() -> None:
    """Print one row per set and k."""
    seeds, seconds, wanted = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    print("| set | k | median | lowest | highest | goal |\n|---|---|---|---|---|---|")
    for (name, k), goal in GOALS.items():
        if not wanted or name in wanted:
            found = losses(name, k, seeds, seconds)
            row = f"{statistics.median(found):.4f} | {min(found):.4f} | {max(found):.4f} | {goal:g}"
            print(f"| {name.upper()} | {k} | {row} |", flush=True)


if __name__ == "__main__":
    main()
