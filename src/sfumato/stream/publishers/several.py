"""Several attributes in a stream: each ranked on its own share of ε, or all together as a histogram of public cells.

Blocks along a space-filling curve are not offered: moving one record can move every attribute of many blocks, so their
sensitivity is several times the width (`docs/algorithms/rank-windows.md`).
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from sfumato.core.parameters import Real, Whole
from sfumato.errors import ParameterError
from sfumato.random import Source
from sfumato.random.random_words import WordRun
from sfumato.release import Card
from sfumato.stream.base import Integers, Numbers, Published, Publisher
from sfumato.stream.grid import Interval
from sfumato.stream.noise import covered, noise_scale
from sfumato.stream.promise import private_card, windows_note
from sfumato.stream.publishers.rank import RankGrid
from sfumato.stream.shares import Shares
from sfumato.stream.state import pack, unpack
from sfumato.stream.windows import Tumbling

MOST_CELLS = 2**20
APART = "Each attribute leaves in its own rank order: the attributes of a row do not belong together."
TOGETHER = "Rows are middles of public cells, so what attributes have to do with each other is kept as far as cells go."


@dataclass(frozen=True)
class Intervals:
    """The rule of a list of public bounds, one pair for each attribute."""

    wanted: str = "a tuple of pairs of finite numbers, the lower one first"

    def accepts(self, value: object) -> bool:
        return isinstance(value, tuple) and bool(value) and all(Interval().accepts(pair) for pair in value)

    def refused(self) -> list[object]:
        return [(), ((1, 0),), (0, 1), "x", None]


@dataclass(eq=False)
class RankedAttributes(Publisher):
    """Windows of records with several numbers: every attribute in rank blocks of its own, each at ε over their number.

    >>> from sfumato.random import SeededSource
    >>> publisher = RankedAttributes(((0, 10), (0, 100)), window=2, rng=SeededSource(1))
    >>> publisher.push_many([[1, 10], [9, 90], [5, 50]]).values.shape
    (2, 2)
    """

    bounds: tuple[tuple[float, float], ...]
    window: int = 1000
    epsilon: float = 1.0
    block: int = 50
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "bounds": Intervals(),
        "window": Whole(1),
        "epsilon": Real(0, above=True),
        "block": Whole(1),
    }
    name: ClassVar[str] = "ranked-attributes"
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        parts = len(self.bounds)
        self._grids = [RankGrid(bounds, self.block, self.epsilon, parts) for bounds in self.bounds]
        self._run = WordRun(rng)
        self._windows = Tumbling(self.window, width=parts)

    @property
    def delay(self) -> int:
        return self.window - 1

    @property
    def held(self) -> int:
        return len(self._windows.waiting)

    def push(self, record: Any) -> Published:
        full = self._windows.one(record)
        return self._windows.nothing if full is None else self._windows.published([self._release(full, 0)])

    def push_many(self, batch: Any) -> Published:
        return self._windows.published(
            [self._release(window, ahead) for ahead, window in enumerate(self._windows.many(batch))]
        )

    def flush(self) -> Published:
        rest = self._windows.rest()
        return self._windows.published([self._release(rest, 0)] if len(rest) else [])

    def _release(self, records: Numbers, ahead: int) -> Numbers:
        number = self._windows.group + ahead
        columns = [
            grid.release(np.ascontiguousarray(records[:, place])[None], self._run, number, place)[0]
            for place, grid in enumerate(self._grids)
        ]
        return np.column_stack(columns)

    def state(self) -> bytes:
        self._run.forget()
        return pack(self.name, self.parameters(), {"waiting": self._windows.held()}, self._windows.plain())

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        self._windows.restore(saved.arrays["waiting"], **saved.plain)
        self._run.forget()

    def card(self, *names: str) -> Card:
        notes = [windows_note(self.window), APART]
        return private_card(self, names, self.epsilon, notes=notes, source=self._run.source)


@dataclass(eq=False)
class CellHistogram(Publisher):
    """Windows of records with several numbers: noisy counts of public cells, `cells` to each attribute (scale 2/ε).

    >>> from sfumato.random import SeededSource
    >>> publisher = CellHistogram(((0, 10), (0, 100)), cells=2, window=40, epsilon=5.0, rng=SeededSource(1))
    >>> out = publisher.push_many([[1, 90]] * 40)
    >>> np.unique(out.values, axis=0).tolist()
    [[2.5, 75.0]]
    """

    bounds: tuple[tuple[float, float], ...]
    cells: int = 8
    window: int = 1000
    epsilon: float = 1.0
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "bounds": Intervals(),
        "cells": Whole(2),
        "window": Whole(1),
        "epsilon": Real(0, above=True),
    }
    name: ClassVar[str] = "cells"
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        self._shape = (self.cells,) * len(self.bounds)
        if prod(self._shape) > MOST_CELLS:
            raise ParameterError(f"{self.cells} cells for each of {len(self.bounds)} attributes are more than 2^20")
        self._scale = noise_scale(2, self.epsilon)
        self._shares = Shares(prod(self._shape), float(self._scale))
        self._low, high = np.array(self.bounds, dtype=np.float64).T
        self._width = (high - self._low) / self.cells
        self._run = WordRun(rng)
        self._windows = Tumbling(self.window, width=len(self.bounds))

    @property
    def delay(self) -> int:
        return self.window - 1

    @property
    def held(self) -> int:
        return len(self._windows.waiting)

    def push(self, record: Any) -> Published:
        full = self._windows.one(record)
        return self._windows.nothing if full is None else self._windows.published([self._release(full, 0)])

    def push_many(self, batch: Any) -> Published:
        return self._windows.published(
            [self._release(window, ahead) for ahead, window in enumerate(self._windows.many(batch))]
        )

    def flush(self) -> Published:
        rest = self._windows.rest()
        return self._windows.published([self._release(rest, 0)] if len(rest) else [])

    def _release(self, records: Numbers, ahead: int) -> Numbers:
        places = np.nan_to_num((records - self._low) / self._width, nan=self.cells / 2)
        codes = np.clip(places, 0, self.cells - 1).astype(np.int64)
        flat: Integers = np.ravel_multi_index(tuple(codes.T), self._shape)
        counts = np.bincount(flat, minlength=prod(self._shape))
        noisy = covered(self._run, counts, self._scale, self._windows.group + ahead)
        drawn = np.repeat(np.arange(len(counts)), self._shares.learn(noisy, len(records)))
        middles = np.column_stack(np.unravel_index(drawn, self._shape)) + 0.5
        rows: Numbers = self._low + self._width * middles
        return rows

    def state(self) -> bytes:
        self._run.forget()
        arrays = {"waiting": self._windows.held(), **self._shares.arrays()}
        return pack(self.name, self.parameters(), arrays, self._windows.plain())

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        self._windows.restore(saved.arrays["waiting"], **saved.plain)
        for name, array in self._shares.arrays().items():
            array[:] = saved.arrays[name]
        self._run.forget()

    def card(self, *names: str) -> Card:
        notes = [windows_note(self.window), TOGETHER]
        return private_card(self, names, self.epsilon, notes=notes, source=self._run.source)
