"""A categorical attribute in a stream: noisy counts of public categories, or rank blocks where they have an order.

Counts are those of `AdaptiveHistogram` with one bin for each category; ordered categories are the ranks of
`RankWindows` (`docs/algorithms/adaptive-histogram.md`, `rank-windows.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.core.parameters import OneOf, Real, Whole
from sfumato.random import Source
from sfumato.random.random_words import WordRun
from sfumato.release import Card
from sfumato.stream.base import Columns, Integers, Numbers, Published, Publisher
from sfumato.stream.noise import covered, noise_scale
from sfumato.stream.promise import private_card, windows_note
from sfumato.stream.publishers.rank import RankGrid
from sfumato.stream.shares import Shares
from sfumato.stream.state import pack, unpack
from sfumato.stream.windows import Tumbling

NOTES = (
    "Categories are public and declared; a value that is none of them stands as the first one in its place.",
    "Rows of a window leave in the categories' order; none comes from a record.",
)


@dataclass(frozen=True)
class CategoryList:
    """The rule of a list of categories: at least two different texts."""

    wanted: str = "a tuple of at least two different texts"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, tuple) or not all(isinstance(entry, str) for entry in value):
            return False
        return len(set(value)) == len(value) > 1

    def refused(self) -> list[object]:
        return [(), ("a",), ("a", "a"), ("a", 1), "ab", None]


@dataclass(eq=False)
class CategoryWindows(Publisher):
    """Windows of categories: noisy counts (scale 2/ε), or, if `ordered`, noisy sums of rank blocks of their codes.

    Records are texts, or codes 0, 1, 2 … in the categories' order.

    >>> from sfumato.random import SeededSource
    >>> publisher = CategoryWindows(("red", "blue"), window=100, rng=SeededSource(1))
    >>> out = publisher.push_many(["red"] * 90 + ["blue"] * 10)
    >>> colours = publisher.columns(out, ["colour"])["colour"]
    >>> len(colours), 80 < colours.count("red") < 100
    (100, True)
    """

    categories: tuple[str, ...]
    window: int = 1000
    epsilon: float = 1.0
    ordered: bool = False
    block: int = 50
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "categories": CategoryList(),
        "window": Whole(1),
        "epsilon": Real(0, above=True),
        "ordered": OneOf((False, True)),
        "block": Whole(1),
    }
    name: ClassVar[str] = "categories"
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        self._codes = {category: float(code) for code, category in enumerate(self.categories)}
        self._scale = noise_scale(2, self.epsilon)
        self._grid = RankGrid((0, len(self.categories) - 1), self.block, self.epsilon)
        self._shares = Shares(len(self.categories), float(self._scale))
        self._run = WordRun(rng)
        self._windows = Tumbling(self.window)

    @property
    def delay(self) -> int:
        return self.window - 1

    @property
    def held(self) -> int:
        return len(self._windows.waiting)

    def push(self, record: str | float) -> Published:
        full = self._windows.one(self._code(record))
        return self._windows.nothing if full is None else self._windows.published([self._release(full, 0)])

    def push_many(self, batch: Any) -> Published:
        codes = np.array([self._code(record) for record in batch])
        return self._windows.published(
            [self._release(window, ahead) for ahead, window in enumerate(self._windows.many(codes))]
        )

    def flush(self) -> Published:
        rest = self._windows.rest()
        return self._windows.published([self._release(rest, 0)] if len(rest) else [])

    def _code(self, record: str | float) -> float:
        if isinstance(record, str):
            return self._codes.get(record, 0.0)
        return float(record) if record in range(len(self.categories)) else 0.0

    def _release(self, codes: Numbers, ahead: int) -> Numbers:
        number = self._windows.group + ahead
        if self.ordered:
            ranked: Numbers = np.rint(self._grid.release(codes[None], self._run, number)[0])
            return ranked
        counts: Integers = np.bincount(codes.astype(np.int64), minlength=len(self.categories))
        noisy = covered(self._run, counts, self._scale, number)
        return np.repeat(np.arange(float(len(counts))), self._shares.learn(noisy, len(codes)))

    def columns(self, published: Published, names: Sequence[str]) -> Columns:
        """Return the released categories as texts."""
        texts = [self.categories[int(code)] for code in published.values.tolist()]
        return dict.fromkeys(names, texts)

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
        notes = [windows_note(self.window), *NOTES]
        return private_card(self, names, self.epsilon, notes=notes, kind="text", source=self._run.source)
