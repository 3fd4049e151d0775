"""The clustering of CASTLE: a tuple joins the cluster it enlarges least, and leaves among k persons or not at all.

Cao, Carminati, Ferrari & Tan (2011), section 4, with the points they leave open settled as `docs/algorithms/castle.md`
lists them.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernel import kernel
from sfumato.random.discrete_kernel import Words, uniform_below
from sfumato.stream.castle_loss_kernel import (
    NUMBER,
    Integers,
    Numbers,
    covers,
    generalise,
    loss_of,
    loss_with,
    spread,
    widen,
)
from sfumato.stream.castle_split_kernel import new_value, split, values_of
from sfumato.stream.castle_state import (
    ARRIVED,
    BORN,
    HELD,
    HIGH,
    KEPT,
    LOW,
    OLDEST,
    OPEN,
    PUBLISHED,
    Outgoing,
    State,
)

NONE = -1
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
def mean_loss(losses: Numbers, published: int) -> float:
    """The mean of the last losses, added up from the oldest to the newest."""
    count = min(published, losses.size)
    total = 0.0
    for number in range(published - count, published):
        total += losses[number % losses.size]
    return total / count


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
