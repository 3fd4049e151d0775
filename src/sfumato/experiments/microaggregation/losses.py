"""What each algorithm loses on a set: L = 100 · SSE / SST in per cent (Domingo-Ferrer & Mateo-Sanz 2002).

Nothing here is stopped by a clock: the seed gives the loss, and a slower machine takes longer to find it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.experiments.microaggregation.algorithms import grouped
from sfumato.experiments.microaggregation.sets import columns, records
from sfumato.tabular.microaggregation.loss import information_loss


def loss(data: Data, *, dataset: str, k: int, algorithm: str, seed: int) -> Iterator[Row]:
    """Give the loss of one run over all columns of a set.

    >>> [round(row["loss"], 3) for row in loss(Data(None), dataset="SimC", k=3, algorithm="MDAV", seed=0)]
    [6.015]
    """
    x = records(data, dataset)
    yield {"loss": information_loss(x, grouped(algorithm, x, k, seed))}


def column_loss(data: Data, *, dataset: str, k: int, algorithm: str, seed: int) -> Iterator[Row]:
    """Give the loss of each column of a set that is grouped by itself."""
    x = records(data, dataset)
    for place, name in enumerate(columns(data, dataset)):
        one = x[:, place : place + 1].copy()
        yield {"column": name, "loss": information_loss(one, grouped(algorithm, one, k, seed))}


def searched_loss(data: Data, *, dataset: str, k: int, kicks: int, seed: int) -> Iterator[Row]:
    """Give the loss of a long search from MDAV, and the seconds of processor time it took."""
    from sfumato.tabular.microaggregation.search.improve import improve

    x = records(data, dataset)
    start = grouped("MDAV", x, k, seed)
    begun = time.process_time()
    labels = improve(x, k, start, iterations=kicks, seed=seed)
    yield {"loss": information_loss(x, labels), "seconds": time.process_time() - begun}
