"""Local recoding: every class shown by the smallest nodes, ranges and sets that cover it, classes found by a search.

Certainty penalty and local recoding: Xu, Wang, Pei, Wang, Shi & Fu, "Utility-based anonymization using local recoding"
(KDD 2006); how classes are found is ours, after Schrimpf et al. 2000 (ruin and recreate).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.compiling import working_time
from sfumato.core.parameters import OneOf, Option, Optional, Real, Whole
from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.labels import show_classes
from sfumato.tabular.local_recoding.penalties import penalties
from sfumato.tabular.local_recoding.start import compiled_test, start_labels, total_penalty
from sfumato.tabular.microaggregation.repair import join_alike
from sfumato.tabular.problem import Problem

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LocalRecoding(PartitionAnonymizer):
    """The lowest loss under hierarchies: classes searched for as long as you give it, each shown by its smallest cover.

    Stops after `seconds` (the start included, compiling not), after `iterations`, or at whichever comes first; with
    `iterations` alone the seed reproduces the classes. Ctrl-C keeps the best so far. `ranges` and `keep_order` are as
    for Mondrian.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80], "sex": ["F", "M", "M", "F"]}))
    >>> release = LocalRecoding(iterations=10, seconds=None, keep_order=True).anonymize(
    ...     people, sf.Schema.from_roles(quasi=["age", "sex"]), [sf.KAnonymity(2)])
    >>> release.frame.rows()
    [('[20-25]', '{F, M}'), ('[20-25]', '{F, M}'), ('[70-80]', '{F, M}'), ('[70-80]', '{F, M}')]
    """

    seconds: float | None = 20.0
    iterations: int | None = None
    seed: int = 0
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "seconds": Optional(Real(0, above=True)),
        "iterations": Optional(Whole(1)),
        "seed": Whole(0),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {
        "seconds": Option("How long to search, the start included; reading, attacks, writing and report come on top."),
        "seed": Option("Seed of the search; it need not be secret."),
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
    }
    algorithm: ClassVar = "local-recoding"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.iterations is None and self.seconds is None:
            raise ParameterError("LocalRecoding would never stop; give 'iterations', 'seconds' or both")

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(iterations=50, seconds=None), cls(iterations=200, seconds=None, ranges="columns"))

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of the search."""
        labels = self._labels(problem)
        count = int(labels.max()) + 1
        cells, costs = Cells.of(problem), penalties(problem.quasi)
        loss = total_penalty(cells, costs, labels) / problem.rows / len(problem.quasi)
        return Partition(
            Numbering(np.arange(problem.table.rows), np.ones(problem.table.rows, dtype=np.int64)),
            labels,
            count,
            show_classes(problem, labels, count, self.ranges),
            steward={"information_loss": 100 * loss},
        )

    def _labels(self, problem: Problem) -> Int64s:
        from sfumato.tabular.local_recoding.search import Bench, search
        from sfumato.tabular.microaggregation.search.improve import Limit

        limit = Limit(self.seconds, self.iterations, working_time())
        cells, costs = Cells.of(problem), penalties(problem.quasi)
        labels = start_labels(problem, cells, costs)
        if not problem.uncompiled:
            bench = Bench(cells, costs, labels, problem.least_units, compiled_test(problem), self.seed)
            scale = problem.rows * len(problem.quasi)
            labels = search(bench, limit, lambda share, total: tell(share, f"loss {100 * total / scale:.3f} %"))
        return join_alike(
            problem,
            labels,
            lambda found, count: [
                part for parts in show_classes(problem, found, count, self.ranges).values() for part in parts
            ],
        )
