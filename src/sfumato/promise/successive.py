"""Budgets of successive windows: what any w of them may cost together, and what one alone.

w-event privacy (Kellaris, Papadopoulos, Xiao & Papadias 2014): a unit that has rows in no more than w successive
windows pays for all of them, a row pays for the one that it is in. The proof is in `docs/algorithms/w-event.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.promise.chain import Distance, PerRow
from sfumato.promise.cost import Cost
from sfumato.promise.group_privacy import group
from sfumato.promise.unit import Neighbours


@dataclass(frozen=True)
class SuccessiveWindows:
    """Windows of which any `windows` successive ones cost `together` for a row in each, and one costs `alone`.

    >>> from sfumato.promise import CapPersons, Metric, ProtectPersons, ProtectRows
    >>> budgets = SuccessiveWindows(Cost(epsilon=1), Cost(epsilon="0.3"), 4, Neighbours.PRESENCE)
    >>> budgets.privacy(Distance.between(Metric(ProtectRows(), Neighbours.PRESENCE))).epsilon
    Decimal('0.3')
    >>> meters = Distance.between(Metric(ProtectPersons("meter", 2, 4), Neighbours.PRESENCE))
    >>> budgets.privacy(CapPersons("meter", 2, 4).stability(meters)).epsilon
    Decimal('2')
    """

    together: Cost
    alone: Cost
    windows: int
    neighbours: Neighbours

    def privacy(self, near: Distance) -> Cost:
        """Return what rows in one window, or in several, cost."""
        if near.groups == 1 or near.rows is None or near.metric.neighbours is not self.neighbours:
            return PerRow(self.alone, self.neighbours).privacy(near)
        if near.groups > self.windows:
            raise ParameterError(
                f"{self.windows} successive windows share a budget, and the chain gives rows in {near.groups}"
            )
        return group(self.together, near.rows)
