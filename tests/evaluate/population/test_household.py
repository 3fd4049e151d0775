"""The household risk beside a population that is known whole: the attack is run, and samples are estimated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from sfumato.evaluate import population_risk
from sfumato.evaluate.population.household import household_risks
from sfumato.table import Table
from sfumato.table.distinct import distinct

Int64s = npt.NDArray[np.int64]
SIZES = (300, 12, 9, 40)


def town(seed: int, people: int = 30_000) -> tuple[Int64s, Int64s]:
    """Return everybody's key, of four columns of which a household shares two, and everybody's household."""
    draw = np.random.default_rng(seed)
    homes = np.repeat(np.arange(people), draw.integers(1, 6, people))[:people]
    chances = [0.9 ** np.arange(size) + 0.01 for size in SIZES]
    columns = [draw.choice(size, people, p=chance / chance.sum()) for size, chance in zip(SIZES, chances, strict=True)]
    together = [column if place < 2 else column[homes] for place, column in enumerate(columns)]
    return distinct(together, list(SIZES)).ids, homes


def sampled(homes: Int64s, share: float, seed: int) -> Int64s:
    """Return the people of a random sample of households, all members of each."""
    taken = np.random.default_rng(seed).random(int(homes.max()) + 1) < share
    return np.flatnonzero(taken[homes])


def truth(keys: Int64s, homes: Int64s, rows: Int64s) -> float:
    """Return the expected rows in households of which somebody is found, by the frequencies of the population."""
    return float(household_risks(1 / np.bincount(keys)[keys[rows]], homes[rows]).sum())


def test_it_is_the_share_of_attacks_that_find_a_member() -> None:
    """An attacker takes for each row one of the people with its key: everybody of a household with a hit is found."""
    keys, homes = town(1, 6_000)
    rows = sampled(homes, 0.1, 2)
    draw, order = np.random.default_rng(3), np.argsort(keys, kind="stable")
    first, count = np.searchsorted(keys[order], keys[rows]), np.bincount(keys)[keys[rows]]
    _, home = np.unique(homes[rows], return_inverse=True)
    found = []
    for _ in range(400):
        guessed = order[first + draw.integers(0, count)]
        hit = np.bincount(home, weights=guessed == rows) > 0
        found.append(hit[home].sum())
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) == pytest.approx(truth(keys, homes, rows), abs=5 * error)
    alone = float((1 / count).sum())  # what would be found if nobody had a household
    assert np.mean(found) > alone + 20 * error


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_estimates_of_samples_lie_near_the_truth(share: float) -> None:
    keys, homes = town(4)
    ratios: list[tuple[float, float]] = []
    for seed in range(12):
        rows = sampled(homes, share, seed)
        table = Table(pl.DataFrame({"key": keys[rows], "home": homes[rows]}))
        risk = population_risk(table, ["key"], fraction=share, household="home").household
        assert risk is not None
        assert risk.unseen is not None
        true = truth(keys, homes, rows)
        ratios.append((risk.unseen / true, risk.expected / true))
    pitman, classic = np.array(ratios).T
    assert 0.95 < np.median(pitman) < 1.05
    assert pitman.min() > 0.9
    assert pitman.max() < 1.1
    assert classic.max() < np.median(pitman) - 0.1  # Benedetti & Franconi's is too low, as for single rows
