"""The vectors that a device in another language must reproduce: headers, and random bytes with the reports they give.

Random bytes are served to the Python device in place of the operating system's; what it makes of them is the vector.
Half of them sit at the edges of thresholds and force rejections, where two readings of "below" would differ (test
vectors as in RFC 8439, appendix A).
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from sfumato.local import LaplaceMean, Rappor, device
from sfumato.local.base import LocalProtocol
from sfumato.local.domain import Value
from sfumato.local.means.base import MeanProtocol
from sfumato.local.protocol_choice import every_mean, every_protocol
from sfumato.local.reports.files import header_line
from sfumato.local.reports.forms import write_block
from sfumato.local.reports.report import Report

FILE = Path(__file__).parent / "vectors" / "local-reports.json"
SCALE = 2**64
EPSILONS = (1e-6, 0.1, 0.1 + 0.2, 0.61, 1, 2.251, 11.5, 40)
PLACES = ("Zürich", "東京", "🚲", 'a "b" \\c', "line\nend\u2028\x7f\x00", "", "1", 1, -7, 2**53 - 1, "__proto__", 0)
DOMAINS: tuple[Sequence[Value], ...] = (("no", "yes"), ("a", "b", "c"), PLACES, range(255), range(300))
DRAWN = (0.1, 2.251, 11.5)
BOUNDS = ((16, 94), (-1e12, 1e12), (0.1, 0.7))


class Served:
    """Bytes in place of the operating system's: drawn from a name, or at the edges of some thresholds; all are kept.

    >>> Served("a name")(3) == Served("a name")(3)
    True
    """

    def __init__(self, name: str, edges: Sequence[int] = (), start: bytes = b"") -> None:
        self.taken = b""
        self._stream = start + hashlib.shake_256(name.encode()).digest(2**15)
        self._edges = cycle(edge.to_bytes(8, "little") for edge in edges) if edges else None
        self._refuse = False

    def __call__(self, count: int) -> bytes:
        """The next bytes; where edges are wanted, whole words are edges and every second lot is all ones."""
        given = self._stream[len(self.taken) : len(self.taken) + count]
        if self._edges is not None:
            self._refuse = not self._refuse
            if count % 8 == 0:
                given = b"".join(next(self._edges) for _ in range(count // 8))
            elif self._refuse:
                given = b"\xff" * count
        if len(given) != count:
            raise EOFError("a vector wants more bytes than were drawn for it")
        self.taken += given
        return given


def edges_of(chances: dict[str, int]) -> list[int]:
    """Return the words around every threshold, and the first and the last word there are.

    >>> edges_of({"own": 7, "groups": 4})
    [0, 18446744073709551615, 6, 7, 8, 3, 4, 5]
    """
    around = [chance + step for chance in chances.values() for step in (-1, 0, 1)]
    if {"own", "other"} <= set(chances):  # one word decides among all values
        around += [chances["own"] + times * chances["other"] + step for times in (1, 2) for step in (-1, 0)]
    return [0, SCALE - 1, *(edge for edge in around if 0 <= edge < SCALE)]


def edge_lots(chances: dict[str, int], *, all_first: bool, turn: int) -> list[list[int]]:
    """Return no edges, then the edges beginning at another one each time: at every one, or at one that `turn` picks.

    >>> [lot[:2] for lot in edge_lots({"truth": 7}, all_first=False, turn=1)]
    [[], [18446744073709551615, 6]]
    """
    edges = edges_of(chances)
    firsts = range(len(edges)) if all_first else [turn % len(edges)]
    return [[], *(edges[first:] + edges[:first] for first in firsts)]


def with_bytes(served: Served, work: Callable[[], Any]) -> tuple[Any, str]:
    """Return what a piece of work gives on some bytes, and those that it took."""
    with mock.patch.object(device, "_system_bytes", served):
        made = work()
    return made, served.taken.hex()


def protocols(epsilons: Sequence[float]) -> Iterator[LocalProtocol]:
    """Yield every protocol over every domain at every ε that it accepts."""
    for kind in every_protocol().values():
        if not kind.__module__.startswith("sfumato."):
            continue
        for domain in DOMAINS:
            if kind.name == "rr" and len(domain) != 2:
                continue
            for epsilon in epsilons:
                yield kind(tuple(domain), epsilon)
    yield Rappor(PLACES, 1, bits=20, hashes=8, cohorts=300, p=0.1, q=0.999)


def text_of(protocol: LocalProtocol) -> str:
    """Return the header of a protocol, as the first line of a report file has it."""
    return header_line(protocol).decode("ascii")


def block_of(protocol: LocalProtocol, report: Report) -> str:
    """Return the packed block of one report."""
    file = io.BytesIO()
    write_block(file, protocol.packed(np.frombuffer(report.payload, dtype=np.uint8).reshape(1, -1)))
    return file.getvalue().hex()


def is_drawn(protocol: LocalProtocol) -> bool:
    """Return whether reports of a protocol are among the vectors: not where they would take thousands of bytes.

    >>> is_drawn(Rappor(("no", "yes"), 1))
    False
    """
    if protocol.name == "rappor":
        return protocol.domain == PLACES and protocol.epsilon in {1, 2.251}
    return protocol.epsilon in DRAWN and len(protocol.domain) <= (255 if protocol.report_bytes < 16 else 12)


def report_vectors(headers: Sequence[LocalProtocol]) -> Iterator[dict[str, Any]]:
    """Yield fresh reports: of the first, the last and a middle value, on drawn bytes and on edges."""
    for number, protocol in enumerate(headers):
        size = len(protocol.domain)
        for code in sorted({0, size // 2, size - 1}) if is_drawn(protocol) else ():
            thorough = code == size // 2 and protocol.epsilon == 2.251 and protocol.report_bytes < 16
            for edges in edge_lots(protocol.thresholds, all_first=thorough, turn=number + code):
                served = Served(f"report {number} {code}", edges)
                yield {"header": number, **report_vector(protocol, code, served)}


def report_vector(protocol: LocalProtocol, code: int, served: Served) -> dict[str, Any]:
    """Return the report of a value on some bytes."""
    report, taken = with_bytes(served, lambda: protocol.perturb(code))
    made = {"line": report.to_json(), "block": block_of(protocol, report)}
    return {"value": protocol.domain[code], "bytes": taken, **made}


def answer_vectors() -> Iterator[dict[str, Any]]:
    """Yield RAPPOR's permanent answers for any values, in a new cohort or an earlier one, and reports of them."""
    values: list[Value] = [*PLACES, "x" * 300]
    for protocol in (Rappor(("a", "b"), 2), Rappor(("a", "b"), 1, bits=20, hashes=8, cohorts=300)):
        for number, value in enumerate(values):
            edges = edges_of(protocol.thresholds) if number % 2 else []
            for earlier in (None, (23 * number % protocol.cohorts).to_bytes(2, "little")):
                yield answer_vector(protocol, value, earlier, number, edges)


