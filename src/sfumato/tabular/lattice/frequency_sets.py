"""Frequency sets kept for later roll-ups, within a bound on memory.

LeFevre, DeWitt & Ramakrishnan 2005 roll a node up from one just below it; the latest are the likeliest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.tabular.lattice.kernel import Frequencies

MOST_MEMBERS = 1 << 24


class Kept:
    """Frequency sets by node; the oldest go first when all together have too many members.

    >>> len(Kept())
    0
    """

    def __init__(self, most: int = MOST_MEMBERS) -> None:
        self.most = most
        self.members = 0
        self.sets: dict[tuple[int, ...], Frequencies] = {}

    def __len__(self) -> int:
        return len(self.sets)

    def get(self, levels: tuple[int, ...]) -> Frequencies | None:
        """Return the frequency set of a node, if it is kept."""
        return self.sets.get(levels)

    def add(self, levels: tuple[int, ...], frequencies: Frequencies) -> None:
        """Keep one more frequency set; the newest always stays."""
        self.sets[levels] = frequencies
        self.members += len(frequencies.rest)
        while self.members > self.most and len(self.sets) > 1:
            self.members -= len(self.sets.pop(next(iter(self.sets))).rest)

    def clear(self) -> None:
        """Forget all."""
        self.sets.clear()
        self.members = 0
