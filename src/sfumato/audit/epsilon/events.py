"""Events that tell two inputs apart: a view of the outputs, and a test of what is seen.

Sets of likelier outputs are the best events there are (Neyman & Pearson 1933); the grid of floating-point numbers that
an output lies on is the event of Mironov (2012), "On Significance of the Least Significant Bits": textbook noise
takes few of the doubles around a value, and not the same few around the next, so that one output can rule out an input.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from sfumato.random import Source

Outputs = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MANTISSA = 53
COARSEST = 1 << 20  # the lowest bit of 0, which lies on every grid
REACH = 8  # uniform numbers on either side that are tried, since the way back through the logarithm is rounded


class Itself(msgspec.Struct, frozen=True, tag="itself"):
    """The output itself, where it is one value.

    >>> Itself().of(np.array([3, 4])).tolist()
    [3, 4]
    """

    def of(self, outputs: Outputs) -> Outputs:
        """Return what is seen of every output."""
        return outputs

    @property
    def words(self) -> str:
        """What is looked at."""
        return "the output"


class Along(msgspec.Struct, frozen=True, tag="along"):
    """A weighted sum of a vector's entries.

    >>> Along(weights=(1.0, -1.0)).of(np.array([[5.0, 2.0]])).tolist()
    [3.0]
    """

    weights: tuple[float, ...]

    def of(self, outputs: Outputs) -> Outputs:
        """Return what is seen of every output."""
        seen: Floats = (outputs * np.asarray(self.weights)).sum(axis=1)
        return seen

    @property
    def words(self) -> str:
        """What is looked at."""
        used = [place for place, weight in enumerate(self.weights) if weight]
        if len(used) == 1 and self.weights[used[0]] == 1:
            return f"entry {used[0] + 1} of the output"
        return "the sum of the output" if set(self.weights) == {1.0} else "a weighted sum of the output"


class Largest(msgspec.Struct, frozen=True, tag="largest"):
    """The place of a vector's largest entry, counted from 0.

    >>> Largest().of(np.array([[5.0, 2.0], [1.0, 3.0]])).tolist()
    [0, 1]
    """

    def of(self, outputs: Outputs) -> Outputs:
        """Return what is seen of every output."""
        places: Integers = np.argmax(outputs, axis=1)
        return places

    @property
    def words(self) -> str:
        """What is looked at."""
        return "the place of the largest entry"


class Within(msgspec.Struct, frozen=True, tag="within"):
    """Ranges, each above its low end and up to its high end; None is no end.

    >>> Within(ranges=((None, 1.0), (5.0, 7.0))).holds(np.array([1.0, 5.0, 6.0, 8.0])).tolist()
    [True, False, True, False]
    """

    ranges: tuple[tuple[float | None, float | None], ...]

    def holds(self, seen: Outputs) -> Flags:
        """Return for every value whether it is in the event."""
        inside = np.zeros(len(seen), dtype=np.bool_)
        for low, high in self.ranges:
            above = True if low is None else seen > low
            inside |= above & (True if high is None else seen <= high)
        return inside

    @property
    def words(self) -> str:
        """What is tested."""
        parts = [_range_words(low, high) for low, high in self.ranges[:4]]
        return "is " + " or ".join(parts) + (" …" if len(self.ranges) > 4 else "")


class Among(msgspec.Struct, frozen=True, tag="among"):
    """A set of values.

    >>> Among(values=("a", "c")).holds(np.array(["a", "b"])).tolist()
    [True, False]
    """

    values: tuple[float | str, ...]

    def holds(self, seen: Outputs) -> Flags:
        """Return for every value whether it is in the event."""
        return np.isin(seen, np.asarray(self.values))

    @property
    def words(self) -> str:
        """What is tested."""
        shown = ", ".join(f"{value:g}" if isinstance(value, float) else value for value in self.values[:8])
        return f"is one of {shown}{' …' if len(self.values) > 8 else ''}" if len(self.values) > 1 else f"is {shown}"


class OnGrid(msgspec.Struct, frozen=True, tag="on-grid"):
    """Multiples of 2^step whose size is below 2^below: which low bits of a floating-point number are used.

    >>> OnGrid(step=-1, below=2).holds(np.array([1.5, 1.25, 8.0])).tolist()
    [True, False, False]
    """

    step: int
    below: int

    def holds(self, seen: Outputs) -> Flags:
        """Return for every value whether it is in the event."""
        lowest, highest = bit_places(seen)
        inside: Flags = (lowest >= self.step) & (highest <= self.below)
        return inside

    @property
    def words(self) -> str:
        """What is tested."""
        return f"is a multiple of 2^{self.step} and smaller than 2^{self.below}"


def naive_laplace(centre: float, scale: float, count: int, source: Source) -> Floats:
    """Return `count` doubles: the centre plus noise by the inverse of the distribution function.

    >>> from sfumato.random import SeededSource
    >>> len(naive_laplace(0.0, 1.0, 3, SeededSource(1)))
    3
    """
    words = source.words(2 * count).astype(np.uint64)
    places = ((words[:count] << np.uint64(MANTISSA - 32)) ^ (words[count:] >> np.uint64(11))).astype(np.int64)
    return _naive_output(places, centre, scale)


def _naive_output(places: Integers, centre: float, scale: float) -> Floats:
    """Return the output for uniform numbers places/2^53; the first of them would be minus infinity and is left out."""
    uniform = np.maximum(places, 1) * 2.0**-MANTISSA - 0.5
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

    def holds(self, seen: Outputs) -> Flags:
        """Return for every value whether it is in the event."""
        outputs = np.asarray(seen, dtype=np.float64)
        noise = (outputs - self.centre) / self.scale
        uniform = 0.5 - np.sign(noise) * np.expm1(-np.abs(noise)) / 2
        nearest = np.rint(uniform * 2.0**MANTISSA).astype(np.int64)
        found = np.zeros(len(outputs), dtype=np.bool_)
        for step in range(-REACH, REACH + 1):
            found |= _naive_output(np.clip(nearest + step, 1, 2**MANTISSA - 1), self.centre, self.scale) == outputs
        return ~found

    @property
    def words(self) -> str:
        """What is tested."""
        return f"is none that floating-point Laplace noise of scale {self.scale:g} around {self.centre:g} can give"


View = Itself | Along | Largest
Test = Within | Among | OnGrid | Unreachable


class Event(msgspec.Struct, frozen=True):
    """A set of outputs, by what is seen of them.

    >>> event = Event(view=Itself(), test=Within(ranges=((None, 0.0),)))
    >>> event.words, event.holds(np.array([-1.0, 1.0])).tolist()
    ('the output is at most 0', [True, False])
    >>> Event.read(msgspec.to_builtins(event)) == event
    True
    """

    view: View
    test: Test

    @classmethod
    def read(cls, entry: object) -> Event:
        """Return an event from the evidence of a finding."""
        return msgspec.convert(entry, cls)

    def holds(self, outputs: Outputs) -> Flags:
        """Return for every output whether it is in the event."""
        return self.test.holds(self.view.of(outputs))

    @property
    def words(self) -> str:
        """The event in words."""
        return f"{self.view.words} {self.test.words}"


def bit_places(values: Outputs) -> tuple[Integers, Integers]:
    """Return for every number the power of two of its lowest bit, and the least power of two above its size.

    >>> [places.tolist() for places in bit_places(np.array([0.75, 4.0]))]
    [[-2, 2], [0, 3]]
    """
    fraction, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    there = np.isfinite(fraction) & (fraction != 0)
    whole = np.where(there, np.ldexp(np.where(there, np.abs(fraction), 0.5), MANTISSA), 1).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    lowest = np.where(there, exponent - MANTISSA + trailing, COARSEST)
    return lowest.astype(np.int64), np.where(np.isfinite(fraction), exponent, COARSEST).astype(np.int64)


def _range_words(low: float | None, high: float | None) -> str:
    if low is None:
        return "anything" if high is None else f"at most {high:g}"
    return f"above {low:g}" if high is None else f"above {low:g} and at most {high:g}"
