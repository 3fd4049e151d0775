"""MDAV+: groups of k records, peeled off from the outside towards one fixed centroid.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

from sfumato.tabular.microaggregation.algorithms.mdav_plus_kernel import mdav_plus_groups
from sfumato.tabular.microaggregation.loss import Labels, Records


def mdav_plus(x: Records, k: int) -> Labels:
    """Return group labels; the last fewer than k records join the group with the nearest centroid.

    With fewer than k records in all there is one group, smaller than k.
    """
    return mdav_plus_groups(x, k)
