"""An experiment as data: grids of cases declared before anything runs, and what is said beside the source's numbers.

Every case carries its parameters and seed, and every row it gives carries them too (tidy data: Wickham 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import polars as pl

from sfumato.experiments.figure import Figure

Scalar = str | int | float | bool | None
Row = Mapping[str, Scalar]
Case = Mapping[str, Scalar]
Rows = Mapping[str, pl.DataFrame]


def grid(**axes: Sequence[Scalar]) -> tuple[Case, ...]:
    """Return every combination of the axes' values as a case, the last axis turning fastest.

    >>> grid(k=[3, 5], seed=[1, 2])[1]
    {'k': 3, 'seed': 2}
    """
    return tuple(dict(zip(axes, values, strict=True)) for values in product(*axes.values()))


@dataclass(frozen=True)
class Part:
    """One grid: `run(data, **case)` gives rows; the cases of a quick run are few.

    `run` is a function at the top of a module, so that other processes find it. Cases of both runs that are alike are
    carried out once.

    >>> part = Part("squares", lambda data, n: [{"square": n * n}], full=grid(n=[1, 2, 3]), quick=grid(n=[3]))
    >>> len(part.cases(quick=False)), part.cases(quick=True)
    (3, ({'n': 3},))
    """

    name: str
    run: Callable[..., Iterable[Row]]
    full: Sequence[Case]
    quick: Sequence[Case]

    def cases(self, *, quick: bool) -> Sequence[Case]:
        """The declared cases of a quick or a full run."""
        return self.quick if quick else self.full


@dataclass(frozen=True)
class ComparedNumber:
    """One number of the source beside ours: done as the source did it, and as well as we can.

    `within` is the relative difference up to which ours in paper mode counts as the same; `note` says in a sentence
    why it differs, or what the best does otherwise.

    >>> ComparedNumber("table 1", "error", paper=100.0, ours=103.0, within=0.05).same
    True
    >>> ComparedNumber("table 1", "error", paper=100.0, ours=120.0, within=0.05).same
    False
    """

    where: str
    what: str
    paper: float | None = None
    ours: float | None = None
    best: float | None = None
    note: str = ""
    within: float | None = None

    @property
    def same(self) -> bool | None:
        """Whether ours in paper mode is the source's number within the stated tolerance; None if none is stated."""
        if self.within is None or self.paper is None or self.ours is None:
            return None
        return abs(self.ours - self.paper) <= self.within * abs(self.paper)


@dataclass(frozen=True)
class Experiment:
    """A source's tables and figures, done again: grids, the comparison and the figures made of their rows.

    `files` are the data sets it reads; `about` is the page's opening, in Markdown paragraphs.

    >>> toy = Experiment("toy", "A toy", "nobody", "Nothing.", (), compare=lambda rows: [], draw=lambda rows: [])
    >>> toy.parts
    ()
    """

    name: str
    title: str
    source: str
    about: str
    parts: tuple[Part, ...]
    compare: Callable[[Rows], Sequence[ComparedNumber]]
    draw: Callable[[Rows], Sequence[Figure]]
    files: tuple[str, ...] = field(default=())
