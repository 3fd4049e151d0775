"""Where the wanted cells of CSV records lie, and the numbers in them, in one pass over the bytes.

Quotes follow RFC 4180: a cell that begins with one ends at the next that is not doubled, and line breaks between them
belong to the cell. A decimal of at most 15 digits over a power of ten up to 10^22 is one exact division (Clinger 1990).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

NEWLINE, RETURN, QUOTE, BLANK, TAB, PLUS, MINUS, DOT, ZERO, NINE = 10, 13, 34, 32, 9, 43, 45, 46, 48, 57
MOST_DIGITS = 15
NOWHERE = -1


@kernel
def cells(
    data: Bytes,
    delimiter: int,
    wanted: Integers,
    alone: bool,
    quoted: bool,
    lines: Integers,
    starts: Integers,
    ends: Integers,
) -> tuple[int, int]:
    """Fill where each record's line and its wanted cells lie; return the number of records and the bytes they took.

    `data` ends with a line break; a record whose quotes are still open there is left for later. `wanted` has the
    columns in ascending order; a cell that a short record does not have lies NOWHERE. An empty line is no record,
    unless the file has one column `alone`. Without quotes (not `quoted`) what follows the wanted cells is stepped over.
    """
    size, count, place = data.size, 0, 0
    while place < size:
        begin = place
        if not alone and data[place] == NEWLINE:
            place += 1
            continue
        if not alone and data[place] == RETURN and data[place + 1] == NEWLINE:
            place += 2
            continue
        column, found, more = 0, 0, True
        while more:
            first = place
            if data[place] == QUOTE:
                first = place + 1
                place = first
                while place < size and (data[place] != QUOTE or (place + 1 < size and data[place + 1] == QUOTE)):
                    place += 2 if data[place] == QUOTE else 1
                last = place
                if place >= size:
                    return count, begin
                while data[place] != delimiter and data[place] != NEWLINE:
                    place += 1
            else:
                while data[place] != delimiter and data[place] != NEWLINE:
                    place += 1
                last = place
                if data[place] == NEWLINE and last > first and data[last - 1] == RETURN:
                    last -= 1
            if found < wanted.size and column == wanted[found]:
                starts[found, count], ends[found, count] = first, last
                found += 1
            if found == wanted.size and not quoted:
                while data[place] != NEWLINE:
                    place += 1
            more = data[place] == delimiter
            place += 1
            column += 1
        for missing in range(found, wanted.size):
            starts[missing, count] = ends[missing, count] = NOWHERE
        lines[count] = begin
        count += 1
    lines[count] = place
    return count, place


@kernel
def decimals(data: Bytes, starts: Integers, ends: Integers, out: Numbers, unread: Integers) -> int:
    """Fill the numbers that are written as plain decimals; return how many were not, with their places in `unread`.

    An empty or missing cell is not a number and is read as one that is not.
    """
    left = 0
    for record in range(starts.size):
        place, end = starts[record], ends[record]
        while place < end and (data[place] == BLANK or data[place] == TAB):
            place += 1
        while place < end and (data[end - 1] == BLANK or data[end - 1] == TAB):
            end -= 1
        if place >= end:
            out[record] = np.nan
            continue
        negative = data[place] == MINUS
        if negative or data[place] == PLUS:
            place += 1
        mantissa, digits, behind, dots = np.int64(0), 0, 0, 0
        while place < end:
            byte = data[place]
            if ZERO <= byte <= NINE:
                mantissa = mantissa * 10 + (np.int64(byte) - ZERO)
                digits += 1
                behind += dots
            elif byte == DOT and dots == 0:
                dots = 1
            else:
                digits = 0
                break
            if digits > MOST_DIGITS:
                break
            place += 1
        if 0 < digits <= MOST_DIGITS:
            value = np.float64(mantissa) / 10.0**behind if behind else np.float64(mantissa)
            out[record] = -value if negative else value
        else:
            unread[left] = record
            left += 1
    return left
