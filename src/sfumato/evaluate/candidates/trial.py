"""One candidate made and measured on the real rows, or the sentence that says why it cannot be made.

A release that shows centroids is weighed by what its groups hide, which is what ranges around them would show: a mean
is one exact value, and would seem to lose nothing. Whoever reads it knows no more than the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from sfumato.core.compiling import working_time
from sfumato.errors import ParameterError, SfumatoError
from sfumato.evaluate.candidates.candidate import Candidate
from sfumato.evaluate.candidates.distances import OriginalColumns
from sfumato.evaluate.candidates.made_up import simulate
from sfumato.evaluate.candidates.shared_rows import SharedRows
from sfumato.evaluate.check import check, risks
from sfumato.evaluate.released_rows import rows_with_values
from sfumato.evaluate.utility import utility
from sfumato.random import SecureSource, Source
from sfumato.release import Release
from sfumato.release.row_counts import ADDED, STARRED, RowCounts
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.tabular.anatomy import GROUP
from sfumato.tabular.base import Anonymizer, Partition, PartitionAnonymizer, Settled, write_rows
from sfumato.tabular.private.base import PrivateAnonymizer
from sfumato.tabular.problem import Problem
from sfumato.tabular.proposals import Proposal
from sfumato.tabular.recode import Coarse, recode

Measure = Callable[[Table, Schema, Table], float]
VARIANCE = "information_loss"  # what releases of centroids tell the steward
CENTROIDS = "shown as centroids, which lose {loss:.1f} % of the variance; the loss is that of ranges around the groups"
CLOCK = "stopped by the clock after {seconds:g} s; another run may find other classes"
ALMOST = 0.9  # of its time, after which a search was stopped rather than done
CHANGED = "cells show other values, which no loss of detail tells; see how far columns and pairs moved"
TWO_TABLES = "quasi-identifiers are published unchanged; what is lost is their link to the sensitive value"


@dataclass(frozen=True, eq=False)
class TrialRows:
    """What candidates are tried on: the table, or so many made-up rows of its schema; `measures` are further ones.

    >>> import sfumato as sf
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> TrialRows(sf.Table.from_frame(sf.samples.patients(100)), schema, {}, 1000).shared.plain.rows
    100
    """

    given: Table | None
    schema: Schema
    measures: Mapping[str, Measure]
    made_up_rows: int

    @property
    def table(self) -> Table:
        """The real rows, where there are any."""
        if self.given is None:
            raise ParameterError("this comparison has no table; give one, since not all of its algorithms are private")
        return self.given

    @cached_property
    def shared(self) -> SharedRows:
        """The table coded once; private candidates do not ask for it."""
        return SharedRows.of(self.table, self.schema)

    @cached_property
    def original(self) -> OriginalColumns:
        """The table's columns and their ties, which candidates are compared with."""
        return OriginalColumns.of(self.shared.plain.table, self.shared.plain.schema)


def try_out(proposal: Proposal, rows: TrialRows) -> Candidate:
    """Return the candidate with all that was measured; a private one never meets the real rows.

    >>> import sfumato as sf
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> rows = TrialRows(people, schema, {}, 1000)
    >>> try_out(Proposal("mondrian-k500", sf.Mondrian(), [sf.KAnonymity(500)], {}), rows).refusal
    'k-anonymity asks for 500 rows in a class and the table has 100; at most k=100 is possible'
    """
    anonymizer = proposal.anonymizer
    try:
        if isinstance(anonymizer, PrivateAnonymizer):
            return simulate(proposal, anonymizer, rows.schema, rows.made_up_rows)
        if anonymizer.private:
            return _refused(proposal, "it is differentially private in a way that cannot be simulated here")
        if isinstance(anonymizer, PartitionAnonymizer) and _writes_classes(anonymizer):
            return _try_classes(proposal, anonymizer, rows)
        return _try_release(proposal, rows)
    except SfumatoError as problem:
        return _refused(proposal, str(problem))


def _refused(proposal: Proposal, why: str) -> Candidate:
    return Candidate(proposal.name, proposal.command, refusal=why)


def _writes_classes(anonymizer: PartitionAnonymizer) -> bool:
    """Return whether a release is that of its classes, so that these can be measured before any row is written."""
    kind, plain = type(anonymizer), PartitionAnonymizer
    return kind.anonymize is plain.anonymize and kind.publish is plain.publish


