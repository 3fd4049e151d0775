"""CASTLE once more, slow and obvious: lists of tuples, sets of persons, every rule spelled out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.hierarchy import Hierarchy

Record = Sequence[float]
Domain = tuple[float, float] | Hierarchy
Bounds = list[tuple[float, float]]
Pick = Callable[[int], int]


@dataclass
class Cluster:
    """Tuples by their places, the bounds around them, and the loss of those bounds."""

    places: list[int]
    bounds: Bounds
    loss: float


@dataclass
class Group:
    """What left together: the tuples in the order in which they leave, and their common bounds (None: suppressed)."""

    places: list[int]
    bounds: Bounds | None


class Twin:
    def __init__(
        self,
        domains: Sequence[Domain],
        pick: Pick,
        *,
        k: int,
        delay: int,
        beta: int,
        mu: int,
        l: int = 1,
        sensitive: int = 0,
        person: bool = False,
    ) -> None:
        self.domains, self.pick = domains, pick
        self.k, self.delay, self.beta, self.mu, self.l = k, delay, beta, mu, l
        self.sensitive, self.person = sensitive, person
        spans = [
            len(domain.paths) - 1.0 if isinstance(domain, Hierarchy) else domain[1] - domain[0] for domain in domains
        ]
        self.weights = [1 / span if span > 0 else 0.0 for span in spans]
        self.clusters: list[Cluster] = []
        self.records: dict[int, Record] = {}
        self.kept: list[Bounds] = []
        self.next_kept = 0
        self.losses: list[float] = []
        self.threshold = 0.0
        self.arrived = 0

    def node(self, tree: Hierarchy, low: float, high: float) -> tuple[float, float]:
        """The first and last leaf of the lowest node over two leaves."""
        for level in range(len(tree.paths[0])):
            if tree.paths[int(low)][level:] == tree.paths[int(high)][level:]:
                under = [leaf for leaf, path in enumerate(tree.paths) if path[level:] == tree.paths[int(low)][level:]]
                return under[0], under[-1]
        return 0, len(tree.paths) - 1

    def cluster(self, places: list[int]) -> Cluster:
        columns = list(zip(*(self.records[place] for place in places), strict=True))[: len(self.domains)]
        bounds = [(min(column), max(column)) for column in columns]
        return Cluster(places, bounds, self.loss(bounds))

    def around(self, one: Bounds, other: Bounds) -> Bounds:
        return [
            (min(other_low, low), max(other_high, high))
            for (low, high), (other_low, other_high) in zip(one, other, strict=True)
        ]

    def generalised(self, bounds: Bounds) -> Bounds:
        return [
            self.node(domain, low, high) if isinstance(domain, Hierarchy) else (low, high)
            for (low, high), domain in zip(bounds, self.domains, strict=True)
        ]

    def loss(self, bounds: Bounds) -> float:
        total = 0.0
        for (low, high), weight in zip(self.generalised(bounds), self.weights, strict=True):
            total += (high - low) * weight
        return total / len(bounds)

    def enlargement(self, cluster: Cluster, bounds: Bounds) -> float:
        return self.loss(self.around(cluster.bounds, bounds)) - cluster.loss

    def persons(self, places: Sequence[int]) -> int:
        return len({self.records[place][-1] for place in places}) if self.person else len(places)

    def enough(self, places: Sequence[int]) -> bool:
        width = len(self.domains)
        diverse = all(
            len({self.records[place][column] for place in places}) >= self.l
            for column in range(width, width + self.sensitive)
        )
        return self.persons(places) >= self.k and diverse

    def push(self, record: Record) -> list[Group]:
        place = self.arrived
        self.records[place] = record
        self.arrived += 1
        single = self.cluster([place])
        cluster = self.best_selection(single.bounds)
        if cluster is None:
            self.clusters.append(single)
        else:
            cluster.places.append(place)
            cluster.bounds = self.around(cluster.bounds, single.bounds)
            cluster.loss = self.loss(cluster.bounds)
        expired = place - self.delay
        return self.expire(expired) if expired in self.records else []

    def best_selection(self, record: Bounds) -> Cluster | None:
        if not self.clusters:
            return None
        after = [self.loss(self.around(cluster.bounds, record)) for cluster in self.clusters]
        growth = [loss - cluster.loss for loss, cluster in zip(after, self.clusters, strict=True)]
        smallest = min(growth)
        least = [number for number, grown in enumerate(growth) if grown == smallest]
        fitting = [number for number in least if after[number] <= self.threshold]
        if not fitting and len(self.clusters) < self.beta:
            return None
        return self.clusters[min(fitting or least, key=lambda number: self.persons(self.clusters[number].places))]

    def expire(self, place: int) -> list[Group]:
        cluster = next(cluster for cluster in self.clusters if place in cluster.places)
        if self.enough(cluster.places):
            self.clusters.remove(cluster)
            return self.publish(cluster.places)
        record = self.records[place]
        covering = [
            bounds
            for bounds in self.kept
            if all(low <= value <= high for value, (low, high) in zip(record, bounds, strict=False))
        ]
        if covering:
            return [self.publish_alone(cluster, place, covering[self.pick(len(covering))])]
        size = self.persons(cluster.places)
        larger = sum(self.persons(other.places) > size for other in self.clusters)
        if larger > len(self.clusters) / 2 or not self.enough(list(self.records)):
            return [self.publish_alone(cluster, place, None)]
        return self.publish(self.merge(cluster))

    def publish_alone(self, cluster: Cluster, place: int, bounds: Bounds | None) -> Group:
        rest = [other for other in cluster.places if other != place]
        number = self.clusters.index(cluster)
        self.clusters[number : number + 1] = [self.cluster(rest)] if rest else []
        del self.records[place]
        return Group([place], bounds)

    def merge(self, cluster: Cluster) -> list[int]:
        self.clusters.remove(cluster)
        while not self.enough(cluster.places):
            growth = [
                (self.enlargement(cluster, other.bounds), self.persons(other.places), number)
                for number, other in enumerate(self.clusters)
            ]
            cluster = self.cluster(cluster.places + self.clusters.pop(min(growth)[2]).places)
        return cluster.places

    def publish(self, places: list[int]) -> list[Group]:
        parts = self.split(places) if self.persons(places) >= 2 * self.k else [places]
        return [self.publish_part(part) for part in parts]

    def publish_part(self, places: list[int]) -> Group:
        cluster = self.cluster(places)
        loss, bounds = cluster.loss, self.generalised(cluster.bounds)
        self.losses = [*self.losses, loss][-self.mu :]
        total = 0.0
        for earlier in self.losses:
            total += earlier
        self.threshold = total / len(self.losses)
        if loss <= self.threshold:
            if len(self.kept) < self.mu:
                self.kept.append(bounds)
            else:
                self.kept[self.next_kept] = bounds
            self.next_kept = (self.next_kept + 1) % self.mu
        order = list(places)
        left: list[int] = []
        while order:  # draw one of those left, and put the last in its place
            drawn = self.pick(len(order))
            left.append(order[drawn])
            order[drawn] = order[-1]
            order.pop()
        for place in places:
            del self.records[place]
        return Group(left, bounds)

    def split(self, places: list[int]) -> list[list[int]]:
        left = list(places)
        parts: list[Cluster] = []
        owner = {place: self.records[place][-1] if self.person else place for place in places}
        alone = {place: self.cluster([place]) for place in places}
        while len({owner[place] for place in left}) >= self.k:
            part = [left.pop(0)]
            distance = {place: self.loss(self.around(alone[part[0]].bounds, alone[place].bounds)) for place in left}
            for _ in range(self.k - 1):
                taken = {owner[place] for place in part}
                nearest = min((place for place in left if owner[place] not in taken), key=distance.__getitem__)
                part.append(nearest)
                left.remove(nearest)
            parts.append(self.cluster(part))
        for place in left:
            self.join(parts, alone[place])
        return [sorted(part.places, key=places.index) for part in self.diverse(places, parts)]

    def join(self, parts: list[Cluster], other: Cluster) -> None:
        """Put tuples into the part they enlarge least, then the smallest, then the first."""
        growth = [(self.enlargement(part, other.bounds), len(part.places), n) for n, part in enumerate(parts)]
        number = min(growth)[2]
        parts[number] = self.cluster(parts[number].places + other.places)

    def diverse(self, places: list[int], parts: list[Cluster]) -> list[Cluster]:
        good = [part for part in parts if self.enough(part.places)]
        if not good:
            return [self.cluster(places)]
        for part in parts:
            if not self.enough(part.places):
                self.join(good, part)
        return good

    def flush(self) -> list[Group]:
        groups: list[Group] = []
        while self.records:
            groups += self.expire(min(self.records))
        return groups
