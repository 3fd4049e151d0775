"""The attack on noisy answers over a k-anonymous table: drop one row, anonymise again, ask for what vanished.

Pereira 2014, chapter 3: a class of exactly k rows falls apart when one of them is missing, and a query for its box
changes by k, not by 1. The noise hides one; the ratio of densities is e^(ε·change), with no statistics in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.audit.composition.answers import Asked, Claim, NeighbourAnswers, Numbers, Shown
from sfumato.audit.composition.neighbours import Change, Classes, Flags, Neighbourhood, change, tabulate_changes
from sfumato.audit.composition.random_groups import audited_groups
from sfumato.core.progress import tell
from sfumato.errors import InputError, UnsatisfiableError
from sfumato.evaluate.workload import Counting
from sfumato.models.base import Model
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.anatomy import Anatomy
from sfumato.tabular.base import PartitionAnonymizer
from sfumato.tabular.mondrian import Mondrian

MOST_TARGETS = 50
MOST_THINNINGS = 20
SLACK = 1e-9


def composition(  # noqa: PLR0913  # the release, the answers, and how long to look
    table: Table,
    schema: Schema,
    models: Sequence[Model],
    anonymizer: PartitionAnonymizer | None = None,
    *,
    epsilon: float,
    query: Counting = "inclusion",
    answer: Asked = "count",
    trials: int = 1000,
    seed: int = 0,
) -> Finding:
    """Return whether noisy answers on an anonymised table keep ε, with the worst query found.

    Rows of classes of exactly k are dropped one at a time, then `trials` random rows are dropped and as many added;
    each time the table is anonymised again (by Mondrian unless another is given) and the boxes of all classes gone or
    new are asked for. If no class has exactly k rows, the smallest is thinned until it has. Anatomy draws its groups at
    random, so its noisy counts are put to trials. The evidence is the steward's.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.census_10k(1000))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])
    >>> finding = composition(people, schema, [sf.KAnonymity(10)], epsilon=0.1, trials=10)
    >>> vanished = finding.evidence["class of k"]
    >>> finding.verdict, vanished["before"], vanished["after"], round(vanished["density ratio"], 2)
    ('REFUTED', 10.0, 0.0, 2.72)
    """
    claim = Claim(epsilon, query, answer, trials, seed)
    if table.rows == 0:
        raise InputError("the table has no rows; there is nothing to attack")
    chosen = Mondrian() if anonymizer is None else anonymizer
    if isinstance(chosen, Anatomy):
        return audited_groups(table, schema, models, chosen, claim)
    search = NeighbourSearch.over(
        Neighbourhood.of(table, schema, models, additions=max(1, trials), seed=seed), chosen, claim
    )
    search.attack_smallest()
    return search.finding(search.look_around())


@dataclass(eq=False)
class NeighbourSearch:
    """The attack as it goes: the anonymised table, and the worst pair so far, of all and of classes of exactly k."""

    around: Neighbourhood
    anonymizer: PartitionAnonymizer
    claim: Claim
    numbers: Numbers | None
    base: Classes
    shown: Shown
    worst: NeighbourAnswers | None = None
    target: NeighbourAnswers | None = None

    @classmethod
    def over(cls, around: Neighbourhood, anonymizer: PartitionAnonymizer, claim: Claim) -> NeighbourSearch:
        """Return the search with the full table anonymised."""
        problem = around.coded
        numbers = None if claim.answer == "count" else Numbers.of(problem.table, problem.schema, problem.least_units)
        base = around.classes(anonymizer, around.whole)
        if base is None:
            raise UnsatisfiableError("the models cannot hold on this table; ask for less")
        return cls(around, anonymizer, claim, numbers, base, Shown.of(anonymizer, base, numbers))

    def attack_smallest(self) -> None:
        """Drop a row of each class of exactly k; where there is none, thin the smallest class until there is."""
        least, kept, classes = self.around.coded.least_units, self.around.whole, self.base
        for _ in range(MOST_THINNINGS):
            exact = np.flatnonzero(classes.sizes == least)[:MOST_TARGETS].tolist()
            if exact:
                return self._attack(exact, kept, classes)
            smallest = int(np.argmin(np.where(classes.sizes > 0, classes.sizes, self.around.rows)))
            kept[np.flatnonzero(classes.labels == smallest)[least:]] = False
            thinned = self.around.classes(self.anonymizer, kept)
            if thinned is None:
                return None
            classes = thinned
        return None

    def _attack(self, numbers: Sequence[int], kept: Flags, classes: Classes) -> None:
        """Drop a row of each of some classes, and keep the worst query and the worst box of the class itself."""
        shown = Shown.of(self.anonymizer, classes, self.numbers)
        dropped = tuple(np.flatnonzero(self.around.whole & ~kept).tolist())
        for place, number in enumerate(numbers):
            tell(0.3 * place / len(numbers), "dropping a row of a class of exactly k")
            row = int(np.flatnonzero(classes.labels == number)[0])
            compared = self._compare(row, self.around.without(row, kept), classes, shown)
            if compared is not None:
                self._aim(replace(compared, dropped=dropped), number)

    def look_around(self) -> dict[str, list[Change]]:
        """Return what changed when random rows were dropped and added, keeping the worst query met."""
        draw = np.random.default_rng(self.claim.seed)
        rows = draw.permutation(self.around.rows)[: self.claim.trials].tolist()
        found: dict[str, list[Change]] = {"removals": [], "additions": []}
        for place, row in enumerate(rows):
            tell(0.3 + 0.35 * place / len(rows), "dropping random rows")
            found["removals"] += self._changes(row, self.around.without(row))
        for place in range(self.claim.trials):
            tell(0.65 + 0.35 * place / self.claim.trials, "adding random rows")
            found["additions"] += self._changes(self.around.rows + place, self.around.with_one(place))
        return found

    def _changes(self, row: int, kept: Flags) -> Iterator[Change]:
        compared = self._compare(row, kept, self.base, self.shown)
        if compared is not None:
            self._consider(compared)
            yield compared.change

    def _compare(self, row: int, kept: Flags, base: Classes, shown: Shown) -> NeighbourAnswers | None:
        """Return the answers to all boxes gone or new, with and without a row."""
        after = self.around.classes(self.anonymizer, kept)
        if after is None:
            return None
        found = change(base, after)
        if found.count == 0:
            return NeighbourAnswers.nothing(row, found)
        then = Shown.of(self.anonymizer, after, self.numbers)
        return NeighbourAnswers.of(row, found, (shown, then), self.claim, self.numbers)

    def _consider(self, compared: NeighbourAnswers) -> None:
        if self.worst is None or compared.difference > self.worst.difference:
            self.worst = compared

    def _aim(self, compared: NeighbourAnswers, number: int) -> None:
        """Keep a comparison, and in it the box of the very class that had k rows."""
        self._consider(compared)
        for place in np.flatnonzero(compared.change.gone == number).tolist():
            aimed = replace(compared, place=place)
            if self.target is None or aimed.difference > self.target.difference:
                self.target = aimed

    def finding(self, changes: dict[str, list[Change]]) -> Finding:
        """Return the verdict with all that leads to it."""
        thought = 1.0 if self.numbers is None else self.numbers.sensitivity(self.claim.answer)
        scale = self.claim.epsilon / thought
        bound = 0.0 if self.worst is None else scale * self.worst.difference
        refuted = bound > self.claim.epsilon * (1 + SLACK)
        columns, rows = self.around.coded.quasi, self.around.rows
        told = {
            name: None if lead is None or lead.change.count == 0 else lead.evidence(columns, rows, scale)
            for name, lead in (("worst", self.worst), ("class of k", self.target))
        }
        nothing = "no query was found that one row moves by more than it should"
        evidence: dict[str, Any] = {
            "reason": nothing if told["worst"] is None else told["worst"].pop("reason"),
            "algorithm": self.anonymizer.algorithm,
            "claim": self.claim.parameters(),
            "classes": self.base.partition.count,
            "largest class": int(self.base.sizes.max()),
            "sensitivity": thought,
            **told,
            **{name: tabulate_changes(found) for name, found in changes.items()},
        }
        return Finding(
            claim=self.claim.words, verdict=REFUTED if refuted else NOT_REFUTED, bound=bound, evidence=evidence
        )
