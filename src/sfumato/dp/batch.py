"""Questions declared together: one price for all, composed tightly, with less noise than an even split of ε gives.

Only counts and sums over declared groups can stand together, since their noise is known before any answer; questions
chosen in the light of answers go one by one, through the ledger's filter.
Privacy loss distributions are composed by dp-accounting (Koskela, Jälkö & Honkela 2020; Doroshenko, Ghazi, Kamath,
Kumar & Manurangsi 2022), pessimistically; `docs/algorithms/mechanisms.md` shows why one-dimensional laws dominate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.core.parameters import Rule, Validated, Whole
from sfumato.dp.mechanisms.additive import AdditiveNoise, Gaussian, Laplace
from sfumato.dp.mechanisms.base import Number, exact
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.estimators import OneNumber
from sfumato.dp.questions.request import Cells, Tallies
from sfumato.dp.stored_answer import AnswerColumn
from sfumato.errors import MissingExtraError, ParameterError
from sfumato.promise.cost import Cost
from sfumato.promise.zcdp import rho_of
from sfumato.random import Noise

FINEST = 1000  # a shift of more steps is treated as one of this many coarser steps, which is never less
WIDEST = 20_000  # a Gaussian wider than this is not summed over; its zCDP bound is kept
RESOLUTION = 10**4  # parts into which ε is cut
SLACK = 1e-12  # more than floating point can lose in a composition
BISECTIONS = 20
DIGITS = 10**6


class NoiseKind(StrEnum):
    """Which noise a batch draws.

    >>> NoiseKind("laplace") is NoiseKind.LAPLACE
    True
    """

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class Weight(Validated):
    """Questions of one form: one unit moves each of at most `numbers` answers by at most `sensitivity`.

    >>> Weight(sensitivity=3, numbers=2).l1, Weight(sensitivity=3, numbers=2, times=5).l2_squared
    (6, 18)
    """

    sensitivity: int = 1
    numbers: int = 1
    times: int = 1

    RULES: ClassVar[dict[str, Rule]] = {"sensitivity": Whole(1), "numbers": Whole(1), "times": Whole(1)}

    @property
    def l1(self) -> int:
        """By how much one unit moves the answers to one question, in sum."""
        return self.sensitivity * self.numbers

    @property
    def l2_squared(self) -> int:
        """By how much one unit moves the answers to one question, in the sum of squares."""
        return self.sensitivity**2 * self.numbers


def allot(
    weights: Sequence[Weight], epsilon: Number, delta: Number, kind: NoiseKind = NoiseKind.LAPLACE
) -> list[AdditiveNoise]:
    """Return a mechanism for each form of question, such that all of them together are (ε, δ)-private.

    Noise is the same multiple of every question's sensitivity, the smallest that composition allows to a thousandth.

    >>> hundred = [Weight(times=100)]
    >>> allot(hundred, 1, "1e-6")[0].scale < split(hundred, 1)[0].scale / 2
    True
    """
    total, limit = exact(epsilon), exact(delta)
    if total <= 0 or not 10 * SLACK < limit < 1 or not weights:
        raise ParameterError(
            f"{len(weights)} questions at epsilon {epsilon}, delta {delta} cannot be allotted; "
            f"give some questions, an epsilon above 0 and a delta above {10 * SLACK:g} and below 1"
        )
    if kind is NoiseKind.LAPLACE:
        safe = _questions(weights) / total
        factor = _smallest(_laplace_law, weights, total, limit, safe)
        return [Laplace(factor * weight.l1) for weight in weights]
    rho = Fraction(rho_of(_decimal(total), _decimal(limit)))
    safe = _rounded_up(math.sqrt(_questions(weights) / (2 * rho)) * (1 + 1e-12))
    widest = max(float(safe) * math.sqrt(weight.l2_squared) for weight in weights)
    factor = safe if widest > WIDEST else _smallest(_gaussian_law, weights, total, limit, safe)
    return [Gaussian(factor**2 * weight.l2_squared) for weight in weights]


def split(weights: Sequence[Weight], epsilon: Number) -> list[Laplace]:
    """Return Laplace mechanisms that share ε evenly among all questions: what composition without δ gives.

    >>> split([Weight(times=9), Weight(sensitivity=5)], 1)
    [Laplace(scale=Fraction(10, 1)), Laplace(scale=Fraction(50, 1))]
    """
    return [Laplace(weight.l1 * _questions(weights) / exact(epsilon)) for weight in weights]


def _smallest(
    law: Callable[[Weight, float, float], Any],
    weights: Sequence[Weight],
    epsilon: Fraction,
    delta: Fraction,
    safe: Fraction,
) -> Fraction:
    """Return a multiple of the sensitivity, at most `safe`, at which all laws composed stay within (ε, δ)."""
    width, most = float(epsilon) / RESOLUTION, float(delta) - SLACK

    def private(factor: float) -> bool:
        laws = [law(weight, factor, width) for weight in weights]
        composed = laws[0]
        for other in laws[1:]:
            composed = composed.compose(other)
        return bool(composed.get_delta_for_epsilon(float(epsilon)) <= most)

    low, high = float(safe) / 64, float(safe)
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
        if high < low * 1.001:
            break
    return min(_rounded_up(high), safe)


def _laplace_law(weight: Weight, factor: float, width: float) -> Any:
    """The law of a shift by l1 steps under a scale of factor·l1 steps, or of a coarser shift that is never less."""
    steps = min(weight.l1, FINEST)
    shift = -(-weight.l1 // steps) * steps
    scale = factor * weight.l1 / (shift // steps)
    law = _distributions().from_discrete_laplace_mechanism(
        1 / scale, sensitivity=steps, value_discretization_interval=width, use_connect_dots=True
    )
    return law.self_compose(weight.times) if weight.times > 1 else law


def _gaussian_law(weight: Weight, factor: float, width: float) -> Any:
    """The law of all numbers moved by the whole sensitivity, which dominates any smaller move."""
    sigma = factor * math.sqrt(weight.l2_squared)
    law = _distributions().from_discrete_gaussian_mechanism(
        sigma, sensitivity=weight.sensitivity, value_discretization_interval=width, use_connect_dots=True
    )
    moves = weight.times * weight.numbers
    return law.self_compose(moves) if moves > 1 else law


def _distributions() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError as error:
        raise MissingExtraError("tight composition needs dp-accounting; pip install 'sfumato[batch]'") from error
    return privacy_loss_distribution


def _questions(weights: Sequence[Weight]) -> int:
    return sum(weight.times for weight in weights)


def _rounded_up(value: float) -> Fraction:
    return Fraction(math.ceil(value * DIGITS) + 1, DIGITS)


def _decimal(value: Fraction) -> Decimal:
    """The value rounded down: a smaller ε or δ asks for more noise."""
    return Context(prec=30, rounding=ROUND_FLOOR).divide(Decimal(value.numerator), Decimal(value.denominator))


def simple_estimator(compiled: Compiled) -> OneNumber:
    """Return the one count or sum that a question of a batch asks for, or refuse it."""
    found = compiled.estimators[0]
    if len(compiled.estimators) == 1 and isinstance(found, OneNumber) and not compiled.unknown:
        return found
    raise ParameterError(
        f"'{compiled.words}' cannot be asked together with others; declare counts and sums over declared groups alone"
    )


def refuse_apart(questions: Sequence[Compiled]) -> None:
    """Refuse questions about several tables of a ledger: those that share a price are answered from one look.

    >>> refuse_apart([])
    """
    tables = {(compiled.table, compiled.tables) for compiled in questions}
    if len(tables) > 1:
        raise ParameterError(
            "the questions declared together read different tables; declare those about the same tables together"
        )


def mechanisms_together(questions: Sequence[Compiled], cost: Cost) -> list[AdditiveNoise]:
    """Return a mechanism for each question, all of them together within the price.

    Questions of the same sensitivity count as one form, which keeps the composition fast.
    """
    if not questions:
        raise ParameterError("the batch has no question; give at least one")
    refuse_apart(questions)
    if not (cost.epsilon and cost.delta):
        raise ParameterError(
            "questions declared together need epsilon and a delta above 0, under pure accounting; "
            "under zCDP ask them one by one, which composes as tightly"
        )
    lengths = [_length(compiled) for compiled in questions]
    forms = sorted(set(lengths))
    weights = [Weight(sensitivity=length, times=lengths.count(length)) for length in forms]
    made = dict(zip(forms, allot(weights, cost.epsilon, cost.delta), strict=True))
    return [made[length] for length in lengths]


def _length(compiled: Compiled) -> int:
    estimator = simple_estimator(compiled)
    return estimator.norms(compiled.norms).l1(*estimator.reach)


def batch_columns(
    compiled: Compiled, tallies: Tallies, mechanism: AdditiveNoise, noise: Noise
) -> tuple[list[Cells], list[AnswerColumn]]:
    """Return the groups of one question of a batch and their noisy answers."""
    return tallies.cells, [simple_estimator(compiled).with_noise(tallies.columns[0], mechanism, noise)]
