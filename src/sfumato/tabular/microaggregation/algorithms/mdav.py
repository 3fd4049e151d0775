"""MDAV: groups of k records, built in turn at opposite ends of the data.

Domingo-Ferrer & Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation" (2005).
"""

from sfumato.tabular.microaggregation.algorithms.mdav_kernel import mdav_groups
from sfumato.tabular.microaggregation.loss import Labels, Records


def mdav(x: Records, k: int) -> Labels:
    """Return group labels; every group has k records but the last, which has up to 2k-1."""
    return mdav_groups(x, k)
