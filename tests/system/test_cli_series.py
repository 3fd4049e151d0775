"""A table published again, from the command line: the attack on naive releases works, on safe ones it does not."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli.main import run

PATIENTS = Path(__file__).parents[2] / "examples" / "patients.csv"
ZIP = PATIENTS.with_name("zip.csv")
ROLES = ["--quasi", "age,sex,zip", "--sensitive", "disease", "--person", "name", "--other", "drop"]
MODELS = ["--k", "5", "--l", "3"]
SEEN = ["--quasi", "age,sex,zip", "--sensitive", "disease"]
PERSONS = [*SEEN, "--person", "name", "--other", "drop"]
BPG = [*SEEN, "--identifier", "name", "--other", "drop", "--layer", "bpg"]
INVARIANT = [*PERSONS, "--l", "3", "--layer", "m-invariance"]
HOSPITAL = ["--quasi", "idade,sexo,código-postal", "--sensitive", "doença"]
HEADER = "idade,sexo,código-postal,doença\n"
TABLE_4 = """[20-25],M-F,[4700-4800],Pneumonia
[20-25],M-F,[4700-4800],Cancro
[25-30],M,4600,Gripe
[25-30],M,4600,HIV
[30-40],M-F,[4800-4900],Gripe
[30-40],M-F,[4800-4900],Tuberculose
[30-40],M-F,[4800-4900],Cancro
"""
TABLE_5 = """[20-25],M-F,[4700-4800],Pneumonia
[20-25],M-F,[4700-4800],Cancro
[20-25],M-F,[4700-4800],Asma
[25-30],M,4600,Gripe
[25-30],M,4600,HIV
[30-35],M-F,[4800-4900],Gripe
[30-35],M-F,[4800-4900],Tuberculose
[35-40],M-F,[4800-4900],Cancro
[35-40],M-F,[4800-4900],Pneumonia
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the dissertation's two tables, and 600 patients who become 800."""
    (tmp_path / "table4.csv").write_text(HEADER + TABLE_4)
    (tmp_path / "table5.csv").write_text(HEADER + TABLE_5)
    patients = pl.read_csv(PATIENTS, infer_schema=False)
    patients.head(600).write_csv(tmp_path / "spring.csv")
    patients.head(800).write_csv(tmp_path / "autumn.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"}


