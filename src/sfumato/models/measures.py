"""The measured value of every model on a finished table, in plain NumPy over all classes at once.

The anonymizers test their splits by separate compiled code, so these measures are a second opinion.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.models.criteria import SLACK
from sfumato.models.groups import Groups, Histograms

CHUNK = 4_000_000


def smallest(groups: Groups) -> int:
    """k: the protected units in the smallest class (Samarati & Sweeney 1998).

    >>> smallest(Groups.of(np.array([0, 0, 1])))
    1
    """
    return int(groups.units.min())


def l_distinct(histograms: Histograms) -> int:
    """Distinct l: the fewest different values in a class, one pinned on each unit (Machanavajjhala et al. 2007)."""
    return int(np.bincount(histograms.pinned.classes, minlength=len(histograms.units)).min())


def l_entropy(histograms: Histograms) -> float:
    """Entropy l: exp of the smallest entropy of a class (2007, definition 4.1); 0 where a class has no value."""
    pins = histograms.pinned
    shares = pins.counts / histograms.holders[pins.classes]
    entropies = -np.bincount(pins.classes, shares * np.log(shares), len(histograms.units))
    return float(np.where(histograms.holders > 0, np.exp(entropies), 0.0).min())


def l_recursive(histograms: Histograms, c: float) -> int:
    """The largest l for which every class is recursively (c, l)-diverse (2007, definition 4.2).

    A class is when its most frequent value is rarer than c times all from the l-th most frequent on.
    """
    pins, classes = histograms.pinned, len(histograms.units)
    most = np.zeros(classes)
    np.maximum.at(most, pins.classes, pins.counts)
    enough = c * (histograms.holders[pins.classes] - pins.before) > most[pins.classes]
    return int(np.bincount(pins.classes, enough, classes).min())


def t_distance(
    histograms: Histograms, cuts: tuple[npt.NDArray[np.int64], ...], weights: npt.NDArray[np.float64]
) -> float:
    """t: the largest earth mover's distance of a class from the table (Li, Li & Venkatasubramanian 2007).

    On a tree, a line or a star the distance is a weighted sum over cuts of the mass that must cross. The mass of a
    value is the share of the units that have it; where a class has fewer values for each person, the table is scaled
    down to it.
    """
    size = histograms.column.size
    reference = histograms.reference
    starts = np.append(histograms.starts, len(histograms.counts))
    step = max(1, CHUNK // (size + 1))
    largest = 0.0
    shares = histograms.shares
    scale = np.minimum(1.0, histograms.masses / reference.sum())
    for first in range(0, len(starts) - 1, step):
        last = min(first + step, len(starts) - 1)
        part = slice(starts[first], starts[last])
        dense = np.zeros((last - first, size + 1))
        rows = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        dense[rows, histograms.values[part] + 1] = shares[part]
        dense[:, 1:] -= reference * scale[first:last, None]
        flow = np.cumsum(dense, axis=1)
        crossing = np.abs(flow[:, cuts[1]] - flow[:, cuts[0]])
        largest = max(largest, float((crossing @ weights).max()))
    return largest


def alpha(groups: Groups, histograms: Histograms) -> float:
    """α: the largest share of one value among a class's units (Wong, Li, Fu & Wang 2006).

    Units without a value are left out, since they hide nobody; that a value is missing is known of all units.
    """
    of = np.where(histograms.known, histograms.holders[histograms.classes], groups.units[histograms.classes])
    return float((histograms.counts / of).max())


def beta(histograms: Histograms) -> float:
    """β: the largest relative gain of a value's share in a class over the table (Cao & Karras 2012)."""
    before = histograms.reference[histograms.values]
    return max(0.0, float(((histograms.shares - before) / before).max()))


def beta_enhanced(histograms: Histograms) -> float:
    """Enhanced β: as `beta`, infinite where a value of share p gains more than −ln p (2012, definition 3)."""
    before = histograms.reference[histograms.values]
    gains = (histograms.shares - before) / before
    broken = gains > np.maximum(0.0, -np.log(before)) + SLACK
    return float(np.inf) if broken.any() else max(0.0, float(gains.max()))


def delta(histograms: Histograms) -> float:
    """δ: the largest |ln| of a present value's share in a class over that in the table (Brickell & Shmatikov 2008).

    Values absent from a class are left out, as other tools do; by the letter they make δ infinite.
    """
    before = histograms.reference[histograms.values]
    return float(np.abs(np.log(histograms.shares / before)).max())


def delta_of_all(histograms: Histograms) -> float:
    """δ by the letter: infinite where a class lacks a value that the table has."""
    met = np.bincount(histograms.classes, minlength=len(histograms.units))
    return delta(histograms) if met.min() == np.count_nonzero(histograms.reference) else float(np.inf)


def spans(histograms: Histograms, numbers: npt.NDArray[np.float64], k: int) -> float:
    """(k, e)-anonymity's e: the least reach of a class's numbers, 0 where fewer than k differ (Zhang et al. 2007).

    The reach is the shortest part of the scale that could hold a number of every unit that has one.
    """
    known, fewest = histograms.known, l_distinct(histograms)
    if fewest < k:
        return 0.0
    classes, counts = histograms.classes[known], histograms.counts[known]
    held = numbers[histograms.values[known] - histograms.column.has_missing]
    total = np.cumsum(counts)
    before = total - counts
    end = np.searchsorted(total, before + histograms.holders[classes])  # where so many units are met from here on
    inside = end < len(classes)
    inside[inside] &= classes[end[inside]] == classes[inside]
    return float((held[end[inside]] - held[inside]).min())
