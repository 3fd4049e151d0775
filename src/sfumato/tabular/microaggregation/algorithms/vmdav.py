"""V-MDAV: MDAV with groups that grow while the next record lies closer to them than to its peers.

Solanas & Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group
size" (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.core.parameters import Real
from sfumato.core.progress import counting
from sfumato.tabular.microaggregation.base import ORDER_OPTIONS, ORDER_RULES, Microaggregator
from sfumato.tabular.microaggregation.loss import Labels, Records


def vmdav(x: Records, k: int, gamma: float = 0.2) -> Labels:
    """Return group labels; groups have k to 2k-1 records before leftovers join the nearest.

    The paper advises a gamma of 0.2 for scattered and 1.1 for clustered records.
    """
    from sfumato.tabular.microaggregation.algorithms.mdav_kernel import vmdav_groups
    from sfumato.tabular.microaggregation.kdtree.codes import coded

    with counting(len(x), "records grouped") as done:
        return vmdav_groups(x, coded(x), k, gamma, done)


@dataclass(frozen=True)
class VMDAV(Microaggregator):
    """MDAV with groups of k to 2k-1 (Solanas & Martínez-Ballesté 2006); a larger gamma grows them more readily.

    >>> VMDAV(gamma=1.1).gamma
    1.1
    """

    gamma: float = 0.2
    keep_order: bool = False

    RULES: ClassVar = {"gamma": Real(0), **ORDER_RULES}
    OPTIONS: ClassVar = ORDER_OPTIONS
    algorithm: ClassVar = "vmdav"

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(gamma=1.1),)

    def groups(self, points: Records, k: int) -> Labels:
        return vmdav(points, k, self.gamma)
