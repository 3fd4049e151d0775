"""A session: questions about declared data, answered with noise and charged to a durable budget first.

The order never changes: check the question, debit the ledger, only then look at the rows and draw noise, store the
answer, and let it leave on a schedule. A crash may charge for an answer never given; it never gives one uncharged
(the ledger follows Rogers, Roth, Ullman & Vadhan 2016; the schedule answers Haeberlen, Pierce & Narayan 2011).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sfumato.core.seam import choose
from sfumato.dp.answer import Answer, AnswerColumn, StoredAnswer, check_postprocessing, postprocess
from sfumato.dp.batch import mechanisms_together, simple_estimator
from sfumato.dp.budget_split import Plan, answer_columns, check_noise, plan_amount
from sfumato.dp.dataset import declared_rows, whereabouts, without_files
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.mechanisms.additive import AdditiveNoise
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.grids import attribute_of
from sfumato.dp.questions.query import Query
from sfumato.dp.questions.request import Cells, QueryableRows, Tallies
from sfumato.dp.questions.sql import parse_sql, spell_columns
from sfumato.dp.rows import RowsElsewhere, open_rows, table_name
from sfumato.errors import InputError, ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, Number, amount
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit, read_unit, write_unit
from sfumato.promise.zcdp import rho_of_pure
from sfumato.random import Noise, Source, noise_from
from sfumato.random.laws import Uniform
from sfumato.schema import Schema

ANALYST = "analyst"
LATENCY = 0.25


@dataclass(eq=False)
class Session:
    """Questions about one declared data set, against one ledger.

    Answers are delayed to multiples of `latency` seconds, so that the time they take says nothing about the rows;
    `rng` is for tests alone, and an answer drawn from it says so.

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
    rows: QueryableRows
    schema: Schema
    unit: Unit
    neighbours: Neighbours
    table: str
    latency: float = LATENCY
    rng: Source | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.latency) and self.latency >= 0):
            raise ParameterError(f"the latency is {self.latency}; give seconds from 0")

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

        A second ledger over the same rows is refused unless its terms say that it is about other people.
        """
        unit = read_unit(protect) if isinstance(protect, str) else protect
        side = _neighbours(neighbours)
        schema = without_files(schema)
        if isinstance(unit, ProtectPersons):
            attribute_of(schema, unit.person)
        rows = declared_rows(data, schema)
        name = table_name(data)
        facts = {
            **whereabouts(data),
            "table": name,
            "schema": schema.to_toml(),
            "protect": write_unit(unit),
            "neighbours": str(side),
            "fingerprint": rows.fingerprint(),
        }
        shares = None if analysts is None else {name: amount(share) for name, share in analysts.items()}
        ledger = Ledger.create(path, budget, facts, analysts=shares, terms=terms)
        return cls(ledger, rows, schema, unit, side, name)

    @classmethod
    def open(
        cls, path: str | Path, *, data: Any = None, latency: float = LATENCY, rng: Source | None = None
    ) -> Session:
        """Open the session of an existing ledger; `data` is needed where the rows were a dataframe or an engine's.

        Without an engine's rows a price can be planned, and nothing can be asked.
        """
        ledger = Ledger.open(path)
        facts = ledger.facts
        schema = Schema.from_text(facts["schema"])
        if data is None and facts["data"] is None and "engine" not in facts:
            raise InputError(f"ledger '{path}' was made for a dataframe; give it again with data=…")
        if data is None and "engine" in facts:
            rows: QueryableRows = RowsElsewhere(facts["engine"])
        else:
            rows = open_rows(facts["data"] if data is None else data, schema)
        unit, side = read_unit(facts["protect"]), Neighbours(facts["neighbours"])
        return cls(ledger, rows, schema, unit, side, facts["table"], latency, rng)

    def ask(
        self,
        query: Query,
        epsilon: Number | None = None,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str = ANALYST,
        post: tuple[str, ...] = (),
    ) -> Answer:
        """Answer a question at a price; the same question again is answered with the same numbers, free of charge.

        Under a zCDP ledger, `epsilon` buys ρ = ε²/2 (Bun & Steinke 2016, proposition 1.4), or give `rho` itself.
        `post` names post-processing, which costs nothing: `nonnegative`, `consistent`, `integer`.
        """
        compiled = self._compile(query)
        cost = self._price(epsilon, delta, rho)
        self._check_price(compiled, cost)
        check_noise(compiled, cost)
        self.rows.check(compiled.request(b""))
        check_postprocessing(post)

        def draw(version: int) -> bytes:
            cells, columns = answer_columns(compiled, self._tallies(compiled), cost, noise_from(self.rng))
            return msgspec.json.encode(self._stored_answer(compiled, cells, columns, cost, version))

        kept, spent = self._buy(f"{compiled.text} at {cost}", cost, analyst, draw)
        stored = postprocess(_rename_columns(msgspec.json.decode(kept, type=StoredAnswer), compiled), post)
        return Answer(stored, spent, self.ledger.left_for(analyst))

    def _buy(self, question: str, cost: Cost, analyst: str, draw: Callable[[int], bytes]) -> tuple[bytes, Cost]:
        """Return the stored answer to a question and what it cost now: from the ledger, or drawn after the debit."""
        version = self.ledger.version
        paid = self.ledger.find(question, version, analyst)
        if paid is not None:
            return paid, Cost()
        self._check_rows(version)
        begun = time.monotonic()
        entry = self.ledger.debit(question, version, analyst, cost)
        if entry.answer is not None:
            return entry.answer, entry.cost
        try:
            return self.ledger.settle(entry, draw(version)), entry.cost
        finally:
            self._wait(begun)  # a failure is delayed like an answer

    def ask_together(
        self, queries: Sequence[Query], epsilon: Number, delta: Number, *, analyst: str = ANALYST
    ) -> list[Answer]:
        """Answer counts and sums that are declared together, at one price and with less noise than one by one.

        The price is (ε, δ) for all of them, composed tightly (`sfumato[batch]`); the ledger counts pure ε and δ.
        """
        compiled = [self._compile(query) for query in queries]
        cost = self._price(epsilon, delta, None)
        mechanisms = mechanisms_together(compiled, cost)
        for entry in compiled:
            self.rows.check(entry.request(b""))
        question = " and ".join(entry.text for entry in compiled) + f" together at {cost}"

        def draw(version: int) -> list[StoredAnswer]:
            noise = noise_from(self.rng)
            return [
                self._stored_answer(
                    entry, *_with_mechanism(entry, self._tallies(entry), mechanism, noise), cost, version
                )
                for entry, mechanism in zip(compiled, mechanisms, strict=True)
            ]

        kept, spent = self._buy(question, cost, analyst, lambda version: msgspec.json.encode(draw(version)))
        left = self.ledger.left_for(analyst)
        answers = zip(msgspec.json.decode(kept, type=list[StoredAnswer]), compiled, strict=True)
        return [Answer(_rename_columns(stored, entry), spent, left) for stored, entry in answers]

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

    def new_version(self, data: Any) -> int:
        """Declare that the rows have changed; the budget goes on, since versions compose."""
        rows = declared_rows(data, self.schema)
        kept = {name: fact for name, fact in self.ledger.facts.items() if name != "engine"}
        facts = {**kept, **whereabouts(data), "fingerprint": rows.fingerprint()}
        number = self.ledger.declare_version(facts)
        self.rows = rows
        return number

    def _parse_question(self, text: str) -> Query:
        return spell_columns(parse_sql(text, self.table), self.schema.columns)

    def _compile(self, query: Query) -> Compiled:
        if not isinstance(query, Query):
            raise ParameterError(
                f"the question is {query!r}; make one by sf.count() and its like, or give SQL to sql()"
            )
        return compile_query(query, self.schema, self.unit, self.neighbours)

    def _price(self, epsilon: Number | None, delta: Number, rho: Number | None) -> Cost:
        if (epsilon is None) == (rho is None):
            raise ParameterError("a question needs one price; give epsilon, or rho under a zCDP ledger")
        if self.ledger.budget.accountant is Accountant.PURE:
            if epsilon is None:
                raise ParameterError("the ledger counts epsilon and delta; give epsilon, not rho")
            return Cost(epsilon=amount(epsilon), delta=amount(delta))
        if amount(delta):
            raise ParameterError("the ledger counts rho; leave delta out")
        return Cost(rho=amount(rho) if rho is not None else rho_of_pure(amount(epsilon or 0)))

    def _check_price(self, compiled: Compiled, cost: Cost) -> None:
        if not (cost.epsilon or cost.rho):
            raise ParameterError("the price of a question is 0; give an epsilon above 0")
        if compiled.unknown and not cost.delta:
            names = ", ".join(f"'{key.column}'" for key in compiled.keys if not hasattr(key, "cells"))
            raise ParameterError(
                f"the values of {names} are not declared, so finding them needs a delta (pure accounting); "
                f"give one, or declare the categories in the schema"
            )
        if cost.delta and not compiled.unknown:
            raise ParameterError("the question's keys are all declared, so that it needs no delta; leave it out")

    def _check_rows(self, version: int) -> None:
        if self.rows.fingerprint() != self.ledger.facts_of(version)["fingerprint"]:
            raise InputError(
                "the data are no longer those the ledger was made for; declare them with `sfumato budget new-version`"
            )

    def _tallies(self, compiled: Compiled) -> Tallies:
        secret = choose(lambda: Uniform("secret of the ledger"), self.ledger.secret)
        return self.rows.collect(compiled.request(secret))

    def _stored_answer(
        self, compiled: Compiled, cells: Sequence[Cells], columns: list[AnswerColumn], cost: Cost, version: int
    ) -> StoredAnswer:
        secure = self.rng is None or self.rng.secure
        warnings = [] if secure else ["noise drawn from a seed: for tests only, promises nothing"]
        if not self.latency:
            warnings.append("answers left as soon as they were ready: the time they took was not hidden")
        return StoredAnswer(
            question=compiled.words,
            keys=list(compiled.names),
            cells=[compiled.show_cells(cell) for cell in cells],
            columns=columns,
            epsilon=str(cost.epsilon),
            delta=str(cost.delta),
            rho=str(cost.rho),
            accountant=str(self.ledger.budget.accountant),
            unit=self.unit.words,
            neighbours=NEIGHBOURS[self.neighbours],
            data_version=version,
            assumptions=assumptions(self.unit, self.schema),
            warnings=warnings,
        )

    def _wait(self, begun: float) -> None:
        """Sleep until a multiple of the latency has passed since `begun`."""
        if self.latency > 0:
            time.sleep(self.latency - (time.monotonic() - begun) % self.latency)


def _with_mechanism(
    compiled: Compiled, tallies: Tallies, mechanism: AdditiveNoise, noise: Noise
) -> tuple[list[Cells], list[AnswerColumn]]:
    return tallies.cells, [simple_estimator(compiled).with_noise(tallies.columns[0], mechanism, noise)]


def _rename_columns(stored: StoredAnswer, compiled: Compiled) -> StoredAnswer:
    """The answer with its columns called as they are in this question: a name is no part of what was paid for."""
    labels = [entry.label for entry in compiled.query.aggregates]
    pairs = zip(stored.columns, labels, strict=True)
    return msgspec.structs.replace(stored, columns=[msgspec.structs.replace(c, name=label) for c, label in pairs])


NEIGHBOURS = {
    Neighbours.PRESENCE: "presence: one unit is there or not",
    Neighbours.VALUE: "value: one unit's values are others",
}


def assumptions(unit: Unit, schema: Schema) -> list[str]:
    """Return what must be true for the promise to hold."""
    people = (
        "a person's rows carry the same identifier; more rows or groups than the bound are left out by a keyed hash"
        if not isinstance(unit, ProtectRows)
        else "a person has one row; where a person has more, the promise to that person weakens by their number"
    )
    del schema
    return [
        people,
        "bounds and categories in the schema were declared without looking at the rows",
        "the ledger is the only way to ask about these rows; other releases of them add to the loss",
    ]


def _neighbours(value: Neighbours | str) -> Neighbours:
    try:
        return Neighbours(value)
    except ValueError:
        raise ParameterError(f"neighbours is '{value}'; give 'presence' or 'value'") from None
