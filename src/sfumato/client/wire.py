"""What goes over the wire between a curator and whoever asks: one type for each body, both sides read the same.

Amounts are texts of exact decimals, so that no price is ever a binary fraction. OpenAPI 3.1 describes the types, which
are JSON Schema (draft 2020-12).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sfumato.dp.answer import Answer
from sfumato.dp.plan import Plan, PlannedAnswer
from sfumato.dp.questions.form import QuestionForm
from sfumato.dp.stored_answer import StoredAnswer, Value
from sfumato.promise.cost import Cost

LONGEST_QUESTION = 20_000
Amount = Annotated[str, Meta(max_length=80)] | Annotated[int, Meta(ge=0, le=10**12)] | Annotated[float, Meta(ge=0)]
Sql = Annotated[str, Meta(max_length=LONGEST_QUESTION)]
Step = Literal["nonnegative", "consistent", "integer"]
Guess = Annotated[int, Meta(ge=1, le=10**12)]


class Amounts(msgspec.Struct, frozen=True):
    """A privacy loss, or what is left of a budget, in exact decimals.

    >>> Amounts("0.1").cost
    Cost(epsilon=Decimal('0.1'), delta=Decimal('0'), rho=Decimal('0'))
    """

    epsilon: str = "0"
    delta: str = "0"
    rho: str = "0"

    @classmethod
    def of(cls, cost: Cost) -> Amounts:
        """Return the amounts of a cost.

        >>> Amounts.of(Cost(epsilon="0.1")).epsilon
        '0.1'
        """
        return cls(str(cost.epsilon), str(cost.delta), str(cost.rho))

    @property
    def cost(self) -> Cost:
        """The same as a cost."""
        return Cost(self.epsilon, self.delta, self.rho)


class AskBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question and its price: SQL, or the form of a question.

    >>> AskBody(sql="SELECT COUNT(*) FROM rides", epsilon="0.1").delta
    '0'
    """

    sql: Sql | None = None
    query: QuestionForm | None = None
    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount = "0"
    post: Annotated[list[Step], Meta(max_length=3)] = []
    rows: Guess | None = None


class PlanBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question and either an error that is wanted or a price.

    >>> PlanBody(sql="SELECT COUNT(*) FROM rides", error=15).confidence
    0.95
    """

    sql: Sql | None = None
    query: QuestionForm | None = None
    error: float | None = None
    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount = "0"
    confidence: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    rows: Annotated[int, Meta(ge=1, le=10**6)] | None = None


class AnswerReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer: its rows, what it cost now, what is left, what a reader must know, and its public card.

    `stored` is the same answer as a Python client reads it; `head` is the newest link of the ledger's chain.
    """

    answer: list[dict[str, Value]]
    spent: Amounts
    left: Amounts
    notes: list[str]
    card: dict[str, Any]
    stored: StoredAnswer
    head: str | None = None
    id: str | None = None

    @classmethod
    def of(cls, answer: Answer) -> AnswerReply:
        """Return the reply with an answer."""
        card = msgspec.json.decode(answer.card.to_json())
        spent, left = Amounts.of(answer.spent), Amounts.of(answer.left)
        return cls(answer.rows.to_dicts(), spent, left, answer.notes, card, answer.stored, answer.head)

    def read(self) -> Answer:
        """Return the answer as a session gives it."""
        return Answer(self.stored, self.spent.cost, self.left.cost, self.head)


class PlannedAnswerReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a price buys for one aggregate."""

    name: str
    cost: Amounts
    error: float | None
    unit: str
    scale: float | None
    unit_of_scale: str
    ranks: float | None = None
    least_rows: int | None = None


class PlanReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A price and the accuracy that it buys; nothing was spent."""

    epsilon: str
    cost: Amounts
    error: float | None
    confidence: float
    affordable: bool
    left: Amounts
    answers: list[PlannedAnswerReply]
    clipped: dict[str, list[int | float | str]] = {}
    threshold: int | None = None
    present_from: int | None = None
    notes: list[str] = []

    @classmethod
    def of(cls, plan: Plan) -> PlanReply:
        """Return the reply with a plan."""
        answers = [
            PlannedAnswerReply(
                one.name, Amounts.of(one.cost), one.error, one.unit, one.scale, one.unit_of_scale, one.ranks,
                one.least_rows,
            )
            for one in plan.answers
        ]  # fmt: skip
        priced = str(plan.epsilon), Amounts.of(plan.cost), plan.error, plan.confidence, plan.affordable
        limits = plan.clipped, plan.threshold, plan.present_from, list(plan.notes)
        return cls(*priced, Amounts.of(plan.left), answers, *limits)

    def read(self) -> Plan:
        """Return the plan as a session gives it."""
        answers = tuple(
            PlannedAnswer(
                one.name, one.cost.cost, one.error, one.unit, one.scale, one.unit_of_scale, one.ranks, one.least_rows
            )
            for one in self.answers
        )
        priced = self.cost.cost, self.error, self.confidence, self.left.cost, answers
        return Plan(*priced, self.clipped, self.threshold, self.present_from, tuple(self.notes))


class BudgetReply(msgspec.Struct, frozen=True):
    """What an analyst may still spend on a data set, and what the whole budget is."""

    accountant: str
    total: Amounts
    left: Amounts


class ColumnReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column as the schema declares it."""

    name: str
    role: str
    type: str | None = None
    bounds: list[int | float | str] | None = None
    categories: list[str] | None = None


class TableReply(msgspec.Struct, frozen=True):
    """A table of a data set: its public schema, as columns and as the schema file's text."""

    name: str
    columns: list[ColumnReply]
    schema: str


class DataSetReply(msgspec.Struct, frozen=True):
    """A data set as analysts may know it: everything here was declared, nothing was computed from rows."""

    name: str
    tables: list[TableReply]
    protects: str
    neighbours: str
    version: int
    deadline: float
    frozen: bool


class ProblemReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong, as RFC 9457 writes it."""

    type: str
    title: str
    status: int
    detail: str | None = None
