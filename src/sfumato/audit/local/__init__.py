"""Attacks on the local door: does a report tell more about its device than its file says?

The header's ε against its chances, the perturbing step by trials (Ding, Wang, Wang, Zhang & Kifer 2018), the reports
themselves against the chances, and the best guess at a value: under ε nobody who sees one report is right more often
than e^ε/(e^ε + d - 1) of the time about d equally frequent values (Kairouz, Bonawitz & Ramage 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from sfumato.audit.epsilon import epsilon
from sfumato.audit.epsilon.bounds import lower_limit
from sfumato.audit.local.header import header_finding, raw_header
from sfumato.core.arrays import Codes, Integers, Payload, Reals
from sfumato.core.progress import tell
from sfumato.errors import InputError
from sfumato.local import LocalProtocol, aggregate_file
from sfumato.local.collector.tally import NO_FILE, Tally
from sfumato.local.reports.files import from_header
from sfumato.random import SecureSource, Source
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding

OUTSIDE = 1e-6  # how often the bound on guessing may be wrong: some protocols reach what is allowed
HARDLY_EVER = 1e-9  # how unlikely counts must be before they speak against the chances
MOST_SCORES = 200_000_000
SCORES_AT_ONCE = 4_000_000
DEVICE_WORK = 4_000_000
FEW = 2000


def local(reports: str | Path | LocalProtocol, *, trials: int = 200_000, rng: Source | None = None) -> list[Finding]:
    """Return what attacks on a file of reports came to, or on a protocol alone: on its perturbing step.

    `trials` is how many reports of made-up values are drawn for each attack.

    >>> from sfumato.local import WarnerResponse
    >>> from sfumato.random import SeededSource
    >>> found = local(WarnerResponse(["no", "yes"], 1), trials=4000, rng=SeededSource(1))
    >>> [finding.refuted for finding in found]
    [False, False, False]
    """
    if isinstance(reports, LocalProtocol):
        return _attack_perturbing(reports, trials, rng)
    path = Path(reports)
    header = raw_header(path)
    stated = header_finding(header, where=f"report file '{path}'")
    try:
        protocol = from_header(header, where=f"report file '{path}'")
    except InputError as error:
        claim = "the header's chances are those of its own parameters"
        return [stated, Finding(claim=claim, verdict=REFUTED, evidence={"reason": str(error)})]
    tally = aggregate_file(path, protocol)
    return [stated, _rejected_reports(tally), _drawn_as_stated(tally), *_attack_perturbing(protocol, trials, rng)]


def local_files(paths: Sequence[str | Path], *, trials: int = 200_000, rng: Source | None = None) -> list[Finding]:
    """Return what attacks on several files of reports came to; with more than one, each claim begins with its file.

    >>> local_files([])
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no report file; name one or more
    """
    if not paths:
        raise InputError(NO_FILE)
    findings: list[Finding] = []
    for place, path in enumerate(map(Path, paths)):
        tell(place / len(paths), path.name)
        found = local(path, trials=trials, rng=rng)
        alone = len(paths) == 1
        findings += found if alone else [replace(entry, claim=f"{path.name}: {entry.claim}") for entry in found]
    return findings


def _rejected_reports(tally: Tally) -> Finding:
    """Return whether reports had to be rejected."""
    rejected = sum(tally.rejected.values())
    total = tally.users + rejected
    evidence: dict[str, Any] = {"reports": total, "rejected": dict(tally.rejected)}
    if rejected:
        reasons = ", ".join(f"{count} {reason}" for reason, count in tally.rejected.items())
        evidence["reason"] = f"{rejected} of {total} reports were rejected ({reasons})"
    return Finding(
        claim="every report in the file is one of its own protocol and domain",
        verdict=REFUTED if rejected else NOT_REFUTED,
        bound=rejected / total if total else 0.0,
        evidence=evidence,
    )


def _drawn_as_stated(tally: Tally) -> Finding:
    """Return whether so many, or so few, reports support a value as the chances hardly ever give, whoever has it.

    If nobody has a value, n reports support it Bin(n, q) times, if everybody has, Bin(n, p) times; any other crowd lies
    between (a sum of independent coins). Tails are bounded as by Chernoff (1952).
    """
    hits, users = tally.protocol.support_counts(tally.counts, tally.users)
    own, other = (float(probability) for probability in tally.protocol.support)
    logs = np.minimum(_log_tail(hits, users, other, below=True), _log_tail(hits, users, own, below=False))
    place = int(np.argmin(logs)) if logs.size else 0
    least = float(logs[place]) + math.log(2 * logs.size) if logs.size else 0.0
    evidence: dict[str, Any] = {"reports": tally.users, "log of the chance": round(min(0.0, least), 3)}
    refuted = least < math.log(HARDLY_EVER)
    if refuted:
        evidence["counter"] = place
        evidence["reason"] = (
            f"{int(hits[place])} of {int(users[place])} reports support counter {place + 1}, and the chances of the "
            f"header give between {other:.4g} and {own:.4g} of them"
        )
    verdict = REFUTED if refuted else NOT_REFUTED
    return Finding(claim="the reports were drawn with the chances of the header", verdict=verdict, evidence=evidence)


def _log_tail(hits: Integers, users: Integers, probability: float, *, below: bool) -> Reals:
    """Return a bound on the log of the chance of so few (or so many) heads: -n·KL(hits/n || chance)."""
    share = hits / np.maximum(users, 1)
    beyond = share < probability if below else share > probability
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(share > 0, share * np.log(share / probability), 0.0)
        second = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - probability)), 0.0)
    logs: Reals = np.where(beyond, -users * (first + second), 0.0)
    return logs


def _attack_perturbing(protocol: LocalProtocol, trials: int, rng: Source | None) -> list[Finding]:
    """Return what trials of the perturbing step show: in bulk, on a device, and by guessing."""
    source = SecureSource() if rng is None else rng
    once = protocol.spent_once
    pair = np.array([0, 1])

    def in_bulk(code: int, count: int, rng: Source) -> Reals:
        return _difference(protocol.likelihood(_payloads(protocol, np.full(count, code), rng), pair))

    def on_a_device(code: int, count: int, rng: Source) -> Reals:
        del rng  # a device draws from its own operating system
        rows = b"".join(protocol.perturb(code).payload for _ in range(count))
        return _difference(protocol.likelihood(np.frombuffer(rows, dtype=np.uint8).reshape(count, -1), pair))

    few = min(trials, max(FEW, DEVICE_WORK // max(len(protocol.domain), 8 * protocol.report_bytes)))
    return [
        _name_places(epsilon(in_bulk, 0, 1, claim=once, trials=trials, rng=source), protocol, "in bulk"),
        _name_places(epsilon(on_a_device, 0, 1, claim=once, trials=few, rng=source), protocol, "on a device"),
        _attack_by_guessing(protocol, once, min(trials, max(FEW, MOST_SCORES // len(protocol.domain))), source),
    ]


def _payloads(protocol: LocalProtocol, codes: Codes, source: Source) -> Payload:
    return np.concatenate([batch.payload for batch in protocol.report_many(codes, source)])


def _difference(found: Reals) -> Reals:
    """Return how much more a report fits the first value than the second."""
    difference: Reals = np.round(found[:, 0] - found[:, 1], 9)
    return difference


def _name_places(finding: Finding, protocol: LocalProtocol, where: str) -> Finding:
    """Return the finding of trials with a claim about reports, the two values named by their places in the domain."""
    claim = f"a report by {protocol.name}, drawn {where}, costs at most ε={finding.evidence['claim']:.6g}"
    reason = f"two values are told apart with ε at least {finding.bound:.4g}, by {finding.evidence['trials']} trials"
    evidence = {**finding.evidence, "input": "place of the value in the domain", "reason": reason}
    return replace(finding, claim=claim, evidence=evidence)


def _attack_by_guessing(protocol: LocalProtocol, once: float, trials: int, source: Source) -> Finding:
    """Return how often the likeliest value is the true one, when all values are equally frequent."""
    values = len(protocol.domain)
    right, done = 0, 0
    while done < trials:
        count = min(trials - done, max(1, SCORES_AT_ONCE // values))
        codes = (source.words(count).astype(np.int64) * values) >> 32
        right += int((_likeliest_values(protocol, _payloads(protocol, codes, source), source) == codes).sum())
        done += count
    at_most = math.exp(once) / (math.exp(once) + values - 1)
    bound = lower_limit(right, trials, OUTSIDE)
    share = right / trials
    return Finding(
        claim=f"whoever guesses a value from one report is right at most {at_most:.2%} of the time",
        verdict=REFUTED if bound > at_most else NOT_REFUTED,
        bound=bound,
        evidence={
            "attack": "maximum likelihood, values equally frequent",
            "right": right,
            "trials": trials,
            "blind": 1 / values,
            "at most": at_most,
            "reason": f"the attacker is right {share:.2%} of the time and, without the report, {1 / values:.2%}",
        },
    )


def _likeliest_values(protocol: LocalProtocol, payload: Payload, source: Source) -> Codes:
    """Return the likeliest value for each report, one of them at random where several are."""
    found = protocol.likelihood(payload, np.arange(len(protocol.domain)))
    ties = source.words(found.size).reshape(found.shape) * 2.0**-60  # below any difference of scores
    likeliest: Codes = np.argmax(found + ties, axis=1)
    return likeliest
