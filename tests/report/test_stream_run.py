"""The steward's page on one run of a stream."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run

STREAM = ["stream", "in.csv", "-o", "out.csv", "--column", "hours", "--bounds", "0", "100", "--events"]
PLAIN = [*STREAM, "--publisher", "rank", "--delay", "20"]
RANK = [*PLAIN, "--report", "r.html"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{number % 90}\n" for number in range(105))
    (tmp_path / "in.csv").write_text("hours\n" + rows + "x\n140\n")
    return tmp_path


class ThirdLook:
    """A wish to stop that is there at the third look."""

    looks = 0

    def __bool__(self) -> bool:
        self.looks += 1
        return self.looks >= 3


def page() -> str:
    return Path("r.html").read_text()


def cells(text: str) -> dict[str, str]:
    """Return the rows of the tables of two columns."""
    return dict(re.findall(r'<th scope="row">([^<]*)</th><td>([^<]*)</td></tr>', text))


def test_the_page_tells_what_became_of_the_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*RANK, "--max-failed", "0.1"]) == 0
    text = page()
    assert (folder / "r.html").stat().st_mode & 0o777 == 0o600
    assert "report (do not publish): r.html" in capsys.readouterr().err
    assert "Do not publish" in text
    assert "107 records came and 107 rows left in this run. The input ended." in text
    told = cells(text)
    assert (told["Records read"], told["Rows released"], told["Held, not released"]) == ("107", "107", "0")
    assert '<th scope="row">hours</th><td>107</td><td>0</td><td>1</td><td>1</td>' in text
    assert "No ledger was charged" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert "Bar chart: 6 groups of 7 to 20 rows." in text


def test_the_page_tells_what_the_ledger_paid(folder: Path) -> None:
    (folder / "s.toml").write_text('[columns.hours]\nrole = "sensitive"\ntype = "number"\nbounds = [0, 100]\n')
    made = ["budget", "create", "l", "--data", "in.csv", "--schema", "s.toml", "--epsilon", "3", "--max-failed", "0.1"]
    assert run([*made, "--neighbours", "value"]) == 0
    assert run([*RANK, "--max-failed", "0.1", "--ledger", "l"]) == 0
    told = cells(page())
    assert (told["Budget"], told["Spent by all"], told["Left"]) == ("epsilon 3", "epsilon 1", "epsilon 2")


def test_a_page_that_cannot_be_is_refused_before_anything_leaves(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "r.html").write_text("mine")
    assert run(RANK) == 2
    assert "report 'r.html' exists" in capsys.readouterr().err
    assert run([*PLAIN, "--report", "out.csv"]) == 2
    assert "the report" in capsys.readouterr().err
    assert run([*PLAIN, "--report", "no/r.html"]) == 2
    assert "there is no folder 'no'" in capsys.readouterr().err
    assert sorted(file.name for file in folder.iterdir()) == ["in.csv", "r.html"]
    assert page() == "mine"


def test_a_stopped_stream_has_its_page_and_the_next_run_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.stream.connectors.file.inlet.PIECE", 64)
    given = [*RANK, "--checkpoint", "kept", "--max-failed", "1"]
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.stream.runtime.hooks.stop_signals", lambda: nullcontext(ThirdLook()))
        assert run(given) == 130
    first = page()
    assert "The stream was stopped; records that are held did not leave." in first
    came = int(re.findall(r"([\d]+) records came and", first)[0])
    assert 0 < came < 107
    assert run(given) == 0
    assert f"{107 - came} records came" in page()
    assert f"{came} records came in earlier runs" in page()
    assert pl.read_csv(folder / "out.csv").height == 107
