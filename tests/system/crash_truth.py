"""Compares the shim's log of a command with what strace sees: `python crash_truth.py STRACE FOLDER NAME...`.

Run under the shim; prints the kinds of calls on the working folder that the kernel saw more often than the shim.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from crash_points import Scenario, Scene, load_rooms, open_scene, rehearse
from crash_scenarios import SCENARIOS
from power_cut import read_log

KINDS = {
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev"), "write"),
    **dict.fromkeys(("fsync", "fdatasync", "sync_file_range"), "sync"),
    **dict.fromkeys(("rename", "renameat", "renameat2"), "rename"),
    **dict.fromkeys(("link", "linkat"), "link"),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), "unlink"),
    **dict.fromkeys(("ftruncate", "truncate"), "truncate"),
    **dict.fromkeys(("mkdir", "mkdirat"), "mkdir"),
    **dict.fromkeys(("sendfile", "copy_file_range", "splice", "fallocate"), "unknown to the shim"),
}
CALL = re.compile(r"^\d+ +(\w+)\((.*)\) = \d")


def traced(scene: Scene, scenario: Scenario, strace: str, log: Path) -> list[str]:
    """Return the lines of strace for one undisturbed run, which the shim logs as well."""
    ready, go = os.pipe(), os.pipe()
    words = [strace, "-f", "-y", "-s", "0", "-e", f"trace={','.join(KINDS)}", "-o", str(log), "-p"]

    def action() -> int:
        os.write(ready[1], b"r")
        os.read(go[0], 1)
        return scenario.action()

    child = os.fork()
    if child == 0:
        os._exit(scene.fork(action, log=scene.base / "log"))
    os.read(ready[0], 1)
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    inner = Path(f"/proc/{child}/task/{child}/children").read_text().split()[0]
    with subprocess.Popen([*words, inner], stderr=subprocess.PIPE, text=True, env=environment) as tracer:
        assert tracer.stderr is not None
        assert "attached" in tracer.stderr.readline()
        os.write(go[1], b"g")
        assert os.waitpid(child, 0)[1] == 0
    return log.read_text().splitlines()


def compared(scenario: Scenario, strace: str, folder: Path) -> dict[str, object]:
    """Return what the shim missed of one scenario."""
    scene = open_scene(folder)
    rehearse(scene, scenario)
    scene.restore()
    lines = traced(scene, scenario, strace, folder / "trace")
    steps = read_log(folder / "log")
    inside = str(folder / "trial")
    seen: Counter[str] = Counter()
    for line in lines:
        found = CALL.match(line)
        if found and (inside in found[2] or "<" not in found[2]):  # a bare name lies in the working folder
            seen[KINDS[found[1]]] += 1
    counted = Counter(step.kind for step in steps)
    missed = [kind for kind, count in seen.items() if count > counted[kind]]
    return {"scenario": scenario.name, "missed": missed, "steps": len(steps), "seen": sum(seen.values())}


def main() -> None:
    """Print what the shim missed."""
    load_rooms()
    for name in sys.argv[3:]:
        told = compared(SCENARIOS[name], sys.argv[1], Path(sys.argv[2]) / name)
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
