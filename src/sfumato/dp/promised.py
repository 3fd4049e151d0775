"""What an answer promises: derived from the noise that is really drawn and from how far one unit moves the numbers.

Each mechanism's own cost at its own sensitivity is added up (Dwork & Roth 2014, theorem 3.16; Bun & Steinke 2016 for
ρ); a price that the noise does not keep is refused before anything is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from sfumato.dp.budget_split import only_counts_units, share_of_each, threshold_of, whole_share
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.lookup import Attach, Lookup
from sfumato.dp.share import Norms
from sfumato.errors import ParameterError
from sfumato.promise import (
    CapPersons,
    Clamp,
    Copies,
    Cost,
    Distance,
    GroupBy,
    JoinPersons,
    Metric,
    Promise,
    ProtectPersons,
    WholeUnit,
    derive,
)
from sfumato.promise.chain import Mechanism, Step
from sfumato.promise.cost import MOST_DECIMALS
from sfumato.promise.unit import ProtectRows, Unit

_WORK = Context(prec=400, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class PricedQuestion:
    """A question as the ledger knows it, what its answer promises, and who pays."""

    question: str
    promise: Promise
    analyst: str


@dataclass(frozen=True)
class QuestionNoise:
    """All the noise of one question at one price, as the mechanism at the end of a chain."""

    compiled: Compiled
    price: Cost

    def privacy(self, near: Distance) -> Cost:
        """Return the price where the noise keeps it for units so far apart, or what it really costs them."""
        grouped = bool(self.compiled.keys)
        norms = Norms(near.counted // near.groups, near.groups, grouped, near.metric.neighbours)
        spent = _decimal(self._spent(norms))
        cost = Cost(delta=self.price.delta, **{"rho" if self.price.rho else "epsilon": spent})
        if not cost <= self.price:
            return cost
        return self.price

    def _spent(self, norms: Norms) -> Fraction:
        share = whole_share(self.compiled, self.price)
        finding = Fraction(0)
        if self.compiled.unknown:
            if norms != self.compiled.norms:
                raise ParameterError(
                    f"keys are found for {self.compiled.unit.words} alone; no other unit can be priced"
                )
            finding = threshold_of(self.compiled, self.price, share).amount
            if only_counts_units(self.compiled):
                return finding
        each = share_of_each(self.compiled, share)
        return finding + sum(estimator.spent(each, norms) for estimator in self.compiled.estimators)


def question_promise(compiled: Compiled, price: Cost) -> Promise:
    """Return what the answer to a question promises; refuse a price that its noise does not keep.

    >>> from sfumato.dp.questions.compiled import compile_query
    >>> from sfumato.dp.questions.query import count
    >>> from sfumato.promise import Neighbours, ProtectRows
    >>> from sfumato.schema import Schema
    >>> asked = compile_query(count(), Schema.from_roles(quasi=["age"]), ProtectRows(2), Neighbours.PRESENCE)
    >>> promise = question_promise(asked, Cost(epsilon="0.1"))
    >>> promise.cost.epsilon, promise.cost_for(ProtectRows(4), Neighbours.PRESENCE).epsilon
    (Decimal('0.1'), Decimal('0.2'))
    """
    return _kept(_chain(compiled, QuestionNoise(compiled, price)), price)


def batch_promise(questions: Sequence[Compiled], price: Cost) -> Promise:
    """Return what questions declared together promise: their noise was allotted to the whole unit at one price."""
    first, grouped = questions[0], any(compiled.keys for compiled in questions)
    noise = WholeUnit(price, *first.unit.bounds(grouped=grouped), first.neighbours)
    return _kept(derive(Metric(first.unit, first.neighbours), _caps(first, grouped=grouped), noise), price)


def _chain(compiled: Compiled, noise: Mechanism) -> Promise:
    steps: list[Step] = [*_joins(compiled), Clamp(), GroupBy(), *_caps(compiled, grouped=bool(compiled.keys))]
    return derive(Metric(compiled.unit, compiled.neighbours), steps, noise)


def _joins(compiled: Compiled) -> list[Step]:
    """Return a step for each join that may make several rows of one."""
    steps: list[Step] = []
    for stage in compiled.stages:
        if isinstance(stage, Lookup) and stage.copies > 1:
            steps.append(Copies(stage.copies))
        elif isinstance(stage, Attach):
            steps.append(JoinPersons(stage.person))
    return steps


def _caps(compiled: Compiled, *, grouped: bool) -> list[Step]:
    unit = compiled.counted
    return [CapPersons(unit.person, *unit.bounds(grouped=grouped))] if isinstance(unit, ProtectPersons) else []


def _kept(promise: Promise, price: Cost) -> Promise:
    if not promise.cost <= price:
        raise ParameterError(f"the noise of the question costs {promise.cost}, more than its price of {price}")
    return promise


def _decimal(value: Fraction) -> Decimal:
    """The value rounded up to the decimals that a cost may have."""
    exact = _WORK.divide(Decimal(value.numerator), Decimal(value.denominator))
    return exact.quantize(Decimal(1).scaleb(-MOST_DECIMALS), rounding=ROUND_CEILING, context=_WORK)


def assumptions(unit: Unit, deadline: float, *, per_person: bool = False) -> list[str]:
    """Return what must be true for the promise to hold, and what time can tell where answers leave at a deadline.

    >>> len(assumptions(ProtectRows(), 0)), len(assumptions(ProtectRows(), 1))
    (3, 4)
    """
    people = (
        "a person's rows carry the same identifier; they were made one row of the person before anything was counted"
        if per_person
        else "a person's rows carry the same identifier; more rows or groups than the bound are left out by a keyed "
        "hash"
        if not isinstance(unit, ProtectRows)
        else "a person has one row; where a person has more, the promise to that person weakens by their number"
    )
    leaves = f"answers leave {deadline:g} s after they were asked, neither earlier nor later"
    frozen = f"{leaves}; a longer question freezes the ledger, which is the one bit that time can tell"
    return [
        people,
        "bounds and categories in the schema were declared without looking at the rows",
        "the ledger is the only way to ask about these rows; other releases of them add to the loss",
        *([frozen] if deadline else []),
    ]


def public_tables(compiled: Compiled) -> list[str]:
    """Return a sentence for each public table that a question joins, with the hash of its content.

    >>> from sfumato.dp.questions.compiled import compile_query
    >>> from sfumato.dp.questions.query import count
    >>> from sfumato.promise import Neighbours
    >>> from sfumato.schema import Schema
    >>> public_tables(compile_query(count(), Schema(), ProtectRows(), Neighbours.PRESENCE))
    []
    """
    tables = [stage.identity for stage in compiled.stages if isinstance(stage, Lookup)]
    return [f"the table {table} is public: none of its cells was taken from these rows" for table in tables]
