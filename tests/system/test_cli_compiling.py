"""The first command after an install: it says that it compiles, and compiles little on the default path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.core.compiling import FIRST_USE, Compiling
from sfumato.table import samples

COMMAND = [
    "anonymize",
    "in.csv",
    "--quasi",
    "age,sex,zip",
    "--sensitive",
    "disease",
    "--other",
    "drop",
    "--k",
    "5",
    "--l",
    "2",
]
MOST_SECONDS = 16  # of processor time where tests run side by side; alone it takes less than 8
NEEDED = [  # every name once: a second line would be the same kernel compiled for other types of arguments
    "choose_relaxed",
    "class_holds",
    "extents",
    "mondrian",
    "profile_sparse",
    "shuffle_from",
    "weigh_cuts",
]
NAMING = """
import sys
import sfumato.cli as c
from numba.core import event
from sfumato.core.kernel import kernel
class Listener(event.Listener):
    def on_start(self, event):
        found = event.data["dispatcher"].py_func
        if found.__module__.startswith("sfumato."):
            sys.stderr.write(f"compiles {found.__name__}\\n")
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
c.main()
"""
COUNTING = """
import resource, sys
import sfumato.cli as c
try:
    c.main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stdout.write(f"seconds {used.ru_utime + used.ru_stime}\\n")
"""


@pytest.mark.long
def test_the_first_command_says_that_it_compiles_and_the_second_does_not(tmp_path: Path) -> None:
    samples.patients(300).write_csv(tmp_path / "in.csv")
    environment = {**os.environ, "SFUMATO_CACHE": str(tmp_path / "cache")}
    del environment["SFUMATO_QUIET"]
    said, seconds = [], []
    for name in ("first.csv", "second.csv"):
        command = [sys.executable, "-c", COUNTING, *COMMAND, "-o", name]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=200)
        said.append(done.stderr.decode())
        seconds.append(float(done.stdout.split()[-1]))
    assert said == ["sfumato: compiling for the first use on this machine; later commands start at once\n", ""]
    assert seconds[0] < MOST_SECONDS


@pytest.mark.long
def test_the_first_command_compiles_what_it_needs_and_each_kernel_once(tmp_path: Path) -> None:
    samples.patients(300).write_csv(tmp_path / "in.csv")
    environment = {**os.environ, "SFUMATO_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", NAMING, *COMMAND, "-o", "out.csv"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=200)
    named = [line.split()[1] for line in done.stderr.decode().splitlines() if line.startswith("compiles ")]
    assert sorted(named) == NEEDED


def test_a_listener_hears_once_and_the_collector_rests_meanwhile() -> None:
    import gc

    news, heard = Compiling(), list[str]()
    with news.told(heard.append):
        news.begin("outer")
        news.begin("inner")
        assert not gc.isenabled()
        news.end()
        assert not gc.isenabled()
        news.end()
    assert gc.isenabled()
    news.begin("later")
    news.end()
    assert heard == [FIRST_USE]
