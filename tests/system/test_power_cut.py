"""A power cut at any step: what was flushed is there, of the rest any part, and no promise is broken."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the harness is a set of scripts
from crash_points import built, started

NO_COMPILER = "needs a C compiler (cc or gcc) and Linux, to log steps to the disk"
PATHS = ["anonymize-force", "query", "query-file", "budget-create", "budget-new-version", "perturb"]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = built(tmp_path_factory.mktemp("shim"))
    if made is None:
        pytest.skip(NO_COMPILER)
    return made


def tried(shim: Path, *arguments: str) -> list[dict[str, Any]]:
    return list(started(shim, "power_cut.py", *arguments))


@pytest.mark.long
def test_whatever_a_power_cut_leaves_is_whole_and_paid(shim: Path) -> None:
    tallies = tried(shim, *PATHS, "--states", "60", "--every", "30", "--seed", "1")
    assert [failure for tally in tallies for failure in tally["failures"]] == []
    assert sum(tally["states"] for tally in tallies) >= 200
    assert all(tally["distinct"] > 20 for tally in tallies)
    assert all(tally["flushes"] > 3 for tally in tallies)


@pytest.mark.long
def test_commands_that_flushed_nothing_would_be_found_out(shim: Path) -> None:
    """The replay would be worth nothing if it found no fault where nothing is flushed."""
    asking, perturbing = tried(shim, "query", "perturb", "--states", "300", "--every", "1000", "--no-flush")
    assert any("not paid" in failure for failure in asking["failures"])
    assert any("are there" in failure or "rows" in failure for failure in perturbing["failures"])
