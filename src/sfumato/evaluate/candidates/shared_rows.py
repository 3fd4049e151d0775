"""What all candidates of one table share: its rows coded and counted once, and each label's loss read once.

Sharing changes nothing: a candidate's classes, counts and loss are those of a run of its own, which a test compares.
Classes are not shared: Mondrian's next cut depends on k, and finding them takes less time than measuring them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.evaluate.regions import read_regions
from sfumato.evaluate.utility import certainty_penalties
from sfumato.models import KAnonymity, Model
from sfumato.models.groups import Groups
from sfumato.models.measures import alpha
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.table.distinct import distinct
from sfumato.tabular.base import Settled
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, recode

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


@dataclass(eq=False)
class LabelLosses:
    """What each label of a column loses (its NCP), read once however many candidates show it.

    >>> from sfumato.schema import Attribute, Kind
    >>> from sfumato.table.coding import code
    >>> age = code(pl.Series("age", [20, 60]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> LabelLosses(age).of(pl.Series("age", ["20", "[20-30]"])).tolist()
    [0.0, 0.25]
    """

    column: Column
    known: dict[Any, float] = field(default_factory=dict)

    def of(self, labels: pl.Series) -> Floats:
        """Return the loss of each label."""
        texts = labels.to_list()
        new = [label for label in dict.fromkeys(texts) if label not in self.known]
        if new:
            regions = read_regions(self.column, Table(pl.DataFrame([pl.Series(labels.name, new, dtype=labels.dtype)])))
            self.known.update(zip(new, certainty_penalties(regions)[regions.index].tolist(), strict=True))
        return np.array([self.known[label] for label in texts])


@dataclass(eq=False)
class SharedRows:
    """A table coded once for all candidates.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> rows = SharedRows.of(people, sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop"))
    >>> rows.problem([sf.KAnonymity(5)]).points is rows.problem([sf.KAnonymity(10)]).points
    True
    """

    plain: Problem
    sensitive: Mapping[str, Column]
    losses: Mapping[str, LabelLosses]
    problems: dict[tuple[str, ...], Problem]

    @classmethod
    def of(cls, table: Table, schema: Schema) -> Self:
        """Return the coded table, or say why no candidate could be made of it."""
        plain = Problem.of(table, schema, [KAnonymity(2)])
        recode(plain.quasi[0], plain.quasi[0].codes, plain.points.ids * 0, 1, "text")  # loads Numba, for all
        sensitive = {name: plain.code_sensitive(name) for name in plain.schema.names(Role.SENSITIVE)}
        return cls(plain, sensitive, {column.name: LabelLosses(column) for column in plain.quasi}, {})

    def problem(self, models: Sequence[Model]) -> Problem:
        """Return what `Problem.of` gives for these models; refused where the whole table does not satisfy them."""
        wanted = tuple(sorted({model.sensitive for model in models if model.sensitive is not None}))
        problem = self.problems.get(wanted, self.plain).asking(models)
        if wanted not in self.problems and problem.points.count:  # counted now, for all that come
            self.problems[wanted] = problem
        return problem

    def loss(self, coarse: Mapping[str, Sequence[Coarse]], sizes: Int64s, left_out: int) -> float:
        """Return the GCP of classes of these sizes that are shown so, a row that was left out as a row of `*`."""
        lost = [sizes @ self._class_losses(name, parts) + left_out for name, parts in coarse.items()]
        return float(np.mean(lost) / (sizes.sum() + left_out))

    def _class_losses(self, name: str, parts: Sequence[Coarse]) -> Floats:
        """Return what each class loses in a column, which is shown as one column or as two limits."""
        losses = self.losses[name]
        if len(parts) == 1 and parts[0].name == name:
            return losses.of(parts[0].values)[parts[0].index]
        every = np.arange(len(parts[0].index))
        regions = read_regions(losses.column, Table(pl.DataFrame([part.rows(every) for part in parts])))
        return certainty_penalties(regions)[regions.index]

    def guesses(self, settled: Settled) -> dict[str, float]:
        """Return the surest guess of each sensitive column: the largest share of one value in a class as shown."""
        columns = [column for parts in settled.coarse.values() for column in parts]
        shown = distinct([column.index for column in columns], [len(column.values) for column in columns])
        kept, person = settled.kept, settled.problem.person
        secrets = {
            name: column if kept is None else replace(column, codes=column.codes[kept])
            for name, column in self.sensitive.items()
        }
        groups = Groups.of(shown.ids[settled.row_class], secrets, person)
        return {name: alpha(groups, found) for name, found in groups.sensitive.items()}
