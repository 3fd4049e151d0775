"""Classes of a new release repaired until an attacker who adds up over the whole series finds nobody.

The attacker knows everybody's quasi-identifiers, presence and class (Xiao & Tao 2007, and more). Every round audits the
series exactly, merges the classes that certificates of violations name, and leaves out what merging cannot repair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from sfumato.core.progress import tell
from sfumato.errors import BrokenPromiseError
from sfumato.release import Release
from sfumato.release.finding import NOT_REFUTED, Finding
from sfumato.series.cells import Cells, ClassCounts
from sfumato.series.possible import PossibleValues
from sfumato.series.published import PublishedClasses
from sfumato.series.space import counts_of
from sfumato.tabular.problem import Problem
from sfumato.tabular.republication.draft import Draft, Integers, coded_values

PATIENCE = 6  # rounds of programmes in one audit; what they leave open counts as excluded
MOST_MERGED = 4  # classes in one, before rows are left out instead
Classes = Mapping[str, int]  # of units


def units_of(problem: Problem, sensitive: Sequence[str]) -> list[str]:
    """Return a name for each row that lasts as long as the person's values do: person, values, and a running number.

    A person whose value changes is another unit from then on, so the equations of a series stay true.
    """
    cells = problem.table.frame.select(pl.col(str(problem.schema.person), *sensitive).cast(pl.String).fill_null(""))
    seen: Counter[tuple[str, ...]] = Counter()
    units = []
    for row in cells.iter_rows():
        seen[row] += 1
        units.append("\x1f".join((*row, str(seen[row]))))
    return units


@dataclass(frozen=True, eq=False)
class Watched:
    """The earlier releases and who was in which of their classes, with what must be left to everybody."""

    earlier: Mapping[str, Sequence[PublishedClasses]]
    members: Sequence[Classes]
    least: Mapping[str, int]
    records: int
    units: Sequence[str]  # of the rows of the new table

    @cached_property
    def everybody(self) -> dict[str, int]:
        """All units of the series, numbered."""
        names = dict.fromkeys(name for one in self.members for name in one) | dict.fromkeys(self.units)
        return {name: number for number, name in enumerate(names)}

    @cached_property
    def values(self) -> dict[str, list[str]]:
        """The value of each unit in each sensitive column, which its name holds."""
        parts = [name.split("\x1f") for name in self.everybody]
        return {column: [part[1 + place] for part in parts] for place, column in enumerate(self.least)}

    @cached_property
    def rows(self) -> Integers:
        """The number of each row's unit."""
        return np.array([self.everybody[name] for name in self.units], dtype=np.int64)

    @cached_property
    def before(self) -> Integers:
        """The classes of all units in the earlier releases, -1 for absent."""
        classes = np.full((len(self.members), len(self.everybody)), -1, dtype=np.int64)
        for release, members in enumerate(self.members):
            numbers = [self.everybody[name] for name in members]
            classes[release, numbers] = list(members.values())
        return classes

    @cached_property
    def floors(self) -> dict[str, tuple[Integers, Integers]]:
        """What each unit must keep of each column, values and records: what is asked, or what earlier releases left.

        What nobody decided about earlier releases counts as left, so that a new one cannot take it away.
        """
        floors = {}
        for name, least in self.least.items():
            values = np.full(len(self.everybody), least, dtype=np.int64)
            records = np.full(len(self.everybody), self.records, dtype=np.int64)
            if self.members:
                words, counts = counts_of(self.earlier[name])
                found = self._solve(name, self.before, counts, words)
                there = (self.before >= 0).any(axis=0)
                left, candidates = (side[found.cells.members] for side in (found.left, found.candidates))
                values[there] = np.minimum(values, left)[there]
                records[there] = np.minimum(records, candidates)[there]
            floors[name] = (values, records)
        return floors

    @property
    def short(self) -> bool:
        """Whether earlier releases left somebody less than is asked now."""
        return any(
            bool((values < self.least[name]).any() or (records < self.records).any())
            for name, (values, records) in self.floors.items()
        )

    def audit(self, name: str, classes: Integers, new: PublishedClasses) -> Audited:
        """Return what a series with a new release leaves everybody of one column."""
        now = np.full(len(self.everybody), -1, dtype=np.int64)
        now[self.rows] = classes
        words, counts = counts_of([*self.earlier[name], new])
        classes = np.concatenate([self.before, now[None, :]])
        audited = Audited(self._solve(name, classes, counts, words), *self.floors[name])
        unclear = np.zeros(audited.found.cells.count, dtype=np.bool_)
        unclear[audited.violated] = True
        unclear &= (audited.found.sure < audited.found.possible).any(axis=1)
        if unclear.any():  # nobody decided enough of these cells: ask for them alone, and for all of it
            closer = PossibleValues.of(
                audited.found.cells, words, known=np.repeat(~unclear[:, None], len(words), axis=1)
            )
            audited = Audited(audited.found.settled_by(closer, unclear), *self.floors[name])
        return audited

    def _solve(self, name: str, classes: Integers, counts: Sequence[Integers], words: Sequence[str]) -> PossibleValues:
        cells = Cells.settled_in([ClassCounts(one) for one in counts], classes)
        places = {word: place for place, word in enumerate(words)}
        known = np.zeros((cells.count, len(words)), dtype=np.bool_)
        there = np.flatnonzero((classes >= 0).any(axis=0))
        known[cells.members[there], [places[self.values[name][unit]] for unit in there.tolist()]] = True
        return PossibleValues.of(cells, words, known=known, patience=PATIENCE)


