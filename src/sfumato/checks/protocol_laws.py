"""The exact law of a protocol's reports on a small domain, and whether drawn reports follow it.

Probabilities are enumerated as fractions, after the audits of Ding et al. (2018) but without sampling error; drawn
reports are tested by their probability integral transform, which works for reports that carry a seed as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

import numpy as np

from sfumato.checks.base import expect
from sfumato.local.base import LocalProtocol
from sfumato.local.probabilities import exp_below
from sfumato.random import SeededSource

BINS = 20
CRITICAL = 75.0  # chi-square with 19 degrees of freedom exceeds this once in 10^8 runs
MOST_BYTES = 2
SOME_PAYLOADS = 200
NEARLY = 1e-9


def outputs(protocol: LocalProtocol, seed: bytes) -> list[bytes]:
    """Return all payloads that begin with a seed; the protocol must be small enough to list them.

    >>> from sfumato.local import WarnerResponse
    >>> [payload[0] for payload in outputs(WarnerResponse(["no", "yes"], 1), b"")]
    [0, 1]
    """
    return [seed + tail for tail in _tails(protocol)]


@lru_cache(maxsize=64)
def _tails(protocol: LocalProtocol) -> list[bytes]:
    """All that may follow a seed."""
    free = protocol.report_bytes - protocol.seed_bytes
    expect(free <= MOST_BYTES, f"{protocol.name}: give the suite a protocol whose reports have at most 16 random bits")
    tails = [bytes(tail) for tail in product(range(256), repeat=free)]
    content = bytes(protocol.seed_bytes) + (bytes(protocol.seed_bytes)).join(tails)
    rows = np.frombuffer(content, dtype=np.uint8).reshape(len(tails), -1)
    return [tail for tail, good in zip(tails, protocol.well_formed(rows), strict=True) if good]


def seeds(protocol: LocalProtocol, count: int = 5) -> list[bytes]:
    """Return a few seeds as devices draw them; one empty one for a protocol without.

    >>> from sfumato.local import LocalHashing, WarnerResponse
    >>> seeds(WarnerResponse(["no", "yes"], 1)), len(seeds(LocalHashing(["a", "b", "c"], 1)))
    ([b''], 5)
    """
    drawn = {protocol.perturb(0).payload[: protocol.seed_bytes] for _ in range(count)}
    return sorted(drawn)


def keeps_epsilon(protocol: LocalProtocol) -> None:
    """Every probability adds up to one, and no report is more than e^ε times likelier under one value than another.

    >>> from sfumato.local import WarnerResponse
    >>> keeps_epsilon(WarnerResponse(["no", "yes"], 1))
    """
    allowed = exp_below(protocol.epsilon)  # not above e^ε
    expect(protocol.ratio <= allowed, f"the chances of {protocol.name} give more than ε={protocol.epsilon}")
    expect(protocol.spent <= protocol.epsilon, f"the card would say ε={protocol.spent}, above {protocol.epsilon}")
    for seed in seeds(protocol):
        listed = outputs(protocol, seed)
        laws = [[protocol.probability(payload, code) for payload in listed] for code in _codes(protocol)]
        expect(all(sum(law) == 1 for law in laws), f"the probabilities of {protocol.name} do not add up to 1")
        worst = max(max(column) / min(column) for column in zip(*laws, strict=True))
        expect(worst <= protocol.ratio, f"a report of {protocol.name} reveals {float(worst):g}, above its ratio")


def supports_as_stated(protocol: LocalProtocol) -> None:
    """Counting the enumerated reports gives exactly the stated probabilities of support (protocols without a seed).

    >>> from sfumato.local import WarnerResponse
    >>> supports_as_stated(WarnerResponse(["no", "yes"], 1))
    """
    if protocol.seed_bytes:
        return  # the stated probability is an average over seeds, which only a statistical test can see
    size = len(protocol.domain)
    listed = outputs(protocol, b"")
    supported = [_values_supported(protocol, payload) for payload in listed]
    for code in _codes(protocol):
        totals = [Fraction(0)] * size
        for payload, values in zip(listed, supported, strict=True):
            probability = protocol.probability(payload, code)
            for value in values:
                totals[value] += probability
        own, other = protocol.support
        stated = [own if value == code else other for value in range(size)]
        expect(totals == stated, f"reports of {protocol.name} support values with other chances than it states")


def orders_values(protocol: LocalProtocol) -> None:
    """A report's likelihood is the higher, the more probable the report is under a value, and equal where that is.

    >>> from sfumato.local import WarnerResponse
    >>> orders_values(WarnerResponse(["no", "yes"], 1))
    """
    codes = np.array(_codes(protocol))
    rows = [payload for seed in seeds(protocol) for payload in outputs(protocol, seed)[:SOME_PAYLOADS]]
    content = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    for payload, found in zip(rows, protocol.likelihood(content, codes), strict=True):
        exact = [protocol.probability(payload, code) for code in codes.tolist()]
        order = sorted(range(len(exact)), key=exact.__getitem__)
        for low, high in pairwise(order):
            rises = found[high] > found[low] + NEARLY
            expect(rises == (exact[high] > exact[low]), f"a likelihood of {protocol.name} does not follow probability")


def follows_law(protocol: LocalProtocol, code: int, payloads: Iterable[bytes]) -> float:
    """Return the chi-square statistic of drawn payloads against the exact law of a value, over twenty equal parts.

    >>> from sfumato.local import WarnerResponse
    >>> protocol = WarnerResponse(["no", "yes"], 1)
    >>> follows_law(protocol, 0, [protocol.perturb(0).payload for _ in range(1000)]) < CRITICAL
    True
    """
    spread: dict[bytes, dict[bytes, tuple[float, float]]] = {}
    drawn = list(payloads)
    shares = SeededSource(5).words(len(drawn)) / 2**32
    counts = np.zeros(BINS)
    for payload, share in zip(drawn, shares, strict=True):
        seed = payload[: protocol.seed_bytes]
        if seed not in spread:
            spread[seed] = _places_on_unit_interval(protocol, code, seed)
        start, width = spread[seed].get(payload, (1.0, 0.0))
        counts[min(int((start + share * width) * BINS), BINS - 1)] += 1
    expected = len(drawn) / BINS
    return math.fsum((counts - expected) ** 2 / expected)


def _codes(protocol: LocalProtocol) -> list[int]:
    """All values of a small domain, a dozen of a larger one."""
    size = len(protocol.domain)
    return sorted({place * (size - 1) // 11 for place in range(12)}) if size > 12 else list(range(size))


def _values_supported(protocol: LocalProtocol, payload: bytes) -> list[int]:
    row = np.frombuffer(payload, dtype=np.uint8).reshape(1, -1)
    return [int(value) for value in np.flatnonzero(protocol.supporting(protocol.count(row), 1))]


def _places_on_unit_interval(protocol: LocalProtocol, code: int, seed: bytes) -> dict[bytes, tuple[float, float]]:
    """Where each payload lies on the unit interval, the likeliest first."""
    law = [(protocol.probability(payload, code), payload) for payload in outputs(protocol, seed)]
    start, places = Fraction(0), {}
    for probability, payload in sorted(law, key=lambda entry: -entry[0]):
        places[payload] = float(start), float(probability)
        start += probability
    return places
