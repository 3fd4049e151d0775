"""Slow, obvious versions of the kernels for codes."""

from __future__ import annotations

import twins

from sfumato.tabular.microaggregation.kdtree.coded_kernel import ALIKE, Coded
from sfumato.tabular.microaggregation.loss import Records


def prices(held: Coded, run: int, point: Records) -> Records:
    """Squared distances from a point to every code of a run, over the coordinates it stands for."""
    first, stop, count = held.book.runs[run]
    return twins.distances(held.book.values[first:stop, :count].T, point[first:stop])


def coded_distances(held: Coded, point: Records) -> Records:
    """Squared distances of all records: numbers in order, then one price per run."""
    total = twins.distances(held.numbers, point[held.book.where])
    for run in range(held.codes.shape[1]):
        total = total + prices(held, run, point)[held.codes[:, run]]
    return total


def tiers(costs: Records) -> list[list[int]]:
    """Codes by rising price; those that cost about as much as the first of a tier share it."""
    result: list[list[int]] = []
    for code in sorted(range(len(costs)), key=lambda c: costs[c]):
        if result and costs[code] - costs[result[-1][0]] <= ALIKE * costs[code]:
            result[-1].append(code)
        else:
            result.append([code])
    return result
