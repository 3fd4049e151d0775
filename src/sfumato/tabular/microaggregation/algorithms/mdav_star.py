"""MDAV*: MDAV+ with groups that grow where that is cheaper than opening another group.

Thaeter & Reischuk, "Improving anonymization clustering" (2018), in our reading.
"""

from sfumato.tabular.microaggregation.algorithms.mdav_star_kernel import mdav_star_groups
from sfumato.tabular.microaggregation.loss import Labels, Records


def mdav_star(x: Records, k: int) -> Labels:
    """Return group labels; groups have k to 2k-1 records before leftovers join the nearest.

    Certain is that extending the present group by its nearest outsider is weighed against
    opening a new group there; that the growth of the error is compared with the mean error
    of the new group is inferred. It has no constant to tune.
    """
    return mdav_star_groups(x, k)
