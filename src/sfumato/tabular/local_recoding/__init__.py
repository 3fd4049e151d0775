"""Local recoding: every class shown by the smallest nodes, ranges and sets that cover it, classes found by a search.

Certainty penalty and local recoding: Xu, Wang, Pei, Wang, Shi & Fu, "Utility-based anonymization using local recoding"
(KDD 2006); how classes are found is ours, after Schrimpf et al. 2000 (ruin and recreate).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.compiling import working_time
from sfumato.core.parameters import Name, OneOf, Option, Optional, Real, Whole
from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.labels import show_classes, shown_masks
from sfumato.tabular.local_recoding.penalties import Penalties, penalties
from sfumato.tabular.local_recoding.start import Deadlines, compiled_test, start_classes, total_penalty
from sfumato.tabular.local_recoding.strata import strata_of
from sfumato.tabular.local_recoding.weights import target_weights, weights_note
from sfumato.tabular.microaggregation.base import SEARCH_OPTIONS
from sfumato.tabular.microaggregation.repair import join_alike
from sfumato.tabular.microaggregation.search.improve import Limit
from sfumato.tabular.problem import Problem

Int64s = npt.NDArray[np.int64]
WEIGHED = "Columns were weighed by what they tell about {target}, learnt from the rows: those that tell more lose less."


@dataclass(frozen=True)
class LocalRecoding(PartitionAnonymizer):
    """The lowest loss under hierarchies: classes searched for as long as you give it, each shown by its smallest cover.

    Stops after `seconds` (the start included, compiling not), after `iterations`, or at whichever comes first; with
    `iterations` alone the seed reproduces the classes. Ctrl-C keeps the best so far. `target` names a column that
    others will predict from the release: quasi-identifiers then weigh what they tell about it, where the schema
    declares no weight. `ranges` and `keep_order` are as for Mondrian.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80], "sex": ["F", "M", "M", "F"]}))
    >>> release = LocalRecoding(iterations=10, seconds=None, keep_order=True).anonymize(
    ...     people, sf.Schema.from_roles(quasi=["age", "sex"]), [sf.KAnonymity(2)])
    >>> release.frame.rows()
    [('[20-80]', 'F'), ('[25-70]', 'M'), ('[25-70]', 'M'), ('[20-80]', 'F')]
    """

    seconds: float | None = 20.0
    iterations: int | None = None
    seed: int = 0
    target: str | None = None
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "seconds": Optional(Real(0, above=True)),
        "iterations": Optional(Whole(1)),
        "seed": Whole(0),
        "target": Optional(Name()),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {
        "seconds": SEARCH_OPTIONS["seconds"],
        "iterations": Option("How often to rebuild classes at most, so that a seed repeats the result."),
        "seed": SEARCH_OPTIONS["seed"],
        "target": Option("A released column that others will predict: columns that tell more about it lose less."),
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
    }
    algorithm: ClassVar = "local-recoding"
    weighs_columns: ClassVar = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.iterations is None and self.seconds is None:
            raise ParameterError("LocalRecoding would never stop; give 'iterations', 'seconds' or both")

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(iterations=50, seconds=None), cls(iterations=200, seconds=None, ranges="columns"))

    @property
    def fits_people(self) -> Literal["labels"]:
        """People of a population fit the labels of classes, whose gaps hold others."""
        return "labels"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of the search."""
        return self._searching(problem)(problem)

    def partition_worlds(self, problem: Problem) -> Callable[[Problem], Partition]:
        """Return what partitions worlds; their cells and penalties are the same, since they have the same rows."""
        if self.iterations is None:
            raise ParameterError(
                f"{self.algorithm} that stops by the clock never does the same twice, so nobody can try it on other "
                "worlds; give --iterations"
            )
        if self.target in problem.sensitive:
            raise ParameterError(
                f"the target '{self.target}' is sensitive, and every world would weigh columns anew; audit without it"
            )
        return self._searching(problem)

    def _searching(self, problem: Problem) -> Callable[[Problem], Partition]:
        """Return the search over the rows of a problem, whatever their sensitive values."""
        begun = working_time()
        cells = Cells.of(problem) if strata_of(problem) is None else Cells.apart(problem)
        weights = {} if self.target is None else target_weights(problem.table, problem.schema, self.target)
        declared = {column.name: column.attribute.weight for column in problem.quasi}
        counted = weights | {name: weight for name, weight in declared.items() if weight is not None}
        plain, weighed = penalties(problem.quasi), penalties(problem.quasi, counted)

        def search_classes(world: Problem) -> Partition:
            labels = self._labels(world, cells, weighed, begun if world is problem else working_time())
            count, rows = int(labels.max()) + 1, world.table.rows
            lost = total_penalty(cells, plain, labels) / rows / len(world.quasi)
            return Partition(
                Numbering(np.arange(rows), np.ones(rows, dtype=np.int64)),
                labels,
                count,
                show_classes(world, labels, count, self.ranges),
                labels=None if world.population is None else shown_masks(world, labels),
                steward={"certainty_lost": lost, **{f"weight of {name}": weight for name, weight in weights.items()}},
                notes=[] if self.target is None else [weights_note(self.target, weights)],
                changes=[] if self.target is None else [WEIGHED.format(target=self.target)],
            )

        return search_classes

    def _labels(self, problem: Problem, cells: Cells, costs: Penalties, begun: float) -> Int64s:
        """Return the class of every row, classes that are shown alike joined where that could break a model."""
        from sfumato.tabular.local_recoding.search import Bench, search

        limit = Limit(self.seconds, self.iterations, begun)
        start = start_classes(problem, cells, costs, Deadlines.of(begun, self.seconds))
        labels = start.labels
        if not problem.uncompiled:
            strata = strata_of(problem)
            bench = Bench(cells, costs, start, problem.least_units, compiled_test(problem), self.seed, strata)
            scale = problem.table.rows * len(problem.quasi)
            labels = search(bench, limit, lambda share, total: tell(share, f"loss {100 * total / scale:.3f} %"))
        return join_alike(
            problem,
            labels,
            lambda found, count: [
                part for parts in show_classes(problem, found, count, self.ranges).values() for part in parts
            ],
        )
