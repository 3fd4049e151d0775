"""Runs everything that is meant to break the tool, for as long as it takes, and prints the figures as JSON.

`make torture` calls it. All crash points of all durable paths, power cuts, and the scripts `fuzz_*.py` of this folder.
Nothing is written into the tree. Exit code 1 if anything failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SYSTEM = HERE.parent / "system"
STATES = os.environ.get("SFUMATO_TORTURE_STATES", "1000")  # power cuts of each durable path
LONG = ["test_ledger_races.py", "test_stream_long.py", "test_stream_rotation.py", "test_history_crash.py"]

sys.path.insert(0, str(SYSTEM))
from crash_points import built, started  # noqa: E402  # a script beside the tests


def tell(sentence: str) -> None:
    """Say what is going on, beside the figures."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


def swept(shim: Path, script: str, *arguments: str) -> list[dict[str, Any]]:
    """Return the tallies of a sweep, told as they come."""
    tallies = []
    for tally in started(shim, script, *arguments):
        tell(json.dumps(tally))
        tallies.append(tally)
    return tallies


def tested(files: list[str]) -> dict[str, object]:
    """Return how the long tests of some files ended."""
    there = [str(SYSTEM / name) for name in files if (SYSTEM / name).exists()]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *there]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=HERE.parents[1])
    return {"files": files, "code": done.returncode, "said": done.stdout.splitlines()[-1:]}


def fuzzed(script: Path) -> dict[str, object]:
    """Return how a fuzzing script ended, and the figures that it printed."""
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    tell(f"{script.name}: exit code {done.returncode}")
    try:
        return {"script": script.name, "code": done.returncode, "found": json.loads(done.stdout)}
    except ValueError:
        return {"script": script.name, "code": done.returncode or 1, "said": done.stderr[-2000:]}


def summary(crashes: list[dict[str, Any]], cuts: list[dict[str, Any]]) -> dict[str, object]:
    """Return the figures of all crash points and power cuts."""
    return {
        "crash points": sum(tally["points"] for tally in crashes),
        "kills": sum(tally["killed"] for tally in crashes),
        "power-cut states": sum(tally["states"] for tally in cuts),
        "distinct states": sum(tally["distinct"] for tally in cuts),
        "failures": [failure for tally in [*crashes, *cuts] for failure in tally["failures"]],
    }


def main() -> int:
    """Run all of it and print the summary."""
    with tempfile.TemporaryDirectory() as folder:
        shim = built(Path(folder))
        if shim is None:
            tell("crash points and power cuts need a C compiler and Linux: left out")
        crashes = swept(shim, "crash_points.py") if shim else []
        cuts = swept(shim, "power_cut.py", "--states", STATES) if shim else []
    told = summary(crashes, cuts)
    fuzz = [fuzzed(script) for script in sorted(HERE.glob("fuzz_*.py"))]
    tests = tested(LONG)
    sys.stdout.write(json.dumps({**told, "fuzz": fuzz, "long tests": tests}, indent=2) + "\n")
    return int(bool(told["failures"]) or any(one["code"] for one in [*fuzz, tests]))


if __name__ == "__main__":
    sys.exit(main())
