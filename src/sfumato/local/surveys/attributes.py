"""Several attributes of one device under one ε: each device reports one of them, or all with a share of ε each.

Sampling one is better (Nguyên, Xiao, Yang, Hui, Shin & Shin 2016; Wang et al. 2019, section IV): noise grows faster
when ε is divided by the number of attributes than when the devices are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from sfumato.core import seam
from sfumato.core.parameters import OneOf, Whole
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.local import device
from sfumato.local.base import EPSILON, LocalProtocol
from sfumato.local.domain import Value
from sfumato.local.laws import Lots
from sfumato.local.probabilities import asked_loss, log_above
from sfumato.local.protocol_choice import choose
from sfumato.local.reports.report import Report, Reports
from sfumato.promise.ratio import loss_above

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes
    from sfumato.local.collector.estimate import Estimate
    from sfumato.local.collector.tally import Tally
    from sfumato.promise import Promise
    from sfumato.random import Source

LOTS = 2**32
MODES = OneOf(("sample", "split"))


@dataclass(frozen=True)
class Attributes:
    """The attributes, each with the protocol chosen for it, and how a device's ε is used for them.

    With `mode="sample"` a device draws one attribute, `shares` (equal unless given) being public, and reports it at
    the full ε; with `mode="split"` it reports all, each at an equal part of ε.

    >>> plan = Attributes.choose({"hour": range(24), "sex": ["f", "m"]}, epsilon=2, users=10_000)
    >>> {name: protocol.name for name, protocol in plan.protocols.items()}
    {'hour': 'ss', 'sex': 'rr'}
    >>> len(plan.perturb({"hour": 8, "sex": "f"}))
    1
    """

    protocols: Mapping[str, LocalProtocol]
    mode: Literal["sample", "split"]
    shares: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", _shares(self.protocols, self.shares or None))

    @classmethod
    def choose(
        cls,
        domains: Mapping[str, Sequence[Value]],
        epsilon: float,
        users: int,
        *,
        mode: Literal["sample", "split"] = "sample",
        shares: Mapping[str, float] | None = None,
    ) -> Attributes:
        """Return a plan with the protocol of lowest predicted variance for every attribute."""
        if not MODES.accepts(mode) or not EPSILON.accepts(epsilon):
            rule, value = (MODES, mode) if EPSILON.accepts(epsilon) else (EPSILON, epsilon)
            raise ParameterError(f"several attributes take {rule.wanted}; found {value!r}")
        if not Whole(1).accepts(users):
            raise ParameterError(f"several attributes need {Whole(1).wanted} as the number of users; found {users!r}")
        parts = _shares(domains, shares)
        each = epsilon if mode == "sample" else _largest_part(epsilon, len(domains))
        heads = {name: max(1, round(users * (parts[name] if mode == "sample" else 1))) for name in domains}
        protocols = {name: choose(domain, each, heads[name]) for name, domain in domains.items()}
        return cls(protocols, mode, parts)

    @property
    def spent(self) -> float:
        """The ε of all that one device sends, rounded up."""
        return log_above(self._ratio)

    @property
    def promise(self) -> Promise:
        """What one device is promised: the dearest attribute if one is drawn, the sum of all if all are sent.

        >>> plan = Attributes.choose({"hour": range(24), "sex": ["f", "m"]}, epsilon=2, users=1000, mode="split")
        >>> plan.promise.cost.epsilon <= 2
        True
        """
        from sfumato.local.promise import report_promise

        return report_promise(loss_above(self._ratio))

    @property
    def _ratio(self) -> Fraction:
        ratios = [protocol.ratio for protocol in self.protocols.values()]
        return max(ratios) if self.mode == "sample" else math.prod(ratios, start=Fraction(1))

    def variance(self, name: str, users: float, count: float = 0.0) -> float:
        """The variance of the estimated count of a value that `count` of all `users` have."""
        protocol = self.protocols[name]
        if self.mode == "split":
            return protocol.variance(users, count)
        share = self.shares[name]
        sampling = count * (1 - count / users) * (1 - share) / share  # of the devices that draw this attribute
        return protocol.variance(users * share, count * share) / share**2 + sampling

    # On the device.

    def perturb(self, record: Mapping[str, Value]) -> dict[str, Report]:
        """The fresh reports of a record by attribute: one of them if attributes are sampled, else all."""
        missing = [name for name in self.protocols if name not in record]
        if missing:  # whatever the lot, so that a silent device tells nothing about it
            raise InputError(f"the record has no '{missing[0]}'; give a value for each of {', '.join(self.protocols)}")
        codes = {name: protocol.encode(record[name]) for name, protocol in self.protocols.items()}
        if self.mode == "split":
            return {name: self.protocols[name].perturb(code) for name, code in codes.items()}
        drawn = self.draw()
        return {drawn: self.protocols[drawn].perturb(codes[drawn])}

    def draw(self) -> str:
        """One attribute by its share. A device that is asked again and again draws once and keeps it (see `Memory`)."""
        lot = seam.choose(lambda: Lots(1), lambda: device.below(LOTS))
        return next(name for name, end in self._ends() if lot < end)

    def _ends(self) -> list[tuple[str, int]]:
        ends = [round(LOTS * part) for part in accumulate(self.shares.values())]
        return list(zip(self.shares, [*ends[:-1], LOTS], strict=True))

    # For many users at once, and at the collector.

    def report_many(self, codes: Mapping[str, Codes], source: Source) -> dict[str, Iterator[Reports]]:
        """Fresh reports of many users by attribute, from the places of their values in the domains."""
        import numpy as np

        from sfumato.local.protocols.bulk import uniform_integers

        sizes = {len(places) for places in codes.values()}
        if set(codes) != set(self.protocols) or len(sizes) != 1:
            raise InputError(f"reports need one value of each attribute ({', '.join(self.protocols)}) for every user")
        if self.mode == "split":
            return {name: self.protocols[name].report_many(places, source) for name, places in codes.items()}
        users = sizes.pop()
        lots = seam.choose(lambda: Lots(users), lambda: uniform_integers(LOTS, users, source))
        drawn = np.searchsorted(np.array([end for _, end in self._ends()]), lots, side="right")
        return {
            name: self.protocols[name].report_many(np.asarray(codes[name])[drawn == number], source)
            for number, name in enumerate(self.shares)
        }

    def aggregate(self, reports: Iterable[Mapping[str, Report]] | Mapping[str, Iterable[Reports]]) -> dict[str, Tally]:
        """The tallies by attribute, of single devices' reports or of packed ones."""
        tallies = {name: protocol.aggregate([]) for name, protocol in self.protocols.items()}
        if isinstance(reports, Mapping):
            for name, packed in reports.items():
                self._tally(tallies, name).add(packed)
            return tallies
        for entry in reports:
            for name, report in entry.items():
                self._tally(tallies, name).add([report])
        return tallies

    @staticmethod
    def _tally(tallies: dict[str, Tally], name: str) -> Tally:
        if name not in tallies:
            raise InputError(f"there is a report about '{name}', which is no attribute{suggestion(name, tallies)}")
        return tallies[name]

    def estimate(self, tallies: Mapping[str, Tally], *, consistent: bool | str = True) -> dict[str, Estimate]:
        """The counts of every attribute among all users, with variance and 95 % interval."""
        found = {name: tally.protocol.estimate(tally, consistent=consistent) for name, tally in tallies.items()}
        if self.mode == "split":
            return found
        silent = [name for name, tally in tallies.items() if not tally.users]
        if silent:
            raise InputError(f"no report is about '{silent[0]}', so nothing is known of it; collect more")
        users = sum(tally.users for tally in tallies.values())
        return {name: _scale_to_all_users(estimate, users) for name, estimate in found.items()}


