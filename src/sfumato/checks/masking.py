"""What every masking method must do: keep rows, types and declared limits, and never promise what it cannot prove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from sfumato.checks.base import Check, expect
from sfumato.checks.tables import random_schema, random_table
from sfumato.core.cells import SUPPRESSED
from sfumato.errors import ParameterError
from sfumato.models import KAnonymity, LDiversity, Model
from sfumato.random import SeededSource
from sfumato.release import Card, Release
from sfumato.release.row_counts import RowCounts
from sfumato.release.statement import Statement
from sfumato.tabular.perturbation.base import MaskingAnonymizer

SIZES = ((1, 40), (2, 7), (3, 150))
MODELS: tuple[Model, ...] = (KAnonymity(3), LDiversity(2, "disease"))


def masking_checks(method: MaskingAnonymizer) -> Iterator[Check]:
    """Yield the checks for one masking method, each over several random tables.

    >>> import sfumato as sf
    >>> for check in masking_checks(sf.RankSwapping("age")):
    ...     check.run()
    """
    for model in MODELS:
        if not method.accepts(model):
            yield Check(f"{model.name} is refused", partial(_refuses, method, model))
    for seed, rows in SIZES:
        for name, function in CHECKS.items():
            yield Check(f"{name} ({rows} rows)", partial(function, method, seed, rows))


def _release(method: MaskingAnonymizer, seed: int, rows: int) -> Release:
    return method.anonymize(random_table(seed, rows), random_schema(), _models(method), rng=SeededSource(seed))


def _models(method: MaskingAnonymizer) -> Sequence[Model]:
    return [KAnonymity(3)] if method.accepts(KAnonymity(3)) else []


def _refuses(method: MaskingAnonymizer, model: Model) -> None:
    try:
        method.anonymize(random_table(1, 40), random_schema(), [model])
    except ParameterError as error:
        expect("cannot promise" in str(error), f"the error does not say what cannot be promised: {error}")
        return
    expect(condition=False, sentence=f"{model.name} was promised")


def _keeps_shape(method: MaskingAnonymizer, seed: int, rows: int) -> None:
    table, release = random_table(seed, rows), _release(method, seed, rows)
    names = [name for name in table.names if name != "id"]
    expect(release.table.rows == rows == release.card.released.rows, "rows were lost or added")
    expect(list(release.table.names) == names, "the release has other columns than the table, identifiers apart")
    expect([one.name for one in release.card.released.columns] == names, "the card lists other columns")
    expect(RowCounts.of(release.card, release.steward, rows).released == rows, "the card does not count the rows")


def _changes_what_it_says(method: MaskingAnonymizer, seed: int, rows: int) -> None:
    table, release = random_table(seed, rows), _release(method, seed, rows)
    unchanged = [warning for warning in release.card.warnings if warning.startswith("released unchanged: ")]
    told = [name.strip() for line in unchanged for name in line.partition(": ")[2].replace(" and ", ", ").split(", ")]
    for name in told:
        same = sorted(map(str, table.column(name))) == sorted(map(str, release.table.column(name)))
        expect(same, f"the card says that {name} is released unchanged, and it is not")
    expect(release.card.changes, "the card does not say what was changed")


def _stays_within_limits(method: MaskingAnonymizer, seed: int, rows: int) -> None:
    table, schema = _release(method, seed, rows).table, random_schema()
    for name in table.names:
        attribute = schema.columns[name]
        texts = table.column(name).cast(pl.String).drop_nulls()
        shown = texts.filter((texts != SUPPRESSED) & ~texts.is_in(list(attribute.missing)))
        if attribute.bounds is not None:
            numbers = shown.cast(pl.Float64)
            expect(numbers.is_between(*attribute.bounds).all(), f"{name} has a value outside of its declared bounds")
        words = attribute.categories or (None if attribute.hierarchy is None else attribute.hierarchy.leaves)
        expect(words is None or shown.is_in(list(words)).all(), f"{name} has a value that is not declared")


def _promises_nothing_unproven(method: MaskingAnonymizer, seed: int, rows: int) -> None:
    release = _release(method, seed, rows)
    card = Card.from_json(release.card.to_json())
    expect(card == release.card, "the card is not the same after it was written and read")
    findings = type(method).claims(card, release.table)
    expect(not any(finding.refuted for finding in findings), "a claim of the card is refuted by its own release")
    if card.guarantee.parameters:
        expect(findings, "the card promises something that no claim puts to the test")
        return
    expect(card.guarantee.model == card.guarantee.unit == "none", "the card promises something without parameters")
    expect("Nothing is promised" in Statement.of(card).text(), "the statement does not say that nothing is promised")
    expect(any("no bound is known" in words.casefold() for words in card.assumptions), "the card tells no limit")


def _is_reproducible(method: MaskingAnonymizer, seed: int, rows: int) -> None:
    table = random_table(seed, rows)
    copy = table.frame.clone()
    first, second = (
        method.anonymize(table, random_schema(), _models(method), rng=SeededSource(seed)) for _ in range(2)
    )
    expect(first.table.frame.equals(second.table.frame), "the same seed gave two different releases")
    expect(table.frame.equals(copy), "the input table was changed")
    expect(any("seed" in warning for warning in first.card.warnings), "a seeded release does not say so")
    other = method.anonymize(table, random_schema(), _models(method)).card
    expect(
        not any("seed" in warning for warning in other.warnings), "a release from the secure source speaks of a seed"
    )


def _tells_of_persons(method: MaskingAnonymizer, seed: int, rows: int) -> None:
    """Let persons have several rows: the card says what that does, or the method refuses them in a sentence."""
    from sfumato.errors import SchemaError

    schema = replace(random_schema(person=True), other="keep")
    ids = pl.Series("id", [f"p{number // 2}" for number in np.arange(rows)])
    try:
        release = method.anonymize(random_table(seed, rows).with_columns([ids]), schema, _models(method))
    except SchemaError as error:
        expect("one row" in str(error), f"the error does not say what to do about persons: {error}")
        return
    expect(any("several rows" in warning for warning in release.card.warnings), "the card does not speak of persons")


CHECKS: dict[str, Callable[[MaskingAnonymizer, int, int], None]] = {
    "rows and columns are kept": _keeps_shape,
    "what is said to be unchanged is": _changes_what_it_says,
    "declared limits are kept": _stays_within_limits,
    "nothing unproven is promised": _promises_nothing_unproven,
    "a seed reproduces the release": _is_reproducible,
    "persons with several rows are told": _tells_of_persons,
}
