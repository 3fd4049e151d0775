"""Slow, obvious versions of the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.tabular.microaggregation.loss import Labels, Records


def distances(x: Records, point: Records) -> Records:
    """Squared distances, columns added in order."""
    total = np.zeros(len(x))
    for j in range(x.shape[1]):
        total += (x[:, j] - point[j]) ** 2
    return total


def nearest(x: Records, left: list[int], seed: int, count: int) -> list[int]:
    """The ``count`` records of ``left`` nearest to ``seed``, the lowest first on ties."""
    gaps = distances(x, x[seed])
    return sorted((i for i in left if i != seed), key=lambda i: (gaps[i], i))[:count]


def farthest(x: Records, left: list[int], point: Records) -> int:
    """The record of ``left`` farthest from ``point``, the lowest on ties."""
    gaps = distances(x, point)
    return min(left, key=lambda i: (-gaps[i], i))


def mdav(x: Records, k: int) -> Labels:
    """MDAV by full scans, with exactly rounded sums."""
    labels = np.zeros(len(x), np.int64)
    left = list(range(len(x)))
    group = 0

    def take(seed: int) -> None:
        nonlocal left, group
        members = {seed, *nearest(x, left, seed, k - 1)}
        labels[list(members)] = group
        left = [i for i in left if i not in members]
        group += 1

    def outermost() -> int:
        sums = [math.fsum(x[left, j]) for j in range(x.shape[1])]
        return farthest(x, left, np.array(sums) / len(left))

    while len(left) >= 3 * k:
        r = outermost()
        take(r)
        take(farthest(x, left, x[r]))
    if len(left) >= 2 * k:
        take(outermost())
    labels[left] = group
    return labels


def mdav_plus(x: Records, k: int) -> Labels:
    """MDAV+ by full scans."""
    n = len(x)
    if n < k:
        return np.zeros(n, np.int64)
    centre = np.array([sum(x[:, j].tolist()) / n for j in range(x.shape[1])])
    labels = np.full(n, -1, np.int64)
    left = list(range(n))
    groups: list[list[int]] = []
    while len(left) >= k:
        seed = farthest(x, left, centre)
        members = [seed, *nearest(x, left, seed, k - 1)]
        labels[members] = len(groups)
        groups.append(sorted(members))
        left = [i for i in left if labels[i] < 0]
    centroids = np.array([sum(x[i] for i in members) / k for members in groups])
    for i in left:
        labels[i] = int(np.argmin(distances(centroids, x[i])))
    return labels


def error(x: Records, members: list[int]) -> float:
    """Sum of squared distances to the centroid, added record by record."""
    rows = x[sorted(members)]
    centroid = np.asarray(sum(rows) / len(rows))
    return float(sum(distances(rows, centroid).tolist()))


def peel(x: Records, k: int, extend: Callable[[list[int], list[int]], list[int]]) -> Labels:
    """MDAV+ with a rule that extends each group of k from the records left."""
    n = len(x)
    if n < k:
        return np.zeros(n, np.int64)
    centre = np.array([sum(x[:, j].tolist()) / n for j in range(x.shape[1])])
    labels = np.full(n, -1, np.int64)
    left = list(range(n))
    group = 0
    while len(left) >= k:
        seed = farthest(x, left, centre)
        members = [seed, *nearest(x, left, seed, k - 1)]
        members = extend(members, [i for i in left if i not in members])
        labels[members] = group
        left = [i for i in left if labels[i] < 0]
        group += 1
    centroids = np.array([sum(x[labels == g]) / (labels == g).sum() for g in range(group)])
    for i in left:
        labels[i] = int(np.argmin(distances(centroids, x[i])))
    return labels


def vmdav(x: Records, k: int, gamma: float) -> Labels:
    """V-MDAV by full scans."""

    def extend(members: list[int], left: list[int]) -> list[int]:
        while left and len(members) < 2 * k - 1:
            inward, record = min((float(distances(x, x[m])[i]), i) for m in members for i in left)
            others = [i for i in left if i != record]
            gaps = distances(x, x[record])
            outward = min((float(gaps[i]) for i in others), default=math.inf)
            if math.sqrt(inward) >= gamma * math.sqrt(outward):
                break
            members, left = [*members, record], others
        return members

    return peel(x, k, extend)


def mdav_star(x: Records, k: int) -> Labels:
    """MDAV* by full scans."""

    def extend(members: list[int], left: list[int]) -> list[int]:
        members = sorted(members)
        while len(left) >= k and len(members) < 2 * k - 1:
            gaps = distances(x, np.asarray(sum(x[members]) / len(members)))
            record = min(left, key=lambda i: (gaps[i], i))
            growth = gaps[record] * len(members) / (len(members) + 1.0)
            rival_gaps = distances(x, x[record])
            rival = sorted(left, key=lambda i: (rival_gaps[i], i))[:k]
            if growth >= error(x, rival) / k:
                break
            members, left = [*members, record], [i for i in left if i != record]
        return members

    return peel(x, k, extend)


def univariate_error(values: Records, k: int) -> float:
    """The least error over all cuts of the sorted values into runs of k to 2k-1."""
    ordered = np.sort(values)
    n = len(ordered)
    if n < 2 * k:
        return float(np.square(ordered - ordered.mean()).sum())
    best = [0.0] + [math.inf] * n
    for stop in range(k, n + 1):
        for start in range(max(0, stop - 2 * k + 1), stop - k + 1):
            run = ordered[start:stop]
            cost = best[start] + float(np.square(run - run.mean()).sum())
            best[stop] = min(best[stop], cost)
    return best[n]
