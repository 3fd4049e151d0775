"""Audits by name: installed mechanisms, which must stand, and the auditor's own known failures, which must fall.

The failures are the classical mistakes: half the scale, a seed set anew, floating-point noise (Mironov 2012), a wrong
sensitivity, and an exponential mechanism without its factor 2 (McSherry & Talwar 2007, theorem 6). The bare sampler of
discrete Laplace noise is audited by name, too.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np

from sfumato import plugins
from sfumato.audit.epsilon import epsilon, repeat
from sfumato.audit.epsilon.events import Event, Floats, Integers, Itself, Unreachable, naive_laplace
from sfumato.audit.epsilon.trials import RandomFunction, worst_pair
from sfumato.core.progress import tell
from sfumato.dp.mechanisms import ExponentialMechanism, Mechanism, Trial
from sfumato.dp.mechanisms.base import exact
from sfumato.dp.mechanisms.trial import Pair, number_pairs, vector_pairs
from sfumato.errors import InputError, SfumatoError, reason, suggestion
from sfumato.random import SecureSource, SeededSource, Source, discrete_laplace
from sfumato.release.finding import Finding

FORGOTTEN = 10  # how many times larger than thought the sensitivity of the wrong one is
SEED = 20180101
LEAST_CLAIM, MOST_CLAIM = 1e-6, 1e6  # of evidence, which anybody may have written: noise beyond takes for ever
SEARCH_TRIALS = 5000  # runs on each input of each pair of neighbours that is tried


def _sampler(scale: Fraction, by: int = 1) -> Trial:
    def run(value: int, count: int, source: Source) -> Integers:
        return value + discrete_laplace(count, scale, source)

    return Trial(run, list(number_pairs(by)))


def _same_seed(epsilon: Fraction) -> Trial:
    def run(value: int, count: int, _source: Source) -> Integers:
        return value + discrete_laplace(count, 1 / epsilon, SeededSource(SEED))

    return Trial(run, list(number_pairs()))


def _float_laplace_trial(epsilon: Fraction) -> Trial:
    scale = float(1 / epsilon)

    def run(value: float, count: int, source: Source) -> Floats:
        return naive_laplace(value, scale, count, source)

    pairs = [(float(left), float(right)) for left, right in number_pairs()]
    events = [Event(Itself(), Unreachable(centre, scale)) for centre in dict.fromkeys(np.ravel(pairs).tolist())]
    return Trial(run, pairs, events=[msgspec.to_builtins(event) for event in events])


KNOWN_FAILURES: dict[str, Callable[[Fraction], Trial]] = {  # and the bare sampler, which stands
    "discrete-laplace": lambda epsilon: _sampler(1 / epsilon),
    "half-laplace": lambda epsilon: _sampler(1 / (2 * epsilon)),
    "same-seed": _same_seed,
    "float-laplace": _float_laplace_trial,
    "wrong-sensitivity": lambda epsilon: _sampler(1 / epsilon, FORGOTTEN),
    "exponential-without-two": lambda epsilon: ExponentialMechanism(epsilon, monotone=True).trial(),
}


def subject_names() -> tuple[str, ...]:
    """Return every name that can be audited: the installed mechanisms, then the auditor's own subjects.

    >>> "laplace" in subject_names(), "half-laplace" in subject_names()
    (True, True)
    """
    return (*plugins.names("mechanisms"), *KNOWN_FAILURES)


def find_trial(name: str, claim: float, size: int | None = None) -> Trial:
    """Return how to try what a name stands for: a mechanism that claims ε, or the function of `module:function`.

    A function is tried on numbers that differ by 1, or on vectors of length `size`.

    >>> len(find_trial("laplace", 1.0).pairs), len(find_trial("math:sqrt", 1.0, size=3).pairs)
    (4, 12)
    >>> find_trial("half-laplce", 1.0)
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no mechanism 'half-laplce' to audit; did you mean 'half-laplace'?
    """
    if ":" in name:
        return Trial(load_function(name), list(number_pairs() if size is None else vector_pairs(size)))
    if name in KNOWN_FAILURES:
        return KNOWN_FAILURES[name](exact(claim))
    every = plugins.every("mechanisms", Mechanism)
    called = {alias: kind for kind in every.values() for alias in getattr(kind, "aliases", ())}
    if name not in {*plugins.names("mechanisms"), *called}:
        raise InputError(f"there is no mechanism '{name}' to audit{suggestion(name, [*subject_names(), *called])}")
    return plugins.find("mechanisms", name, Mechanism).sample(exact(claim)).trial()


def load_function(spec: str) -> RandomFunction:
    """Return the function that `module:function` names; modules of the working folder come first.

    >>> load_function("math:sqrt")(9)
    3.0
    >>> load_function("math:root")
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
    mechanism: RandomFunction = found
    return mechanism


