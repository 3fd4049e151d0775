"""Generalisation trees: every node an interval of leaves, every label that of the lowest common node."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Hierarchy
from sfumato.errors import SchemaError

DISEASES = [("flu", "lung", "*"), ("ulcer", "gut", "*"), ("asthma", "lung", "*")]


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """A random tree whose rows come in random order, with or without a common root."""
    leaves, branching, levels = draw(st.integers(1, 25)), draw(st.integers(2, 4)), draw(st.integers(1, 4))
    rows = [
        tuple(f"{level}:{leaf // branching**level}" for level in range(levels))
        + (("*",) if draw(st.booleans()) else ())
        for leaf in range(leaves)
    ]
    rows = [row[:levels] for row in rows] if len({len(row) for row in rows}) > 1 else rows
    random.Random(draw(st.integers(0, 99))).shuffle(rows)  # noqa: S311  # any order will do
    return Hierarchy.from_rows(rows)


def lowest_common_label(tree: Hierarchy, first: int, last: int) -> str:
    """The slow and obvious twin: climb until all the leaves agree on the rest of the way up."""
    paths = tree.paths[first : last + 1]
    for level in range(len(paths[0])):
        if len({path[level:] for path in paths}) == 1:
            return paths[0][level]
    return "*"


@given(tree=trees(), ends=st.tuples(st.integers(0, 24), st.integers(0, 24)))
def test_label_is_the_lowest_common_node(tree: Hierarchy, ends: tuple[int, int]) -> None:
    first, last = sorted(end % len(tree.leaves) for end in ends)
    assert tree.label(first, last) == lowest_common_label(tree, first, last)


@given(tree=trees())
def test_every_node_is_one_interval_of_leaves(tree: Hierarchy) -> None:
    nodes = list(tree.nodes())
    for label, level, first, last in nodes:
        owners = [index for index, path in enumerate(tree.paths) if path[level:] == tree.paths[first][level:]]
        assert owners == list(range(first, last))
        assert tree.paths[first][level] == label
    for level in range(len(tree.paths[0])):
        covered = [index for _, at, first, last in nodes if at == level for index in range(first, last)]
        assert covered == list(range(len(tree.leaves)))


@given(tree=trees())
def test_shared_counts_labels_from_the_root(tree: Hierarchy) -> None:
    assert tree.shared[0] == 0
    for index in range(1, len(tree.leaves)):
        above, here = tree.paths[index - 1][::-1], tree.paths[index][::-1]
        common = 0
        while above[: common + 1] == here[: common + 1]:
            common += 1
        assert tree.shared[index] == common


def test_siblings_given_apart_stand_together() -> None:
    assert Hierarchy.from_rows(DISEASES).leaves == ("flu", "asthma", "ulcer")


@pytest.mark.parametrize(
    "rows, height",
    [
        ([("a",), ("b",)], 1),
        ([("a", "*"), ("b", "*")], 1),
        ([("a", "x"), ("b", "y")], 2),
        (DISEASES, 2),
    ],
)
def test_height_counts_steps_to_the_root_named_or_not(rows: list[tuple[str, ...]], height: int) -> None:
    assert Hierarchy.from_rows(rows).height == height


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["", "level0{0}level1{0}level2\n", "Level0{0}b{0}c\n"])
@pytest.mark.parametrize("opening", ["", "\ufeff"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_from_csv(tmp_path: Path, delimiter: str, header: str, opening: str, line_end: str) -> None:
    text = opening + header.format(delimiter) + "".join(delimiter.join(row) + "\n" for row in DISEASES) + "\n"
    (tmp_path / "tree.csv").write_bytes(text.replace("\n", line_end).encode())
    assert Hierarchy.from_csv(tmp_path / "tree.csv") == Hierarchy.from_rows(DISEASES)


def test_quoted_labels_keep_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text('"a, ""b""",*\n"two\nlines",*\nthin\u2028space,*\n', encoding="utf-8")
    assert Hierarchy.from_csv(tmp_path / "tree.csv").leaves == ('a, "b"', "two\nlines", "thin\u2028space")


@pytest.mark.parametrize(
    "rows, sentence",
    [
        ([], "no rows"),
        ([("a", "x", "*"), ("b", "x")], r"row 2: found 2 levels; wanted 3"),
        ([("a", "x"), ("b", "x"), ("a", "y")], r"row 3: value 'a' stands twice"),
        ([("a", "x", "*"), ("b", "x", "+")], r"row 2: 'x' lies under '\+' and, in an earlier row, under '\*'"),
    ],
)
def test_inconsistent_rows_are_refused_by_number(rows: list[tuple[str, ...]], sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        Hierarchy.from_rows(rows)


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "no rows"),
        (b"level0,level1\n", "no rows"),
        (b"a\xff,*\n", "cannot be read"),
        (b'"a,*\nb,*\n', "line 2: .*quotes"),
        (None, "cannot be read"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "tree.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SchemaError, match=sentence) as caught:
        Hierarchy.from_csv(file)
    assert "tree.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tree_without_leaves_has_no_nodes() -> None:
    nothing = Hierarchy(())
    assert nothing.height == 1
    assert list(nothing.nodes()) == []
