"""Kills a command at every step to the disk, runs it again, and checks what lies there: all crash points of a command.

A shim in C (`crash_shim.c`, preloaded) counts the calls that change files or names under one folder, in all threads and
in every library, and kills the process before the n-th. Slow imports are done once: each trial is a fork.
`python crash_points.py NAME --seconds S --seed N` prints what was tried as JSON; without --seconds that is all points.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import pkgutil
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

HERE = Path(__file__).parent
NEVER = 1 << 40
CARELESS = "careless"  # the scenario that must fail
LIGHT = {CARELESS, "device"}  # they load next to nothing
Action = Callable[[], int]


@dataclass(frozen=True)
class Said:
    """What a command that ran to its end said: exit code, standard output and standard error."""

    code: int
    out: str
    err: str


@dataclass
class Scene:
    """A folder in which one command is tried again and again, always under the same name."""

    base: Path
    shim: ctypes.CDLL
    witnessed: bytes = b""  # rows of a stream that somebody read before the power went

    @property
    def work(self) -> Path:
        """The working folder of the command."""
        return self.base / "trial" / "work"

    @property
    def out(self) -> Path:
        """The file that gets the standard output of a killed run: what somebody may have read."""
        return self.base / "trial" / "stdout"

    def keep(self) -> None:
        """Remember the folder as it is; `restore` returns to it."""
        shutil.copytree(self.base / "trial", self.base / "template", symlinks=True)

    def restore(self) -> None:
        """Make the folder anew, as it was remembered."""
        shutil.rmtree(self.base / "trial")
        shutil.copytree(self.base / "template", self.base / "trial", symlinks=True)

    def old(self, name: str) -> bytes | None:
        """Return the bytes that a file had in the remembered folder."""
        path = self.base / "template" / "work" / name
        return path.read_bytes() if path.exists() else None

    def fork(self, action: Action, *, step: int = NEVER, log: Path | None = None, apart: bool = False) -> int:
        """Return the exit status of an action in a child that is killed at a step; its words go to the trial's files.

        The words of a run `apart` go beside the trial's folder, and its steps are not counted.
        """
        child = os.fork()
        if child == 0:
            self._live(action, step, log, apart=apart)
        return os.waitpid(child, 0)[1]

    def _live(self, action: Action, step: int, log: Path | None, *, apart: bool) -> NoReturn:
        code = 70
        try:
            os.chdir(self.work)
            place = self.base if apart else self.out.parent
            for number, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
            if not apart:
                kept = -1 if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                self.shim.crash_arm(bytes(self.base / "trial"), ctypes.c_long(step), kept)
            code = action()
            sys.stdout.flush()
        except BaseException:  # noqa: BLE001  # whatever it is, the check must hear of it
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def run(self, *arguments: str) -> Said:
        """Return what an undisturbed command says."""
        return self.call(lambda: command(arguments))

    def call(self, action: Action) -> Said:
        """Return what an undisturbed action says."""
        code = os.waitstatus_to_exitcode(self.fork(action, apart=True))
        return Said(code, *((self.base / name).read_text() for name in ("stdout", "stderr")))


def command(arguments: Sequence[str]) -> int:
    """Return the exit code of a command in this process."""
    from sfumato.cli.main import run

    return run(list(arguments))


@dataclass(frozen=True)
class Scenario:
    """A durable path: what is there before, the command that is killed, and what must hold whenever that happens.

    `check` sees the folder after a kill; it runs the command again and tells whether the work had been done.
    """

    name: str
    prepare: Callable[[Scene], None]
    action: Action
    check: Callable[[Scene, int], bool]


@dataclass
class Tally:
    """What was tried of one scenario, and what failed."""

    scenario: str
    points: int
    killed: int = 0
    done: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def open_scene(base: Path) -> Scene:
    """Return an empty scene; the shim must be loaded before this process began."""
    scene = Scene(base, ctypes.CDLL(None))
    scene.work.mkdir(parents=True)
    os.environ["XDG_STATE_HOME"] = str(base / "trial" / "state")  # the list of ledgers is durable as well
    (base / "trial" / "state").mkdir()
    return scene


def rehearse(scene: Scene, scenario: Scenario) -> int:
    """Prepare a scene, and return how many steps the undisturbed command takes; what it imports is imported here."""
    scenario.prepare(scene)
    scene.keep()
    for _ in range(2):  # the first may compile, which is no step but takes long
        count, modules = _count(scene, scenario.action)
        scene.restore()
        load(modules)
    return count


def load(modules: Iterable[str]) -> None:
    """Import modules here, so that no child has to."""
    for name in modules:
        with suppress(ImportError):  # of an optional package
            importlib.import_module(name)


def load_rooms() -> None:
    """Import the command line and all that its commands use, with no thread at work."""
    import sfumato

    for room in ("cli", "core", "dp", "tabular", "release", "report", "stream", "local", "audit.release"):
        found = importlib.import_module(f"sfumato.{room}")
        load(module.name for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."))
    load(["polars", "matplotlib", "matplotlib.figure", "scipy.stats", sfumato.__name__])


def _count(scene: Scene, action: Action) -> tuple[int, list[str]]:
    told = scene.base / "told"
    known = set(sys.modules)

    def counted() -> int:
        code = action()
        sys.stdout.flush()
        names = [name for name in sys.modules if name not in known and "." not in name.replace("sfumato.", "")]
        told.write_text(json.dumps([scene.shim.crash_steps(), names]))
        return code

    status = scene.fork(counted)
    words = (scene.out.parent / "stderr").read_text()
    assert os.waitstatus_to_exitcode(status) == 0, words
    count, modules = json.loads(told.read_text())
    return count, modules


def try_point(scene: Scene, scenario: Scenario, step: int, tally: Tally) -> None:
    """Kill the command at one step and note what the check finds."""
    scene.restore()
    status = scene.fork(scenario.action, step=step)
    tally.killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    try:
        tally.done += scenario.check(scene, step)
    except Exception as error:  # noqa: BLE001  # a check that stumbles has found something as well
        tally.failures.append(f"step {step} of {tally.points}: {type(error).__name__}: {error}")


def sweep(scenario: Scenario, *, seconds: float | None = None, seed: int = 0) -> Tally:
    """Return what all crash points of a scenario show, or as many in random order as the time allows."""
    base = Path(tempfile.mkdtemp(prefix="crash-"))
    started = time.monotonic()
    try:
        scene = open_scene(base)
        tally = Tally(scenario.name, rehearse(scene, scenario))
        points = list(range(1, tally.points + 1))
        if seconds is not None:
            random.Random(seed).shuffle(points)  # noqa: S311  # when to kill is no secret
        for number, step in enumerate(points):
            if seconds is not None and number >= 3 and time.monotonic() - started > seconds:
                break
            try_point(scene, scenario, step, tally)
    finally:
        shutil.rmtree(base)
    tally.seconds = round(time.monotonic() - started, 1)
    return tally


def built(folder: Path) -> Path | None:
    """Return the compiled shim, None where there is no C compiler or the system does not preload."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    shim = folder / "crash_shim.so"
    source = HERE / "crash_shim.c"
    made = subprocess.run(  # our own source
        [compiler, "-O1", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"], capture_output=True, check=False
    )
    return shim if made.returncode == 0 else None


def started(shim: Path, script: str, *arguments: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines that a script of this folder prints under the shim."""
    settings = {"LD_PRELOAD": str(shim), "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "SFUMATO_QUIET": "1"}
    words = [sys.executable, "-W", "ignore::DeprecationWarning", str(HERE / script), *arguments]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | settings) as child:
        assert child.stdout is not None
        for line in child.stdout:
            yield json.loads(line)
    assert child.returncode == 0, f"{script} ended with {child.returncode}"


def main() -> None:
    """Try the named scenarios and print a line of JSON for each."""
    from crash_scenarios import SCENARIOS

    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[name for name in SCENARIOS if name != CARELESS])
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if set(given.names) - LIGHT:
        load_rooms()
    for name in given.names:
        tally = sweep(SCENARIOS[name], seconds=given.seconds, seed=given.seed)
        sys.stdout.write(json.dumps(vars(tally)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
