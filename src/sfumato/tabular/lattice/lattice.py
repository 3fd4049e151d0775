"""The lattice of full-domain generalisations over distinct rows that are counted once.

A node gives every quasi-identifier one level; its counts roll up from those of any node below it
(LeFevre, DeWitt & Ramakrishnan 2005, sections 2.2 and 3.1), so the table is never read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.models.base import Model
from sfumato.models.criteria import ABSORBING, DISTINCT, VALUES, Criteria
from sfumato.models.groups import Groups
from sfumato.table.distinct import LARGEST_KEY, distinct, tally
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.lattice.packing import Packing
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    from sfumato.tabular.lattice.kernel import Frequencies, Rests

Levels = tuple[int, ...]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MOST_MEMBERS = 1 << 24  # of frequency sets that are kept for later roll-ups
_NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class JudgedNode:
    """One judged node: its groups, their sizes in rows, and which of them break a model."""

    levels: Levels
    frequencies: Frequencies
    sizes: Int64s
    failing: Bools

    @cached_property
    def failing_rows(self) -> int:
        """The rows in groups that break a model."""
        return int(self.sizes[self.failing].sum())


class FrequencySets:
    """Frequency sets by node, kept for later roll-ups; the oldest go first when all together have too many members.

    LeFevre, DeWitt & Ramakrishnan 2005 roll a node up from one just below it; the latest are the likeliest.

    >>> len(FrequencySets())
    0
    """

    def __init__(self, most: int = MOST_MEMBERS) -> None:
        self.most = most
        self.members = 0
        self.sets: dict[tuple[int, ...], Frequencies] = {}

    def __len__(self) -> int:
        return len(self.sets)

    def get(self, levels: tuple[int, ...]) -> Frequencies | None:
        """Return the frequency set of a node, if it is kept."""
        return self.sets.get(levels)

    def add(self, levels: tuple[int, ...], frequencies: Frequencies) -> None:
        """Keep one more frequency set; the newest always stays."""
        self.sets[levels] = frequencies
        self.members += len(frequencies.rest)
        while self.members > self.most and len(self.sets) > 1:
            self.members -= len(self.sets.pop(next(iter(self.sets))).rest)

    def clear(self) -> None:
        """Forget all."""
        self.sets.clear()
        self.members = 0


@dataclass(frozen=True, eq=False)
class Lattice:
    """Ladders side by side, the cells (distinct quasi-identifiers) they start from, and the models to judge by.

    >>> import polars as pl, sfumato as sf
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"], "zip": ["a", "a", "b"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex", "zip"]), [sf.KAnonymity(2)])
    >>> lattice = Lattice.of(problem)
    >>> lattice.top, lattice.tally((0, 1)).failing_rows, lattice.tally((1, 1)).failing_rows
    ((1, 1), 1, 0)
    """

    ladders: tuple[Ladder, ...]
    codes: npt.NDArray[np.int32]
    packing: Packing
    finest: Frequencies
    cell_of_point: Int64s
    rests: Rests
    rest_count: int
    problem: Problem
    criteria: Criteria
    uncompiled: Sequence[Model]
    of_table: Sequence[Model]  # judged on all groups of a node together, when the others have judged each
    least_units: int
    table_rows: int
    absorbs: bool
    merges: bool
    weights: Floats  # how much each quasi-identifier's loss counts
    lows: Levels
    highs: Levels
    kept: FrequencySets = field(default_factory=FrequencySets)

    @classmethod
    def of(cls, problem: Problem) -> Lattice:
        """Return the lattice of a problem's quasi-identifiers."""
        from sfumato.tabular.lattice.kernel import Frequencies

        points = problem.points.examples
        codes = [column.codes[points] for column in problem.quasi]
        cells = distinct(codes, [column.size for column in problem.quasi])
        rest, rests, rest_count = _rests(problem, points)
        shown = np.stack(codes, axis=1)[cells.examples]
        ladders = tuple(Ladder.of(column) for column in problem.quasi)
        criteria = problem.criteria()
        lows, highs = zip(*(ladder.allowed for ladder in ladders), strict=True)
        of_table = [model for model in problem.models if model.of_table or model.people is not None]
        uncompiled = [model for model in problem.uncompiled if model not in of_table]
        sparing = not uncompiled and all(model.sparing_monotone for model in of_table)
        joinable = bool(np.isin(criteria.kind, ABSORBING).all()) and sparing
        absorbs = joinable and (problem.person is None or (len(criteria.kind) == 0 and not of_table))
        return cls(
            ladders=ladders,
            codes=shown,
            packing=Packing.of(shown, ladders),
            finest=Frequencies(
                np.arange(cells.count), np.cumsum([0, *cells.counts.tolist()]), rest, problem.points.counts
            ),
            cell_of_point=cells.ids,
            rests=rests,
            rest_count=rest_count,
            problem=problem,
            criteria=criteria,
            uncompiled=uncompiled,
            of_table=of_table,
            least_units=max([1, *(model.least_units for model in problem.models if not model.of_table)]),
            table_rows=problem.rows,
            absorbs=absorbs,
            weights=np.array([1.0 if (weight := each.attribute.weight) is None else weight for each in problem.quasi]),
            lows=lows,
            highs=highs,
            merges=absorbs or (problem.person is None and all(model.merge_monotone for model in problem.models)),
        )

    def prunable(self, limit: int) -> bool:
        """Whether a node that leaves at most `limit` rows in failing groups has only such nodes above it.

        Two classes that satisfy a merge-monotone model satisfy it as one, which settles limit 0; models of
        sensitive values among persons are an exception, since a person may have rows in both. With rows to
        spare, a class must satisfy the models whatever rows join it: those that count units or values do. A model of
        the table or of a population says so itself (`sparing_monotone`).
        """
        return self.absorbs or (limit == 0 and self.merges)

    @property
    def top(self) -> Levels:
        """The node that shows one label for everything."""
        return tuple(ladder.top for ladder in self.ladders)

    @property
    def shape(self) -> Levels:
        """The number of levels of each quasi-identifier."""
        return tuple(ladder.top + 1 for ladder in self.ladders)

    @cached_property
    def cell_rows(self) -> Int64s:
        """The rows of each of the finest groups."""
        return np.add.reduceat(self.finest.rows, self.finest.start[:-1])

    @property
    def rows(self) -> int:
        """The rows in the lattice; fewer than the table's when it was restricted."""
        return int(self.cell_rows.sum())

    @cached_property
    def ladder_losses(self) -> list[list[float]]:
        """For each quasi-identifier and level, the loss of all rows together (0 to 1 each, times the weight)."""
        losses = []
        for place, ladder in enumerate(self.ladders):
            codes = self.codes[self.finest.example, place]
            rows = np.bincount(codes, weights=self.cell_rows, minlength=ladder.column.size)
            weight = self.weights[place]
            steps = zip(ladder.nodes, ladder.losses, strict=True)
            losses.append([float(weight * (rows @ loss[nodes])) for nodes, loss in steps])
        return losses

    def group_losses(self, tally: JudgedNode, chosen: Bools) -> Floats:
        """The weighted loss of one row in each chosen group of a node, added up over the quasi-identifiers."""
        cells = tally.frequencies.example[chosen]
        total = np.zeros(len(cells))
        for place, (ladder, level) in enumerate(zip(self.ladders, tally.levels, strict=True)):
            total += self.weights[place] * ladder.losses[level][ladder.nodes[level][self.codes[cells, place]]]
        return total

    def tally(self, levels: Levels) -> JudgedNode:
        """Return the judged counts of a node, rolled up from the smallest neighbour below that is at hand."""
        frequencies = self.kept.get(levels)
        if frequencies is None:
            source = self._source(levels)
            frequencies = self._merge(source, *self.owners(levels, source))
            self.kept.add(levels, frequencies)
        return self._judge(levels, frequencies)

    def classes(self, levels: Levels) -> tuple[Int64s, JudgedNode]:
        """Return the group of each finest cell at a node, and the node judged with its groups so numbered."""
        joined, count = self.owners(levels, self.finest)
        return joined, self._judge(levels, self._merge(self.finest, joined, count))

    def owners(self, levels: Levels, source: Frequencies) -> tuple[Int64s, int]:
        """Return the group at a node that each group of a finer frequency set joins, and their number."""
        from sfumato.tabular.lattice.kernel import owners

        if not 1 < self.packing.span(levels) <= LARGEST_KEY:
            found = self._number_groups(levels, source)
            return found, int(found.max()) + 1
        return owners(self.packing.codes, source.example, self.packing.keys(levels))

    def units(self, tally: JudgedNode) -> Int64s:
        """Return the rows, or the persons where they are the units, of each group of a judged node."""
        return tally.sizes if self.problem.person is None else self._groups(tally.frequencies).units

    @cached_property
    def unweighted(self) -> Lattice:
        """The same lattice with every quasi-identifier's loss counted once."""
        return replace(self, weights=np.ones(len(self.ladders)))

    @cached_property
    def relaxed(self) -> Lattice:
        """The same lattice judged only by what every wider class keeps: units, and values that occur."""
        kept = self.criteria.kind == DISTINCT
        chosen = self.criteria._replace(
            kind=np.full(int(kept.sum()), VALUES),
            first=self.criteria.first[kept],
            second=self.criteria.second[kept],
            column=self.criteria.column[kept],
            cut_start=np.zeros(int(kept.sum()) + 1, dtype=np.int64),
            skip=self.criteria.skip[kept],
        )
        return replace(self, criteria=chosen, uncompiled=(), of_table=(), absorbs=True)

    def restrict_to(self, cells: Int64s) -> Lattice:
        """Return the lattice of some of the finest groups alone, given by their place, in rising order."""
        return replace(self, finest=self._finest_of(cells), kept=FrequencySets())

    def _finest_of(self, cells: Int64s) -> Frequencies:
        from sfumato.tabular.lattice.kernel import Frequencies

        finest, first = self.finest, self.finest.start[cells]
        lengths = finest.start[cells + 1] - first
        start = np.zeros(len(cells) + 1, dtype=np.int64)
        np.cumsum(lengths, out=start[1:])
        entries = np.repeat(first - start[:-1], lengths) + np.arange(start[-1])
        return Frequencies(finest.example[cells], start, finest.rest[entries], finest.rows[entries])

    def failing_groups(self, cells: Int64s, start: Int64s) -> Bools:
        """Return which groups break a model by themselves.

        Group g has the finest groups cells[start[g]:start[g + 1]].
        """
        joined = np.repeat(np.arange(len(start) - 1), start[1:] - start[:-1])
        return self._judge_each(self._merge(self._finest_of(cells), joined, len(start) - 1))[1]

    def _number_groups(self, levels: Levels, source: Frequencies) -> Int64s:
        """Return what `owners` does where one integer key per group would not do."""
        shown = [
            ladder.nodes[level][self.codes[source.example, place]]
            for place, (ladder, level) in enumerate(zip(self.ladders, levels, strict=True))
        ]
        sizes = [len(ladder.labels[level]) for ladder, level in zip(self.ladders, levels, strict=True)]
        return distinct(shown, sizes).ids

    def _merge(self, source: Frequencies, joined: Int64s, count: int) -> Frequencies:
        from sfumato.tabular.lattice.kernel import merge

        return merge(source, joined, count, self.rest_count)

    def _judge(self, levels: Levels, frequencies: Frequencies) -> JudgedNode:
        sizes, failing = self._judge_each(frequencies)
        for model in self.of_table:
            failing = model.leaves_out(self._fitted(levels, frequencies), failing)
        return JudgedNode(levels, frequencies, sizes, failing)

    def _judge_each(self, frequencies: Frequencies) -> tuple[Int64s, Bools]:
        """Return the rows of each group, and which groups break a model by themselves."""
        from sfumato.tabular.lattice.kernel import judge

        sizes, failing = judge(frequencies, self.rests, self.criteria, self.least_units)
        if self.uncompiled:
            groups = self._groups(frequencies)
            failing |= np.any([model.failing(groups) for model in self.uncompiled], axis=0)
        return sizes, failing

    def _fitted(self, levels: Levels, frequencies: Frequencies) -> Groups:
        """Return the groups of a node, each with the people of the population who fit its labels."""
        groups, people = self._groups(frequencies), self.problem.population
        if people is None:
            return groups
        codes = np.concatenate([self.codes[frequencies.example], people.codes])
        shown = [ladder.nodes[level][codes[:, place]] for place, (ladder, level) in self._steps(levels)]
        numbers = distinct(shown, [len(ladder.labels[level]) for _, (ladder, level) in self._steps(levels)])
        here, there = np.split(numbers.ids, [len(frequencies.example)])
        totals = tally(there, people.counts, numbers.count)
        return replace(groups, population=totals[here], unfitted=people.total - int(totals[here].sum()))

    def _steps(self, levels: Levels) -> Iterator[tuple[int, tuple[Ladder, int]]]:
        return enumerate(zip(self.ladders, levels, strict=True))

    def _groups(self, frequencies: Frequencies) -> Groups:
        """Return the groups of a node as models see them, for those without a compiled test."""
        rest = frequencies.rest
        columns = zip(self.problem.sensitive.items(), self.rests.sensitive, strict=False)
        return Groups.of(
            np.repeat(np.arange(len(frequencies.example)), np.diff(frequencies.start)),
            {name: replace(column, codes=codes[rest]) for (name, column), codes in columns},
            self.rests.person[rest] if len(self.rests.person) else None,
            frequencies.rows,
            self.problem.shares,
        )

    def _source(self, levels: Levels) -> Frequencies:
        below = (
            self.kept.get((*levels[:place], level - 1, *levels[place + 1 :])) for place, level in enumerate(levels)
        )
        return min((found for found in below if found is not None), key=lambda f: len(f.rest), default=self.finest)


