"""Which cluster a tuple joins in CASTLE: the one it enlarges least, within the threshold if there is such a one.

Cao, Carminati, Ferrari & Tan (2011), section 4, procedure best_selection.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.stream.publishers.castle.loss_kernel import NUMBER, Numbers, loss_of, spread, widen
from sfumato.stream.publishers.castle.state import ARRIVED, BORN, HELD, HIGH, LOW, OPEN, State

NONE = -1


@kernel
def insert(state: State, record: Numbers) -> None:
    """Put the next tuple into its cluster, a new one where none fits and one more may be held."""
    clusters, counts = state.clusters, state.counts
    width = state.bounds.shape[2]
    slot, any_slot = best_cluster(state, record)
    if slot == NONE and counts[OPEN] < clusters.size:
        slot = 0
        while clusters[slot].size > 0:
            slot += 1
        state.bounds[slot, LOW] = record[:width]
        state.bounds[slot, HIGH] = record[:width]
        clusters[slot].persons = 0
        clusters[slot].born = counts[BORN]
        clusters[slot].first = counts[ARRIVED]
        counts[BORN] += 1
        counts[OPEN] += 1
    elif slot == NONE:
        slot = any_slot
    place = counts[ARRIVED]
    ring = state.links.size
    clusters[slot].persons += is_new_person(state, slot, record)
    if clusters[slot].size > 0:
        state.links[clusters[slot].last % ring].following = place
    clusters[slot].last = place
    clusters[slot].size += 1
    widen(state.bounds[slot, LOW], state.bounds[slot, HIGH], record[:width], record[:width])
    settle_bounds(state, slot)
    state.rows[place % ring] = record
    state.links[place % ring].cluster = slot
    counts[ARRIVED] += 1
    counts[HELD] += 1


@kernel
def best_cluster(state: State, record: Numbers) -> tuple[int, int]:
    """The slots of the cluster least enlarged that stays within the threshold (or NONE), and of the least enlarged."""
    clusters = state.clusters
    losses = grown_losses(state, record)
    least = np.inf
    best = any_best = NONE
    for slot in range(clusters.size):
        if clusters[slot].size == 0:
            continue
        loss = losses[slot]
        enlargement = loss - clusters[slot].loss
        if enlargement > least:
            continue
        if enlargement < least:
            least = enlargement
            best = any_best = NONE
        if any_best == NONE or earlier(state, slot, any_best):
            any_best = slot
        if loss <= state.threshold[0] and (best == NONE or earlier(state, slot, best)):
            best = slot
    return best, any_best


@kernel
def grown_losses(state: State, record: Numbers) -> Numbers:
    """The loss of each cluster with the record in it, attribute by attribute so that clusters are taken at a time."""
    width = state.bounds.shape[2]
    losses: Numbers = state.scan[2 * width]
    losses[:] = 0.0
    for attribute in range(width):
        value = record[attribute]
        low, high = state.scan[2 * attribute], state.scan[2 * attribute + 1]
        if state.attributes.columns[attribute].tree == NUMBER:
            weight = state.attributes.columns[attribute].weight
            for slot in range(losses.size):
                losses[slot] += (max(high[slot], value) - min(low[slot], value)) * weight
        else:
            for slot in range(losses.size):
                losses[slot] += spread(state.attributes, attribute, min(low[slot], value), max(high[slot], value))
    for slot in range(losses.size):
        losses[slot] /= width
    return losses


@kernel
def settle_bounds(state: State, slot: int) -> None:
    """Note the loss of a cluster whose bounds have changed, and the bounds where they are scanned."""
    state.clusters[slot].loss = loss_of(state.attributes, state.bounds[slot, LOW], state.bounds[slot, HIGH])
    for attribute in range(state.bounds.shape[2]):
        state.scan[2 * attribute, slot] = state.bounds[slot, LOW, attribute]
        state.scan[2 * attribute + 1, slot] = state.bounds[slot, HIGH, attribute]


@kernel
def earlier(state: State, slot: int, other: int) -> bool:
    """Whether a cluster has fewer persons than another, or as few and is older."""
    one, two = state.clusters[slot], state.clusters[other]
    if one.persons != two.persons:
        return bool(one.persons < two.persons)
    return bool(one.born < two.born)


@kernel
def is_new_person(state: State, slot: int, record: Numbers) -> int:
    """1 where no tuple of the cluster is of the record's person."""
    if state.person == NONE:
        return 1
    place = state.clusters[slot].first
    for _ in range(state.clusters[slot].size):
        if state.rows[place % state.links.size, state.person] == record[state.person]:
            return 0
        place = state.links[place % state.links.size].following
    return 1
