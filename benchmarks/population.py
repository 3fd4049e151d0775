"""Risk in the population beside the truth: samples of populations that are known whole; and what it costs.

`python benchmarks/population.py` draws the samples and writes the tables of `docs/algorithms/population-risk.md`. It
needs the public files (SFUMATO_DATA) and some ten minutes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from measure import Part, Row, data_folder, once, within

import sfumato as sf
from sfumato.evaluate.population import population_risk
from sfumato.evaluate.population.household import household_risks
from sfumato.evaluate.population.intrusion import chance_of_correct_match, match_interval
from sfumato.evaluate.population.reidentified import classic_risks, classic_total, unseen_risks, unseen_total
from sfumato.evaluate.population.sampled import SampledClasses
from sfumato.evaluate.population.suda import UniqueSets, dis_suda, suda_scores
from sfumato.evaluate.population.uniques import estimate_uniques
from sfumato.table.distinct import distinct

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Pair = tuple[float, float]
SEED = 20261119
SAMPLES = 50
FRACTIONS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
PEOPLE = 100_000
EIGHT = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
FOUR = ("age", "sex", "race", "education")
CENSUS = ("age", "sex", "race", "marstat", "educrec", "classwk")
PAGE = Path(__file__).parent.parent / "docs" / "algorithms" / "population-risk.md"
UNIQUES, AGAIN, HOMES, SPECIAL = "uniques", "again", "homes", "special"


def even(draw: np.random.Generator) -> Int64s:
    """Return the keys of people who have each of 30,000 keys with the same chance."""
    return draw.integers(0, 30_000, PEOPLE)


def uneven(draw: np.random.Generator) -> Int64s:
    """Return keys whose chances are Dirichlet numbers: 50,000 keys, concentration 0.1."""
    return draw.choice(50_000, PEOPLE, p=draw.dirichlet(np.full(50_000, 0.1)))


def zipf(draw: np.random.Generator) -> Int64s:
    """Return keys whose chances fall as 1/rank: 200,000 keys."""
    chances = 1 / np.arange(1, 200_001)
    return draw.choice(200_000, PEOPLE, p=chances / chances.sum())


def crossed(draw: np.random.Generator) -> Int64s:
    """Return keys that cross five independent columns, each with falling chances, as in a survey."""
    columns = []
    for size in (80, 2, 12, 9, 40):
        chances = 0.85 ** np.arange(size) + 0.002
        columns.append(draw.choice(size, PEOPLE, p=chances / chances.sum()))
    return distinct(columns, [80, 2, 12, 9, 40]).ids


def adult(names: Sequence[str]) -> list[Int64s]:
    """Return the quasi-identifiers of Adult's 48,842 people as codes."""
    files = [pl.read_csv(data_folder() / file) for file in ("adult_train.csv.gz", "adult_test.csv")]
    return codes(pl.concat([file.select(names).cast(pl.String) for file in files]))


def census() -> list[Int64s]:
    """Return the quasi-identifiers of the census extract of 1980 as codes: 53,461 people."""
    return codes(pl.read_csv(data_folder() / "ipums_1980_extract.csv").select(CENSUS).cast(pl.String))


def codes(frame: pl.DataFrame) -> list[Int64s]:
    """Return a code for each value of each column."""
    return [column.rank("dense").to_numpy().astype(np.int64) - 1 for column in frame]


def keys(columns: Sequence[Int64s]) -> Int64s:
    """Return each row's class."""
    return distinct(columns, [int(column.max()) + 1 for column in columns]).ids


POPULATIONS: Mapping[str, Callable[[np.random.Generator], Int64s]] = {
    "30,000 even keys": even,
    "50,000 uneven keys": uneven,
    "200,000 keys by Zipf": zipf,
    "five crossed columns": crossed,
    "Adult, 4 columns": lambda _: keys(adult(FOUR)),
    "Adult, 8 columns": lambda _: keys(adult(EIGHT)),
    "Census 1980, 6 columns": lambda _: keys(census()),
}


@dataclass(frozen=True)
class Estimated:
    """One estimate of one sample: its ratio to the truth, and whether its interval holds it; None if unsolved."""

    ratio: float | None
    covered: bool | None

    @classmethod
    def of(cls, value: float | None, ends: Sequence[float | None], truth: float) -> Estimated:
        """Return an estimate beside the truth."""
        low, high = (*ends, None, None)[:2]
        covered = None if low is None or high is None else low <= truth <= high
        return cls(None if value is None else value / truth, covered)


def sampled(population: Int64s, fraction: float, seed: Sequence[int]) -> tuple[Int64s, Int64s]:
    """Return the frequencies in the population and in a sample without replacement, of the keys that were met."""
    draw = np.random.default_rng(seed)
    rows = draw.choice(len(population), round(len(population) * fraction), replace=False)
    whole = np.bincount(population)
    part = np.bincount(population[rows], minlength=len(whole))
    return whole[part > 0], part[part > 0]


