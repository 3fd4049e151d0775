"""What every anonymizer must do: keep the rows, keep the promise, drop identifiers, and say all of it on the card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from sfumato.checks.base import Check, expect, parameter_checks
from sfumato.checks.tables import random_schema, random_table
from sfumato.errors import UnsatisfiableError
from sfumato.evaluate.check import check
from sfumato.models import AlphaK, KAnonymity, LDiversity, Model, TCloseness
from sfumato.random import SeededSource
from sfumato.release import Release
from sfumato.roles import Role
from sfumato.tabular import Anonymizer

MODEL_SETS: tuple[tuple[Model, ...], ...] = (
    (KAnonymity(3),),
    (KAnonymity(2), LDiversity(2, "disease")),
    (KAnonymity(2), LDiversity(2, "disease", kind="entropy")),
    (KAnonymity(2), LDiversity(2, "income", kind="recursive", c=3)),
    (KAnonymity(3), TCloseness(0.4, "disease"), TCloseness(0.4, "income")),
    (AlphaK(0.7, 3, "disease"),),
)
QUASI = ("age", "weight", "born", "sex", "job", "grade")


def anonymizer_checks(anonymizer: Anonymizer) -> Iterator[Check]:
    """Yield the checks for one anonymizer, each over several random tables and models.

    >>> import sfumato as sf
    >>> for check in anonymizer_checks(sf.Mondrian()):
    ...     check.run()
    """
    yield from parameter_checks(anonymizer)
    for models in MODEL_SETS:
        named = " and ".join(model.name for model in models)
        for seed, rows in ((1, 40), (2, 7), (3, 150)):
            for name, function in CHECKS.items():
                yield Check(f"{name} ({named}, {rows} rows)", partial(function, anonymizer, models, seed, rows))
    yield Check("too small a table is refused", lambda: _refuses_too_small(anonymizer))
    yield Check("k counts persons", lambda: _counts_persons(anonymizer))


def _release(anonymizer: Anonymizer, models: Sequence[Model], seed: int, rows: int) -> Release:
    return anonymizer.anonymize(random_table(seed, rows), random_schema(), models, rng=SeededSource(seed))


def _keeps_rows(anonymizer: Anonymizer, models: Sequence[Model], seed: int, rows: int) -> None:
    release = _release(anonymizer, models, seed, rows)
    suppressed = int(release.steward.get("rows_suppressed", 0))
    expect(release.table.rows == release.card.released.rows, "the card counts other rows than the release has")
    expect(release.table.rows + suppressed == rows, f"{rows - release.table.rows} rows are missing")
    if not suppressed:
        before = sorted(random_table(seed, rows).column("disease").to_list())
        after = sorted(release.table.column("disease").to_list())
        expect(before == after, "the sensitive values are not those of the table")


def _keeps_promise(anonymizer: Anonymizer, models: Sequence[Model], seed: int, rows: int) -> None:
    release = _release(anonymizer, models, seed, rows)
    found = check(release.table, QUASI, ("disease", "income"), schema=random_schema(), c=3)
    for model in models:
        if isinstance(model, KAnonymity | AlphaK):
            expect(found.k >= model.k, f"k is {found.k} in the released table; {model.k} was promised")
        if isinstance(model, LDiversity):
            value = getattr(found.sensitive[model.column], f"l_{model.kind}")
            expect(model.holds(value), f"{model.name} is {value} in the released table; {model.l} was promised")
        if isinstance(model, TCloseness):
            value = found.sensitive[model.column].t
            expect(model.holds(value), f"t is {value} in the released table; {model.t} was promised")
        if isinstance(model, AlphaK):
            value = found.sensitive[model.column].alpha
            expect(model.holds(value), f"α is {value} in the released table; {model.alpha} was promised")


def _drops_identifiers(anonymizer: Anonymizer, models: Sequence[Model], seed: int, rows: int) -> None:
    release = _release(anonymizer, models, seed, rows)
    expect("id" not in release.table.names, "an identifier was released")
    roles = {column.name: column.role for column in release.card.released.columns}
    expect(list(roles) == list(release.table.names), "the card lists other columns than the release has")
    expect(Role.IDENTIFIER not in roles.values(), "the card lists an identifier")


def _is_reproducible(anonymizer: Anonymizer, models: Sequence[Model], seed: int, rows: int) -> None:
    table = random_table(seed, rows)
    copy = table.frame.clone()
    first = anonymizer.anonymize(table, random_schema(), models, rng=SeededSource(seed))
    second = anonymizer.anonymize(table, random_schema(), models, rng=SeededSource(seed))
    expect(first.table.frame.equals(second.table.frame), "the same seed gave two different releases")
    expect(table.frame.equals(copy), "the input table was changed")
    if first.card.released.order == "shuffled":
        expect(any("seed" in warning for warning in first.card.warnings), "a seeded release does not say so")


CHECKS: dict[str, Callable[[Anonymizer, Sequence[Model], int, int], None]] = {
    "no row is lost": _keeps_rows,
    "the released table satisfies its models": _keeps_promise,
    "identifiers are dropped": _drops_identifiers,
    "a seed reproduces the release": _is_reproducible,
}


def _refuses_too_small(anonymizer: Anonymizer) -> None:
    try:
        anonymizer.anonymize(random_table(1, 4), random_schema(), [KAnonymity(5)])
    except UnsatisfiableError as error:
        expect("at most k=4 is possible" in str(error), f"the error does not say what is possible: {error}")
        return
    expect(condition=False, sentence="5-anonymity was promised for 4 rows")


def _counts_persons(anonymizer: Anonymizer) -> None:
    table = random_table(5, 120)
    kept = replace(anonymizer, keep_order=True)  # type: ignore[type-var]
    release = kept.anonymize(table, random_schema(person=True), [KAnonymity(4)])
    expect(release.card.guarantee.unit.startswith("person"), "the card does not name persons as the unit")
    if release.table.rows == table.rows:
        joined = release.table.frame.with_columns(table.column("id").alias("id"))
        persons = joined.group_by(QUASI).agg(pl.col("id").n_unique().alias("persons")).get_column("persons").to_list()
        expect(min(persons) >= 4, f"a class has only {min(persons)} persons")
