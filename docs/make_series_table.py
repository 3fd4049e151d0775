"""Write table and picture of the layers of `republish`: what each keeps of a series in which people come and go.

In each release a part of the people leaves, as many come, and some get another sensitive value, under a new id. The
exact audit counts whom an attacker finds who knows everybody. Real data lie in `SFUMATO_DATA`, else they are left out.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.audit import series
from sfumato.errors import UnsatisfiableError
from sfumato.report.charts.svg import AFTER, BEFORE, SOFT, draw, standalone
from sfumato.tabular import republish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent
PAGE, PICTURE = FOLDER / "algorithms" / "republication.md", FOLDER / "images" / "series-layers.svg"
BLOCK = re.compile(r"(<!-- series -->\n).*?(<!-- /series -->\n)", re.DOTALL)
Layer = Literal["exact", "bpg", "m-invariance"]
LAYERS: tuple[Layer, ...] = ("exact", "bpg", "m-invariance")
PEOPLE, LEAVING, CHANGING = 200, 10, 2
RELEASES, SEEDS = (5, 12), (101, 102)
K, L = 5, 3


class Data(NamedTuple):
    """Rows to draw people from, and the columns of a series."""

    rows: pl.DataFrame
    quasi: list[str]
    sensitive: str

    @property
    def schema(self) -> sf.Schema:
        """The roles of the columns."""
        return sf.Schema.from_roles(quasi=self.quasi, sensitive=[self.sensitive], person="id", other="drop")


class Case(NamedTuple):
    """One series by one layer: what was released of it, what was lost, whom the audit finds, and seconds of CPU."""

    released: float
    nobody: float
    classes: float
    loss: float
    below: float
    unsettled: float
    seconds: float


def sources() -> dict[str, Data]:
    """Return the tables there are."""
    found = {"patients": Data(sf.samples.patients(20_000), ["age", "sex", "zip"], "disease")}
    folder = Path(os.environ.get("SFUMATO_DATA", "data"))
    if (folder / "adult_train.csv.gz").exists():
        adult = pl.read_csv(folder / "adult_train.csv.gz")
        found["Adult"] = Data(adult, ["age", "sex", "race", "education"], "occupation")
    if (folder / "ipums_1980_extract.csv").exists():
        census = pl.read_csv(folder / "ipums_1980_extract.csv")
        found["IPUMS"] = Data(census, ["age", "sex", "race", "educrec"], "marstat")
    return found


def tables(data: Data, seed: int, releases: int) -> list[sf.Table]:
    """Return the tables of a series: some leave, as many come, and some come back with another value and a new id."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(data.rows.height)[: PEOPLE + LEAVING * releases]
    texts = pl.col("id", data.sensitive).cast(pl.String)
    everybody = data.rows[order].with_row_index("id").with_columns(texts)
    values = everybody.get_column(data.sensitive).to_list()
    names = everybody.get_column("id").to_list()
    found = []
    for release in range(releases):
        here = range(LEAVING * release, LEAVING * release + PEOPLE)
        if release:
            for row in rng.choice(here[:-LEAVING], CHANGING, replace=False).tolist():
                values[row], names[row] = values[int(rng.choice(here))], f"{names[row]}-{release}"
        columns = [pl.Series("id", names), pl.Series(data.sensitive, values)]
        found.append(sf.Table(everybody.with_columns(columns)[list(here)]))
    return found


def measure(data: Data, layer: Layer, seed: int, releases: int) -> Case:
    """Return what one layer makes of one series."""
    models = [sf.LDiversity(L, data.sensitive), *([] if layer == "m-invariance" else [sf.KAnonymity(K)])]
    read, start = tables(data, seed, releases), time.process_time()
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"XDG_STATE_HOME": folder}):
        out = [republish(table, data.schema, models, Path(folder) / "series", layer=layer) for table in read]
    seconds = time.process_time() - start
    nobody = [int(one.card.released.measures.get("counterfeit_rows", 0)) for one in out]
    audited = series([one.table for one in out], data.schema, l=L, people=read, counterfeits=nobody)[0].evidence
    return Case(
        released=100 * (sum(one.table.rows for one in out) - sum(nobody)) / (PEOPLE * releases),
        nobody=100 * sum(nobody) / (PEOPLE * releases),
        classes=out[-1].card.released.classes or 0,
        loss=100 * sf.evaluate.utility(read[-1], data.schema, out[-1].table).gcp,
        below=audited["persons_below_l"],
        unsettled=0 if audited["complete"] else 1,
        seconds=seconds,
    )


