"""MDAV*: MDAV+ with groups that grow where that is cheaper than opening another group.

Thaeter & Reischuk, "Improving anonymization clustering" (2018), in our reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.progress import counting
from sfumato.tabular.microaggregation.base import ORDER_OPTIONS, ORDER_RULES, Microaggregator
from sfumato.tabular.microaggregation.loss import Labels, Records


def mdav_star(x: Records, k: int) -> Labels:
    """Return group labels; groups have k to 2k-1 records before leftovers join the nearest.

    The paper weighs extending the present group by its nearest outsider against opening a
    new group there. We infer that it compares the growth of the error with the mean error
    of the new group. There is no constant to tune.
    """
    from sfumato.tabular.microaggregation.algorithms.mdav_kernel import mdav_star_groups
    from sfumato.tabular.microaggregation.kdtree.codes import coded

    with counting(len(x), "records grouped") as done:
        return mdav_star_groups(x, coded(x), k, done)


@dataclass(frozen=True)
class MDAVStar(Microaggregator):
    """MDAV+ whose groups grow where that is cheaper than another group (Thaeter & Reischuk 2018, in our reading).

    >>> MDAVStar().algorithm
    'mdav*'
    """

    keep_order: bool = False

    RULES: ClassVar = ORDER_RULES
    OPTIONS: ClassVar = ORDER_OPTIONS
    algorithm: ClassVar = "mdav*"
    aliases: ClassVar = ("mdav-star",)

    def groups(self, points: Records, k: int) -> Labels:
        return mdav_star(points, k)
