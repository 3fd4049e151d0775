"""Peers, each in an environment of its own, made from its lock file the first time it is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure import NotMeasuredError

HERE = Path(__file__).parent
LOCKS = HERE / "peers"
NAMES = tuple(sorted(file.stem for file in LOCKS.glob("*.lock")))


def ask(name: str, script: str, *words: object) -> Any:
    """Return what a script in this folder prints as JSON, run by the peer's own interpreter."""
    command = [str(environment(name)), str(HERE / script), *(str(word) for word in words)]
    return json.loads(_run(command, f"{name} fails"))


def environment(name: str) -> Path:
    """Return the interpreter of a peer; its environment is made anew when it is missing or older than its lock."""
    place = HERE.parent / f".venv-peer-{name}"
    lock, ready = LOCKS / f"{name}.lock", place / ".ready"
    python = place / "bin" / "python"
    if not ready.exists() or ready.stat().st_mtime < lock.stat().st_mtime:
        _run([os.environ.get("PYTHON", sys.executable), "-m", "venv", "--clear", str(place)], "no environment")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        _run([*pip, "-r", str(lock)], f"{name} cannot be installed")
        ready.touch()
    return python


def version(name: str) -> str:
    """Return the version of a peer that its lock file names."""
    lines = (LOCKS / f"{name}.lock").read_text(encoding="utf-8").splitlines()
    pinned = next(line for line in lines if line.startswith(f"{name}=="))
    return pinned.removeprefix(f"{name}==").split()[0]


def _run(command: list[str], trouble: str) -> str:
    """Return what a command prints, or raise with the last line that it complained."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as problem:
        last = (problem.stderr.strip() or f"exit status {problem.returncode}").splitlines()[-1]
        raise NotMeasuredError(f"{trouble}: {last}") from problem
    except OSError as problem:
        raise NotMeasuredError(f"{trouble}: {problem}") from problem
    return done.stdout