def _largest_part(epsilon: float, parts: int) -> float:
    """The largest number that, taken `parts` times, is not above ε."""
    part = epsilon / parts
    while Fraction(part) * parts > asked_loss(epsilon):
        part = math.nextafter(part, 0)
    return part


def _shares(domains: Mapping[str, object], shares: Mapping[str, float] | None) -> dict[str, float]:
    if not domains:
        raise ParameterError("there is no attribute; give at least one with its domain")
    if shares is None:
        return dict.fromkeys(domains, 1 / len(domains))
    if set(shares) != set(domains) or any(not 0 < share < math.inf for share in shares.values()):
        raise ParameterError(f"give a share above 0 for each of the attributes {', '.join(domains)}")
    total = sum(shares.values())
    return {name: shares[name] / total for name in domains}


def _scale_to_all_users(estimate: Estimate, users: int) -> Estimate:
    """The same estimate for all users, of whom only some reported this attribute."""
    from sfumato.local.collector.estimate import interval

    factor = users / estimate.users
    counts, raw = estimate.counts * factor, estimate.raw * factor
    within = raw.clip(0, users)
    variance = estimate.variance * factor**2 + within * (1 - within / users) * (factor - 1)
    spread = None if estimate.spread is None else estimate.spread.for_sample(factor, users)
    low, high = interval(raw, variance, counts, users, spread)
    return replace(estimate, users=users, counts=counts, variance=variance, low=low, high=high, raw=raw, spread=spread)