def answer_vector(
    protocol: Rappor, value: Value, earlier: bytes | None, number: int, edges: Sequence[int]
) -> dict[str, Any]:
    """Return what is kept for a value, and a report of it."""
    before = [] if earlier is None else [earlier]
    kept, drawn = with_bytes(Served(f"answer {number}", edges), lambda: protocol.draw_answer(value, before))
    report, taken = with_bytes(Served(f"again {number}"), lambda: protocol.report_answer(kept))
    asked = {"header": text_of(protocol), "value": value, "key": protocol.answer_key(value)}
    cohort = None if earlier is None else earlier.hex()
    return {
        **asked,
        "earlier": cohort,
        "bytes": drawn,
        "kept": kept.hex(),
        "bytes_again": taken,
        "line": report.to_json(),
    }


def mean_vectors() -> Iterator[dict[str, Any]]:
    """Yield reports of numbers by every protocol for means."""
    for kind in every_mean().values():
        if not kind.__module__.startswith("sfumato."):
            continue
        for (low, high), epsilon in product(BOUNDS, EPSILONS):
            protocol: MeanProtocol = kind(low, high, epsilon)
            thorough = epsilon == 1 and low == 16
            for turn, share in enumerate((0, 0.3, 0.77, 1) if thorough else (0.3, 0.77)):
                value = min(low + share * (high - low), high)
                for edges in edge_lots(protocol.thresholds, all_first=thorough, turn=turn + round(8 * epsilon)):
                    yield mean_vector(protocol, value, Served(f"mean {epsilon} {share}", edges))
    scarce = LaplaceMean(0, 1, 40)  # noise of 0, which is drawn again where its sign is negative
    zeros = bytes(8 + 2 * -(-scarce.scale.numerator.bit_length() // 8))
    for number in range(8):
        yield mean_vector(scarce, 0.5, Served(f"zero {number}", start=zeros))


def mean_vector(protocol: MeanProtocol, value: float, served: Served) -> dict[str, Any]:
    """Return the report of a number on some bytes."""
    report, taken = with_bytes(served, lambda: protocol.perturb(value))
    declared = {"protocol": protocol.name, "low": protocol.low, "high": protocol.high, "epsilon": protocol.epsilon}
    return {"mean": declared, "value": value, "bytes": taken, "report": report}


def bad_headers() -> Iterator[dict[str, str]]:
    """Yield headers that must be refused, with the reason."""
    good = json.loads(text_of(Rappor(("a", "b", "c"), 2)))
    parameters, chances = good["parameters"], good["chances"]
    changed: dict[str, dict[str, Any]] = {
        "another format": {"format": "other"},
        "another version": {"version": 2},
        "no such protocol": {"protocol": "none"},
        "an alias": {"protocol": "subset"},
        "a protocol that is no text": {"protocol": 7},
        "an inherited name": {"protocol": "constructor"},
        "parameters missing": {"parameters": {"epsilon": 2}},
        "a parameter too many": {"parameters": {**parameters, "r": 1}},
        "parameters that are no object": {"parameters": []},
        "an epsilon of 0": {"parameters": {**parameters, "epsilon": 0}},
        "an epsilon that is too large": {"parameters": {**parameters, "epsilon": 41}},
        "an epsilon that is no number": {"parameters": {**parameters, "epsilon": float("nan")}},
        "an epsilon without end": {"parameters": {**parameters, "epsilon": float("inf")}},
        "an epsilon in text": {"parameters": {**parameters, "epsilon": "2"}},
        "an epsilon that is true": {"parameters": {**parameters, "epsilon": True}},
        "another epsilon": {"parameters": {**parameters, "epsilon": 2.5}},
        "too many hashes": {"parameters": {**parameters, "hashes": 9}},
        "half a bit": {"parameters": {**parameters, "bits": 128.5}},
        "p above q": {"parameters": {**parameters, "p": 0.8}},
        "too many counters": {"parameters": {**parameters, "bits": 65536, "cohorts": 65536}},
        "a lower flip": {"chances": {**chances, "flip": str(int(chances["flip"]) - 1)}},
        "a chance as a number": {"chances": {**chances, "bits": 128}},
        "a chance too many": {"chances": {**chances, "more": "1"}},
        "a chance missing": {"chances": {name: chances[name] for name in list(chances)[1:]}},
        "another epsilon spent": {"epsilon": good["epsilon"] / 2},
        "another domain": {"domain": ["a", "b", "d"]},
        "another order": {"domain": ["a", "c", "b"]},
        "another hash": {"domain_hash": good["domain_hash"][::-1]},
        "one value": {"domain": ["a"]},
        "a value twice": {"domain": ["a", "b", "b"]},
        "a value that is a number": {"domain": ["a", "b", 1.5]},
        "a value that is true": {"domain": ["a", "b", True]},
        "half a character": {"domain": ["a", "b", "\ud800"]},
        "a domain that is a text": {"domain": "abc"},
        "no domain": {"domain": None},
        "a field too many": {"more": 1},
    }
    for why, fields in changed.items():
        yield {"why": why, "header": json.dumps({**good, **fields})}
    for name in good:
        yield {"why": f"no {name}", "header": json.dumps({key: good[key] for key in good if key != name})}
    for why, text in {"nothing": "", "a list": "[]", "null": "null", "cut off": json.dumps(good)[:-1]}.items():
        yield {"why": why, "header": text}


def content() -> dict[str, list[Any]]:
    """Return all vectors, by what is checked."""
    small = [made for made in protocols(EPSILONS) if len(made.domain) < 100 or made.epsilon in DRAWN]
    return {
        "headers": [text_of(protocol) for protocol in small],
        "refused": list(bad_headers()),
        "reports": list(report_vectors(small)),
        "answers": list(answer_vectors()),
        "means": list(mean_vectors()),
    }


def text() -> str:
    """Return the file of vectors, one vector a line."""
    parts = []
    for name, vectors in content().items():
        lines = ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors)
        parts.append(f'"{name}":[\n{lines}\n]')
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="ascii")
