"""The paths of the classes that plugins offer: a mechanism, a publisher, each with nasty neighbours and its own card.

What is attacked comes from the card's unit and neighbours, never from this module: a class is covered by being
registered (Zhang et al. 2020 generate neighbours from the type of the input in the same way).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from sfumato.audit.twin import Pair, TwinPath
from sfumato.audit.twin.neighbours import Records, changed_persons, changed_values, odd_times, present_or_not
from sfumato.dp.mechanisms.base import Mechanism
from sfumato.promise.cost import Cost
from sfumato.random import SecureSource
from sfumato.release.card import Guarantee
from sfumato.stream.base import AUDITED, Published, Publisher, Sample
from sfumato.stream.wrappers import values_of

RECORDS = 150
SEED = 7


def mechanism_path(mechanism: Mechanism, epsilon: float = 1) -> TwinPath:
    """Return the path of a mechanism that claims ε: one run on each pair of its own trial, in both orders.

    >>> from sfumato.dp.mechanisms import Laplace
    >>> mechanism_path(Laplace.sample(1)).attack().verdict
    'NOT_REFUTED'
    """
    trial = mechanism.trial()
    orders = [order for left, right in trial.pairs for order in ((left, right), (right, left))]
    pairs = [Pair(*order, f"the inputs {order[0]} and {order[1]}") for order in orders]

    def run(value: Any) -> Any:
        return trial.run(value, 1, SecureSource())

    return TwinPath(mechanism.name, run, pairs, Cost(epsilon, trial.delta))


def publisher_path(sample: Sample, *, by_one: bool = False) -> TwinPath | None:
    """Return the path of a publisher over a stream of its sample, or None where its card promises no ε and no ρ.

    >>> from sfumato.stream import RankWindows
    >>> path = publisher_path(RankWindows.sample()[0])
    >>> path.cost.epsilon
    Decimal('1')
    """
    guarantee = sample.publisher.card("value").guarantee
    if not {"epsilon", "rho"} & guarantee.parameters.keys():
        return None

    records = sample.records(SEED, RECORDS)
    end = float(np.nanmax(records[:, -1])) if records.ndim == 2 and len(records) else 0.0

    def run(given: Records) -> Any:
        publisher: Publisher = replace(sample.publisher, rng=SecureSource())  # type: ignore[type-var]
        parts = [publisher.push(record) for record in given] if by_one else [publisher.push_many(given)]
        if getattr(publisher, "late", None) is not None and hasattr(publisher, "advance"):
            parts.append(publisher.advance(end))  # the public clock goes on, whoever came
        return joined([*parts, publisher.flush()])

    pairs = publisher_pairs(sample.publisher, records, guarantee)
    return TwinPath(f"publisher {sample.publisher.name}", run, pairs, cost_of(guarantee), times=1)


def joined(parts: Sequence[Published]) -> dict[str, Any]:
    """Return the rows of several calls as one: in which call they left depends on the arrivals, which are public.

    >>> joined([Published.empty(), Published.empty()])
    {'values': [], 'group': [], 'size': [], 'seq': [], 'position': []}
    """
    some = [part for part in parts if len(part)]
    names = ("values", "group", "size", "seq", "position")
    return {name: [row for part in some for row in _rows(getattr(part, name))] for name in names}


def _rows(column: Records | None) -> list[Any]:
    return [] if column is None else list(column.tolist())


def publisher_pairs(publisher: Any, records: Records, guarantee: Guarantee) -> Iterator[Pair]:
    """Yield neighbouring streams of the kind that a card's promise speaks of.

    >>> import numpy as np
    >>> from sfumato.stream import NaiveLaplace
    >>> publisher = NaiveLaplace(bounds=(0, 9))
    >>> next(publisher_pairs(publisher, np.arange(3.0), publisher.card("x").guarantee)).words
    "the first record's value: lowest"
    """
    bounds, said = value_bounds(publisher), f"{guarantee.unit} {guarantee.neighbours}"
    values = values_of(publisher)
    if "person" in guarantee.unit:
        return changed_persons(records, bounds, values)
    if "there or not" in said or "presence" in said:
        every = getattr(publisher, "every", None)
        timed = odd_times(records, every, values) if every and records.ndim == 2 else iter(())
        return chain(present_or_not(records, bounds), timed)
    several = getattr(publisher, "bounds", None) if records.ndim == 2 else None
    return changed_values(records, several or bounds, edge=publisher.delay + 1)


def value_bounds(publisher: Any) -> tuple[float, float]:
    """Return the public bounds of the first number of a publisher's records, wherever they are declared.

    >>> from sfumato.stream import CappedPersons, RankWindows
    >>> value_bounds(CappedPersons(RankWindows(bounds=(0, 9), window=4)))
    (0, 9)
    """
    while hasattr(publisher, "publisher"):
        publisher = publisher.publisher
    if hasattr(publisher, "categories"):
        return 0.0, len(publisher.categories) - 1.0
    bounds: Any = getattr(publisher, "bounds", None) or AUDITED
    return bounds[0] if isinstance(bounds[0], tuple) else bounds


def cost_of(guarantee: Guarantee) -> Cost:
    """Return the cost that a card promises.

    >>> cost_of(Guarantee(model="differential privacy", parameters={"epsilon": 0.5}, unit="record")).epsilon
    Decimal('0.5')
    """
    told = guarantee.parameters
    if "rho" in told:
        return Cost(rho=told["rho"], delta=told.get("delta", 0))
    return Cost(min(told["epsilon"], told.get("epsilon_asked", told["epsilon"])), told.get("delta", 0))