Cases = dict[tuple[str, int, Layer], list[Case | None]]


def measure_seed(cases: Cases, seed: int) -> None:
    """Measure all series of one seed; a layer that published nothing more is a case of None."""
    for name, data in sources().items():
        for releases in RELEASES:
            for layer in LAYERS:
                try:
                    case = measure(data, layer, seed, releases)
                except UnsatisfiableError:
                    case = None
                cases[name, releases, layer].append(case)
                print(name, releases, layer, seed, case, flush=True)


def spread(values: Iterable[float], digits: int = 0) -> str:
    """Return the middle value, and the least and most where they differ.

    >>> spread([3, 1, 2]), spread([1, 1])
    ('2 (1–3)', '1')
    """
    ordered = sorted(round(value, digits) for value in values)
    low, high = (f"{one:,.{digits}f}" for one in (ordered[0], ordered[-1]))
    return low if low == high else f"{statistics.median(ordered):,.{digits}f} ({low}–{high})"


def block(cases: Cases) -> str:
    """Return the table as Markdown."""
    lines = [
        "| data, releases | layer | % rows released | % rows of nobody | classes | % loss (NCP) | below l | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (name, releases, layer), series_ in cases.items():
        done = [case for case in series_ if case is not None]
        columns = list(zip(*done, strict=True))
        left = len(series_) - len(done)
        note = f" (nothing could be published any more in {left} of {len(series_)})" * bool(left)
        if not done:
            lines.append(f"| {name}, {releases} | {layer}{note} | | | | | | |")
            continue
        unsure = f", at least; {sum(map(int, columns[5]))} of {len(done)} not settled" * any(columns[5])
        lines.append(
            f"| {name}, {releases} | {layer}{note} | {spread(columns[0], 1)} | {spread(columns[1], 1)} | "
            f"{spread(columns[2])} | {spread(columns[3], 1)} | {spread(columns[4])}{unsure} | {spread(columns[6], 1)} |"
        )
    return "\n".join(lines) + "\n"


def picture(cases: Cases) -> str:
    """Return the picture: loss of the last release against persons found, a mark for every series."""
    looks = {"exact": (AFTER, "o"), "bpg": (BEFORE, "s"), "m-invariance": (SOFT, "^")}

    def paint(axes: Axes) -> None:
        for layer, (colour, mark) in looks.items():
            done = [case for key, some in cases.items() if key[2] == layer for case in some if case is not None]
            loss, below = [case.loss for case in done], [case.below for case in done]
            axes.scatter(loss, below, color=colour, marker=mark, s=16, label=layer, linewidths=0)
        axes.set_xlabel("loss of the last release (NCP, %)")
        axes.set_ylabel(f"persons left fewer than {L} values")
        axes.legend(frameon=False, labelcolor=SOFT, fontsize=9)

    label = "Loss against persons found: nobody in series of exact and m-invariance, some in most of bpg."
    return standalone(draw("series-layers", 230, label, paint))


def write(cases: Cases) -> None:
    """Write the table and the picture."""
    text = PAGE.read_text(encoding="utf-8")
    new, count = BLOCK.subn(lambda marks: f"{marks[1]}{block(cases)}{marks[2]}", text)
    if count != 1:
        raise ValueError(f"{PAGE.name} has {count} blocks between <!-- series --> and <!-- /series -->; it needs one")
    PAGE.write_text(new, encoding="utf-8")
    PICTURE.write_text(picture(cases), encoding="utf-8")


if __name__ == "__main__":
    found: Cases = defaultdict(list)
    for number in SEEDS:
        measure_seed(found, number)
        write(found)
