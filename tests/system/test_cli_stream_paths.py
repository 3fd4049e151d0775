"""The files of a stream: no two are one, no two streams share one, and what stems from raw records is its owner's."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.promise import Budget
from sfumato.stream.connectors.file.outlet import Appended, claim_file

RANK = ["--column", "v", "--publisher", "rank", "--bounds", "0", "10", "--delay", "4"]
DOCA = ["--column", "v", "--publisher", "doca", "--sensitivity", "10", "--delay", "4"]
RECORDS = "v\n" + "1\n2\n3\n4\n" * 10


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(RECORDS)
    Path("sub").mkdir()
    Path("linked").symlink_to("sub")
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Run a stream that must be refused and change nothing; return its sentence."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert run(["stream", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "internal error" not in err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return err


SHARED = {
    "the output and the card": ["in.csv", "-o", "x", "--card", "x", *RANK],
    "the input and the card": ["in.csv", "-o", "x", "--card", "./in.csv", *RANK],
    "the output and the quarantine": ["in.csv", "-o", "x", *DOCA, "--on-bad", "quarantine:sub/../x"],
    "the card and the quarantine": ["in.csv", "-o", "x", *DOCA, "--on-bad", "quarantine:x.card.json"],
    "the statement and the parse report": ["in.csv", "-o", "x", *RANK, "--parse-report", "x.statement.txt"],
    "the output and the parse report": ["in.csv", "-o", "sub/x", *RANK, "--parse-report", "linked/x"],
    "the input and the parse report": ["in.csv", "-o", "x", *RANK, "--parse-report", "hard"],
    "the output and the checkpoint": ["in.csv", "-o", "x", *RANK, "--checkpoint", "x"],
    "the card and the checkpoint": ["in.csv", "-o", "x", *RANK, "--card", "c", "--checkpoint", "./c"],
    "the input and the ledger": ["in.csv", "-o", "x", *RANK, "--ledger", "in.csv"],
    "the output and the ledger": ["in.csv", "-o", "x", *RANK, "--ledger", "x"],
    "the parse report and where rows wait": [
        "in.csv", "-o", "x.parquet", *RANK, "--parse-report", "x.parquet.part",
    ],
}  # fmt: skip


@pytest.mark.parametrize("roles", SHARED)
def test_two_roles_of_one_file_are_refused_before_anything_is_read(
    capsys: pytest.CaptureFixture[str], roles: str
) -> None:
    os.link("in.csv", "hard")
    assert f"is both {roles}; name two files" in refused(capsys, SHARED[roles])


@pytest.mark.parametrize(
    "arguments",
    [
        ["-o", "kept/x"],
        ["-o", "x", "--card", "kept/checkpoint"],
        ["-o", "x", "--parse-report", "kept/.key"],
    ],
)
def test_no_file_lies_in_the_checkpoint(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert ", lies in checkpoint 'kept'" in refused(capsys, ["in.csv", *arguments, *RANK, "--checkpoint", "kept"])


def test_going_on_never_writes_over_the_input(capsys: pytest.CaptureFixture[str]) -> None:
    basic = ["in.csv", "-o", "x", *RANK, "--checkpoint", "kept"]
    assert run(["stream", *basic]) == 0
    capsys.readouterr()
    assert "is both the input and the card" in refused(capsys, [*basic, "--card", "in.csv"])


@pytest.mark.parametrize(
    "link, arguments",
    [
        ("x", []),
        ("x.card.json", []),
        ("x.statement.html", []),
        ("report", ["--parse-report", "report"]),
        ("bad", ["--on-bad", "quarantine:bad"]),
    ],
)
def test_a_link_that_leads_nowhere_is_not_followed(
    capsys: pytest.CaptureFixture[str], link: str, arguments: list[str]
) -> None:
    Path(link).symlink_to("elsewhere")
    assert f"'{link}' exists" in refused(capsys, ["in.csv", "-o", "x", *DOCA, *arguments])
    assert not Path("elsewhere").exists()


@pytest.mark.parametrize("checkpoint", [[], ["--checkpoint", "kept"]])
@pytest.mark.parametrize("taken", ["x", "bad"])
def test_an_output_that_appears_at_the_last_moment_is_not_written_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, checkpoint: list[str], taken: str
) -> None:
    monkeypatch.setattr("sfumato.stream.connectors.file.sink.Sink.refuse_existing", lambda _: None)
    monkeypatch.setattr("sfumato.stream.runtime.checkpoint.refuse_there", lambda *_: None)
    Path(taken).write_text("another's")
    arguments = ["stream", "in.csv", "-o", "x", *DOCA, "--on-bad", "quarantine:bad", *checkpoint]
    assert run(arguments) == 2
    assert f"'{taken}' exists" in capsys.readouterr().err
    assert Path(taken).read_text() == "another's"
    assert not Path("x").exists() or taken == "x"
    assert not Path("kept/checkpoint").exists()


def test_a_stream_that_goes_on_does_not_share_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["in.csv", "-o", "x", *RANK, "--checkpoint", "kept"]
    assert run(["stream", *arguments]) == 0
    capsys.readouterr()
    with closing(Appended(Path("other"), descriptor=claim_file(Path("x"), "output"))):
        pass  # let go again
    descriptor = claim_file(Path("x"), "output")
    assert "output 'x' is in use by another process" in refused(capsys, arguments)
    os.close(descriptor)


@pytest.mark.parametrize("name", ["out.csv", pytest.param("out.parquet", marks=pytest.mark.long)])
def test_of_streams_started_together_one_wins(name: str) -> None:
    command = [sys.executable, "-m", "sfumato", "stream", "in.csv", "-o", name, *RANK]
    started = [subprocess.Popen(command, stdout=-1, stderr=-1) for _ in range(2)]
    said = [process.communicate(timeout=60)[1].decode() for process in started]
    assert sorted(process.returncode for process in started) == [0, 2], said
    assert all("Traceback" not in one and "internal error" not in one for one in said)


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_what_stems_from_raw_records_is_its_owners_alone(umask: int) -> None:
    Path("in.csv").write_text(RECORDS + "x\ny\n")
    before = os.umask(umask)
    try:
        arguments = ["stream", "in.csv", "-o", "x", *DOCA, "--on-bad", "quarantine:bad", "--checkpoint", "kept"]
        assert run([*arguments, "--parse-report", "report"]) == 0
        for _ in range(2):
            private = ["bad", "report", *(f"kept/{file.name}" for file in Path("kept").iterdir())]
            assert len(private) == 5
            assert {stat.S_IMODE(Path(file).stat().st_mode) for file in private} == {0o600}
            assert stat.S_IMODE(Path("kept").stat().st_mode) == 0o700
            for file in ("bad", "report", "kept/checkpoint"):  # and are repaired where they are not
                Path(file).chmod(0o644)
            Path("kept").chmod(0o755)
            assert run([*arguments, "--parse-report", "report"]) == 0
    finally:
        os.umask(before)


def test_private_files_are_private_from_their_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that is made is looked at when it is opened, before anything is written."""
    made: dict[str, int] = {}
    real = os.open

    def watched(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        descriptor = real(path, flags, mode, **more)
        if flags & os.O_CREAT:
            made[str(path)] = stat.S_IMODE(os.fstat(descriptor).st_mode)
        return descriptor

    monkeypatch.setattr(os, "open", watched)
    before = os.umask(0)
    try:
        Path("in.csv").write_text(RECORDS + "x\ny\n")
        arguments = ["stream", "in.csv", "-o", "x", *DOCA, "--on-bad", "quarantine:bad", "--checkpoint", "kept"]
        assert run([*arguments, "--parse-report", "report"]) == 0
    finally:
        os.umask(before)
    private = {name: mode for name, mode in made.items() if "x" not in Path(name).name}
    assert {Path(name).name for name in private} >= {"bad", ".report.partial", ".checkpoint.partial", "..key.partial"}
    assert set(private.values()) == {0o600}


def test_paths_are_compared_before_spark_starts(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sub", "-o", "out", "--card", "./out", "--engine", "spark", "--key", "v", *RANK]
    assert "is both the output and the card" in refused(capsys, arguments)


def test_whoever_is_refused_pays_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    ledger = Ledger.create(folder / "l", Budget(epsilon=2), {"protect": "rows", "neighbours": "value"})
    basic = ["in.csv", "-o", "x", *RANK, "--ledger", "l"]
    assert "is both the output and the card" in refused(capsys, [*basic, "--card", "x"])
    monkeypatch.setattr("sfumato.stream.connectors.file.sink.Sink.refuse_existing", lambda _: None)
    Path("x").write_text("another's")
    assert "output 'x' exists" in refused(capsys, basic)
    assert ledger.spent.epsilon == 0
