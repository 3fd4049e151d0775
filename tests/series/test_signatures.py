"""Values that people can exchange: the exact audit finds each possible, and m-invariant groups give all of theirs."""

from __future__ import annotations

import numpy as np
import pytest
from small_series import SmallSeries, counterfeit_series, random_series

from sfumato.series.cells import Cells, ClassCounts
from sfumato.series.possible import PossibleValues
from sfumato.series.signatures import exchangeable

WORDS = ["flu", "gout", "cancer", "asthma"]


def truths(series: SmallSeries) -> list[list[int]]:
    """Return some values of all people that agree with every release, by trying: the first that is found."""
    from itertools import product

    return [
        list(values)
        for values in product(range(series.values), repeat=series.people)
        if all(
            any(series.shows(release, way, values) for way in series.placements(release))
            for release in range(len(series.counts))
        )
    ]


def own_counts(cells: Cells, values: list[int]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    own = np.zeros((cells.count, cells.values), dtype=np.int64)
    np.add.at(own, (cells.members, np.array(values)), 1)
    return own


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 400), marks=pytest.mark.long)], ids=len)
def test_what_is_exchanged_is_possible(seeds: range) -> None:
    """Whatever the true values are; and exchanges find something that nobody has in truth."""
    further = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        series = (counterfeit_series if seed % 2 else random_series)(rng, overlapping=bool(seed % 3))
        possible = PossibleValues.of(series.cells, WORDS[: series.values]).possible
        for values in truths(series)[:3]:
            own = own_counts(series.cells, values)
            found = exchangeable(series.cells, own, 2)
            there = np.array([any(place[cell] for place in series.cells.places) for cell in range(series.cells.count)])
            assert not (found & ~possible)[there].any(), seed
            assert (found | ~there[:, None])[own > 0].all(), seed
            further += int((found & (own == 0)).sum())
    assert further > len(seeds) // 4


def test_an_invariant_series_keeps_every_signature() -> None:
    """Two groups of one signature, then one person leaves and a counterfeit row takes the place; boxes overlap."""
    both = [(0, 1)] * 6
    releases = [ClassCounts(np.ones((2, 3), dtype=np.int64)), ClassCounts(np.ones((2, 3), dtype=np.int64), whole=False)]
    cells = Cells.of(releases, [both, [*both[:5], ()]])
    assert exchangeable(cells, own_counts(cells, [0, 1, 2, 0, 1, 2]), 3).all()


def test_values_that_do_not_agree_with_the_counts_prove_nothing() -> None:
    cells = Cells.of([ClassCounts(np.array([[1, 1]]))], [[(0,), (0,)]])
    assert not exchangeable(cells, own_counts(cells, [0, 0]), 2).any()


def test_a_programme_that_is_too_large_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.series.signatures.LARGEST", 0)
    cells = Cells.of([ClassCounts(np.array([[1, 1]]))], [[(0,), (0,)]])
    assert not exchangeable(cells, own_counts(cells, [0, 1]), 2).any()
