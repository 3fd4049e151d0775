"""MDAV and its variants over a kd-tree with deletion: all take groups off from the outside in.

Domingo-Ferrer & Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation" (2005), for MDAV; Stoldt, "Datenbankanonymisierung auf Basis von
k-means-Algorithmen" (slides, 2019), for MDAV+; Solanas & Martínez-Ballesté, "V-MDAV: a
multivariate microaggregation with variable group size" (2006); Thaeter & Reischuk,
"Improving anonymization clustering" (2018), for MDAV*, whose rule itself is inferred.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.coded_kernel import Coded
from sfumato.tabular.microaggregation.kdtree.kernel import KDTree, build_coded, farthest, nearest, remove_each
from sfumato.tabular.microaggregation.kdtree.rim_kernel import farthest_on_rim, sort_rim, squared_distance

PATIENCE = 16
# When a peeled group grows beyond k: never (MDAV+), while that is cheaper than opening
# another group (MDAV*), or while outsiders are nearer to it than to each other (V-MDAV).
NEVER, WHILE_CHEAPER, WHILE_NEARER = 0, 1, 2

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def outermost_first(x: Floats) -> Integers:
    """Return the records by falling distance to the centroid of all, the lowest first on ties."""
    n, d = x.shape
    distances = np.zeros(n)
    for j in range(d):
        centre = 0.0
        for i in range(n):
            centre += x[i, j]
        centre /= n
        for i in range(n):
            distances[i] -= (x[i, j] - centre) ** 2
    return np.argsort(distances, kind="mergesort")


@kernel
def unlabelled_records(labels: Integers) -> Integers:
    """Return the records without a group."""
    return np.flatnonzero(labels < 0)


@kernel
def take_nearest(x: Floats, tree: KDTree, seed: int, members: Integers, near: Floats) -> int:
    """Move ``seed`` and as many of its nearest records as ``near`` holds to ``members``."""
    # The seed goes first: a twin of lower index would be found before it.
    members[0] = seed
    remove_each(tree, members[:1])
    found = nearest(tree, x[seed], near, members[1 : near.size + 1])
    remove_each(tree, members[1 : found + 1])
    return found + 1


@kernel
def join_nearest_group(x: Floats, groups: int, labels: Integers) -> None:
    """Give every leftover the label of the group whose centroid, without leftovers, is nearest."""
    centroids = np.zeros((groups, x.shape[1]))
    sizes = np.zeros(groups)
    for i in range(x.shape[0]):
        if labels[i] >= 0:
            centroids[labels[i]] += x[i]
            sizes[labels[i]] += 1.0
    for group in range(groups):
        centroids[group] /= sizes[group]
    for i in unlabelled_records(labels):
        best = np.inf
        for group in range(groups):
            distance = 0.0
            for j in range(x.shape[1]):
                distance += (x[i, j] - centroids[group, j]) ** 2
            if distance < best:
                best, labels[i] = distance, group


@kernel
def add_exactly(high: Floats, low: Floats, row: Floats, sign: float) -> None:
    """Add ``sign * row`` to a sum kept in two doubles per column.

    The sum of the remaining records then never drifts, so that the centroid is the
    correctly rounded one however many records were taken out before.
    """
    for j in range(row.size):
        value = sign * row[j]
        total = high[j] + value
        part = total - high[j]
        low[j] += (high[j] - (total - part)) + (value - part)
        high[j] = total


@kernel
def take_group(x: Floats, tree: KDTree, seed: int, k: int, group: int, labels: Integers, sums: Floats) -> None:
    """Give ``seed`` and its k-1 nearest records the label ``group`` and take them out."""
    members = np.empty(k, np.int64)
    for i in range(take_nearest(x, tree, seed, members, np.empty(k - 1))):
        labels[members[i]] = group
        add_exactly(sums[0], sums[1], x[members[i]], -1.0)


@kernel
def mdav_groups(x: Floats, coded: Coded, k: int, done: Integers, stop: Integers) -> Integers:
    """Return the MDAV group of every record; `done` counts the records that are grouped.

    Once `stop` is set, the records that are left are grouped as they lie beside each other in the tree.
    """
    n = x.shape[0]
    labels = np.full(n, -1, np.int64)
    sums = np.zeros((2, x.shape[1]))
    for i in range(n):
        add_exactly(sums[0], sums[1], x[i], 1.0)
    members = unlabelled_records(labels)
    tree, rim = build_coded(coded, members), sort_rim(coded, members, (sums[0] + sums[1]) / n)
    # Groups are counted by what is left: a counter that begins at a constant would compile what it is passed to twice.
    left, built, looked = n, n, 0
    while left >= 2 * k and not stop[0]:
        centroid = (sums[0] + sums[1]) / left
        if 2 * left < built:
            tree, built = build_coded(coded, unlabelled_records(labels)), left
        # Sorting anew pays once the centroid has strayed for as many looks as a sort costs.
        if looked > PATIENCE * left:
            rim, looked = sort_rim(coded, unlabelled_records(labels), centroid), 0
        seed, looks = farthest_on_rim(coded, rim, labels, centroid)
        looked += looks
        take_group(x, tree, seed, k, (n - left) // k, labels, sums)
        left -= k
        done[0] = n - left
        # Only a pair that began with 3k or more has a second group; 2k of them remain.
        if left >= 2 * k:
            other = farthest(tree, x[seed])
            take_group(x, tree, other, k, (n - left) // k, labels, sums)
            left -= k
    group_runs(tree, k, (n - left) // k, labels)
    return labels


@kernel
def group_runs(tree: KDTree, k: int, group: int, labels: Integers) -> None:
    """Group the records that are left k by k in the order of a tree, numbered from ``group``; fewer than 2k are one."""
    left = unlabelled_records(labels)
    runs = max(1, left.size // k)
    order = np.argsort(tree.slot[left])
    for i in range(left.size):
        labels[left[order[i]]] = group + min(i // k, runs - 1)


@kernel
def mean_of(x: Floats, members: Integers) -> Floats:
    """Return the centroid of some records."""
    centroid = np.zeros(x.shape[1])
    for record in members:
        centroid += x[record]
    return centroid / members.size


@kernel
def mean_error(x: Floats, members: Integers) -> float:
    """Return the mean squared distance of some records to their centroid."""
    centroid = mean_of(x, members)
    total = 0.0
    for record in members:
        total += squared_distance(x[record], centroid)
    return total / members.size


@kernel
def extend_while_cheaper(x: Floats, k: int, tree: KDTree, members: Integers, size: int, left: int) -> int:
    """Add the outsider nearest to the centroid while that is the cheaper; return the new size.

    Joining costs what the error of the group grows by; not joining costs the mean error of
    the group that the outsider would open with its k-1 nearest. ``left`` counts outsiders.
    """
    near, found = np.empty(1), np.empty(1, np.int64)
    peers, rival = np.empty(k), np.empty(k, np.int64)
    while size < members.size and left >= k:
        nearest(tree, mean_of(x, members[:size]), near, found)
        growth = near[0] * size / (size + 1.0)
        nearest(tree, x[found[0]], peers, rival)
        # Heap order depends on the tree; sums must not.
        if growth >= mean_error(x, np.sort(rival)):
            break
        remove_each(tree, found)
        members[size] = found[0]
        size, left = size + 1, left - 1
    return size


@kernel
def nearest_outsider(x: Floats, tree: KDTree, members: Integers, size: int) -> tuple[float, int]:
    """Return squared distance and record of the outsider nearest to any of the members."""
    near, found = np.empty(1), np.empty(1, np.int64)
    best, record = np.inf, -1
    for i in range(size):
        if nearest(tree, x[members[i]], near, found) > 0 and (
            near[0] < best or (near[0] == best and found[0] < record)
        ):
            best, record = near[0], found[0]
    return best, record


@kernel
def own_nearest(x: Floats, tree: KDTree, record: int) -> float:
    """Return the squared distance from an outsider to the nearest other outsider."""
    near, found = np.empty(2), np.empty(2, np.int64)
    best = np.inf
    for i in range(nearest(tree, x[record], near, found)):
        if found[i] != record:
            best = min(best, near[i])
    return best


@kernel
def extend_while_nearer(x: Floats, gamma: float, tree: KDTree, members: Integers, size: int) -> int:
    """Add outsiders nearer to the group than gamma times to each other; return the new size."""
    while size < members.size:
        inward, record = nearest_outsider(x, tree, members, size)
        if record < 0 or np.sqrt(inward) >= gamma * np.sqrt(own_nearest(x, tree, record)):
            break
        members[size] = record
        remove_each(tree, members[size : size + 1])
        size += 1
    return size


@kernel
def peel(x: Floats, coded: Coded, k: int, growth: int, gamma: float, done: Integers) -> Integers:
    """Return the group of every record, peeled off from the outermost; fewer than k records are one group.

    `done` counts the records that are grouped.
    """
    n = x.shape[0]
    labels = np.full(n, -1, np.int64)
    members, near = np.empty(2 * k - 1, np.int64), np.empty(k - 1)
    tree = build_coded(coded, unlabelled_records(labels))
    left, built, group = n, n, 0
    for seed in outermost_first(x):
        if left < k:
            break
        if labels[seed] >= 0:
            continue
        if 2 * left < built:
            tree, built = build_coded(coded, unlabelled_records(labels)), left
        size = take_nearest(x, tree, seed, members, near)
        if growth == WHILE_CHEAPER:
            members[:k].sort()
            size = extend_while_cheaper(x, k, tree, members, size, left - k)
        elif growth == WHILE_NEARER:
            size = extend_while_nearer(x, gamma, tree, members, size)
        labels[members[:size]] = group
        left, group = left - size, group + 1
        done[0] = n - left
    if group == 0:
        labels[:] = 0
    join_nearest_group(x, group, labels)
    return labels


@kernel
def mdav_plus_groups(x: Floats, coded: Coded, k: int, done: Integers) -> Integers:
    """Return the MDAV+ group of every record."""
    return peel(x, coded, k, NEVER, 0.0, done)


@kernel
def mdav_star_groups(x: Floats, coded: Coded, k: int, done: Integers) -> Integers:
    """Return the MDAV* group of every record."""
    return peel(x, coded, k, WHILE_CHEAPER, 0.0, done)


@kernel
def vmdav_groups(x: Floats, coded: Coded, k: int, gamma: float, done: Integers) -> Integers:
    """Return the V-MDAV group of every record."""
    return peel(x, coded, k, WHILE_NEARER, gamma, done)
