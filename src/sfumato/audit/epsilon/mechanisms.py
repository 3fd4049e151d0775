"""Mechanisms that can be audited by name: our own, which must stand, and well-known broken ones, which must fall.

The broken ones are the classical mistakes: half the scale, a seed set anew, floating-point noise (Mironov 2012), a
wrong sensitivity, and an exponential mechanism without its factor 2 (McSherry & Talwar 2007, theorem 6).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.audit.epsilon.events import Event, Floats, Integers, Itself
from sfumato.audit.epsilon.naive_laplace import Unreachable, naive_laplace
from sfumato.audit.epsilon.pairs import Pair, number_pairs, vector_pairs
from sfumato.audit.epsilon.trials import Mechanism
from sfumato.dp.ledger.amount import amount
from sfumato.dp.ledger.zcdp import rho_of
from sfumato.dp.mechanisms import ExponentialMechanism, Gaussian, Laplace, RandomizedResponse, ReportNoisyMax
from sfumato.dp.mechanisms.base import exact
from sfumato.errors import InputError, suggestion
from sfumato.random import SeededSource, Source, discrete_laplace, noise_from

CANDIDATES = 12
FORGOTTEN = 10  # how many times larger than thought the sensitivity of the wrong one is
SEED = 20180101
DELTA = 1e-6


@dataclass(frozen=True)
class Subject:
    """A mechanism to audit, neighbouring inputs to try it on, events that its law suggests, and the δ of its claim.

    >>> len(named("laplace", 1.0).pairs)
    4
    """

    mechanism: Mechanism
    pairs: Sequence[Pair]
    events: Sequence[Event] = ()
    delta: float = 0.0


def _additive(scale: Fraction, by: int = 1) -> Subject:
    def noisy(value: int, count: int, rng: Source) -> Integers:
        return value + discrete_laplace(count, scale, rng)

    return Subject(noisy, list(number_pairs(by)))


def _laplace(epsilon: Fraction) -> Subject:
    mechanism = Laplace.for_epsilon(epsilon, l1=1)

    def noisy(value: int, count: int, rng: Source) -> list[int]:
        return mechanism.release([value] * count, noise_from(rng))

    return Subject(noisy, list(number_pairs()))


def _gaussian(epsilon: Fraction) -> Subject:
    mechanism = Gaussian.for_rho(str(rho_of(amount(float(epsilon)), amount(DELTA))), l2_squared=1)

    def noisy(value: int, count: int, rng: Source) -> list[int]:
        return mechanism.release([value] * count, noise_from(rng))

    return Subject(noisy, list(number_pairs()), delta=DELTA)


def _selection(mechanism: ExponentialMechanism | ReportNoisyMax) -> Subject:
    def chosen(scores: Sequence[int], count: int, rng: Source) -> list[int]:
        noise = noise_from(rng)
        return [mechanism.choose(scores, noise) for _ in range(count)]

    return Subject(chosen, list(vector_pairs(CANDIDATES)))


def _response(epsilon: Fraction) -> Subject:
    mechanism = RandomizedResponse(("no", "yes"), epsilon)

    def told(value: str, count: int, rng: Source) -> list[str | int]:
        noise = noise_from(rng)
        return [mechanism.respond(value, noise) for _ in range(count)]

    return Subject(told, [("no", "yes")])


def _same_seed(epsilon: Fraction) -> Subject:
    def noisy(value: int, count: int, _rng: Source) -> Integers:
        return value + discrete_laplace(count, 1 / epsilon, SeededSource(SEED))

    return Subject(noisy, list(number_pairs()))


def _floating(epsilon: Fraction) -> Subject:
    scale = float(1 / epsilon)

    def noisy(value: float, count: int, rng: Source) -> Floats:
        return naive_laplace(value, scale, count, rng)

    pairs = [(float(left), float(right)) for left, right in number_pairs()]
    events = [Event(Itself(), Unreachable(centre, scale)) for centre in dict.fromkeys(np.ravel(pairs).tolist())]
    return Subject(noisy, pairs, events)


SUBJECTS: dict[str, Callable[[Fraction], Subject]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "exponential": lambda epsilon: _selection(ExponentialMechanism(epsilon)),
    "noisy-max": lambda epsilon: _selection(ReportNoisyMax(epsilon)),
    "randomized-response": _response,
    "discrete-laplace": lambda epsilon: _additive(1 / epsilon),
    "half-laplace": lambda epsilon: _additive(1 / (2 * epsilon)),
    "same-seed": _same_seed,
    "float-laplace": _floating,
    "wrong-sensitivity": lambda epsilon: _additive(1 / epsilon, FORGOTTEN),
    "exponential-without-two": lambda epsilon: _selection(ExponentialMechanism(epsilon, monotone=True)),
}


def named(name: str, epsilon: float) -> Subject:
    """Return a mechanism of that name that claims ε.

    >>> named("half-laplce", 1.0)
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no mechanism 'half-laplce' to audit; did you mean 'half-laplace'?
    """
    if name not in SUBJECTS:
        raise InputError(f"there is no mechanism '{name}' to audit{suggestion(name, SUBJECTS)}")
    return SUBJECTS[name](exact(epsilon))


def load(spec: str) -> Mechanism:
    """Return the function that `module:function` names; modules of the working folder come first.

    >>> load("math:sqrt")(9)
    3.0
    >>> load("math:root")
    Traceback (most recent call last):
    sfumato.errors.InputError: module 'math' has no function 'root'; write module:function
    """
    module, _, name = spec.partition(":")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise InputError(f"module '{module}' cannot be loaded: {error}") from None
    finally:
        sys.path.remove("")
    if not callable(found):
        raise InputError(f"module '{module}' has no function '{name}'; write module:function")
    mechanism: Mechanism = found
    return mechanism