def refused(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Run a command that must be refused with everything left as it was, and return its one sentence."""
    capsys.readouterr()
    before = state(folder)
    code = run(arguments)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("sfumato: ")
    assert len(err.splitlines()) == 1
    assert "internal error" not in err
    assert state(folder) == before
    return err


def attacked(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["audit", "series", *arguments, "--json"]) == code
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return findings


def test_the_two_victims_of_the_dissertation(folder: Path) -> None:
    command = [sys.executable, "-m", "sfumato", "audit", "series", "table4.csv", "table5.csv", *HOSPITAL]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (1, "")
    andre, mario = "in release 2 but not in 1 with idade [20-25]", "in releases 1 and 2 with idade [36-40]"
    lines = done.stdout.splitlines()
    assert all(line.startswith("REFUTED: ") for line in lines)
    assert [line for line in lines if andre in line and "has Asma:" in line]
    assert [line for line in lines if mario in line and "has Cancro:" in line]


def test_the_findings_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    found = attacked(capsys, ["table4.csv", "table5.csv", *HOSPITAL], 1)
    shown = {(entry["evidence"]["attack"], *entry["evidence"]["values"]) for entry in found}
    assert shown == {("difference", "Asma"), ("intersection", "Cancro"), ("difference", "Pneumonia")}
    assert {entry["verdict"] for entry in found} == {"REFUTED"}
    safe = attacked(capsys, ["table4.csv", "table4.csv", *HOSPITAL], 0)
    assert [(entry["verdict"], entry["evidence"]["complete"]) for entry in safe] == [("NOT_REFUTED", True)]


def test_l_asks_for_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.csv").write_text("age,ill\n" + "".join(f"[20-40],{ill}\n" for ill in "abcd"))
    (folder / "two.csv").write_text("age,ill\n" + "".join(f"[30-40],{ill}\n" for ill in "abef"))
    roles = ["one.csv", "two.csv", "--quasi", "age", "--sensitive", "ill"]
    assert run(["audit", "series", *roles]) == 0
    found = attacked(capsys, [*roles, "--l", "3"], 1)
    assert ["a", "b"] in [entry["evidence"]["values"] for entry in found]


def test_labels_of_calendar_and_hierarchy_meet_the_wider_ones(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = "when,code,grade,ill\n"
    (folder / "one.csv").write_text(header + "".join(f"2025,1,[low..mid],{ill}\n" for ill in "abc"))
    (folder / "two.csv").write_text(header + "".join(f"2025-Q1,11,low,{ill}\n" for ill in "cd"))
    (folder / "code.csv").write_text("10,1\n11,1\n20,2\n")
    (folder / "grade.toml").write_text('builder = "ordered"\nvalues = ["low", "mid", "high"]\nsizes = [2]\n')
    roles = ["one.csv", "two.csv", "--quasi", "when,code,grade", "--sensitive", "ill"]
    [found] = attacked(capsys, [*roles, "--hierarchy", "code=code.csv", "--hierarchy", "grade=grade.toml"], 1)
    assert found["evidence"]["values"] == ["c"]
    assert found["evidence"]["box"] == {"when": "[2025-01-01..2025-03-31]", "code": "11", "grade": "low"}


def test_a_published_pseudonym_links_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.csv").write_text("id,age,ill\n" + "p1,[20-30],a\np2,[20-30],b\n")
    (folder / "two.csv").write_text("id,age,ill\n" + "p1,[25-35],a\np3,[25-35],c\n")
    roles = ["one.csv", "two.csv", "--quasi", "age", "--sensitive", "ill"]
    named = [entry["evidence"].get("persons") for entry in attacked(capsys, [*roles, "--person", "id"], 1)]
    assert ["p1"] in named
    said = refused(folder, capsys, ["audit", "series", *roles, "--person", "pid"])
    assert said == "sfumato: there is no column 'pid'; did you mean 'id'?\n"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["table4.csv"], "needs at least two releases; found 1"),
        ([], "needs at least two releases; found 0"),
        (["table4.csv", "none.csv"], "file 'none.csv' does not exist"),
        (["table4.csv", "spring.csv"], "has no column 'idade'"),
        (["table4.csv", "table5.csv", "--l", "1"], "at least 2 values remain possible; found l=1"),
        (["table4.csv", "table5.csv", "--l=-3"], "found l=-3"),
        (["table4.csv", "table5.csv", "--hierarchy", "sexo=sex.csv"], "'M-F' is not in the hierarchy"),
        (["ranks.csv", "ranks.csv"], "'[low..high]' has no known order; declare the column's categories"),
    ],
)
def test_what_an_attack_cannot_read(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (folder / "sex.csv").write_text("M,person\nF,person\n")
    (folder / "ranks.csv").write_text(HEADER + "[low..high],M,1,Gripe\n")
    assert said in refused(folder, capsys, ["audit", "series", *arguments, *HOSPITAL])
    assert "declare both" in refused(folder, capsys, ["audit", "series", "table4.csv", "table5.csv"])


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", "optimal"])
def test_a_second_release_naive_and_safe(folder: Path, capsys: pytest.CaptureFixture[str], algorithm: str) -> None:
    chosen = [*ROLES, *MODELS, "--algorithm", algorithm]
    for name in ("spring", "autumn"):
        assert run(["republish", f"{name}.csv", "--history", "series", "-o", f"safe-{name}.csv", *chosen]) == 0
        assert run(["check", f"safe-{name}.csv", *SEEN, "--require", "k=5,l=3"]) == 0
    found = attacked(capsys, ["safe-spring.csv", "safe-autumn.csv", *SEEN, "--l", "3"], 0)
    assert [entry["verdict"] for entry in found] == ["NOT_REFUTED"]
    card = json.loads((folder / "safe-autumn.csv.card.json").read_text())
    assert (card["guarantee"]["parameters"]["series"], card["guarantee"]["parameters"]["releases"]) == ("exact", 2)
    assert 700 < card["released"]["rows"] <= 800
    assert "rows_suppressed" not in card["released"]["measures"]
    assert "only release" not in " ".join(card["assumptions"])


def test_the_exact_attack_finds_nobody_behind_the_exact_layer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = ["--people", "spring.csv", "--people", "autumn.csv", "--person", "name"]
    for layer, code in (("exact", 0), ("bpg", 1)):
        for name in ("spring", "autumn"):
            out = ["--history", layer, "-o", f"{layer}-{name}.csv", "--layer", layer]
            assert run(["republish", f"{name}.csv", *out, *ROLES, *MODELS]) == 0
        tables = [f"{layer}-spring.csv", f"{layer}-autumn.csv"]
        found = attacked(capsys, [*tables, *SEEN, *people, "--l", "3", "--k", "5", "-o", f"{layer}.json"], code)
        assert {entry["verdict"] for entry in found} == {"REFUTED" if code else "NOT_REFUTED"}
        assert len(json.loads((folder / f"{layer}.json").read_text())["inputs"]) == 4
    assert run(["audit", "series", *tables, *SEEN, *people, "--attacker", "one-person", "--l", "3"]) == 0


def test_the_same_tables_without_the_layer_are_refuted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    for name in ("spring", "autumn"):
        assert run(["anonymize", f"{name}.csv", "-o", f"naive-{name}.csv", *ROLES, *MODELS]) == 0
    found = attacked(capsys, ["naive-spring.csv", "naive-autumn.csv", *SEEN], 1)
    assert {entry["verdict"] for entry in found} == {"REFUTED"}
    assert {entry["bound"] for entry in found} == {1}


def test_the_history_is_the_stewards_and_holds_what_was_released(folder: Path) -> None:
    for name in ("spring", "autumn"):
        assert run(["republish", f"{name}.csv", "--history", "series", "-o", f"{name}-out.csv", *BPG, *MODELS]) == 0
    series = folder / "series"
    assert stat.S_IMODE(series.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in series.iterdir()} == {0o600}
    assert (series / "release-0002.csv").read_bytes() == (folder / "autumn-out.csv").read_bytes()
    assert not any(b"Patient" in content for content in state(series).values())


def test_without_persons_the_layer_is_bpg_and_that_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ZIP, "zip.csv")
    nameless = [*SEEN, "--identifier", "name", "--other", "drop", *MODELS]
    assert run(["republish", "spring.csv", "--history", "series", *nameless]) == 0
    assert "so the layer is bpg, which promises less than exact" in capsys.readouterr().out
    again = ["republish", "autumn.csv", "--history", "series", "-o", "out.csv", *nameless]
    assert "is not in the hierarchy" in refused(folder, capsys, [*again, "--hierarchy", "zip=zip.csv"])
    assert run(again) == 0


def test_without_an_output_the_release_lies_in_the_history(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["republish", "spring.csv", "--history", "series", *ROLES, *MODELS, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantee"]["parameters"]["releases"] == 1
    assert run(["check", "series/release-0001.csv", *SEEN, "--require", "k=5,l=3"]) == 0
    for option in (["--card", "card.json"], ["--report", "report.html"]):
        arguments = ["republish", "spring.csv", "--history", "series", *ROLES, *MODELS, *option]
        assert "say with -o where" in refused(folder, capsys, arguments)


def test_m_invariance_follows_persons(folder: Path) -> None:
    patients = pl.read_csv(PATIENTS, infer_schema=False)
    patients[100:700].write_csv(folder / "winter.csv")
    for name in ("spring", "winter", "autumn"):
        assert run(["republish", f"{name}.csv", "--history", "series", "-o", f"m-{name}.csv", *INVARIANT]) == 0
        assert run(["check", f"m-{name}.csv", *SEEN, "--require", "l=3"]) == 0
    out = pl.read_csv("m-winter.csv", infer_schema=False)
    assert out.columns == ["age", "sex", "zip", "disease"]
    measures = json.loads((folder / "m-winter.csv.card.json").read_text())["released"]["measures"]
    assert out.height == 600 + measures["counterfeit_rows"]
    signatures = json.loads((folder / "series" / "signatures-0003.json").read_text())
    assert len(signatures) == 800
    assert all(len(values) >= 3 for values in signatures.values())


def test_counterfeit_rows_are_said_on_the_command_line_the_card_and_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 600 people 450 leave and nobody comes: some of those who stay need somebody who stands in."""
    pl.read_csv("spring.csv", infer_schema=False).head(150).write_csv("few.csv")
    for name in ("spring", "few"):
        files = ["-o", f"m-{name}.csv", "--report", f"{name}.html"]
        assert run(["republish", f"{name}.csv", "--history", "series", *files, *INVARIANT]) == 0
    card = json.loads((folder / "m-few.csv.card.json").read_text())
    added = card["released"]["measures"]["counterfeit_rows"]
    assert card["released"]["rows"] == 150 + added > 150
    said = f"{added} rows added that belong to nobody"
    assert said in capsys.readouterr().out
    assert said in (folder / "few.html").read_text(encoding="utf-8")
    assert any(f"{added} of {150 + added} rows were added" in change for change in card["changes"])


@pytest.mark.parametrize("layer", [[*ROLES, *MODELS], INVARIANT])
def test_a_safe_release_has_its_report(folder: Path, layer: list[str]) -> None:
    arguments = ["--history", "series", *layer]
    assert run(["republish", "spring.csv", *arguments, "-o", "one.csv", "--report", "one.html"]) == 0
    assert run(["republish", "autumn.csv", *arguments, "-o", "two.csv", "--report", "two.html"]) == 0
    assert "in series by" in (folder / "two.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([*ROLES, "--k", "5", "--l", "3", "--quasi", "age,sex,zip,schooling"], "has the quasi columns age, sex, zip"),
        ([*ROLES[:2], "--sensitive", "cost", *ROLES[4:], "--k", "5"], "has the sensitive columns disease; found cost"),
        ([*ROLES, "--k", "5", "--l", "2"], "promised at least 3 values of 'disease'; found 2; ask for l=3 or more"),
        (INVARIANT, "was begun with layer exact"),
        ([*ROLES, *MODELS, "--algorithm", "anatomy"], "anatomy has no boxes that a series could widen"),
        ([*ROLES, *MODELS, "--t", "0.3"], "t-closeness does not survive leaving out rows"),
        ([*ROLES, *MODELS, "--layer", "bgp"], "--layer"),
        ([*ROLES, *MODELS, "--suppress", "0.1"], "--suppress is no option of mondrian"),
        ([*ROLES, "--k", "5000"], "k-anonymity asks for 5000 persons"),
        (["--quasi", "age", "--person", "name", "--other", "drop", "--k", "5"], "declare a sensitive column"),
    ],
)
def test_what_does_not_belong_to_a_series_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    shutil.copy(ZIP, "zip.csv")
    assert run(["republish", "spring.csv", "--history", "series", *ROLES, *MODELS]) == 0
    again = ["republish", "autumn.csv", "--history", "series", "-o", "out.csv"]
    assert said in refused(folder, capsys, [*again, *arguments])


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([*SEEN, "--other", "drop", "--l", "3"], "declare the column that names them"),
        ([*SEEN, "--other", "drop", "--l", "3", "--person", "nane"], "no column 'nane'; did you mean 'name'?"),
        ([*PERSONS, "--l", "3", "--k", "4"], "m-invariant groups have m=3 rows, k-anonymity asks for 4"),
    ],
)
def test_what_m_invariance_needs(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["republish", "spring.csv", "--history", "series", *INVARIANT]) == 0
    again = ["republish", "autumn.csv", "--history", "series", "-o", "out.csv", "--layer", "m-invariance"]
    assert said in refused(folder, capsys, [*again, *arguments])


