"""The exact law of a run on a small input, by trying every outcome of every choice: where a draw is hidden in the end.

A sample that stays secret cannot be forced; it is summed out, and δ is the hockey-stick divergence (Barthe & Olmedo
2013) of the two laws. What is shuffled afterwards is compared as a set.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.audit.twin.public import plain
from sfumato.core.seam import Law, Outcome, watched_by
from sfumato.errors import ParameterError
from sfumato.random.laws import Uniform

MOST_RUNS = 20_000
Outcomes = dict[str, float]


@dataclass(eq=False)
class Explorer:
    """The watcher of one run among all: it takes the branches it is given and then the first ones, noting the others.

    >>> from sfumato.random.laws import HiddenSample
    >>> from fractions import Fraction
    >>> explorer = Explorer([1])
    >>> explorer.choose(HiddenSample(1, Fraction(1, 4)), None).tolist(), explorer.chance
    ([True], 0.25)
    """

    branches: list[int]
    lots: dict[Uniform, Any] | None = None
    taken: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    chance: float = 1.0
    shuffled: set[int] = field(default_factory=set)

    def choose(self, law: Law, draw: Callable[[], Outcome]) -> Outcome:
        """Return one outcome of the choice; an order is left as it is, and remembered."""
        if isinstance(law, Uniform):
            return self._take_lot(law, draw)
        if not hasattr(law, "outcomes"):
            raise ParameterError(f"a draw of {law.public[0]} beside a hidden sample cannot be summed out")
        outcomes = list(law.outcomes())
        place = len(self.taken)
        branch = self.branches[place] if place < len(self.branches) else 0
        self.taken.append(branch)
        self.widths.append(len(outcomes))
        outcome, chance = outcomes[branch]
        self.chance *= chance
        return outcome  # type: ignore[no-any-return]

    def _take_lot(self, law: Uniform, draw: Callable[[], Outcome]) -> Outcome:
        """Return an order as it is, and any other draw that no record decides as it came first."""
        if law.kind == "order":
            self.shuffled.add(law.count)
            order: Any = np.arange(law.count)
            return order  # type: ignore[no-any-return]
        lots = self.lots if self.lots is not None else {}
        if law not in lots:
            lots[law] = draw()
        return lots[law]  # type: ignore[no-any-return]

    def next_branches(self) -> list[int] | None:
        """Return the branches of the next run, None after the last one."""
        for place in range(len(self.taken) - 1, -1, -1):
            if self.taken[place] + 1 < self.widths[place]:
                return [*self.taken[:place], self.taken[place] + 1]
        return None


def law_of(run: Callable[[Any], Any], given: Any, lots: dict[Uniform, Any] | None = None) -> Outcomes:
    """Return every public outcome of a run on an input with its exact probability; `lots` are what both sides share.

    >>> from fractions import Fraction
    >>> from sfumato.random import noise_from
    >>> law_of(lambda value: noise_from().randomized_response(value, 2, Fraction(3, 4)), 1)
    {'0': 0.25, '1': 0.75}
    """
    found: Outcomes = {}
    shared: dict[Uniform, Any] = {} if lots is None else lots
    branches: list[int] | None = []
    runs = 0
    while branches is not None:
        explorer = Explorer(branches, shared)
        with watched_by(explorer):
            outcome = plain(run(given))
        text = json.dumps(_sorted(outcome, explorer.shuffled), sort_keys=True, default=str)
        found[text] = found.get(text, 0.0) + explorer.chance
        branches = explorer.next_branches()
        runs += 1
        if runs > MOST_RUNS:
            raise ParameterError(f"the input is too large to be summed over (more than {MOST_RUNS} runs); give less")
    return found


def exact_delta(left: Outcomes, right: Outcomes, epsilon: float) -> tuple[float, str]:
    """Return the larger hockey-stick divergence at ε of two laws, and the outcome that adds most to it.

    >>> exact_delta({"a": 1.0}, {"a": 0.5, "b": 0.5}, 1.0)
    (0.5, 'b')
    """
    sides = []
    for one, other in ((left, right), (right, left)):
        excess = {key: chance - math.exp(epsilon) * other.get(key, 0.0) for key, chance in one.items()}
        worst = max(excess, key=lambda key: excess[key])
        sides.append((math.fsum(part for part in excess.values() if part > 0), worst))
    return max(sides)


def _sorted(outcome: Any, shuffled: set[int]) -> Any:
    """Return an outcome whose lists that were shuffled are sorted: any order of them is as likely as any other."""
    if isinstance(outcome, dict):
        return {key: _sorted(value, shuffled) for key, value in outcome.items()}
    if isinstance(outcome, list):
        parts = [_sorted(value, shuffled) for value in outcome]
        if len(parts) > 1 and len(parts) in shuffled and all(isinstance(part, dict) for part in parts):
            return sorted(parts, key=lambda part: json.dumps(part, sort_keys=True, default=str))
        return parts
    return outcome
