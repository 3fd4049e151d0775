"""What a promise costs in other terms: no small table with any function on it costs more, and refusals are needed."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.promise import (
    CapPersons,
    Clamp,
    Cost,
    Edges,
    Excess,
    Input,
    Metric,
    Neighbours,
    PerRow,
    Promise,
    ProtectPersons,
    ProtectRows,
    Windows,
    derive,
    group,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sfumato.promise import Unit
    from sfumato.promise.chain import Step

PRESENCE, VALUE = Neighbours.PRESENCE, Neighbours.VALUE
Row = tuple[str, int]
Rows = tuple[Row, ...]
DOMAIN: tuple[Row, ...] = tuple(itertools.product("ab", (0, 1, 2)))
MOST = 4
TABLES: tuple[Rows, ...] = tuple(
    rows for size in range(MOST + 1) for rows in itertools.combinations_with_replacement(DOMAIN, size)
)
KNOWN = frozenset(TABLES)
PERSON = ProtectPersons("who")
METRICS: list[tuple[Unit, Neighbours]] = [
    (unit, side) for unit in (ProtectRows(), ProtectRows(2), PERSON) for side in (PRESENCE, VALUE)
]


def without(rows: Rows, gone: Rows) -> Rows:
    left = list(rows)
    for row in gone:
        left.remove(row)
    return tuple(left)


def some_rows(rows: Rows, most: int) -> Iterator[Rows]:
    for size in range(1, min(most, len(rows)) + 1):
        yield from set(itertools.combinations(rows, size))


def changed(gone: Rows) -> Iterator[Rows]:
    """Yield what rows can become when their values change and their persons stay."""
    for values in itertools.product((0, 1, 2), repeat=len(gone)):
        yield tuple((person, value) for (person, _), value in zip(gone, values, strict=True))


def neighbours_of(rows: Rows, unit: Unit, side: Neighbours) -> Iterator[Rows]:
    """Yield every table of the domain that is a neighbour of this one; the other half are its mirror images."""
    if isinstance(unit, ProtectPersons):
        for person in "ab":
            own = tuple(row for row in rows if row[0] == person)
            rest = without(rows, own)
            if side is PRESENCE:
                yield rest
            else:
                yield from (tuple(sorted(rest + other)) for other in changed(own))
        return
    for gone in some_rows(rows, unit.rows):
        rest = without(rows, gone)
        if side is PRESENCE:
            yield rest
        else:
            yield from (tuple(sorted(rest + other)) for other in changed(gone))


def pairs(unit: Unit, side: Neighbours) -> list[tuple[Rows, Rows]]:
    return [(rows, other) for rows in TABLES for other in neighbours_of(rows, unit, side) if other in KNOWN]


ALL_PAIRS = {(unit, side): pairs(unit, side) for unit, side in METRICS}


def reach(function: dict[Rows, int], unit: Unit, side: Neighbours) -> int:
    """Return by how much a number moves between neighbours at most: its loss, under Laplace noise of scale 1."""
    return max(abs(function[rows] - function[other]) for rows, other in ALL_PAIRS[unit, side])


def promise_of(unit: Unit, side: Neighbours) -> Promise:
    """Return a promise that has no steps but its unit: ε = 1 for whatever changes one unit."""
    cap = (CapPersons("who", 1),) if isinstance(unit, ProtectPersons) else ()
    rows = unit.rows if isinstance(unit, ProtectRows) else 1
    return Promise(Metric(unit, side), cap, PerRow(Cost(epsilon=Decimal(1) / rows), side))


def functions() -> list[dict[Rows, int]]:
    """Return numbers of a table that can be nasty: counts, sums, presence of somebody, and hashes of many kinds."""
    draw = np.random.default_rng(7)
    found: list[Callable[[Rows], int]] = [
        len,
        lambda rows: sum(value for _, value in rows),
        lambda rows: len({person for person, _ in rows}),
        lambda rows: sum(1 for person, _ in rows if person == "a"),
        lambda rows: int(any(person == "a" for person, _ in rows)),
        lambda rows: max((value for _, value in rows), default=0),
    ]
    weights = draw.integers(-3, 4, (60, len(DOMAIN))).tolist()
    found += [
        lambda rows, own=own: sum(own[DOMAIN.index(row)] for row in rows)  # type: ignore[misc]
        for own in weights
    ]
    found += [
        lambda rows, own=own: sum({row[0]: own[DOMAIN.index(row)] for row in rows}.values())  # type: ignore[misc]
        for own in weights
    ]
    return [{rows: function(rows) for rows in TABLES} for function in found]


FUNCTIONS = functions()


@pytest.mark.parametrize("held, asked", list(itertools.product(METRICS, METRICS)))
def test_no_function_on_small_tables_costs_more_than_is_said(
    held: tuple[Unit, Neighbours], asked: tuple[Unit, Neighbours]
) -> None:
    try:
        factor = int(promise_of(*held).cost_for(*asked).epsilon)
    except ParameterError:
        # a refusal must be needed: something costs its own unit nothing and the other one something
        free = [function for function in FUNCTIONS if reach(function, *held) == 0]
        unbounded = isinstance(asked[0], ProtectPersons) and isinstance(held[0], ProtectRows)
        assert unbounded or any(reach(function, *asked) > 0 for function in free)
        return
    for function in FUNCTIONS:
        assert reach(function, *asked) <= factor * reach(function, *held)


@pytest.mark.parametrize(
    "held, asked, factor",
    [
        ((ProtectRows(), PRESENCE), (ProtectRows(), VALUE), 2),
        ((ProtectRows(), PRESENCE), (ProtectRows(2), PRESENCE), 2),
        ((PERSON, PRESENCE), (PERSON, VALUE), 2),
        ((PERSON, PRESENCE), (ProtectRows(), PRESENCE), 2),
        ((PERSON, VALUE), (ProtectRows(), VALUE), 1),
    ],
)
def test_what_is_said_is_reached_by_some_function(
    held: tuple[Unit, Neighbours], asked: tuple[Unit, Neighbours], factor: int
) -> None:
    assert int(promise_of(*held).cost_for(*asked).epsilon) == factor
    assert any(
        reach(function, *asked) == factor * reach(function, *held) for function in FUNCTIONS if reach(function, *held)
    )


def capped_counts(rows: Rows, limit: int) -> tuple[int, ...]:
    """Return the counts of each value where the first `limit` rows of a person count."""
    kept: list[int] = []
    for person in "ab":
        kept += [value for who, value in rows if who == person][:limit]
    return tuple(kept.count(value) for value in (0, 1, 2))


def moved(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return sum(abs(mine - yours) for mine, yours in zip(left, right, strict=True))


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("asked", [metric for metric in METRICS if metric[0] != ProtectRows(2)])
def test_a_capped_histogram_costs_what_the_chain_says(limit: int, asked: tuple[Unit, Neighbours]) -> None:
    metric = Metric(ProtectPersons("who"), PRESENCE)
    promise = derive(metric, [CapPersons("who", limit), Clamp()], PerRow(Cost(epsilon=1), PRESENCE))
    assert promise.cost == Cost(epsilon=limit)
    worst = max(
        sum(
            abs(mine - yours)
            for mine, yours in zip(capped_counts(left, limit), capped_counts(right, limit), strict=True)
        )
        for left, right in ALL_PAIRS[asked]
    )
    assert worst <= promise.cost_for(*asked).epsilon
    if asked == (PERSON, PRESENCE):
        assert worst == limit


def test_a_record_of_a_capped_person_costs_less_where_the_chain_knows() -> None:
    records = Metric(ProtectRows(), PRESENCE, Input.RECORDS)
    cap = CapPersons("who", 3)
    assert derive(records, [cap], PerRow(Cost(epsilon=1), PRESENCE)).cost == Cost(epsilon=2)
    grouped = derive(records, [CapPersons("who", 3, groups=2)], PerRow(Cost(epsilon=1), PRESENCE))
    assert grouped.cost == Cost(epsilon=4)


def test_a_row_promise_is_priced_for_a_person_whom_the_chain_caps() -> None:
    records = Metric(ProtectRows(), VALUE, Input.RECORDS)
    steps: list[Step] = [CapPersons("drive", 30, excess=Excess.REPLACED), Windows(Edges.POSITION)]
    promise = derive(records, steps, PerRow(Cost(epsilon="0.1"), VALUE))
    assert promise.cost_for(ProtectPersons("drive", 30), VALUE) == Cost(epsilon=3)
    with pytest.raises(ParameterError, match="does not bound how many records of a person count"):
        promise.cost_for(ProtectPersons("owner"), VALUE)


def test_a_horizon_is_priced_by_the_same_horizon_alone() -> None:
    metric = Metric(ProtectPersons("drive"), VALUE, Input.RECORDS)
    promise = derive(
        metric, [CapPersons("drive", 2, excess=Excess.REPLACED)], PerRow(Cost(epsilon=1), VALUE), horizon=86400
    )
    assert promise.cost_for(ProtectPersons("drive"), VALUE, 86400) == Cost(epsilon=2)
    for other in (None, 3600.0):
        with pytest.raises(ParameterError, match="promises anew with every horizon of 1 day"):
            promise.cost_for(ProtectPersons("drive"), VALUE, other)


@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("epsilon", ["0", "0.001", "0.5", "2"])
def test_the_delta_of_a_group_is_the_sum_of_its_steps_and_never_less(size: int, epsilon: str) -> None:
    cost = Cost(epsilon=epsilon, delta="1e-9")
    plain = sum(Decimal("1e-9") * (Decimal(epsilon) * step).exp() for step in range(size))
    found = group(cost, size)
    assert Fraction(found.epsilon) == size * Fraction(epsilon)
    assert plain * (1 - Decimal("1e-20")) <= found.delta <= plain * (1 + Decimal("1e-10"))
    assert group(Cost(rho="0.01"), size).rho == size * size * Decimal("0.01")


def test_a_group_whose_delta_is_everything_is_refused() -> None:
    with pytest.raises(ParameterError, match="promises nothing"):
        group(Cost(epsilon=1, delta="0.3"), 3)
    with pytest.raises(ParameterError, match="promises nothing"):
        group(Cost(epsilon=600, delta="1e-50"), 2)
