"""The option --force: outputs are replaced when that is asked for, and precious files never are."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.table import samples

ROLES = ["--quasi", "age,sex", "--sensitive", "disease", "--other", "drop"]
SCHEMA = """\
[columns.age]
role = "quasi"
type = "integer"
bounds = [0, 120]
"""
ANONYMIZE = ["anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "5"]
REPUBLISH = ["republish", "in.csv", "--history", "kept", "-o", "out.csv", *ROLES, "--k", "3", "--l", "2"]
LEDGER = ["budget", "create", "people.ledger", "--data", "in.csv", "--schema", "s.toml", "--epsilon", "9"]
ASK = ["query", "people.ledger", "SELECT COUNT(*) FROM in", "--epsilon", "1", "-o", "out.csv"]
DOMAIN = ["--epsilon", "1", "--domain", "sexes.txt"]
WRITERS = {
    "anonymize": ANONYMIZE,
    "republish": REPUBLISH,
    "schema": ["schema", "in.csv", "-o", "out.csv"],
    "suggest": ["hierarchy", "suggest", "in.csv", "--column", "age", "-o", "out.csv"],
    "perturb": [
        "local",
        "perturb",
        "in.csv",
        "-o",
        "out.csv",
        "--column",
        "sex",
        "--epsilon",
        "1",
        "--domain",
        "sexes.txt",
    ],
    "mean": [
        "local",
        "mean",
        "in.csv",
        "--column",
        "age",
        "--bounds",
        "0",
        "120",
        "--epsilon",
        "1",
        "--card",
        "out.csv",
    ],
    "audit": ["audit", "linkage", "in.csv", "--with", "in.csv", "--on", "sex", "-o", "out.csv"],
    "query": ASK,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with 60 made-up patients, a schema, and an old output."""
    samples.patients(60).write_csv(tmp_path / "in.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "sexes.txt").write_text("F\nM\nX\n")
    (tmp_path / "out.csv").write_text("old")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", WRITERS)
def test_an_output_that_exists_is_kept_without_force_and_replaced_with_it(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "query":
        run([*LEDGER, "--deadline", "0"])
    assert run(WRITERS[name]) == 2
    assert "output 'out.csv' exists; remove it or choose another name, or replace it with --force" in (
        capsys.readouterr().err
    )
    assert (folder / "out.csv").read_text() == "old"
    assert run([*WRITERS[name], "--force"]) == 0
    assert (folder / "out.csv").read_bytes() != b"old"
    assert run([*WRITERS[name], "--force"]) == 0


@pytest.mark.parametrize(
    "command, precious",
    [
        (["anonymize", "in.csv", "-o", "linked.csv", *ROLES, "--k", "5"], "in.csv"),
        ([*ANONYMIZE, "--card", "people.ledger"], "people.ledger"),
        (
            ["anonymize", "in.csv", "-o", "out.csv", "--schema", "s.toml", *ROLES, "--k", "5", "--card", "s.toml"],
            "s.toml",
        ),
        ([*REPUBLISH, "--card", "kept/index.json"], "kept/index.json"),
        (["query", "people.ledger", "SELECT COUNT(*) FROM in", "--epsilon", "1", "-o", "linked.csv"], "in.csv"),
        (
            [
                "local",
                "perturb",
                "in.csv",
                *["-o", "sexes.txt", "--column", "sex", "--epsilon", "1", "--domain", "sexes.txt"],
            ],
            "sexes.txt",
        ),
    ],
    ids=["input", "ledger", "schema", "history", "rows of a ledger", "domain"],
)
def test_force_keeps_what_is_precious(
    folder: Path, command: list[str], precious: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(LEDGER)
    run([*REPUBLISH, "--force"])
    (folder / "linked.csv").hardlink_to(folder / "in.csv")
    before = (folder / precious).read_bytes()
    capsys.readouterr()
    assert run([*command, "--force"]) == 2
    said = capsys.readouterr()
    assert "which --force never" in said.err or "--force never replaces an input" in said.err
    assert said.out == ""
    assert (folder / precious).read_bytes() == before
