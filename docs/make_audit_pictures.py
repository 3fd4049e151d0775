"""Write the pictures of the guide to audits: one row removed from the made-up census, and what answers tell of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.cells import read
from sfumato.random import SeededSource
from sfumato.report.charts.audit import class_picture, ratio_picture
from sfumato.report.charts.svg import AFTER, BEFORE, BEFORE_FILL, SOFT, draw, standalone
from sfumato.report.page.markup import Markup
from sfumato.schema import Schema
from sfumato.tabular.private.mondrian import PrivateMondrian

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent / "images"
EPSILON = 0.1
RUNS = 150
BOUNDS = {"age": (20, 69), "sex": (1, 2), "zip": (20000, 69000)}


def attack() -> dict[str, object]:
    """Return the evidence of the attack on a class of exactly ten rows."""
    people = sf.Table(sf.samples.census_10k())
    schema = sf.Schema.from_roles(quasi=list(BOUNDS), sensitive=["salary"])
    finding = sf.audit.composition(people, schema, [sf.KAnonymity(10)], epsilon=EPSILON, trials=0)
    shown: dict[str, object] = finding.evidence["class of k"]
    return shown


def survivors(row: int, box: dict[str, str]) -> Markup:
    """Return the answers of boxes with noise to the same query, with and without the same row, run after run."""
    columns = {
        name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.INTEGER, bounds=bounds) for name, bounds in BOUNDS.items()
    }
    schema = Schema(columns, other="drop")
    limits = {name: read(text).limits or (0, 0) for name, text in box.items()}
    people, source = sf.samples.census_10k(), SeededSource(2014)
    answers = []
    for frame in (people, people.filter(pl.int_range(pl.len()) != row - 1)):
        releases = (
            PrivateMondrian(EPSILON).anonymize(sf.Table(frame), schema, rng=source, audit=False) for _ in range(RUNS)
        )
        answers.append([sf.evaluate.expected_count(release.table, schema, limits) for release in releases])

    def paint(axes: Axes) -> None:
        edges = np.linspace(min(map(min, answers)), max(map(max, answers)), 19)
        with_row, without = (np.histogram(part, edges)[0] for part in answers)
        axes.stairs(with_row, edges, fill=True, color=BEFORE_FILL)
        axes.stairs(with_row, edges, color=BEFORE, linewidth=1.5, label="with the row")
        axes.stairs(without, edges, color=AFTER, linewidth=2, label="without it")
        axes.set_xlabel("answer to the same query")
        axes.set_ylabel("runs")
        axes.legend(frameon=False, labelcolor=SOFT, fontsize=9)

    return draw("survives", 210, f"Two histograms of {RUNS} answers, with the row and without, that lie alike.", paint)


def pictures() -> dict[str, str]:
    """Return the text of every picture by file name."""
    shown = attack()
    return {
        "audit-with.svg": standalone(class_picture(shown, after=False)),
        "audit-without.svg": standalone(class_picture(shown, after=True)),
        "audit-ratio.svg": standalone(ratio_picture(shown, EPSILON)),
        "audit-survives.svg": standalone(survivors(int(str(shown["row"])), dict(shown["box"]))),  # type: ignore[call-overload]
    }


if __name__ == "__main__":
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
