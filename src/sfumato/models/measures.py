"""The measured value of every model on a finished table, in plain NumPy over all classes at once.

The anonymizers test their splits by separate compiled code, so these measures are a second opinion.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.models.groups import Groups, Histograms

CHUNK = 4_000_000


def smallest(groups: Groups) -> int:
    """k: the protected units in the smallest class (Samarati & Sweeney 1998).

    >>> smallest(Groups.of(np.array([0, 0, 1])))
    1
    """
    return int(groups.units.min())


def l_distinct(histograms: Histograms) -> int:
    """Distinct l: the fewest different values in a class (Machanavajjhala et al. 2007)."""
    return int(np.diff(histograms.starts, append=len(histograms.counts)).min())


def l_entropy(histograms: Histograms) -> float:
    """Entropy l: exp of the smallest entropy of a class (Machanavajjhala et al. 2007, definition 4.1)."""
    shares = histograms.shares
    entropies = -np.add.reduceat(shares * np.log(shares), histograms.starts)
    return float(np.exp(entropies.min()))


def l_recursive(histograms: Histograms, c: float) -> int:
    """The largest l for which every class is recursively (c, l)-diverse (2007, definition 4.2).

    A class is when its most frequent value is rarer than c times all from the l-th most frequent on.
    """
    order = np.lexsort((-histograms.counts, histograms.classes))
    counts = histograms.counts[order].astype(np.float64)
    starts = histograms.starts
    lengths = np.diff(starts, append=len(counts))
    running = np.cumsum(counts) - counts
    tails = np.repeat(histograms.totals + running[starts], lengths) - running
    enough = c * tails > np.repeat(counts[starts], lengths)
    return int(np.add.reduceat(enough.astype(np.int64), starts).min())


def t_distance(
    histograms: Histograms, cuts: tuple[npt.NDArray[np.int64], ...], weights: npt.NDArray[np.float64]
) -> float:
    """t: the largest earth mover's distance of a class from the table (Li, Li & Venkatasubramanian 2007).

    On a tree, a line or a star the distance is a weighted sum over cuts of the mass that must cross.
    """
    size = histograms.column.size
    reference = histograms.reference
    starts = np.append(histograms.starts, len(histograms.counts))
    step = max(1, CHUNK // (size + 1))
    largest = 0.0
    shares = histograms.shares
    for first in range(0, len(starts) - 1, step):
        last = min(first + step, len(starts) - 1)
        part = slice(starts[first], starts[last])
        dense = np.zeros((last - first, size + 1))
        rows = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        dense[rows, histograms.values[part] + 1] = shares[part]
        dense[:, 1:] -= reference
        flow = np.cumsum(dense, axis=1)
        crossing = np.abs(flow[:, cuts[1]] - flow[:, cuts[0]])
        largest = max(largest, float((crossing @ weights).max()))
    return largest


def alpha(groups: Groups, histograms: Histograms) -> float:
    """α: the largest share of one value among a class's units (Wong, Li, Fu & Wang 2006)."""
    return float((histograms.counts / groups.units[histograms.classes]).max())


def beta(histograms: Histograms) -> float:
    """β: the largest relative gain of a value's share in a class over the table (Cao & Karras 2012)."""
    before = histograms.reference[histograms.values]
    return max(0.0, float(((histograms.shares - before) / before).max()))


def delta(histograms: Histograms) -> float:
    """δ: the largest |ln| of a present value's share in a class over that in the table (Brickell & Shmatikov 2008).

    Values absent from a class are left out, as other tools do; by the letter they make δ infinite.
    """
    before = histograms.reference[histograms.values]
    return float(np.abs(np.log(histograms.shares / before)).max())
