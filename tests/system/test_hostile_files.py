"""Files made to hurt: each is refused or answered within a second and 100 MB beyond what an honest file takes."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli.main import run

BOUNDED = Path(__file__).with_name("bounded.py")
SECONDS, MEGABYTES = 3.0, 160.0  # of CPU, on a slow and busy machine: an honest command takes about one of them
PEOPLE = "age,sex,disease\n" + "".join(f"{20 + row % 50},{'FM'[row % 2]},flu\n" for row in range(100))
SUGGEST = ["hierarchy", "suggest"]
USED = ["check", "in.csv", "--quasi", "age", "--hierarchy"]
DECLARED = ["check", "in.csv", "--schema"]
NESTED = {
    "inline.toml": "a = " + "{a = " * 3000 + "1" + "}" * 3000,
    "list.toml": "a = " + "[" * 3000 + "]" * 3000,
    "dotted.toml": "[" + ".".join(["a"] * 3000) + "]\nb = ['1']\n",
    "digits.toml": "a = 1" + "0" * 5000,
}
RULES = {
    "range.toml": 'builder = "intervals"\nlow = 0\nhigh = 1000000000\nwidths = [10]\n',
    "longest.toml": f'builder = "intervals"\nlow = 0\nhigh = {10**30}\nwidths = [10]\n',
    "widths.toml": f'builder = "intervals"\nlow = 0\nhigh = 99999\nwidths = {[2**step for step in range(60)]}\n',
    "huge.toml": 'builder = "intervals"\nlow = 0\nhigh = 9\nwidths = [1e308, inf, nan]\n',
    "power.toml": f'builder = "intervals"\nlow = 0\nhigh = 9\nwidths = [5, {10**400}]\n',
    "days.toml": 'builder = "dates"\nfirst = 0001-01-01\nlast = 9999-12-31\n',
    "hours.toml": 'builder = "dates"\nfirst = 1900-01-01\nlast = 2020-01-01\nsteps = ["hour", "day"]\n',
    "levels.csv": "31" + ",x" * 2000 + "\n",
}


def workbook(sheet: bytes, *, padding: int = 0) -> bytes:
    """A workbook of one sheet, with so many bytes that pack well beside it."""
    import xlsxwriter

    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        book.add_worksheet("table").write_string(0, 0, "age")
    grown = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(grown, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml") and sheet:
                content = content.replace(b"</sheetData>", sheet + b"</sheetData>" + b" " * padding)
            new.writestr(name, content)
    return grown.getvalue()


def hostile_files(folder: Path) -> None:
    """Write the files that hurt, and an honest one."""
    (folder / "in.csv").write_text(PEOPLE)
    (folder / "far.csv").write_text("v\n1\n3000000\n")
    (folder / "farther.csv").write_text("v\n1\n9000000000000000000\n")
    (folder / "many.csv").write_text("v\n" + "".join(f"{number}\n" for number in range(150_000)))
    for name, text in (NESTED | RULES).items():
        (folder / name).write_text(text)
    (folder / "bomb.csv.gz").write_bytes(gzip.compress(b"age,sex\n" + b"1,F\n" * 50_000_000, 1))
    (folder / "cut.csv.gz").write_bytes(gzip.compress(PEOPLE.encode())[:-20])
    (folder / "far.xlsx").write_bytes(workbook(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'))
    (folder / "bomb.xlsx").write_bytes(workbook(b"<!-- -->", padding=300_000_000))
    pl.DataFrame({"a": pl.repeat(1, 30_000_000, eager=True)}).write_parquet(folder / "runs.parquet")


def measure(folder: Path, cases: list[list[str]]) -> list[dict[str, Any]]:
    """Return what each command took, after an honest one has warmed the process up."""
    (folder / "cases.json").write_text(json.dumps([["check", "in.csv", "--quasi", "age"], *cases]))
    done = subprocess.run(
        [sys.executable, str(BOUNDED), "cases.json"], cwd=folder, capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()][1:]
    assert len(lines) == len(cases), f"{cases[len(lines)]} ended the process: {done.returncode} {done.stderr[-400:]}"
    return lines


def refuse_costly(cases: list[list[str]], taken: list[dict[str, Any]]) -> None:
    """Fail for every case that took too much or was an internal error."""
    for case, one in zip(cases, taken, strict=True):
        assert one["seconds"] < SECONDS, (case, one)
        assert one["megabytes"] < MEGABYTES, (case, one)
        assert "internal error" not in one["said"], (case, one)
        assert one["said"].count("\n") <= 2, (case, one)


def test_files_of_data_and_rules_stay_bounded(tmp_path: Path) -> None:
    hostile_files(tmp_path)
    fine = [[*SUGGEST, name, "--column", "v"] for name in ("far.csv", "farther.csv")]
    bad = [[*SUGGEST, "many.csv", "--column", "v"]]
    bad += [[*USED, f"age={name}"] for name in NESTED | RULES]
    bad += [[*DECLARED, name] for name in NESTED]
    bad += [
        ["check", name, "--quasi", "age"]
        for name in ("bomb.csv.gz", "cut.csv.gz", "far.xlsx", "bomb.xlsx", "runs.parquet")
    ]
    taken = measure(tmp_path, [*fine, *bad])
    refuse_costly([*fine, *bad], taken)
    assert [one["code"] for one in taken] == [0] * len(fine) + [2] * len(bad)


def changed(card: dict[str, Any], place: tuple[str, ...], value: object) -> str:
    """The card as text, with another value at a place."""
    copy = json.loads(json.dumps(card))
    part = copy
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return json.dumps(copy)


K, BETA, ASKED = (("guarantee", "parameters", name) for name in ("k", "beta", "epsilon_asked"))
SAMPLING, DOMAIN, REPORTS = (("released", "settings", name) for name in ("epsilon_sampling", "domain", "reports"))
HURT: dict[str, dict[tuple[str, ...], list[Any]]] = {
    "safe": {K: [-1, 0, 20_000, 3 * 10**9, 1e308], BETA: [0, 1, -1, 1e-300, 1e308], SAMPLING: [0, 1e308, -5, "x"]},
    "estimate": {DOMAIN: [-1, 0, 20_000, 3 * 10**9, 1e308], REPORTS: [-1, 3 * 10**9], ASKED: [0, 1e308, 1e-308, []]},
}


def test_cards_stay_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(PEOPLE)
    Path("s.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 120]\n[columns.sex]\nrole = "identifier"\n'
        '[columns.disease]\nrole = "identifier"\n'
    )
    Path("d.txt").write_text("F\nM\n")
    private = ["--algorithm", "safepub", "--epsilon", "1", "--delta", "1e-4", "--k", "5"]
    assert run(["anonymize", "in.csv", "-o", "safe.csv", "--schema", "s.toml", *private]) == 0
    assert run(["local", "perturb", "in.csv", "--column", "sex", "--domain", "d.txt", "--epsilon", "1",
                "-o", "r.jsonl"]) == 0  # fmt: skip
    assert run(["local", "estimate", "r.jsonl", "-o", "estimate.csv"]) == 0
    cases = []
    for name, changes in HURT.items():
        card = json.loads(Path(f"{name}.csv.card.json").read_text())
        every = [(place, value) for place, values in changes.items() for value in values]
        for number, (place, value) in enumerate(every):
            file = Path(f"{name}-{number}.json")
            file.write_text(changed(card, place, value))
            cases.append(["audit", "release", str(file), f"{name}.csv", "--trials", "1000"])
    Path("deep.json").write_text('{"guarantee": ' * 5000 + "1" + "}" * 5000)
    Path("long.json").write_text(changed(card, ("guarantee", "model"), "x" * 5_000_000))
    cases += [["audit", "release", name, "estimate.csv"] for name in ("deep.json", "long.json")]
    header, _, rest = Path("r.jsonl").read_text().partition("\n")
    for number, chances in enumerate(({"own": "0", "other": "0"}, {"own": "9" * 5000}, {"hashes": "9" * 12}, "x")):
        Path(f"h{number}.jsonl").write_text(json.dumps({**json.loads(header), "chances": chances}) + f"\n{rest}")
        cases.append(["audit", "local", f"h{number}.jsonl", "--trials", "1000"])
    Path("h.jsonl").write_text(changed(json.loads(header), ("domain",), list(range(300_000))) + f"\n{rest}")
    Path("h.gz").write_bytes(gzip.compress(b"{" * 200_000_000, 1))
    cases += [["local", "estimate", name, "-o", "x.csv"] for name in ("h.jsonl", "h.gz")]
    refuse_costly(cases, measure(tmp_path, cases))


WIDE = ["--bounds", "-1e308", "1e308", "--epsilon", "1"]


@pytest.mark.parametrize(
    "arguments",
    [
        *(["stream", "in.csv", "-o", "o.csv", "--column", "age", "--publisher", name, *WIDE]
          for name in ("doca", "laplace", "rank")),
        ["local", "mean", "in.csv", "--column", "age", *WIDE],
        ["anonymize", "in.csv", "-o", "o", "--schema", "s.toml", "--algorithm", "private-mondrian", "--epsilon", "1"],
    ],
)  # fmt: skip
def test_bounds_that_cannot_be_subtracted_have_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(PEOPLE)
    Path("s.toml").write_text(
        'other = "drop"\n[columns.age]\nrole = "quasi"\ntype = "number"\nbounds = [-1e308, 1e308]\n'
    )
    assert run(arguments) in {0, 2}
    assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize("bounds", ["[-1e308, 120]", "[0, inf]", "[0, 1e999]", "[0, 9223372036854775808]"])
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "mdav"])
def test_bounds_of_integers_beyond_64_bits_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bounds: str, algorithm: str
) -> None:
    (tmp_path / "in.csv").write_text("age\n31\n32\n33\n34\n")
    (tmp_path / "s.toml").write_text(f'[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = {bounds}\n')
    files = [str(tmp_path / name) for name in ("in.csv", "out.csv", "s.toml")]
    command = ["anonymize", files[0], "-o", files[1], "--schema", files[2], "--k", "2", "--algorithm", algorithm]
    assert run(command) == 2
    assert "column 'age': bounds of integers must fit 64 bits; found [" in capsys.readouterr().err
