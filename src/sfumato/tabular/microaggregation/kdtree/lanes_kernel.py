"""Squared distance of two rows, four columns at a time.

Fog, "Optimizing software in C++" (2004-2024), on sums kept in several lanes. A compiler
must not reorder a sum by itself, and free rein (fast-math) would let results differ from
one processor to the next: so the four lanes and the order they are added in are fixed here.
"""

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = npt.NDArray[np.float64]

LANES = 4


def row_pointer(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> tuple[Any, Any]:
    """Return the address of a row, as vectors, and the number of vectors in it."""
    struct = context.make_array(kind)(context, builder, array)
    columns = cgutils.unpack_tuple(builder, struct.shape)[1]
    first = builder.gep(struct.data, [builder.mul(row, columns)])
    vector = ir.VectorType(ir.DoubleType(), LANES)
    blocks = builder.udiv(columns, ir.Constant(columns.type, LANES))
    return builder.bitcast(first, vector.as_pointer()), blocks


def emit_gap(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the loop over vectors and the sum of the lanes."""
    a, i, b, j = arguments
    left, blocks = row_pointer(context, builder, signature.args[0], a, i)
    right, _ = row_pointer(context, builder, signature.args[2], b, j)
    vector = ir.VectorType(ir.DoubleType(), LANES)
    total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
    with cgutils.for_range(builder, blocks) as loop:
        # Rows begin at any multiple of a double, not of a vector: hence the alignment.
        one = builder.load(builder.gep(left, [loop.index]), align=8)
        two = builder.load(builder.gep(right, [loop.index]), align=8)
        difference = builder.fsub(one, two)
        square = builder.fmul(difference, difference)
        builder.store(builder.fadd(builder.load(total), square), total)
    lanes = [builder.extract_element(builder.load(total), ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)]
    return builder.fadd(builder.fadd(lanes[0], lanes[1]), builder.fadd(lanes[2], lanes[3]))


def lane_gap(typing_context: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    """Declare the types: contiguous matrices of doubles and row numbers."""
    return types.float64(a, types.int64, b, types.int64), emit_gap


gap = cast("Callable[[Floats, int, Floats, int], float]", intrinsic(lane_gap))
