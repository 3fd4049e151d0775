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
from typing import Any, TypeVar

import msgspec

from sfumato.core.display import as_html, listed, one_line
from sfumato.core.seam import choose
from sfumato.dp.answer import Answer
from sfumato.dp.arranged import arrange_groups, rename_columns
from sfumato.dp.batch import batch_columns, mechanisms_together
from sfumato.dp.budget_split import answer_columns, check_noise, check_ranks
from sfumato.dp.deadline import check_deadline, meet_deadline, refuse_too_short
from sfumato.dp.drawn_answer import Circumstances, drawn_answer
from sfumato.dp.ledger.ledger import Debit, Ledger
from sfumato.dp.ledger.places import LedgerPlace
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.ledger.till import Purchase, pay
from sfumato.dp.limits import key_limits
from sfumato.dp.made_up import rehearse
from sfumato.dp.plan import Plan, Planner
from sfumato.dp.postprocessing import check_postprocessing, postprocess
from sfumato.dp.price import check_price, price_of_question
from sfumato.dp.promised import PricedQuestion, batch_promise, question_promise
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.joining import PrivateTables
from sfumato.dp.questions.query import Query
from sfumato.dp.questions.request import Cells, QueryableRows, Tallies
from sfumato.dp.questions.sql import parse_sql
from sfumato.dp.questions.sql.tables import KnownTables
from sfumato.dp.rows.duckdb import load_engine
from sfumato.dp.stored_answer import AnswerColumn, StoredAnswer
from sfumato.dp.tables import (
    LedgerTables,
    declare_tables,
    facts_of_tables,
    private_tables,
    renew,
    rows_joined,
    seconds_of_counts,
)
from sfumato.errors import ParameterError
from sfumato.promise import Promise
from sfumato.promise.cost import Accountant, Budget, Cost, Number, amount
from sfumato.promise.unit import Neighbours, ProtectRows, Unit, read_neighbours, read_unit, write_unit
from sfumato.random import Source, noise_from
from sfumato.random.laws import Uniform
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
    rows: LedgerTables
    schema: Schema
    unit: Unit
    neighbours: Neighbours
    table: str
    deadline: float | None = None
    rng: Source | None = None
    tables: PrivateTables = field(default_factory=PrivateTables)  # where there are several
    parse_reports: Mapping[str, ParseReport | None] = field(default_factory=dict, repr=False)  # of declared tables

    def __post_init__(self) -> None:
        check_deadline(self._seconds)

    @property
    def parse_report(self) -> ParseReport | None:
        """What became of the cells of the table declared first; for whoever declares the rows, and kept nowhere."""
        return next(iter(self.parse_reports.values()), None)

    @property
    def budget(self) -> Budget:
        """What may be spent in all, by every analyst together."""
        return self.ledger.budget

    @property
    def left(self) -> Cost:
        """What is left of the budget, in exact decimals: read from the ledger anew, so it counts other sessions too."""
        return self.ledger.left

    def left_for(self, analyst: str) -> Cost:
        """What is left for one analyst: of the analyst's own share if there are shares, and never more than `left`."""
        return self.ledger.left_for(analyst)

    def _facts(self) -> dict[str, object]:
        """What may be shown of a session: nothing that is computed from rows."""
        return {
            "table": listed(self.tables.schemas) if self.tables.schemas else self.table,
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
        place: LedgerPlace,
        data: Any,
        schema: Schema | Mapping[str, Schema],
        budget: Budget,
        *,
        protect: Unit | str = ProtectRows(),  # noqa: B008 - frozen
        neighbours: Neighbours | str = Neighbours.PRESENCE,
        analysts: Mapping[str, Number] | None = None,
        terms: Terms = Terms(),  # noqa: B008 - frozen
        rows: Mapping[str, int] | None = None,
    ) -> Session:
        """Make a ledger for the data, in a file or in PostgreSQL, and open a session on it; none is ever replaced.

        A second ledger over the same rows is refused unless its terms say that it is about other people. So are rows of
        which more than the schema's share (`failed`) cannot be read; `parse_report` tells what became of all cells.

        Several tables are mappings of their names to rows and to schemas: they share a budget that protects persons,
        whose column is in each. `rows` bounds how many rows of a person a table gives to a join.
        """
        unit = read_unit(protect) if isinstance(protect, str) else protect
        side = read_neighbours(neighbours)
        declared = declare_tables(data, schema, unit)
        joined = rows_joined(rows, declared)
        refuse_too_short(terms.deadline, seconds_of_counts(declared) if terms.deadline else 0)
        units = {"protect": write_unit(unit), "neighbours": str(side)}
        facts = {**facts_of_tables(declared), **joined, **units}
        shares = None if analysts is None else {name: amount(share) for name, share in analysts.items()}
        ledger = Ledger.create(place, budget, facts, analysts=shares, terms=terms)
        first, found = declared[0], LedgerTables.declared(ledger, declared, 1)
        tables, cells = private_tables(facts), {table.name: table.cells for table in declared}
        return cls(ledger, found, first.schema, unit, side, first.name, None, None, tables, cells)

    @classmethod
    def open(
        cls, place: LedgerPlace, *, data: Any = None, deadline: float | None = None, rng: Source | None = None
    ) -> Session:
        """Open the session of an existing ledger; `data` is needed where the rows were a dataframe or an engine's.

        No row is looked at yet, and nothing is spent: `budget`, `left` and `plan` need none. Several sessions, also in
        several processes, may have the same ledger open. Without an engine's rows nothing can be asked.
        """
        ledger = Ledger.open(place)
        facts = ledger.facts
        found = LedgerTables.of(ledger, data)
        unit, side, name = read_unit(facts["protect"]), Neighbours(facts["neighbours"]), facts["table"]
        schema, tables = found.tables[name].schema, private_tables(facts)
        return cls(ledger, found, schema, unit, side, name, deadline, rng, tables)

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
        check_price(compiled, cost, self.budget)
        check_noise(compiled, cost)
        check_ranks(compiled, cost, rows)
        check_postprocessing(post)
        promise = question_promise(compiled, cost)

        def draw(rows: QueryableRows, version: int) -> bytes:
            cells, columns = answer_columns(compiled, self._tallies(rows, compiled), cost, noise_from(self.rng))
            stored = self._stored_answer(compiled, cells, columns, promise, version)
            return msgspec.json.encode(msgspec.structs.replace(stored, **key_limits(compiled, cost)))

        def show(kept: bytes, spent: Cost) -> Answer:
            stored = msgspec.json.decode(kept, type=StoredAnswer)
            stored = postprocess(rename_columns(stored, compiled.key_labels, compiled.labels), post)
            stored = arrange_groups(stored, compiled.arrangement)
            return Answer(stored, spent, self.ledger.left_for(analyst), self.ledger.head.text, self._backend)

        return self._buy(PricedQuestion(f"{compiled.text} at {cost}", promise, analyst), [compiled], draw, show)

    def _buy(
        self, purchase: PricedQuestion, compiled: Sequence[Compiled], draw: Draw, show: Callable[[bytes, Cost], Shown]
    ) -> Shown:
        """Return what `show` makes of the answer and of what it cost now: from the ledger, or drawn after the debit."""

        def work() -> tuple[bytes, Cost, Debit | None]:
            version = self.ledger.version
            paid = self.ledger.find(purchase.question, version, purchase.analyst)
            if paid is not None:
                return paid, Cost(), None
            with self.rows.look(version, (compiled[0].table, *compiled[0].tables)) as rows:
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
                    entry, *batch_columns(entry, self._tallies(rows, entry), mechanism, noise), promise, version
                )
                for entry, mechanism in zip(compiled, mechanisms, strict=True)
            ]
            return msgspec.json.encode(drawn)

        def show(kept: bytes, spent: Cost) -> list[Answer]:
            left, head = self.ledger.left_for(analyst), self.ledger.head.text
            pairs = zip(msgspec.json.decode(kept, type=list[StoredAnswer]), compiled, strict=True)
            named = [(rename_columns(stored, entry.key_labels, entry.labels), entry) for stored, entry in pairs]
            shown = [arrange_groups(stored, entry.arrangement) for stored, entry in named]
            return [Answer(stored, spent, left, head, self._backend) for stored in shown]

        return self._buy(PricedQuestion(question, promise, analyst), compiled, draw, show)

    def sql(
        self, text: str, epsilon: Number | None = None, *, public: Mapping[str, Any] | None = None, **options: Any
    ) -> Answer:
        """Answer a question written in SQL; the table is called by the file's stem.

        `public` gives public tables that it joins by their names: files, dataframes or `PublicTable`.
        """
        return self.ask(self.question(text, public=public), epsilon, **options)

    def rehearse(self, query: Query | str, epsilon: Number | None = None, **options: Any) -> Answer:
        """Answer a question about made-up rows, free of charge; the card says so."""
        asked = self.question(query) if isinstance(query, str) else query
        return rehearse(self, asked, epsilon, **{"analyst": ANALYST, **options})

    def question(self, text: str, *, public: Mapping[str, Any] | None = None) -> Query:
        """Return the question written in SQL as data; nothing is asked.

        `public` gives public tables that it joins by their names: files, dataframes or `PublicTable`.
        """
        return parse_sql(text, KnownTables.of(self.tables.schemas or {self.table: self.schema}, public))

    def plan(  # noqa: PLR0913 - an error or a price, and what is publicly known
        self,
        query: Query | str,
        error: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        analyst: str = ANALYST,
        public: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Return the price that keeps every answer's error below `error`, or the errors that `epsilon` or `rho` buys.

        Nothing is spent, no row is looked at, and errors are in the unit of the answer. Those of means, variances and
        quantiles depend on how many rows a group has, which is secret: give a public guess as `rows`. `delta` shows
        the threshold of keys that are not declared, `public` gives public tables as in `sql`.
        """
        compiled = self._compile(self.question(query, public=public) if isinstance(query, str) else query)
        left = self.ledger.left_for(analyst)
        planner = Planner(compiled, self._schema_of(compiled), self.budget, left, confidence, rows)
        if [error, epsilon, rho].count(None) != 2:
            raise ParameterError("a plan starts from an error or from a price; give one of error, epsilon and rho")
        if error is not None:
            return planner.for_error(error, amount(delta))
        return planner.at(price_of_question(self._accountant, epsilon, delta, rho))

    def new_version(self, data: Any, *, reading: Reading = Reading(), failed: float | None = None) -> int:  # noqa: B008
        """Declare that the rows have changed, and how their file is laid out; the budget goes on: versions compose.

        Of several tables, those that a mapping of names to rows gives are replaced, or the one that a file is named as.
        `failed` is the share of a column's filled cells that may be no value of its type, in place of the schema's.
        """
        renewed = renew(self.ledger, self.rows, data, reading, failed)
        self.rows, self.parse_reports = renewed.tables, renewed.cells
        return renewed.version

    def _compile(self, query: Query) -> Compiled:
        if not isinstance(query, Query):
            raise ParameterError(
                f"the question is {query!r}; make one by sf.count() and its like, or give SQL to sql()"
            )
        if not self.tables.schemas and query.table in {self.table, None}:
            query = replace(query, table=None)
        return compile_query(query, self.schema, self.unit, self.neighbours, self.tables)

    def _schema_of(self, compiled: Compiled) -> Schema:
        """Return the schema of the table that a question is about."""
        return self.tables.schemas.get(compiled.table or "", self.schema)

    def _tallies(self, rows: QueryableRows, compiled: Compiled) -> Tallies:
        secret = choose(lambda: Uniform("secret of the ledger"), self.ledger.secret)
        return rows.collect(compiled.request(secret))

    def _stored_answer(
        self, compiled: Compiled, cells: Sequence[Cells], columns: list[AnswerColumn], promise: Promise, version: int
    ) -> StoredAnswer:
        told = Circumstances(self._schema_of(compiled), self._accountant, version, self._seconds, self.rng)
        return drawn_answer(compiled, cells, columns, promise, told)
