"""CASTLE once more, slow and obvious: lists of tuples, sets of persons, every rule spelled out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sfumato.hierarchy import Hierarchy

Record = Sequence[float]
Domain = tuple[float, float] | Hierarchy
Bounds = list[tuple[float, float]]
Pick = Callable[[int], int]


@dataclass
class Cluster:
    places: list[int] = field(default_factory=list)


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

    def bounds(self, places: Sequence[int]) -> Bounds:
        columns = list(zip(*(self.records[place] for place in places), strict=True))
        return [(min(column), max(column)) for column, _ in zip(columns, self.domains, strict=False)]

    def generalised(self, bounds: Bounds) -> Bounds:
        return [
            self.node(domain, low, high) if isinstance(domain, Hierarchy) else (low, high)
            for (low, high), domain in zip(bounds, self.domains, strict=True)
        ]

    def loss(self, places: Sequence[int]) -> float:
        total = 0.0
        for (low, high), domain in zip(self.generalised(self.bounds(places)), self.domains, strict=True):
            least, most = (0, len(domain.paths) - 1) if isinstance(domain, Hierarchy) else domain
            total += (high - low) * (1 / (most - least) if most > least else 0.0)
        return total / len(self.domains)

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
        cluster = self.best_selection(place)
        if cluster is None:
            cluster = Cluster()
            self.clusters.append(cluster)
        cluster.places.append(place)
        expired = place - self.delay
        return self.expire(expired) if expired in self.records else []

    def best_selection(self, place: int) -> Cluster | None:
        if not self.clusters:
            return None
        after = [self.loss([*cluster.places, place]) for cluster in self.clusters]
        growth = [loss - self.loss(cluster.places) for loss, cluster in zip(after, self.clusters, strict=True)]
        least = [number for number, grown in enumerate(growth) if grown == min(growth)]
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
        cluster.places.remove(place)
        if not cluster.places:
            self.clusters.remove(cluster)
        del self.records[place]
        return Group([place], bounds)

    def merge(self, cluster: Cluster) -> list[int]:
        self.clusters.remove(cluster)
        places = list(cluster.places)
        while not self.enough(places):
            growth = [
                (self.loss([*places, *other.places]) - self.loss(places), self.persons(other.places), number)
                for number, other in enumerate(self.clusters)
            ]
            places += self.clusters.pop(min(growth)[2]).places
        return places

    def publish(self, places: list[int]) -> list[Group]:
        parts = self.split(places) if self.persons(places) >= 2 * self.k else [places]
        return [self.publish_part(part) for part in parts]

    def publish_part(self, places: list[int]) -> Group:
        loss, bounds = self.loss(places), self.generalised(self.bounds(places))
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
        left, parts = list(places), [[0][:0]][:0]
        owner = {place: self.records[place][-1] if self.person else place for place in places}
        while len({owner[place] for place in left}) >= self.k:
            part = [left.pop(0)]
            for _ in range(self.k - 1):
                taken = {owner[place] for place in part}
                others = [place for place in left if owner[place] not in taken]
                nearest = min(others, key=lambda place: self.loss([part[0], place]))
                part.append(nearest)
                left.remove(nearest)
            parts.append(part)
        for place in left:
            self.nearest(parts, [place]).append(place)
        ordered = [[place for place in places if place in part] for part in parts]
        return ordered if self.l == 1 else self.diverse_parts(places, ordered)

    def nearest(self, parts: list[list[int]], places: list[int]) -> list[int]:
        growth = [(self.loss([*part, *places]) - self.loss(part), len(part), n) for n, part in enumerate(parts)]
        return parts[min(growth)[2]]

    def diverse_parts(self, places: list[int], parts: list[list[int]]) -> list[list[int]]:
        diverse = [part for part in parts if self.enough(part)]
        if not diverse:
            return [places]
        for part in parts:
            if not any(part is other for other in diverse):
                self.nearest(diverse, part).extend(part)
        return [[place for place in places if place in part] for part in diverse]

    def flush(self) -> list[Group]:
        groups: list[Group] = []
        while self.records:
            groups += self.expire(min(self.records))
        return groups
