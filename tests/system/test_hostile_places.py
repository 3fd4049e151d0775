"""Hostile places: every command says one sentence or works there, and leaves nothing half done behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import run

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
DRIVER = HERE / "hostile_places.py"
NOBODY, STRANGER = 65534, 54321  # a user without a home, and a number that no database knows
UNKEPT = "sfumato: compiling, and the next command will compile again: "
NO_FULL = "needs /dev/full"
NO_ROOT = "needs root, to become another user"
NO_MOUNT = "needs root and a mount namespace"


def mounting() -> bool:
    """Return whether this process may mount, for itself alone."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    line = "mount -t tmpfs -o size=8k none /mnt"
    return not subprocess.run(["unshare", "-m", "sh", "-c", line], check=False, capture_output=True).returncode


def shell(line: str, tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which $S stands for the command."""
    environment = {**os.environ, "S": f"{sys.executable} -m sfumato", **more}
    environment.pop("PYTHONUNBUFFERED", None)
    command = ["bash", "-c", line]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason=NO_FULL)
@pytest.mark.parametrize("unbuffered, what", [("", "standard output"), ("1", "an output")])
def test_a_full_standard_output_is_one_sentence(tmp_path: Path, unbuffered: str, what: str) -> None:
    done = shell(f"PYTHONUNBUFFERED={unbuffered} $S --help > /dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"sfumato: {what} cannot be written: No space left on device\n"


def test_a_closed_standard_output_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    done = shell("$S budget create L --data no.csv --epsilon 1 >&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("sfumato: standard output is closed; ")
    assert not list(tmp_path.iterdir())


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    done = shell("$S --help | head -n 1; echo ${PIPESTATUS[0]}; $S --version | true; echo ${PIPESTATUS[0]}", tmp_path)
    first, left, after = done.stdout.splitlines()
    assert (first, left, done.stderr) == ("Usage: sfumato COMMAND", "141", "")
    assert after in {"141", "0"}  # by who was faster


@pytest.mark.skipif(not Path("/dev/full").exists(), reason=NO_FULL)
@pytest.mark.parametrize("streams", ["2> /dev/full", "2>&-", "<&-", "<&- 2>&-"])
def test_other_streams_that_are_closed_or_full_change_no_exit_code(tmp_path: Path, streams: str) -> None:
    done = shell(f"$S check no.csv --quasi age {streams}; echo $?", tmp_path)
    assert done.stdout == "2\n"
    assert done.stderr in {"", "sfumato: no file 'no.csv'\n"} or "no.csv" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def public() -> Iterator[Path]:
    """Give a folder that other users may enter; those that pytest gives are closed."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def place(public: Path) -> Path:
    """Return an empty folder inside the one that others may enter."""
    folder = Path(tempfile.mkdtemp(dir=public))
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def material(public: Path) -> Path:
    """Return a folder with the inputs of all commands, which everybody may read."""
    folder = public / "material"
    folder.mkdir()
    with (EXAMPLES / "patients.csv").open() as file:
        (folder / "people.csv").write_text("".join(next(file) for _ in range(301)))
    shutil.copy(EXAMPLES / "patients.toml", folder / "people.toml")
    shutil.copy(EXAMPLES / "zip.csv", folder)
    (folder / "sexes.txt").write_text("F\nM\n")
    source, schema = str(folder / "people.csv"), str(folder / "people.toml")
    perturb = ["local", "perturb", source, "-o", str(folder / "reports.bin"), "--column", "sex", "--epsilon", "1"]
    assert run([*perturb, "--domain", str(folder / "sexes.txt")]) == 0
    assert run(["anonymize", source, "-o", str(folder / "out.csv"), "--schema", schema, "--k", "5", "--l", "2"]) == 0
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(0o755)
    return folder


def told(
    place: Path, material: Path, before: str = "", wanted: str = "", user: int | None = None, **environment: str
) -> list[dict[str, Any]]:
    """Run the commands in the folder `work`, after a line of shell, and return what each did."""
    work, results = place / "work", place / "results"
    for folder in (work, results):
        folder.mkdir()
        folder.chmod(0o700)
    become = "" if user is None else f"setpriv --reuid {user} --regid {user} --clear-groups"
    if user is not None:
        os.chown(work, user, user)
        os.chown(results, user, user)
    given = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(work / ".state"), **environment}
    line = f"{before} cd work && {become} {sys.executable} {DRIVER} {material} {results / 'json'} {wanted}"
    command = [*(["unshare", "-m"] if before else []), "sh", "-c", line]
    done = subprocess.run(command, cwd=place, env=given, capture_output=True, text=True, check=False)
    if user is not None and "Permission denied" in done.stderr and not (results / "json").exists():
        pytest.skip(f"user {user} may not read the program: {done.stderr.splitlines()[-1]}")
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(row) for row in (results / "json").read_text().splitlines()]


