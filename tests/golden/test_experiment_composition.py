"""The dissertation's numbers (Pereira 2014) in paper mode, within the tolerances that the experiment's page states."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from sfumato.experiments.composition import EXPERIMENT
from sfumato.experiments.composition.comparison import ADDITIONS, MOVED, REMOVALS, compare, mean
from sfumato.experiments.composition.figures import draw
from sfumato.experiments.composition.tables import CENSUS, EXTRACT, IPUMS, SKEWED, noise
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Case, ComparedNumber, Part, Row, Scalar
from sfumato.experiments.page import Page

IN_SCOPE = {f"figure {number}" for number in range(2, 18)} | {
    f"table {number}" for number in (6, 7, 8, 11, 12, 13, 14, 15, 18)
}
PARTS = {part.name: part for part in EXPERIMENT.parts}


def rows_of(part: Part, case: Case, data: Data) -> list[Row]:
    rows = [dict(row) for row in part.run(data, **case)]
    assert all(not set(row) & set(case) for row in rows), "a row would write over its own parameters"
    return [{**case, **row} for row in rows]


@cache
def quick(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the rows of the quick run, made in this process."""
    data = Data(folder)
    return {
        name: pl.DataFrame([row for case in part.quick for row in rows_of(part, case, data)], infer_schema_length=None)
        for name, part in PARTS.items()
    }


@cache
def comparisons(folder: Path) -> list[ComparedNumber]:
    return list(compare(quick(folder)))


@pytest.fixture
def folder(data: Callable[[str], Path]) -> Path:
    return data(EXTRACT).parent


def test_numbers_in_paper_mode_are_the_printed_ones_within_what_is_stated(folder: Path) -> None:
    stated = [entry for entry in comparisons(folder) if entry.within is not None]
    assert [f"{entry.where}: {entry.what}" for entry in stated if not entry.same] == []
    reached = {entry.where for entry in stated}
    assert reached == {f"figure {number}" for number in (4, 7, 14)} | {
        f"table {number}" for number in (6, 7, 8, 11, 14, 15)
    }
    assert max(entry.within or 0 for entry in stated) <= 0.2


def test_everything_in_scope_is_answered(folder: Path) -> None:
    assert {entry.where for entry in comparisons(folder)} == IN_SCOPE
    about = EXPERIMENT.about
    assert all(f"`{figure.name}`" in about for figure in draw(quick(folder)))


def test_numbers_that_differ_say_why_or_lie_on_the_known_side(folder: Path) -> None:
    for entry in comparisons(folder):
        if entry.where in {"figure 2", "figure 16", "figure 17"}:
            assert entry.paper is not None
            assert 0.3 * entry.paper < (entry.ours or 0) < entry.paper, entry.what
        if entry.where in {"table 12", "table 13"} and "share" in entry.what:
            assert 0.1 < (entry.ours or 0) < 0.45


def test_the_class_that_vanishes_is_that_of_table_6_in_kind(folder: Path) -> None:
    case = quick(folder)["vanished"]
    before, after = (case.filter(release=side)["rows"].to_list() for side in ("with the row", "without it"))
    assert sum(before) == sum(after) + 1
    assert 10 in before
    assert len(after) == 1


def test_the_printed_errors_of_noise_tell_even_salaries(folder: Path) -> None:
    even, skewed = (
        pl.DataFrame(noise(Data(folder), table=name, range_ratio=0.6, queries=1000, seed=2014))
        for name in (CENSUS, SKEWED)
    )
    for epsilon, printed in ((0.1, 0.0091), (0.01, 0.0936), (0.005, 0.18)):
        assert mean(even, "error", epsilon=epsilon) == pytest.approx(printed, rel=0.15)
        assert (mean(skewed, "error", epsilon=epsilon) or 0) > 1.2 * printed


def test_what_survives_errs_less_than_what_is_broken_on_the_census(folder: Path) -> None:
    rows = quick(folder)
    wanted: dict[str, Scalar] = {"table": CENSUS, "range_ratio": 0.6, "epsilon": 0.1}
    private = mean(rows["private-mondrian"], "error", **wanted)
    broken = mean(rows["anonymity"], "error", k=10, counting="inclusion", **wanted)
    assert private is not None
    assert broken is not None
    assert private < 0.06 < broken


def test_the_printed_tables_of_changes_are_whole() -> None:
    assert [sum(table.values()) for table in (ADDITIONS, REMOVALS, MOVED)] == [1000, 1000, 964]
    assert 1 - ADDITIONS[0] / 1000 == pytest.approx(0.349)
    assert 1 - REMOVALS[0] / 1000 == pytest.approx(0.352)


@pytest.mark.parametrize("part", EXPERIMENT.parts, ids=list(PARTS))
def test_every_case_has_a_seed(part: Part) -> None:
    for cases in (part.full, part.quick):
        assert all("seed" in case for case in cases)
        assert len({str(sorted(case.items())) for case in cases}) == len(cases), "a case is there twice"


def test_stand_ins_do_where_data_are_missing() -> None:
    nothing = Data(None)
    for name in ("anonymity", "noise", "classes", "private-mondrian", "sampled"):
        part = PARTS[name]
        case = {**next(case for case in part.quick if case["table"] == IPUMS), "queries": 100}
        if name == "classes":
            del case["queries"]
        assert rows_of(part, case, nothing)
    page = Page(EXPERIMENT, {}, (), (), nothing.stand_ins(EXPERIMENT.files))
    assert "stand-ins" in page.title