def estimates(population: Int64s, fraction: float, seed: Sequence[int]) -> dict[str, Estimated | float]:
    """Return all estimates of one sample beside the truth."""
    whole, part = sampled(population, fraction, seed)
    people, alone = len(population), float((np.bincount(population) == 1).sum())
    sample = SampledClasses.of(part, people)
    found = estimate_uniques(sample)
    told: dict[str, Estimated | float] = {
        one.estimator: Estimated.of(one.value, (one.low, one.high), alone) for one in found.estimates
    }
    told["taken"] = Estimated.of(found.choice.value, (0.0, found.choice.at_most), alone)
    again, sizes = float((part / whole).sum()), part.astype(np.float64)
    shares = np.full(len(sizes), sample.fraction)
    for one in (classic_total(sizes, shares), unseen_total(sizes, shares, sample)):
        told[f"again {one.method}"] = Estimated.of(one.expected, (one.low, one.high), again)
    unique = part == 1
    right = float(unique.sum() / whole[unique].sum())
    told["match"] = Estimated.of(chance_of_correct_match(sample), match_interval(sample) or (), right)
    return {**told, "true again": again, "true match": right, "true uniques": alone}


def drawn(name: str, fraction: float, samples: int = SAMPLES) -> list[dict[str, Estimated | float]]:
    """Return the estimates of several samples of one population; the population is drawn once."""
    place = list(POPULATIONS).index(name)
    population = POPULATIONS[name](np.random.default_rng([SEED, place]))
    return [estimates(population, fraction, [SEED, place, round(1000 * fraction), number]) for number in range(samples)]


def words(found: Sequence[dict[str, Estimated | float]], name: str) -> str:
    """Return the median ratio to the truth, its 5 % and 95 % quantiles, and the coverage of the intervals."""
    every = [one for told in found if isinstance(one := told[name], Estimated)]
    ratios = [one.ratio for one in every if one.ratio is not None]
    if not ratios:
        return "no solution"
    covered = [one.covered for one in every if one.covered is not None]
    low, middle, high = np.quantile(ratios, (0.05, 0.5, 0.95))
    share = f"{np.mean(covered):.0%}" if covered else "–"
    unsolved = "" if len(ratios) == len(every) else f", {len(every) - len(ratios)} unsolved"
    return f"{middle:.2f} ({low:.2f}–{high:.2f}), {share}{unsolved}"


def mean_truth(found: Sequence[dict[str, Estimated | float]], name: str) -> float:
    """Return the mean of a truth over the samples."""
    return float(np.mean([told[name] for told in found]))


