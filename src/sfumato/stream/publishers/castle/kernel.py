"""When a tuple of CASTLE leaves: with its cluster, under bounds used before, after a merge, or suppressed.

Cao, Carminati, Ferrari & Tan (2011), section 4, with the points they leave open settled as `docs/algorithms/castle.md`
lists them.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.random.discrete_kernel import Words, uniform_below
from sfumato.stream.publishers.castle.cluster_kernel import (
    covers,
    earlier,
    generalise,
    insert,
    is_new_person,
    loss_of,
    loss_with,
    mean_loss,
    settle_bounds,
    widen,
)
from sfumato.stream.publishers.castle.split_kernel import new_value, split, values_of
from sfumato.stream.publishers.castle.state import (
    ARRIVED,
    HELD,
    HIGH,
    KEPT,
    LOW,
    NONE,
    OLDEST,
    OPEN,
    PUBLISHED,
    Integers,
    Numbers,
    Outgoing,
    State,
)

ROW, GROUP, WORD = range(3)


@kernel
def push_all(state: State, batch: Numbers, spare: int, words: Words, cursor: Integers, out: Outgoing) -> int:
    """Take tuples while at least `spare` words are left for one that expires; return how many were taken."""
    ring = state.links.size
    for number in range(batch.shape[0]):
        if words.size - cursor[WORD] < spare:
            return number
        insert(state, batch[number])
        expired = state.counts[ARRIVED] - ring
        if expired >= 0 and state.links[expired % ring].cluster != NONE:
            expire(state, expired, words, cursor, out)
    return int(batch.shape[0])


@kernel
def flush_all(state: State, spare: int, words: Words, cursor: Integers, out: Outgoing) -> int:
    """Let the oldest tuple expire until none is held or fewer than `spare` words are left; return how many are held."""
    while state.counts[HELD] > 0 and words.size - cursor[WORD] >= spare:
        expire(state, state.counts[OLDEST], words, cursor, out)
    return int(state.counts[HELD])


@kernel
def expire(state: State, place: int, words: Words, cursor: Integers, out: Outgoing) -> None:
    """Publish a tuple whose time has come: with its cluster, under used bounds, with merged clusters, or suppressed."""
    slot = state.links[place % state.links.size].cluster
    count = gather(state, slot, 0)
    if not enough(state, count):
        if reuse(state, place, words, cursor, out):
            return
        larger = 0
        for other in range(state.clusters.size):
            larger += state.clusters[other].size > 0 and state.clusters[other].persons > state.clusters[slot].persons
        if 2 * larger > state.counts[OPEN] or not enough(state, gather_all(state)):
            low = np.full(state.bounds.shape[2], np.nan)
            publish_alone(state, place, low, low, cursor, out)
            return
        count = merge(state, slot)
    else:
        release(state, slot)
    publish(state, count, words, cursor, out)


@kernel
def gather(state: State, slot: int, count: int) -> int:
    """List a cluster's tuples behind the first `count` members; return how many members there are then."""
    place = state.clusters[slot].first
    for _ in range(state.clusters[slot].size):
        state.members[count].place = place
        count += 1
        place = state.links[place % state.links.size].following
    return count


@kernel
def gather_all(state: State) -> int:
    """List all tuples held; return how many there are."""
    count = 0
    for slot in range(state.clusters.size):
        count = gather(state, slot, count)
    return count


@kernel
def enough(state: State, count: int) -> bool:
    """Whether the members are of k persons and have l values in every sensitive column."""
    if not at_least(state, count, state.person, state.k):
        return False
    for column in range(state.bounds.shape[2], state.bounds.shape[2] + state.sensitive):
        if not at_least(state, count, column, state.l):
            return False
    return True


@kernel
def at_least(state: State, count: int, column: int, wanted: int) -> bool:
    """Whether a column has `wanted` values among the members; NONE is a column where all differ."""
    if column == NONE or count < wanted:
        return count >= wanted
    found = 0
    for member in range(count):
        found += new_value(state.members, found, state.rows[state.members[member].place % state.links.size, column])
        if found == wanted:
            return True
    return False


@kernel
def reuse(state: State, place: int, words: Words, cursor: Integers, out: Outgoing) -> bool:
    """Publish a tuple under the bounds of a kept cluster that covers it, drawn uniformly; return whether one did."""
    record = state.rows[place % state.links.size]
    kept = min(state.counts[KEPT], state.kept.shape[0])
    fitting = 0
    for number in range(kept):
        fitting += covers(state.kept[number, LOW], state.kept[number, HIGH], record)
    if fitting == 0:
        return False
    chosen, cursor[WORD] = uniform_below(fitting, words, cursor[WORD])
    for number in range(kept):
        if covers(state.kept[number, LOW], state.kept[number, HIGH], record):
            if chosen == 0:
                publish_alone(state, place, state.kept[number, LOW], state.kept[number, HIGH], cursor, out)
                break
            chosen -= 1
    return True


