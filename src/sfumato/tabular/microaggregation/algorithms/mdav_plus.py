"""MDAV+: groups of k records, peeled off from the outside towards one fixed centroid.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.progress import counting
from sfumato.tabular.microaggregation.base import ORDER_OPTIONS, ORDER_RULES, Microaggregator
from sfumato.tabular.microaggregation.loss import Labels, Records


def mdav_plus(x: Records, k: int) -> Labels:
    """Return group labels; the last fewer than k records join the group with the nearest centroid.

    With fewer than k records in all there is one group, smaller than k.
    """
    from sfumato.tabular.microaggregation.algorithms.mdav_kernel import mdav_plus_groups
    from sfumato.tabular.microaggregation.kdtree.codes import coded

    with counting(len(x), "records grouped") as done:
        return mdav_plus_groups(x, coded(x), k, done)


@dataclass(frozen=True)
class MDAVPlus(Microaggregator):
    """MDAV with one fixed centroid: groups peeled off from the outside (Stoldt 2019).

    >>> MDAVPlus().algorithm
    'mdav+'
    """

    keep_order: bool = False

    RULES: ClassVar = ORDER_RULES
    OPTIONS: ClassVar = ORDER_OPTIONS
    algorithm: ClassVar = "mdav+"
    aliases: ClassVar = ("mdav-plus",)

    def groups(self, points: Records, k: int) -> Labels:
        return mdav_plus(points, k)
