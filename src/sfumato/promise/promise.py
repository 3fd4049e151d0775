"""A promise: what a chain of steps and noise gives to one unit, and what the same release costs in somebody's terms.

It is computed, never written: cards print it, ledgers are charged by it. The conversions between units and neighbours
are group privacy (Dwork & Roth 2014, theorem 2.2) along the shortest path of neighbours; `docs/algorithms/promises.md`
proves each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sfumato.errors import ParameterError
from sfumato.promise.chain import CapPersons, Mechanism, Metric, Step, run_chain
from sfumato.promise.cost import ZERO, Cost
from sfumato.promise.group_privacy import group
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit


@dataclass(frozen=True)
class Promise:
    """A metric, the steps after it and the mechanism at the end; `horizon` in seconds where the promise begins anew.

    `told_at` is the δ at which a cost in ρ is told as ε and δ to who counts those; 0 where none is declared.

    Building one computes its cost, so that a chain without a map cannot be built.

    >>> from sfumato.promise.chain import Edges, Input, PerRow, Windows
    >>> records = Metric(ProtectRows(), Neighbours.VALUE, Input.RECORDS)
    >>> promise = Promise(records, (Windows(Edges.POSITION),), PerRow(Cost(epsilon=1), Neighbours.VALUE))
    >>> promise.cost.epsilon, promise.cost_for(ProtectRows(2), Neighbours.VALUE).epsilon
    (Decimal('1'), Decimal('2'))
    >>> promise.cost_for(ProtectPersons("drive", 30), Neighbours.PRESENCE)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the release protects the value of one record and the ledger the presence of one \
person (drive): the number of records is public in the release, so that presence is not protected
    """

    metric: Metric
    steps: tuple[Step, ...]
    mechanism: Mechanism
    horizon: float | None = None
    told_at: Decimal = ZERO

    def __post_init__(self) -> None:
        _ = self.cost

    @cached_property
    def cost(self) -> Cost:
        """What the chain costs one unit of the promise's own metric."""
        return run_chain(self.metric, self.steps, self.mechanism)

    def before(self, *steps: Step, metric: Metric, horizon: float | None = None) -> Promise:
        """Return the promise of the same chain with steps before it, to the units of another metric."""
        horizon = self.horizon if horizon is None else horizon
        return Promise(metric, (*steps, *self.steps), self.mechanism, horizon, self.told_at)

    @property
    def model(self) -> str:
        """The name of what is promised."""
        return "zero-concentrated differential privacy" if self.cost.rho else "differential privacy"

    @property
    def parameters(self) -> dict[str, float]:
        """The cost as a card shows it.

        >>> from sfumato.promise.chain import PerRow
        >>> cost = PerRow(Cost(epsilon=1, delta="1e-6"), Neighbours.PRESENCE)
        >>> Promise(Metric(ProtectRows(), Neighbours.PRESENCE), (), cost).parameters
        {'epsilon': 1.0, 'delta': 1e-06}
        """
        return {name: value for name, value in self.cost.to_dict().items() if value}

    def cost_for(self, unit: Unit, neighbours: Neighbours, horizon: float | None = None) -> Cost:
        """Return what the release costs one unit of somebody else's terms; refuse what cannot be said.

        `horizon` is that of the one who asks: None wants a promise for ever.
        """
        asked = Metric(unit, neighbours, self.metric.of)
        if self.horizon is not None and self.horizon != horizon:
            raise ParameterError(
                f"the release promises anew with every horizon of {span_words(self.horizon)} and the ledger counts "
                f"{'for ever' if horizon is None else f'over {span_words(horizon)}'}; declare the same horizon, or none"
            )
        reason = self._refusal(asked)
        if reason:
            raise ParameterError(f"the release protects {self.metric.words} and the ledger {asked.words}: {reason}")
        return group(self._per_unit(asked), self._factor(asked))

    def _refusal(self, asked: Metric) -> str:
        """Return why the price cannot be said, empty where it can."""
        held, wanted = self.metric.unit, asked.unit
        if self.metric.neighbours is Neighbours.VALUE and asked.neighbours is Neighbours.PRESENCE:
            return f"the number of {self.metric.of} is public in the release, so that presence is not protected"
        if not isinstance(wanted, ProtectPersons):
            return ""
        if isinstance(held, ProtectPersons):
            return "" if held.person == wanted.person else "these are not the same persons"
        if self._cap(wanted.person) is None:
            return f"the release does not bound how many {self.metric.of} of a person count; cap them by that person"
        return ""

    def _per_unit(self, asked: Metric) -> Cost:
        """Return the cost that a factor multiplies: the promise's own, or the chain run for the person who is asked."""
        if isinstance(asked.unit, ProtectPersons) and isinstance(self.metric.unit, ProtectRows):
            return run_chain(Metric(asked.unit, self.metric.neighbours, self.metric.of), self.steps, self.mechanism)
        return self.cost

    def _factor(self, asked: Metric) -> int:
        """Return how many of the promise's own neighbours lie on a shortest path between two neighbours asked for.

        From the presence of persons, any change of one person's rows takes two: out with the old, in with the new.
        """
        held, wanted = self.metric, asked
        twice = 1 if held.neighbours is wanted.neighbours else 2
        if isinstance(wanted.unit, ProtectPersons):
            return twice
        if isinstance(held.unit, ProtectPersons):
            return wanted.unit.rows * (2 if held.neighbours is Neighbours.PRESENCE else 1)
        return -(-twice * wanted.unit.rows // held.unit.rows)

    def _cap(self, person: str) -> int | None:
        caps = [
            step.rows * step.groups for step in self.steps if isinstance(step, CapPersons) and step.person == person
        ]
        return min(caps, default=None)


def span_words(seconds: float) -> str:
    """Return a span of time as people say it.

    >>> span_words(2592000), span_words(90), span_words(0.5)
    ('30 days', '90 seconds', '0.5 seconds')
    """
    for length, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length and seconds % length == 0:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count > 1 else ''}"
    return f"{seconds:g} seconds"


def outside_the_bound(model: str) -> str:
    """Return what a card and an account say of a release whose promise no ledger can count.

    >>> outside_the_bound("k-anonymity")
    'k-anonymity has no price in a ledger: it is listed in the account, outside the bound of epsilon and delta'
    """
    return f"{model} has no price in a ledger: it is listed in the account, outside the bound of epsilon and delta"


def derive(metric: Metric, steps: Sequence[Step], mechanism: Mechanism, *, horizon: float | None = None) -> Promise:
    """Return the promise that a chain gives; a chain without a map cannot be built.

    >>> from sfumato.promise.chain import Edges, Input, PerRow, Windows
    >>> rows = Metric(ProtectRows(), Neighbours.PRESENCE, Input.RECORDS)
    >>> derive(rows, [Windows(Edges.POSITION)], PerRow(Cost(epsilon=1), Neighbours.PRESENCE))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: windows count arrivals, so that one record more moves all later ones into other \
windows; declare the windows' edges, or protect values only
    """
    return Promise(metric, tuple(steps), mechanism, horizon)
