"""The attacks on a series against a slow twin that walks over every point of a small grid."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.audit import series
from sfumato.release import Finding
from sfumato.schema import Schema
from sfumato.series.grid import LARGEST
from sfumato.table import Table
from sfumato.table.axis import CellAxis

SIDE = 4
VALUES = "abcd"
POINTS = [(x, y) for x in range(SIDE) for y in range(SIDE)]
SCHEMA = Schema.from_roles(quasi=["x", "y"], sensitive=["ill"])
Box = tuple[int, int, int, int]
Release = list[tuple[Box, str]]


@st.composite
def releases(draw: st.DrawFn) -> Release:
    classes = draw(st.lists(st.tuples(*[st.integers(0, SIDE - 1)] * 4), min_size=1, max_size=4, unique=True))
    rows = []
    for x, x2, y, y2 in classes:
        box = (min(x, x2), max(x, x2), min(y, y2), max(y, y2))
        rows += [(box, value) for value in draw(st.lists(st.sampled_from(VALUES), min_size=2, max_size=4))]
    return rows


def table(release: Release) -> Table:
    columns = {"x": [f"[{box[0]}-{box[1]}]" for box, _ in release], "y": [f"[{box[2]}-{box[3]}]" for box, _ in release]}
    return Table(pl.DataFrame({**columns, "ill": [value for _, value in release]}))


def classes_at(release: Release, point: tuple[int, int]) -> list[Counter[str]]:
    found: dict[Box, Counter[str]] = {}
    for box, value in release:
        if box[0] <= point[0] <= box[1] and box[2] <= point[1] <= box[3]:
            found.setdefault(box, Counter())[value] += 1
    return list(found.values())


def exposed_by_intersection(series_of: list[Release]) -> set[tuple[tuple[int, int], tuple[int, ...]]]:
    """Points and releases for which one value is left, no class involved being of one value by itself."""
    found = set()
    for size in range(2, len(series_of) + 1):
        for present in combinations(range(len(series_of)), size):
            for point in POINTS:
                classes = [classes_at(series_of[release], point) for release in present]
                if any(len(values) < 2 for counted in classes for values in counted):
                    continue
                left = set.intersection(*({value for values in counted for value in values} for counted in classes))
                if len(left) == 1:
                    found.add((point, present))
    return found


def within(text: str, value: int) -> bool:
    """Return whether a number lies in a finding's ranges."""
    axes = [CellAxis([part, str(value)]) for part in text.split(" or ")]
    return any(axis[part] & axis[str(value)] for axis, part in zip(axes, text.split(" or "), strict=True))


def covered(box: dict[str, str], point: tuple[int, int]) -> bool:
    return within(box["x"], point[0]) and within(box["y"], point[1])


def attacked(tables: list[Table], schema: Schema, points: int, attack: str) -> list[Finding]:
    """Return what an attack finds, point by point or, with no points allowed, class by class."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.series.grid.LARGEST", points)
        return [
            finding for finding in series(tables, schema) if finding.refuted and finding.evidence["attack"] == attack
        ]


@pytest.mark.parametrize("points", [0, LARGEST])
@given(history=st.lists(releases(), min_size=2, max_size=3))
def test_the_intersection_attack_finds_what_walking_over_all_points_finds(history: list[Release], points: int) -> None:
    found = attacked([table(release) for release in history], SCHEMA, points, "intersection")
    expected = exposed_by_intersection(history)
    for point, present in expected:
        numbers = {release + 1 for release in present}
        assert any(set(finding.evidence["present"]) <= numbers for finding in found), (point, present)
    for finding in found:
        present = tuple(release - 1 for release in finding.evidence["present"])
        inside = [point for point in POINTS if covered(finding.evidence["box"], point)]
        assert inside
        for point in inside:
            unions = [
                {value for values in classes_at(history[release], point) for value in values} for release in present
            ]
            assert set.intersection(*unions) == set(finding.evidence["values"])


@pytest.mark.parametrize("points", [0, LARGEST])
@given(data=st.data(), people=st.lists(st.tuples(st.integers(0, 7), st.sampled_from(VALUES)), min_size=4, max_size=12))
def test_a_newcomer_always_has_one_of_the_values_that_the_difference_leaves(
    data: st.DataObject, people: list[tuple[int, str]], points: int
) -> None:
    """Rows are only added, classes are cut anew: what the attack concludes must be true of every newcomer."""
    early = data.draw(st.integers(1, len(people) - 1))
    tables = []
    for rows in (people[:early], people):
        width = data.draw(st.sampled_from([1, 2, 4, 8]))
        cells = [f"[{x // width * width}-{x // width * width + width - 1}]" for x, _ in rows]
        tables.append(Table(pl.DataFrame({"x": cells, "ill": [ill for _, ill in rows]})))
    for finding in attacked(tables, Schema.from_roles(quasi=["x"], sensitive=["ill"]), points, "difference"):
        if finding.evidence["present"] == [2]:
            box = finding.evidence["box"]["x"]
            for x, ill in people[early:]:
                assert not within(box, x) or ill in finding.evidence["values"]
