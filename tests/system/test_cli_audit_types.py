"""Released cells that contradict the types on their card: refuted in one sentence, and an honest file stands."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.cli.main import run

FEW = ["--trials", "200"]
ROWS = [["age", "cost", "day"]] + [
    [str(20 + place % 40), ("unknown", "NA", "12,5", "15,0", "1.017,5")[place % 5], f"{1 + place % 28}.01.2025"]
    for place in range(200)
]
SCHEMA = """
[columns.age]
role = "quasi"
type = "integer"
[columns.cost]
role = "sensitive"
type = "number"
decimal = ","
thousands = "."
missing = ["unknown", "NA"]
[columns.day]
role = "other"
type = "date"
format = "%d.%m.%Y"
"""
SHOP = "sex,age\n" + "f,31\nm,40\n" * 50


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Path("in.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(ROWS)
    Path("s.toml").write_text(SCHEMA)
    return tmp_path


def table(*algorithm: str) -> None:
    asked = ["--schema", "s.toml", "--delimiter", ";", *algorithm]
    assert run(["anonymize", "in.csv", "-o", "out.csv", *asked]) == 0


def stream() -> None:
    Path("feed.csv").write_text("v\n" + "".join(f"{place % 50}\n" for place in range(100)))
    asked = ["--column", "v", "--bounds", "0", "50", "--publisher", "rank", "--delay", "20", "--epsilon", "1"]
    assert run(["stream", "feed.csv", "-o", "out.csv", *asked]) == 0


def counts() -> None:
    Path("shop.csv").write_text(SHOP)
    Path("sexes.txt").write_text("f\nm\n")
    asked = ["--column", "sex", "--domain", "sexes.txt", "--epsilon", "2"]
    assert run(["local", "perturb", "shop.csv", "-o", "reports.bin", *asked]) == 0
    assert run(["local", "estimate", "reports.bin", "-o", "out.csv"]) == 0


def answer() -> None:
    Path("shop.csv").write_text(SHOP)
    Path("shop.toml").write_text(
        '[columns.sex]\nrole = "quasi"\ncategories = ["f", "m"]\n'
        '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n'
    )
    asked = ["--data", "shop.csv", "--schema", "shop.toml", "--epsilon", "9", "--deadline", "0"]
    assert run(["budget", "create", "l", *asked]) == 0
    question = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM shop GROUP BY sex"
    assert run(["query", "l", question, "--epsilon", "1", "-o", "out.csv"]) == 0


def damage(column: str, text: str) -> None:
    """Put a text into the second row of a column of the released file."""
    lines = Path("out.csv").read_text(encoding="utf-8").splitlines()
    mark = ";" if ";" in lines[0] else ","
    place, cells = lines[0].split(mark).index(column), lines[2].split(mark)
    cells[place] = text
    Path("out.csv").write_text("\n".join([*lines[:2], mark.join(cells), *lines[3:]]) + "\n", encoding="utf-8")


DOORS: dict[str, tuple[Callable[[], None], str, str]] = {
    "a sensitive number": (lambda: table("--k", "4"), "cost", "column 'cost': found 1 cell that is none"),
    "a column that is passed on": (lambda: table("--k", "4"), "day", "column 'day': found 1 cell that is none"),
    "a value of a stream": (stream, "v", "column 'v': found 1 cell that is none, the first in row 2, stated number"),
    "a size in a stream": (stream, "size", "every group has as many rows as its size says"),
    "an estimated count": (counts, "count", "column 'count': found 1 cell that is none"),
    "an answer": (answer, "mean", "column 'mean': found 1 cell that is none, the first in row 2, stated number"),
    "the end of an interval": (answer, "n_low", "column 'n_low': found 1 cell that is none"),
}


@pytest.mark.parametrize("case", DOORS)
def test_a_cell_that_contradicts_its_type_is_refuted(
    folder: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    make, column, sentence = DOORS[case]
    make()
    audit = ["audit", "release", "out.csv.card.json", "out.csv", *FEW]
    assert run(audit) == 0, capsys.readouterr().out
    damage(column, "abc")
    capsys.readouterr()
    assert run(audit) == 1
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("REFUTED")]
    assert sum(sentence in line for line in found) == 1


def test_cells_that_are_written_as_declared_stand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    table("--k", "4", "--l", "2")
    written = json.loads(Path("out.csv.card.json").read_text())["released"]["settings"]["written"]
    assert written == {
        "cost": {"decimal": ",", "thousands": ".", "missing": ["unknown", "NA"]},
        "day": {"format": "%d.%m.%Y"},
    }
    capsys.readouterr()
    assert run(["audit", "release", "out.csv.card.json", "out.csv", *FEW]) == 0
    assert "NOT REFUTED: every cell is of the type that the card states" in capsys.readouterr().out


def test_a_card_that_tells_no_marks_is_read_by_what_the_cells_show(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    table("--k", "4")
    card = json.loads(Path("out.csv.card.json").read_text())
    del card["released"]["settings"]["written"]
    Path("old.json").write_text(json.dumps(card))
    Path("out.csv").write_text(Path("out.csv").read_text().replace("unknown", "?"))
    run(["audit", "release", "old.json", "out.csv", *FEW])
    assert "NOT REFUTED: every cell is of the type" in capsys.readouterr().out


@pytest.mark.parametrize(
    "count, sentence",
    [
        ("abc", "found 1 that are none, the first in row 1"),
        ("-4", "found 1 that are none, the first in row 1"),
        ("3000000000", "sum of the counts: found"),
    ],
)
def test_the_counts_of_a_second_table_are_whole_numbers(
    folder: Path, count: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    people = [f"{20 + place % 9},{('flu', 'gout', 'cold')[place % 3]}\n" for place in range(60)]
    Path("people.csv").write_text("age,ill\n" + "".join(people))
    asked = ["--quasi", "age", "--sensitive", "ill", "--l", "2", "--algorithm", "anatomy"]
    assert run(["anonymize", "people.csv", "-o", "out.csv", *asked]) == 0
    audit = ["audit", "release", "out.csv.card.json", "out.csv", *FEW]
    assert run(audit) == 0
    lines = Path("out.sensitive.csv").read_text().splitlines()
    lines[1] = f"{lines[1].rpartition(',')[0]},{count}"
    Path("out.sensitive.csv").write_text("\n".join(lines) + "\n")
    capsys.readouterr()
    assert run(audit) == 1
    told = capsys.readouterr().out
    assert "REFUTED: the table 'sensitive' is the one that the card was written for; its SHA-256 is another" in told
    assert sentence in told
