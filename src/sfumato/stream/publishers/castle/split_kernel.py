"""A cluster of twice as many persons as needed, cut into parts of near tuples: the split of CASTLE.

Cao, Carminati, Ferrari & Tan (2011), section 4: a tuple and its k-1 nearest ones of other persons make a part, until
fewer than k persons are left, whose tuples join the part they enlarge least. A part without l values joins another.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.stream.publishers.castle.cluster_kernel import loss_of, loss_with, widen
from sfumato.stream.publishers.castle.state import HIGH, LOW, NONE, Numbers, Records, State


@kernel
def split(state: State, count: int) -> int:
    """Give each of the members a part; return how many parts there are (1 where no split keeps the diversity)."""
    members = state.members
    persons = buckets(state, count)
    parts = 0
    rest = count
    while persons >= state.k:
        persons -= start_part(state, rest, parts)
        parts += 1
        rest = still_without(members, rest)
    for place in range(rest):
        member = members[place].rest
        values = values_of(state, members[member].place)
        join(state, member, nearest_part(state, parts, values, values, NONE), values, values)
    return parts if state.l == 1 else merge_uniform(state, count, parts)


@kernel
def still_without(members: Records, rest: int) -> int:
    """List the members that have no part yet, among the first `rest` of that list; return how many there are."""
    kept = 0
    for place in range(rest):
        member = members[place].rest
        if members[member].part == NONE:
            members[kept].rest = member
            kept += 1
    return kept


@kernel
def values_of(state: State, place: int) -> Numbers:
    """The quasi-identifiers of a tuple that is held."""
    values: Numbers = state.rows[place % state.rows.shape[0]][: state.bounds.shape[2]]
    return values


@kernel
def buckets(state: State, count: int) -> int:
    """Number the members' persons, none in a part yet; return how many persons there are."""
    rows, ring = state.rows, state.rows.shape[0]
    persons = 0
    for member in range(count):
        state.members[member].part = NONE
        state.members[member].left = 0
        state.members[member].rest = member
        bucket = persons
        if state.person >= 0:
            for other in range(member):
                if (
                    rows[state.members[other].place % ring, state.person]
                    == rows[state.members[member].place % ring, state.person]
                ):
                    bucket = state.members[other].bucket
                    break
        state.members[member].bucket = bucket
        state.members[bucket].left += 1
        persons += bucket == persons
    return persons


@kernel
def start_part(state: State, rest: int, part: int) -> int:
    """Make a part of the first member left and its nearest ones of others; return how many persons are used up."""
    members = state.members
    seed = members[0].rest
    values = values_of(state, members[seed].place)
    state.part_bounds[part, LOW] = values
    state.part_bounds[part, HIGH] = values
    state.parts[part].size = 0
    listed = 0
    for place in range(1, rest):
        member = members[place].rest
        if members[member].bucket != members[seed].bucket:
            other = values_of(state, members[member].place)
            gap = loss_with(state.attributes, values, values, other, other)
            listed = note_near(state, listed, member, gap)
    used = take(state, seed, part)
    for place in range(listed):
        used += take(state, members[place].near, part)
    state.parts[part].loss = loss_of(state.attributes, state.part_bounds[part, LOW], state.part_bounds[part, HIGH])
    return used


@kernel
def note_near(state: State, listed: int, member: int, gap: float) -> int:
    """Put a member into the list of the k-1 nearest of different persons if it belongs there; return its length."""
    members, room = state.members, state.k - 1
    if listed == room and gap >= members[listed - 1].gap:
        return listed
    end = listed
    for place in range(listed if state.person >= 0 else 0):
        if members[members[place].near].bucket == members[member].bucket:
            if gap >= members[place].gap:
                return listed
            end = place
    if end == listed:
        listed = min(listed + 1, room)
        end = listed - 1
    while end > 0 and members[end - 1].gap > gap:
        members[end].near = members[end - 1].near
        members[end].gap = members[end - 1].gap
        end -= 1
    members[end].near = member
    members[end].gap = gap
    return listed


@kernel
def take(state: State, member: int, part: int) -> int:
    """Put a member into a part; return 1 when it was its person's last."""
    values = values_of(state, state.members[member].place)
    state.members[member].part = part
    state.parts[part].size += 1
    widen(state.part_bounds[part, LOW], state.part_bounds[part, HIGH], values, values)
    bucket = state.members[member].bucket
    state.members[bucket].left -= 1
    return int(state.members[bucket].left == 0)


@kernel
def join(state: State, member: int, part: int, low: Numbers, high: Numbers) -> None:
    """Put a member of the bounds `low`, `high` into a part and widen it."""
    state.members[member].part = part
    state.parts[part].size += 1
    widen(state.part_bounds[part, LOW], state.part_bounds[part, HIGH], low, high)
    state.parts[part].loss = loss_of(state.attributes, state.part_bounds[part, LOW], state.part_bounds[part, HIGH])


@kernel
def nearest_part(state: State, parts: int, low: Numbers, high: Numbers, wanted: int) -> int:
    """The part that bounds enlarge least, then the smallest, then the first; among those with mark `wanted` if any."""
    best = NONE
    least = np.inf
    for part in range(parts):
        if wanted != NONE and state.parts[part].mark != wanted:
            continue
        enlargement = (
            loss_with(state.attributes, state.part_bounds[part, LOW], state.part_bounds[part, HIGH], low, high)
            - state.parts[part].loss
        )
        if (
            best == NONE
            or enlargement < least
            or (enlargement == least and state.parts[part].size < state.parts[best].size)
        ):
            least = enlargement
            best = part
    return best


@kernel
def merge_uniform(state: State, count: int, parts: int) -> int:
    """Put each part without l values into the diverse part that it enlarges least; return how many parts are left."""
    diverse = 0
    for part in range(parts):
        state.parts[part].mark = part_is_diverse(state, count, part)
        diverse += state.parts[part].mark
    if diverse == 0:
        for member in range(count):
            state.members[member].part = 0
        return 1
    for part in range(parts):
        if state.parts[part].mark == 0:
            target = nearest_part(state, parts, state.part_bounds[part, LOW], state.part_bounds[part, HIGH], 1)
            for member in range(count):
                if state.members[member].part == part:
                    join(state, member, target, state.part_bounds[part, LOW], state.part_bounds[part, HIGH])
    return renumber(state, count, parts)


@kernel
def renumber(state: State, count: int, parts: int) -> int:
    """Number the marked parts without gaps; return how many there are."""
    fresh = 0
    for old in range(parts):
        if state.parts[old].mark == 1:
            for member in range(count):
                if state.members[member].part == old:
                    state.members[member].part = fresh
            fresh += 1
    return fresh


@kernel
def part_is_diverse(state: State, count: int, part: int) -> int:
    """1 where each sensitive column has l values in a part, 0 elsewhere."""
    rows = state.rows
    for column in range(state.bounds.shape[2], state.bounds.shape[2] + state.sensitive):
        found = 0
        for member in range(count):
            if state.members[member].part == part:
                value = rows[state.members[member].place % rows.shape[0], column]
                found += new_value(state.members, found, value)
            if found == state.l:
                break
        if found < state.l:
            return 0
    return 1


@kernel
def new_value(members: Records, found: int, value: float) -> int:
    """Note a value behind the first `found`; return 1 where it was not among them."""
    for place in range(found):
        if members[place].value == value:
            return 0
    members[found].value = value
    return 1
