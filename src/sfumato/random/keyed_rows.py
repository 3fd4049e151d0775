"""Discrete Laplace noise for many groups at once, each drawn from the words of its own keyed context.

A row's draws read its own words alone (Canonne, Kamath & Steinke 2020, algorithm 2), so that it makes no difference
which rows are drawn together; a row whose words run out is given them again with more behind.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.random.discrete import Integers
from sfumato.random.keyed import BLOCK_WORDS, Blocks, KeyedSource, Rows

SLAB = 2**15  # words drawn together: what a processor keeps near
MEAN, SPREAD = 8, 4  # how many words a draw reads, and by how many that differs
MORE = 4


def laplace_rows(source: KeyedSource, first: int, rows: Rows, draws: int, tops: Integers, bottom: int) -> Integers:
    """Return `draws` draws of scale `tops[i]/bottom` for each row, by its number (from `first` on) and its content.

    >>> from sfumato.random import new_key
    >>> source, rows = KeyedSource(new_key()), np.array([[5, 7], [5, 7], [1, 2]])
    >>> together = laplace_rows(source, 0, rows, 2, np.full(3, 50), 1)
    >>> alone = laplace_rows(source, 2, rows[2:], 2, np.full(1, 50), 1)
    >>> together[2].tolist() == alone[0].tolist(), together.shape
    (True, (3, 2))
    """
    blocks = math.ceil((MEAN * draws + 2 * SPREAD * math.sqrt(draws)) / BLOCK_WORDS)
    height = max(1, SLAB // (BLOCK_WORDS * blocks))
    out = np.empty((len(rows), draws), dtype=np.int64)
    for start in range(0, len(rows), height):
        part = slice(start, start + height)
        seeds = source.row_seeds(first + start, rows[part])
        _fill(source, seeds, blocks, out[part], tops[part], bottom)
    return out


def _fill(source: KeyedSource, seeds: Blocks, blocks: int, out: Integers, tops: Integers, bottom: int) -> None:
    from sfumato.random.discrete_kernel import fill_laplace_rows

    still = np.arange(len(out))
    while len(still):
        words = source.words_of(seeds[still], blocks)
        left = fill_laplace_rows(out, still, tops, bottom, words.reshape(-1), words.shape[1])
        still, blocks = still[:left], MORE * blocks
