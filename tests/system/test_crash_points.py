"""Whenever a command is killed, and whatever a power cut leaves: whole releases, nothing left over, nothing for free.

The long tests try a random part of the crash points; `make torture` tries all of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the harness is a set of scripts
from crash_points import built, started

NO_COMPILER = "needs a C compiler (cc or gcc) and Linux, to count steps to the disk"
NO_STRACE = "needs strace, which may be forbidden in a container"
QUICK = ["device"]
REST = [
    *("anonymize", "anonymize-force", "anonymize-ledger", "query", "query-file", "budget-create"),
    *(
        "budget-new-version",
        "republish",
        "republish-first",
        "republish-persons",
        "stream",
        "perturb",
        "estimate-ledger",
    ),
]
SECONDS = "6"  # for each durable path


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = built(tmp_path_factory.mktemp("shim"))
    if made is None:
        pytest.skip(NO_COMPILER)
    return made


def tried(shim: Path, *arguments: str) -> list[dict[str, Any]]:
    return list(started(shim, "crash_points.py", *arguments))


def test_a_device_is_killed_at_every_step(shim: Path) -> None:
    [tally] = tried(shim, *QUICK)
    assert tally["failures"] == []
    assert tally["killed"] == tally["points"] > 10


def test_a_careless_writer_is_found_out(shim: Path) -> None:
    """The harness would be worth nothing if it found no fault in data that are written before their card."""
    [tally] = tried(shim, "careless")
    assert any("only ['out.csv'] are there" in failure for failure in tally["failures"])
    assert len(tally["failures"]) > 3


@pytest.mark.long
def test_commands_are_killed_at_random_steps(shim: Path) -> None:
    tallies = tried(shim, *REST, "--seconds", SECONDS, "--seed", "1")
    assert [tally["scenario"] for tally in tallies] == REST
    assert [failure for tally in tallies for failure in tally["failures"]] == []
    assert all(tally["killed"] >= 3 for tally in tallies)
    assert all(tally["points"] > 20 for tally in tallies)


@pytest.mark.long
def test_the_shim_counts_what_the_kernel_does(shim: Path, tmp_path: Path) -> None:
    """The truth is told by strace: every call that changes a file or a name of the folder has been counted."""
    strace = shutil.which("strace")
    if strace is None or subprocess.call([strace, "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL):
        pytest.skip(NO_STRACE)
    names = ["query", "anonymize-force"]  # SQLite writes, and the threads of polars
    tallies = list(started(shim, "crash_truth.py", strace, str(tmp_path), *names))
    assert [tally["scenario"] for tally in tallies] == names
    assert all(tally["missed"] == [] for tally in tallies)
    assert all(tally["seen"] > 15 for tally in tallies)
