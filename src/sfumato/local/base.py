"""A local protocol: encode and perturb on the device, aggregate and estimate at the collector; tallies add up.

All protocols here are *pure* in the sense of Wang, Blocki, Li & Jha (2017), "Locally Differentially Private Protocols
for Frequency Estimation": a report supports the own value with one probability and every other value with another,
so one estimator and one variance serve them all. Nothing in this module loads numpy before a collector needs it.

A protocol is found by the name of its entry point in the group `sfumato.protocols`, ours like anybody's. Its class
declares its `name`, `aliases` and `words`, the `auto_sizes` for which `choose` may take it, how well a report fits a
value (`likelihood`), and the small `sample` that the conformance suite looks at.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sfumato.core.parameters import Real, Validated
from sfumato.core.seam import choose
from sfumato.errors import InputError
from sfumato.local.domain import LARGEST_DOMAIN, DomainRule, Sentence, Value, as_domain, fingerprint, hint
from sfumato.local.laws import ReportLaw
from sfumato.local.probabilities import log_above
from sfumato.local.reports.report import Report, Reports
from sfumato.promise.ratio import loss_above

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals
    from sfumato.local.collector.estimate import Estimate
    from sfumato.local.collector.tally import Tally
    from sfumato.promise import Promise
    from sfumato.random import Source
    from sfumato.release import Card

EPSILON = Real(1e-6, 40)  # where thresholds out of 2^64 still resolve the probabilities
ANY_SIZE = range(2, LARGEST_DOMAIN + 1)
CHUNK_BYTES = 2**20
CHUNK_REPORTS = 2**16


@dataclass(frozen=True)
class LocalProtocol(Validated, ABC):
    """What devices and collector agree on: a domain, an ε, and how a value becomes a report.

    >>> from sfumato.local import OptimizedUnary
    >>> protocol = OptimizedUnary(["north", "south", "east"], epsilon=2)
    >>> report = protocol.perturb(protocol.encode("south"))
    >>> protocol.aggregate([report]).users
    1
    """

    domain: Sequence[Value] = field(repr=False)
    epsilon: float
    reason: str = field(default="", compare=False, repr=False, kw_only=True)

    name: ClassVar[str]  # what a person types, and what stands in a report
    words: ClassVar[str] = ""  # its plain name, for a reader
    aliases: ClassVar[tuple[str, ...]] = ()  # other names that a person may type
    auto_sizes: ClassVar[range] = range(0)  # sizes of domains for which `choose` considers it
    pure: ClassVar[bool] = True  # whether `variance` is that of each count
    seed_bytes: ClassVar[int] = 0  # how much of a payload is drawn without a look at the value
    RULES: ClassVar = {"domain": DomainRule(), "epsilon": EPSILON, "reason": Sentence()}

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", as_domain(self.domain))
        super().__post_init__()

    # What the class says about itself.

    @classmethod
    def sample(cls, domain: Sequence[Value], epsilon: float) -> Self:
        """A protocol with small parameters for tests: its reports have at most 16 random bits over a few values.

        >>> from sfumato.local import WarnerResponse
        >>> WarnerResponse.sample(("a", "b", "c"), 1).domain
        ('a', 'b')
        """
        return cls(domain, epsilon)

    # What is agreed.

    @property
    @abstractmethod
    def thresholds(self) -> dict[str, int]:
        """The thresholds out of 2^64 and the whole numbers that fix the law of a report."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values, exactly."""

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report supports the own value, and that it supports any one other."""

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """The bytes of one report's payload."""

    @property
    def cells(self) -> int:
        """The number of counters of a tally."""
        return len(self.domain)

    @property
    def spent(self) -> float:
        """The ε that the probabilities really give, rounded up; never above the one asked for."""
        return log_above(self.ratio)

    @property
    def spent_once(self) -> float:
        """The ε of a single report, rounded up; less than `spent` where that is the promise for many reports."""
        return self.spent

    @cached_property
    def promise(self) -> Promise:
        """What one report of one device is promised, from the probabilities that are used.

        >>> from sfumato.local import OptimizedUnary
        >>> OptimizedUnary(["a", "b"], 0.1).promise.cost.epsilon
        Decimal('0.1')
        """
        from sfumato.local.promise import report_promise

        return report_promise(loss_above(self.ratio), self.epsilon)

    @cached_property
    def domain_hash(self) -> str:
        """The fingerprint of the domain."""
        return fingerprint(self.domain)

    @cached_property
    def design_hash(self) -> str:
        """The fingerprint of the protocol and its probabilities, without the domain."""
        return fingerprint({"protocol": self.name, "chances": self.thresholds})

    def parameters(self) -> dict[str, Any]:
        """The parameters besides the domain, as they stand in a file's header."""
        return {
            entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in {"domain", "reason"}
        }

    def promises(self) -> dict[str, float]:
        """The parameters of the promise, as they stand on a card."""
        return {"epsilon": self.spent, "epsilon_asked": self.epsilon}

    def variance(self, users: float, count: float = 0.0) -> float:
        """The variance of the estimated count of a value that `count` of `users` have."""
        own, other = self.support
        if own == other:  # a tiny ε over millions of values
            return math.inf
        empty, full = other * (1 - other), own * (1 - own)
        return (users * float(empty) + count * float(full - empty)) / float(own - other) ** 2

    # On the device.

    def encode(self, value: Value) -> int:
        """The place of a value in the domain; a value outside it is refused."""
        code = self._place(value)
        if code < 0:
            nearest = hint(value, self.domain)
            raise InputError(f"value {value!r} is not in the domain of {len(self.domain)} values{nearest}")
        return code

    def perturb(self, code: int) -> Report:
        """A fresh report of the value at a place of the domain, drawn from the operating system's generator."""
        try:
            place = index(code)
        except TypeError:
            place = -1
        if not 0 <= place < len(self.domain):  # any other would leave the device in the clear
            raise InputError(f"place {code!r} is not in the domain; places are 0 to {len(self.domain) - 1}")
        payload = choose(lambda: ReportLaw(self, [place]), lambda: self.draw(place))
        return Report(self.name, self.design_hash, self.domain_hash, payload)

    @cached_property
    def _codes(self) -> dict[Value, int]:
        return {value: code for code, value in enumerate(self.domain)}

    def _place(self, value: object) -> int:
        """The place of a value, or -1; 1.0 and True are not the integer 1, though they equal it."""
        if isinstance(value, bool | float) or not isinstance(value, Hashable):
            return -1
        return self._codes.get(value, -1)  # type: ignore[call-overload, no-any-return]

    @abstractmethod
    def draw(self, code: int) -> bytes:
        """The payload of one fresh report, in pure Python."""

    # What a device with a memory keeps (see `Memory`).

    @property
    def question(self) -> str:
        """What answers are kept under: reports of two questions tell nothing about each other."""
        return f"{self.design_hash}-{self.domain_hash}"

    def answer_key(self, value: Value) -> str:
        """What the answer for a value is kept under; a value outside the domain is refused."""
        return str(self.encode(value))

    def draw_answer(self, value: Value, earlier: Iterable[bytes]) -> bytes:
        """What a device keeps for a new value, given what it keeps for its earlier ones."""
        del earlier
        code = self.encode(value)
        return choose(lambda: ReportLaw(self, [code]), lambda: self.draw(code))

    def report_answer(self, kept: bytes) -> Report:
        """The report that a device sends from what it keeps."""
        return Report(self.name, self.design_hash, self.domain_hash, kept)

    @abstractmethod
    def probability(self, payload: bytes, code: int) -> Fraction:
        """The exact probability of a payload under a value (of its random part, given the seed it carries)."""

    # At the collector, or for many users at once.

    def encode_many(self, values: Iterable[Value]) -> Codes:
        """The places of many values in the domain; the first one outside it is refused with its row."""
        import numpy as np

        plain: list[Value] = values.tolist() if hasattr(values, "tolist") else list(values)
        codes = np.fromiter((self._place(value) for value in plain), dtype=np.int64, count=len(plain))
        outside = np.flatnonzero(codes < 0)
        if outside.size:
            row = int(outside[0])
            nearest = hint(plain[row], self.domain)
            raise InputError(f"row {row + 1}: value {plain[row]!r} is not in the domain{nearest}")
        return codes

    def report_many(self, codes: npt.ArrayLike, source: Source | None = None) -> Iterator[Reports]:
        """Fresh reports of many users, a chunk at a time, each drawn by itself; `source=None` is the secure one."""
        import numpy as np

        from sfumato.random import SecureSource

        places = np.asarray(codes)
        if places.ndim != 1 or not np.issubdtype(places.dtype, np.integer):
            raise InputError("report_many takes an array of places in the domain; encode_many makes it from values")
        if places.size and (places.min() < 0 or places.max() >= len(self.domain)):
            raise InputError(f"report_many found a place outside the domain; places are 0 to {len(self.domain) - 1}")
        origin = SecureSource() if source is None else source
        step = max(1, min(CHUNK_REPORTS, CHUNK_BYTES // self.report_bytes))
        chunks = (places[start : start + step].astype(np.int64) for start in range(0, places.size, step))
        return (self.packed(self._pass_seam(chunk, origin)) for chunk in chunks)

    def _pass_seam(self, codes: Codes, source: Source) -> Payload:
        return choose(lambda: ReportLaw(self, codes.tolist()), lambda: self.draw_many(codes, source))

    def packed(self, payload: Payload) -> Reports:
        """Rows of payload under this protocol's fingerprints."""
        return Reports(self.name, self.design_hash, self.domain_hash, payload)

    def aggregate(self, reports: Iterable[Reports | Report | str | bytes] | Reports) -> Tally:
        """The tally of reports, packed, single or as lines of JSON; what does not belong is rejected and counted."""
        from sfumato.local.collector.tally import Tally

        tally = Tally(self)
        tally.add(reports)
        return tally

    def estimate(self, tally: Tally, *, consistent: bool | str = True) -> Estimate:
        """The counts with variance and 95 % interval; consistent by Norm-Sub, by another named method, or raw."""
        from sfumato.local.collector.estimate import make_estimate

        return make_estimate(self, tally, consistent=consistent)

    def card(self, reports: int, *, seeded: bool = False) -> Card:
        """The public card of a file of reports."""
        from sfumato.local.card import report_card

        return report_card(self, reports, seeded=seeded)

    def supporting(self, counts: Integers, users: int) -> Integers:
        """How many of `users` reports support each value of the domain, from the counters of a tally."""
        del users
        return counts

    def support_counts(self, counts: Integers, users: int) -> tuple[Integers, Integers]:
        """How many reports support each value (or set each bit), and out of how many, from the counters of a tally.

        Each count is a sum of coins with the probabilities of `support`, one coin a report.
        """
        import numpy as np

        hits = self.supporting(counts, users)
        return hits, np.full(len(hits), users)

    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        """For every report (row) and every value (column) a number that rises with the report's probability.

        This is 1 where a report supports a value and 0 elsewhere, which orders the values of a pure protocol.

        >>> import numpy as np
        >>> from sfumato.local import OptimizedUnary
        >>> protocol = OptimizedUnary(["a", "b", "c"], 1)
        >>> protocol.likelihood(np.array([[0b011], [0b000]], dtype=np.uint8), np.array([0, 2])).tolist()
        [[1.0, 0.0], [0.0, 0.0]]
        """
        import numpy as np

        rows = (self.supporting(self.count(payload[row : row + 1]), 1)[codes] for row in range(len(payload)))
        return np.array(list(rows), dtype=np.float64).reshape(len(payload), len(codes))

    @abstractmethod
    def draw_many(self, codes: Codes, source: Source) -> Payload:
        """One fresh payload for each code, a row each."""

    @abstractmethod
    def well_formed(self, payload: Payload) -> Mask:
        """Whether each row of payload is one that a device could have sent."""

    @abstractmethod
    def count(self, payload: Payload) -> Integers:
        """The counters of well-formed rows of payload."""
