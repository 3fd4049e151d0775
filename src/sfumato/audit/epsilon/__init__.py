"""The least ε that a mechanism can have, shown by trials: an event, how often it came on two inputs, and confidence.

Ding, Wang, Wang, Zhang & Kifer (2018), "Detecting Violations of Differential Privacy", and Bichsel, Gehr,
Drachsler-Cohen, Tsankov & Vechev (2018), "DP-Finder": the event is chosen on one half of the trials and measured on the
other. A claim that is not refuted is not proven.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from sfumato.audit.epsilon.bounds import least_epsilon
from sfumato.audit.epsilon.event_search import choose
from sfumato.audit.epsilon.events import Event, Outputs
from sfumato.audit.epsilon.trials import ClaimTest, RandomFunction, is_vectorised, run, run_singly
from sfumato.core.progress import tell
from sfumato.errors import InputError
from sfumato.random import SecureSource, Source
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding

SINGLE_CALLS = 1000
MOST_REPEATED = 5_000_000  # numbers that are drawn on each input because a file of evidence says so


def epsilon(  # noqa: PLR0913  # the claim, and how hard it is tested
    mechanism: RandomFunction,
    left: Any,
    right: Any,
    *,
    claim: float,
    delta: float = 0.0,
    trials: int = 200_000,
    confidence: float = 0.999,
    events: Sequence[Event] = (),
    rng: Source | None = None,
) -> Finding:
    """Return whether trials on two neighbouring inputs refute (ε, δ), with the largest lower bound on ε they give.

    `mechanism` is a function of (input, count, rng) that returns `count` outputs (numbers, words, or vectors as rows),
    or of (input, rng) that returns one. `trials` is the number on each input; half of them choose an event, among
    thresholds, ranges, likelier sets, floating-point grids and the `events` given, the other half measure it. A
    mechanism that takes a count is also called a thousand times for one output, where a seed set in every call shows.

    >>> from fractions import Fraction
    >>> from sfumato.random import SeededSource, discrete_laplace
    >>> def noisy_count(count_of_rows, trials, rng):
    ...     return count_of_rows + discrete_laplace(trials, Fraction(1, 2), rng)
    >>> finding = epsilon(noisy_count, 10, 11, claim=1.0, trials=20_000, rng=SeededSource(1))
    >>> finding.verdict, 1.7 < finding.bound < 2
    ('REFUTED', True)
    """
    asked = ClaimTest(claim, delta, trials, confidence)
    source = SecureSource() if rng is None else rng
    if not is_vectorised(mechanism):
        return _finding(asked, left, right, _experiment(_half(run, mechanism, left, right, source), asked, events))
    half = replace(asked, confidence=1 - asked.outside / 2)
    together = _experiment(_half(run, mechanism, left, right, source), half, events)
    few = replace(half, trials=min(asked.trials, SINGLE_CALLS))
    singly = _experiment(_half(run_singly, mechanism, left, right, source), few, events)
    singly["calls"] = "one for each trial"
    return _finding(asked, left, right, max(together, singly, key=lambda found: float(found["bound"])))


def repeat(finding: Finding, mechanism: RandomFunction, *, rng: Source | None = None) -> Finding:
    """Return the finding of the same event on the same inputs, measured on as many new trials.

    >>> from sfumato.random import SeededSource
    >>> def leaky(value, count, rng):
    ...     return value + rng.words(count) % 2
    >>> first = epsilon(leaky, 0, 1, claim=1.0, trials=2000, rng=SeededSource(1))
    >>> repeat(first, leaky, rng=SeededSource(2)).verdict
    'REFUTED'
    """
    source, found = SecureSource() if rng is None else rng, finding.evidence
    try:
        asked = ClaimTest(found["claim"], found["delta"], 2 * found["trials"], found["confidence"])
        event, on_left, left, right = (
            Event.read(found["test"]),
            found["likelier"] == "left",
            found["left"],
            found["right"],
        )
    except (KeyError, TypeError, msgspec.ValidationError):
        raise InputError("the finding does not hold the evidence of an audit of epsilon; give one that does") from None
    _refuse_endless(found["trials"], left, right, singly="calls" in found)
    runner = run_singly if "calls" in found else run
    outputs = [runner(mechanism, value, found["trials"], source) for value in (left, right)]
    return _finding(asked, left, right, _measure_event(outputs, event, asked, on_left=on_left) | _calls(found))


def _refuse_endless(trials: int, left: Any, right: Any, *, singly: bool) -> None:
    """Refuse evidence whose repetition would not end: anybody may have written it."""
    most = SINGLE_CALLS if singly else MOST_REPEATED // max(1, *(len(np.ravel(value)) for value in (left, right)))
    if trials > most:
        raise InputError(f"the evidence asks for {trials} trials on each input; at most {most} are repeated")


def _calls(found: dict[str, Any]) -> dict[str, Any]:
    return {"calls": found["calls"]} if "calls" in found else {}


Half = Callable[[int], list[Outputs]]


def _half(
    runner: Callable[[RandomFunction, Any, int, Source], Outputs],
    mechanism: RandomFunction,
    left: Any,
    right: Any,
    source: Source,
) -> Half:
    """Return a function that runs so many trials on both inputs."""
    return lambda count: [runner(mechanism, value, count, source) for value in (left, right)]


def _experiment(outputs: Half, asked: ClaimTest, events: Sequence[Event]) -> dict[str, Any]:
    """Return the evidence of one experiment: an event chosen on half of the trials, its counts on the other half."""
    tell(0.1, "choosing an event")
    left, right = outputs(asked.trials // 2)
    chosen = choose(left, right, asked.delta, events)
    tell(0.5, f"measuring whether {chosen.event.words}")
    return _measure_event(outputs(asked.trials // 2), chosen.event, asked, on_left=chosen.on_left)


def _measure_event(outputs: list[Outputs], event: Event, asked: ClaimTest, *, on_left: bool) -> dict[str, Any]:
    hits = [int(event.holds(part).sum()) for part in outputs]
    trials = len(outputs[0])
    likelier, other = hits if on_left else hits[::-1]
    return {
        "event": event.words,
        "test": msgspec.to_builtins(event),
        "likelier": "left" if on_left else "right",
        "hits": {"left": hits[0], "right": hits[1]},
        "trials": trials,
        "bound": least_epsilon(likelier, other, trials, asked.delta, asked.outside),
    }


def _finding(asked: ClaimTest, left: Any, right: Any, found: dict[str, Any]) -> Finding:
    bound = found.pop("bound")
    evidence = {
        "reason": _reason(found, bound, asked.confidence),
        "left": left,
        "right": right,
        **found,
        "claim": asked.claim,
        "delta": asked.delta,
        "confidence": asked.confidence,
    }
    verdict = REFUTED if bound > asked.claim else NOT_REFUTED
    return Finding(claim=asked.words, verdict=verdict, bound=bound, evidence=evidence)


def _reason(found: dict[str, Any], bound: float, confidence: float) -> str:
    hits, trials = found["hits"], found["trials"]
    return (
        f"ε is at least {bound:.3g} with confidence {confidence:g}: {found['event']} in {hits['left']} of {trials} "
        f"trials on one input and in {hits['right']} on its neighbour"
    )
