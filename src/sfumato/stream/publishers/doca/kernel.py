"""The clustering of DOCA in one pass: a scan of the open clusters per record, and the group of a record that expires.

Leal, Vidal & Machado (2018), algorithms 1 and 2, with the points they leave open settled as `docs/algorithms/doca.md`
lists them. No noise is drawn here, so that the same records always give the same groups.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.stream.base import Integers, Numbers
from sfumato.stream.publishers.castle.cluster_kernel import mean_loss
from sfumato.stream.publishers.doca import ARRIVED, BORN, OLDEST, OPEN, PUBLISHED, Clusters, LeavingGroups, Window

NONE = -1
LEAST, MOST, THRESHOLD = range(3)
FARTHEST = np.finfo(np.float64).max  # below the distance to a free slot


@kernel
def best_cluster(record: float, clusters: Clusters, span: Numbers, strict: bool) -> tuple[int, int]:
    """The slots of the nearest cluster that stays below the threshold (or NONE), and of the nearest of all.

    Nearest is how far the record lies outside; ties go to the smallest cluster, then to the oldest.
    """
    width = span[MOST] - span[LEAST]
    nearest = FARTHEST
    best = any_best = NONE
    for slot in range(clusters.low.size):
        distance = max(clusters.low[slot] - record, record - clusters.high[slot], 0.0)
        if distance > nearest:
            continue
        if distance < nearest:
            nearest = distance
            best = any_best = NONE
        grown = max(clusters.high[slot], record) - min(clusters.low[slot], record)
        loss = grown / width if width > 0.0 else 0.0
        if any_best == NONE or earlier(clusters, slot, any_best):
            any_best = slot
        below = loss < span[THRESHOLD] if strict else loss <= span[THRESHOLD]
        if below and (best == NONE or earlier(clusters, slot, best)):
            best = slot
    return best, any_best


@kernel
def earlier(clusters: Clusters, slot: int, other: int) -> bool:
    """Whether a cluster is smaller than another, or as small and older."""
    if clusters.size[slot] != clusters.size[other]:
        return bool(clusters.size[slot] < clusters.size[other])
    return bool(clusters.born[slot] < clusters.born[other])


@kernel
def insert(record: float, clusters: Clusters, window: Window, counts: Integers, span: Numbers, strict: bool) -> None:
    """Put the next record into its cluster, a new one where none fits and one more may be held."""
    span[LEAST] = min(span[LEAST], record)
    span[MOST] = max(span[MOST], record)
    slot, any_slot = best_cluster(record, clusters, span, strict)
    if slot == NONE and counts[OPEN] < clusters.low.size:
        slot = 0
        while clusters.size[slot] > 0:
            slot += 1
        clusters.total[slot] = 0.0
        clusters.born[slot] = counts[BORN]
        clusters.first[slot] = counts[ARRIVED]
        counts[BORN] += 1
        counts[OPEN] += 1
    elif slot == NONE:
        slot = any_slot
    ring = window.cluster.size
    place = counts[ARRIVED]
    if clusters.size[slot] > 0:
        window.following[clusters.last[slot] % ring] = place
    clusters.last[slot] = place
    clusters.low[slot] = min(clusters.low[slot], record)
    clusters.high[slot] = max(clusters.high[slot], record)
    clusters.total[slot] += record
    clusters.size[slot] += 1
    window.cluster[place % ring] = slot
    counts[ARRIVED] += 1


@kernel
def publish(
    slot: int,
    clusters: Clusters,
    window: Window,
    losses: Numbers,
    counts: Integers,
    span: Numbers,
    out: LeavingGroups,
    row: int,
) -> int:
    """Take a cluster out, renew the threshold, and return the next free row of `out.positions`."""
    width = span[MOST] - span[LEAST]
    loss = (clusters.high[slot] - clusters.low[slot]) / width if width > 0.0 else 0.0
    losses[counts[PUBLISHED] % losses.size] = loss
    counts[PUBLISHED] += 1
    span[THRESHOLD] = mean_loss(losses, counts[PUBLISHED])
    ring = window.cluster.size
    place = clusters.first[slot]
    for _ in range(clusters.size[slot]):
        out.positions[row] = place
        row += 1
        window.cluster[place % ring] = NONE
        place = window.following[place % ring]
    clusters.low[slot] = np.inf
    clusters.high[slot] = -np.inf
    clusters.size[slot] = 0
    counts[OPEN] -= 1
    while counts[OLDEST] < counts[ARRIVED] and window.cluster[counts[OLDEST] % ring] == NONE:
        counts[OLDEST] += 1
    return row


@kernel
def push_all(
    batch: Numbers,
    clusters: Clusters,
    window: Window,
    losses: Numbers,
    counts: Integers,
    span: Numbers,
    strict: bool,
    out: LeavingGroups,
) -> tuple[int, int]:
    """Take every record of the batch; return how many rows and groups left."""
    ring = window.cluster.size
    row = 0
    group = 0
    for record in batch:
        insert(record, clusters, window, counts, span, strict)
        expired = counts[ARRIVED] - ring
        slot = window.cluster[expired % ring] if expired >= 0 else NONE
        if slot != NONE:
            out.means[group] = clusters.total[slot] / clusters.size[slot]
            out.sizes[group] = clusters.size[slot]
            row = publish(slot, clusters, window, losses, counts, span, out, row)
            group += 1
    return row, group


@kernel
def flush_all(
    clusters: Clusters, window: Window, losses: Numbers, counts: Integers, span: Numbers, out: LeavingGroups
) -> tuple[int, int]:
    """Publish all clusters, the oldest first; return how many rows and groups left."""
    row = 0
    group = 0
    while counts[OPEN] > 0:
        slot = window.cluster[counts[OLDEST] % window.cluster.size]
        out.means[group] = clusters.total[slot] / clusters.size[slot]
        out.sizes[group] = clusters.size[slot]
        row = publish(slot, clusters, window, losses, counts, span, out, row)
        group += 1
    return row, group
