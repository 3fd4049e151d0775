"""Roll-up kernels against counting in dictionaries, from the finest counts and from every node in between."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.problem import Problem

ROWS = st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc"), st.sampled_from("xyz")), min_size=3, max_size=60)


def _lattice(rows: list[tuple[int, str, str]]) -> Lattice:
    frame = pl.DataFrame(rows, schema=["age", "zip", "ill"], orient="row")
    schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["ill"])
    return Lattice.of(Problem.of(sf.Table.from_frame(frame), schema, [sf.KAnonymity(2), sf.AlphaK(1, 2, "ill")]))


def _counts(lattice: Lattice, levels: Levels) -> Counter[tuple[object, ...]]:
    """Return rows by (labels, rest) of a judged node."""
    frequencies = lattice.tally(levels).frequencies
    found: Counter[tuple[object, ...]] = Counter()
    for group, cell in enumerate(frequencies.example.tolist()):
        shown = _labels(lattice, levels, cell)
        for entry in range(frequencies.start[group], frequencies.start[group + 1]):
            found[(*shown, int(frequencies.rest[entry]))] += int(frequencies.rows[entry])
    return found


def _labels(lattice: Lattice, levels: Levels, cell: int) -> list[str]:
    codes = lattice.codes[cell]
    return [
        ladder.labels[level][ladder.nodes[level][code]]
        for ladder, level, code in zip(lattice.ladders, levels, codes, strict=True)
    ]


def _slow_counts(lattice: Lattice, levels: Levels) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for cell in range(len(lattice.codes)):
        for entry in range(lattice.finest.start[cell], lattice.finest.start[cell + 1]):
            key = (*_labels(lattice, levels, cell), int(lattice.finest.rest[entry]))
            found[key] += int(lattice.finest.rows[entry])
    return found


@given(ROWS, st.booleans())
@settings(deadline=None)
def test_counts_are_the_same_from_any_node_below(rows: list[tuple[int, str, str]], keep: bool) -> None:
    lattice = _lattice(rows)
    for levels in np.ndindex(lattice.shape):
        if not keep:
            lattice.kept.clear()
        assert _counts(lattice, levels) == _slow_counts(lattice, levels)
        assert lattice.tally(levels).sizes.sum() == len(rows)


@given(ROWS, st.data())
@settings(deadline=None)
def test_a_restricted_lattice_counts_its_own_cells_alone(rows: list[tuple[int, str, str]], data: st.DataObject) -> None:
    lattice = _lattice(rows)
    chosen = data.draw(st.sets(st.integers(0, len(lattice.codes) - 1), min_size=1))
    part = lattice.restrict_to(np.array(sorted(chosen)))
    assert part.finest.example.tolist() == sorted(chosen)
    assert part.rows == sum(int(lattice.cell_rows[cell]) for cell in chosen)
    assert part.tally(part.top).sizes.tolist() == [part.rows]
