"""Window means: every window of records leaves as its mean with Laplace noise (Dwork, McSherry, Nissim & Smith 2006).

One record moves the sum of a window by at most the width of the bounds, and windows hold disjoint records (McSherry
2009), so the whole stream costs ε once.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.random import Source
from sfumato.stream.base import Numbers
from sfumato.stream.noise import Interval, grid_steps, noise_scale, step_for
from sfumato.stream.windows import WindowedPublisher

STEPS = 2**20  # of the public grid between the bounds


@dataclass(eq=False)
class WindowMeans(WindowedPublisher):
    """The noisy mean of each window, once for every record in it.

    >>> publisher = WindowMeans(bounds=(0, 10), window=2)
    >>> len(publisher.push_many(np.array([1.0, 2.0, 3.0])))
    2
    """

    bounds: tuple[float, float]
    window: int = 1000
    epsilon: float = 1.0
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {**WindowedPublisher.RULES, "bounds": Interval()}
    NOTES: ClassVar = ("Every row of a window shows the window's noisy mean.",)
    name: ClassVar[str] = "window-means"

    def prepare(self) -> None:
        """Fix the grid and the scale of the noise from public numbers alone."""
        self._step = step_for(Fraction(self.bounds[1]) - Fraction(self.bounds[0]), STEPS)
        self._low, self._high = (grid_steps(bound, self._step) for bound in self.bounds)
        self._scale = noise_scale(self._high - self._low, self.epsilon)

    def release(self, values: Numbers, number: int) -> Numbers:
        """Return the noisy mean of one window; what is no number counts as the middle of the bounds."""
        middle = (self._low + self._high) // 2
        steps = np.nan_to_num(np.rint(values / self._step), nan=middle, posinf=self._high, neginf=self._low)
        total = np.clip(steps, self._low, self._high).astype(np.int64).sum(keepdims=True)
        noisy = self.add_noise(total, self._scale, number)
        return np.full(len(values), float(noisy[0]) * self._step / len(values))