def audit_mechanism(  # noqa: PLR0913  # the claim, and how hard it is tested
    name: str,
    *,
    claim: float = 1.0,
    delta: float | None = None,
    trials: int = 200_000,
    confidence: float = 0.999,
    pair: Pair | None = None,
    size: int | None = None,
    rng: Source | None = None,
) -> Finding:
    """Return whether trials refute the ε that a mechanism claims, found by its name or as `module:function`.

    Without a `pair` of inputs, neighbours are tried and the worst pair is kept. Unless given, δ is the one of the
    mechanism's own claim.

    >>> audit_mechanism("half-laplace", trials=2000, rng=SeededSource(1)).verdict
    'REFUTED'
    """
    source = SecureSource() if rng is None else rng
    tell(0.0, "searching neighbours")
    trial = find_trial(name, claim, size)
    allowed = trial.delta if delta is None else delta
    searched = max(100, min(trials, SEARCH_TRIALS))
    left, right = pair or worst_pair(trial.run, trial.pairs, delta=allowed, trials=searched, rng=source)
    finding = epsilon(
        trial.run,
        left,
        right,
        claim=claim,
        delta=allowed,
        trials=trials,
        confidence=confidence,
        events=[Event.read(event) for event in trial.events],
        rng=source,
    )
    return _with_name(finding, name)


def repeat_evidence(path: str | Path, mechanism: str | None = None, *, rng: Source | None = None) -> Finding:
    """Return the finding of the event in a file of evidence, measured on as many new trials of the same mechanism.

    Evidence is data: it names installed mechanisms only. A function of somebody's own, `module:function`, runs only
    where whoever repeats the audit names it too, as `mechanism`.
    """
    try:
        found = msgspec.convert(json.loads(Path(path).read_bytes())["findings"][0], Finding)
        name = str(found.evidence["mechanism"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError, msgspec.ValidationError) as error:
        raise InputError(f"evidence '{path}' cannot be read: {reason(error)}") from None
    if mechanism not in {None, name}:
        raise InputError(f"evidence '{path}' is about '{name}', not about '{mechanism}'; name the one it is about")
    if mechanism is None and ":" in name:
        raise InputError(
            f"evidence '{path}' is about the function '{name}', which is not run because a file names it; if you trust "
            f"it, name it yourself: sfumato audit epsilon {name} --again {path}"
        )
    tell(0.0, "measuring again")
    trial = find_trial(name, _claim_in(found, path))
    try:
        return _with_name(repeat(found, trial.run, rng=rng), name)
    except SfumatoError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise InputError(f"'{name}' cannot be run on the inputs of evidence '{path}': {error}") from None


def _claim_in(found: Finding, path: str | Path) -> float:
    """Return the ε that evidence claims."""
    claim = found.evidence.get("claim", 1.0)
    if isinstance(claim, bool) or not isinstance(claim, int | float) or not LEAST_CLAIM <= claim <= MOST_CLAIM:
        raise InputError(
            f"evidence '{path}' claims ε={claim!r}; give evidence with a number from {LEAST_CLAIM:g} to {MOST_CLAIM:g}"
        )
    return claim


def _with_name(finding: Finding, name: str) -> Finding:
    return msgspec.structs.replace(finding, evidence={"mechanism": name, **finding.evidence})
