"""Names and values with line ends and escape sequences: nothing that is printed or proposed obeys them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sfumato.cli.main import run

EVIL = 'x"\n[columns.evil]\nrole = "other"\n# \x1b[2J\x9b31m\u202e'
NAMED = EVIL.replace('"', '""')
ROWS = "".join(f'{20 + row % 9},"flu\x1b[31m\nREFUTED: all {row % 3}"\n' for row in range(40))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text(f'age,"{NAMED}"\n{ROWS}', encoding="utf-8")
    return tmp_path


def refuse_controls(text: str) -> None:
    """Fail if a text could move a cursor or turn its direction."""
    assert not [letter for letter in text if letter in "\x1b\x9b\u202e"]


@pytest.mark.usefixtures("folder")
def test_proposals_stay_toml(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "in.csv"]) == 0
    said = capsys.readouterr()
    assert set(tomllib.loads(said.out)["columns"]) == {"age", EVIL}
    assert "\x1b" not in said.out + said.err
    assert run(["hierarchy", "suggest", "in.csv", "--column", EVIL]) == 0
    said = capsys.readouterr()
    assert "columns" not in tomllib.loads(said.out)
    assert "\x1b" not in said.out + said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "in.csv", "--quasi", "age", "--sensitive", EVIL],
        ["check", "in.csv", "--quasi", EVIL],
        ["check", "in.csv", "--quasi", f"{EVIL} "],
        ["anonymize", "in.csv", "-o", "o.csv", "--quasi", "age", "--sensitive", EVIL, "--k", "2"],
        ["anonymize", "in.csv", "-o", "o.csv", "--quasi", EVIL, "--other", "keep", "--k", "2", "--report", "r.html"],
    ],
)
def test_nothing_printed_is_injected(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(arguments) in {0, 1, 2}
    said = capsys.readouterr()
    refuse_controls(said.out + said.err)
    assert not [line for line in (said.out + said.err).splitlines() if line.startswith(("[columns", "REFUTED", "# "))]
    for name in ("o.csv.card.json", "o.csv.statement.txt"):
        if (folder / name).exists():
            assert "\x1b" not in (folder / name).read_text()


@pytest.mark.usefixtures("folder")
def test_an_audit_prints_one_line_for_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["anonymize", "in.csv", "-o", "o.csv", "--quasi", "age", "--sensitive", EVIL, "--k", "2", "--l", "2"]) == 0
    )
    capsys.readouterr()
    assert run(["audit", "release", "o.csv.card.json", "o.csv"]) in {0, 1}
    said = capsys.readouterr()
    refuse_controls(said.out + said.err)
    assert all(line.startswith(("REFUTED: ", "NOT REFUTED: ")) for line in said.out.splitlines())
