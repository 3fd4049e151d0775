"""Attacks on a stream's release: guess the records, compare equal values, watch sizes and times, weigh the values.

`docs/algorithms/audit-streams.md` has the inequality and the counterexamples; the trials on neighbouring streams follow
Ding, Wang, Wang, Zhang & Kifer (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from sfumato import plugins
from sfumato.audit.epsilon import epsilon
from sfumato.audit.epsilon.trials import worst_pair
from sfumato.audit.stream.inequality import Distribution, Floats, Predictor, epsilon_from, least_share, upper_mean
from sfumato.audit.stream.looks import LOOKS, Factory, Look, run_stream
from sfumato.core.parameters import OneOf, Real, Validated, Whole
from sfumato.core.progress import tell
from sfumato.dp.mechanisms.trial import Pair
from sfumato.random import SecureSource, Source
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.stream import Publisher

DEFAULT_VALUES = tuple(100 * (place / 11) ** 2 for place in range(12))
"""The declared distribution unless another is given: twelve equally likely values from 0 to 100, most of them small."""
SEARCH_TRIALS = 100
SHORTEST, LONGEST = 60, 300  # records of neighbouring streams: more than are held back, if possible


@dataclass(frozen=True)
class Hearing(Validated):
    """A claim of ε about a stream, and how hard it is tested.

    `records` and `streams` are for guessing, `trials` on each of two neighbouring streams for the other attacks.

    >>> Hearing(claim=1.0).effective, Hearing(claim=1.0, neighbours="add-remove").effective
    (1.0, 2.0)
    """

    claim: float
    neighbours: Literal["replacement", "add-remove"] = "replacement"
    records: int = 1000
    streams: int = 100
    trials: int = 2000
    confidence: float = 0.999

    RULES: ClassVar = {
        "claim": Real(0),
        "neighbours": OneOf(("replacement", "add-remove")),
        "records": Whole(2),
        "streams": Whole(10),
        "trials": Whole(100),
        "confidence": Real(0, 0.999999, above=True),
    }

    @property
    def effective(self) -> float:
        """The ε under replacement: changing a value is removing one record and adding another."""
        return self.claim if self.neighbours == "replacement" else 2 * self.claim


def stream(  # noqa: PLR0913  # the claim, what the records are like, and how hard it is tested
    publisher: Factory,
    *,
    claim: float,
    neighbours: Literal["replacement", "add-remove"] = "replacement",
    values: Sequence[float] = DEFAULT_VALUES,
    pairs: Sequence[Pair] | None = None,
    records: int = 1000,
    streams: int = 100,
    trials: int = 2000,
    confidence: float = 0.999,
    rng: Source | None = None,
) -> list[Finding]:
    """Return what each attack found: guesses of records where rows are linked to them, equal values, sizes and times.

    `publisher` makes a fresh publisher from a source of randomness; it takes batches of numbers and gives back what
    left (`values`, `group`, `size`, and `position` where linked). `values` declares the distribution of the records,
    equally likely; predictors are fixed on `streams` streams of so many `records` and tried on as many fresh ones.
    `pairs` are neighbouring streams, of which the worst is put to `trials`.

    >>> from types import SimpleNamespace
    >>> class Echo:
    ...     def push_many(self, batch):
    ...         places = np.arange(len(batch))
    ...         return SimpleNamespace(values=batch, group=places, size=places * 0 + 1, position=places)
    ...     def flush(self):
    ...         return self.push_many(np.empty(0))
    >>> findings = stream(lambda rng: Echo(), claim=1.0, records=50, streams=10, trials=200)
    >>> [finding.verdict for finding in findings]
    ['REFUTED', 'REFUTED', 'NOT_REFUTED', 'REFUTED']
    """
    hearing = Hearing(claim, neighbours, records, streams, trials, confidence)
    source = SecureSource() if rng is None else rng
    distribution = Distribution.of(values)
    linked = run_stream(publisher, distribution.draw(2, source), source).position is not None
    found = [guesses(publisher, hearing, distribution, source)] if linked else []
    length = min(max(SHORTEST, 3 * getattr(publisher(source), "delay", 0) // 2), LONGEST)
    tried = stream_pairs(distribution, length) if pairs is None else pairs
    for place, look in enumerate(LOOKS):
        tell(0.4 + 0.2 * place, look.words)
        found.append(_look_finding(publisher, hearing, look, tried, source))
    return found


def named_publisher(name: str, epsilon: float, delay: int) -> Factory:
    """Return what makes a publisher of that name, ours or anybody's, for records from 0 to 100.

    >>> named_publisher("dcoa", 1.0, 100)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: there is no publisher 'dcoa'; did you mean 'doca'?
    """
    kind = plugins.find("publishers", name, Publisher)
    return lambda rng: kind.for_audit(epsilon, delay, rng)


def stream_pairs(distribution: Distribution, length: int) -> list[Pair]:
    """Return streams that differ in one record: two or one group, far or near, a new maximum, one among equals.

    >>> stream_pairs(Distribution.of([0, 100]), 60)[0]
    ([10.0, 10.0], [10.0, 11.0])
    """
    low, high = float(distribution.values[0]), float(distribution.values[-1])
    width = high - low
    near, step = low + 0.1 * width, low + 0.11 * width
    ramp = (low + 0.5 * width * np.arange(length) / length).tolist()
    middle = length // 2
    return [
        ([near, near], [near, step]),
        ([low, high, near, low + 0.2 * width], [low, high, near, low + 0.9 * width]),
        (ramp, [*ramp[:5], high, *ramp[6:]]),
        ([low] * length, [*[low] * middle, high, *[low] * (length - middle - 1)]),
        ([low] * 3, [low, low, high]),
    ]


def guesses(publisher: Factory, hearing: Hearing, distribution: Distribution, source: Source) -> Finding:
    """Return whether records are guessed better than ε allows: predictor and error from streams of their own."""
    tell(0.0, "fixing a predictor")
    rows = [_fresh_stream(publisher, hearing, distribution, source) for _ in range(hearing.streams)]
    predictor = Predictor.fit(*(np.concatenate(part) for part in zip(*rows, strict=True)))
    tell(0.2, "guessing records of fresh streams")
    errors = np.empty(hearing.streams)
    for place in range(hearing.streams):
        shown, sizes, records = _fresh_stream(publisher, hearing, distribution, source)
        missed = distribution.variance * (hearing.records - len(records))  # what never left is guessed by the mean
        errors[place] = (((predictor.guess(shown, sizes) - records) ** 2).sum() + missed) / hearing.records
    limit = upper_mean(errors, hearing.confidence, source) / distribution.variance
    share, by = least_share(distribution, hearing.effective)
    bound = epsilon_from(distribution, limit) * hearing.claim / max(hearing.effective, 1e-300) if limit < 1 else 0.0
    evidence = {
        "reason": f"guesses of records leave {errors.mean() / distribution.variance:.3g} of the variance, at most "
        f"{limit:.3g} with confidence {hearing.confidence:g}; ε={hearing.claim:g} leaves {share:.3g} or more ({by})",
        "attack": "guesses",
        **asdict(hearing),
        "values": distribution.listed_values,
        "variance": distribution.variance,
        "mean squared error": float(errors.mean()),
        "upper limit": limit * distribution.variance,
        "least allowed": share * distribution.variance,
        "allowed by": by,
        "r squared": 1 - float(errors.mean()) / distribution.variance,
    }
    verdict = REFUTED if limit < share else NOT_REFUTED
    return Finding(claim=_claim(hearing, "guesses of records"), verdict=verdict, bound=bound, evidence=evidence)


def _fresh_stream(
    publisher: Factory, hearing: Hearing, distribution: Distribution, source: Source
) -> tuple[Floats, Any, Floats]:
    """Return the published values, the sizes of their groups and the true records of one fresh stream."""
    records = distribution.draw(hearing.records, source)
    left = run_stream(publisher, records, source)
    return left.numbers, left.size, records[left.position]


def _look_finding(publisher: Factory, hearing: Hearing, look: Look, pairs: Sequence[Pair], source: Source) -> Finding:
    """Return whether what is looked at tells two neighbouring streams apart better than ε allows."""

    def look_once(records: Sequence[float], rng: Source) -> Floats:
        return look.at(publisher, np.asarray(records, dtype=np.float64), rng)

    pair = worst_pair(look_once, pairs, trials=SEARCH_TRIALS, rng=source)
    found = epsilon(
        look_once, *pair, claim=hearing.effective, trials=hearing.trials, confidence=hearing.confidence, rng=source
    )
    share = hearing.claim / max(hearing.effective, 1e-300)
    evidence = {
        "attack": look.name,
        **look.name_entries(found.evidence),
        "looks at": list(look.entries),
        **asdict(hearing),
    }
    return msgspec.structs.replace(
        found, claim=_claim(hearing, look.words), bound=(found.bound or 0.0) * share, evidence=evidence
    )


def _claim(hearing: Hearing, what: str) -> str:
    return f"ε-differential privacy with ε={hearing.claim:g} ({hearing.neighbours}), by {what}"
