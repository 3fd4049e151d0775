"""Arguments that nobody means: names that no file can have, counts without end, bytes that are no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli.main import run

LONG = "a" * 300 + ".db"
DEEP = "a/" * 3000 + "b"
ROLES = "--quasi age --sensitive sex"
COMMANDS = [
    "budget show {}",
    "budget thaw {}",
    "budget verify {}",
    "budget new-version {} --data in.csv",
    "budget create {} --data in.csv --schema s.toml --epsilon 1",
    "query {} x --epsilon 1",
    "plan {} x --error 1",
    "check {} --quasi age",
    "utility {} --original in.csv --quasi age,sex",
    "utility in.csv --original {} --quasi age,sex",
    "utility in.csv --original in.csv --quasi age,sex --report {}",
    "risk {} --quasi age --fraction 0.1",
    "risk in.csv --quasi age --fraction 0.1 --each {}",
    "risk in.csv --quasi age --fraction 0.1 --report {}",
    "schema {}",
    "statement {}",
    "hierarchy suggest {} --column age",
    "hierarchy build {} --column age --rule flat",
    "hierarchy build --rule flat --values a,b -o {}",
    "hierarchy show {}",
    "hierarchy convert {}",
    "hierarchy export {} --quasi age --hierarchy age=s.toml",
    "audit release {} {}",
    "audit local {}",
    "audit series {} {} --quasi age --sensitive sex",
    "audit epsilon --again {}",
    "local estimate {} -o out.csv",
    "local perturb in.csv --column sex --domain {} --epsilon 1 -o out.jsonl",
    "stream {} -o out.csv --column age --bounds 0 99 --epsilon 1",
    "stream in.csv -o out.csv --column age --bounds 0 99 --epsilon 1 --checkpoint {}",
    "republish in.csv --history {} -o out.csv --quasi age --sensitive sex --k 2",
    "anonymize in.csv -o {} --quasi age,sex --k 2",
    "anonymize in.csv -o out.csv --schema {} --k 2",
    "anonymize in.csv -o out.csv --quasi age,sex --k 2 --hierarchy age={}",
    "anonymize in.csv -o out.csv --quasi age,sex --k 2 --ledger {}",
    "anonymize in.csv -o out.csv --quasi age,sex --k 2 --report {}",
    "anonymize in.csv -o out.csv --quasi age,sex --algorithm pram --matrix sex={}",
    "estimate {} --by sex",
]
ENDLESS = [
    "audit epsilon laplace --trials 3000000000",
    "audit local rep.jsonl --trials 3000000000",
    "audit release card.json out.csv --trials 3000000000",
    "audit stream --publisher doca --trials 3000000000",
    "audit stream --publisher doca --records 3000000000",
    "audit stream --publisher doca --streams 3000000000",
    "audit composition in.csv --quasi age --k 2 --epsilon 1 --other drop --trials 3000000000",
    "audit time --runs 3000000000",
    "audit time --rows 99999999999999999999",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a table of people."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "in.csv").write_text("age,sex\n" + "".join(f"{20 + row},{'FM'[row % 2]}\n" for row in range(20)))
    (tmp_path / "s.toml").write_text('[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n')
    return tmp_path


def sentence(capsys: pytest.CaptureFixture[str], line: str) -> str:
    """Return what a refused command says, which is one sentence."""
    assert run(line.split()) == 2
    said = capsys.readouterr().err
    assert "internal error" not in said
    assert said.startswith("sfumato: ")
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize("name", [LONG, DEEP], ids=["long", "deep"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_no_file_can_have(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    assert sentence(capsys, command.replace("{}", name))
    assert not list(folder.glob("out*"))


@pytest.mark.parametrize("command", ENDLESS)
def test_a_count_without_end(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert "would not end; give at most" in sentence(capsys, command)


@pytest.mark.parametrize("content", [b"age,sex\n31,\xa9\n", b"age,sex\n31,F\rx,y\n"], ids=["bytes", "line end"])
def test_a_twin_run_on_what_is_no_plain_text(folder: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    (folder / "in.csv").write_bytes(content)
    (folder / "d.txt").write_text("F\nM\n")
    found = sentence(capsys, "audit twice -- local perturb in.csv --column sex --domain d.txt --epsilon 1 -o out.jsonl")
    assert "in.csv" in found


@pytest.mark.parametrize("bounds", ["[0, 9223372036854775807]", "[-9223372036854775808, 99]"])
def test_the_widest_bounds_of_64_bits_bind_nobody(folder: Path, bounds: str) -> None:
    (folder / "wide.toml").write_text(f'[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = {bounds}\n')
    assert run(["anonymize", "in.csv", "-o", "out.csv", "--schema", "wide.toml", "--other", "drop", "--k", "2"]) == 0
