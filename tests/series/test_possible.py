"""The exact audit of a series: what it excludes is excluded by every assignment, and each exclusion can be checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from small_series import SmallSeries, changed_worlds, changing_series, counterfeit_series, random_series, worlds

from sfumato.series.cells import Cells, ClassCounts
from sfumato.series.certificate_checker import holds, stands
from sfumato.series.possible import PossibleValues

WORDS = ["flu", "gout", "cancer", "asthma"]


def solve(series: SmallSeries) -> PossibleValues:
    return PossibleValues.of(series.cells, WORDS[: series.values])


def left(found: PossibleValues, person: int) -> set[str]:
    shown = found.possible[found.cells.members[person]].tolist()
    return {word for word, possible in zip(found.words, shown, strict=True) if possible}


def exact(*releases: tuple[list[list[int]], Sequence[int | None]]) -> PossibleValues:
    """Return what releases leave, each given as counts and everybody's class."""
    counts = [ClassCounts(np.array(table)) for table, _ in releases]
    places = [[() if place is None else (place,) for place in people] for _, people in releases]
    return PossibleValues.of(Cells.of(counts, places), WORDS[: len(releases[0][0][0])])


def test_a_swap_inside_one_box_tells_both_values() -> None:
    """One cancer less and one asthma more, since one person left and another one came."""
    found = exact(([[2, 1, 1, 0]], [0, 0, 0, 0, None]), ([[2, 1, 0, 1]], [0, 0, 0, None, 0]))
    assert [left(found, person) for person in (0, 3, 4)] == [{"flu", "gout"}, {"cancer"}, {"asthma"}]


def test_a_mover_is_what_subtracting_leaves() -> None:
    """[37-55], [24-34] become [34-55], [24-33] with the same people: the 34-year-old moved."""
    before = ([[2, 1, 0], [1, 1, 1]], [0, 0, 0, 1, 1, 1])
    after = ([[2, 1, 1], [1, 1, 0]], [0, 0, 0, 0, 1, 1])
    found = exact(before, after)
    assert left(found, 3) == {"cancer"}
    assert left(found, 4) == {"flu", "gout"}


def test_a_changed_value_does_not_hide_what_the_others_show() -> None:
    """Three people stay; one cancer became asthma. A newcomer's class is still told by what was there before."""
    first = ([[1, 1, 1, 0], [0, 2, 1, 0]], [0, 0, 0, 1, 1, 1, None])
    second = ([[1, 1, 0, 1], [1, 2, 1, 0]], [0, 0, 0, 1, 1, 1, 1])
    found = exact(first, second)
    assert found.changes == 1
    assert left(found, 6) == {"flu"}
    assert left(found, 0) == {"flu", "gout", "cancer", "asthma"}
    assert not found.unclear.any()


def agrees(series: SmallSeries, truth: Callable[[SmallSeries], list[set[int]]]) -> int:
    """Check one series against all assignments; return how many persons have more values left than they should."""
    found, coarse = solve(series), 0
    for person, values in enumerate(truth(series)):
        if any(places[person] for places in series.places):
            shown = {WORDS.index(word) for word in left(found, person)}
            assert values <= shown, (series, person)
            coarse += values != shown
    for cell in range(found.cells.count):
        assert all(holds(one) for one in found.certificates(cell))
    return coarse


KINDS: dict[str, tuple[Callable[[np.random.Generator], SmallSeries], Callable[[SmallSeries], list[set[int]]]]] = {
    "known": (random_series, worlds),
    "overlapping": (partial(random_series, overlapping=True), worlds),
    "presence unknown": (partial(random_series, certain=False), worlds),
    "counterfeit": (counterfeit_series, worlds),
    "counterfeit, overlapping": (partial(counterfeit_series, overlapping=True), worlds),
    "changing": (changing_series, changed_worlds),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 600), marks=pytest.mark.long)], ids=len)
def test_never_wrong_against_all_assignments(kind: str, seeds: range) -> None:
    make, truth = KINDS[kind]
    coarse = sum(agrees(make(np.random.default_rng(seed)), truth) for seed in seeds)
    if kind == "known":
        assert coarse <= len(seeds) // 50  # fractions of people allow a little more than people do


def test_certificates_stand_on_what_was_published() -> None:
    checked = 0
    for seed in range(60):
        series = random_series(np.random.default_rng(seed))
        found = solve(series)
        counts = [
            [{word: int(row[v]) for v, word in enumerate(found.words) if row[v]} for row in table]
            for table in series.counts
        ]
        cells = {
            str(cell): (int(found.cells.sizes[cell]), [list(places[cell]) for places in found.cells.places])
            for cell in range(found.cells.count)
        }
        for cell in range(found.cells.count):
            for certificate in found.certificates(cell):
                assert stands(certificate, counts, cells)
                checked += 1
    assert checked > 100


def test_a_certificate_that_was_tampered_with_fails() -> None:
    found = exact(([[2, 1, 0], [1, 1, 1]], [0, 0, 0, 1, 1, 1]), ([[2, 1, 1], [1, 1, 0]], [0, 0, 0, 0, 1, 1]))
    mover = int(found.cells.members[3])
    for certificate in found.certificates(mover):
        for number, fact in enumerate(certificate["facts"]):
            lighter = {**fact, "weight": "0"}
            facts = [*certificate["facts"][:number], lighter, *certificate["facts"][number + 1 :]]
            assert not holds({**certificate, "facts": facts})
        assert not holds({**certificate, "value": "cancer"})
        assert not holds({**certificate, "facts": []})


def test_a_series_larger_than_the_largest_is_left_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.series.possible.LARGEST", 0)
    cycle = ([[1, 1], [1, 1]], [0, 0, 1, 1]), ([[1, 1], [1, 1]], [0, 1, 0, 1])
    found = exact(*cycle)
    assert found.undecided > 0
    assert found.possible.all()
