"""Discrete noise for many groups at once, each drawn from the words of its own keyed context.

A row's draws read its own words alone (Canonne, Kamath & Steinke 2020, algorithms 2 and 3), so that it makes no
difference which rows are drawn together; a row whose words run out is given them again with more behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.random.discrete import Integers
from sfumato.random.keyed import BLOCK_WORDS, Blocks, KeyedSource, Part, Rows
from sfumato.random.source import Words

SLAB = 2**15  # words drawn together: what a processor keeps near
MEAN, SPREAD = 8, 5  # how many words a draw reads, and by how many that differs
GAUSSIAN = 3  # how many times as many one of Gaussian noise reads
MORE = 4
TOGETHER = 2**11  # rows whose seeds are made together


Filler = Callable[[Integers, Integers, Words, int], int]  # fills rows, each from so many words; which ones ran out


def laplace_of(source: KeyedSource, count: int, top: int, bottom: int, *context: Part) -> Integers:
    """Return `count` draws of scale `top/bottom` from the words of one context.

    >>> from sfumato.random import new_key
    >>> source = KeyedSource(new_key())
    >>> laplace_of(source, 3, 50, 1, "a").tolist() == laplace_of(source, 4, 50, 1, "a").tolist()[:3]
    True
    """
    from sfumato.random.discrete_kernel import fill_laplace

    draws, seed, blocks = np.empty(count, dtype=np.int64), source.seed_of(*context), _blocks(count)
    while fill_laplace(draws, 0, top, bottom, source.words_of(seed, blocks)[0])[0] < count:
        blocks *= MORE
    return draws


def laplace_rows(source: KeyedSource, first: int, rows: Rows, draws: int, tops: Integers, bottom: int) -> Integers:
    """Return `draws` draws of scale `tops[i]/bottom` for each row, by its number (from `first` on) and its content.

    >>> from sfumato.random import new_key
    >>> source, rows = KeyedSource(new_key()), np.array([[5, 7], [5, 7], [1, 2]])
    >>> together = laplace_rows(source, 0, rows, 2, np.full(3, 50), 1)
    >>> alone = laplace_rows(source, 2, rows[2:], 2, np.full(1, 50), 1)
    >>> together[2].tolist() == alone[0].tolist(), together.shape
    (True, (3, 2))
    """
    from sfumato.random.discrete_kernel import fill_laplace_rows

    def fill(start: int) -> Filler:
        scales = np.ascontiguousarray(tops[start : start + TOGETHER])
        return lambda out, some, words, each: fill_laplace_rows(out, some, scales, bottom, words, each)

    return _drawn(source, first, rows, draws, _blocks(draws), fill)


def gaussian_rows(source: KeyedSource, first: int, rows: Rows, draws: int, sigma: int) -> Integers:
    """Return `draws` draws of variance sigma² for each row, by its number (from `first` on) and its content.

    >>> from sfumato.random import new_key
    >>> source, rows = KeyedSource(new_key()), np.array([[5, 7], [5, 7], [1, 2]])
    >>> together = gaussian_rows(source, 0, rows, 2, 50)
    >>> together[2].tolist() == gaussian_rows(source, 2, rows[2:], 2, 50)[0].tolist(), together.shape
    (True, (3, 2))
    """
    from sfumato.random.discrete_kernel import fill_gaussian_rows

    def fill(_: int) -> Filler:
        return lambda out, some, words, each: fill_gaussian_rows(out, some, sigma, words, each)

    return _drawn(source, first, rows, draws, GAUSSIAN * _blocks(draws), fill)


def _drawn(
    source: KeyedSource, first: int, rows: Rows, draws: int, blocks: int, filler: Callable[[int], Filler]
) -> Integers:
    """Return the draws of each row; `filler` gives what fills those from a place on."""
    out, seeds_of = np.empty((len(rows), draws), dtype=np.int64), source.row_seeder(rows.dtype.str, rows.shape[1])
    for start in range(0, len(rows), TOGETHER):
        part, fill = slice(start, start + TOGETHER), filler(start)
        seeds = seeds_of(first + start, rows[part])
        short = _fill(source, seeds, np.arange(len(seeds)), blocks, out[part], fill)
        more = blocks
        while len(short):
            more *= MORE
            short = _fill(source, seeds[short], short, more, out[part], fill)
    return out


def _blocks(draws: int) -> int:
    return math.ceil((MEAN * draws + 2 * SPREAD * math.sqrt(draws)) / BLOCK_WORDS)


def _fill(source: KeyedSource, seeds: Blocks, rows: Integers, blocks: int, out: Integers, fill: Filler) -> Integers:
    """Fill rows from the words of their seeds; return those whose words ran out."""
    height, short = max(1, SLAB // (BLOCK_WORDS * blocks)), []
    for start in range(0, len(rows), height):
        some = rows[start : start + height]
        words = source.words_of(seeds[start : start + height], blocks)
        left = fill(out, some, words.reshape(-1), words.shape[1])
        short.append(some[:left])
    return short[0] if len(short) == 1 else np.concatenate(short)
