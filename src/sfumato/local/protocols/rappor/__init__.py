"""RAPPOR: a Bloom filter in one of several cohorts, randomised once for good and again for every report.

Erlingsson, Pihur & Korolova (2014), "RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response". The value
may be any text; the domain is the collector's list of candidates, which only the decoding needs.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from sfumato.core.parameters import Real, Whole
from sfumato.core.seam import choose
from sfumato.errors import ParameterError
from sfumato.local.base import LocalProtocol
from sfumato.local.device import below, pack_bits, words64
from sfumato.local.domain import Value
from sfumato.local.laws import KeptBitsLaw, Lots
from sfumato.local.probabilities import SCALE, asked_loss, exp_below, log_above, threshold_above, threshold_below
from sfumato.local.reports.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals
    from sfumato.local.collector.estimate import Estimate
    from sfumato.local.collector.tally import Tally
    from sfumato.random import Source

PROBABILITY = Real(0.001, 0.999)
COHORT_BYTES = 2
MOST_COUNTERS = 2**24
MOST_HASHES = 8  # eight bytes of one BLAKE2b digest for each


@dataclass(frozen=True)
class Rappor(LocalProtocol):
    """Full RAPPOR; `epsilon` is the promise for ever (ε∞), `spent_once` what a single report costs (ε₁).

    `bits` and `hashes` shape the Bloom filter, `cohorts` have hash functions of their own, and an instantaneous report
    sets a bit with probability `q` where the permanent one has it and with probability `p` where it has not.

    >>> protocol = Rappor(["cat", "dog", "horse"], epsilon=4)
    >>> protocol.spent <= 4, protocol.spent_once < 1.1
    (True, True)
    """

    bits: int = 128
    hashes: int = 2
    cohorts: int = 16
    p: float = 0.5
    q: float = 0.75

    name: ClassVar[str] = "rappor"
    words: ClassVar[str] = "RAPPOR"
    pure: ClassVar[bool] = False  # a regression gives the counts
    seed_bytes: ClassVar[int] = COHORT_BYTES
    RULES: ClassVar = {
        **LocalProtocol.RULES,
        "bits": Whole(2),
        "hashes": Whole(1),
        "cohorts": Whole(1),
        "p": PROBABILITY,
        "q": PROBABILITY,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p >= self.q:
            raise ParameterError(f"RAPPOR sets a bit with p={self.p:g} and q={self.q:g}; p must be the smaller one")
        if self.hashes > MOST_HASHES or self.cohorts > 2**16 or self.bits > 2**16:
            raise ParameterError(f"RAPPOR takes at most {MOST_HASHES} hashes, 65536 cohorts and 65536 bits")
        if self.cohorts * self.bits > MOST_COUNTERS:  # a header from anywhere must not fill the memory
            raise ParameterError(
                f"RAPPOR keeps {self.cohorts} cohorts of {self.bits} bits; their product may be {MOST_COUNTERS}"
            )

    @classmethod
    def sample(cls, domain: Sequence[Value], epsilon: float) -> Self:
        return cls(domain, epsilon, bits=6, hashes=1, cohorts=2)

    # What is agreed.

    @cached_property
    def flip(self) -> int:
        """The probability, out of 2^64, that a permanent bit is not the Bloom filter's: half of the paper's f."""
        odds = exp_below(asked_loss(self.epsilon) / (2 * self.hashes))
        return threshold_above(1 / (1 + odds))

    @cached_property
    def again(self) -> tuple[int, int]:
        """The probabilities that an instantaneous bit is set where the permanent one is, and where it is not."""
        return threshold_below(Fraction(self.q)), threshold_above(Fraction(self.p))

    @property
    def thresholds(self) -> dict[str, int]:
        q, p = self.again
        return {"bits": self.bits, "hashes": self.hashes, "cohorts": self.cohorts, "flip": self.flip, "q": q, "p": p}

    @property
    def ratio(self) -> Fraction:
        return Fraction(SCALE - self.flip, self.flip) ** (2 * self.hashes)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report has a bit set, if the value's Bloom filter has it and if not."""
        q, p = (Fraction(threshold, SCALE) for threshold in self.again)
        flip = Fraction(self.flip, SCALE)
        return (1 - flip) * q + flip * p, flip * q + (1 - flip) * p

    @property
    def spent_once(self) -> float:
        """The ε of one report alone, ε₁, rounded up."""
        own, other = self.support
        return log_above((own * (1 - other) / (other * (1 - own))) ** self.hashes)

    @property
    def report_bytes(self) -> int:
        return COHORT_BYTES + -(-self.bits // 8)

    @property
    def cells(self) -> int:
        return self.cohorts * (1 + self.bits)

    def promises(self) -> dict[str, float]:
        return {**super().promises(), "epsilon_once": self.spent_once}

    def variance(self, users: float, count: float = 0.0) -> float:
        """The variance of a count whose Bloom bits no other candidate shares: the average over its hashes."""
        own, other = (float(probability) for probability in self.support)
        noise = users * other * (1 - other) + count * (own * (1 - own) - other * (1 - other))
        return noise / (own - other) ** 2 / self.hashes

    # On the device.

    def bloom(self, value: Value, cohort: int) -> set[int]:
        """The bits that a value sets in a cohort's Bloom filter; any text or integer has some."""
        salt = cohort.to_bytes(16, "little")
        digest = hashlib.blake2b(json.dumps(value).encode("ascii"), digest_size=8 * self.hashes, salt=salt).digest()
        return {int.from_bytes(digest[at : at + 8], "little") % self.bits for at in range(0, len(digest), 8)}

    def permanent(self, code: int) -> bytes:
        """The permanent answer for a candidate: a cohort at random, and its Bloom filter randomised once for good."""
        return self.permanent_of(self.domain[code])

    def permanent_of(self, value: Value, cohort: int | None = None) -> bytes:
        """The same for any value, candidate or not. Keep it: a second one would cost ε again (see `Memory`).

        A device that changes its value stays in its cohort, which would tell of the change otherwise.
        """
        cohort = choose(lambda: Lots(1), lambda: below(self.cohorts)) if cohort is None else cohort
        own, flip = self.bloom(value, cohort), Fraction(self.flip, SCALE)
        head = cohort.to_bytes(COHORT_BYTES, "little")

        def draw() -> bytes:
            words = words64(self.bits)
            return pack_bits((bit for bit in range(self.bits) if (bit in own) != (words[bit] < self.flip)), self.bits)

        return head + choose(lambda: KeptBitsLaw(own, self.bits, (1 - flip, flip), head), draw)

    def instantaneous(self, kept: bytes) -> Report:
        """A fresh report from a permanent answer."""
        q, p = self.again
        kept_bits = int.from_bytes(kept[COHORT_BYTES:], "little")

        def draw() -> bytes:
            words = words64(self.bits)
            ones = (bit for bit in range(self.bits) if words[bit] < (q if kept_bits >> bit & 1 else p))
            return pack_bits(ones, self.bits)

        chances = Fraction(q, SCALE), Fraction(p, SCALE)
        payload = kept[:COHORT_BYTES] + choose(lambda: KeptBitsLaw(set(), self.bits, chances, kept), draw)
        return Report(self.name, self.design_hash, self.domain_hash, payload)

    @property
    def question(self) -> str:
        """The answers do not depend on the collector's candidates, which come and go."""
        return self.design_hash

    def answer_key(self, value: Value) -> str:
        """Any value has an answer; it need not be a candidate."""
        return json.dumps(value)

    def draw_answer(self, value: Value, earlier: Iterable[bytes]) -> bytes:
        """A permanent answer; a device stays in the cohort of its other answers."""
        cohort = next((int.from_bytes(kept[:COHORT_BYTES], "little") for kept in earlier), None)
        return self.permanent_of(value, cohort)

    def report_answer(self, kept: bytes) -> Report:
        return self.instantaneous(kept)

    def draw(self, code: int) -> bytes:
        return self.instantaneous(self.permanent(code)).payload

    def probability(self, payload: bytes, code: int) -> Fraction:
        own = self.bloom(self.domain[code], int.from_bytes(payload[:COHORT_BYTES], "little"))
        bits = int.from_bytes(payload[COHORT_BYTES:], "little")
        support = self.support
        result = Fraction(1)
        for bit in range(self.bits):
            probability = support[0] if bit in own else support[1]
            result *= probability if bits >> bit & 1 else 1 - probability
        return result

    # At the collector, or for many users at once.

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        """One fresh report for each code: a cohort at random, then both randomisations."""
        import numpy as np

        from sfumato.local.protocols.bulk import last_byte, uniform_integers

        cohorts = uniform_integers(self.cohorts, codes.size, source)
        pairs, places = np.unique(codes * self.cohorts + cohorts, return_inverse=True)
        filters = self.bloom_rows(pairs // self.cohorts, pairs % self.cohorts)
        permanent = filters[places] ^ self._noise(codes.size, self.flip, source)
        kept, added = (self._noise(codes.size, threshold, source) for threshold in self.again)
        bits = (permanent & kept) | (~permanent & added)
        bits[:, -1] &= np.uint8(last_byte(self.bits))
        head = cohorts.astype("<u2").view(np.uint8).reshape(codes.size, COHORT_BYTES)
        return np.concatenate([head, bits], axis=1)

    def _noise(self, rows: int, threshold: int, source: Source) -> Payload:
        """Packed bits for so many reports, each set with probability threshold/2^64."""
        import numpy as np

        from sfumato.local.protocols.bulk import random_bits

        width = self.report_bytes - COHORT_BYTES
        words = random_bits(-(-rows * width // 8), threshold, source)
        return words.view(np.uint8)[: rows * width].reshape(rows, width)

    def bloom_rows(self, codes: Codes, cohorts: Codes) -> Payload:
        """The packed Bloom filter of each candidate in its cohort.

        >>> import numpy as np
        >>> protocol = Rappor(["a", "b"], 2, bits=16, hashes=1)
        >>> np.unpackbits(protocol.bloom_rows(np.array([0]), np.array([3])), axis=1).sum()
        np.uint64(1)
        """
        import numpy as np

        rows = np.zeros((codes.size, 8 * (self.report_bytes - COHORT_BYTES)), dtype=np.bool_)
        for row, (code, cohort) in enumerate(zip(codes.tolist(), cohorts.tolist(), strict=True)):
            rows[row, list(self.bloom(self.domain[code], cohort))] = True
        return np.packbits(rows, axis=1, bitorder="little")

    def well_formed(self, payload: Payload) -> Mask:
        from sfumato.local.protocols.bulk import within

        return within(payload, self.bits) & (cohorts_of(payload) < self.cohorts)

    def count(self, payload: Payload) -> Integers:
        """For each cohort how many rows are its own, then how many of these have each bit set.

        >>> import numpy as np
        >>> Rappor(["a", "b"], 2, bits=2, cohorts=2).count(np.array([[1, 0, 2]], dtype=np.uint8)).tolist()
        [0, 0, 0, 1, 0, 1]
        """
        import numpy as np

        from sfumato.local.protocols.bulk import bit_counts

        counts = np.zeros((self.cohorts, 1 + self.bits), dtype=np.int64)
        cohorts = cohorts_of(payload)
        order = np.argsort(cohorts, kind="stable")
        ends = np.searchsorted(cohorts[order], np.arange(self.cohorts + 1))
        for cohort in range(self.cohorts):
            own = payload[order[ends[cohort] : ends[cohort + 1]], COHORT_BYTES:]
            counts[cohort, 0] = len(own)
            counts[cohort, 1:] = bit_counts(own, self.bits)
        return counts.ravel()

    def support_counts(self, counts: Integers, users: int) -> tuple[Integers, Integers]:
        """How many reports of each cohort set each bit, and out of how many."""
        import numpy as np

        del users
        cohorts = counts.reshape(self.cohorts, 1 + self.bits)
        return cohorts[:, 1:].ravel(), np.repeat(cohorts[:, 0], self.bits)

    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        """The log-likelihood of each candidate's Bloom filter, apart from what all candidates share."""
        import numpy as np

        own, other = (float(probability) for probability in self.support)
        found = np.zeros((len(payload), len(codes)))
        cohorts = cohorts_of(payload)
        for cohort in np.unique(cohorts).tolist():
            rows = np.flatnonzero(cohorts == cohort)
            filters = _unpack_bits(self.bloom_rows(codes, np.full(len(codes), cohort)))
            hits = _unpack_bits(payload[rows, COHORT_BYTES:]) @ filters.T
            misses = filters.sum(axis=1) - hits
            found[rows] = hits * math.log(own / other) + misses * math.log((1 - own) / (1 - other))
        return found

    def estimate(self, tally: Tally, *, consistent: bool | str = True) -> Estimate:
        """The candidates' counts by non-negative sparse regression, or by plain least squares if raw."""
        from sfumato.local.protocols.rappor.decode import decode

        return decode(self, tally, consistent=consistent)


def cohorts_of(payload: Payload) -> Codes:
    """Return the cohort that each row names.

    >>> import numpy as np
    >>> cohorts_of(np.array([[1, 1, 0]], dtype=np.uint8)).tolist()
    [257]
    """
    import numpy as np

    return np.ascontiguousarray(payload[:, :COHORT_BYTES]).view("<u2").ravel().astype(np.int64)


def _unpack_bits(payload: Payload) -> Reals:
    """The bits of each row as numbers."""
    import numpy as np

    return np.unpackbits(np.ascontiguousarray(payload), axis=1, bitorder="little").astype(np.float64)
