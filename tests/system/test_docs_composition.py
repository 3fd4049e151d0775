"""Numbers that pages on algorithms quote from the composition experiment: they are those of its committed rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from sfumato.evaluate.calibration import PUBLISHED
from sfumato.experiments.composition.comparison import TABLES, mean

DOCS = Path(__file__).parents[2] / "docs"


def rows(part: str) -> pl.DataFrame:
    return pl.read_csv(DOCS / "experiments" / "composition" / f"{part}.csv", infer_schema_length=None)


def attacked() -> list[str]:
    """The lines of a table: what an attack finds on each anonymizer."""
    found = rows("attack").filter(pl.col("counting") == "inclusion")
    return [
        f"| {row['anonymizer']} | {row['share changed']:.0%} of {row['trials']} | {row['most classes']}, "
        f"{row['most rows']} | {row['before']:g} → {row['after']:g} | {row['least epsilon']:.2g} |"
        for row in found.iter_rows(named=True)
    ]


def calibrated() -> list[str]:
    """The lines of a table: errors of the printed sensitivities on both salaries."""
    found = rows("calibrations").filter(pl.col("counting") == "inclusion", pl.col("sensitivity measured") == "there")
    lines = []
    for sensitivity, printed in PUBLISHED.items():
        mine = found.filter(pl.col("sensitivity") == sensitivity)
        even, skewed = (mean(mine, "error", table=name) or 0 for name in ("census-10k", "census-10k, skewed salaries"))
        lines.append(
            f"| {TABLES[sensitivity][6:]}, {mine['calibration'][0]} | {sensitivity} | {printed} | {even:.3f} | "
            f"{skewed:.3f} |"
        )
    return lines


def private() -> list[str]:
    """The lines of a table: errors of private Mondrian beside plain Mondrian."""
    drawn, plain = rows("private-mondrian"), rows("anonymity").filter(pl.col("epsilon").is_null(), pl.col("k") == 10)
    lines = []
    for table in drawn["table"].unique(maintain_order=True):
        beside = [
            f"{mean(plain, 'error', table=table, range_ratio=0.6, seed=2014, counting=way):.4f}"
            for way in ("inclusion", "overlap", "expected")
        ]
        for epsilon in (0.1, 1.0):
            found = drawn.filter(table=table, epsilon=epsilon, range_ratio=0.6)
            errors, boxes = found["error"].to_numpy(), found["boxes"].to_numpy()
            ours = f"{table} | {epsilon} | {errors.mean():.4f} | {errors.max():.4f} | {boxes.mean():.0f}"
            lines.append(f"| {ours} | {' | '.join(beside)} |")
    return lines


def sampled() -> list[str]:
    """The lines of a table: what SafePub keeps of the IPUMS extract."""
    found = rows("sampled").filter(table="IPUMS", algorithm="SafePub", epsilon=1.0)
    lines = []
    for (k,), mine in found.group_by("k", maintain_order=True):
        share = mine["rows kept"].to_numpy().mean() / mine["rows sampled"].to_numpy().mean()
        measured = (mean(mine, "classes") or 0, mean(mine, "certainty penalty") or 0, mean(mine, "error") or 0)
        told = f"{k} | {mine['beta'][0]:.4f} | {mine['delta'][0]:.2g} | {mine['rows sampled'][0]} | {share:.0%}"
        lines.append(f"| {told} | {measured[0]:.0f} | {measured[1]:.3f} | {measured[2]:.3f} |")
    return sorted(lines, key=lambda line: int(line.split("|")[1]))


@pytest.mark.parametrize(
    "page, quoted",
    [
        ("audit-composition", attacked),
        ("calibrations", calibrated),
        ("private-mondrian", private),
        ("safepub", sampled),
    ],
)
def test_a_page_quotes_the_committed_rows(page: str, quoted: Callable[[], list[str]]) -> None:
    text = (DOCS / "algorithms" / f"{page}.md").read_text(encoding="utf-8")
    missing = [line for line in quoted() if line not in text]
    assert missing == []
    assert "sfumato experiment composition" in text
