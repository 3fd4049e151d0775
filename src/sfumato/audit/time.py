"""The audit of time: is there a question whose answer takes longer when somebody's rows are there?

Haeberlen, Pierce & Narayan (2011, "Differential privacy under fire") read one person's row off the time of a query.
Here each question runs on two neighbouring tables, in pairs and in random order, and the times are compared.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from sfumato.audit.time_difference import difference_chance
from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.random import SecureSource, Source
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding

Twins = tuple[Callable[[], object], Callable[[], object]]
WARM_UP = 2  # runs of each side that are not counted: files are read and code is loaded the first time
FEWEST = 10


def time(
    subjects: Mapping[str, Twins], *, runs: int = 200, confidence: float = 0.999, rng: Source | None = None
) -> list[Finding]:
    """Return for each subject whether a clock tells its left side from its right one.

    A subject is two functions that do the same on neighbouring tables. Each is run `runs` times, pair by pair, in an
    order that is drawn. The chance of a false alarm is 1 - `confidence` for all subjects together (Bonferroni).

    >>> from time import sleep
    >>> from sfumato.random import SeededSource
    >>> subjects = {"leaky": (lambda: sleep(0.002), lambda: None), "constant": (lambda: None, lambda: None)}
    >>> [finding.verdict for finding in time(subjects, runs=30, rng=SeededSource(1))][0]
    'REFUTED'
    """
    if runs < FEWEST:
        raise ParameterError(f"the audit has {runs} runs; give at least {FEWEST}")
    if not 0 < confidence < 1:
        raise ParameterError(f"the confidence is {confidence}; give a number between 0 and 1")
    if not subjects:
        raise ParameterError("there is nothing to time; give at least one subject")
    source, level = rng or SecureSource(), (1 - confidence) / len(subjects)
    found = []
    for place, (name, twins) in enumerate(subjects.items()):
        tell(place / len(subjects), name)
        found.append(_finding(name, *_times(twins, runs, source), level))
    return found


def _times(twins: Twins, runs: int, source: Source) -> tuple[list[float], list[float]]:
    """Return the seconds that each side took, in pairs of which a coin says who goes first."""
    times: tuple[list[float], list[float]] = ([], [])
    for run, word in enumerate(source.words(WARM_UP + runs).tolist()):
        first = word & 1
        for side in (first, 1 - first):
            begun = perf_counter()
            twins[side]()
            passed = perf_counter() - begun
            if run >= WARM_UP:
                times[side].append(passed)
    return times


def _finding(name: str, left: list[float], right: list[float], level: float) -> Finding:
    chance = difference_chance(left, right)
    gap = statistics.median(a - b for a, b in zip(left, right, strict=True))
    evidence: dict[str, Any] = {
        "pairs": len(left),
        "median left": statistics.median(left),
        "median right": statistics.median(right),
        "median difference": gap,
        "p": chance,
        "level": level,
    }
    refuted = chance < level
    if refuted:
        words = f"{abs(gap) * 1e3:.3g} ms {'longer' if gap > 0 else 'shorter'}"
        evidence["reason"] = f"the left side takes {words} (median of {len(left)} pairs, p = {chance:.2g})"
    return Finding(
        claim=f"a clock cannot tell two neighbours apart by {name}",
        verdict=REFUTED if refuted else NOT_REFUTED,
        bound=abs(gap),
        evidence=evidence,
    )
