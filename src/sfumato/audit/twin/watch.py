"""Who watches the two runs: the left one is recorded, the right one is forced to the same outcomes.

Zhang, E. Roth, Haeberlen, Pierce & A. Roth (2020): with every outcome forced, what is left to differ is the privacy
loss of each choice, and whatever left without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.core.seam import Law, Outcome
from sfumato.random.laws import NOTHING, HiddenSample, Loss

ENOUGH_BITS = 60
SAME_NOISE = 1e-3  # in scales: what rounding to grids leaves


@dataclass(frozen=True, eq=False)
class Choice:
    """One recorded choice: its law on the left input, and what came out."""

    law: Law
    outcome: Any

    @property
    def surely_drawn(self) -> bool:
        """Whether the choice holds so many random bits that no other one has the same noise by chance."""
        return getattr(self.law, "bits", 0.0) >= ENOUGH_BITS

    @cached_property
    def mark(self) -> tuple[Any, ...] | None:
        """What the choice is recognised by when it is made again; None where chance could make it again."""
        if not self.surely_drawn:
            return None
        law: Any = self.law
        return law.public, np.asarray(law.centres).tobytes(), np.asarray(self.outcome).tobytes()

    @cached_property
    def noise(self) -> Any:
        """The noise of the outcome, in scales."""
        law: Any = self.law
        return law.noise(self.outcome)


def used_twice(choices: Sequence[Choice]) -> str | None:
    """Return in words that two choices which are not the same share their noise, so that it cancels out; or None.

    >>> from fractions import Fraction
    >>> from sfumato.random.laws import DiscreteLaplace
    >>> noise, scale = np.array([400_123, -2_000_400, 77_000, 31_007]), Fraction(2**20)
    >>> one, other = np.array([5, 7, 1, 2]), np.array([6, 7, 1, 2])
    >>> used_twice([Choice(DiscreteLaplace(centres, scale), centres + noise) for centres in (one, other)])
    'draws 1 and 2 cover different contents with the same noise'
    """
    drawn = [(place, choice) for place, choice in enumerate(choices) if choice.surely_drawn]
    for at, (first, one) in enumerate(drawn):
        for second, other in drawn[at + 1 :]:
            alike = one.noise.shape == other.noise.shape and type(one.law) is type(other.law)
            if alike and one.mark != other.mark and np.allclose(one.noise, other.noise, rtol=0, atol=SAME_NOISE):
                return f"draws {first + 1} and {second + 1} cover different contents with the same noise"
    return None


@dataclass(eq=False)
class Recorder:
    """The watcher of the left run.

    >>> recorder = Recorder()
    >>> recorder.choose("a law", lambda: 3), len(recorder.choices)
    (3, 1)
    """

    choices: list[Choice] = field(default_factory=list)

    def choose(self, law: Law, draw: Callable[[], Outcome]) -> Outcome:
        """Return what is drawn, and remember it."""
        outcome = draw()
        self.choices.append(Choice(law, deepcopy(outcome)))
        return outcome

    @property
    def hides(self) -> bool:
        """Whether a choice was made that is summed out, so that it cannot be forced."""
        return any(isinstance(choice.law, HiddenSample) for choice in self.choices)


@dataclass(eq=False)
class Follower:
    """The watcher of the right run: it forces what was recorded, as long as the choices have the same public form.

    >>> from fractions import Fraction
    >>> from sfumato.random.laws import DiscreteLaplace
    >>> follower = Follower([Choice(DiscreteLaplace([5], Fraction(2)), [9])])
    >>> follower.choose(DiscreteLaplace([6], Fraction(2)), lambda: [0]), follower.loss.epsilon
    ([9], 0.5)
    """

    choices: list[Choice]
    place: int = 0
    loss: Loss = NOTHING
    difference: str | None = None
    spent: list[tuple[int, str, Loss]] = field(default_factory=list)
    seen: set[tuple[Any, Any]] = field(default_factory=set)

    def choose(self, law: Law, draw: Callable[[], Outcome]) -> Outcome:
        """Return the recorded outcome; once the runs have parted, what is drawn."""
        place, self.place = self.place, self.place + 1
        if self.difference is None:
            self.difference = self._parting(place, law)
        if self.difference is not None:
            return draw()
        recorded = self.choices[place]
        loss = NOTHING if self._repeats(recorded, law) else recorded.law.loss(law, recorded.outcome)
        if loss != NOTHING:
            self.loss += loss
            self.spent.append((place, str(law.public[0]), loss))
        forced: Outcome = deepcopy(recorded.outcome)
        return forced

    def _repeats(self, recorded: Choice, law: Law) -> bool:
        """Return whether both sides only draw again what they drew before: keyed noise of the same content."""
        mark = recorded.mark, Choice(law, recorded.outcome).mark
        if None in mark:
            return False
        again = mark in self.seen
        self.seen.add(mark)
        return again

    def finish(self) -> None:
        """Notice that the right run made fewer choices than the left one."""
        if self.difference is None and self.place < len(self.choices):
            self.difference = f"the left run makes {len(self.choices)} draws, the right one {self.place}"

    def _parting(self, place: int, law: Law) -> str | None:
        if place >= len(self.choices):
            return f"draw {place + 1} ({law.public[0]}) is made on the right alone"
        left = self.choices[place].law.public
        return None if left == law.public else f"draw {place + 1} is {left} on the left, {law.public} on the right"
