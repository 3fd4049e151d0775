"""Optimal microaggregation of a single column.

Hansen & Mukherjee, "A polynomial algorithm for optimal univariate microaggregation" (2003);
Stamm & Schaub, "Faster optimal univariate microaggregation" (2024).
"""

import numpy as np

from sfumato.errors import ParameterError
from sfumato.tabular.microaggregation.algorithms.univariate_kernel import sorted_groups
from sfumato.tabular.microaggregation.loss import Labels, Records


def univariate(x: Records, k: int) -> Labels:
    """Return the labels of least error; groups are runs of k to 2k-1 sorted values."""
    if x.shape[1] != 1:
        message = f"Univariate microaggregation takes one column. Got {x.shape[1]} instead."
        raise ParameterError(message)
    order = np.argsort(x[:, 0], kind="stable")
    labels = np.empty(len(x), np.int64)
    labels[order] = sorted_groups(x[order, 0], k)
    return labels
