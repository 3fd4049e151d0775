"""What every algorithm shares of records and labels: the z-score it starts from, the loss it is judged by.

Loss as in Domingo-Ferrer & Mateo-Sanz (2002): L = 100 * SSE / SST.
"""

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def standardize(x: npt.NDArray[np.float64]) -> Records:
    """Return the columns of ``x`` with mean 0 and standard deviation 1; constant ones become 0."""
    # A power of two keeps every bit of the result and lets no column, however large or small, overflow.
    x = np.ldexp(x, -np.frexp(np.abs(x).max(axis=0))[1])
    centred = x - x.mean(axis=0)
    # A constant column can keep a rounding residue, which dividing would blow up to 1.
    constant = x.max(axis=0) == x.min(axis=0)
    scale = np.where(constant, 1.0, centred.std(axis=0))
    centred[:, constant] = 0.0
    return np.ascontiguousarray(centred / np.where(scale > 0, scale, 1.0))


def group_sums(x: Records, labels: Labels) -> tuple[Records, npt.NDArray[np.int64]]:
    """Return the column sums and the sizes of the groups, by label."""
    groups = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=groups)
    sums = np.empty((groups, x.shape[1]))
    for column in range(x.shape[1]):
        sums[:, column] = np.bincount(labels, weights=x[:, column], minlength=groups)
    return sums, sizes


def squared_error(x: Records, labels: Labels) -> float:
    """Return the sum of squared distances of the records to the mean of their group."""
    sums, sizes = group_sums(x, labels)
    means = sums / np.maximum(sizes, 1)[:, None]
    return float(np.square(x - means[labels]).sum())


def information_loss(x: Records, labels: Labels) -> float:
    """Return 100 * SSE / SST in per cent, and 0 where all records are equal."""
    total = float(np.square(x - x.mean(axis=0)).sum())
    return 100.0 * squared_error(x, labels) / total if total > 0.0 else 0.0


def dense_labels(labels: Labels) -> Labels:
    """Return the labels renumbered from 0 without gaps, in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