def _rests(problem: Problem, points: Int64s) -> tuple[Int64s, Rests, int]:
    """Return the rest of each point, all rests, and their number."""
    from sfumato.tabular.lattice.kernel import Rests

    columns = list(problem.sensitive.values())
    parts: list[npt.NDArray[Any]] = [column.codes[points] for column in columns]
    sizes = [column.size for column in columns]
    persons = 0
    if problem.person is not None:
        persons = int(problem.person.max()) + 1
        parts, sizes = [*parts, problem.person[points]], [*sizes, persons]
    if not parts:
        return np.zeros(len(points), dtype=np.int64), Rests(_table([], np.int32), _NOBODY, _table([], np.int64)), 1
    numbering = distinct(parts, sizes)
    shown = [part[numbering.examples] for part in parts]
    sensitive = shown[: len(columns)]
    person = shown[-1].astype(np.int64) if persons else _NOBODY
    numbers = [distinct([person, codes], [persons, int(codes.max()) + 1]).ids for codes in sensitive if persons]
    return numbering.ids, Rests(_table(sensitive, np.int32), person, _table(numbers, np.int64)), numbering.count


def _table(columns: list[npt.NDArray[Any]], dtype: type[np.int32 | np.int64]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(columns, dtype=dtype) if columns else np.empty((0, 0), dtype=dtype)
