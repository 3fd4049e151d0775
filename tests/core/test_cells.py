"""Published cells read back."""

from __future__ import annotations

import pytest

from sfumato.core.cells import Cell, read
from sfumato.errors import SchemaError
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role
from sfumato.table.axis import CellAxis


@pytest.mark.parametrize(
    "text, limits",
    [
        ("31", (31, 31)),
        ("[30-39]", (30, 39)),
        ("[-5--3]", (-5, -3)),
        ("[1.5..2.25]", (1.5, 2.25)),
        ("[2025-01-01..2025-02-01]", (739252, 739283)),
        ("flu", None),
        ("{1, 3}", None),
    ],
)
def test_ranges(text: str, limits: tuple[float, float] | None) -> None:
    assert read(text).limits == limits


def test_a_set_may_hold_a_missing_value_and_quoted_words() -> None:
    cell = read('{"", "a, ""b""", F}')
    assert cell.missing
    assert set(cell.words) == {'a, "b"', "F"}


@pytest.mark.parametrize("text", [None, "", "?"])
def test_missing_marks(text: str | None) -> None:
    assert read(text) == Cell(missing=True)


@pytest.mark.parametrize(
    "one, other, meet",
    [
        ("[20-25]", "[25-30]", True),
        ("[20-25]", "[26-30]", False),
        ("[20-25]?", "[26-30]?", True),
        ("[20-25]?", "", True),
        ("[20-25]", "", False),
        ("*", "", True),
        ("*", "[26-30]", True),
        ("{F, M}", "F", True),
        ("{F, M}", "X", False),
        ("47**", "4750", True),
        ("47**", "4***", True),
        ("47**", "46**", False),
        ("[2025-01-01..2025-02-01]", "2025-01-31", True),
    ],
)
def test_where_cells_meet(one: str, other: str, *, meet: bool) -> None:
    axis = CellAxis([one, other])
    assert bool(axis[one] & axis[other]) is meet


def test_labels_need_their_tree_and_ordered_words_their_order() -> None:
    tree = Hierarchy.from_rows([("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "gut", "*")])
    axis = CellAxis(["lung", "flu", "ulcer"], Attribute("ill", Role.QUASI, Kind.CATEGORY, hierarchy=tree))
    assert axis["lung"] & axis["flu"]
    assert not axis["lung"] & axis["ulcer"]
    ordered = Attribute("school", Role.QUASI, Kind.ORDINAL, categories=("low", "mid", "high"))
    axis = CellAxis(["[low..mid]", "mid", "high"], ordered)
    assert axis["[low..mid]"] & axis["mid"]
    assert not axis["[low..mid]"] & axis["high"]
    with pytest.raises(SchemaError, match="declare the column's categories"):
        CellAxis(["[low..mid]"])


def test_a_set_of_atoms_as_text() -> None:
    axis = CellAxis(["[20-30]", "[21-22]", "25", "?"])
    assert axis.text(axis["[20-30]"] & ~axis["[21-22]"] & ~axis["25"]) == "20 or [23-24] or [26-30]"
    assert axis.text(axis["25"] | axis["?"]) == "25 or missing"
    dates = CellAxis(["[2025-01-01..2025-02-01]", "2025-01-10"])
    assert dates.text(dates["[2025-01-01..2025-02-01]"] & ~dates["2025-01-10"]) == (
        "[2025-01-01..2025-01-09] or [2025-01-11..2025-02-01]"
    )
    decimals = CellAxis(["[1.5..2.5]", "[2.5..3.5]"])
    assert decimals.text(decimals["[1.5..2.5]"]) == "[1.5..2.5]"
