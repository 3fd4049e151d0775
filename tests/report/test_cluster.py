"""The report on a release on a cluster: classes counted by size, how they were found, risks before and after."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.evaluate.check import risks
from sfumato.models import Groups
from sfumato.report import cluster_report
from sfumato.report.chapters.cluster import way_taken
from sfumato.report.chapters.risk import ClassSizes

sizes_of_classes = st.lists(st.integers(1, 40), min_size=1, max_size=60)


@given(sizes_of_classes)
def test_sizes_counted_by_size_tell_what_the_classes_tell(given_sizes: list[int]) -> None:
    every = np.array(given_sizes, dtype=np.int64)
    sizes = ClassSizes.of(every)
    assert (sizes.classes, sizes.rows) == (len(every), every.sum())
    assert (sizes.smallest, sizes.largest, sizes.median) == (every.min(), every.max(), np.median(every))
    assert sizes.unique == (every == 1).sum()
    assert sizes.squares == (every**2).sum()
    assert sizes.risk == risks(Groups(every, every))


def test_squares_of_huge_classes_do_not_overflow() -> None:
    assert ClassSizes.of(np.array([10**10, 10**10])).squares == 2 * 10**20


def release(person: str | None = None) -> sf.Release:
    people = pl.DataFrame({"age": [30, 31, 60, 61], "id": ["a", "b", "c", "d"]})
    schema = sf.Schema.from_roles(quasi=["age"], person=person, other="drop")
    return sf.Mondrian().anonymize(sf.Table(people), schema, [sf.KAnonymity(2)])


BEFORE, AFTER = ClassSizes.of(np.array([1, 1, 1, 1])), ClassSizes.of(np.array([2, 2]))


def test_the_page_tells_promise_way_loss_and_risks() -> None:
    page = cluster_report(release().card, {"distinct_rows": 4, "certainty_lost": 0.032}, BEFORE, AFTER)
    assert "Every combination of age is shared by at least 2 rows." in page
    assert "Exactly: 4 distinct rows" in page
    assert "Do not publish" in page
    assert "100% → 50.0%" in page
    assert "3.2%" in page
    assert "All 4 rows were released. Unique rows: 4 in the original, 0" in page


def test_rows_withheld_are_told_and_cost_the_whole_table_each() -> None:
    page = cluster_report(release().card, {"distinct_rows": 5, "rows_suppressed": 1}, BEFORE, AFTER)
    assert "4 of 5 rows were released" in page
    assert ">13<" in page  # 2² + 2² and one row that costs all five


def test_persons_are_promised_the_most_that_the_smallest_class_allows() -> None:
    page = cluster_report(release("id").card, {"distinct_rows": 4, "certainty_lost": 0.0}, BEFORE, AFTER)
    assert "≤\N{NO-BREAK SPACE}50.0%" in page
    assert "Unique persons: " in page
    assert "Smallest class, in persons" in page


@pytest.mark.parametrize(
    "steward, words, cost",
    [
        ({"distinct_rows": 4}, "Exactly", None),
        ({"distinct_rows": 9e6, "parts": 4, "certainty_lost": 0.125}, "into 4 parts", "12.5%"),
        ({"blocks": 7, "information_loss": 2.5}, "in 7 blocks", "2.5%"),
        ({"blocks": 1, "information_loss": 2.5}, "in one block", "2.5%"),
    ],
)
def test_each_way_is_told_with_its_cost(steward: dict[str, float], words: str, cost: str | None) -> None:
    told = way_taken(steward)
    assert words in told
    assert (cost is None) == ("What was lost" not in told)
    assert cost is None or cost in told


def test_cells_that_could_not_be_read_are_told_without_row_numbers() -> None:
    from sfumato.table.parse_report import CellCount, ColumnReport

    age = ColumnReport("age", "integer", 400, failed=CellCount(3))
    sizes = ClassSizes.of(np.array([1, 1])), ClassSizes.of(np.array([2]))
    report = sf.ParseReport({"age": age})
    page = cluster_report(release().card, {"distinct_rows": 4, "certainty_lost": 0.03}, *sizes, intake=report)
    assert "How cells were read" in page
    assert "<td>3</td>" in page
    assert "How cells were read" not in cluster_report(
        release().card, {"distinct_rows": 4, "certainty_lost": 0.03}, *sizes
    )
