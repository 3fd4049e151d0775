"""Running a mechanism many times, in one call or one by one, and finding the neighbours that it tells apart best.

An auditor sees a mechanism as a black box (Ding, Wang, Wang, Zhang & Kifer 2018): an input, randomness, an output.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from sfumato.audit.epsilon.event_search import choose
from sfumato.audit.epsilon.events import Outputs
from sfumato.core.parameters import Real, Validated, Whole
from sfumato.dp.mechanisms.trial import Pair
from sfumato.errors import InputError, ParameterError
from sfumato.random import SecureSource, Source

RandomFunction = Callable[..., Any]  # of (input, count, source), or of (input, source) for one output
MOST_PAIRS = 64


@dataclass(frozen=True)
class ClaimTest(Validated):
    """A claim of (ε, δ), and how hard it is tested: trials on each input, and the confidence of the bound.

    >>> ClaimTest(claim=1.0).words
    'ε-differential privacy with ε=1'
    """

    claim: float
    delta: float = 0.0
    trials: int = 200_000
    confidence: float = 0.999

    RULES: ClassVar = {
        "claim": Real(0),
        "delta": Real(0, 1),
        "trials": Whole(100),
        "confidence": Real(0, 0.999999, above=True),
    }

    @property
    def words(self) -> str:
        """The claim in words."""
        if self.delta == 0:
            return f"ε-differential privacy with ε={self.claim:g}"
        return f"(ε, δ)-differential privacy with ε={self.claim:g}, δ={self.delta:g}"

    @property
    def outside(self) -> float:
        """The probability that the bound is wrong, at most."""
        return 1 - self.confidence


def is_vectorised(mechanism: RandomFunction) -> bool:
    """Return whether a mechanism takes an input, a number of trials and randomness, or only the first and the last.

    >>> is_vectorised(lambda value, count, rng: None), is_vectorised(lambda value, rng: None)
    (True, False)
    """
    try:
        taken = list(inspect.signature(mechanism).parameters.values())
    except (TypeError, ValueError):
        raise ParameterError(
            "the mechanism cannot be looked into; wrap it in a function of (input, count, rng)"
        ) from None
    needed = [
        entry
        for entry in taken
        if entry.default is entry.empty and entry.kind not in {entry.VAR_POSITIONAL, entry.VAR_KEYWORD}
    ]
    if len(needed) not in {2, 3}:
        raise ParameterError(f"the mechanism takes {len(needed)} arguments; wanted (input, count, rng) or (input, rng)")
    return len(needed) == 3


def run(mechanism: RandomFunction, value: Any, count: int, source: Source) -> Outputs:
    """Return the outputs of `count` trials on one input, one row each.

    >>> from sfumato.random import SeededSource
    >>> run(lambda value, rng: value, 7, 3, SeededSource(1)).tolist()
    [7, 7, 7]
    """
    if is_vectorised(mechanism):
        outputs = np.asarray(mechanism(value, count, source))
    else:
        outputs = np.asarray([mechanism(value, source) for _ in range(count)])
    if outputs.ndim == 0 or len(outputs) != count or outputs.dtype.kind not in "biufUS":
        raise InputError(
            f"{count} trials gave {_describe(outputs)}; wanted {count} numbers, words or vectors of numbers"
        )
    return outputs


def run_singly(mechanism: RandomFunction, value: Any, count: int, source: Source) -> Outputs:
    """Return the outputs of `count` calls for one trial each: a seed that is set anew in every call shows here.

    >>> from sfumato.random import SeededSource
    >>> run_singly(lambda value, count, rng: [value] * count, 7, 3, SeededSource(1)).tolist()
    [7, 7, 7]
    """
    return np.concatenate([run(mechanism, value, 1, source) for _ in range(count)])


def worst_pair(
    mechanism: RandomFunction,
    pairs: Iterable[Pair],
    *,
    delta: float = 0.0,
    trials: int = 20_000,
    rng: Source | None = None,
) -> Pair:
    """Return the pair that the mechanism tells apart best, by trials that are then forgotten; 64 pairs at most.

    >>> import numpy as np
    >>> def clamped(value, count, rng):
    ...     return np.clip(value, 0, 1) + rng.words(count) / 2**32
    >>> worst_pair(clamped, [(5, 6), (0, 1)], trials=1000)
    (0, 1)
    """
    source = SecureSource() if rng is None else rng
    tried = list(islice(pairs, MOST_PAIRS))
    if not tried:
        raise InputError("there is no pair of neighbouring inputs to try; give at least one")
    scores = [
        choose(run(mechanism, left, trials, source), run(mechanism, right, trials, source), delta).score
        for left, right in tried
    ]
    return tried[max(range(len(tried)), key=scores.__getitem__)]


def _describe(outputs: Outputs) -> str:
    return f"an array of {outputs.dtype} of shape {outputs.shape}" if outputs.ndim else f"one {outputs.dtype}"