def assert_whole(rows: list[dict[str, Any]]) -> None:
    """Check that each command worked or said one sentence, and left what it promises or nothing."""
    assert rows
    for row in rows:
        assert row["code"] in {0, 2}, row
        assert "Traceback" not in row["err"], row
        assert "internal error" not in row["err"], row
        names = row["may"].split() if row["code"] == 0 else []
        assert not [name for name in row["made"] if not name.startswith((*names, ".state"))], row
        if row["code"] == 2:
            assert row["err"].splitlines()[-1].startswith("sfumato: "), row


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason=NO_ROOT)
def test_nobody_can_run_every_command(place: Path, material: Path) -> None:
    rows = told(place, material, user=NOBODY)
    assert_whole(rows)
    assert {row["code"] for row in rows} == {0}
    said = [line for row in rows for line in row["err"].splitlines() if "compil" in line]
    assert said
    assert all(line.startswith(f"{UNKEPT}folder '/nonexistent/") for line in said)
    assert "~" not in {path.name for path in (place / "work").iterdir()}


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason=NO_ROOT)
@pytest.mark.parametrize("home", ["", "~"])
def test_a_user_whom_no_database_knows_is_told_that_nothing_is_kept(place: Path, material: Path, home: str) -> None:
    rows = told(place, material, wanted="'audit linkage' check budget", user=STRANGER, HOME=home)
    assert_whole(rows)
    assert {row["code"] for row in rows} == {0}
    assert any(row["err"].startswith(UNKEPT) for row in rows)
    assert not {"~", ".cache"} & {path.name for path in (place / "work").iterdir()}


@pytest.mark.long
@pytest.mark.skipif(not mounting(), reason=NO_MOUNT)
@pytest.mark.parametrize(
    "mount", ["mount --bind work work && mount -o remount,ro,bind work &&", "mount -t tmpfs -o size=8k none work &&"]
)
def test_a_folder_that_is_read_only_or_full_stays_empty(place: Path, material: Path, mount: str) -> None:
    rows = told(place, material, mount, XDG_STATE_HOME=str(place / "state"))
    kept = {"s.csv", "history"}  # a feed is published as it comes, and a history may be empty
    assert_whole([{**row, "made": sorted(set(row["made"]) - kept)} for row in rows])
    refused = {row["command"].split()[0] for row in rows if row["code"] == 2}
    assert {"anonymize", "republish", "budget", "stream", "local"} <= refused


@pytest.mark.long
@pytest.mark.skipif(not mounting(), reason=NO_MOUNT)
def test_a_full_cache_is_not_taken_for_an_output(place: Path, material: Path) -> None:
    (place / "kernels").mkdir(mode=0o700)
    mount = "mount -t tmpfs -o size=8k,mode=700 none kernels &&"
    rows = told(place, material, mount, "'audit linkage' check", SFUMATO_CACHE=str(place / "kernels"))
    assert_whole(rows)
    assert [row["code"] for row in rows] == [0, 0]
    said = "".join(row["err"] for row in rows)
    assert "what was compiled is not kept" in said
    assert "output" not in said


@pytest.mark.long
@pytest.mark.parametrize("megabytes", [150, 1000])
def test_little_memory_leaves_no_file(tmp_path: Path, material: Path, megabytes: int) -> None:
    command = f"$S anonymize {material}/people.csv -o out.csv --schema {material}/people.toml --k 5"
    done = shell(f"ulimit -v {megabytes * 1000}; {command}", tmp_path)
    assert "Traceback" not in done.stderr
    assert done.returncode or (tmp_path / "out.csv.card.json").exists()
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".sfumato-")}  # the next run clears it
    assert not done.returncode or not left


@pytest.mark.long
def test_a_pipe_is_read_and_never_replaced(tmp_path: Path, material: Path) -> None:
    line = f"mkfifo in out; cat {material}/people.csv > in & $S check in --quasi age,sex; echo $?"
    anonymize = f"$S anonymize {material}/people.csv -o out --schema {material}/people.toml --k 5; echo $?"
    done = shell(f"{line}; {anonymize}", tmp_path)
    assert [text for text in done.stdout.splitlines() if text.isdigit()] == ["0", "2"]
    assert done.stderr == "sfumato: output 'out' exists; remove it or choose another name\n"
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}
