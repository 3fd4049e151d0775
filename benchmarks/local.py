"""Local protocols beside multi-freq-ldpy and pure-ldp: reports in bulk, tallies, and the memory they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measure import Row, best

from sfumato.local import GeneralizedResponse, LocalHashing, OptimizedUnary

HERE = Path(__file__).parent
USERS = 1_000_000
EPSILON = 1.0
HASHED_USERS = 20_000
HASHED_DOMAIN = 100
GRR_GOAL = 5_000_000


def codes(users: int, domain: int) -> npt.NDArray[np.int64]:
    """Return uniform places in a domain."""
    return np.random.default_rng(1).integers(0, domain, users)


def unary_once(domain: int) -> None:
    """Encode, perturb from the secure source, add up and estimate a million users."""
    protocol = OptimizedUnary(range(domain), EPSILON)
    protocol.estimate(protocol.aggregate(protocol.report_many(codes(USERS, domain))))


def peer(script: str, users: int, domain: int) -> float:
    """Return the seconds that a peer needs, in its own environment."""
    python = Path(os.environ["SFUMATO_PEERS"]) / "bin" / "python"
    command = [str(python), str(HERE / script), str(users), str(domain)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["seconds"])


def against_multi_freq_ldpy(domain: int, goal: float) -> Row:
    theirs = peer("peer_multi_freq_ldpy.py", USERS, domain)
    ours = best(lambda: unary_once(domain), 3)
    return Row(
        f"unary encoding, 1M users, domain {domain}, secure randomness, times faster than multi-freq-ldpy",
        f"{ours:.3f} s",
        f"{theirs:.2f} s",
        theirs / ours,
        goal,
        at_most=False,
    )


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


def against_pure_ldp() -> Row:
    theirs = peer("peer_pure_ldp.py", HASHED_USERS, HASHED_DOMAIN)
    protocol = LocalHashing(range(HASHED_DOMAIN), EPSILON)
    reports = list(protocol.report_many(codes(HASHED_USERS, HASHED_DOMAIN)))
    ours = best(lambda: protocol.aggregate(reports))
    return Row(
        "local hashing, 20k reports, domain 100, added up, times faster than pure-ldp",
        f"{ours * 1e3:.2f} ms",
        f"{theirs:.2f} s",
        theirs / ours,
        50,
        at_most=False,
    )


def rows() -> list[Row]:
    """Return all rows of this benchmark."""
    unary = [against_multi_freq_ldpy(24, 10), against_multi_freq_ldpy(1000, 4)]
    return [*unary, memory(), randomized_response(), against_pure_ldp()]
