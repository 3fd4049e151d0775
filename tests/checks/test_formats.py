"""Every installed format passes the suite that ships with the library, and a stranger's works like ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

import sfumato as sf
from sfumato import plugins
from sfumato.checks import Check, ConformanceError, format_checks
from sfumato.cli.main import run
from sfumato.errors import InputError
from sfumato.table import Format, Table
from sfumato.table.formats import find_format
from sfumato.table.io import write

INSTALLED = [found.sample() for found in plugins.every("formats", Format).values()]


class Bars(Format):
    """Lines whose fields are parted by two bars: a stranger's format."""

    name: ClassVar = "bars"
    endings: ClassVar[tuple[str, ...]] = (".bars",)

    def read(self, data: bytes, file: str) -> Table:
        header, *rows = [line.split("||") for line in data.decode().splitlines()]
        if any(len(row) != len(header) for row in rows):
            raise InputError(f"file '{file}' has a line that is not as long as its header; complete it")
        cells = [[None if cell == "\\N" else cell for cell in row] for row in rows]
        return Table(pl.DataFrame(cells, schema=dict.fromkeys(header, pl.String), orient="row"))

    def write(self, table: Table, path: Path) -> None:
        rows = [["\\N" if cell is None else str(cell) for cell in row] for row in table.frame.rows()]
        path.write_text("\n".join("||".join(row) for row in [table.frame.columns, *rows]) + "\n")


class Greedy(Bars):
    """A format that claims an ending of ours."""

    endings: ClassVar = (".bars", ".tsv")


class Careless(Bars):
    """A format that loses the last row, for the suite to find."""

    def write(self, table: Table, path: Path) -> None:
        super().write(Table(table.frame.head(-1)), path)


@pytest.fixture
def stranger(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Format]]:
    """Offer a format as another package would; its class is loaded from this module."""
    offered: type[Format] = getattr(request, "param", Bars)
    offers = plugins._offers
    ours = offers("formats")
    point = EntryPoint(offered.name, f"{__name__}:{offered.__name__}", "sfumato.formats")
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, sys.modules[offered.__module__]))
    plugins._loaded.cache_clear()
    monkeypatch.setattr(
        plugins, "_offers", lambda kind: {**ours, offered.name: (point,)} if kind == "formats" else offers(kind)
    )
    yield offered
    plugins._loaded.cache_clear()


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=f"{one.name}: {check.name}") for one in INSTALLED for check in format_checks(one)]
)
def test_format_conforms(check: Check) -> None:
    check.run()


@pytest.mark.usefixtures("stranger")
def test_a_stranger_conforms() -> None:
    assert find_format("out.bars").name == "bars"
    for check in format_checks(Bars()):
        check.run()


@pytest.mark.parametrize("stranger", [Greedy], indirect=True)
def test_an_ending_of_ours_stays_ours(stranger: type[Format]) -> None:
    assert find_format("out.tsv").name == "csv"
    with pytest.raises(ConformanceError, match=r"ends in \.tsv is written as csv, not as bars"):
        for check in format_checks(stranger.sample()):
            check.run()


@pytest.mark.parametrize("stranger", [Careless], indirect=True)
def test_the_suite_finds_a_lost_row(stranger: type[Format]) -> None:
    with pytest.raises(ConformanceError, match="bars reads"):
        for check in format_checks(stranger.sample()):
            check.run()


@pytest.mark.usefixtures("stranger")
def test_a_stranger_serves_the_command_line(tmp_path: Path) -> None:
    people = sf.samples.patients(60).select("age", "sex", "disease")
    write(people, tmp_path / "in.bars")
    assert sf.read(tmp_path / "in.bars").rows == 60
    options = ["--quasi", "age,sex", "--sensitive", "disease", "--k", "5"]
    assert run(["anonymize", str(tmp_path / "in.bars"), "-o", str(tmp_path / "out.bars"), *options]) == 0
    released = sf.read(tmp_path / "out.bars")
    assert sf.evaluate.check(released, ["age", "sex"]).k >= 5
    card = json.loads((tmp_path / "out.bars.card.json").read_text())
    assert card["released"]["file"] == "out.bars"


def test_an_unknown_ending_is_refused_before_the_work_and_names_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["anonymize", "no-such.csv", "-o", str(tmp_path / "out.docx"), "--quasi", "age", "--k", "2"]) == 2
    said = capsys.readouterr().err
    assert all(ending in said for one in INSTALLED for ending in one.endings)
    with pytest.raises(InputError, match=r"an ending that no format has; use one of \.csv"):
        write(pl.DataFrame({"a": [1]}), tmp_path / "out.docx")


def test_plain_csv_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    heavy = "numba", "pandas", "pyarrow", "duckdb", "scipy", "matplotlib"
    script = (
        f"import sys, sfumato as sf; sf.read({str(tmp_path / 't.csv')!r}); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
