"""What every anonymizer must do: keep the rows, keep the promise, drop identifiers, and say all of it on the card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import polars as pl

from sfumato.checks.base import Check, expect, parameter_checks
from sfumato.checks.masking import masking_checks
from sfumato.checks.tables import GRADES, random_schema, random_table
from sfumato.errors import ParameterError, UnsatisfiableError
from sfumato.evaluate.check import written_groups
from sfumato.models import AlphaK, KAnonymity, LDiversity, Model, TCloseness
from sfumato.random import SeededSource, Source
from sfumato.release import Release
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.tabular import Anonymizer, MaskingAnonymizer, PrivateAnonymizer


@dataclass(frozen=True)
class SlowDiversity(LDiversity):
    """Distinct l-diversity without its compiled test, as a stranger's model comes.

    >>> SlowDiversity(2, "disease").compiled
    False
    """

    criterion = Model.criterion  # type: ignore[assignment]  # the very method that says "none of my own"


MODEL_SETS: tuple[tuple[Model, ...], ...] = (
    (KAnonymity(3),),
    (KAnonymity(2), LDiversity(2, "disease")),
    (KAnonymity(2), LDiversity(2, "disease", kind="entropy")),
    (KAnonymity(2), LDiversity(2, "income", kind="recursive", c=3)),
    (KAnonymity(3), TCloseness(0.4, "disease"), TCloseness(0.4, "income")),
    (AlphaK(0.7, 3, "disease"),),
    (KAnonymity(2), SlowDiversity(2, "disease")),
)
SIZES = ((1, 40), (2, 7), (3, 150))
QUASI = ("age", "weight", "born", "sex", "job", "grade")


Engine = Callable[[Anonymizer, Table, Schema, Sequence[Model], Source | None], Release]


def one_machine(
    anonymizer: Anonymizer, table: Table, schema: Schema, models: Sequence[Model], source: Source | None
) -> Release:
    """Return the release that the anonymizer itself makes, here and in memory.

    >>> import sfumato as sf
    >>> one_machine(sf.Mondrian(), random_table(1, 9), random_schema(), [sf.KAnonymity(3)], None).table.rows
    9
    """
    return anonymizer.anonymize(table, schema, models, rng=source)


def anonymizer_checks(
    anonymizer: Anonymizer, engine: Engine = one_machine, sizes: Sequence[tuple[int, int]] = SIZES
) -> Iterator[Check]:
    """Yield the checks for one anonymizer, each over several random tables and models, on one engine.

    `sizes` are the tables' seeds and numbers of rows.

    >>> import sfumato as sf
    >>> for check in anonymizer_checks(sf.Mondrian()):
    ...     check.run()
    """
    yield from parameter_checks(anonymizer)
    if isinstance(anonymizer, PrivateAnonymizer):
        yield from (Check(name, partial(function, anonymizer)) for name, function in PRIVATE_CHECKS.items())
        return
    if isinstance(anonymizer, MaskingAnonymizer):
        yield from masking_checks(anonymizer)
        return
    for models in MODEL_SETS:
        named = " and ".join(model.name for model in models)
        if not all(map(anonymizer.accepts, models)):
            yield Check(f"{named} is refused", partial(_refuses_models, Case(anonymizer, engine, models, *sizes[0])))
            continue
        for seed, rows in sizes:
            case = Case(anonymizer, engine, models, seed, rows)
            for name, function in CHECKS.items():
                yield Check(f"{name} ({named}, {rows} rows)", partial(function, case))
    yield Check("too small a table is refused", lambda: _refuses_too_small(anonymizer, engine))
    yield Check("k counts persons", lambda: _counts_persons(anonymizer, engine))


@dataclass(frozen=True, eq=False)
class Case:
    """One anonymizer on one engine, with models and a random table."""

    anonymizer: Anonymizer
    engine: Engine
    models: Sequence[Model]
    seed: int
    rows: int

    @property
    def table(self) -> Table:
        """The random table."""
        return random_table(self.seed, self.rows)

    @cached_property
    def release(self) -> Release:
        """The release of the random table, which all checks look at."""
        return self.anew(self.table)

    def anew(self, table: Table) -> Release:
        """Return one more release of a table, from the same seed."""
        return self.engine(self.anonymizer, table, random_schema(), self.models, SeededSource(self.seed))


def _keeps_rows(case: Case) -> None:
    release, rows = case.release, case.rows
    suppressed = int(release.steward.get("rows_suppressed", 0))
    expect(release.table.rows == release.card.released.rows, "the card counts other rows than the release has")
    expect(release.table.rows + suppressed == rows, f"{rows - release.table.rows} rows are missing")
    if not suppressed:
        before = sorted(case.table.column("disease").to_list())
        after = sorted(release.table.column("disease").to_list())
        expect(before == after, "the sensitive values are not those of the table")


def _keeps_promise(case: Case) -> None:
    groups = written_groups(case.release.table, QUASI, ("disease", "income"), schema=random_schema())
    for model in case.models:
        value = model.measure(groups)
        expect(model.holds(value), f"{model.name} is {value} in the released table; {model.asked} was promised")
        expect(not model.failing(groups).any(), f"a class of the released table breaks {model.name}")


def _drops_identifiers(case: Case) -> None:
    release = case.release
    expect("id" not in release.table.names, "an identifier was released")
    roles = {column.name: column.role for column in release.card.released.columns}
    expect(list(roles) == list(release.table.names), "the card lists other columns than the release has")
    expect(Role.IDENTIFIER not in roles.values(), "the card lists an identifier")


def _is_reproducible(case: Case) -> None:
    table = case.table
    copy = table.frame.clone()
    first, second = case.release, case.anew(table)
    expect(first.table.frame.equals(second.table.frame), "the same seed gave two different releases")
    expect(table.frame.equals(copy), "the input table was changed")
    if first.card.released.order == "shuffled":
        expect(any("seed" in warning for warning in first.card.warnings), "a seeded release does not say so")


CHECKS: dict[str, Callable[[Case], None]] = {
    "no row is lost": _keeps_rows,
    "the released table satisfies its models": _keeps_promise,
    "identifiers are dropped": _drops_identifiers,
    "a seed reproduces the release": _is_reproducible,
}


def _refuses_models(case: Case) -> None:
    try:
        _ = case.release
    except ParameterError as error:
        expect("cannot promise" in str(error), f"the error does not say what cannot be promised: {error}")
        return
    expect(condition=False, sentence="models that the algorithm does not accept were promised")


def _refuses_too_small(anonymizer: Anonymizer, engine: Engine) -> None:
    try:
        engine(anonymizer, random_table(1, 4), random_schema(), [KAnonymity(5)], None)
    except UnsatisfiableError as error:
        expect("at most k=4 is possible" in str(error), f"the error does not say what is possible: {error}")
        return
    expect(condition=False, sentence="5-anonymity was promised for 4 rows")


def _counts_persons(anonymizer: Anonymizer, engine: Engine) -> None:
    """Let a column that nobody protects carry the person, so that classes can be counted in persons."""
    table = Table(random_table(5, 120).frame.with_columns(pl.col("id").alias("who")))
    schema = replace(random_schema(person=True), other="keep").accepting(["who"])
    release = engine(anonymizer, table, schema, [KAnonymity(4)], None)
    expect(release.card.guarantee.unit.startswith("person"), "the card does not name persons as the unit")
    frame = release.table.frame
    written = [name for name in frame.columns if name in QUASI or name.rpartition("_")[0] in QUASI]  # or its two ends
    shown = frame.group_by(written).agg(pl.col("who").n_unique().alias("persons"))
    persons = shown.get_column("persons").to_list()
    expect(min(persons) >= 4, f"a class has only {min(persons)} persons")


PUBLIC = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120)),
        "grade": Attribute("grade", Role.QUASI, Kind.ORDINAL, categories=GRADES),
    },
    other="drop",
)


def _private_release(anonymizer: PrivateAnonymizer, rows: int = 120, *, audit: bool = False) -> Release:
    return anonymizer.anonymize(random_table(7, rows), PUBLIC, rng=SeededSource(7), audit=audit)


def _says_what_it_promises(anonymizer: PrivateAnonymizer) -> None:
    card = _private_release(anonymizer).card
    expect(card.guarantee.neighbours, "the card does not say which tables are neighbours")
    expect("epsilon" in card.guarantee.parameters, "the card does not say epsilon")
    expect(any("seed" in warning for warning in card.warnings), "a seeded release does not say so")


def _is_attacked(anonymizer: PrivateAnonymizer) -> None:
    expect(anonymizer.audit is not None, f"{type(anonymizer).__name__} declares no attack on itself")
    expect(_private_release(anonymizer, audit=True).card.audits, "the card does not say what attacks found")


def _draws_by_its_seed(anonymizer: PrivateAnonymizer) -> None:
    first, second = (_private_release(anonymizer, audit=audit).table.frame for audit in (False, True))
    expect(first.equals(second), "the same seed gave two different releases")


def _no_row_stops_it(anonymizer: PrivateAnonymizer) -> None:
    _private_release(anonymizer, rows=1)
    odd = random_table(7, 20).frame.with_columns(age=pl.lit(999), grade=pl.lit("unheard of"))
    anonymizer.anonymize(Table(odd), PUBLIC, audit=False)
    anonymizer.anonymize(Table(odd.head(0)), PUBLIC, audit=False)


PRIVATE_CHECKS: dict[str, Callable[[PrivateAnonymizer], None]] = {
    "the card says what is promised": _says_what_it_promises,
    "the card says what attacks found": _is_attacked,
    "a seed reproduces the release, audited or not": _draws_by_its_seed,
    "no row can stop it": _no_row_stops_it,
}
