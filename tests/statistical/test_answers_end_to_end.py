"""Noise as an analyst gets it, through SQL and the ledger: the true scale is accepted, ±30 % is rejected.

One question over many declared, empty groups gives many draws: the answers are the noise itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

import sfumato as sf
from sfumato.dp.session import Session
from sfumato.promise.cost import Accountant
from sfumato.random import SeededSource

GROUPS = 20_000
TOML = f"""
[columns.rider]
role = "identifier"
[columns.cell]
role = "other"
type = "integer"
bounds = [1, {GROUPS}]
[columns.age]
role = "other"
type = "integer"
bounds = [-10, 40]
"""
LIMIT = 1e-7
Integers = npt.NDArray[np.int64]


def session(folder: Path, **options: Any) -> Session:
    accountant = Accountant(options.pop("accountant", "pure"))
    budget = sf.Budget(epsilon=1000, delta="1e-6", accountant=accountant)
    rows = pl.DataFrame({"rider": ["a"], "cell": [0], "age": [0]})
    made = Session.create(folder / "x.ledger", rows, sf.Schema.from_text(TOML), budget, **options)
    made.deadline = 0
    return made


def laplace_fits(values: Integers, scale: float) -> bool:
    return fits(values, stats.dlaplace(1 / scale))


def gaussian_fits(values: Integers, sigma: float) -> bool:
    places = np.arange(-round(20 * sigma), round(20 * sigma) + 1)
    mass = np.exp(-(places**2) / (2 * sigma**2))
    return fits(values, stats.rv_discrete(values=(places, mass / mass.sum())))


def fits(values: Integers, law: Any) -> bool:
    """Chi-square over about twenty cells of equal expected count."""
    edges = np.unique(law.ppf(np.linspace(0.05, 0.95, 19)))
    chances = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    found = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
    return bool(stats.chisquare(found, chances * len(values)).pvalue > LIMIT)


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize(
    "select, options, scale",
    [
        ("COUNT(*)", {}, 10.0),
        ("COUNT(*)", {"neighbours": "value"}, 20.0),
        ("COUNT(*)", {"protect": "person:rider:2:3"}, 60.0),
        ("COUNT(DISTINCT rider)", {"protect": "person:rider:2:3"}, 30.0),
        ("COUNT(DISTINCT age)", {"protect": "person:rider:2:3"}, 60.0),
        ("SUM(age)", {}, 400.0),
        ("SUM(age)", {"neighbours": "value"}, 800.0),
    ],
)
def test_laplace_noise_has_its_scale(
    select: str, options: dict[str, str], scale: float, tmp_path: Path, *, seeded: bool
) -> None:
    asked = session(tmp_path, **options)
    asked.rng = SeededSource(11) if seeded else None
    answer = asked.sql(f"SELECT cell, {select} AS x FROM rows GROUP BY cell", epsilon="0.1")  # noqa: S608
    values = answer.frame["x"].to_numpy()
    assert answer.scale == scale
    assert laplace_fits(values, scale)
    assert not laplace_fits(values, 1.3 * scale)
    assert not laplace_fits(values, 0.7 * scale)
    inside = np.mean((answer.frame["x_low"].to_numpy() <= 0) & (answer.frame["x_high"].to_numpy() >= 0))
    assert 0.945 < inside < 0.965


@pytest.mark.parametrize(
    "select, options, sigma",
    [
        ("COUNT(*)", {}, 10.0),
        ("COUNT(*)", {"neighbours": "value"}, 10.0 * 2**0.5),
        ("COUNT(*)", {"protect": "person:rider:2:3"}, 20.0 * 3**0.5),
        ("COUNT(DISTINCT age)", {"protect": "person:rider:2:3"}, 20.0 * 3**0.5),
        ("SUM(age)", {}, 400.0),
    ],
)
def test_gaussian_noise_has_its_scale(select: str, options: dict[str, str], sigma: float, tmp_path: Path) -> None:
    asked = session(tmp_path, accountant="zcdp", **options)
    answer = asked.sql(f"SELECT cell, {select} AS x FROM rows GROUP BY cell", rho="0.005")  # noqa: S608
    values = answer.frame["x"].to_numpy()
    assert answer.scale == pytest.approx(sigma)
    assert gaussian_fits(values, sigma)
    assert not gaussian_fits(values, 1.3 * sigma)
    assert not gaussian_fits(values, 0.7 * sigma)


def test_the_maximum_of_an_empty_group_is_uniform_between_the_bounds(tmp_path: Path) -> None:
    asked = session(tmp_path)
    asked.rng = SeededSource(5)
    asked.schema = sf.Schema.from_text(TOML.replace(str(GROUPS), "2000"))
    found = asked.ask(sf.max("age").by("cell"), epsilon=1).frame["max_age"].to_numpy()
    assert stats.chisquare(np.bincount(found + 10, minlength=51)).pvalue > LIMIT


def test_questions_together_have_less_noise_and_fit_it(tmp_path: Path) -> None:
    asked = session(tmp_path)
    asked.rng = SeededSource(7)
    queries = [sf.count().by("cell").where(f"age = {number}") for number in range(30)]
    answers = asked.ask_together(queries, epsilon=1, delta="1e-6")
    scale = answers[0].scale
    assert scale is not None
    assert scale < 0.75 * 30  # one by one, each would have had a thirtieth of ε
    values = answers[3].frame["count"].to_numpy()
    assert laplace_fits(values, scale)
    assert not laplace_fits(values, 1.3 * scale)
    assert asked.ledger.spent.epsilon == 1
    again = asked.ask_together(queries, epsilon=1, delta="1e-6")
    assert again[3].frame.equals(answers[3].frame)
    assert asked.ledger.spent.epsilon == 1


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
@pytest.mark.parametrize("query, end", [(sf.min("age"), 0), (sf.max("age"), 1), (sf.median("age"), 0.5)])
def test_the_rank_of_a_quantile_is_off_by_no_more_than_it_says(
    query: sf.Query, end: float, accountant: str, tmp_path: Path
) -> None:
    asked = session(tmp_path, accountant=accountant)
    asked.rng = SeededSource(11)
    ages = np.repeat(np.arange(-10, 41), 4)
    groups = 500
    cells = np.repeat(np.arange(1, groups + 1), len(ages))
    rows = pl.DataFrame({"rider": "a", "cell": cells, "age": np.tile(ages, groups)})
    asked.schema = sf.Schema.from_text(TOML.replace(str(GROUPS), str(groups)))
    asked.new_version(rows)
    answer = asked.ask(query.by("cell"), epsilon=1)
    chosen = answer.frame.to_series(1).to_numpy()
    below, upto = np.searchsorted(ages, chosen), np.searchsorted(ages, chosen, side="right")
    off = np.maximum(np.maximum(below - end * len(ages), end * len(ages) - upto), 0)
    assert answer.scale is not None
    assert np.mean(off <= answer.scale) >= 0.95
