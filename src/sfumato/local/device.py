"""Randomness on the device: 64-bit words and small integers from the operating system, with no numpy.

What a device needs to send a report is this module, the protocol's own, and the standard library. Every draw reads the
operating system's bytes in one fixed way, without bias (Lumbroso 2013, "Optimal Discrete Uniform Generation from Coin
Flips", on rejection). Devices in other languages (`clients/js`) read them in the same way, so that the same bytes give
the same report; shared vectors hold both to it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable


def words64(count: int) -> tuple[int, ...]:
    """Return `count` uniform integers below 2^64.

    >>> all(0 <= word < 2**64 for word in words64(3))
    True
    """
    return struct.unpack(f"<{count}Q", _system_bytes(8 * count))


def below(bound: int) -> int:
    """Return a uniform integer below `bound`, without bias: as few whole bytes as hold it, until they are below it.

    The bytes are little-endian, and the lowest bits that are not needed are cut off.

    >>> below(1)
    0
    """
    bits = (bound - 1).bit_length()
    size = -(-bits // 8)
    while True:
        drawn = int.from_bytes(_system_bytes(size), "little") >> (8 * size - bits)
        if drawn < bound:
            return drawn


def subset(count: int, bound: int) -> set[int]:
    """Return a uniform set of `count` integers below `bound` (Floyd's method: Bentley & Floyd 1987).

    >>> subset(3, 3)
    {0, 1, 2}
    """
    chosen: set[int] = set()
    for top in range(bound - count, bound):
        candidate = below(top + 1)
        chosen.add(top if candidate in chosen else candidate)
    return chosen


def pack_bits(places: Iterable[int], size: int) -> bytes:
    r"""Return `size` bits, those at `places` set, eight in a byte with the first one lowest.

    >>> pack_bits([0, 9], 10)
    b'\x01\x02'
    """
    row = bytearray(-(-size // 8))
    for place in places:
        row[place >> 3] |= 1 << (place & 7)
    return bytes(row)


def _system_bytes(count: int) -> bytes:
    return os.urandom(count)
