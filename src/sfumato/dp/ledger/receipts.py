"""What this process has paid for, so that whoever stops it is told whether the price was paid and the answer kept.

A charge stands whatever becomes of the process (Rogers, Roth, Ullman & Vadhan 2016); only an answer that was stored can
be asked for again without a charge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.promise.cost import Cost


class Receipts:
    """The charges of a process in the order they were made, and which of them have an answer.

    >>> receipts = Receipts()
    >>> receipts.words is None
    True
    >>> with receipts.charging():
    ...     receipts.paid(7, Cost(epsilon="0.1"))
    >>> receipts.words
    'the price (epsilon 0.1) was paid and no answer was kept; asking again is charged again'
    >>> receipts.kept(7)
    >>> receipts.words
    'the price (epsilon 0.1) was paid and the answer is kept; asking again is free'
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._charging = False
        self._last: tuple[int, Cost] | None = None
        self._answered = False

    @contextmanager
    def charging(self) -> Iterator[None]:
        """Note that a charge is being written; an interrupt in it leaves open whether it was."""
        self._charging = True
        try:
            yield
        except Exception:
            self._charging = False
            raise
        self._charging = False

    def paid(self, number: int, cost: Cost) -> None:
        """Note a charge that is on the disk."""
        self._last, self._answered = (number, cost), False

    def kept(self, number: int) -> None:
        """Note that the answer to a charge is on the disk."""
        self._answered = self._answered or (self._last is not None and self._last[0] == number)

    @property
    def words(self) -> str | None:
        """What became of the last charge; None where there was none."""
        if self._charging:
            return "the price may have been paid; `sfumato budget show` tells"
        if self._last is None:
            return None
        if self._answered:
            return f"the price ({self._last[1]}) was paid and the answer is kept; asking again is free"
        return f"the price ({self._last[1]}) was paid and no answer was kept; asking again is charged again"


RECEIPTS = Receipts()
