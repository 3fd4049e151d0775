"""Private tables of no rows, of one row and of few: the laws of what leaves, worked out exactly."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.random import SeededSource, Source
from sfumato.tabular import SafePub

SEX = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))
ILL = sf.Attribute("ill", sf.Role.SENSITIVE, sf.Kind.CATEGORY, categories=("flu", "gout"))
ONE = sf.Attribute("land", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("here",))
SCHEMA = sf.Schema({"sex": SEX, "ill": ILL})
MODELS = [sf.KAnonymity(2)]

Row = tuple[str | None, ...]
Law = dict[object, Fraction]


def table(rows: Sequence[Row], names: Sequence[str] = ("sex", "ill")) -> sf.Table:
    return sf.Table(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"))


def exp(power: Fraction) -> Fraction:
    with localcontext(prec=60):
        return Fraction((Decimal(power.numerator) / Decimal(power.denominator)).exp())


class Forced:
    """Noise whose one selection is given; it remembers how likely that was."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.weights: list[Fraction] = [Fraction(1)]

    def exponential(self, scores: Sequence[int], scale: Fraction) -> int:
        self.weights = [exp(score / scale) for score in scores]
        return self.index

    @property
    def probability(self) -> Fraction:
        return self.weights[self.index] / sum(self.weights)


class SafePubLaw:
    """The exact law of a release: every scheme and every sample, through `anonymize` itself."""

    def __init__(self, chosen: SafePub, patch: pytest.MonkeyPatch) -> None:
        self.chosen = chosen
        self.plan = chosen.plan(MODELS)
        self.patch = patch

    def of(self, rows: sf.Table, schema: sf.Schema = SCHEMA) -> Law:
        found: Law = defaultdict(Fraction)
        for index in itertools.count():
            forced = Forced(index)
            for mask, chance in self.samples(rows.rows):
                try:
                    outcome = self.release(rows, schema, forced, mask)
                except IndexError:
                    assert sum(found.values()) == 1
                    return found
                found[outcome] += chance * forced.probability
            if len(forced.weights) == 1:
                return found
        raise AssertionError

    def samples(self, rows: int) -> Iterator[tuple[tuple[bool, ...], Fraction]]:
        beta = self.plan.beta
        for mask in itertools.product((False, True), repeat=rows):
            yield mask, beta ** sum(mask) * (1 - beta) ** (rows - sum(mask))

    def release(self, rows: sf.Table, schema: sf.Schema, forced: Forced, mask: tuple[bool, ...]) -> object:
        def sample(count: int, rate: Fraction, source: Source) -> np.ndarray:
            del source
            assert (count, rate) == (len(mask), self.plan.beta)
            return np.array(mask, dtype=np.bool_)

        self.patch.setattr("sfumato.tabular.private.safepub.noise_from", lambda _: forced)
        self.patch.setattr("sfumato.tabular.private.safepub.sample_rows", sample)
        made = self.chosen.anonymize(rows, schema, MODELS, rng=SeededSource(1), audit=False)
        public = made.card.released
        shown = tuple(sorted(map(str, made.table.frame.rows())))
        return shown, str(public.settings["scheme"]), public.classes, str(public.models), tuple(made.card.warnings)


def hockey_stick(left: Law, right: Law, epsilon: Fraction) -> Fraction:
    """The exact δ at ε, the worse of both ways."""
    ways = ((left, right), (right, left))
    grown = exp(epsilon)
    gaps = [[max(Fraction(0), p - grown * b.get(x, Fraction(0))) for x, p in a.items()] for a, b in ways]
    return max(sum(gap, Fraction(0)) for gap in gaps)


NEIGHBOURS: list[tuple[list[Row], Row]] = [
    ([], ("F", "flu")),
    ([], (None, None)),
    ([("F", "flu")], ("F", "flu")),
    ([("F", "flu")], ("M", "nothing known")),
    ([("F", "flu")] * 3, ("F", "flu")),
    ([("F", "flu")] * 5, ("F", "flu")),
    ([("F", "flu")] * 4, ("M", "gout")),
]


@pytest.mark.parametrize("chosen", [SafePub(1, 0.1, 0.25), SafePub(1, 0.1, 0.25, scheme={"sex": 0})])
@pytest.mark.parametrize("rows, extra", NEIGHBOURS)
def test_safepub_keeps_its_delta_exactly(
    chosen: SafePub, rows: list[Row], extra: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = SafePubLaw(chosen, monkeypatch)
    found = hockey_stick(laws.of(table(rows)), laws.of(table([*rows, extra])), Fraction(1))
    assert found <= laws.plan.delta
    assert found <= Fraction(chosen.delta)


def test_the_schemes_of_no_rows_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = SafePubLaw(SafePub(1, 0.1, 0.25), monkeypatch)
    none, one = laws.of(table([])), laws.of(table([("F", "flu")]))
    assert none == one
    assert set(none.values()) == {Fraction(1, 4)}


def test_a_column_of_a_single_category_and_rows_that_are_all_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    laws, schema = SafePubLaw(SafePub(1, 0.1, 0.25), monkeypatch), sf.Schema({"land": ONE})
    for rows in ([], [("here",)], [("nowhere",)] * 2, [("here",)] * 4):
        after = laws.of(table([*rows, ("here",)], ["land"]), schema)
        assert hockey_stick(laws.of(table(rows, ["land"]), schema), after, Fraction(1)) <= laws.plan.delta


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("schema", [SCHEMA, sf.Schema({"land": ONE})])
def test_boxes_of_few_rows_are_drawn_as_those_of_many(rows: int, schema: sf.Schema) -> None:
    """No rows are counted with noise like any other number of them: what leaves differs from draw to draw."""
    names = list(schema.columns)
    people = table([("F", "flu") if len(names) == 2 else ("here",)] * rows, names)
    sizes = [
        sf.PrivateMondrian(epsilon=1, depth=3).anonymize(people, schema, rng=SeededSource(seed), audit=False).table.rows
        for seed in range(40)
    ]
    assert len(set(sizes)) > 1
    assert max(sizes) < 100
