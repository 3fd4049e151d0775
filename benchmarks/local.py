"""Local protocols beside multi-freq-ldpy and pure-ldp: reports in bulk, tallies, and the memory they need."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measure import Part, Row, best, within
from peers import ask

from sfumato.local import GeneralizedResponse, Hybrid, LocalHashing, OptimizedUnary, Rappor

HERE = Path(__file__).parent
USERS = 1_000_000
EPSILON = 1.0
HASHED_USERS = 20_000
HASHED_DOMAIN = 100
GRR_GOAL = 5_000_000
RAPPOR_WORDS = 500
HASHING = "local hashing, 20k reports, domain 100, added up, times faster than pure-ldp"


def codes(users: int, domain: int) -> npt.NDArray[np.int64]:
    """Return uniform places in a domain."""
    return np.random.default_rng(1).integers(0, domain, users)


def unary_once(domain: int) -> None:
    """Encode, perturb from the secure source, add up and estimate a million users."""
    protocol = OptimizedUnary(range(domain), EPSILON)
    protocol.estimate(protocol.aggregate(protocol.report_many(codes(USERS, domain))))


def peer(name: str, script: str, users: int, domain: int) -> float:
    """Return the seconds that a peer needs for the same codes, in its own environment."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "codes.npy"
        np.save(file, codes(users, domain))
        return float(ask(name, script, file, domain)["seconds"])


def unary_name(domain: int) -> str:
    """Return the name of a row about unary encoding."""
    return f"unary encoding, 1M users, domain {domain}, secure randomness, times faster than multi-freq-ldpy"


def unary() -> Row:
    """Return what reports of a million users over a day's hours cost, from the values to the estimate."""
    return within("unary encoding, 1M users, domain 24, reports and estimate", best(lambda: unary_once(24), 3), 0.5)


def against_multi_freq_ldpy(domain: int, goal: float) -> list[Row]:
    theirs = peer("multi-freq-ldpy", "peer_multi_freq_ldpy.py", USERS, domain)
    ours = best(lambda: unary_once(domain), 3)
    return [Row(unary_name(domain), f"{ours:.3f} s", f"{theirs:.2f} s", theirs / ours, goal, at_most=False)]


def memory() -> Row:
    """Return the most a process holds for a million users over a thousand values, libraries and all."""
    code = "import measure, local; local.unary_once(1000); print(measure.peak_kib())"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True)
    gib = int(done.stdout) / 2**20
    return Row(
        "unary encoding, 1M users, domain 1000, peak memory in GiB",
        f"{gib:.2f} GiB",
        "0.5 GiB; users × domain has 7.45 GiB as float64",
        gib,
        0.5,
        at_most=True,
    )


def randomized_response() -> Row:
    protocol = GeneralizedResponse(range(1000), EPSILON)
    reports = list(protocol.report_many(codes(USERS, 1000)))
    rate = USERS / best(lambda: protocol.aggregate(reports))
    return Row(
        "generalised randomised response, reports added up per second",
        f"{rate / 1e6:.0f} M",
        f"limit, {GRR_GOAL / 1e6:.0f} M",
        rate / GRR_GOAL,
        1,
        at_most=False,
    )


def against_pure_ldp() -> list[Row]:
    theirs = peer("pure-ldp", "peer_pure_ldp.py", HASHED_USERS, HASHED_DOMAIN)
    protocol = LocalHashing(range(HASHED_DOMAIN), EPSILON)
    reports = list(protocol.report_many(codes(HASHED_USERS, HASHED_DOMAIN)))
    ours = best(lambda: protocol.aggregate(reports))
    return [Row(HASHING, f"{ours * 1e3:.2f} ms", f"{theirs:.2f} s", theirs / ours, 50, at_most=False)]


def means() -> Row:
    """Return what a million reports of a mean cost, from the values to the estimate."""
    values = np.random.default_rng(1).uniform(0, 100, USERS)
    protocol = Hybrid(0, 100, EPSILON)
    seconds = best(lambda: protocol.estimate(protocol.aggregate(protocol.report_many(values))), 3)
    return within("means by the hybrid mechanism, 1M users, reports and estimate", seconds, 2)


def rappor() -> list[Row]:
    """Return what RAPPOR's reports of a million users cost, and the decoding of 500 candidates."""
    protocol = Rappor([f"word {number}" for number in range(RAPPOR_WORDS)], epsilon=4)
    users = codes(USERS, RAPPOR_WORDS)
    reporting = best(lambda: list(protocol.report_many(users)), 1)
    tally = protocol.aggregate(protocol.report_many(users))
    decoding = best(lambda: protocol.estimate(tally), 3)
    return [
        within("RAPPOR, reports of 1M users", reporting, 5),
        within(f"RAPPOR, decoding of {RAPPOR_WORDS} candidates", decoding, 1),
    ]


PARTS = (
    Part("unary encoding", lambda: [unary()]),
    *(
        Part(unary_name(domain), partial(against_multi_freq_ldpy, domain, goal))
        for domain, goal in ((24, 10), (1000, 4))
    ),
    Part("unary encoding, memory", lambda: [memory()]),
    Part("generalised randomised response", lambda: [randomized_response()]),
    Part(HASHING, against_pure_ldp),
    Part("local means", lambda: [means()]),
    Part("RAPPOR", rappor),
)
