"""The lecture's numbers beside ours (Machado 2019)."""

from __future__ import annotations

import polars as pl

from sfumato.experiments.declared import ComparedNumber, Rows

TABLE = {-4.58: 3.70, -0.15: 6.98, 12.15: 1.25, -6.43: 2.85, 2.89: 4.72}
SUMS = {"without_first": 10.0, "without_second": 12.0, "without_third": 7.0, "without_fourth": 13.0}
CUT = 0.01  # the slide cuts its per cents after two decimals


def compare(rows: Rows) -> list[ComparedNumber]:
    """Return the example's sums, its sensitivity, its table of densities, and what local noise gives away."""
    found = rows["density"].select("noise", "density").iter_rows()
    densities = [
        ComparedNumber("table of the example", f"density at noise {noise:g}, per cent", TABLE[noise], ours, None,
                   "the slide cuts after two decimals; it writes Pr for what is a density", CUT)
        for noise, ours in found
    ]  # fmt: skip
    sums = rows["sensitivity"].filter(pl.col("query") == "sum").row(0, named=True)
    neighbours = [
        ComparedNumber("example", f"the sum {name.replace('_', ' the ')} person", paper, sums[name], None, "", 0.0)
        for name, paper in SUMS.items()
    ]
    local = ComparedNumber(
        "example",
        "sensitivity of the sum",
        7.0,
        sums["local"],
        sums["global"],
        "the slide's is local and private only by luck of the rows; ours is that of declared bounds, 0 to 10 houses",
        0.0,
    )
    return [*neighbours, local, *densities, *_leaks(rows["leak"])]


def _leaks(leak: pl.DataFrame) -> list[ComparedNumber]:
    one = leak.filter(pl.col("epsilon") == 1.0)
    reached = dict(one.select("calibration", "reached").iter_rows())
    note = (
        "the slide promises ε = 1; with noise scaled to the local sensitivity an observer reaches more, "
        "and ever more the farther out the answer lies"
    )
    return [
        ComparedNumber(
            "proof", "ε that an observer reaches at a promise of 1", 1.0, reached["local"], reached["global"], note
        )
    ]
