"""The naive baseline: every record leaves at once with Laplace noise of its own, in order.

Dwork, McSherry, Nissim & Smith (2006); it is what DOCA (Leal, Vidal & Machado 2018) is measured against.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.core.parameters import Option, Optional, Real
from sfumato.errors import InputError, ParameterError
from sfumato.promise import Promise
from sfumato.random import Source
from sfumato.release.card import Card, ReleasedColumn
from sfumato.stream.base import AUDITED, EPSILON, Integers, Numbers, PublicBounds, Published, Publisher, Sample
from sfumato.stream.card import EACH, guarantee_of, make_card, record_promise
from sfumato.stream.noise import Interval, add_noise_to_rows, grid_steps, run_of, step_for
from sfumato.stream.state import pack, unpack

STEPS = 2**20
ONE: Integers = np.ones(1, dtype=np.int64)
SENSITIVITY = Option("How far one record can move a value; the width of the bounds unless given.")

EVENT = (
    EACH,
    "How many records come, and when, is not protected.",
    "Values are rounded to a public grid and the noise is discrete Laplace, drawn exactly in integers.",
)
UNBOUNDED = (
    "no differential privacy guarantee: without public bounds a record may lie anywhere, and no declared sensitivity "
    "covers it; give bounds"
)


@dataclass(eq=False)
class NaiveLaplace(Publisher):
    """Each record plus Laplace noise of scale Δf/ε, drawn as discrete Laplace on a public grid.

    With `bounds`, values are clamped to them (NaN becomes their middle) and the release is ε-differentially private at
    event level; without, the sensitivity is taken on trust and nothing is promised.

    >>> from sfumato.random import SeededSource
    >>> publisher = NaiveLaplace(bounds=(0, 100), epsilon=1.0, rng=SeededSource(1))
    >>> out = publisher.push_many(np.array([10.0, 20.0]))
    >>> out.seq.tolist(), out.position.tolist(), bool((out.values != [10, 20]).all())
    ([0, 1], [0, 1], True)
    """

    sensitivity: float | None = None
    epsilon: float = 1.0
    bounds: tuple[float, float] | None = None
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "sensitivity": Optional(Real(0, above=True)),
        "epsilon": Real(0, above=True),
        "bounds": Optional(Interval()),
    }
    OPTIONS: ClassVar = {"epsilon": EPSILON, "sensitivity": SENSITIVITY}
    name: ClassVar[str] = "laplace"
    linked: ClassVar[bool] = True
    delay = 0

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        self._run = run_of(self, rng)
        self._step, self._scale = self._grid()
        self._seq = 0

    def _grid(self) -> tuple[float, int]:
        """Return the grid's step and the noise's scale in steps, rounded up so that ε is never exceeded."""
        span = self.sensitivity
        if self.bounds is not None:
            span = max(self.bounds[1] - self.bounds[0], span or 0.0)
        if span is None:
            raise ParameterError("NaiveLaplace needs bounds, or a sensitivity; give bounds=(low, high)")
        if not math.isfinite(span):
            raise ParameterError(f"the bounds {self.bounds} lie too far apart to be subtracted; give narrower ones")
        step = step_for(Fraction(span) / Fraction(self.epsilon), STEPS)
        steps = Fraction(span) / Fraction(step)
        if self.bounds is not None:
            low, high = (grid_steps(bound, step) for bound in self.bounds)
            steps = max(steps, Fraction(high - low))
        return step, math.ceil(steps / Fraction(self.epsilon))

    @property
    def held(self) -> int:
        return 0

    def push(self, record: float) -> Published:
        steps = np.rint(np.array([[self._clamp(record)]]) / self._step)
        released = add_noise_to_rows(self._run, steps, Fraction(self._scale), self._seq)[0] * self._step
        place = np.array([self._seq])
        self._seq += 1
        return Published(released, place, ONE, place, place)

    def push_many(self, batch: Numbers) -> Published:
        values = self._clamp_all(np.asarray(batch, dtype=np.float64))
        places = np.arange(self._seq, self._seq + len(values))
        steps: Numbers = np.rint(values / self._step)
        released = add_noise_to_rows(self._run, steps[:, None], Fraction(self._scale), self._seq)[:, 0] * self._step
        self._seq += len(values)
        return Published(released, places, np.ones_like(places), places, places)

    def _clamp(self, record: float) -> float:
        """Return a record as `_clamp_all` does."""
        if self.bounds is not None:
            low, high = self.bounds
            return min(max(record, low), high) if record == record else (low + high) / 2  # noqa: PLR0124  # NaN
        if not math.isfinite(record):
            self._refuse(record, self._seq)
        return record

    def _clamp_all(self, values: Numbers) -> Numbers:
        """Return records within the bounds, their middle for NaN: a private release never stops over a value."""
        if self.bounds is not None:
            low, high = self.bounds
            return np.where(np.isnan(values), (low + high) / 2, np.clip(values, low, high))
        finite = np.isfinite(values)
        if not finite.all():
            wrong = int(np.argmin(finite))
            self._refuse(float(values[wrong]), self._seq + wrong)
        return values

    def _refuse(self, record: float, place: int) -> None:
        raise InputError(f"record {place}: {record} is not a finite number; clean it, or give bounds")

    def flush(self) -> Published:
        return Published.empty(linked=True)

    def state(self) -> bytes:
        self._run.forget()
        return pack(self.name, self.parameters(), {}, {"seq": self._seq})

    def restore(self, state: bytes) -> None:
        self._seq = int(unpack(state, self.name, self.parameters()).plain["seq"])
        self._run.forget()

    def card(self, *names: str) -> Card:
        promised = self.bounds is not None
        return make_card(
            self,
            guarantee_of(self),
            [ReleasedColumn(name=name, role="sensitive", type="number") for name in names],
            assumptions=EVENT if promised else (),
            warnings=() if promised else (UNBOUNDED,),
            source=self._run.source,
        )

    def promise(self) -> Promise | None:
        return None if self.bounds is None else record_promise(self.epsilon)

    @classmethod
    def for_number(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> Publisher:
        if bounds is None and "sensitivity" not in given:
            raise ParameterError(f"{cls.name} needs --bounds LOW HIGH, or --sensitivity")
        return cls.from_options(given, called=cls.name, bounds=bounds)

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> Publisher:
        del delay  # nothing is held back
        return cls(bounds=AUDITED, epsilon=epsilon, rng=rng)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        return Sample(cls(bounds=(0, 1000), epsilon=0.5)), Sample(cls(sensitivity=100))
