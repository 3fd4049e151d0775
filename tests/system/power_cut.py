"""Replays the steps of one command as a power cut may leave them on the disk, and checks what lies there.

The steps come from the log of `crash_shim.c`. What was flushed before the cut is on the disk. Of the later steps any
part may be: a write may be missing, torn or zeros, a name may be missing as long as its folder was not flushed (Pillai
et al. 2014). `python power_cut.py NAME --states N --seed S` prints what was tried as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from crash_points import CARELESS, Scenario, Scene, load_rooms, open_scene, rehearse
from crash_scenarios import SCENARIOS
from power_cut_glances import GLANCES

SECTOR = 512
LIFE = 1 << 48  # larger than inodes are
ENDED = 0.25  # the share of cuts that come when the command has ended
NAMES = {"create", "link", "unlink", "rename", "mkdir"}
WAYS = ("nothing", "everything", "first ones", "names only", "data only", "any", "any")


@dataclass(frozen=True)
class Step:
    """One step to the disk: what was done to which inode, where, and under which names."""

    kind: str
    inode: int
    offset: int
    name: str
    other: str
    content: bytes


def read_log(path: Path) -> list[Step]:
    """Return the steps of a log; an inode that is used again for another file gets another number."""
    steps: list[Step] = []
    lives: dict[int, int] = {}
    with path.open("rb") as file:
        while line := file.readline():
            kind, found, offset, length, name, other = line.decode().split()
            lives[int(found)] = lives.get(int(found), 0) + (kind == "create")
            inode = int(found) + LIFE * lives[int(found)]
            steps.append(Step(kind, inode, int(offset), name, other, file.read(int(length))))
    return steps


@dataclass
class Disk:
    """What a disk holds: the content of inodes, and the inode of every name."""

    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, top: Path) -> Disk:
        """Return what lies under a folder."""
        disk = cls(folders={str(top)})
        for path in top.rglob("*"):
            if path.is_dir():
                disk.folders.add(str(path))
            else:
                disk.names[str(path)] = path.stat().st_ino
                disk.contents[path.stat().st_ino] = path.read_bytes()
        return disk

    def rename(self, step: Step) -> None:
        """Change names as a step did."""
        if step.kind == "mkdir":
            self.folders.add(step.name)
        elif step.kind in {"unlink", "rename"}:
            self.names.pop(step.name, None)
            self.folders.discard(step.name)
        if step.kind == "create":
            self.names[step.name] = step.inode
        elif step.kind in {"link", "rename"}:
            self.names[step.other] = step.inode

    def write(self, step: Step, chance: random.Random | None) -> None:
        """Change content as a step did; by chance torn at a sector, or with zeros for what was written."""
        old = self.contents.get(step.inode, b"")
        if step.kind == "truncate":
            self.contents[step.inode] = old[: step.offset].ljust(step.offset, b"\0")
            return
        new = step.content
        if chance is not None and chance.random() < 0.2:
            new = bytes(len(new)) if chance.random() < 0.5 else new[: chance.randrange(0, len(new) + 1, SECTOR)]
        old = old.ljust(step.offset, b"\0")
        self.contents[step.inode] = old[: step.offset] + new + old[step.offset + len(new) :]

    def put(self, top: Path) -> None:
        """Make the files under a folder; a journal names files by inodes, so it gets the new ones."""
        shutil.rmtree(top)
        for folder in sorted(self.folders):
            if str(Path(folder).parent) in self.folders or folder == str(top):
                Path(folder).mkdir(mode=0o700, exist_ok=True)
        made: dict[int, Path] = {}
        for name, inode in self.names.items():
            if not Path(name).parent.is_dir():
                continue
            if inode in made:
                os.link(made[inode], name)
            else:
                made[inode] = Path(name)
                descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(self.contents.get(inode, b""))
        _renumber({inode % LIFE: path.stat().st_ino for inode, path in made.items()}, made)


def _renumber(now: dict[int, int], made: dict[int, Path]) -> None:
    for path in made.values():
        if path.name.endswith(".journal"):
            with suppress(ValueError):
                moves = json.loads(path.read_bytes())
                path.write_text(json.dumps([[*row[:3], now.get(row[3], 0), *row[4:]] for row in moves]))


def after_cut(before: Disk, steps: list[Step], cut: int, way: str, chance: random.Random) -> Disk:
    """Return a disk as a power cut after so many steps may leave it."""
    disk = Disk(dict(before.contents), dict(before.names), set(before.folders))
    flushed: dict[str | int, int] = {}
    folders = before.folders | {step.name for step in steps if step.kind == "mkdir"}
    for number, step in enumerate(steps[:cut]):
        if step.kind == "sync":
            flushed[step.name if step.name in folders else step.inode] = number
    horizon = chance.randrange(cut + 1)
    for number, step in enumerate(steps[:cut]):
        named = step.kind in NAMES
        place = str(Path(step.other if step.kind == "rename" else step.name).parent) if named else step.inode
        safe = number < flushed.get(_folder_of(step, place), -1)
        if step.kind == "create":
            disk.contents.setdefault(step.inode, b"")
        if step.kind == "sync" or not (safe or _kept(way, number < horizon, chance, named=named)):
            continue
        if named:
            disk.rename(step)
        else:
            disk.write(step, None if safe or way != "any" else chance)
    return disk


def _folder_of(step: Step, place: str | int) -> str | int:
    """Return what must be flushed for a step: a link's name lies in the folder of its second path."""
    return str(Path(step.other).parent) if step.kind == "link" else place


