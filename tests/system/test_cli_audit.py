"""Audits from the command line: what falls exits with 1, what stands with 0, and evidence lets anyone repeat it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.report import audit_report
from sfumato.report.chapters.audit import read_findings

ROOT = Path(__file__).parents[2]
PATIENTS = ROOT / "examples" / "patients.csv"
ROLES = ["--quasi", "age,sex,zip", "--sensitive", "disease", "--identifier", "name", "--other", "drop"]
LINK = ["--with", "voters.csv", "--on", "age,sex,zip", "--sensitive", "disease"]
TABLE_1 = "nome,idade,sexo,código\nJoão,21,M,4700\nMaria,31,F,1017\nJoana,27,F,4475\n"
TABLE_2 = "idade,sexo,código,doença\n21,M,4700,Pneumonia\n21,F,4740,Cancro\n22,M,4810,Gripe\n22,M,4730,HIV\n"
TABLE_3 = "idade,sexo,código,doença\n21,M-F,[4700-4800],Pneumonia\n21,M-F,[4700-4800],Cancro\n"
JOAO = ["--with", "table1.csv", "--on", "idade,sexo,código", "--sensitive", "doença"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a register of voters, a careless table and the dissertation's tables 1 to 3."""
    patients = pl.read_csv(PATIENTS, infer_schema=False)
    patients.select("name", "age", "sex", "zip").write_csv(tmp_path / "voters.csv")
    patients.select("age", "sex", "zip", "disease").write_csv(tmp_path / "careless.csv")
    for name, text in (("table1", TABLE_1), ("table2", TABLE_2), ("table3", TABLE_3)):
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "sex.csv").write_text("M,M-F\nF,M-F\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audited(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["audit", *arguments, "--json"]) == code
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return findings


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    capsys.readouterr()
    code = run(["audit", *arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("sfumato: ")
    assert "internal error" not in err
    assert len(err.splitlines()) == 1
    return err


def anonymized(name: str, *options: str) -> None:
    assert run(["anonymize", str(PATIENTS), "-o", name, *ROLES, *options]) == 0


def test_joao_from_the_command_line(folder: Path) -> None:
    command = [sys.executable, "-m", "sfumato", "audit", "linkage", "table2.csv", *JOAO]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (1, "")
    assert "row 1 of the list (idade 21, sexo M, código 4700) has Pneumonia" in done.stdout
    assert run(["audit", "linkage", "table3.csv", *JOAO, "--hierarchy", "sexo=sex.csv"]) == 0
    assert run(["audit", "linkage", "table3.csv", *JOAO, "--hierarchy", "sexo=sex.csv", "--knows", "not Cancro"]) == 1


def test_a_careless_release_falls_and_an_anonymous_one_stands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    rows, values = audited(capsys, ["linkage", "careless.csv", *LINK], 1)
    assert (rows["evidence"]["tied to one row"], values["verdict"]) == (1736, "REFUTED")
    anonymized("safe.csv", "--k", "5", "--l", "3")
    found = audited(capsys, ["linkage", "safe.csv", *LINK, "--k", "5", "--l", "3"], 0)
    assert [entry["verdict"] for entry in found] == ["NOT_REFUTED"] * 2
    assert found[0]["evidence"]["fitting"] == 2000


def test_the_evidence_repeats_the_attack(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = audited(capsys, ["linkage", "careless.csv", *LINK, "--knows", "any", "-o", "evidence.json"], 1)
    kept = json.loads((folder / "evidence.json").read_text())
    assert kept["findings"] == found
    names = [entry["file"] for entry in kept["inputs"]]
    assert [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names] == [
        entry["sha256"] for entry in kept["inputs"]
    ]
    tables = [sf.read(folder / name) for name in names]
    again = sf.audit.linkage(*tables, **kept["parameters"])  # type: ignore[arg-type]
    assert msgspec.to_builtins(again) == found
    assert [entry.claim for entry in read_findings(folder / "evidence.json")] == [entry["claim"] for entry in found]


def test_a_card_and_its_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anonymized("safe.csv", "--k", "5", "--l", "3")
    found = audited(capsys, ["release", "safe.csv.card.json", "safe.csv", "-o", "evidence.json"], 0)
    assert {entry["verdict"] for entry in found} == {"NOT_REFUTED"}
    assert json.loads((folder / "evidence.json").read_text())["audit"] == "release"
    lines = (folder / "safe.csv").read_text().splitlines()
    (folder / "cut.csv").write_text("\n".join(lines[:900]) + "\n")
    found = audited(capsys, ["release", "safe.csv.card.json", "cut.csv"], 1)
    assert sum(entry["verdict"] == "REFUTED" for entry in found) >= 4


def test_reports_of_devices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diseases = sorted(set(pl.read_csv(folder / "careless.csv")["disease"]))
    (folder / "domain.txt").write_text("\n".join(diseases) + "\n")
    options = ["--column", "disease", "--epsilon", "1", "--domain", "domain.txt", "--protocol", "oue"]
    for name in ("one.jsonl", "two.jsonl"):
        assert run(["local", "perturb", "careless.csv", "-o", name, *options]) == 0
    found = audited(capsys, ["local", "one.jsonl", "--trials", "2000", "-o", "evidence.json"], 0)
    assert len(found) == 6
    assert json.loads((folder / "evidence.json").read_text())["parameters"] == {"trials": 2000}
    head, _, rest = (folder / "two.jsonl").read_text().partition("\n")
    (folder / "two.jsonl").write_text(json.dumps(json.loads(head) | {"epsilon": 0.1}) + "\n" + rest)
    found = audited(capsys, ["local", "one.jsonl", "two.jsonl", "--trials", "2000"], 1)
    assert [entry["claim"] for entry in found if entry["verdict"] == "REFUTED"] == [
        "two.jsonl: one report costs at most ε=0.1",
        "two.jsonl: the header's chances are those of its own parameters",
    ]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["linkage", "careless.csv", "--with", "none.csv", "--on", "age"], "file 'none.csv' does not exist"),
        (["linkage", "careless.csv", "--with", "voters.csv", "--on", "aeg"], "no column 'aeg'"),
        (["linkage", "careless.csv", "--with", "voters.csv", "--on", "disease"], "there is no column 'disease'"),
        (["linkage", "careless.csv", *LINK, "--k", "1"], "must be an integer of at least 2. Got 1"),
        (["linkage", "careless.csv", *LINK, "--knows", "flu"], 'background knowledge is "not VALUE" or "any"'),
        (["linkage", "careless.csv", *LINK, "--knows", "not gout"], "has no value 'gout'"),
        (["linkage", "careless.csv", *LINK, "-o", "voters.csv"], "output 'voters.csv' exists"),
        (["linkage", "table3.csv", *JOAO, "--hierarchy", "sexo=none.csv"], "hierarchy 'none.csv' cannot be read"),
        (["release", "careless.csv", "careless.csv"], "file 'careless.csv' is not a card"),
        (["release", "none.json", "careless.csv"], "card 'none.json' cannot be read"),
        (["local"], "there is no report file"),
        (["local", "careless.csv"], "does not begin with the header of a report file"),
    ],
)
def test_what_an_audit_refuses(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert folder.exists()
    assert said in refused(capsys, arguments)


def test_the_report_is_made_from_the_evidence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sf.samples.census_10k(600).write_csv(folder / "census.csv")
    roles = ["--quasi", "age,sex,zip", "--sensitive", "salary", "--k", "10", "--epsilon", "0.1"]
    audited(capsys, ["composition", "census.csv", *roles, "--trials", "20", "-o", "evidence.json"], 1)
    page = audit_report(folder / "evidence.json")
    for words in ("One row removed, a class gone", "The ratio", "How often a row matters", "Do not publish"):
        assert words in page
    assert page.count("<svg") >= 3
    assert page == audit_report(folder / "evidence.json")


def test_the_pictures_of_the_guide_are_what_their_script_makes() -> None:
    path = ROOT / "docs" / "make_audit_pictures.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in module.pictures().items():
        assert (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") == text, f"{name} is stale"
