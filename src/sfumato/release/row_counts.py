"""What became of the rows of a table: how many were read, withheld, added, released, and starred among these.

Whoever signs for a table must know whose rows are not in it, and which are nobody's (Hundepool et al. 2012, chapter 3).
How many were withheld follows from rows that are not released, so a card says only that some were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.errors import BrokenPromiseError
from sfumato.release.card import Card

WITHHELD, ADDED, STARRED = "rows_suppressed", "counterfeit_rows", "rows_starred"
SOME_WITHHELD = "Some rows were withheld, since no class could hold them. How many is told to the steward alone."


@dataclass(frozen=True)
class RowCounts:
    """The rows of a release that is not differentially private; what was read and not withheld, and what was added.

    >>> RowCounts(read=30, withheld=2, added=5, released=33).words
    '30 rows read: 2 withheld, 28 released; 5 rows added that belong to nobody'
    >>> RowCounts(read=30, withheld=0, added=0, released=33)
    Traceback (most recent call last):
    sfumato.errors.BrokenPromiseError: the release was withheld: of 30 rows read 0 were withheld and 0 added, and 33 \
are there; this is a defect of the algorithm, please report it
    """

    read: int
    withheld: int
    added: int
    released: int
    starred: int = 0

    def __post_init__(self) -> None:
        if self.read - self.withheld + self.added != self.released:
            raise BrokenPromiseError(
                f"the release was withheld: of {self.read} rows read {self.withheld} were withheld and {self.added} "
                f"added, and {self.released} are there; this is a defect of the algorithm, please report it"
            )

    @classmethod
    def of(cls, card: Card, steward: Mapping[str, float], read: int | None = None) -> RowCounts:
        """Return the counts of a release: from its card, and from what only the steward may know."""
        withheld, measures = int(steward.get(WITHHELD, 0)), card.released.measures
        added, released = int(measures.get(ADDED, 0)), card.released.rows
        there = released - added + withheld if read is None else read
        return cls(there, withheld, added, released, int(measures.get(STARRED, 0)))

    @property
    def words(self) -> str:
        """What became of the rows, for the steward."""
        kept = self.released - self.added
        added = f"; {self.added:,} rows added that belong to nobody" if self.added else ""
        starred = f"; {self.starred:,} released with every quasi-identifier as *" if self.starred else ""
        return f"{self.read:,} rows read: {self.withheld:,} withheld, {kept:,} released{added}{starred}"

    def changes(self) -> list[str]:
        """Return what a card may say of it, a sentence each.

        >>> RowCounts(read=30, withheld=2, added=0, released=28, starred=3).changes()[1]
        '3 of 28 rows have every quasi-identifier replaced by *.'
        """
        sentences = [SOME_WITHHELD] if self.withheld else []
        if self.starred:
            sentences.append(f"{self.starred:,} of {self.released:,} rows have every quasi-identifier replaced by *.")
        if self.added:
            sentences.append(
                f"{self.added:,} of {self.released:,} rows were added that belong to nobody (counterfeits). Counts and "
                "shares computed from this table are not those of the people."
            )
        return sentences
