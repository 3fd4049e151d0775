"""Whole numbers that an engine hands out piece by piece, as its Arrow stream holds them: no row becomes an object.

The Arrow C stream interface (arrow.apache.org, "The Arrow C stream interface", 2020) is a few C structures that stay as
they are, so that no other library has to be there to read one column of 64-bit integers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
BLOCK = 2**24  # rows in memory at a time
VALUES = 1  # which buffer of a column holds its values; the one before says which are missing


class _Piece(ctypes.Structure):
    """The ArrowArray of the interface."""


class _Stream(ctypes.Structure):
    """The ArrowArrayStream of the interface."""

    _fields_: ClassVar[Any] = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Piece))),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


_Piece._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Piece))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Piece))),
    ("private_data", ctypes.c_void_p),
]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def whole_blocks(source: Any, most: int = BLOCK) -> Iterator[Whole]:
    """Return the only column of a source, 64-bit integers of which none is missing, in blocks of up to so many rows.

    Each block lies where the one before it was, and may be changed.

    >>> import duckdb
    >>> with duckdb.connect() as base:
    ...     [block.tolist() for block in whole_blocks(base.sql("SELECT unnest([7::BIGINT, 3, 5])"), most=2)]
    [[7, 3], [5]]
    """
    block, filled = np.empty(most, dtype=np.int64), 0
    for piece in _pieces(source):
        start = 0
        while start < piece.size:
            taken = min(piece.size - start, most - filled)
            block[filled : filled + taken] = piece[start : start + taken]
            start, filled = start + taken, filled + taken
            if filled == most:
                yield block
                filled = 0
    if filled:
        yield block[:filled]


def _pieces(source: Any) -> Iterator[Whole]:
    """Return the pieces of the stream as the engine holds them; each is gone when the next is asked for."""
    capsule = source.__arrow_c_stream__()  # its own end releases the stream
    place = _pointer(capsule, b"arrow_array_stream")
    stream = _Stream.from_address(place)
    while True:
        piece = _Piece()
        if failure := stream.get_next(place, ctypes.byref(piece)):
            raise OSError(failure, "the stream ended early")
        if not piece.release:
            return
        try:
            yield _values(piece)
        finally:
            piece.release(ctypes.byref(piece))


def _values(piece: _Piece) -> Whole:
    """Return the values of a piece's only column, without a copy."""
    column = piece.children[0].contents
    if not column.length:
        return np.empty(0, dtype=np.int64)
    held = ctypes.cast(column.buffers[VALUES], ctypes.POINTER(ctypes.c_int64))
    return np.ctypeslib.as_array(held, shape=(column.offset + column.length,))[column.offset :]
