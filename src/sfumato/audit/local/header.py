"""What the header of a report file claims, and the ε that its chances really give, in exact fractions.

The formulas are worked out here a second time, from the papers (Wang, Blocki, Li & Jha 2017; Ye & Barg 2018; Acharya,
Sun & Zhang 2019; Erlingsson, Pihur & Korolova 2014), so that a slip in a protocol's own arithmetic would show. A
protocol of another package has no formula here; the audit says so, and attacks it by trials like the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato import plugins
from sfumato.errors import InputError
from sfumato.local.probabilities import SCALE, log_above
from sfumato.local.reports.files import FORMAT
from sfumato.local.reports.forms import LARGEST_HEADER, MAGIC
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, leave_unaudited

Thresholds = Mapping[str, int]
MOST_HASHES = 64
NOT_DERIVED = "the auditor has no derivation of its own for the ε of '{}', so it was not derived a second time"


def raw_header(path: Path) -> dict[str, Any]:
    """Return the header of a report file as it stands there, true or not.

    >>> raw_header(Path("no such file"))
    Traceback (most recent call last):
    sfumato.errors.InputError: report file 'no such file' cannot be read: No such file or directory
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
            if start == MAGIC:
                length = int.from_bytes(file.read(4), "little")
                text = file.read(min(length, LARGEST_HEADER))
            else:
                text = start + file.readline(LARGEST_HEADER)
    except OSError as error:
        raise InputError(f"report file '{path}' cannot be read: {error.strerror or error}") from error
    try:
        header: Any = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.pop("format", None) != FORMAT:
        raise InputError(f"report file '{path}' does not begin with the header of a report file")
    return header


def header_finding(header: Mapping[str, Any], *, where: str) -> Finding:
    """Return whether a report costs more than the header says, by the header's own chances.

    >>> from sfumato.local import WarnerResponse
    >>> from sfumato.local.reports.files import to_header
    >>> stated = to_header(WarnerResponse(["no", "yes"], 1))
    >>> header_finding(stated, where="here").verdict, header_finding(stated | {"epsilon": 0.5}, where="here").verdict
    ('NOT_REFUTED', 'REFUTED')
    """
    try:
        name, stated, domain = str(header["protocol"]), float(header["epsilon"]), len(header["domain"])
        thresholds = {key: int(number) for key, number in header["chances"].items()}
        if name not in RATIOS and name in plugins.names("protocols"):
            return leave_unaudited(f"one report costs at most ε={stated:.6g}", NOT_DERIVED.format(name))
        _refuse_endless(thresholds)
        ratio = RATIOS[name](thresholds, domain)
        bound = log_above(ratio) if ratio >= 1 else log_above(1 / ratio)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{where}: the header's protocol, ε, chances or domain cannot be read ({error!r})") from error
    evidence: dict[str, Any] = {
        "protocol": name,
        "values": domain,
        "chances": {key: str(number) for key, number in thresholds.items()},
        "ratio": str(ratio),
        "stated": stated,
    }
    if bound > stated:
        evidence["reason"] = f"by the header's own chances two values can be told apart with ε={bound:.6g}"
    verdict = REFUTED if bound > stated else NOT_REFUTED
    return Finding(claim=f"one report costs at most ε={stated:.6g}", verdict=verdict, bound=bound, evidence=evidence)


def _refuse_endless(thresholds: Thresholds) -> None:
    """Refuse chances that no header of ours has, and whose powers would not end."""
    if not all(0 <= number <= SCALE for number in thresholds.values()) or thresholds.get("hashes", 1) > MOST_HASHES:
        raise ValueError("a chance is out of range")


def _response(thresholds: Thresholds, values: int) -> Fraction:
    del values
    return Fraction(thresholds["own"], thresholds["other"])


def _unary(thresholds: Thresholds, values: int) -> Fraction:
    """The own bit set and another's not, against the other way round."""
    del values
    own, other = thresholds["own"], thresholds["other"]
    return Fraction(own * (SCALE - other), (SCALE - own) * other)


def _subset(thresholds: Thresholds, values: int) -> Fraction:
    """One set with the value against the same set without it: C(d-1, k-1) and C(d-1, k) sets share the two chances."""
    held, size = thresholds["held"], thresholds["size"]
    return Fraction(held * (values - size), (SCALE - held) * size)


def _hadamard(thresholds: Thresholds, values: int) -> Fraction:
    del values
    return Fraction(thresholds["plus"], SCALE - thresholds["plus"])


def _rappor(thresholds: Thresholds, values: int) -> Fraction:
    """All bits of one Bloom filter kept and none of another's set, against the other way round."""
    del values
    return Fraction(SCALE - thresholds["flip"], thresholds["flip"]) ** (2 * thresholds["hashes"])


RATIOS: dict[str, Callable[[Thresholds, int], Fraction]] = {
    "grr": _response,
    "rr": _response,
    "olh": _response,
    "sue": _unary,
    "oue": _unary,
    "ss": _subset,
    "hr": _hadamard,
    "rappor": _rappor,
}
