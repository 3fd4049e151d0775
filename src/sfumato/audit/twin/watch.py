"""Who watches the two runs: the left one is recorded, the right one is forced to the same outcomes.

Zhang, E. Roth, Haeberlen, Pierce & A. Roth (2020): with every outcome forced, what is left to differ is the privacy
loss of each choice, and whatever left without noise.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from sfumato.core.seam import Law, Outcome
from sfumato.random.laws import NOTHING, HiddenSample, Loss


@dataclass(frozen=True, eq=False)
class Choice:
    """One recorded choice: its law on the left input, and what came out."""

    law: Law
    outcome: Any


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

    def choose(self, law: Law, draw: Callable[[], Outcome]) -> Outcome:
        """Return the recorded outcome; once the runs have parted, what is drawn."""
        place, self.place = self.place, self.place + 1
        if self.difference is None:
            self.difference = self._parting(place, law)
        if self.difference is not None:
            return draw()
        recorded = self.choices[place]
        loss = recorded.law.loss(law, recorded.outcome)
        if loss != NOTHING:
            self.loss += loss
            self.spent.append((place, str(law.public[0]), loss))
        forced: Outcome = deepcopy(recorded.outcome)
        return forced

    def finish(self) -> None:
        """Notice that the right run made fewer choices than the left one."""
        if self.difference is None and self.place < len(self.choices):
            self.difference = f"the left run makes {len(self.choices)} draws, the right one {self.place}"

    def _parting(self, place: int, law: Law) -> str | None:
        if place >= len(self.choices):
            return f"draw {place + 1} ({law.public[0]}) is made on the right alone"
        left = self.choices[place].law.public
        return None if left == law.public else f"draw {place + 1} is {left} on the left, {law.public} on the right"
