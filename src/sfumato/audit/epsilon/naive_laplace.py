"""Laplace noise as textbooks write it, in floating point, and the set of numbers that it cannot give.

Mironov (2012), "On Significance of the Least Significant Bits": the noise takes few of the doubles around a value, and
not the same few around the next value, so that a single output can rule an input out.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from sfumato.random import Source

Floats = npt.NDArray[np.float64]
BITS = 53
REACH = 8  # uniform numbers on either side that are tried, since the way back through the logarithm is rounded


def naive_laplace(centre: float, scale: float, count: int, source: Source) -> Floats:
    """Return `count` doubles: the centre plus noise by the inverse of the distribution function.

    >>> from sfumato.random import SeededSource
    >>> len(naive_laplace(0.0, 1.0, 3, SeededSource(1)))
    3
    """
    words = source.words(2 * count).astype(np.uint64)
    places = ((words[:count] << np.uint64(BITS - 32)) ^ (words[count:] >> np.uint64(11))).astype(np.int64)
    return _output(places, centre, scale)


def _output(places: npt.NDArray[np.int64], centre: float, scale: float) -> Floats:
    """Return the output for uniform numbers places/2^53; the first of them would be minus infinity and is left out."""
    uniform = np.maximum(places, 1) * 2.0**-BITS - 0.5
    noise = -scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    outputs: Floats = centre + noise
    return outputs


class Unreachable(msgspec.Struct, frozen=True, tag="unreachable"):
    """Numbers that `naive_laplace` never gives for this centre and scale.

    >>> from sfumato.random import SeededSource
    >>> outputs = naive_laplace(0.0, 1.0, 1000, SeededSource(1))
    >>> test = Unreachable(centre=0.0, scale=1.0)
    >>> bool(test.holds(outputs).any()), bool(test.holds(np.nextafter(outputs, 9.0)).any())
    (False, True)
    """

    centre: float
    scale: float

    def holds(self, seen: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return for every value whether it is in the event."""
        outputs = np.asarray(seen, dtype=np.float64)
        noise = (outputs - self.centre) / self.scale
        uniform = 0.5 - np.sign(noise) * np.expm1(-np.abs(noise)) / 2
        nearest = np.rint(uniform * 2.0**BITS).astype(np.int64)
        found = np.zeros(len(outputs), dtype=np.bool_)
        for step in range(-REACH, REACH + 1):
            found |= _output(np.clip(nearest + step, 1, 2**BITS - 1), self.centre, self.scale) == outputs
        return ~found

    @property
    def words(self) -> str:
        """What is tested."""
        return f"is none that floating-point Laplace noise of scale {self.scale:g} around {self.centre:g} can give"
