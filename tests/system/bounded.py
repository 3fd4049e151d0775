"""Runs commands one after another in one process and tells what each took: its exit code, words, CPU time and memory.

`python bounded.py CASES` reads a JSON list of argument lists and prints one JSON line for each. The memory is the
growth of the resident set while a command ran (Linux), the time is CPU time. A command above the limits ends the
process.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

SECONDS, MEGABYTES = 10, 1500  # beyond these a command is stopped


def resident(field: str) -> float:
    """Return a number of this process's status, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def measured(arguments: list[str]) -> dict[str, object]:
    """Return what one command took and said."""
    from sfumato.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest memory so far
    before, started = resident("VmRSS"), time.process_time()
    limit = int(time.process_time()) + SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    with redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
    taken, most = time.process_time() - started, resident("VmHWM")
    return {"code": code, "said": err.getvalue(), "out": out.getvalue(), "seconds": taken, "megabytes": most - before}


def main() -> None:
    """Run the cases; the first one only warms up."""
    cases = json.loads(Path(sys.argv[1]).read_text())
    measured(cases[0])
    room = int((resident("VmSize") + MEGABYTES) * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    for case in cases:
        sys.__stdout__.write(json.dumps(measured(case)) + "\n")  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