def test_a_person_whose_value_changed_is_refused_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["republish", "spring.csv", "--history", "series", *INVARIANT]) == 0
    people = pl.read_csv("autumn.csv", infer_schema=False)
    name = people["name"][0]
    signatures = json.loads((folder / "series" / "signatures-0001.json").read_text())
    other = next(value for value in people["disease"] if value not in signatures[name])
    disease = pl.when(pl.col("name") == name).then(pl.lit(other)).otherwise("disease")
    people.with_columns(disease=disease).write_csv("changed.csv")
    said = refused(folder, capsys, ["republish", "changed.csv", "--history", "series", "-o", "out.csv", *INVARIANT])
    assert name in said


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("index.json", b"{", "index.json is damaged"),
        ("index.json", b'{"version": 1, "releases": [{}]}', "index.json is damaged"),
        ("release-0001.csv", b"age,sex,zip,disease\n", "'release-0001.csv' is not what was recorded"),
        ("release-0001.csv", None, "'release-0001.csv' cannot be read"),
    ],
)
def test_a_damaged_history_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, said: str
) -> None:
    assert run(["republish", "spring.csv", "--history", "series", *ROLES, *MODELS]) == 0
    file = folder / "series" / name
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    again = ["republish", "autumn.csv", "--history", "series", "-o", "out.csv", *ROLES, *MODELS]
    assert said in refused(folder, capsys, again)


