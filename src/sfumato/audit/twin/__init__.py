"""The twin run: a whole path runs on two neighbouring inputs, the right run forced to the left one's random outcomes.

Zhang, E. Roth, Haeberlen, Pierce & A. Roth (2020), "Testing differential privacy with dual interpreters". A promise is
refuted when the privacy losses of the choices pass it, or when anything public differs that was not drawn. It proves
nothing. `docs/guides/audit.md` shows it on somebody else's mechanism.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sfumato.audit.twin.exact import exact_delta, law_of
from sfumato.audit.twin.public import first_difference, plain
from sfumato.audit.twin.watch import Follower, Recorder, used_twice
from sfumato.core.progress import tell
from sfumato.core.seam import Watcher, watched_by
from sfumato.errors import ParameterError, SfumatoError
from sfumato.promise.cost import Cost, Number, amount
from sfumato.promise.zcdp import epsilon_of
from sfumato.random.laws import Loss, Uniform
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding

ROUNDING = 1 + 1e-9  # sums of floats, nothing else
SURELY = 1e-12  # of probability, likewise
TIMES = 3
LARGEST_RHO = 1e6
LONGEST = 200  # characters of an outcome in a reason
Run = Callable[[Any], Any]


class Pair(NamedTuple):
    """Two neighbouring inputs, and what makes them neighbours in words.

    >>> Pair([1], [2], "the value of the only record").right
    [2]
    """

    left: Any
    right: Any
    words: str = "the pair of inputs given"


class Passed(NamedTuple):
    """What one twin run showed: why the promise is refuted, if it is, and how much of it was used."""

    reason: str | None
    loss: float
    draws: int


@dataclass(frozen=True, eq=False)
class TwinPath:
    """A path from an input to what leaves, neighbouring inputs, and the cost that is promised between them.

    >>> from fractions import Fraction
    >>> from sfumato.random import noise_from
    >>> def noisy(count):
    ...     return noise_from().laplace([count], Fraction(1))
    >>> TwinPath("a noisy count", noisy, [Pair(3, 4)], Cost(epsilon=1)).attack().verdict
    'NOT_REFUTED'
    """

    name: str
    run: Run
    pairs: Iterable[Pair]
    cost: Cost
    times: int = TIMES

    def attack(self) -> Finding:
        """Return the finding of twin runs on all pairs, the first refutation if there is one."""
        claim = f"{self.name}: {self.cost} between neighbours"
        largest, pairs, draws = 0.0, 0, 0
        for pair in self.pairs:
            tell(0.0, f"{pairs} pairs of neighbours so far")
            pairs += 1
            for _ in range(self.times):
                passed = run_pair(self.run, pair, self.cost)
                largest, draws = max(largest, passed.loss), draws + passed.draws
                if passed.reason is not None:
                    told = {"neighbours": pair.words, "reason": f"{pair.words}: {passed.reason}"}
                    return Finding(claim=claim, verdict=REFUTED, bound=passed.loss, evidence=told)
        if not pairs:
            raise ParameterError(f"{self.name} has no neighbouring inputs; give at least one pair")
        return Finding(
            claim=claim, verdict=NOT_REFUTED, bound=largest, evidence={"pairs": pairs, "draws watched": draws}
        )


def twice(
    run: Run,
    pairs: Iterable[tuple[Any, Any] | Pair],
    *,
    epsilon: Number = 0,
    delta: Number = 0,
    rho: Number = 0,
    name: str = "the path",
    times: int = TIMES,
) -> Finding:
    """Return what twin runs found about a promise of (ε, δ), or of ρ, between neighbouring inputs.

    `run(input)` returns all that becomes public; its noise must come from the library, or pass `sfumato.core.seam`.
    What is drawn in any other way shows as a difference.

    >>> from fractions import Fraction
    >>> from sfumato.random import noise_from
    >>> def half_the_noise(count):
    ...     return noise_from().laplace([count], Fraction(1, 2))
    >>> finding = twice(half_the_noise, [(3, 4)], epsilon=1)
    >>> finding.verdict, finding.bound
    ('REFUTED', 2.0)
    """
    cost = Cost(epsilon, delta, rho)
    if not (cost.epsilon or cost.rho):
        raise ParameterError(
            "a twin run needs the promise it attacks; give epsilon, with delta if there is one, or rho"
        )
    return TwinPath(name, run, (Pair(*pair) for pair in pairs), cost, times).attack()


def run_pair(run: Run, pair: Pair, cost: Cost) -> Passed:
    """Return what one twin run on a pair shows.

    >>> run_pair(lambda value: value, Pair(1, 2), Cost(epsilon=1)).reason
    'the outcome: 1 on the left, 2 on the right, and no watched draw explains it'
    """
    recorder = Recorder()
    left = observe(run, pair.left, recorder)
    if recorder.hides:
        return _run_exactly(run, pair, cost)
    follower = Follower(recorder.choices)
    right = observe(run, pair.right, follower)
    follower.finish()
    apart, twice_used = first_difference(left, right), used_twice(recorder.choices)
    if follower.difference is not None:
        reason: str | None = f"{follower.difference}; {apart or 'the outcomes are the same'}"
    else:
        reason = twice_used or _excess(follower, cost)
        reason = reason if apart is None else f"{apart}, and no watched draw explains it"
    return Passed(reason, _told(follower.loss, cost), len(recorder.choices))


def observe(run: Run, given: Any, watcher: Watcher) -> Any:
    """Return what the public sees of a run, a refusal's sentence included.

    >>> observe(lambda value: 1 // value, 0, Recorder())
    {'error': 'ZeroDivisionError: integer division or modulo by zero'}
    """
    with watched_by(watcher):
        try:
            return plain(run(given))
        except SfumatoError as error:
            return {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - a crash is as public as an answer
            return {"error": f"{type(error).__name__}: {error}"}


def _excess(follower: Follower, cost: Cost) -> str | None:
    """Return how the losses pass the promise, or None where they keep it."""
    if within(follower.loss, cost):
        return None
    place, kind, worst = max(follower.spent, key=lambda entry: (entry[2].rho, entry[2].delta))
    total = follower.loss
    reached = f"rho {total.rho:.6g}" if cost.rho else f"epsilon {total.epsilon:.6g}"
    chance = f" and delta {total.delta:.3g}" if total.delta else ""
    most = f"rho {worst.rho:.6g}" if cost.rho else f"epsilon {worst.epsilon:.6g}"
    return f"the draws tell {reached}{chance} where {cost} is promised; draw {place + 1} ({kind}) tells most, {most}"


def within(loss: Loss, cost: Cost) -> bool:
    """Return whether the losses of all choices together keep a promise.

    >>> within(Loss(1.0, 1.0, 0.5), Cost(epsilon=1)), within(Loss(1.1, 0, 0.5), Cost(epsilon=1))
    (True, False)
    """
    epsilon, delta, rho = (float(part) for part in (cost.epsilon, cost.delta, cost.rho))
    if loss.delta > delta * ROUNDING:
        return False
    if rho:
        return loss.rho <= rho * ROUNDING
    if loss.epsilon <= epsilon * ROUNDING:
        return True
    return _converted(loss, delta - loss.delta) <= epsilon * ROUNDING


def _told(loss: Loss, cost: Cost) -> float:
    """Return what the draws tell, in the coin of the promise."""
    if cost.rho:
        return loss.rho
    return loss.epsilon if math.isfinite(loss.epsilon) else _converted(loss, float(cost.delta) - loss.delta)


def _converted(loss: Loss, delta: float) -> float:
    """Return the ε that ρ gives at a δ; none is enough where there is no δ."""
    if delta <= 0 or loss.rho > LARGEST_RHO:
        return math.inf
    return float(epsilon_of(_decimal(loss.rho), _decimal(delta)))


def _run_exactly(run: Run, pair: Pair, cost: Cost) -> Passed:
    """Return what the exact laws of both sides show, where a hidden draw is summed out."""
    lots: dict[Uniform, Any] = {}
    left, right = (law_of(partial(_public, run), given, lots) for given in (pair.left, pair.right))
    delta, worst = exact_delta(left, right, float(cost.epsilon))
    if delta <= float(cost.delta) * ROUNDING + SURELY:
        return Passed(None, float(cost.epsilon), len(left))
    told = f"by exact sums delta is {delta:.4g} at epsilon {cost.epsilon} where {cost} is promised"
    return Passed(f"{told}; {_shown(worst)} tells most", float(cost.epsilon), len(left))


def _shown(outcome: str) -> str:
    """Return the rows of an outcome, or all of it, short enough to be read."""
    found = json.loads(outcome)
    rows = found.get("rows", found) if isinstance(found, dict) else found
    text = json.dumps(rows, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _public(run: Run, given: Any) -> Any:
    try:
        return run(given)
    except SfumatoError as error:
        return {"error": str(error)}


def _decimal(value: float) -> Any:
    return amount(f"{value:.30f}".rstrip("0") or "0")
