"""The DOCA experiment on real data: its published table within the stated tolerances, on stand-ins, and its rows.

Leal, Vidal & Machado (2018): EQM 143,064,439.6 against 20,297,943,836 of naive noise, 99.2952 % less; 85.98 % overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sfumato.experiments.data import Data
from sfumato.experiments.declared import Case, Experiment, Part, Rows
from sfumato.experiments.doca import EXPERIMENT
from sfumato.experiments.doca.comparison import compare
from sfumato.experiments.produce import produce

SMALLER = 5000
SPELT = ("publisher", "stream", "order", "readings", "delay", "beta", "m", "epsilon", "sensitivity", "seed")


def part(name: str) -> Part:
    return next(part for part in EXPERIMENT.parts if part.name == name)


def rows_of(data: Data, name: str, cases: Sequence[Case] | None = None) -> pl.DataFrame:
    """The rows of a part's cases, those of the quick run unless others are named, carried out in this process."""
    run = part(name).run
    named = part(name).quick if cases is None else cases
    return pl.DataFrame([{**case, **row} for case in named for row in run(data, **case)])


@pytest.fixture
def real(data: Callable[[str], Path]) -> Data:
    return Data(data(EXPERIMENT.files[0]).parent)


@pytest.fixture(scope="module")
def small() -> Experiment:
    """The quick grid with fewer readings still."""
    parts = tuple(
        replace(part, quick=[{**case, "readings": SMALLER} if part.name != "readings" else case for case in part.quick])
        for part in EXPERIMENT.parts
    )
    return replace(EXPERIMENT, parts=parts)


def within_tolerance(rows: Rows) -> int:
    """How many numbers have a stated tolerance; all of them are within it."""
    stated = [entry for entry in compare(rows) if entry.same is not None]
    assert [entry.what for entry in stated if not entry.same] == []
    return len(stated)


def published(data: Data, table: Sequence[Case]) -> Rows:
    """The rows that the comparison is made of; streams are short, since no published number stands beside them."""
    short = [{**case, "readings": SMALLER} for case in part("streams").quick]
    feeds = [{**case, "readings": SMALLER} for case in part("feeds").quick]
    asked = [case for case in part("guesses").quick if case["epsilon"] == 1.0]
    return {
        "readings": rows_of(data, "readings"),
        "table1": rows_of(data, "table1", table),
        "figure2": rows_of(data, "figure2"),
        "streams": rows_of(data, "streams", short),
        "feeds": rows_of(data, "feeds", feeds),
        "guesses": rows_of(data, "guesses", asked),
    }


def value(frame: pl.DataFrame, column: str, publisher: str) -> float:
    return float(frame.filter(publisher=publisher).get_column(column).item())


def test_the_published_numbers_come_out_within_the_stated_tolerances(real: Data) -> None:
    rows = published(real, part("table1").quick)
    assert within_tolerance(rows) == 6
    assert value(rows["table1"], "error", "doca") == pytest.approx(143_064_439.6, rel=0.02)
    assert value(rows["table1"], "error", "mean") < value(rows["table1"], "error", "doca")
    assert value(rows["table1"], "intersection", "adaptive") > 0.985
    assert value(rows["table1"], "distance", "adaptive") < 4e5
    limit = 1 / math.cosh(0.5) ** 2
    assert value(rows["guesses"], "left", "doca") < 0.35 < limit < value(rows["guesses"], "left", "linked") < 0.9


@pytest.mark.long
def test_five_orders_come_out_within_the_stated_tolerances(real: Data) -> None:
    rows = published(real, part("table1").full)
    assert within_tolerance(rows) == 7
    doca = rows["table1"].filter(publisher="doca", sensitivity=99_618.0)
    assert doca.height == 5
    assert doca.get_column("error").mean() == pytest.approx(143_064_439.6, rel=0.01)


@pytest.mark.long
def test_it_runs_without_data_and_says_so(small: Experiment, tmp_path: Path) -> None:
    page = produce(small, Data(None), tmp_path, quick=True)
    assert page.title.endswith("(quick run, on made-up stand-ins)")
    assert {figure.name for figure in page.figures} == {path.stem for path in (tmp_path / "doca").glob("*.png")}
    assert "not ε-differentially private" in (tmp_path / "doca.md").read_text(encoding="utf-8")
    for name, frame in page.rows.items():
        assert frame.height >= len(part(name).quick)
        wanted = ("stream", "seed") if name == "readings" else SPELT
        assert frame.select(wanted).null_count().row(0) == (0,) * len(wanted)


def test_every_case_has_a_seed_and_a_name_of_its_own() -> None:
    for each in EXPERIMENT.parts:
        for quick in (True, False):
            cases = [tuple(sorted(case.items(), key=str)) for case in each.cases(quick=quick)]
            assert len(set(cases)) == len(cases)
            assert all("seed" in dict(case) for case in cases)
