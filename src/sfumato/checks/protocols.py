"""What every local protocol must do: keep its ε exactly, draw alike on a device and in bulk, add up, refuse the rest.

The checks want a small domain (reports of at most 16 random bits), on which the law of a report can be enumerated. A
protocol for means is checked by its moments instead: unbiased, and no noisier than it states (Wang et al. 2019).
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.checks.base import Check, expect, parameter_checks
from sfumato.checks.protocol_laws import CRITICAL, follows_law, keeps_epsilon, orders_values, supports_as_stated
from sfumato.errors import InputError
from sfumato.local.base import LocalProtocol
from sfumato.local.card import mean_card
from sfumato.local.collector.tally import Tally
from sfumato.local.means.base import MeanProtocol
from sfumato.local.means.tally import MeanEstimate
from sfumato.local.reports.files import aggregate_stream, from_header, to_header, write_stream
from sfumato.local.reports.report import MALFORMED, OTHER_DOMAIN, OTHER_PROTOCOL, TRUNCATED, Report, Reports
from sfumato.random import SeededSource
from sfumato.release.card import Card

ON_DEVICE = 3000
IN_BULK = 8000
FAR = 6.0  # standard deviations that chance exceeds twice in 10^9 runs


def protocol_checks(protocol: LocalProtocol) -> Iterator[Check]:
    """Yield the checks for one protocol over a small domain.

    >>> from sfumato.local import GeneralizedResponse
    >>> for check in protocol_checks(GeneralizedResponse(["red", "green", "blue"], 1.2)):
    ...     check.run()
    """
    yield from parameter_checks(protocol)
    for name, function in CHECKS.items():
        yield Check(name, partial(function, protocol))


def _codes(protocol: LocalProtocol, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(count) % len(protocol.domain)


def _bulk(protocol: LocalProtocol, count: int = 300, seed: int = 1) -> Reports:
    chunks = list(protocol.report_many(_codes(protocol, count), SeededSource(seed)))
    return protocol.packed(np.concatenate([chunk.payload for chunk in chunks]))


def _device_follows_law(protocol: LocalProtocol) -> None:
    for code in (0, len(protocol.domain) - 1):
        statistic = follows_law(protocol, code, (protocol.perturb(code).payload for _ in range(ON_DEVICE)))
        expect(statistic < CRITICAL, f"{protocol.name}: reports of a device do not follow their law ({statistic:.0f})")


def _bulk_follows_law(protocol: LocalProtocol) -> None:
    for code in (0, len(protocol.domain) - 1):
        chunks = protocol.report_many(np.full(IN_BULK, code), SeededSource(code + 1))
        statistic = follows_law(protocol, code, (row.tobytes() for chunk in chunks for row in chunk.payload))
        expect(statistic < CRITICAL, f"{protocol.name}: reports in bulk do not follow their law ({statistic:.0f})")


def _one_by_one_equals_bulk(protocol: LocalProtocol) -> None:
    packed = _bulk(protocol)
    single = list(packed)
    lines = [report.to_json() for report in single]
    tallies = [protocol.aggregate(form) for form in (packed, single, lines, [packed])]
    expect(all(tally == tallies[0] for tally in tallies), f"{protocol.name} counts packed and single reports apart")
    expect(tallies[0].users == len(packed), f"{protocol.name} lost reports of its own")


def _tallies_add_up(protocol: LocalProtocol) -> None:
    first, second, third = (protocol.aggregate(_bulk(protocol, 40 + seed, seed)) for seed in (1, 2, 3))
    third.reject(MALFORMED, 2)
    expect((first + second) + third == first + (second + third), "the sum of three tallies depends on the order")
    expect(first + third == third + first, "the sum of two tallies depends on the order")
    expect(first + Tally(protocol) == first, "an empty tally changes a sum")
    other = replace(protocol, epsilon=protocol.epsilon / 2)
    try:
        first += Tally(other)
    except InputError:
        return
    expect(condition=False, sentence="tallies of two different ε were added up")


def _survives_files(protocol: LocalProtocol) -> None:
    packed = _bulk(protocol)
    tally = protocol.aggregate(packed)
    for form in ("lines", "packed"):
        file = io.BytesIO()
        written = write_stream(file, protocol, [packed, next(iter(packed))], form=form)
        file.seek(0)
        again = aggregate_stream(file)
        expect(written == again.users == len(packed) + 1, f"{protocol.name} lost reports in a file of {form}")
        expect(again.protocol == protocol, f"{protocol.name} comes back from a file as another protocol")
    with tempfile.TemporaryDirectory() as folder:
        tally.save(Path(folder) / "tally.json")
        expect(Tally.load(Path(folder) / "tally.json") == tally, f"a tally of {protocol.name} changes when it is saved")
    expect(from_header(to_header(protocol), where="here") == protocol, "the header does not hold the whole protocol")


def _refuses_foreign_reports(protocol: LocalProtocol) -> None:
    own = protocol.perturb(0)
    weaker = replace(protocol, epsilon=protocol.epsilon / 2).perturb(0)
    elsewhere = replace(protocol, domain=tuple(f"other {value}" for value in protocol.domain)).perturb(0)
    longer = Report(own.protocol, own.design, own.domain, own.payload + b"\0")
    tally = protocol.aggregate([weaker, elsewhere, longer, "{}", b"\xff", own.to_json()[:-9]])
    wanted = {OTHER_PROTOCOL: 1, OTHER_DOMAIN: 1, MALFORMED: 4}
    expect(tally.users == 0, f"{protocol.name} counted a report that is not its own")
    expect(not tally.counts.any(), f"{protocol.name} let a foreign report into its counters")
    expect(tally.rejected == wanted, f"{protocol.name} rejected {tally.rejected} where {wanted} was right")


def _refuses_a_cut_file(protocol: LocalProtocol) -> None:
    for form in ("lines", "packed"):
        file = io.BytesIO()
        write_stream(file, protocol, _bulk(protocol, 9), form=form)
        cut = aggregate_stream(io.BytesIO(file.getvalue()[:-3]))
        expect(cut.users == 8 and cut.rejected == {TRUNCATED: 1}, f"a cut file of {form} gave {cut.rejected}")


def _refuses_bad_values(protocol: LocalProtocol) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: protocol.encode("no such value"),
        lambda: protocol.encode_many(["no such value"]),
        lambda: protocol.perturb(len(protocol.domain)),
        lambda: protocol.perturb(-1),
        lambda: protocol.report_many(np.array([len(protocol.domain)])),
        lambda: protocol.report_many(np.array(["x"])),
    ]
    for attempt in attempts:
        try:
            attempt()
        except InputError:
            continue
        expect(condition=False, sentence=f"{protocol.name} took a value outside its domain")


def _is_reproducible(protocol: LocalProtocol) -> None:
    expect(np.array_equal(_bulk(protocol).payload, _bulk(protocol).payload), "the same seed gave two sets of reports")
    card = protocol.card(300, seeded=True)
    expect(any("seed" in warning for warning in card.warnings), "seeded reports do not say so on their card")


def _expect_derived(card: Card, protocol: LocalProtocol | MeanProtocol) -> None:
    """Expect a card that states the ε of the promise, which is not below what the thresholds give."""
    stated = card.guarantee.parameters["epsilon"]
    expect(stated == float(protocol.promise.cost.epsilon), "the card has another ε than the promise")
    expect(protocol.spent <= stated, "the promise is below what the thresholds give")
    expect(stated <= protocol.epsilon, "the promise is above the ε that was asked for")


def _says_what_it_promises(protocol: LocalProtocol) -> None:
    estimate = protocol.estimate(protocol.aggregate(_bulk(protocol)), consistent=True)
    for card in (protocol.card(300), estimate.card):
        expect(card.door == "local", "the card is not one of the local door")
        _expect_derived(card, protocol)
    expect(any("post-processing" in note for note in estimate.card.assumptions), "consistent counts do not say so")
    expect(estimate.frame.columns == ["value", "count", "variance", "low", "high"], "an estimate has other columns")
    inside = (estimate.low <= estimate.counts) & (estimate.counts <= estimate.high)
    expect(inside.all(), "a count lies outside its own interval")


def _says_what_it_is(protocol: LocalProtocol) -> None:
    kind = type(protocol)
    _has_a_name(kind)
    sample = kind.sample(protocol.domain, protocol.epsilon)
    expect(isinstance(sample, kind), f"the sample of {kind.__name__} is none of it")


def _has_a_name(kind: type[LocalProtocol | MeanProtocol]) -> None:
    plain = kind.name.isascii() and kind.name == kind.name.strip().lower() != "auto" and '"' not in kind.name
    expect(kind.name and plain, f"{kind.__name__} has the name {kind.name!r}; give it a plain one in small letters")
    expect(kind.words, f"{kind.__name__} has no plain name for reports; declare its `words`")


CHECKS: dict[str, Callable[[LocalProtocol], None]] = {
    "ε holds exactly": keeps_epsilon,
    "reports support values as stated": supports_as_stated,
    "likelihoods order the values": orders_values,
    "the class says what it is": _says_what_it_is,
    "reports of a device follow their law": _device_follows_law,
    "reports in bulk follow their law": _bulk_follows_law,
    "packed and single reports count alike": _one_by_one_equals_bulk,
    "tallies add up": _tallies_add_up,
    "files bring back what they were given": _survives_files,
    "foreign reports are rejected": _refuses_foreign_reports,
    "a cut file is noticed": _refuses_a_cut_file,
    "bad values are refused": _refuses_bad_values,
    "a seed reproduces the reports": _is_reproducible,
    "the card says what is promised": _says_what_it_promises,
}


def mean_protocol_checks(protocol: MeanProtocol) -> Iterator[Check]:
    """Yield the checks for one protocol for means.

    >>> from sfumato.local import Piecewise
    >>> for check in mean_protocol_checks(Piecewise(0, 10, 1.2)):
    ...     check.run()
    """
    yield from parameter_checks(protocol)
    for name, function in MEAN_CHECKS.items():
        yield Check(name, partial(function, protocol))


def _mean(protocol: MeanProtocol, value: float, count: int, seed: int = 1) -> MeanEstimate:
    reports = protocol.report_many(np.full(count, value), SeededSource(seed))
    return protocol.estimate(protocol.aggregate(reports), consistent=False)


def _three_values(protocol: MeanProtocol) -> tuple[float, float, float]:
    return protocol.low, (protocol.low + protocol.high) / 2, protocol.high


def _mean_says_what_it_is(protocol: MeanProtocol) -> None:
    kind = type(protocol)
    _has_a_name(kind)
    sample = kind.sample(protocol.low, protocol.high, protocol.epsilon)
    expect(isinstance(sample, kind), f"the sample of {kind.__name__} is none of it")
    expect(protocol.spent <= protocol.epsilon, f"the card would say ε={protocol.spent}, above {protocol.epsilon}")


def _mean_is_unbiased(protocol: MeanProtocol) -> None:
    half = (protocol.high - protocol.low) / 2
    for value in _three_values(protocol):
        found = _mean(protocol, value, IN_BULK)
        reach = FAR * half * (protocol.worst_variance / IN_BULK) ** 0.5
        expect(abs(found.mean - value) < reach, f"{protocol.name} estimates {found.mean:g} where all have {value:g}")
        worst = half**2 * protocol.worst_variance / IN_BULK
        expect(found.variance < 1.2 * worst, f"{protocol.name} is noisier at {value:g} than its worst variance")


def _mean_of_devices(protocol: MeanProtocol) -> None:
    half = (protocol.high - protocol.low) / 2
    for value in _three_values(protocol):
        tally = protocol.aggregate(protocol.perturb(value) for _ in range(ON_DEVICE))
        found = protocol.estimate(tally, consistent=False)
        reach = FAR * half * (protocol.worst_variance / ON_DEVICE) ** 0.5
        expect(tally.users == ON_DEVICE, f"{protocol.name} lost reports of its own devices")
        expect(abs(found.mean - value) < reach, f"devices of {protocol.name} report {found.mean:g} for {value:g}")


def _mean_tallies_add_up(protocol: MeanProtocol) -> None:
    middle = _three_values(protocol)[1]
    first, second = (protocol.report_many(np.full(50, middle), SeededSource(seed)) for seed in (1, 2))
    both = protocol.aggregate(first) + protocol.aggregate(second)
    expect(both == protocol.aggregate(np.concatenate([first, second])), f"tallies of {protocol.name} do not add up")
    expect(protocol.aggregate(first.tolist()) == protocol.aggregate(first), "single and packed reports count apart")
    try:
        both += replace(protocol, epsilon=protocol.epsilon / 2).aggregate(first)
    except InputError:
        return
    expect(condition=False, sentence="tallies of two different ε were added up")


def _mean_refuses_the_rest(protocol: MeanProtocol) -> None:
    junk: list[Any] = [0.5, True, "1", None, 2**70]
    tally = protocol.aggregate(junk)
    expect((tally.users, tally.rejected) == (0, len(junk)), f"{protocol.name} counted what no device sends")
    for value in (protocol.low - 1, protocol.high + 1):
        for attempt in (lambda value=value: protocol.perturb(value), lambda value=value: protocol.report_many([value])):
            try:
                attempt()
            except InputError:
                continue
            expect(condition=False, sentence=f"{protocol.name} took a value outside its bounds")


def _mean_is_reproducible(protocol: MeanProtocol) -> None:
    middle = _three_values(protocol)[1]
    expect(_mean(protocol, middle, 100) == _mean(protocol, middle, 100), "the same seed gave two sets of reports")


def _mean_card_promises(protocol: MeanProtocol) -> None:
    tally = protocol.aggregate(protocol.report_many(np.full(100, protocol.low), SeededSource(1)))
    card = mean_card(protocol, tally, protocol.estimate(tally), column="number")
    expect(card.door == "local", "the card is not one of the local door")
    _expect_derived(card, protocol)


MEAN_CHECKS: dict[str, Callable[[MeanProtocol], None]] = {
    "the class says what it is": _mean_says_what_it_is,
    "means are unbiased and no noisier than stated": _mean_is_unbiased,
    "devices report the same mean": _mean_of_devices,
    "tallies add up": _mean_tallies_add_up,
    "what is no report or no value is refused": _mean_refuses_the_rest,
    "a seed reproduces the reports": _mean_is_reproducible,
    "the card says what is promised": _mean_card_promises,
}
