"""One thing an attacker learns from several releases: people in this box have one of these few values.

The attacker knows a person's quasi-identifiers and which releases the person is in, as in chapter 2 of
Pereira 2014 and in Xiao & Tao 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Box = tuple[int, ...]
Attack = Literal["intersection", "difference", "linking"]
LIMIT = 1_000_000


@dataclass(frozen=True)
class Exposure:
    """People in `box` who are in the releases `present` and not in `absent` have one of `values` (as bits).

    `classes` are the classes, one for each release present, that the conclusion was drawn from.

    >>> Exposure("intersection", (0, 1), (), (4, 2), (7, 1), 0b100).size
    1
    """

    attack: Attack
    present: tuple[int, ...]
    absent: tuple[int, ...]
    classes: tuple[int, ...]
    box: Box
    values: int
    persons: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many sensitive values remain possible."""
        return self.values.bit_count()


@dataclass
class Search:
    """The exposures found so far (fewer than `least` values left), and the effort that may still be spent.

    >>> Search(2).complete
    True
    """

    least: int
    exposures: list[Exposure] = field(default_factory=list)
    effort: int = LIMIT

    @property
    def complete(self) -> bool:
        """Whether nothing was left out for want of effort."""
        return self.effort > 0
