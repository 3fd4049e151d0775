"""Candidate releases side by side: algorithms and parameters tried on one table, measured on one scale, as they finish.

A release is a choice between risk and loss, which only the person who answers for it can make (Duncan, Keller-McNulty &
Stokes 2001). Everything here is computed from the original rows and must not be published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from sfumato.core.parameters import Whole
from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.evaluate.candidates.candidate import Candidate, front
from sfumato.evaluate.candidates.made_up import ROWS
from sfumato.evaluate.candidates.overlap import RegressionOverlap
from sfumato.evaluate.candidates.target import TargetScore
from sfumato.evaluate.candidates.trial import Measure, TrialRows, try_out
from sfumato.random import Source
from sfumato.release import Release
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.proposals import ALGORITHMS, Proposal, find_proposal, propose

__all__ = ["Candidate", "Comparison", "Measure", "compare", "front"]


PRIVATE = (
    "a target is learnt, and a regression fitted, on real rows; every algorithm here is private and tried on made-up "
    "rows alone: leave --target and --regression out"
)


class Comparison(Iterator[Candidate]):
    """Candidates one after the other, each measured when it is asked for; `proposals` are known before.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> comparison = compare(people, schema, ["mondrian"], k=[5, 10])
    >>> comparison.names, next(comparison).name, comparison.release("mondrian-k10").card.guarantee.parameters
    (['mondrian-k5', 'mondrian-k10'], 'mondrian-k5', {'k': 10})
    """

    def __init__(self, proposals: Sequence[Proposal], rows: TrialRows) -> None:
        self.proposals, self._rows, self._next = list(proposals), rows, 0
        if not self.private:
            rows.shared.plain.points  # noqa: B018  # a table of which nothing can be made is refused at once

    @classmethod
    def of(
        cls,
        table: Table | None,
        schema: Schema,
        proposals: Sequence[Proposal],
        *,
        made_up_rows: int = ROWS,
        target: str | None = None,
        regressions: Sequence[str] = (),
        measures: Mapping[str, Measure] | None = None,
    ) -> Self:
        """Return the comparison of these candidates; no table is needed where all of them are private."""
        if not Whole(1).accepts(made_up_rows):
            raise ParameterError(
                f"The 'made_up_rows' parameter of compare must be {Whole(1).wanted}. Got {made_up_rows!r} instead."
            )
        learnt = None if target is None else TargetScore(target)
        overlaps = [RegressionOverlap(formula) for formula in regressions]
        every: dict[str, Measure] = {one.name: one for one in overlaps}
        every = {**({} if learnt is None else {learnt.name: learnt}), **every, **(measures or {})}
        comparison = cls(proposals, TrialRows(table, schema, every, made_up_rows))
        if comparison.private:
            if learnt is not None or overlaps:
                raise ParameterError(PRIVATE)
            return comparison
        plain = comparison._rows.shared.plain  # its own
        if learnt is not None:
            learnt.refuse_unknown(plain.schema)
        for overlap in overlaps:
            overlap.fit(plain.table, plain.schema)
        return comparison

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns, which guesses are about."""
        return () if self.private else tuple(self._rows.shared.sensitive)

    @property
    def scores(self) -> list[str]:
        """The names of further measures."""
        return list(self._rows.measures)

    @property
    def remarks(self) -> list[str]:
        """What further measures mean, in sentences, as far as they say so; asked for when candidates are there."""
        told = [getattr(measure, "sentence", "") for measure in self._rows.measures.values()]
        return [sentence for sentence in told if sentence]

    @property
    def private(self) -> bool:
        """Whether all candidates are private, so that the table is never looked at."""
        return all(proposal.anonymizer.private for proposal in self.proposals)

    @property
    def counts_people(self) -> bool:
        """Whether a candidate's models speak of a population, in which journalists and marketers look."""
        return any(model.people is not None for proposal in self.proposals for model in proposal.models)

    @property
    def names(self) -> list[str]:
        """The names of all candidates, in their order."""
        return [proposal.name for proposal in self.proposals]

    def __len__(self) -> int:
        return len(self.proposals)

    def __next__(self) -> Candidate:
        if self._next == len(self.proposals):
            raise StopIteration
        proposal = self.proposals[self._next]
        tell(self._next / len(self.proposals), proposal.name)
        self._next += 1
        return try_out(proposal, self._rows)

    def release(self, name: str, *, rng: Source | None = None) -> Release:
        """Return the release of a candidate, made anew by its algorithm; a private one is paid for elsewhere."""
        proposal = find_proposal(name, self.proposals)
        if proposal.anonymizer.private:
            raise ParameterError(
                f"candidate '{name}' is differentially private; make it with its anonymizer and a ledger that pays"
            )
        return proposal.anonymizer.anonymize(self._rows.table, self._rows.schema, proposal.models, rng=rng)


def compare(
    table: Table,
    schema: Schema,
    algorithms: Sequence[str] = ALGORITHMS,
    *,
    made_up_rows: int = ROWS,
    target: str | None = None,
    regressions: Sequence[str] = (),
    measures: Mapping[str, Measure] | None = None,
    **parameters: Any,
) -> Comparison:
    """Return candidates of a release, to be measured one after the other: every algorithm with every parameter.

    `parameters` are options of `sfumato anonymize` with a value or a list of values each, of models (`k=[5, 10]`) and
    of algorithms (`suppress=[0, 0.02]`); k is 2, 5, 10 and 20 where no model is named. What cannot be made is a
    candidate that says why. Private algorithms (`safepub`, `private-mondrian`) are tried on so many `made_up_rows`
    from the schema, never on the table. With a `target`, a classifier learns that column from each candidate,
    and local recoding is also tried for that target;
    `regressions` such as "income ~ age" are fitted on each, and measured by the overlap of their intervals.
    `measures` are further functions of original, schema and released table.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> for candidate in compare(people, schema, ["mondrian"], k=[5, 300]):
    ...     print(candidate.name, candidate.refusal or candidate.highest_risk)
    mondrian-k5 0.2
    mondrian-k300 k-anonymity asks for 300 rows in a class and the table has 200; at most k=200 is possible
    """
    given = {name: _listed(value) for name, value in parameters.items()}
    further: dict[str, Any] = {"target": target, "regressions": regressions, "measures": measures}
    proposals = propose([algorithms] if isinstance(algorithms, str) else algorithms, given, schema, target)
    return Comparison.of(table, schema, proposals, made_up_rows=made_up_rows, **further)


def _listed(value: Any) -> list[Any]:
    """Return the values that were given, one or several."""
    return list(value) if isinstance(value, list | tuple | range) else [value]
