"""What becomes of rows that a node leaves in failing classes: a wider node of their own, a class of `*`, or nothing.

Rows in classes that break a model become one class of `*` if that class satisfies every model (Sweeney
2002 suppresses whole rows); otherwise they leave the release. Local recoding gives such rows a wider
node of their own first, again and again, as Prasser, Bild & Kuhn 2016 do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.core.compiling import working_time
from sfumato.core.parameters import Option
from sfumato.core.progress import tell
from sfumato.tabular.lattice.cheapest import node_of_some
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.population import Masks
from sfumato.tabular.problem import Problem

SUPPRESS = Option("Share of the rows that may be suppressed.")
LOCAL = Option("Generalise suppressed rows further, where wider labels satisfy the models.")
ROUNDS, FEWER = 100, 10  # a round holds this share of the rows; where none does, ten times fewer
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def most_rows(share: float, rows: int) -> int:
    """Return how many rows a share allows, cut; a hair below a whole number is that number.

    >>> most_rows(0.29, 100)
    29
    """
    return int(share * rows + 1e-9)


@dataclass(frozen=True, eq=False)
class Recoding:
    """The class of each cell (-1: left out), and each class's levels and one of its cells.

    `suppressed` is the number of the class of `*`, the last one, or -1 when there is none.
    """

    classes: Int64s
    levels: Int64s
    examples: Int64s
    suppressed: int

    def lost_rows(self, lattice: Lattice) -> int:
        """The rows that are suppressed: those in the class of `*`, and those left out."""
        return int(lattice.cell_rows[(self.classes < 0) | (self.classes == self.suppressed)].sum())

    @property
    def leaves_out(self) -> bool:
        """Whether some rows are not released."""
        return bool((self.classes < 0).any())


class Drafting:
    """A recoding in the making: cells find their classes node by node, widest last."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.classes = np.full(len(lattice.codes), -1, dtype=np.int64)
        self.levels: list[Levels] = []
        self.examples: list[int] = []

    def generalise(self, lattice: Lattice, levels: Levels) -> Lattice | None:
        """Give classes to the cells that satisfy the models at a node; return the lattice of the others, if any."""
        joined, tally = lattice.classes(levels)
        failing = tally.failing[joined]
        number = len(self.levels) - 1 + np.cumsum(~tally.failing)
        self.classes[lattice.finest.example[~failing]] = number[joined[~failing]]
        passing = tally.frequencies.example[~tally.failing].tolist()
        self.examples += passing
        self.levels += [levels] * len(passing)
        return lattice.restrict_to(np.flatnonzero(failing)) if failing.any() else None

    def take_back(self, rest: Lattice, first: int) -> Lattice:
        """Return the rest joined by classes from number `first` on, smallest first, until it makes a class itself."""
        sizes = np.bincount(self.classes + 1, weights=self.lattice.cell_rows, minlength=len(self.levels) + 1)[1:]
        taken: list[int] = []
        for number in sorted(range(first, len(self.levels)), key=sizes.__getitem__):
            if not rest.tally(rest.top).failing[0]:
                break
            taken.append(number)
            rest = self.lattice.restrict_to(np.flatnonzero((self.classes < 0) | np.isin(self.classes, taken)))
        if not rest.tally(rest.top).failing[0]:
            self._remove(taken)
        return rest

    def _remove(self, taken: list[int]) -> None:
        kept = np.ones(len(self.levels) + 1, dtype=np.bool_)
        kept[taken] = False
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        number[-1] = -1  # what class -1 looks up
        self.classes = number[self.classes]
        self.levels = [levels for levels, stays in zip(self.levels, kept, strict=False) if stays]
        self.examples = [example for example, stays in zip(self.examples, kept, strict=False) if stays]

    def finish(self, rest: Lattice | None) -> Recoding:
        """Return the recoding, the rest suppressed as one class or left out."""
        suppressed = -1
        if rest is not None and not rest.tally(rest.top).failing[0]:
            suppressed = len(self.levels)
            self.classes[rest.finest.example] = suppressed
            self.levels.append(rest.top)
            self.examples.append(int(rest.finest.example[0]))
        return Recoding(self.classes, np.array(self.levels), np.array(self.examples), suppressed)


def recode_node(lattice: Lattice, levels: Levels) -> Recoding:
    """Return the classes of one node, the failing ones suppressed."""
    draft = Drafting(lattice)
    return draft.finish(draft.generalise(lattice, levels))


def recode_locally(lattice: Lattice, levels: Levels, metric: str) -> Recoding:
    """Return the classes of one node, the failing ones moved to wider nodes of their own where any will hold them."""
    draft = Drafting(lattice)
    rest = draft.generalise(lattice, levels)
    first = len(draft.levels)
    rest = _hold_in_rounds(draft, rest, metric, None)
    return draft.finish(None if rest is None else draft.take_back(rest, first))


def recode_in_rounds(lattice: Lattice, metric: str, until: float | None = None) -> Recoding:
    """Return the classes of many nodes, each of little loss and for rows that no node before it holds.

    Prasser, Bild & Kuhn 2016 and ARX: a round takes a node of least loss at which a hundredth of all rows holds, and
    forgets what the others would cost. Past `until`, a moment by `working_time`, rounds are hurried.
    """
    draft = Drafting(lattice)
    rest = _hold_in_rounds(draft, lattice, metric, until)
    return draft.finish(None if rest is None else draft.take_back(rest, 0))


def held_in_rounds(lattice: Lattice, metric: str, until: float | None = None) -> Int64s:
    """Return the class of every cell after such rounds, -1 for what only `*` would hold; past `until` rounds end."""
    draft = Drafting(lattice)
    _hold_in_rounds(draft, lattice, metric, None, until)
    return draft.classes


def _hold_in_rounds(
    draft: Drafting, rest: Lattice | None, metric: str, until: float | None, end: float | None = None
) -> Lattice | None:
    """Give classes to the cells of a lattice, node by node; return the lattice of those that only `*` would hold.

    Past `until` rounds are hurried, and past `end` the others have no class either.
    """
    all_rows = draft.lattice.rows
    least = max(1, all_rows // ROUNDS)
    while rest is not None and least > 0 and (end is None or working_time() < end):
        hurried = until is not None and working_time() >= until
        levels = node_of_some(rest, metric, min(least, rest.rows), hurried=hurried)
        if levels is None or levels == rest.top:
            least //= FEWER
            continue
        rest = draft.generalise(rest, levels)
        tell(1 - (0 if rest is None else rest.rows) / all_rows, f"{len(draft.levels)} classes")
    return rest


def node_labels(lattice: Lattice, recoding: Recoding) -> Masks:
    """Return, of each class, which codes of every quasi-identifier its node stands for."""

    def masks(number: int) -> list[Bools]:
        steps = zip(lattice.ladders, recoding.levels[number], lattice.codes[recoding.examples[number]], strict=True)
        return [ladder.nodes[level] == ladder.nodes[level][code] for ladder, level, code in steps]

    return masks


def stands(problem: Problem, lattice: Lattice, recoding: Recoding) -> bool:
    """Return whether the released rows satisfy every model even though others may have been left out.

    Every class has satisfied the models beside the whole table; only a model that compares with the
    table (t-closeness) can tell the difference when rows are missing from it.
    """
    if not recoding.leaves_out or all(model.suppression_monotone for model in problem.models):
        return True
    rows = recoding.classes[lattice.cell_of_point][problem.points.ids]
    released = problem.only(rows >= 0)
    groups = released.groups(rows[rows >= 0], node_labels(lattice, recoding))
    return all(model.holds(model.measure(groups)) for model in problem.models)
