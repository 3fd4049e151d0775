"""Several mechanisms over one input, and one that looks at a record several times: their losses add up.

Sequential composition (Dwork & Roth 2014, theorem 3.16; Bun & Steinke 2016, lemma 1.7 for ρ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

from sfumato.promise.chain import Distance, Mechanism
from sfumato.promise.cost import Cost


@dataclass(frozen=True)
class Together:
    """Several mechanisms that look at the same records, each with noise of its own; one that costs nothing is none.

    >>> from sfumato.promise import Input, Metric, Neighbours, PerRow, ProtectRows
    >>> near = Distance.between(Metric(ProtectRows(), Neighbours.PRESENCE, Input.RECORDS))
    >>> part = PerRow(Cost(epsilon="0.25"), Neighbours.PRESENCE)
    >>> Together((part, part, Overlapping(part, 2))).privacy(near).epsilon
    Decimal('1')
    """

    parts: tuple[Mechanism, ...]

    def privacy(self, near: Distance) -> Cost:
        return reduce(add, (part.privacy(near) for part in self.parts), Cost())


@dataclass(frozen=True)
class Overlapping:
    """A mechanism that is run anew on every window, where a record is in at most `windows` of them.

    >>> from sfumato.promise import Input, Metric, Neighbours, PerRow, ProtectRows
    >>> near = Distance.between(Metric(ProtectRows(), Neighbours.VALUE, Input.RECORDS))
    >>> Overlapping(PerRow(Cost(epsilon="0.1"), Neighbours.VALUE), 6).privacy(near).epsilon
    Decimal('0.6')
    """

    mechanism: Mechanism
    windows: int

    def privacy(self, near: Distance) -> Cost:
        return _times(self.mechanism.privacy(near), self.windows)


def _times(cost: Cost, count: int) -> Cost:
    """Return a cost so many times, by doubling, since costs are added exactly."""
    half = cost if count == 1 else _times(cost, count // 2)
    if count == 1:
        return cost
    return half + half + cost if count % 2 else half + half