@dataclass(frozen=True, eq=False)
class Audited:
    """What was found of one column, beside what each unit must keep."""

    found: PossibleValues
    values: Integers
    records: Integers

    @cached_property
    def violated(self) -> list[int]:
        """The cells in which somebody keeps too little; those with the fewest values first."""
        cells = self.found.cells
        values, records = np.zeros(cells.count, np.int64), np.zeros(cells.count, np.int64)
        np.maximum.at(values, cells.members, self.values)
        np.maximum.at(records, cells.members, self.records)
        somewhere = np.array([any(places[cell] for places in cells.places) for cell in range(cells.count)])
        few = somewhere & ((self.found.sure.sum(axis=1) < values) | (self.found.records(self.found.sure) < records))
        order = np.argsort(self.found.left, kind="stable")
        violated: list[int] = order[few[order]].tolist()
        return violated

    def named(self, cell: int) -> set[int]:
        """Return the classes of the new release that a certificate of a cell names; some exclude without any."""
        last = len(self.found.cells.releases)
        for certificate in self.found.certificates(cell):
            named = {fact["class"] for fact in certificate["facts"] if fact.get("release") == last and "class" in fact}
            if named:
                return named
        return set()


def repair_exactly(draft: Draft, watched: Watched) -> Draft:
    """Return a draft whose release leaves everybody of the series enough values and records.

    Every round merges classes or leaves out rows, so there is a last one.
    """
    coded = {name: coded_values(draft.problem.table.column(name)) for name in watched.least}
    draft = keep_together(draft, watched)
    merged = np.ones(draft.count, dtype=np.int64)
    rounds = 0
    while draft.count:
        rounds += 1
        repair = Repair(draft, merged)
        for name in watched.least:
            audited = watched.audit(name, draft.classes, draft.published_classes(coded[name]))
            tell(0.5, f"round {rounds}: {len(audited.violated)} cells to repair in {draft.count} classes")
            repair.answer(audited, watched)
        if not repair.violated:
            return draft
        draft, merged = repair.result()
    return draft


def keep_together(draft: Draft, watched: Watched) -> Draft:
    """Return a draft in which people of one class of the last release stay together, where most of them are proposed.

    Every cut through an earlier class is one more equation for the attacker; newcomers stay where they are proposed.
    """
    if not watched.members:
        return draft
    last = watched.before[-1][watched.rows]
    old = np.flatnonzero((last >= 0) & (draft.classes >= 0))
    votes = np.zeros((int(last.max()) + 1, draft.count), dtype=np.int64)
    np.add.at(votes, (last[old], draft.classes[old]), 1)
    repair = Repair(draft, np.ones(draft.count, dtype=np.int64))
    repair.classes[old] = votes.argmax(axis=1)[last[old]]
    repair.touched = set(range(draft.count))
    return repair.result()[0]


