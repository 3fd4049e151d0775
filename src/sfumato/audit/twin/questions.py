"""The path of a question: a fresh ledger, a session, one answer with its card, on nasty rows or persons.

The ledger of either side has the same terms; what it writes for itself is the steward's, what the analyst gets is
compared (Haeberlen, Pierce & Narayan 2011 look at an analyst in the same way).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from sfumato.audit.twin import TwinPath
from sfumato.audit.twin.paths import cost_of
from sfumato.audit.twin.rows import Rows, as_frame, person_pairs, row_pairs
from sfumato.audit.twin.sandbox import empty_folder
from sfumato.dp.answer import Answer
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.session import Session
from sfumato.promise.cost import Budget
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit
from sfumato.schema import Schema

Ask = Callable[[Session], Answer]
BUDGET = Budget(epsilon=100, delta="0.001")


@dataclass(frozen=True)
class QuestionPath:
    """A question about rows of text, the unit that is protected, and what the ledger counts.

    >>> import sfumato as sf
    >>> schema = Schema({"age": sf.Attribute("age", sf.Role.OTHER, sf.Kind.INTEGER, bounds=(0, 9))})
    >>> question = QuestionPath(lambda session: session.ask(sf.count(), 1), [{"age": "3"}, {"age": "4"}], schema)
    >>> question.path().attack().verdict
    'NOT_REFUTED'
    """

    ask: Ask
    rows: Rows
    schema: Schema
    unit: Unit = field(default=ProtectRows())
    neighbours: Neighbours = Neighbours.PRESENCE
    budget: Budget = field(default=BUDGET)
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the columns of each, where there are several

    def path(self) -> TwinPath:
        """Return the twin path; what is promised stands on the card of an answer."""
        card = self._answer(self.rows).card
        if isinstance(self.unit, ProtectPersons):
            pairs = person_pairs(self.rows, self.unit.person, self.neighbours)
        else:
            pairs = row_pairs(self.rows, self.neighbours)
        return TwinPath(f"question {card.released.settings['question']}", self.run, pairs, cost_of(card.guarantee), 1)

    def run(self, rows: Rows) -> dict[str, Any]:
        """Return the answer and its card, without the head of the ledger, which is under a secret key."""
        answer = self._answer(rows)
        return {"rows": answer.rows, "card": msgspec.structs.replace(answer.card, ledger=None)}

    def _answer(self, rows: Rows) -> Answer:
        data, schema = self._declared(rows)
        with empty_folder() as folder:
            session = Session.create(
                folder / "ledger",
                data,
                schema,
                self.budget,
                protect=self.unit,
                neighbours=self.neighbours,
                terms=Terms(deadline=0),
            )
            return self.ask(session)

    def _declared(self, rows: Rows) -> tuple[Any, Any]:
        """Return the rows and their schema, or those of several tables, of which each row gives one to each."""
        schema = replace(self.schema, failed=1.0)  # neighbours have cells that cannot be read; the steward lets them in
        if not self.tables:
            return as_frame(rows, list(self.rows[0])), schema
        parts = {
            name: replace(schema, columns={column: schema.columns[column] for column in columns})
            for name, columns in self.tables.items()
        }
        return {name: as_frame(rows, columns) for name, columns in self.tables.items()}, parts
