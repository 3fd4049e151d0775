"""Carrying out declared cases on all cores, each case's rows kept on the disk, so that a killed run can go on.

A case is known by its parameters, the content of the data and the code that computes it: kept rows of other code or
other data are never taken for this run's (the idea of content addressing in build systems: Mokhov et al. 2018).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import connection, get_context
from pathlib import Path

import polars as pl

import sfumato
from sfumato.core.files import write_durably
from sfumato.core.progress import tell
from sfumato.core.threads import most_threads
from sfumato.errors import SfumatoError
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Case, Experiment, Part, Row, Rows

NOT_COMPUTING = {"cli", "report", "checks", "engines", "experiments"}  # changes there leave a case's rows as they are
PRESENTING = {"__init__.py", "figures.py", "comparison.py"}
GOES_ON = "what is done is kept, the same command goes on"
ONE_THREAD = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class Run:
    """One run of an experiment: its data, the folder that keeps cases, and whether it is the quick one.

    >>> import tempfile
    >>> toy = Experiment("toy", "", "", "", (), compare=lambda rows: [], draw=lambda rows: [])
    >>> carry_out(Run(toy, Data(None), Path(tempfile.mkdtemp()), quick=True))
    {}
    """

    experiment: Experiment
    data: Data
    kept: Path
    quick: bool

    def cases(self) -> list[tuple[Part, Case, Path]]:
        """Return every declared case with the file that keeps its rows."""
        content = self.data.fingerprint(self.experiment.files)
        return [
            (part, case, self.kept / part.name / f"{_name(part, case, content)}.json")
            for part in self.experiment.parts
            for case in part.cases(quick=self.quick)
        ]


def carry_out(run: Run, workers: int | None = None) -> Rows:
    """Return the rows of every part, in the declared order, computing the cases whose rows are not kept yet."""
    cases = run.cases()
    waiting = [entry for entry in cases if _read_kept(entry[2]) is None]
    _compute(run, waiting, len(cases), workers or most_threads())
    found: dict[str, list[Row]] = {part.name: [] for part in run.experiment.parts}
    for part, case, path in cases:
        found[part.name] += [{**case, **row} for row in _read_kept(path) or ()]
    return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in found.items()}


def _read_kept(path: Path) -> list[Row] | None:
    """Return a case's kept rows, or None where there are none or a crash has spoilt them."""
    try:
        rows = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return rows if isinstance(rows, list) and all(isinstance(row, dict) for row in rows) else None


def _compute(run: Run, waiting: Sequence[tuple[Part, Case, Path]], total: int, workers: int) -> None:
    if not waiting:
        return
    context = get_context("spawn")
    watched, alive = context.Pipe(duplex=False)
    with (
        watched, alive, _one_thread_each(),
        ProcessPoolExecutor(workers, context, initializer=_end_with, initargs=(watched,)) as pool,
    ):  # fmt: skip
        try:
            with _deaf_to_interrupts():
                futures = {
                    pool.submit(_keep, part.run, run.data, dict(case), path): part.name for part, case, path in waiting
                }
            _wait(futures, run.experiment.name, total)
        except BaseException as error:
            alive.close()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                raise SfumatoError(
                    "a process that computed cases was ended (too little memory?); " + GOES_ON
                ) from error
            raise


def _wait(futures: Mapping[Future[None], str], name: str, total: int) -> None:
    """Wait for every case and tell how many of all are done."""
    done = total - len(futures)
    tell(done / total, f"{name}: {done} of {total} cases")
    for future in as_completed(futures):
        future.result()
        done += 1
        tell(done / total, f"{name}: {done} of {total} cases, {futures[future]}")


def _keep(compute: Callable[..., Iterable[Row]], data: Data, case: dict[str, object], path: Path) -> None:
    rows = [dict(row) for row in compute(data, **case)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(path, json.dumps(rows).encode())


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let every process that starts inside the block use one thread: as many processes run as there are cores."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from processes that start inside the block, for good, and from this one until the block ends.

    A terminal sends it to all of them, and each would print where it was; this process alone decides.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(watched: connection.Connection) -> None:
    """Make this process end when the other end of a pipe is closed: on purpose, or since its owner is gone."""
    threading.Thread(target=lambda: (connection.wait([watched]), os._exit(1)), daemon=True).start()


def _name(part: Part, case: Case, content: str) -> str:
    declared = json.dumps([part.name, sorted(case.items()), content, _code(), _module(part)])
    return hashlib.sha256(declared.encode()).hexdigest()[:24]


def _module(part: Part) -> str:
    """Return a hash of the modules beside the one that computes a part, without those that only present its rows."""
    file = inspect.getsourcefile(part.run)
    beside = [] if file is None else sorted(Path(file).parent.glob("*.py"))
    computing = [path for path in beside if path.name not in PRESENTING]
    return hashlib.sha256(b"".join(path.read_bytes() for path in computing)).hexdigest()


@cache
def _code() -> str:
    """Return a hash of the library's modules that experiments call."""
    home = Path(sfumato.__file__).parent
    digest = hashlib.sha256(sfumato.__version__.encode())
    for file in sorted(home.rglob("*.py")):
        if file.relative_to(home).parts[0] not in NOT_COMPUTING:
            digest.update(file.read_bytes())
    return digest.hexdigest()