@pytest.mark.parametrize(
    "history, said",
    [
        ("others", "is not a history: it has 'notes.txt' and no index.json"),
        ("spring.csv", "history 'spring.csv' cannot be opened"),
        ("no/such/place", "history 'no/such/place' cannot be opened"),
    ],
)
def test_a_folder_that_is_no_history(folder: Path, capsys: pytest.CaptureFixture[str], history: str, said: str) -> None:
    (folder / "others").mkdir()
    (folder / "others" / "notes.txt").write_text("mine\n")
    arguments = ["republish", "autumn.csv", "--history", history, "-o", "out.csv", *ROLES, *MODELS]
    assert said in refused(folder, capsys, arguments)


def test_an_output_that_exists_is_refused_before_the_series_counts_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("spring.csv", "out.csv")
    arguments = ["republish", "spring.csv", "--history", "series", "-o", "out.csv", *ROLES, *MODELS]
    assert "output 'out.csv' exists" in refused(folder, capsys, arguments)
    assert not (folder / "series").exists()


def test_the_card_tells_the_rows_of_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pl.read_csv("spring.csv", infer_schema=False)
    rows.head(60).write_csv("one.csv")
    rows[24:60].write_csv("two.csv")  # so many leave that counterfeit rows are needed, whoever shares a group
    for name in ("one", "two"):
        assert run(["republish", f"{name}.csv", "--history", "kept", "-o", f"{name}-m.csv", *INVARIANT]) == 0
    nobody = json.loads((folder / "two-m.csv.card.json").read_text())["released"]["measures"]["counterfeit_rows"]
    assert nobody > 0
    asked = ["one-m.csv", "two-m.csv", "--people", "one.csv", "--people", "two.csv", *PERSONS, "--l", "3"]
    [told] = attacked(capsys, asked, 0)
    assert told["evidence"]["rows_of_nobody"] == [0, nobody]
    named = ["--counterfeit", "0", "--counterfeit", str(int(nobody))]
    assert attacked(capsys, [*asked, *named], 0)[0]["evidence"]["rows_of_nobody"] == [0, nobody]
    with (folder / "two-m.csv").open("a") as file:
        file.write("30,M,10115,flu\n")
    assert "say it with --counterfeit" in refused(folder, capsys, ["audit", "series", *asked])