def _kept(way: str, early: bool, chance: random.Random, *, named: bool) -> bool:
    return {
        "nothing": False,
        "everything": True,
        "first ones": early,
        "names only": named,
        "data only": not named,
        "any": chance.random() < 0.5,
    }[way]


@dataclass
class CutTally:
    """What was tried of one scenario, and what failed."""

    scenario: str
    steps: int
    flushes: int
    states: int = 0
    distinct: int = 0
    run_again: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def record(scene: Scene, scenario: Scenario) -> tuple[Disk, list[Step]]:
    """Return the disk before a command, and the steps of the command."""
    rehearse(scene, scenario)
    scene.restore()
    before = Disk.of(scene.base / "trial")
    log = scene.base / "log"
    assert scene.fork(scenario.action, log=log) == 0, (scene.out.parent / "stderr").read_text()
    return before, read_log(log)


def states(before: Disk, steps: list[Step], seed: int) -> Iterator[tuple[int, str, Disk]]:
    """Yield random states after random cuts, each with the step and the way in which they differ.

    Many cuts come after the last step: an answer is printed there, and by then it must be paid for good.
    """
    chance = random.Random(seed)  # noqa: S311  # which state is tried is no secret
    while True:
        ended = chance.random() < ENDED
        cut, way = len(steps) if ended else chance.randrange(len(steps) + 1), chance.choice(WAYS)
        yield cut, way, after_cut(before, steps, cut, way, chance)


def cut_power(scenario: Scenario, asked: argparse.Namespace) -> CutTally:
    """Return what so many states show; every n-th is checked by running the command again, all by looking at them."""
    base, begun = Path(tempfile.mkdtemp(prefix="cut-")), time.monotonic()
    try:
        scene = open_scene(base)
        before, steps = record(scene, scenario)
        if asked.no_flush:
            steps = [step for step in steps if step.kind != "sync"]
        tally = CutTally(scenario.name, len(steps), sum(step.kind == "sync" for step in steps))
        seen: set[int] = set()
        for (cut, way, disk), number in zip(states(before, steps, asked.seed), range(asked.states), strict=False):
            key = hash((tuple(sorted(disk.names.items())), tuple(sorted(disk.contents.items()))))
            tally.distinct += key not in seen
            seen.add(key)
            _try_state(
                scene,
                scenario,
                steps[:cut],
                disk,
                tally,
                again=number % asked.every == asked.every - 1,
                label=f"{cut}, {way}",
            )
    finally:
        shutil.rmtree(base)
    tally.seconds = round(time.monotonic() - begun, 1)
    return tally


def _try_state(
    scene: Scene, scenario: Scenario, done: list[Step], disk: Disk, tally: CutTally, *, again: bool, label: str
) -> None:
    disk.put(scene.base / "trial")
    told = b"".join(step.content for step in done if step.kind == "write" and step.name == str(scene.out))
    scene.out.write_bytes(told)  # what was read before the power went stays known
    rows = str(scene.work / "out.csv")
    scene.witnessed = b"".join(step.content for step in done if step.kind == "write" and step.name == rows)
    again = again or scenario.name not in GLANCES
    tally.states += 1
    tally.run_again += again
    try:
        if again:
            scenario.check(scene, tally.states)
        else:
            GLANCES[scenario.name](scene)
    except Exception as error:  # noqa: BLE001  # a check that stumbles has found something as well
        tally.failures.append(f"cut after step {label}: {type(error).__name__}: {error}")


def main() -> None:
    """Cut the power of the named scenarios and print a line of JSON for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[name for name in SCENARIOS if name != CARELESS])
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-flush", action="store_true", help="as if no command flushed anything: must fail")
    given = parser.parse_args()
    load_rooms()
    for name in given.names:
        tally = cut_power(SCENARIOS[name], given)
        sys.stdout.write(json.dumps(vars(tally)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