def _try_classes(proposal: Proposal, anonymizer: PartitionAnonymizer, rows: TrialRows) -> Candidate:
    """Return a candidate measured by its classes."""
    begun = working_time()
    problem = rows.shared.problem(proposal.models)
    partition = anonymizer.partition(problem)
    settled = anonymizer.settle(problem, partition)
    seconds = working_time() - begun
    sizes = np.bincount(settled.row_class, minlength=partition.count)
    risk, released = risks(settled.groups), settled.problem.rows
    found = Candidate(
        proposal.name,
        proposal.command,
        loss=rows.shared.loss(_hidden(problem, partition, settled), sizes, problem.rows - released),
        classes=settled.groups.count,
        rows=_counts(problem.rows, released, partition.measures),
        highest_risk=risk.prosecutor_max,
        mean_risk=risk.prosecutor_mean,
        journalist_risk=None if settled.groups.population is None else risk.journalist_max,
        marketer_risk=None if settled.groups.population is None else risk.marketer,
        guesses=rows.shared.guesses(settled),
        levels=partition.levels,
        seconds=seconds,
        notes=_notes(anonymizer, partition.steward, seconds),
        publish=partial(_publish, anonymizer, problem, partition),
    )
    return _with_measures(found, rows, write_rows(settled))


def _publish(anonymizer: PartitionAnonymizer, problem: Problem, partition: Partition, rng: Source | None) -> Release:
    return anonymizer.publish(problem, partition, SecureSource() if rng is None else rng)


def _hidden(problem: Problem, partition: Partition, settled: Settled) -> Mapping[str, Sequence[Coarse]]:
    """Return what each class is shown as; where that is a centroid, the range or set that its rows have."""
    if VARIANCE not in partition.steward:
        return settled.coarse
    kept, count = partition.classes >= 0, partition.count
    points, classes = partition.points.examples[kept], partition.classes[kept]
    return {column.name: recode(column, column.codes[points], classes, count, "text") for column in problem.quasi}


def _try_release(proposal: Proposal, rows: TrialRows) -> Candidate:
    """Return a candidate measured by its finished release, as anybody's algorithm is: nothing is known but its rows."""
    begun = working_time()
    release = proposal.anonymizer.anonymize(rows.table, rows.schema, proposal.models)
    seconds = working_time() - begun
    problem = rows.shared.plain
    schema, quasi, secret = problem.schema, problem.schema.names(Role.QUASI), problem.schema.names(Role.SENSITIVE)
    shown = rows_with_values(release)
    found = check(shown, quasi, secret, schema=schema)
    classes = check(shown, [GROUP], secret, schema=schema) if release.companions else found
    counts = RowCounts.of(release.card, release.steward, problem.rows)
    changes = not proposal.anonymizer.needs_models
    candidate = Candidate(
        proposal.name,
        proposal.command,
        loss=None if changes else utility(problem.table, schema, release.table).gcp,
        classes=classes.classes,
        rows=counts,
        highest_risk=found.risk.prosecutor_max,
        mean_risk=found.risk.prosecutor_mean,
        guesses={name: measured.alpha for name, measured in classes.sensitive.items()},
        seconds=seconds,
        notes=[
            *_notes(proposal.anonymizer, release.steward, seconds),
            *([TWO_TABLES] if release.companions else []),
            *([CHANGED] if changes else []),
        ],
        publish=lambda _: release,
    )
    return _with_measures(candidate, rows, shown)


def _counts(read: int, released: int, measures: Mapping[str, float]) -> RowCounts:
    added = int(measures.get(ADDED, 0))
    return RowCounts(read, read + added - released, added, released, int(measures.get(STARRED, 0)))


def _notes(anonymizer: Anonymizer, steward: Mapping[str, float], seconds: float) -> list[str]:
    """Return what the numbers alone do not tell."""
    notes, limit = [], getattr(anonymizer, "seconds", None)
    if VARIANCE in steward:
        notes.append(CENTROIDS.format(loss=steward[VARIANCE]))
    if limit is not None and seconds >= ALMOST * limit:
        notes.append(CLOCK.format(seconds=limit))
    return notes


def _with_measures(candidate: Candidate, rows: TrialRows, shown: Table) -> Candidate:
    """Return the candidate with its distances and further measures; one that cannot be taken is a note."""
    scores: dict[str, float] = {}
    distances, notes = None, list(candidate.notes)
    try:
        distances = rows.original.compare(shown)
    except SfumatoError as problem:
        notes.append(f"distances: {problem}")
    for name, measure in rows.measures.items():
        try:
            scores[name] = measure(rows.shared.plain.table, rows.shared.plain.schema, shown)
        except SfumatoError as problem:
            notes.append(f"{name}: {problem}")
    return replace(candidate, distances=distances, scores=scores, notes=notes)
