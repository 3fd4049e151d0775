"""MDAV: groups of k records, built in turn at opposite ends of the data.

Domingo-Ferrer & Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation" (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.progress import counting, stopping_at
from sfumato.tabular.microaggregation.base import ORDER_OPTIONS, ORDER_RULES, Microaggregator
from sfumato.tabular.microaggregation.loss import Labels, Records


def mdav(x: Records, k: int, until: float | None = None) -> Labels:
    """Return group labels; every group has k records but the last, which has up to 2k-1.

    From the moment `until` (by `working_time`) on, what is left is grouped quickly and not by MDAV.
    """
    from sfumato.tabular.microaggregation.algorithms.mdav_kernel import mdav_groups
    from sfumato.tabular.microaggregation.kdtree.codes import coded

    with counting(len(x), "records grouped") as done, stopping_at(until) as stop:
        return mdav_groups(x, coded(x), k, done, stop)


@dataclass(frozen=True)
class MDAV(Microaggregator):
    """Maximum distance to average vector: groups of k at opposite ends (Domingo-Ferrer & Torra 2005).

    >>> MDAV().algorithm
    'mdav'
    """

    keep_order: bool = False

    RULES: ClassVar = ORDER_RULES
    OPTIONS: ClassVar = ORDER_OPTIONS
    algorithm: ClassVar = "mdav"

    def groups(self, points: Records, k: int) -> Labels:
        return mdav(points, k)

    def groups_until(self, points: Records, k: int, moment: float | None) -> Labels:
        return mdav(points, k, moment)
