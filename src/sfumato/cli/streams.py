"""The standard streams in hostile places: closed, full, or read by a program that leaves before the end."""

from __future__ import annotations

import os
import sys
from typing import TextIO

READER_LEFT = 141  # what a shell reports for a program that ends because its reader left (128 + SIGPIPE)
CLOSED = "standard output is closed; send it to a file, or to /dev/null if nobody is to read it"


def occupy_streams() -> bool:
    """Return whether there is a standard output; fill the place of every closed stream, so that no file gets it.

    A file that is opened while a stream is closed takes its number, and what is printed later would land in it.

    >>> occupy_streams()
    True
    """
    there = sys.stdout is not None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))
    return there


def drop_unwritten(stream: TextIO) -> OSError | None:
    """Return why what was printed cannot be written, if so, and drop it, so that nothing is said of it at the end.

    >>> drop_unwritten(sys.stdout)
    """
    try:
        stream.flush()
    except OSError as error:
        hole = os.open(os.devnull, os.O_RDWR)
        os.dup2(hole, stream.fileno())
        os.close(hole)
        return error
    return None
