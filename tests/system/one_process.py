"""Several commands in one process of their own, which takes a second to begin: what each said, and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ONE_BY_ONE = """
import contextlib, io, json, sys
from sfumato.cli.main import run

done = []
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(command)
    done.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""


@dataclass(frozen=True)
class Done:
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


def run_commands(commands: Sequence[Sequence[str]], folder: Path, path: str) -> list[Done]:
    """Run commands one after the other in a folder, with further packages on the path."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [Done(*one) for one in json.loads(done.stdout)]
