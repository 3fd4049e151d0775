"""DOCA once more, slow and obvious: lists of records, every rule of the paper spelled out, no noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Cluster:
    places: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    low: float = float("inf")
    high: float = float("-inf")
    total: float = 0.0

    def add(self, place: int, value: float) -> None:
        self.places.append(place)
        self.values.append(value)
        self.low = min(self.low, value)
        self.high = max(self.high, value)
        self.total += value

    def enlargement(self, value: float) -> float:
        return max(self.low - value, value - self.high, 0.0)

    @property
    def mean(self) -> float:
        return self.total / len(self.values)


class Twin:
    """Groups as they leave, each a cluster; the clusters stand in the order of their birth."""

    def __init__(self, delay: int, beta: int, m: int, *, strict: bool = False) -> None:
        self.delay, self.beta, self.m, self.strict = delay, beta, m, strict
        self.clusters: list[Cluster] = []
        self.owner: dict[int, Cluster] = {}
        self.losses: list[float] = []
        self.threshold = 0.0
        self.least, self.most = float("inf"), float("-inf")
        self.arrived = 0

    def loss(self, low: float, high: float) -> float:
        return (high - low) / (self.most - self.least) if self.most > self.least else 0.0

    def best_selection(self, value: float) -> Cluster | None:
        if not self.clusters:
            return None
        least = min(cluster.enlargement(value) for cluster in self.clusters)
        nearest = [cluster for cluster in self.clusters if cluster.enlargement(value) == least]
        fitting = []
        for cluster in nearest:
            loss = self.loss(min(cluster.low, value), max(cluster.high, value))
            if loss < self.threshold or (loss == self.threshold and not self.strict):
                fitting.append(cluster)
        if fitting:
            return min(fitting, key=lambda cluster: len(cluster.values))  # the first of equals is the oldest
        if len(self.clusters) < self.beta:
            return None
        return min(nearest, key=lambda cluster: len(cluster.values))

    def push(self, value: float) -> list[Cluster]:
        self.least, self.most = min(self.least, value), max(self.most, value)
        cluster = self.best_selection(value)
        if cluster is None:
            cluster = Cluster()
            self.clusters.append(cluster)
        cluster.add(self.arrived, value)
        self.owner[self.arrived] = cluster
        expired = self.owner.get(self.arrived - self.delay)
        self.arrived += 1
        return [] if expired is None else [self.publish(expired)]

    def publish(self, cluster: Cluster) -> Cluster:
        self.losses = [*self.losses, self.loss(cluster.low, cluster.high)][-self.m :]
        total = 0.0
        for loss in self.losses:
            total += loss
        self.threshold = total / len(self.losses)
        self.clusters.remove(cluster)
        for place in cluster.places:
            del self.owner[place]
        return cluster

    def flush(self) -> list[Cluster]:
        return [self.publish(cluster) for cluster in list(self.clusters)]


def groups_of(values: Iterable[float], delay: int, beta: int, m: int, *, strict: bool = False) -> list[Cluster]:
    twin = Twin(delay, beta, m, strict=strict)
    groups = [group for value in values for group in twin.push(value)]
    return groups + twin.flush()
