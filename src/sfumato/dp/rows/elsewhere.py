"""Rows that only another engine can open: a price can be planned without them, and a question is refused by a sentence.

The refusal comes before anything is paid (McSherry 2009, section 3, on why the budget is asked first).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Never

from sfumato.dp.questions.request import Request
from sfumato.errors import InputError


@dataclass(frozen=True)
class RowsElsewhere:
    """The rows of a ledger that was made with an engine, where that engine is not there.

    >>> RowsElsewhere("spark").fingerprint()
    Traceback (most recent call last):
    sfumato.errors.InputError: the rows are held by the engine spark; ask with --engine spark, or give its rows as data
    """

    engine: str

    def check(self, request: Request) -> None:
        """Refuse every request."""
        del request
        self._refuse()

    def collect(self, request: Request) -> Never:
        """Refuse every request."""
        del request
        self._refuse()

    def fingerprint(self) -> Never:
        """Refuse to speak of the rows."""
        self._refuse()

    def _refuse(self) -> Never:
        raise InputError(
            f"the rows are held by the engine {self.engine}; ask with --engine {self.engine}, or give its rows as data"
        )
