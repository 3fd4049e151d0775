"""Answers on made-up rows: the same question on rows drawn from the public schema alone, free and as often as wanted.

Nothing of the rows at hand is looked at, so that nothing is spent (Dwork & Roth 2014, proposition 2.1: what follows
from public facts alone costs nothing).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.dp.answer import Answer
from sfumato.dp.arranged import arrange_groups, rename_columns
from sfumato.dp.budget_split import answer_columns, check_noise
from sfumato.dp.drawn_answer import Circumstances, drawn_answer
from sfumato.dp.limits import key_limits
from sfumato.dp.postprocessing import check_postprocessing, postprocess
from sfumato.dp.price import check_price, price_of_question
from sfumato.dp.promised import question_promise
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.rows import open_rows
from sfumato.dp.rows.together import Together
from sfumato.dp.stored_answer import StoredAnswer
from sfumato.errors import ParameterError
from sfumato.promise.cost import Cost, Number
from sfumato.promise.unit import ProtectPersons, Unit
from sfumato.random import SeededSource, noise_from
from sfumato.schema import Attribute, Kind, Schema

if TYPE_CHECKING:
    from sfumato.dp.questions.query import Query
    from sfumato.dp.session import Session

Draws = npt.NDArray[np.int64]
SEED = 1  # rows that are nobody's need no secret
ROWS, MOST_ROWS = 1000, 100_000
UNBOUNDED = {Kind.INTEGER: (0, 99), Kind.NUMBER: (0.0, 100.0)}
YEARS = (dt.date(2020, 1, 1), dt.date(2029, 12, 31))
WORDS = tuple(f"made up {number}" for number in range(1, 9))
STEPS = 1 << 20  # places between the bounds of a number
MADE_UP = "the rows were made up from the public schema: these numbers tell nothing of anybody, and nothing was spent"


def made_up_frame(schema: Schema, unit: Unit, rows: int, seed: int = SEED) -> pl.DataFrame:
    r"""Return rows that are nobody's: every cell is drawn evenly from what the schema declares of its column.

    >>> schema = Schema.from_text('[columns.hour]\nrole = "other"\ntype = "integer"\nbounds = [0, 23]\n')
    >>> from sfumato.promise.unit import ProtectRows
    >>> frame = made_up_frame(schema, ProtectRows(), 1000)
    >>> frame.height, frame["hour"].min(), frame["hour"].max()
    (1000, 0, 23)
    """
    if isinstance(rows, bool) or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(f"{rows} rows would be made up; give a number from 1 to {MOST_ROWS}")
    source = SeededSource(seed)
    drawn = {name: source.words(rows).astype(np.int64) for name in schema.columns}
    data = {name: _cells(attribute, drawn[name]) for name, attribute in schema.columns.items()}
    if isinstance(unit, ProtectPersons):
        data[unit.person] = _persons(schema.columns[unit.person], drawn[unit.person], unit)
    return pl.DataFrame(data)


def _cells(attribute: Attribute, drawn: Draws) -> pl.Series:
    kind = attribute.kind
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return _times(attribute, drawn)
    if kind in {Kind.INTEGER, Kind.NUMBER}:
        low, high = attribute.bounds or UNBOUNDED[kind]
        if kind is Kind.INTEGER:
            span = int(high) - int(low) + 1  # type: ignore[arg-type]  # bounds of integers are integers
            return pl.Series([int(low) + int(place) % span for place in drawn], dtype=pl.Int64)  # type: ignore[arg-type]
        share = (drawn % (STEPS + 1)) / STEPS
        return pl.Series(float(low) + share * (float(high) - float(low)))  # type: ignore[arg-type]  # both are numbers
    words = _words(attribute)
    return pl.Series([words[place] for place in drawn % len(words)])


def _words(attribute: Attribute) -> Sequence[str]:
    if attribute.hierarchy is not None:
        return attribute.hierarchy.leaves
    return attribute.categories or WORDS


def _times(attribute: Attribute, drawn: Draws) -> pl.Series:
    low, high = attribute.bounds or YEARS
    if not (isinstance(low, dt.date) and isinstance(high, dt.date)):
        raise ParameterError(f"the bounds of column '{attribute.name}' are no dates; declare dates")
    if attribute.kind is Kind.DATE:
        days = (high - low).days + 1
        return pl.Series([low + dt.timedelta(days=int(place) % days) for place in drawn], dtype=pl.Date)
    first, last = (one if isinstance(one, dt.datetime) else dt.datetime.combine(one, dt.time()) for one in (low, high))
    seconds = int((last - first).total_seconds()) + 1
    return pl.Series([first + dt.timedelta(seconds=int(place) % seconds) for place in drawn], dtype=pl.Datetime("us"))


def _persons(attribute: Attribute, drawn: Draws, unit: ProtectPersons) -> pl.Series:
    """Return persons, of each about as many rows as the budget counts; in all tables the same persons."""
    many = max(1, len(drawn) // (unit.rows * unit.groups))
    if attribute.categories:
        return pl.Series([attribute.categories[place % len(attribute.categories)] for place in drawn % many])
    if attribute.kind in {Kind.INTEGER, Kind.NUMBER}:
        low = 0 if attribute.bounds is None else attribute.bounds[0]
        return pl.Series([low + int(place) for place in drawn % many])  # type: ignore[operator]  # a number
    return pl.Series([f"person {place}" for place in drawn % many])


def rehearse(  # noqa: PLR0913 - all that a question has
    session: Session,
    query: Query,
    epsilon: Number | None = None,
    *,
    delta: Number = 0,
    rho: Number | None = None,
    analyst: str,
    post: tuple[str, ...] = (),
    rows: int | None = None,
) -> Answer:
    """Return what a question would look like at a price, on made-up rows; each group's noise is drawn anew each time.

    >>> import tempfile
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Role.OTHER, sf.Kind.INTEGER, bounds=(0, 99))
    >>> place, frame = f"{tempfile.mkdtemp()}/ages.ledger", pl.DataFrame({"age": [31]})
    >>> session = sf.Session.create(place, frame, sf.Schema({"age": age}), sf.Budget(epsilon=1))
    >>> answer = rehearse(session, sf.count(), 1, analyst="ana")
    >>> 900 < answer.value < 1100, str(answer.left.epsilon), answer.card.warnings[0] == MADE_UP
    (True, '1', True)
    """
    if not session.tables.schemas and query.table in {session.table, None}:
        query = replace(query, table=None)
    compiled = compile_query(query, session.schema, session.unit, session.neighbours, session.tables)
    budget, version = session.budget, session.ledger.version
    cost = price_of_question(budget.accountant, epsilon, delta, rho)
    check_price(compiled, cost, budget)
    check_noise(compiled, cost)
    check_postprocessing(post)
    stored = _drawn(session, compiled, cost, version, ROWS if rows is None else rows)
    stored = postprocess(rename_columns(stored, compiled.key_labels, compiled.labels), post)
    left = session.left_for(analyst)
    return Answer(arrange_groups(stored, compiled.arrangement), Cost(), left)


def _drawn(session: Session, compiled: Compiled, cost: Cost, version: int, rows: int) -> StoredAnswer:
    schemas: Mapping[str, Schema] = session.tables.schemas or {session.table: session.schema}
    first = compiled.table or next(iter(schemas))
    needed = dict.fromkeys([first, *compiled.tables])
    made: dict[str, Any] = {
        name: open_rows(made_up_frame(schemas[name], session.unit, rows, SEED + place), schemas[name])
        for place, name in enumerate(needed)
    }
    with Together().look(made) as look:
        tallies = look.rows.collect(compiled.request(bytes(32)))
    cells, columns = answer_columns(compiled, tallies, cost, noise_from())
    told = Circumstances(schemas[first], session.budget.accountant, version, session.ledger.terms.deadline)
    stored = drawn_answer(compiled, cells, columns, question_promise(compiled, cost), told)
    return msgspec.structs.replace(stored, warnings=[MADE_UP, *stored.warnings], **key_limits(compiled, cost))
