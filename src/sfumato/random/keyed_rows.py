"""Discrete Laplace noise for many groups at once, each drawn from the words of its own keyed context.

A row's draws read its own words alone (Canonne, Kamath & Steinke 2020, algorithm 2), so that it makes no difference
which rows are drawn together; a row whose words run out is given them again with more behind.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.random.discrete import Integers
from sfumato.random.keyed import BLOCK_WORDS, Blocks, KeyedSource, Part, Rows

SLAB = 2**15  # words drawn together: what a processor keeps near
MEAN, SPREAD = 8, 5  # how many words a draw reads, and by how many that differs
MORE = 4
TOGETHER = 2**11  # rows whose seeds are made together


class Scales(NamedTuple):
    """The scales of rows, as fractions over one whole number."""

    tops: Integers
    bottom: int


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
    out, seeds_of = np.empty((len(rows), draws), dtype=np.int64), source.row_seeder(rows.dtype.str, rows.shape[1])
    blocks = _blocks(draws)
    for start in range(0, len(rows), TOGETHER):
        part = slice(start, start + TOGETHER)
        seeds, scales = seeds_of(first + start, rows[part]), Scales(tops[part], bottom)
        short = _fill(source, seeds, np.arange(len(seeds)), blocks, out[part], scales)
        more = blocks
        while len(short):
            more *= MORE
            short = _fill(source, seeds[short], short, more, out[part], scales)
    return out


def _blocks(draws: int) -> int:
    return math.ceil((MEAN * draws + 2 * SPREAD * math.sqrt(draws)) / BLOCK_WORDS)


def _fill(source: KeyedSource, seeds: Blocks, rows: Integers, blocks: int, out: Integers, scales: Scales) -> Integers:
    """Fill rows from the words of their seeds; return those whose words ran out."""
    from sfumato.random.discrete_kernel import fill_laplace_rows

    height, short = max(1, SLAB // (BLOCK_WORDS * blocks)), []
    for start in range(0, len(rows), height):
        some = rows[start : start + height]
        words = source.words_of(seeds[start : start + height], blocks)
        left = fill_laplace_rows(out, some, scales.tops, scales.bottom, words.reshape(-1), words.shape[1])
        short.append(some[:left])
    return short[0] if len(short) == 1 else np.concatenate(short)
