"""Records with a code in place of the coordinates that only tell words apart, and queries that price every code.

After Domingo-Ferrer & Torra (2005), who compare words for equality. A query adds up once, for each code, the squared
gaps over the coordinates the code stands for; a distance then costs one look-up per code, whether the query is a record
or a centroid. Codes of about equal price form a tier, so that a bound for a set of codes costs a test of a few bits.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel

# A set of codes is one word of bits.
MOST_CODES = 64
# Prices nearer than this, relatively, differ by rounding.
ALIKE = 1e-9

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.uint64]


class Codebook(NamedTuple):
    """Which coordinates are numbers, and what the codes of the others stand for."""

    where: Integers  # (numbers,): which coordinate each number is
    runs: Integers  # (runs, 3): first coordinate, the one past the last, number of codes
    values: Floats  # (coordinates, MOST_CODES): value of a coordinate by code; without rows where there are no runs
    spread: Floats  # (runs,): the largest distance between two codes


class Coded(NamedTuple):
    """Records as numbers and codes; their squared distances are those of all their coordinates."""

    numbers: Floats  # (n, numbers): coordinates that stay as they are
    codes: Codes  # (n, runs): which values a record has in a run of coordinates
    book: Codebook


class Query(NamedTuple):
    """A point that distances are asked from."""

    numbers: Floats  # (numbers,)
    prices: Floats  # (runs, MOST_CODES): squared distance to each code
    least: Floats  # (runs, MOST_CODES): lowest price in each tier
    most: Floats  # (runs, MOST_CODES): highest price in each tier
    tiers: Bits  # (runs, MOST_CODES + 1): sets of codes of about equal price, the cheapest first; their number last


@kernel
def uncoded(x: Floats) -> Coded:
    """Return records without any codes."""
    n, d = x.shape
    book = Codebook(np.arange(d), np.empty((0, 3), np.int64), np.empty((0, MOST_CODES)), np.empty(0))
    return Coded(x, np.empty((n, 0), np.uint8), book)


@kernel
def rank_prices(query: Query, run: int, count: int) -> None:
    """Sort the codes of a run into tiers."""
    prices, order = query.prices[run], np.empty(count, np.int64)
    for code in range(count):  # by insertion: they are few
        i = code
        while i > 0 and prices[order[i - 1]] > prices[code]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = code
    tier = -1
    for ranked in order:
        price = prices[ranked]
        if tier < 0 or price - query.least[run, tier] > ALIKE * price:
            tier += 1
            query.tiers[run, tier] = np.uint64(0)
            query.least[run, tier] = price
        query.tiers[run, tier] |= np.uint64(1) << np.uint64(ranked)
        query.most[run, tier] = price
    query.tiers[run, -1] = np.uint64(tier + 1)


@kernel
def ask(book: Codebook, point: Floats) -> Query:
    """Return the query of a point that is given by all its coordinates."""
    runs, numbers = book.runs.shape[0], np.empty(book.where.size)
    for j in range(numbers.size):
        numbers[j] = point[book.where[j]]
    if runs == 0:  # nothing to price, and nothing to set aside memory for
        return Query(numbers, book.values, book.values, book.values, np.empty((0, MOST_CODES + 1), np.uint64))
    query = Query(
        numbers,
        np.zeros((runs, MOST_CODES)),
        np.empty((runs, MOST_CODES)),
        np.empty((runs, MOST_CODES)),
        np.empty((runs, MOST_CODES + 1), np.uint64),
    )
    for run in range(runs):
        prices, count = query.prices[run], book.runs[run, 2]
        for j in range(book.runs[run, 0], book.runs[run, 1]):
            value, values = point[j], book.values[j]
            for code in range(count):
                gap = values[code] - value
                prices[code] += gap * gap
        rank_prices(query, run, count)
    return query


@inlined
def distance_of(coded: Coded, query: Query, record: int) -> float:
    """Return the squared distance of a record, numbers before codes."""
    total = 0.0
    for j in range(query.numbers.size):
        gap = coded.numbers[record, j] - query.numbers[j]
        total += gap * gap
    for run in range(coded.codes.shape[1]):
        total += query.prices[run, coded.codes[record, run]]
    return total