def tables() -> dict[str, str]:
    """Return the page's tables of population uniques and of rows found again."""
    warnings.simplefilter("error")
    uniques = [
        "| population | sample | true | Pitman | Zayatz | slide | taken | bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    again = [
        "| population | sample | true | Benedetti & Franconi | Pitman | true chance | chance of a right match |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in POPULATIONS:
        for fraction in FRACTIONS:
            found = drawn(name, fraction)
            print(name, fraction, words(found, "Pitman"), words(found, "again Pitman"), flush=True)
            taken, held = words(found, "taken").rsplit(", ", 1)
            each = " | ".join(words(found, one) for one in ("Pitman", "Zayatz", "slide negative binomial"))
            begin = f"| {name} | {fraction:.1%}".replace(".0%", "%").replace("%", " %")
            uniques.append(f"{begin} | {mean_truth(found, 'true uniques'):,.0f} | {each} | {taken} | {held} |")
            totals = " | ".join(words(found, one) for one in ("again Benedetti & Franconi", "again Pitman"))
            match = f"{mean_truth(found, 'true match'):.3f} | {words(found, 'match')}"
            again.append(f"{begin} | {mean_truth(found, 'true again'):,.0f} | {totals} | {match} |")
    return {
        UNIQUES: "\n".join(uniques) + "\n",
        AGAIN: "\n".join(again) + "\n",
        HOMES: homes_table(),
        SPECIAL: special_table(),
    }


def homes(name: str, draw: np.random.Generator) -> tuple[Int64s, Int64s]:
    """Return a population's keys, and households of one to five who are drawn at random or live at one place.

    Those at one place follow each other in the order of the keys: they share most columns.
    """
    keys_of = POPULATIONS[name.removesuffix(", alike")](draw)
    of = np.repeat(np.arange(len(keys_of)), draw.integers(1, 6, len(keys_of)))[: len(keys_of)]
    place = np.argsort(keys_of, kind="stable") if name.endswith(", alike") else draw.permutation(len(keys_of))
    households = np.empty_like(of)
    households[place] = of
    return keys_of, households


def home_estimates(keys_of: Int64s, households: Int64s, fraction: float, seed: Sequence[int]) -> tuple[float, ...]:
    """Return the true rows in households that are found in a sample of households, and both estimates' ratios to it."""
    taken = np.random.default_rng(seed).random(int(households.max()) + 1) < fraction
    rows = np.flatnonzero(taken[households])
    _, classes = np.unique(keys_of[rows], return_inverse=True)
    sizes = np.bincount(classes).astype(np.float64)
    sample, shares = SampledClasses.of(sizes.astype(np.int64), len(keys_of)), np.full(len(sizes), fraction)
    single = 1 / np.bincount(keys_of)[keys_of[rows]], classic_risks(sizes, shares)[classes]
    true, classic = (float(household_risks(risks, households[rows]).sum()) for risks in single)
    unseen = unseen_risks(sizes, shares, sample)
    if unseen is None:
        return true, classic / true, math.nan
    return true, classic / true, float(household_risks(unseen[classes], households[rows]).sum()) / true


def homes_table() -> str:
    """Return the page's table of households that are found, beside the truth."""
    lines = ["| population, households | sample | true | Benedetti & Franconi | Pitman |", "|---|---|---|---|---|"]
    names = ("30,000 even keys", "50,000 uneven keys", "five crossed columns", "Adult, 4 columns", "Adult, 8 columns")
    for name in (*names, "Adult, 8 columns, alike"):
        keys_of, households = homes(name, np.random.default_rng([SEED, len(name)]))
        for fraction in (0.02, 0.1):
            seeds = [[SEED, round(1000 * fraction), number] for number in range(SAMPLES)]
            found = np.array([home_estimates(keys_of, households, fraction, seed) for seed in seeds])
            cells = [
                "{1:.2f} ({0:.2f}–{2:.2f})".format(*np.nanquantile(found[:, place], (0.05, 0.5, 0.95)))
                for place in (1, 2)
            ]
            lines.append(f"| {name} | {100 * fraction:.0f} % | {found[:, 0].mean():,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def special(columns: list[Int64s], fraction: float, seed: Sequence[int]) -> Pair:
    """Return the share of population uniques among all unique rows, and among the tenth of them with the top scores."""
    rows = np.random.default_rng(seed).choice(len(columns[0]), round(len(columns[0]) * fraction), replace=False)
    part = [column[rows] for column in columns]
    alone = (np.bincount(keys(columns)) == 1)[keys(columns)][rows]
    whole = keys(part)
    unique = (np.bincount(whole) == 1)[whole]
    chances = dis_suda(suda_scores(UniqueSets.of(part, len(part))), len(part), 0.1)
    order = np.argsort(-chances[unique], kind="stable")
    top = order[: max(1, len(order) // 10)]
    return float(alone[unique].mean()), float(alone[unique][top].mean())


def special_table() -> str:
    """Return what the scores of special uniques tell about population uniques."""
    lines = ["| population | sample | of all unique rows | of the tenth with the highest scores |", "|---|---|---|---|"]
    for name, columns in {"Adult, 8 columns": adult(EIGHT), "Census 1980, 6 columns": census()}.items():
        for fraction in (0.02, 0.1):
            found = np.array([special(columns, fraction, [SEED, round(1000 * fraction), one]) for one in range(10)])
            cells = [f"{mean:.1%} ± {error:.1%}" for mean, error in zip(found.mean(0), found.std(0), strict=True)]
            lines.append(f"| {name} | {fraction:.0%} | {' | '.join(cells)} |".replace("%", " %"))
    return "\n".join(lines) + "\n"


def cost() -> Iterator[Row]:
    """Yield what the measures of Adult's training rows cost, and those of its special uniques alone."""
    table, columns = sf.read(data_folder() / "adult_train.csv.gz"), [column[:32_561] for column in adult(EIGHT)]
    population_risk(table, EIGHT, fraction=0.01)
    seconds = once(lambda: population_risk(table, EIGHT, fraction=0.01))
    yield within("risk in the population, Adult, 32,561 rows, 8 columns", seconds, 10)
    seconds = once(lambda: UniqueSets.of(columns, 8))
    yield within("special uniques, Adult, 32,561 rows, all 255 sets of 8 columns", seconds, 5)


def errors() -> Iterator[Row]:
    """Yield how far the estimates of 5 % samples of Adult lie from the truth: the larger of ratio and its inverse."""
    found = drawn("Adult, 8 columns", 0.05, 20)
    for name, title in (("taken", "population uniques"), ("again Pitman", "rows found again, Pitman")):
        ratios = [one.ratio for told in found if isinstance(one := told[name], Estimated) and one.ratio]
        middle = float(np.median(ratios))
        off = max(middle, 1 / middle)
        yield Row(f"{title}, 5 % of Adult, times off the truth", f"{middle:.2f}", "the truth", off, 1.5, at_most=True)


PARTS = (Part("what the risk in the population costs", cost), Part("its errors on samples of Adult", errors))


if __name__ == "__main__":
    made = tables()
    text = PAGE.read_text(encoding="utf-8")
    for mark, table in made.items():
        before, _, rest = text.partition(f"<!-- {mark} -->\n")
        _, _, after = rest.partition(f"<!-- /{mark} -->\n")
        text = f"{before}<!-- {mark} -->\n{table}<!-- /{mark} -->\n{after}"
    PAGE.write_text(text, encoding="utf-8")
