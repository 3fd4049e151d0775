"""The clusters of CASTLE: what a generalised tuple loses, and which cluster a tuple joins, the one it enlarges least.

Cao, Carminati, Ferrari & Tan (2011), section 3: a range of a number loses its share of the domain, a node of a
hierarchy the share of the leaves below it beyond the first; a tuple loses the mean of its attributes. Section 4,
procedure best_selection: a tuple joins the cluster it enlarges least, within the threshold if there is such a one.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.stream.publishers.castle.state import (
    ARRIVED,
    BORN,
    HELD,
    HIGH,
    LOW,
    NONE,
    NUMBER,
    OPEN,
    Numbers,
    State,
    TupleAttributes,
)


@kernel
def lowest(attributes: TupleAttributes, attribute: int, low: int, high: int) -> int:
    """Where in `first` and `many` the lowest node over two leaves stands."""
    place = attributes.columns[attribute].tree
    while attributes.spans[place + low].first != attributes.spans[place + high].first:
        place += attributes.columns[attribute].leaves
    return int(place + low)


@kernel
def spread(attributes: TupleAttributes, attribute: int, low: float, high: float) -> float:
    """The loss of one attribute whose values lie between `low` and `high`."""
    if attributes.columns[attribute].tree == NUMBER:
        return float((high - low) * attributes.columns[attribute].weight)
    node = lowest(attributes, attribute, int(low), int(high))
    return float((attributes.spans[node].many - 1) * attributes.columns[attribute].weight)


@kernel
def loss_of(attributes: TupleAttributes, low: Numbers, high: Numbers) -> float:
    """The loss of a tuple generalised to the bounds `low` and `high`."""
    total = 0.0
    for attribute in range(low.size):
        total += spread(attributes, attribute, low[attribute], high[attribute])
    return total / low.size


@kernel
def loss_with(
    attributes: TupleAttributes, low: Numbers, high: Numbers, other_low: Numbers, other_high: Numbers
) -> float:
    """The loss of the bounds that cover two pairs of bounds (for a single tuple both are its values)."""
    total = 0.0
    for attribute in range(low.size):
        total += spread(
            attributes,
            attribute,
            min(low[attribute], other_low[attribute]),
            max(high[attribute], other_high[attribute]),
        )
    return total / low.size


@kernel
def widen(low: Numbers, high: Numbers, other_low: Numbers, other_high: Numbers) -> None:
    """Make the first bounds cover the second."""
    for attribute in range(low.size):
        low[attribute] = min(low[attribute], other_low[attribute])
        high[attribute] = max(high[attribute], other_high[attribute])


@kernel
def generalise(attributes: TupleAttributes, low: Numbers, high: Numbers) -> None:
    """Make the bounds of hierarchies those of whole nodes, in place."""
    for attribute in range(low.size):
        if attributes.columns[attribute].tree != NUMBER:
            node = lowest(attributes, attribute, int(low[attribute]), int(high[attribute]))
            low[attribute] = attributes.spans[node].first
            high[attribute] = attributes.spans[node].first + attributes.spans[node].many - 1


@kernel
def covers(low: Numbers, high: Numbers, record: Numbers) -> bool:
    """Whether a record lies within generalised bounds."""
    for attribute in range(low.size):
        if record[attribute] < low[attribute] or record[attribute] > high[attribute]:
            return False
    return True


@kernel
def mean_loss(losses: Numbers, published: int) -> float:
    """The mean of the last losses, added up from the oldest to the newest."""
    count = min(published, losses.size)
    total = 0.0
    for number in range(published - count, published):
        total += losses[number % losses.size]
    return total / count


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
