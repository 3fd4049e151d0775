"""What the ledger keeps of an answer that was just drawn: its numbers, and every public fact that belongs to them.

All but the numbers follows from the question, its price and the declarations (Dwork & Roth 2014, proposition 2.1), so
that keeping and showing it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.dp.limits import question_facts
from sfumato.dp.promised import assumptions, public_tables
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.request import Cells
from sfumato.dp.stored_answer import AnswerColumn, StoredAnswer
from sfumato.promise import Promise
from sfumato.promise.cost import Accountant
from sfumato.random import Source
from sfumato.release.card import Guarantee
from sfumato.schema import Schema


@dataclass(frozen=True)
class Circumstances:
    """What an answer was drawn under: the schema of its table, the version of the rows, the deadline, the randomness.

    >>> Circumstances(Schema(), Accountant.PURE, version=1, deadline=0).warnings
    ['answers left as soon as they were ready: the time they took was not hidden']
    """

    schema: Schema
    accountant: Accountant
    version: int
    deadline: float
    rng: Source | None = None

    @property
    def warnings(self) -> list[str]:
        """What weakens the promise."""
        secure = self.rng is None or self.rng.secure
        seeded = [] if secure else ["noise drawn from a seed: for tests only, promises nothing"]
        timed = [] if self.deadline else ["answers left as soon as they were ready: the time they took was not hidden"]
        return seeded + timed


def drawn_answer(
    compiled: Compiled, cells: Sequence[Cells], columns: list[AnswerColumn], promise: Promise, told: Circumstances
) -> StoredAnswer:
    """Return the answer as the ledger keeps it."""
    cost = promise.cost
    return StoredAnswer(
        question=compiled.words,
        keys=list(compiled.names),
        cells=[compiled.show_cells(cell) for cell in cells],
        columns=columns,
        epsilon=str(cost.epsilon),
        delta=str(cost.delta),
        rho=str(cost.rho),
        accountant=str(told.accountant),
        unit=promise.metric.unit_words,
        neighbours=promise.metric.neighbours_words,
        data_version=told.version,
        assumptions=[
            *assumptions(compiled.unit, told.deadline, per_person=compiled.per_person),
            *compiled.assumptions,
            *public_tables(compiled),
        ],
        warnings=told.warnings,
        guarantee=Guarantee.of(promise),
        **question_facts(compiled, told.schema, cost),
    )
