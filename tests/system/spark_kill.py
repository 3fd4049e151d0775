"""Anonymize a folder on two executors, one of which is killed with SIGKILL while its tasks run; print what happened."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import sfumato as sf
from sfumato.engines.spark import anonymize, read_folder, spark_session


def executors(machine: int) -> list[int]:
    """Return the processes of a local cluster's executors, children of its virtual machine."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == machine and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
            found.append(int(entry.name))
    return found


def main(source: str, target: str) -> None:
    """Kill one executor as soon as a stage that writes rows has a finished task, and let the job go on."""
    session = spark_session("local-cluster[2,1,1024]")
    context = session.sparkContext
    machine = context._gateway.proc.pid  # type: ignore[union-attr]
    killed: list[int] = []
    writing = threading.Event()

    def kill() -> None:
        writing.wait()
        tracker = context.statusTracker()
        while not killed:
            for stage in tracker.getActiveStageIds():
                news = tracker.getStageInfo(stage)
                if news is not None and news.numCompletedTasks > 0 and news.numActiveTasks > 0:
                    victim = executors(machine)[0]
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
                    return
            time.sleep(0.02)

    threading.Thread(target=kill, daemon=True).start()
    frame = read_folder(session, source)
    schema = sf.Schema.from_roles(quasi=["age", "zip", "sex"], sensitive=["disease"])
    release = anonymize(frame, sf.Mondrian(), schema, [sf.KAnonymity(10), sf.LDiversity(2, "disease")])
    before = executors(machine)
    writing.set()
    release.save(target)
    sys.stdout.write(json.dumps({"before": before, "killed": killed, "after": executors(machine)}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
