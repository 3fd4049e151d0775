"""How a command ends: what an interrupt says about a price, and an exit that no unfinished work can spoil."""

from __future__ import annotations

import os
import sys
from typing import Never

RECEIPTS = "sfumato.dp.ledger.receipts"  # loaded by commands that pay, and not by others


def begin() -> None:
    """Forget what earlier commands of this process have paid for.

    >>> begin()
    """
    ledger = sys.modules.get(RECEIPTS)
    if ledger is not None:
        ledger.RECEIPTS.forget()


def interrupted_words() -> str:
    """Return what an interrupted command says: whether a price was paid, if it has asked a ledger.

    >>> interrupted_words()[:12]
    'interrupted;'
    """
    ledger = sys.modules.get(RECEIPTS)
    paid = None if ledger is None else ledger.RECEIPTS.words
    return f"interrupted; {paid or 'nothing was written'}"


def leave(code: int) -> Never:
    """End the process; at once where a thread still works for a question that was given up.

    Such a thread is deep in a database engine, which aborts the process when Python takes its locks away; and the time
    until it ended would tell of the rows.

    >>> leave(2)
    Traceback (most recent call last):
    SystemExit: 2
    """
    clock = sys.modules.get("sfumato.dp.deadline")
    if clock is not None and clock.work_goes_on():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
