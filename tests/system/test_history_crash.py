"""A history folder survives what happens to processes: killed at any moment, it holds whole releases only."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError
from sfumato.tabular import republish
from sfumato.tabular.republication.history import History

sys.path.insert(0, str(Path(__file__).parent))  # the harness is a set of scripts
from crash_points import built, started

SCHEMA = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
MODELS = [sf.KAnonymity(2), sf.LDiversity(2, "ill")]
TABLE = sf.Table(pl.DataFrame({"age": [20, 21, 60, 61], "ill": ["a", "b", "a", "b"]}))
WRITER = """
import sys
from pathlib import Path
import polars as pl
import sfumato as sf
from sfumato.tabular.republication.history import History
people = sf.Table(pl.DataFrame({"age": [20, 21, 60, 61] * 500, "ill": ["a", "b", "a", "b"] * 500}))
schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(2)])
print("ready", flush=True)
while True:
    with History.open(Path(sys.argv[1])) as past:
        past.record(release, "m-invariance", (("age",), ("ill",)), {str(n): ("a", "b") for n in range(2000)})
        print(len(past.index.releases) + 1, flush=True)
"""


class CrashError(Exception):
    """Stands for the moment the power goes."""


@pytest.mark.parametrize("step", range(6))
def test_a_crash_between_two_files_leaves_the_series_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Six files are put in place, the index first and last; a crash before the last must not count the release."""
    folder = tmp_path / "series"
    republish(TABLE, SCHEMA, MODELS, folder)
    done = 0
    replace = Path.replace

    def crash(self: Path, target: Path) -> Path:
        nonlocal done
        if done == step:
            raise CrashError
        done += 1
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", crash)
        with pytest.raises(CrashError):
            republish(TABLE, SCHEMA, MODELS, folder)
    with History.open(folder) as past:
        assert len(past.tables()) == 1
    assert not list(folder.glob("*-0002*"))
    assert republish(TABLE, SCHEMA, MODELS, folder).card.guarantee.parameters["releases"] == 2


@pytest.mark.long
def test_killed_at_every_step_to_the_disk_a_history_goes_on(tmp_path: Path) -> None:
    """Every call that changes a file or a name, in the folder and in the user's state, is a point to be killed at."""
    shim = built(tmp_path)
    if shim is None:
        pytest.skip("needs a C compiler (cc or gcc) and Linux, to count steps to the disk")
    tallies = list(started(shim, "crash_points.py", "republish", "republish-first", "republish-persons"))
    assert [failure for tally in tallies for failure in tally["failures"]] == []
    assert sum(tally["killed"] for tally in tallies) >= 200
    assert all(tally["killed"] == tally["points"] for tally in tallies)
    assert all(0 < tally["done"] < tally["points"] for tally in tallies)


@pytest.mark.long
def test_killed_at_any_moment_the_history_holds_whole_releases_only(tmp_path: Path) -> None:
    moment = random.Random(7)  # noqa: S311  # when to kill is no secret
    folder = tmp_path / "series"
    recorded = 0
    for _ in range(25):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            start = time.perf_counter()
            first = int(child.stdout.readline())
            pace = time.perf_counter() - start
            time.sleep(moment.uniform(0, 2 * pace))  # so that a slow machine is hit in mid-release too
            os.kill(child.pid, signal.SIGKILL)
            said = [first, *(int(line) for line in child.stdout.read().split())]
        with History.open(folder) as past:
            releases = len(past.index.releases)
            assert recorded < said[0]
            assert max(said) <= releases <= max(said) + 1
            assert all(table.height == 2000 for table in past.tables()[recorded:])
            assert releases == 0 or len(past.signatures()) == 2000
        recorded = releases


def test_two_at_once_cannot_both_extend_a_series(tmp_path: Path) -> None:
    with History.open(tmp_path / "series"), pytest.raises(InputError, match="in use by another process"):
        republish(TABLE, SCHEMA, MODELS, tmp_path / "series")
