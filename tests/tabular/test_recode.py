"""Sets as bits of a word, beside the slow way (gather each class's values and write them), and rows without a class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stranger import Together

import sfumato as sf
from sfumato.core.cells import set_text
from sfumato.schema import Attribute, Kind, Role
from sfumato.table.coding import code
from sfumato.tabular.base import Partition
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import recode


@pytest.mark.parametrize("different", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("missing", [False, True])
@given(data=st.data())
def test_each_class_shows_its_own_values(different: int, missing: bool, data: st.DataObject) -> None:
    values = [f"v{place:03}" for place in range(different - missing)]
    picked = data.draw(st.lists(st.sampled_from([*values, None] if missing else values), min_size=1, max_size=40))
    rows = [*values, *([None] if missing else []), *picked]  # every value occurs, so that the column has this size
    labels = data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    kept = sorted(set(labels))
    classes = np.array([kept.index(label) for label in labels])
    column = code(pl.Series("x", rows, dtype=pl.String), Attribute("x", Role.QUASI, Kind.CATEGORY))
    assert column.size == different
    [coarse] = recode(column, column.codes, classes, len(kept), "text")
    for number in range(len(kept)):
        members = {row for row, own in zip(rows, classes, strict=True) if own == number}
        words = (["" for row in members if row is None]) + sorted(row for row in members if row is not None)
        wanted = None if members == {None} else set_text(words)
        assert coarse.values[int(coarse.index[number])] == wanted


class Choosy(Together):
    """One class for all but the last row, which is left out."""

    def partition(self, problem: Problem) -> Partition:
        found = super().partition(problem)
        left = found.classes.copy()
        left[-1] = -1
        return replace(found, classes=left)


def test_rows_that_a_strangers_algorithm_leaves_out_need_no_labels() -> None:
    people = sf.Table(pl.DataFrame({"age": [20, 30, 40, 99], "sex": ["F", "M", "F", "X"]}))
    release = Choosy().anonymize(people, sf.Schema.from_roles(quasi=["age", "sex"]), [sf.KAnonymity(3)])
    assert release.frame.rows() == [("[20-40]", "{F, M}")] * 3
