"""The durable paths of the command line, and what must hold whenever one of them is killed.

All files of a release together or none, nothing left over, never data without their card, never an answer that is not
paid, never a refund.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from crash_points import CARELESS, Action, Scenario, Scene, command

SCHEMA = """\
[columns.age]
role = "quasi"
type = "integer"
bounds = [0, 120]
[columns.sex]
role = "quasi"
type = "category"
categories = ["f", "m"]
[columns.ill]
role = "sensitive"
type = "category"
categories = ["a", "b", "c"]
"""
ROLES = ("--quasi", "age,sex", "--sensitive", "ill")
SET = ("out.csv", "out.csv.card.json", "out.csv.statement.txt", "out.csv.statement.html")
LEDGER = "people.ledger"
CREATE = ("budget", "create", LEDGER, "--data", "in.csv", "--schema", "s.toml", "--epsilon", "9", "--deadline", "0")
APART = "books/people.ledger"
CREATE_APART = ("budget", "create", APART, *CREATE[3:])
MONDRIAN = ("anonymize", "in.csv", "-o", "out.csv", *ROLES)
PRIVATE = (
    *("anonymize", "in.csv", "-o", "out.csv", "--schema", "s.toml", "--algorithm", "private-mondrian"),
    *("--epsilon", "1", "--depth", "2", "--ledger", LEDGER),
)
ASK = ("query", LEDGER, "SELECT COUNT(*) FROM in", "--epsilon", "1")
REPUBLISH = ("republish", "in.csv", "--history", "kept", "-o", "out.csv", *ROLES, "--k", "3", "--l", "2")
PERSONS = (
    *("republish", "people.csv", "--history", "kept", "-o", "out.csv", *ROLES, "--person", "id"),
    *("--l", "3", "--layer", "m-invariance"),
)
STREAM = (
    *("stream", "feed.csv", "-o", "out.csv", "--column", "hours", "--bounds", "0", "100", "--checkpoint", "kept"),
    *("--publisher", "rank", "--delay", "8", "--block", "2", "--events"),
)
PERTURB = (
    *("local", "perturb", "in.csv", "-o", "out.jsonl", "--column", "ill", "--epsilon", "1"),
    *("--domain", "ills.txt", "--protocol", "grr"),
)
ESTIMATE = ("local", "estimate", "reports.jsonl", "-o", "out.csv", "--ledger", LEDGER)


def said(scene: Scene, *arguments: str) -> str:
    """Return what a command that must succeed says."""
    done = scene.run(*arguments)
    assert done.code == 0, f"{arguments}: exit code {done.code}: {done.err}"
    return done.out


def rows(scene: Scene) -> None:
    """Write the raw rows and their schema."""
    lines = [f"{20 + row % 50},{'fm'[row % 2]},{'abc'[row % 3]}\n" for row in range(60)]
    (scene.work / "in.csv").write_text("age,sex,ill\n" + "".join(lines))
    (scene.work / "s.toml").write_text(SCHEMA)
    (scene.work / "ills.txt").write_text("a\nb\nc\n")


def after(*commands: Sequence[str]) -> Callable[[Scene], None]:
    """Return a preparation: the raw rows, and commands that ran before."""

    def prepare(scene: Scene) -> None:
        rows(scene)
        for arguments in commands:
            said(scene, *arguments)

    return prepare


def whole(folder: Path, names: Sequence[str]) -> None:
    """Check that a release is whole: every file is there, and its card tells as many rows as its data have."""
    there = [name for name in names if (folder / name).exists()]
    assert there == list(names), f"of {names} only {there} are there"
    data = (folder / names[0]).read_text()
    card = json.loads((folder / names[1]).read_text())
    count = len(data.splitlines()) if names[0].endswith(".jsonl") else len(list(csv.reader(data.splitlines())))
    assert count - 1 == card["released"]["rows"], f"card tells {card['released']['rows']} rows, data have {count - 1}"
    assert all((folder / name).stat().st_size for name in names)


def tidy(scene: Scene, folder: str = ".") -> None:
    """Tidy a folder as the next command that writes there does."""

    def act() -> int:
        from sfumato.core.files.journal import tidy as tidy_folder

        tidy_folder(Path(folder))
        return 0

    assert scene.call(act).code == 0


def nothing_else(scene: Scene, names: Sequence[str]) -> None:
    """Check that the folder has what it had before, the named files, and nothing else."""
    before = {path.name for path in (scene.base / "template" / "work").iterdir()}
    found = {path.name for path in scene.work.iterdir()}
    assert found == before | set(names), f"left over: {sorted(found - before - set(names))}"


def again(scene: Scene, arguments: Sequence[str], names: Sequence[str], *, force: bool = False) -> bool:
    """Run a killed command again; return whether its release had been whole before, and check that it is now."""
    data = scene.work / names[0]
    published = data.exists() and data.read_bytes() != scene.old(names[0])
    if published:
        whole(scene.work, names)  # even before anybody has tidied: never data without their card
    done = scene.run(*arguments)
    if published and not force:
        assert (done.code, "exists" in done.err) == (2, True), f"exit code {done.code}: {done.err}"
        tidy(scene)
    else:
        assert done.code == 0, f"exit code {done.code}: {done.err}"
    whole(scene.work, names)
    nothing_else(scene, names)
    return published


def release(arguments: Sequence[str], names: Sequence[str]) -> Callable[[Scene, int], bool]:
    """Return the check of a command that writes a release and nothing else."""
    return lambda scene, _: again(scene, arguments, names)


def replaced(arguments: Sequence[str], names: Sequence[str]) -> Callable[[Scene, int], bool]:
    """Return the check of a command that replaces a release: after tidying there is the old set or the new one."""

    def check(scene: Scene, step: int) -> bool:
        if step % 2:  # else the next run tidies
            tidy(scene)
            same = {(scene.work / name).read_bytes() == scene.old(name) for name in names}
            assert len(same) == 1, "old and new files are mixed"
            whole(scene.work, names)
            nothing_else(scene, names)
        return again(scene, arguments, names, force=True)

    return check


def spent(scene: Scene) -> float:
    """Return what a ledger says was spent, after verifying it."""
    said(scene, "budget", "verify", LEDGER)
    return round(float(json.loads(said(scene, "budget", "show", LEDGER, "--json"))["spent"]["epsilon"]), 2)


def paid(arguments: Sequence[str], names: Sequence[str], price: float) -> Callable[[Scene, int], bool]:
    """Return the check of a command that pays: what was seen is paid for, and nothing is ever given back."""

    def check(scene: Scene, _: int) -> bool:
        seen = bool(scene.out.read_bytes()) or bool(names and (scene.work / names[0]).exists())
        first = spent(scene)
        assert first in (0.0, price), f"spent {first}"
        assert first >= price * seen, "an answer was seen that is not paid"
        if names:
            again(scene, arguments, names)
        else:
            said(scene, *arguments)
        second = spent(scene)
        assert second >= first, f"refund: {first} became {second}"
        assert price <= second <= 2 * price, f"spent {second}"
        return seen

    return check


def created(scene: Scene, _: int) -> bool:
    """Check a new ledger, which does not lie beside its rows: it is whole, or it can be created again.

    Whenever it is there, no second one can be made in a third folder.
    """
    there = (scene.work / APART).exists()
    if there:
        _no_second(scene)
    done = scene.run(*CREATE_APART)
    assert done.code == (2 if there else 0), f"exit code {done.code}: {done.err}"
    said(scene, "budget", "verify", APART)
    if there:
        tidy(scene, "books")
    assert [path.name for path in (scene.work / "books").iterdir()] == [Path(APART).name]
    _no_second(scene)
    return there


def _no_second(scene: Scene) -> None:
    second = scene.run("budget", "create", "elsewhere/second.ledger", *CREATE[3:])
    assert (second.code, "know" in second.err) == (2, True), f"the same people got a second budget: {second.err}"


def two_folders(scene: Scene) -> None:
    """Prepare the rows, and two folders for ledgers."""
    rows(scene)
    for name in ("books", "elsewhere"):
        (scene.work / name).mkdir()


def versioned(scene: Scene, _: int) -> bool:
    """Check a ledger whose rows changed: what was spent stays spent, and the version is the old one or the next."""
    show = ("budget", "show", LEDGER, "--json")
    assert spent(scene) == 1.0
    version = json.loads(said(scene, *show))["version"]
    assert version in (1, 2)
    done = scene.run("budget", "new-version", LEDGER, "--data", "new.csv")
    assert done.code == 0, f"version {version}, exit code {done.code}: {done.err}"
    assert spent(scene) == 1.0
    assert json.loads(said(scene, *show))["version"] in (2, version + 1)  # declaring rows once more costs nothing
    nothing_else(scene, [])
    return bool(version == 2)


def changed_rows(scene: Scene) -> None:
    """Prepare a ledger with one paid answer, and other rows."""
    after(CREATE, ASK)(scene)
    (scene.work / "new.csv").write_text((scene.work / "in.csv").read_text() + "30,f,a\n")


def republished(arguments: Sequence[str], before: int) -> Callable[[Scene, int], bool]:
    """Return the check of a series with so many releases before.

    The history counts whole releases only, whatever was published is in it, nothing else is in its folder, and a crash
    is never taken for a roll-back.
    """

    def check(scene: Scene, _: int) -> bool:
        seen = (scene.work / "out.csv").exists()
        releases = recorded(scene)
        assert before + seen <= releases <= before + 1, "a release was published that the history does not know"
        again(scene, arguments, SET)
        later = recorded(scene)
        assert later == (releases if seen else releases + 1)
        entries = json.loads((scene.work / "kept" / "index.json").read_text())["releases"]
        named = {"index.json", ".lock", *(name for entry in entries for name in entry["files"])}
        assert {path.name for path in (scene.work / "kept").iterdir()} == named, "the history has files of no release"
        return seen

    return check


def recorded(scene: Scene) -> int:
    """Return how many releases a history counts."""
    index = scene.work / "kept" / "index.json"
    return len(json.loads(index.read_text())["releases"]) if index.exists() else 0


def earlier_release(arguments: Sequence[str]) -> Callable[[Scene], None]:
    """Return the preparation of a history with one release."""

    def prepare(scene: Scene) -> None:
        people(scene)
        said(scene, *(word if word != "out.csv" else "first.csv" for word in arguments))

    return prepare


def people(scene: Scene) -> None:
    """Write the raw rows, also with a column that names the persons, and an empty folder for a history."""
    rows(scene)
    lines = (scene.work / "in.csv").read_text().splitlines()
    named = [f"id,{lines[0]}", *(f"p{number},{line}" for number, line in enumerate(lines[1:]))]
    (scene.work / "people.csv").write_text("\n".join(named) + "\n")
    (scene.work / "kept").mkdir()


def feed(scene: Scene) -> None:
    """Prepare a feed, and the bytes that an undisturbed run with the same key publishes."""
    (scene.work / "feed.csv").write_text("hours\n" + "".join(f"{row * 7 % 100}\n" for row in range(60)))


def small_stream() -> int:
    """Run the stream with short pieces, so that there are many checkpoints."""
    from sfumato.stream.connectors.file import inlet

    inlet.PIECE = 64
    return command(STREAM)


def streamed(scene: Scene, _: int) -> bool:
    """Check a stream: what was there is an exact prefix of what is there in the end, and no record is lost or twice."""
    out = scene.work / "out.csv"
    seen = out.read_bytes() if out.exists() else b""
    seen = max(seen, scene.witnessed, key=len)
    seen = seen[: seen.rfind(b"\n") + 1]
    done = scene.call(small_stream)
    assert done.code == 0, f"exit code {done.code}: {done.err}"
    final = out.read_bytes()
    assert final.startswith(seen), "published bytes were changed"
    numbers = [int(row["seq"]) for row in csv.DictReader(final.decode().splitlines())]
    assert numbers == list(range(60)), "records were lost or published twice"
    json.loads((scene.work / "out.csv.card.json").read_text())
    nothing_else(scene, [*SET, "kept"])
    return len(seen) == len(final)


def device_report() -> int:
    """Send a report from a device's memory."""
    from sfumato.local import Memory, OptimizedUnary

    made = Memory(Path("device.json"), 4).report(OptimizedUnary(("a", "b"), 1), "a", period="May")
    sys.stdout.write(made.to_json() + "\n")
    return 0


