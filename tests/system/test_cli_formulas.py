"""Cells that spreadsheets run as formulas: neutralised in every text file that leaves, said on the card, read back."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.table.formats.formulas import neutralise, restore

HOSTILE = ["=cmd()", "@SUM(1)", "+cmd|' /C calc'!A0", "-cmd()", "\t=1", "＝1+x", " =x()", '"=x()', "a;=x()", "=1+1"]
HARMLESS = [
    "-5",
    "+5",
    "-5.25",
    "-1e-5",
    "-1.234,5",
    "[-9--5]",
    "+49 30 123",
    "-",
    "a=b",
    "x-y",
    "me@x.org",
    "'tis",
    "",
]
ASKED = ["--quasi", "age", "--sensitive", "=note", "--k", "2", "--accept-unique", "=note"]
NEUTRAL = "Cells that a spreadsheet would run as formulas have a ' before them in the file: "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cells = [cell.replace('"', '""') for cell in HOSTILE + HARMLESS]
    lines = "".join(f'{30 + place % 3},"{cell}"\n' for place, cell in enumerate(cells))
    (tmp_path / "in.csv").write_text(f"age,=note\n{lines}")
    return tmp_path


def written(path: Path) -> list[str]:
    """The cells of the second column as the file has them."""
    text = path.read_text()
    separator = "\t" if path.suffix == ".tsv" else ","
    frame = pl.read_csv(text.encode(), infer_schema=False, separator=separator)
    return [cell or "" for cell in frame.to_series(1).to_list()]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv"])
def test_a_release_runs_nothing(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(["anonymize", "in.csv", "-o", name, *ASKED]) == 0
    cells = written(folder / name)
    assert not [cell for cell in cells if cell.lstrip(" \"'\t").startswith(("=", "@", "＝")) and cell[0] != "'"]
    assert {cell for cell in cells if cell in HARMLESS} == set(HARMLESS)
    assert "'-cmd()" in cells
    assert "a;'=x()" in cells
    assert (folder / name).read_text().splitlines()[0].endswith("'=note")
    card = sf.Card.read(f"{name}.card.json")
    assert card.changes[-1] == f"{NEUTRAL}=note ({len(HOSTILE) + 1})."
    assert f"{NEUTRAL}=note" in (folder / f"{name}.statement.txt").read_text().replace("\n  ", " ")
    capsys.readouterr()
    assert run(["check", name, "--card", f"{name}.card.json"]) == 0
    assert run(["audit", "release", f"{name}.card.json", name]) in {0, 1}
    said = capsys.readouterr().out
    assert "NOT REFUTED: the file is the one that the card was written for" in said
    assert "missing columns" not in said
    assert sorted(sf.read(name).frame["=note"].fill_null("").to_list()) == sorted(HOSTILE + HARMLESS)


def test_keep_leaves_the_cells_and_warns(folder: Path) -> None:
    assert run(["anonymize", "in.csv", "-o", "out.csv", *ASKED, "--formulas", "keep"]) == 0
    assert sorted(written(folder / "out.csv")) == sorted(HOSTILE + HARMLESS)
    card = sf.Card.read("out.csv.card.json")
    assert not [change for change in card.changes if "formula" in change]
    cells = f"=note ({len(HOSTILE) + 1})"
    assert card.warnings[-1] == f"a spreadsheet runs cells of this file as formulas: {cells}; open it as text"


def test_a_workbook_holds_texts_only(folder: Path) -> None:
    assert run(["anonymize", "in.csv", "-o", "out.xlsx", *ASKED]) == 0
    sheet = zipfile.ZipFile(folder / "out.xlsx").read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet
    assert {"=cmd()", "-cmd()"} <= set(sf.read("out.xlsx").frame["=note"].to_list())
    assert not [change for change in sf.Card.read("out.xlsx.card.json").changes if "formula" in change]


def test_companions_and_standard_output_too(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    asked = ["--quasi", "age", "--sensitive", "=note", "--l", "2", "--algorithm", "anatomy", "--accept-unique", "=note"]
    assert run(["anonymize", "in.csv", "-o", "out.csv", *asked]) == 0
    beside = (folder / "out.sensitive.csv").read_text()
    assert "'=cmd()" in beside
    assert ",=cmd()" not in beside
    assert run(["audit", "release", "out.csv.card.json", "out.csv"]) in {0, 1}
    capfdbinary.readouterr()
    assert run(["anonymize", "in.csv", "-o", "-", "--card", "c.json", *ASKED]) == 0
    assert b",'=cmd()" in capfdbinary.readouterr().out
    assert sf.Card.read("c.json").changes[-1].startswith(NEUTRAL)


@pytest.mark.long
def test_answers_and_counts_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n[columns."=note"]\nrole = "sensitive"\n'
        'type = "category"\ncategories = ["=cmd()", "-5"]\n'
    )
    assert run(["budget", "create", "l.db", "--data", "in.csv", "--schema", "s.toml", "--epsilon", "9"]) == 0
    question = 'select "=note", count(*) from "in" group by "=note"'
    assert run(["query", "l.db", question, "--epsilon", "1", "-o", "a.csv"]) == 0
    assert (folder / "a.csv").read_text().startswith("'=note,")
    card = sf.Card.read("a.csv.card.json")
    assert card.changes[-1] == f"{NEUTRAL}=note."  # no count: the release is private
    assert run(["audit", "release", "a.csv.card.json", "a.csv", "--trials", "1000"]) == 0
    capsys.readouterr()
    assert run(["query", "l.db", question, "--epsilon", "1"]) == 0
    assert capsys.readouterr().out.startswith("'=note,")
    assert run(["query", "l.db", question, "--epsilon", "1", "--formulas", "keep"]) == 0
    assert capsys.readouterr().out.startswith("=note,")
    (folder / "d.txt").write_text("=cmd()\n-5\n")
    assert run(["local", "perturb", "in.csv", "--column", "=note", "--domain", "d.txt", "--epsilon", "1",
                "--max-failed", "1", "-o", "r.jsonl"]) == 0  # fmt: skip
    assert run(["local", "estimate", "r.jsonl", "-o", "e.csv"]) == 0
    assert "\n'=cmd()," in (folder / "e.csv").read_text()
    assert run(["republish", "in.csv", "--history", "h", "-o", "p.csv", "--quasi", "age", "--sensitive", "=note",
                "--l", "2", "--accept-unique", "=note"]) == 0  # fmt: skip
    assert "'=cmd()" in (folder / "p.csv").read_text()


def test_a_stream_runs_nothing(folder: Path) -> None:
    (folder / "in.csv").write_text("=note\n" + "=cmd()\n" * 20)
    (folder / "s.toml").write_text('[columns."=note"]\nrole = "quasi"\ncategories = ["=cmd()", "b"]\n')
    asked = ["--schema", "s.toml", "--publisher", "castle", "--k", "2", "--quasi", "=note"]
    assert run(["stream", "in.csv", "-o", "out.csv", *asked]) == 0
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0].startswith("'=note,")
    assert lines[1].startswith("'=cmd(),")


def test_every_text_comes_back() -> None:
    """Whatever cells hold, the mark goes on and off without loss, and no marked cell is run."""
    draw = random.Random(5)  # noqa: S311  # made-up texts
    letters = "=+-@＝－\t\r\n '\";,|a1(.\ufeff\u200b"
    cells = ["".join(draw.choice(letters) for _ in range(draw.randint(0, 6))) for _ in range(20_000)]
    made = neutralise(pl.DataFrame({"=a": cells}))
    assert restore(made.frame)["=a"].to_list() == cells
    assert json.dumps(dict(made.cells)).startswith('{"=a": ')
    assert neutralise(restore(made.frame)).frame.equals(made.frame)
