"""Where the wanted cells of CSV records lie, and the numbers in them, in one pass over the bytes.

A record of a feed is one line: quotes follow RFC 4180, but a cell whose quote is open where the line ends makes that
line a broken record and never takes the next one in. A decimal of at most 15 digits over a power of ten up to 10^22 is
one exact division (Clinger 1990).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NEWLINE, RETURN, BLANK, TAB, PLUS, MINUS, ZERO, NINE = 10, 13, 32, 9, 43, 45, 48, 57
MARK = (239, 187, 191)  # of the byte order, where one file was put behind another
MOST_DIGITS = 15
NOWHERE = -1


@kernel
def cells(
    data: Bytes,
    delimiter: int,
    quote: int,
    fields: int,
    wanted: Integers,
    quoted: bool,
    lines: Integers,
    starts: Integers,
    ends: Integers,
    broken: Flags,
) -> int:
    """Fill where each record's line and its wanted cells lie and which records are broken; return how many there are.

    `data` ends with a line break. `wanted` has the columns in ascending order; the cells of a broken record lie
    NOWHERE. Broken is a record without exactly as many `fields` as the header, or with a quote that stays open or
    closes before the cell ends. An empty line is no record, unless the file has one column. Without quotes (not
    `quoted`) what follows the wanted cells is counted and stepped over.
    """
    size, count, place = data.size, 0, 0
    while place < size:
        begin = place
        if fields > 1 and data[place] == NEWLINE:
            place += 1
            continue
        if fields > 1 and data[place] == RETURN and data[place + 1] == NEWLINE:
            place += 2
            continue
        if place + 2 < size and data[place] == MARK[0] and data[place + 1] == MARK[1] and data[place + 2] == MARK[2]:
            place += 3
        column, found, sound = 0, 0, True
        while True:
            first = place
            if data[place] == quote:
                first = place + 1
                place = first
                while data[place] != NEWLINE and (data[place] != quote or data[place + 1] == quote):
                    place += 2 if data[place] == quote else 1
                last = place
                if data[place] == quote:
                    place += 1
                    if data[place] == RETURN and data[place + 1] == NEWLINE:
                        place += 1
                    sound = sound and (data[place] == delimiter or data[place] == NEWLINE)
                else:
                    sound = False
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
                    column += data[place] == delimiter
                    place += 1
            column += 1
            place += 1
            if data[place - 1] == NEWLINE:
                break
        broken[count] = not sound or column != fields
        if broken[count]:
            for cell in range(wanted.size):
                starts[cell, count] = ends[cell, count] = NOWHERE
        lines[count] = begin
        count += 1
    lines[count] = place
    return count


@kernel
def decimals(data: Bytes, mark: int, starts: Integers, ends: Integers, out: Numbers, unread: Integers) -> int:
    """Fill the numbers that are written as plain decimals; return how many were not, with their places in `unread`.

    `mark` stands before the decimals. An empty or missing cell is not a number and is read as one that is not.
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
            elif byte == mark and dots == 0:
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