def remembered(scene: Scene, _: int) -> bool:
    """Check a device: a report that left is paid for and is the one that is sent again."""
    seen = scene.out.read_text()
    first = scene.call(device_report)
    assert first.code == 0, first.err
    assert not seen or first.out == seen, "two reports were drawn for one value"
    content = json.loads((scene.work / "device.json").read_text())
    costs = [float(entry["epsilon"]) for entry in content["rounds"]]
    assert costs[0] > 0.9, "a report was not paid"
    assert not any(costs[1:]), "a report was paid twice"
    assert len(costs) == 2 or not seen
    nothing_else(scene, ["device.json", ".device.json.lock"])
    return bool(seen)


def collected(scene: Scene) -> None:
    """Prepare reports of devices, and a ledger about the same people."""
    after((*CREATE, "--neighbours", "value"))(scene)
    said(scene, *(word if word != "out.jsonl" else "reports.jsonl" for word in PERTURB))


def shell(arguments: Sequence[str]) -> Action:
    """Return the action that runs a command."""
    return lambda: command(arguments)


WITH_REPORT = (*MONDRIAN, "--k", "3", "--report", "steward.html")
FORCED = (*MONDRIAN, "--k", "5", "--force")
REPORTS = ("out.jsonl", *(f"out.jsonl{end}" for end in (".card.json", ".statement.txt", ".statement.html")))
LISTED = [
    Scenario("anonymize", after(), shell(WITH_REPORT), release(WITH_REPORT, [*SET, "steward.html"])),
    Scenario("anonymize-force", after((*MONDRIAN, "--k", "3")), shell(FORCED), replaced(FORCED, SET)),
    Scenario("anonymize-ledger", after(CREATE), shell(PRIVATE), paid(PRIVATE, SET, 1.0)),
    Scenario("query", after(CREATE), shell(ASK), paid(ASK, (), 1.0)),
    Scenario("query-file", after(CREATE), shell((*ASK, "-o", "out.csv")), paid((*ASK, "-o", "out.csv"), SET, 1.0)),
    Scenario("budget-create", two_folders, shell(CREATE_APART), created),
    Scenario(
        "budget-new-version", changed_rows, shell(("budget", "new-version", LEDGER, "--data", "new.csv")), versioned
    ),
    Scenario("republish", earlier_release(REPUBLISH), shell(REPUBLISH), republished(REPUBLISH, 1)),
    Scenario("republish-first", people, shell(REPUBLISH), republished(REPUBLISH, 0)),
    Scenario("republish-persons", earlier_release(PERSONS), shell(PERSONS), republished(PERSONS, 1)),
    Scenario("stream", feed, small_stream, streamed),
    Scenario("perturb", after(), shell(PERTURB), release(PERTURB, REPORTS)),
    Scenario("device", rows, device_report, remembered),
    Scenario("estimate-ledger", collected, shell(ESTIMATE), paid(ESTIMATE, SET, 1.0)),
]


def write_carelessly() -> int:
    """Write data, then their card, in place: what no command may do."""
    Path("out.csv").write_text("age\n20\n")
    for name in SET[1:]:
        Path(name).write_text('{"released": {"rows": 1}}')
    return 0


def look_whole(scene: Scene, _: int) -> bool:
    """Check that a release is whole if its data are there, without running anything again."""
    there = (scene.work / SET[0]).exists()
    if there:
        whole(scene.work, SET)
    return there


LISTED.append(Scenario(CARELESS, rows, write_carelessly, look_whole))
SCENARIOS = {scenario.name: scenario for scenario in LISTED}
