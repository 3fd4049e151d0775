"""V-MDAV: MDAV with groups that grow while the next record lies closer to them than to its peers.

Solanas & Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group
size" (2006).
"""

from sfumato.tabular.microaggregation.algorithms.vmdav_kernel import vmdav_groups
from sfumato.tabular.microaggregation.loss import Labels, Records


def vmdav(x: Records, k: int, gamma: float = 0.2) -> Labels:
    """Return group labels; groups have k to 2k-1 records before leftovers join the nearest.

    The paper advises a gamma of 0.2 for scattered and 1.1 for clustered records.
    """
    return vmdav_groups(x, k, gamma)