@dataclass(eq=False)
class Repair:
    """One round: each class is merged or thinned at most once, then the series is audited again."""

    draft: Draft
    merged: Integers
    violated: bool = False
    touched: set[int] = field(default_factory=set)
    classes: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.classes = self.draft.classes.copy()

    def answer(self, audited: Audited, watched: Watched) -> None:
        """Answer every violation whose classes were not touched yet."""
        for cell in audited.violated:
            self.violated = True
            own = set(audited.found.cells.places[-1][cell])
            if own & self.touched:
                continue
            named = audited.named(cell) | own or self._beside(audited.found.cells.members, cell, watched)
            if named & self.touched and not own:
                continue  # look again in the next round
            first = min(own or named, default=None, key=lambda one: (self.merged[one], one))
            alike = self._alike(audited.found.cells.members, cell, watched)
            near = None if first is None else self._partner(first, named - {first})
            if first is not None and near is not None and (self.merged[first] < MOST_MERGED or len(alike) == 0):
                self._merge(first, near)
            else:
                self._leave_out(alike if len(alike) else np.flatnonzero(self.classes == first))

    def _beside(self, members: Integers, cell: int, watched: Watched) -> set[int]:
        """Return the classes that hold people who once shared a class with the people of a cell."""
        past = watched.before[:, np.flatnonzero(members == cell)[0]]
        shared = ((watched.before == past[:, None]) & (past >= 0)[:, None]).any(axis=0)
        return {one for one in self.draft.classes[shared[watched.rows]].tolist() if one >= 0}

    def _alike(self, members: Integers, cell: int, watched: Watched) -> Integers:
        """Return the rows of a cell and of everybody who was always where its people were.

        If all of them are left out, nobody stands out as gone, and the series says of them what it said before.
        """
        units = np.flatnonzero(members == cell)
        past = watched.before[:, units[0]]
        alike = np.isin(np.arange(len(members)), units)
        if (past >= 0).any():
            alike |= (watched.before == past[:, None]).all(axis=0)
        return np.flatnonzero(alike[watched.rows] & (self.classes >= 0))

    def _leave_out(self, rows: Integers) -> None:
        """Leave out rows; without any, everything."""
        gone = rows if len(rows) else np.flatnonzero(self.classes >= 0)
        self.touched |= {one for one in self.draft.classes[gone].tolist() if one >= 0}
        self.classes[gone] = -1

    def _partner(self, own: int, named: set[int]) -> int | None:
        """Return the nearest class to merge with, one that is named if there is one."""
        free = named - self.touched
        near = self.draft.nearest(own, sorted(free))
        if near is None:
            near = self.draft.nearest(own, [one for one in range(self.draft.count) if one not in self.touched])
        return near

    def _merge(self, own: int, other: int) -> None:
        self.touched |= {own, other}
        self.classes[self.classes == own] = other
        self.merged = self.merged.copy()
        self.merged[other] += self.merged[own]

    def result(self) -> tuple[Draft, Integers]:
        """Return the next draft: a class that no longer satisfies a model joins its nearest one, or goes."""
        self.draft.join_failing(self.classes, self.touched)
        draft = Draft.of(self.draft.problem, self.classes)
        merged = np.ones(draft.count, dtype=np.int64)
        kept = self.classes >= 0
        np.maximum.at(merged, draft.classes[kept], self.merged[self.classes[kept]])
        return draft, merged


def attest(release: Release, draft: Draft, watched: Watched) -> tuple[list[Finding], dict[str, int]]:
    """Return what the audit says of the finished table beside the earlier ones, and the class of every unit in it."""
    findings, classes = [], {}
    for name, least in watched.least.items():
        new = PublishedClasses.of(release.table.frame, [column.name for column in draft.problem.quasi], name)
        numbers = _published_numbers(draft, new)
        now = np.where(draft.classes >= 0, numbers[draft.classes], -1)
        audited = watched.audit(name, now, new)
        if audited.violated:
            raise BrokenPromiseError("the release was withheld: beside earlier ones it exposes somebody; report it")
        findings += _findings(name, least, watched)
        pairs = zip(watched.units, now.tolist(), strict=True)
        classes = {unit: number for unit, number in pairs if number >= 0}
    return findings, classes


def _published_numbers(draft: Draft, new: PublishedClasses) -> Integers:
    """Return the number in a published table of each class of a draft, by what is written in its cells."""
    rows = enumerate(new.cells.tolist())
    written = {tuple(texts[cell] for texts, cell in zip(new.texts, row, strict=True)): number for number, row in rows}
    own = [tuple(texts[cell] for texts, cell in zip(draft.texts, row, strict=True)) for row in draft.cells.tolist()]
    if sorted(own) != sorted(written):
        raise BrokenPromiseError("the release was withheld: its classes are not those that were audited; report it")
    return np.array([written[texts] for texts in own], dtype=np.int64)


def _findings(name: str, least: int, watched: Watched) -> list[Finding]:
    evidence = {
        "releases": len(watched.members) + 1,
        "attacker": "knows everybody's quasi-identifiers, in which releases each person is, and in which class",
        "attacks": ["adding up all published counts"],
        "complete": True,  # what nobody decided counts as excluded here
    }
    values = f"the releases together leave every person at least {least} values of '{name}'"
    records = f"the releases together leave every person at least {watched.records} records by '{name}'"
    return [
        Finding(claim=values, verdict=NOT_REFUTED, bound=least, evidence=evidence),
        Finding(claim=records, verdict=NOT_REFUTED, bound=watched.records, evidence=evidence),
    ]
