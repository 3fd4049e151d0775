"""Slow, obvious versions of k-means and of merging small clusters."""

from __future__ import annotations

import numpy as np

from sfumato.tabular.microaggregation.loss import Labels, Records


def lloyd(x: Records, centres: Records, limit: int) -> Labels:
    """k-means from ``centres`` by full scans."""
    labels = np.full(len(x), -1)
    for _ in range(limit):
        gaps = np.square(x[:, None, :] - centres[None, :, :]).sum(axis=2)
        fresh = gaps.argmin(axis=1)
        if (fresh == labels).all():
            break
        labels = fresh
        centres = np.array(
            [x[labels == c].mean(axis=0) if (labels == c).any() else centres[c] for c in range(len(centres))]
        )
    return labels.astype(np.int64)


Clusters = dict[int, list[int]]


def partner(x: Records, clusters: Clusters, name: int, growth: bool) -> int | None:
    """The cluster that ``name`` should be merged with."""

    def cost(other: int) -> float:
        a, b = x[clusters[name]], x[clusters[other]]
        gap = float(np.square(a.mean(axis=0) - b.mean(axis=0)).sum())
        return gap * len(a) * len(b) / (len(a) + len(b)) if growth else gap

    others = [other for other in clusters if other != name]
    return min(others, key=cost, default=None)


def merge(x: Records, labels: Labels, k: int, loop: str, growth: bool) -> list[list[int]]:
    """Clusters of k or more records, in the order of merging that ``loop`` names."""
    clusters: Clusters = {int(c): np.flatnonzero(labels == c).tolist() for c in np.unique(labels)}
    line = sorted(clusters)
    while line:
        name = line.pop(0)
        if name in clusters and len(clusters[name]) < k:
            other = partner(x, clusters, name, growth)
            if other is None:
                break
            keeper, gone = (other, name) if loop == "outer" else (name, other)
            clusters[keeper] += clusters.pop(gone)
            if loop == "inner":
                line.insert(0, name)
            elif loop == "none":
                line.append(name)
        if not line and loop == "outer" and any(len(c) < k for c in clusters.values()):
            line = sorted(clusters)
    return sorted(sorted(members) for members in clusters.values())
