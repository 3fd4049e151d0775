"""The device in JavaScript against the one in Python: the same bytes give the same reports, in Node and in Chromium."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.errors import InputError
from sfumato.local import GeneralizedResponse, LocalHashing, OptimizedUnary, Rappor, aggregate_file
from sfumato.local.base import LocalProtocol
from sfumato.local.protocol_choice import every_protocol
from sfumato.local.reports.files import aggregate_stream, from_header, header_line

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"
VECTORS = CLIENT / "vectors" / "local-reports.json"
SURELY = 1e-9  # one run in a thousand million fails by chance
OURS = sorted(name for name, kind in every_protocol().items() if kind.__module__.startswith("sfumato."))


@pytest.fixture(scope="session")
def node() -> str:
    """The program; where there is none a test is skipped, never passed."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node on this machine")
    return found


def run_script(node: str, script: Path, *arguments: object) -> str:
    done = subprocess.run([node, str(script), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    assert done.stdout or not done.returncode, done.stderr
    return done.stdout


def check_vectors(node: str, vectors: Path, client: Path = CLIENT) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run_script(node, client / "test" / "run-vectors.js", vectors))
    return told


def lengths(vectors: dict[str, list[Any]]) -> dict[str, int]:
    return {kind: len(entries) for kind, entries in vectors.items()}


def test_the_vectors_are_what_the_device_in_python_gives() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import make_vectors, sys; sys.stdout.write(make_vectors.text())"],
        cwd=CLIENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == VECTORS.read_text("ascii"), "the vectors are stale; run clients/js/make_vectors.py"


def test_the_collector_counts_every_vector_and_refuses_every_bad_header() -> None:
    vectors = json.loads(VECTORS.read_text("ascii"))
    assert all(count >= 40 for count in lengths(vectors).values())
    for vector in vectors["reports"]:
        header = json.loads(vectors["headers"][vector["header"]])
        assert header.pop("format")
        protocol = from_header(header, where="a vector")
        assert protocol.aggregate([vector["line"]]).users == 1
    for vector in vectors["refused"]:
        with pytest.raises(InputError):
            aggregate_stream(BytesIO(vector["header"].encode() + b"\n"))


def test_node_gives_the_vectors(node: str) -> None:
    told = check_vectors(node, VECTORS)
    assert told["failures"] == []
    assert told["checked"] == lengths(json.loads(VECTORS.read_text("ascii")))


def test_what_the_module_refuses_and_remembers(node: str) -> None:
    done = subprocess.run(
        [node, "--test", str(CLIENT / "test" / "device.test.js")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 18" in done.stdout


# Slips that the vectors must find: each is one that somebody could make.
SLIPS = {
    "a word at the threshold": ("(word) < threshold", "(word) <= threshold"),
    "a bit at the threshold": ("if (word < threshold(place))", "if (word <= threshold(place))"),
    "an answer at the threshold": ("if (word < own) return code", "if (word <= own) return code"),
    "big-endian words": ("getBigUint64(at, true)", "getBigUint64(at)"),
    "a bound that is taken": ("if (drawn < bound)", "if (drawn <= bound)"),
    "a remainder in place of rejection": ("if (drawn < bound) return drawn", "return drawn % bound"),
    "the others from the wrong side": ("place + (place >= code ? 1 : 0)", "place + (place > code ? 1 : 0)"),
    "thresholds that are rounded": ("(SCALE * top + bottom - 1n) / bottom", "(SCALE * top) / bottom"),
    "ε by its double alone": ("isLess(text, binary) ? text : binary", "binary"),
    "a salt that is forgotten": ("state[4] ^= salt;", ""),
    "bits from the high end": ("row[place >> 3] |= 1 << (place & 7)", "row[place >> 3] |= 128 >> (place & 7)"),
    "letters that are not escaped": ("\\u007f-\\uffff", "\\u0080-\\uffff"),
    "a permanent bit kept at the threshold": ("onesOf(bits, () => flip)", "onesOf(bits, () => flip + 1n)"),
    "q where the permanent answer has no bit": (
        "bitAt(row, bit) ? chances.q : chances.p",
        "true ? chances.q : 0n",
    ),
    "a cohort of one byte": ("earlier[0] + 256 * earlier[1]", "earlier[0]"),
    "another sign": ("row ^= column & -column", "row ^= column"),
    "a seed used the other way round": (
        "joined(toBytes(slope, 4), toBytes(shift, 4)",
        "joined(toBytes(shift, 4), toBytes(slope, 4)",
    ),
    "a set of the wrong size": ("Number(chances.size) - (held ? 1 : 0)", "Number(chances.size)"),
    "a header whose chances are believed": ("check(alike,", "check(true,"),
    "a header whose hash is believed": ("check(stated.domain_hash === marks.domain,", "check(true,"),
    "a header whose ε is believed": ("check(stated.epsilon === logAbove(law.ratio),", "check(true,"),
    "noise without its sign": ("Number(negative ? -size : size)", "Number(size)"),
    "zero drawn twice": ("if (size || !negative)", "if (true)"),
    "a mean that is not rounded at random": ("(coin(BigInt((place - step) * 2 ** 64)) ? 1 : 0)", "0"),
    "the window one point to the left": ("step - half + smallBelow(width)", "step - half + smallBelow(width) - 1"),
}
QUICK = ("a word at the threshold", "a salt that is forgotten")


@pytest.mark.parametrize(
    "slip", [slip if slip in QUICK else pytest.param(slip, marks=pytest.mark.long) for slip in SLIPS]
)
def test_the_vectors_find_a_slip(slip: str, node: str, tmp_path: Path) -> None:
    shutil.copytree(CLIENT / "test", tmp_path / "test")
    shutil.copy(CLIENT / "package.json", tmp_path)
    right, wrong = SLIPS[slip]
    text = (CLIENT / "sfumato-device.js").read_text("utf-8")
    assert text.count(right) >= 1
    (tmp_path / "sfumato-device.js").write_text(text.replace(right, wrong), "utf-8")
    assert check_vectors(node, VECTORS, tmp_path)["failures"]


def drawn_headers(count: int) -> Iterator[LocalProtocol]:
    """Protocols with an ε and a size that nobody has chosen."""
    lot = random.Random(7)  # noqa: S311 - parameters, not noise
    kinds = [kind for name, kind in every_protocol().items() if name in OURS]
    for number in range(count):
        kind = kinds[number % len(kinds)]
        epsilon = round(10 ** lot.uniform(-3, 1.6), lot.choice([1, 2, 5, 20])) or 0.5
        size = 2 if kind.name == "rr" else lot.randrange(2, 60)
        shape: dict[str, Any] = {}
        if kind is Rappor:
            shape = {"hashes": lot.randrange(1, 9), "bits": lot.randrange(2, 200), "p": lot.uniform(0.001, 0.4)}
        yield kind(range(size), min(epsilon, 40), **shape)


@pytest.mark.parametrize("count", [160, pytest.param(4000, marks=pytest.mark.long)])
def test_headers_of_any_epsilon_are_worked_out_alike(count: int, node: str, tmp_path: Path) -> None:
    headers = [header_line(protocol).decode() for protocol in drawn_headers(count)]
    (tmp_path / "headers.json").write_text(json.dumps({"headers": headers}))
    assert check_vectors(node, tmp_path / "headers.json") == {"checked": {"headers": count}, "failures": []}


# Laws of the samplers, and what they must not be taken for.


def misfit(found: dict[str, int], law: dict[str, float]) -> float:
    """How likely counts as far from a law as these are."""
    total = sum(found.values())
    if set(found) - set(law):
        return 0.0
    expected = {outcome: total * chance for outcome, chance in law.items()}
    distance = sum((found.get(outcome, 0) - count) ** 2 / count for outcome, count in expected.items())
    return float(chi2.sf(distance, len(law) - 1))


def laplace_law(scale: float) -> dict[str, float]:
    odds = math.exp(-1 / scale)
    return {str(place): (1 - odds) / (1 + odds) * odds ** abs(place) for place in range(-200, 201)}


def folded(law: dict[str, Any], most: int = 12) -> dict[str, Any]:
    """Rare outcomes far out counted as one."""
    found: Counter[str] = Counter()
    for outcome, weight in law.items():
        found[outcome if abs(int(outcome)) < most else "far"] += weight
    return dict(found)


def test_samplers_have_their_laws(node: str) -> None:
    drawn: dict[str, dict[str, int]] = json.loads(run_script(node, CLIENT / "test" / "draw.js", 15_000))
    told = (0.75 * math.e + 0.25) / (math.e + 1)
    even = {str(number): 1 / 200 for number in range(200)}
    modulo = {str(number): (2 if number < 56 else 1) / 256 for number in range(200)}
    pairs = {f"{left},{right}": 0.1 for right in range(5) for left in range(right)}
    laws: dict[str, tuple[dict[str, float], list[dict[str, float]]]] = {
        "below 3": (dict.fromkeys("012", 1 / 3), [{"0": 0.375, "1": 0.3125, "2": 0.3125}]),
        "below 200": (even, [modulo]),
        "below 2^40+1, by 2^38": (dict.fromkeys("0123", 0.25), [{"0": 0.28, "1": 0.24, "2": 0.24, "3": 0.24}]),
        "coin 3/10": ({"0": 0.7, "1": 0.3}, [{"0": 1 - 0.3 * by, "1": 0.3 * by} for by in (0.7, 1.3)]),
        "subset 2 of 5": (pairs, [pairs | {"0,1": 0.13, "0,2": 0.07}]),
        "duchi of 0.5": ({"1": told, "-1": 1 - told}, [{"1": p, "-1": 1 - p} for p in (told - 0.05, told + 0.05)]),
    }
    laws["laplace 5/2"] = (folded(laplace_law(2.5)), [folded(laplace_law(2.5 * by)) for by in (0.7, 1.3)])
    drawn["laplace 5/2"] = folded(drawn["laplace 5/2"])
    assert drawn.keys() == laws.keys()
    for name, (law, others) in laws.items():
        assert misfit(drawn[name], law) > SURELY, name
        assert all(misfit(drawn[name], other) < SURELY for other in others), name


# From devices in JavaScript to an estimate.

TRUTH = {"home": 15_000, "work": 3_500, "café": 1_300, "away": 200}
FAR = 5.2  # standard deviations, which one run in a million goes beyond


def protocol_of(name: str, epsilon: float) -> LocalProtocol:
    domain = ("home", "away") if name == "rr" else tuple(TRUTH)
    if name == "rappor":
        return Rappor(domain, 4 * epsilon, p=0.1, q=0.9)
    return every_protocol()[name](domain, epsilon)


def report_by_node(node: str, folder: Path, protocol: LocalProtocol, asked: LocalProtocol) -> Path:
    """A file of `asked` with the reports that devices of `protocol` make."""
    values = [value for value in asked.domain for _ in range(TRUTH[str(value)])]
    (folder / "header.json").write_bytes(header_line(protocol))
    (folder / "values.json").write_text(json.dumps(values))
    target = folder / f"{protocol.name}-{protocol.epsilon}.jsonl"
    run_script(node, CLIENT / "test" / "report.js", folder / "header.json", folder / "values.json", target)
    lines = target.read_text("ascii").splitlines()[1:]
    assert len(lines) == len(values)
    as_asked = "\n".join(line.replace(protocol.design_hash, asked.design_hash) for line in lines)
    target.write_bytes(header_line(asked) + f"\n{as_asked}\n".encode())
    return target


def deviations(file: Path) -> float:
    """The largest distance of an estimated count from the true one, in standard deviations."""
    tally = aggregate_file(file)
    if tally.rejected:  # another ε can mean another number of cells
        return math.inf
    found = tally.protocol.estimate(tally, consistent=False)
    true = np.array([TRUTH[str(value)] for value in tally.protocol.domain])
    return float(np.max(np.abs(found.counts - true) / np.sqrt(found.variance)))


@pytest.mark.parametrize(
    "name", [name if name == "grr" else pytest.param(name, marks=pytest.mark.long) for name in OURS]
)
def test_estimates_from_node_are_right_and_another_epsilon_is_noticed(name: str, node: str, tmp_path: Path) -> None:
    asked = protocol_of(name, 1)
    assert deviations(report_by_node(node, tmp_path, asked, asked)) < FAR
    for factor in (0.7, 1.3):
        assert deviations(report_by_node(node, tmp_path, protocol_of(name, factor), asked)) > FAR


def test_the_command_estimates_reports_from_node(node: str, tmp_path: Path) -> None:
    protocol = OptimizedUnary(tuple(TRUTH), 1)
    file = report_by_node(node, tmp_path, protocol, protocol)
    command = [sys.executable, "-m", "sfumato", "local", "estimate", str(file), "-o", str(tmp_path / "counts.csv")]
    done = subprocess.run([*command, "--raw"], capture_output=True, text=True, check=True)
    assert "4 counts from 20000 reports by oue" in done.stdout
    rows = [line.split(",") for line in (tmp_path / "counts.csv").read_text("utf-8").splitlines()[1:]]
    assert [row[0] for row in rows] == list(TRUTH)
    assert all(abs(float(row[1]) - TRUTH[row[0]]) < FAR * float(row[2]) ** 0.5 for row in rows)


@pytest.mark.parametrize("kind", [GeneralizedResponse, LocalHashing, OptimizedUnary])
def test_a_large_domain_is_reported(kind: type[LocalProtocol], node: str, tmp_path: Path) -> None:
    protocol = kind(range(70_000), 12)
    (tmp_path / "header.json").write_bytes(header_line(protocol))
    (tmp_path / "values.json").write_text(json.dumps([69_999] * 40))
    paths = [tmp_path / name for name in ("header.json", "values.json", "reports.jsonl")]
    run_script(node, CLIENT / "test" / "report.js", *paths)
    tally = aggregate_file(paths[2])
    assert (tally.users, tally.rejected) == (40, {})
    assert tally.counts[69_999] >= 5  # each tells the true value with 1/2 or more
