"""A session: questions about declared data, answered with noise and charged to a durable budget first.

The order never changes: check the question, start the clock, take one look at the rows, debit the ledger, only then
count and draw noise, and store the answer when it is time to let it leave. A crash may charge for an answer never
given; it never gives one uncharged (the ledger follows Rogers, Roth, Ullman & Vadhan 2016; the deadline answers
Haeberlen, Pierce & Narayan 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sfumato.core.display import as_html, listed, one_line
from sfumato.core.seam import choose
from sfumato.dp.answer import Answer, AnswerColumn, StoredAnswer, check_postprocessing, postprocess, rename_columns
from sfumato.dp.batch import mechanisms_together, simple_estimator
from sfumato.dp.budget_split import Plan, answer_columns, check_noise, check_ranks, plan_amount
from sfumato.dp.dataset import (
    LedgerRows,
    declared_cells,
    declared_rows,
    laid_out,
    noted_reading,
    seconds_of_a_count,
    whereabouts,
    without_files,
)
from sfumato.dp.deadline import check_deadline, meet_deadline, refuse_too_short
from sfumato.dp.ledger.ledger import Debit, Ledger
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.ledger.till import Purchase, pay
from sfumato.dp.limits import clipped_to, least_units
from sfumato.dp.mechanisms.additive import AdditiveNoise
from sfumato.dp.price import check_price, price_of_question
from sfumato.dp.promised import assumptions, batch_promise, question_promise
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.grids import attribute_of
from sfumato.dp.questions.query import Query
from sfumato.dp.questions.request import Cells, QueryableRows, Tallies
from sfumato.dp.questions.sql import parse_sql, spell_columns
from sfumato.dp.rows import table_name
from sfumato.dp.rows.duckdb import load_engine
from sfumato.errors import InputError, ParameterError
from sfumato.promise import Promise
from sfumato.promise.cost import Accountant, Budget, Cost, Number, amount
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit, read_unit, write_unit
from sfumato.random import Noise, Source, noise_from
from sfumato.random.laws import Uniform
from sfumato.release.card import Guarantee
from sfumato.schema import Reading, Schema
from sfumato.table import ParseReport
from sfumato.table.table import backend_of

Shown = TypeVar("Shown")
Draw = Callable[[QueryableRows, int], bytes]
ANALYST = "analyst"


@dataclass(eq=False)
class Session:
    """Questions about one declared data set, against one ledger.

    An answer leaves when the ledger's deadline has passed since it was asked, so that the time it takes says nothing
    about the rows; `deadline` is another one (0: when it is ready), for those who may see the rows. `rng` is for tests
    alone, and an answer drawn from it says so.

    >>> import pathlib, tempfile, polars as pl
    >>> import sfumato as sf
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rides = pl.DataFrame({"hour": [8, 8, 9], "minutes": [10.0, 12.5, 40.0]})
    >>> rides.write_csv(folder / "rides.csv")
    >>> text = '''
    ... [columns.hour]
    ... role = "other"
    ... type = "integer"
    ... bounds = [0, 23]
    ... [columns.minutes]
    ... role = "other"
    ... type = "number"
    ... bounds = [0, 120]
    ... '''
    >>> _ = (folder / "rides.toml").write_text(text)
    >>> schema = sf.Schema.from_toml(folder / "rides.toml")
    >>> session = sf.Session.create(folder / "rides.ledger", folder / "rides.csv", schema, sf.Budget(epsilon=1))
    >>> answer = session.ask(sf.count().by("hour"), epsilon="0.25")
    >>> answer.frame.height, str(answer.left.epsilon)
    (24, '0.75')
    >>> session.sql("SELECT hour, COUNT(*) FROM rides GROUP BY hour", epsilon=0.25).frame.equals(answer.frame)
    True
    """

    ledger: Ledger
    rows: LedgerRows
    schema: Schema
    unit: Unit
    neighbours: Neighbours
    table: str
    deadline: float | None = None
    rng: Source | None = None
    parse_report: ParseReport | None = field(default=None, repr=False)  # for whoever declares the rows; kept nowhere

    def __post_init__(self) -> None:
        check_deadline(self._seconds)

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self.ledger.budget

    @property
    def left(self) -> Cost:
        """What is left of the budget."""
        return self.ledger.left

    def _facts(self) -> dict[str, object]:
        """What may be shown of a session: nothing that is computed from rows."""
        return {
            "table": self.table,
            "columns": listed(self.schema.columns),
            "protects": f"a {self.unit.words}",
            "budget": str(self.budget.total),
            "left": str(self.left),
        }

    def __repr__(self) -> str:
        return one_line("Session", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Session", self._facts())

    @cached_property
    def _backend(self) -> str:
        """The kind of dataframe that answers come in."""
        return backend_of(self.rows.given)

    @property
    def _seconds(self) -> float:
        """The deadline that is kept."""
        return self._declared if self.deadline is None else self.deadline

    @cached_property
    def _declared(self) -> float:
        return self.ledger.terms.deadline

    @cached_property
    def _accountant(self) -> Accountant:
        return self.ledger.budget.accountant

    @classmethod
    def create(  # noqa: PLR0913 - all that is declared with a ledger
        cls,
        path: str | Path,
        data: Any,
        schema: Schema,
        budget: Budget,
        *,
        protect: Unit | str = ProtectRows(),  # noqa: B008 - frozen
        neighbours: Neighbours | str = Neighbours.PRESENCE,
        analysts: Mapping[str, Number] | None = None,
        terms: Terms = Terms(),  # noqa: B008 - frozen
    ) -> Session:
        """Make a ledger for the data and open a session on it; an existing ledger is never replaced.

        A second ledger over the same rows is refused unless its terms say that it is about other people. So are rows of
        which more than the schema's share (`failed`) cannot be read; `parse_report` tells what became of all cells.
        """
        unit = read_unit(protect) if isinstance(protect, str) else protect
        side = _neighbours(neighbours)
        schema = without_files(schema)
        if isinstance(unit, ProtectPersons):
            attribute_of(schema, unit.person)
        rows = declared_rows(data, schema)
        cells = declared_cells(data, rows, schema)
        refuse_too_short(terms.deadline, seconds_of_a_count(rows) if terms.deadline else 0)
        name = table_name(data)
        facts = {
            **whereabouts(data),
            "table": name,
            "schema": schema.to_toml(),
            "protect": write_unit(unit),
            "neighbours": str(side),
            "fingerprint": rows.fingerprint(),
            **noted_reading(rows),
        }
        shares = None if analysts is None else {name: amount(share) for name, share in analysts.items()}
        ledger = Ledger.create(path, budget, facts, analysts=shares, terms=terms)
        found = LedgerRows(ledger, schema, None if facts["data"] and "engine" not in facts else data, (1, rows))
        return cls(ledger, found, schema, unit, side, name, parse_report=cells)

    @classmethod
    def open(
        cls, path: str | Path, *, data: Any = None, deadline: float | None = None, rng: Source | None = None
    ) -> Session:
        """Open the session of an existing ledger; `data` is needed where the rows were a dataframe or an engine's.

        Without an engine's rows a price can be planned, and nothing can be asked. No row is looked at yet.
        """
        ledger = Ledger.open(path)
        facts = ledger.facts
        schema = Schema.from_text(facts["schema"])
        if data is None and facts["data"] is None and "engine" not in facts:
            raise InputError(f"ledger '{path}' was made for a dataframe; give it again with data=…")
        unit, side = read_unit(facts["protect"]), Neighbours(facts["neighbours"])
        return cls(ledger, LedgerRows(ledger, schema, data), schema, unit, side, facts["table"], deadline, rng)

    def ask(
        self,
        query: Query,
        epsilon: Number | None = None,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str = ANALYST,
        post: tuple[str, ...] = (),
        rows: int | None = None,
    ) -> Answer:
        """Answer a question at a price; the same question again is answered with the same numbers, free of charge.

        Under a zCDP ledger, `epsilon` buys ρ = ε²/2 (Bun & Steinke 2016, proposition 1.4), or give `rho` itself.
        `post` names post-processing, which costs nothing: `nonnegative`, `consistent`, `integer`. `rows` is a public
        guess of how many rows a group has: a minimum, maximum or quantile that would be the median is then refused.
        """
        compiled = self._compile(query)
        cost = price_of_question(self._accountant, epsilon, delta, rho)
        check_price(compiled, cost)
        check_noise(compiled, cost)
        check_ranks(compiled, cost, rows)
        check_postprocessing(post)
        promise = question_promise(compiled, cost)

        def draw(rows: QueryableRows, version: int) -> bytes:
            cells, columns = answer_columns(compiled, self._tallies(rows, compiled), cost, noise_from(self.rng))
            stored = self._stored_answer(compiled, cells, columns, promise, version)
            return msgspec.json.encode(msgspec.structs.replace(stored, threshold=least_units(compiled, cost)))

        def show(kept: bytes, spent: Cost) -> Answer:
            stored = postprocess(rename_columns(msgspec.json.decode(kept, type=StoredAnswer), compiled.labels), post)
            return Answer(stored, spent, self.ledger.left_for(analyst), self.ledger.head.text, self._backend)

        return self._buy(_Purchase(f"{compiled.text} at {cost}", promise, analyst), [compiled], draw, show)

    def _buy(
        self, purchase: _Purchase, compiled: Sequence[Compiled], draw: Draw, show: Callable[[bytes, Cost], Shown]
    ) -> Shown:
        """Return what `show` makes of the answer and of what it cost now: from the ledger, or drawn after the debit."""

        def work() -> tuple[bytes, Cost, Debit | None]:
            version = self.ledger.version
            paid = self.ledger.find(purchase.question, version, purchase.analyst)
            if paid is not None:
                return paid, Cost(), None
            with self.rows.look(version) as rows:
                for entry in compiled:
                    rows.check(entry.request(b""))
                what = Purchase("query", purchase.question)
                debit = pay(self.ledger, purchase.promise, what, analyst=purchase.analyst, version=version)
                if debit.answer is not None:
                    return debit.answer, debit.cost, None
                drawn = draw(rows, version)
            return drawn, debit.cost, debit

        def finish(bought: tuple[bytes, Cost, Debit | None]) -> Shown:
            answer, spent, debit = bought
            return show(answer if debit is None else self.ledger.settle(debit, answer), spent)

        if self._seconds:
            load_engine()
        return meet_deadline(self._seconds, work, finish, self.ledger.freeze)

    def ask_together(
        self, queries: Sequence[Query], epsilon: Number, delta: Number, *, analyst: str = ANALYST
    ) -> list[Answer]:
        """Answer counts and sums that are declared together, at one price and with less noise than one by one.

        The price is (ε, δ) for all of them, composed tightly (`sfumato[batch]`); the ledger counts pure ε and δ.
        """
        compiled = [self._compile(query) for query in queries]
        cost = price_of_question(self._accountant, epsilon, delta)
        mechanisms = mechanisms_together(compiled, cost)
        promise = batch_promise(compiled, cost)
        question = " and ".join(entry.text for entry in compiled) + f" together at {cost}"

        def draw(rows: QueryableRows, version: int) -> bytes:
            noise = noise_from(self.rng)
            drawn = [
                self._stored_answer(
                    entry, *_with_mechanism(entry, self._tallies(rows, entry), mechanism, noise), promise, version
                )
                for entry, mechanism in zip(compiled, mechanisms, strict=True)
            ]
            return msgspec.json.encode(drawn)

        def show(kept: bytes, spent: Cost) -> list[Answer]:
            left, head = self.ledger.left_for(analyst), self.ledger.head.text
            answers = zip(msgspec.json.decode(kept, type=list[StoredAnswer]), compiled, strict=True)
            return [
                Answer(rename_columns(stored, entry.labels), spent, left, head, self._backend)
                for stored, entry in answers
            ]

        return self._buy(_Purchase(question, promise, analyst), compiled, draw, show)

    def sql(self, text: str, epsilon: Number | None = None, **options: Any) -> Answer:
        """Answer a question written in SQL; the table is called by the file's stem."""
        return self.ask(self._parse_question(text), epsilon, **options)

    def plan(self, query: Query | str, error: float, confidence: float = 0.95, rows: int | None = None) -> Plan:
        """Return the ε that keeps the error of every answer below `error`, before anything is spent.

        Means and variances depend on how many rows there are, which is secret: give a public guess as `rows`. The error
        of a quantile is in rows of rank.
        """
        compiled = self._compile(self._parse_question(query) if isinstance(query, str) else query)
        return plan_amount(compiled, self.ledger, error, confidence, rows)

    def new_version(self, data: Any, *, reading: Reading = Reading(), failed: float | None = None) -> int:  # noqa: B008
        """Declare that the rows have changed, and how their file is laid out; the budget goes on: versions compose.

        `failed` is the share of a column's filled cells that may be no value of its type, in place of the schema's.
        """
        schema = laid_out(self.schema, reading)
        rows = declared_rows(data, schema)
        self.parse_report = declared_cells(data, rows, schema if failed is None else replace(schema, failed=failed))
        kept = {name: fact for name, fact in self.ledger.facts.items() if name not in {"engine", "reading"}}
        facts = {**kept, **whereabouts(data), "fingerprint": rows.fingerprint(), **noted_reading(rows)}
        number = self.ledger.declare_version(facts)
        given = None if facts["data"] and "engine" not in facts else data
        self.rows = LedgerRows(self.ledger, self.schema, given, (number, rows))
        return number

    def _parse_question(self, text: str) -> Query:
        return spell_columns(parse_sql(text, self.table), self.schema.columns)

    def _compile(self, query: Query) -> Compiled:
        if not isinstance(query, Query):
            raise ParameterError(
                f"the question is {query!r}; make one by sf.count() and its like, or give SQL to sql()"
            )
        return compile_query(query, self.schema, self.unit, self.neighbours)

    def _tallies(self, rows: QueryableRows, compiled: Compiled) -> Tallies:
        secret = choose(lambda: Uniform("secret of the ledger"), self.ledger.secret)
        return rows.collect(compiled.request(secret))

    def _stored_answer(
        self, compiled: Compiled, cells: Sequence[Cells], columns: list[AnswerColumn], promise: Promise, version: int
    ) -> StoredAnswer:
        cost = promise.cost
        secure = self.rng is None or self.rng.secure
        warnings = [] if secure else ["noise drawn from a seed: for tests only, promises nothing"]
        if not self._seconds:
            warnings.append("answers left as soon as they were ready: the time they took was not hidden")
        return StoredAnswer(
            question=compiled.words,
            keys=list(compiled.names),
            cells=[compiled.show_cells(cell) for cell in cells],
            columns=columns,
            epsilon=str(cost.epsilon),
            delta=str(cost.delta),
            rho=str(cost.rho),
            accountant=str(self._accountant),
            unit=promise.metric.unit_words,
            neighbours=promise.metric.neighbours_words,
            data_version=version,
            assumptions=assumptions(self.unit, self._seconds),
            warnings=warnings,
            guarantee=Guarantee.of(promise),
            clipped=clipped_to(compiled, self.schema),
        )


@dataclass(frozen=True)
class _Purchase:
    """A question as the ledger knows it, what its answer promises, and who pays."""

    question: str
    promise: Promise
    analyst: str


def _with_mechanism(
    compiled: Compiled, tallies: Tallies, mechanism: AdditiveNoise, noise: Noise
) -> tuple[list[Cells], list[AnswerColumn]]:
    return tallies.cells, [simple_estimator(compiled).with_noise(tallies.columns[0], mechanism, noise)]


def _neighbours(value: Neighbours | str) -> Neighbours:
    try:
        return Neighbours(value)
    except ValueError:
        raise ParameterError(f"neighbours is '{value}'; give 'presence' or 'value'") from None