@kernel
def publish_alone(state: State, place: int, low: Numbers, high: Numbers, cursor: Integers, out: Outgoing) -> None:
    """Take the first tuple out of its cluster and publish it under the bounds; suppressed where they are NaN."""
    clusters = state.clusters
    ring = state.links.size
    slot = state.links[place % ring].cluster
    clusters[slot].first = state.links[place % ring].following
    clusters[slot].size -= 1
    rebuild(state, slot)
    write_group(state, 1, low, high, cursor, out)
    write_row(state, place, cursor, out)
    if np.isnan(low[0]):
        out.sensitive[cursor[ROW] - 1] = np.nan
    settle_oldest(state)


@kernel
def rebuild(state: State, slot: int) -> None:
    """Renew the bounds, loss and persons of a cluster from its tuples; free it where it has none."""
    clusters = state.clusters
    width = state.bounds.shape[2]
    if clusters[slot].size == 0:
        state.counts[OPEN] -= 1
        return
    count = gather(state, slot, 0)
    clusters[slot].size = 0
    clusters[slot].persons = 0
    for member in range(count):
        record = state.rows[state.members[member].place % state.links.size]
        if member == 0:
            state.bounds[slot, LOW] = record[:width]
            state.bounds[slot, HIGH] = record[:width]
        clusters[slot].persons += is_new_person(state, slot, record)
        clusters[slot].size += 1
        widen(state.bounds[slot, LOW], state.bounds[slot, HIGH], record[:width], record[:width])
    settle_bounds(state, slot)


@kernel
def merge(state: State, slot: int) -> int:
    """List a cluster's tuples and those of the clusters that enlarge it least, until they are enough."""
    clusters = state.clusters
    low, high = state.bounds[slot, LOW].copy(), state.bounds[slot, HIGH].copy()
    count = gather(state, slot, 0)
    release(state, slot)
    while not enough(state, count):
        before = loss_of(state.attributes, low, high)
        least = np.inf
        best = NONE
        for other in range(clusters.size):
            if clusters[other].size == 0:
                continue
            after = loss_with(state.attributes, low, high, state.bounds[other, LOW], state.bounds[other, HIGH])
            closer = after - before < least
            if closer or (after - before == least and earlier(state, other, best)):
                least = after - before
                best = other
        widen(low, high, state.bounds[best, LOW], state.bounds[best, HIGH])
        count = gather(state, best, count)
        release(state, best)
    return count


@kernel
def release(state: State, slot: int) -> None:
    """Free a cluster's slot."""
    state.clusters[slot].size = 0
    state.counts[OPEN] -= 1


@kernel
def publish(state: State, count: int, words: Words, cursor: Integers, out: Outgoing) -> None:
    """Publish the members, in parts where they are of 2k persons."""
    parts = 1
    if at_least(state, count, state.person, 2 * state.k):
        parts = split(state, count)
    else:
        for member in range(count):
            state.members[member].part = 0
    leaving = state.members[:count].copy()
    for number in range(parts):
        publish_part(state, leaving["place"][leaving["part"] == number], words, cursor, out)
    settle_oldest(state)


@kernel
def publish_part(state: State, members: Integers, words: Words, cursor: Integers, out: Outgoing) -> None:
    """Publish tuples under their common bounds in a random order; renew the threshold, keep the bounds if good."""
    low = values_of(state, members[0]).copy()
    high = low.copy()
    for place in members:
        widen(low, high, values_of(state, place), values_of(state, place))
    loss = loss_of(state.attributes, low, high)
    generalise(state.attributes, low, high)
    state.losses[state.counts[PUBLISHED] % state.losses.size] = loss
    state.counts[PUBLISHED] += 1
    state.threshold[0] = mean_loss(state.losses, state.counts[PUBLISHED])
    if loss <= state.threshold[0]:
        number = state.counts[KEPT] % state.kept.shape[0]
        state.kept[number, LOW] = low
        state.kept[number, HIGH] = high
        state.counts[KEPT] += 1
    write_group(state, members.size, low, high, cursor, out)
    for last in range(members.size - 1, -1, -1):
        drawn, cursor[WORD] = uniform_below(last + 1, words, cursor[WORD])
        other = int(drawn)
        members[last], members[other] = members[other], members[last]
        write_row(state, members[last], cursor, out)


@kernel
def write_group(state: State, size: int, low: Numbers, high: Numbers, cursor: Integers, out: Outgoing) -> None:
    """Note a group that leaves."""
    out.sizes[cursor[GROUP]] = size
    out.bounds[cursor[GROUP], LOW] = low
    out.bounds[cursor[GROUP], HIGH] = high
    cursor[GROUP] += 1
    state.counts[HELD] -= size


@kernel
def write_row(state: State, place: int, cursor: Integers, out: Outgoing) -> None:
    """Note a tuple that leaves, with its sensitive values."""
    ring, width = state.links.size, state.bounds.shape[2]
    out.positions[cursor[ROW]] = place
    out.sensitive[cursor[ROW]] = state.rows[place % ring][width : width + state.sensitive]
    state.links[place % ring].cluster = NONE
    cursor[ROW] += 1


@kernel
def settle_oldest(state: State) -> None:
    """Move on to the oldest tuple that is still held."""
    counts, links = state.counts, state.links
    while counts[OLDEST] < counts[ARRIVED] and links[counts[OLDEST] % links.size].cluster == NONE:
        counts[OLDEST] += 1
