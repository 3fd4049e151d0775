"""Every algorithm from the command line: the bundled patients go in, `check` confirms what comes out."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli.main import run

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = ["--schema", "patients.toml", "--identifier", "cost"]
QUASI = ["--quasi", "age,sex,zip,schooling,admission", "--sensitive", "disease"]
BESIDE = ("out.csv.card.json", "out.csv.statement.html", "out.csv.statement.txt")
FEW = ["--quasi", "age,sex,zip", "--sensitive", "disease", "--identifier", "name", "--other", "drop"]
FULL_DOMAIN = ("datafly", "incognito", "optimal")
REGIONS = """
["*"]
coast = ["A", "B"]
hills = ["C", "D"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the bundled patients, their schema and their zip hierarchy."""
    for name in ("patients.csv", "patients.toml", "zip.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def card(folder: Path, name: str = "out.csv") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.card.json").read_text())
    return found


def refused(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Run a command that must be refused, and return its one sentence."""
    capsys.readouterr()
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code = run(arguments)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("sfumato: ")
    assert len(err.splitlines()) == 1
    assert "internal error" not in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    return err


def test_a_lattice_search_in_a_process_of_its_own(folder: Path) -> None:
    command = [sys.executable, "-m", "sfumato", "anonymize", "patients.csv", "-o", "out.csv", *SCHEMA]
    asked = ["--algorithm", "optimal", "--k", "10", "--l", "3", "--suppress", "0.02", "--hierarchy", "zip=zip.csv"]
    done = subprocess.run([*command, *asked], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "k-anonymity: asked 10" in done.stdout
    assert run(["check", "out.csv", *QUASI, "--require", "k=10,l=3"]) == 0


@pytest.mark.parametrize("algorithm", ["mondrian", *FULL_DOMAIN])
def test_patients_with_their_schema_and_a_report(folder: Path, algorithm: str) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *SCHEMA, "--k", "10", "--l", "3"]
    assert run([*arguments, "--algorithm", algorithm, "--report", "report.html"]) == 0
    assert run(["check", "out.csv", *QUASI, "--require", "k=10,l=3"]) == 0
    assert run(["check", "patients.csv", *QUASI, "--require", "k=10,l=3"]) == 1
    assert card(folder)["algorithm"] == algorithm
    assert card(folder)["released"]["rows"] == pl.read_csv("out.csv", infer_schema=False).height == 2000
    assert "do not publish" in (folder / "report.html").read_text(encoding="utf-8").casefold()
    assert "Patient" not in (folder / "out.csv").read_text()


@pytest.mark.parametrize("algorithm", FULL_DOMAIN)
def test_a_column_shows_one_level_of_its_hierarchy(folder: Path, algorithm: str) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *FEW, "--hierarchy", "zip=zip.csv", "--k", "10"]
    assert run([*arguments, "--algorithm", algorithm]) == 0
    assert run(["check", "out.csv", "--quasi", "age,sex,zip", "--require", "k=10"]) == 0
    tree = pl.read_csv("zip.csv", infer_schema=False)
    shown = set(pl.read_csv(folder / "out.csv", infer_schema=False)["zip"])
    assert [level for level in tree.columns if shown <= set(tree[level])]


@pytest.mark.parametrize("algorithm", ["datafly", "optimal"])
@pytest.mark.parametrize("local", [[], ["--local"]])
def test_suppression_stays_within_its_limit(folder: Path, algorithm: str, local: list[str]) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *FEW, "--hierarchy", "zip=zip.csv", "--k", "10"]
    assert run([*arguments, "--l", "3", "--algorithm", algorithm, "--suppress", "0.02", *local]) == 0
    assert run(["check", "out.csv", "--quasi", "age,sex,zip", "--sensitive", "disease", "--require", "k=10,l=3"]) == 0
    released = card(folder)["released"]
    starred = pl.read_csv("out.csv", infer_schema=False).filter(pl.all_horizontal(pl.exclude("disease") == "*")).height
    assert starred == released["measures"]["rows_starred"]
    assert starred + 2000 - released["rows"] <= 40
    assert "rows_suppressed" not in released["measures"]


def test_the_metric_is_what_the_release_has_least_of(folder: Path) -> None:
    found = {}
    for metric in ("ncp", "discernibility", "height"):
        arguments = ["anonymize", "patients.csv", "-o", f"{metric}.csv", *FEW, "--k", "10", "--metric", metric]
        assert run([*arguments, "--algorithm", "incognito"]) == 0
        assert run(["check", f"{metric}.csv", "--quasi", "age,sex,zip", "--require", "k=10"]) == 0
        found[metric] = card(folder, f"{metric}.csv")["released"]["measures"]["discernibility"]
    assert found["discernibility"] == min(found.values()) < max(found.values())


def test_explain_lists_minimal_nodes_and_the_first_is_released(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *FEW, "--k", "10", "--algorithm", "incognito"]
    assert run([*arguments, "--explain", "--json"]) == 0
    out, err = capsys.readouterr()
    printed = json.loads(out)
    solutions = printed.pop("solutions")
    assert printed == card(folder)
    assert "height" not in err
    assert run([*arguments, "--explain", "--force"]) == 0
    first, *lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("sfumato: read as")]
    assert first.startswith("sfumato: minimal generalisations: each satisfies the models, and none below it does")
    assert len(lines) == len(solutions["nodes"]) > 1
    assert all(line.startswith("height ") for line in lines)
    losses = [float(line.split("% of detail lost")[0].split(", ")[-1]) for line in lines]
    assert losses == sorted(losses)
    assert f"({card(folder)['released']['classes']} classes" in lines[0]
    assert solutions["nodes"][0]["classes"] == card(folder)["released"]["classes"]
    assert [node["released"] for node in solutions["nodes"]] == [True] + [False] * (len(lines) - 1)


@pytest.mark.parametrize("algorithm", FULL_DOMAIN)
def test_limits_weights_and_nodes_are_kept_and_told(
    folder: Path, capsys: pytest.CaptureFixture[str], algorithm: str
) -> None:
    arguments = ["anonymize", "patients.csv", *FEW, "--hierarchy", "zip=zip.csv", "--k", "10", "--algorithm", algorithm]
    limits = ["--min-level", "zip=2", "--max-level", "age=4", "--max-level", "zip=3", "--weight", "age=3"]
    assert run([*arguments, "-o", "out.csv", *limits, "--report", "report.html"]) == 0
    out = capsys.readouterr().out
    told = next(line for line in out.splitlines() if "levels chosen: " in line)
    assert told.endswith("(for the steward)")
    levels = dict(part.split(" (")[0].split(" ") for part in told.split("levels chosen: ")[1].split("), "))
    assert int(levels["age"]) <= 4
    assert int(levels["zip"]) in {2, 3}
    settings = card(folder)["released"]["settings"]
    assert (settings["min_level"], settings["weight"]) == ({"zip": 2}, {"age": 3.0})
    assert card(folder)["released"]["measures"]["level of zip"] == int(levels["zip"])
    assert f"zip: shown at level {levels['zip']} of 4 of its hierarchy, as in 1" in out
    assert "evels chosen: age" in (folder / "report.html").read_text()
    assert run(["check", "out.csv", "--card", "out.csv.card.json"]) == 0
    node = ",".join(levels.values())
    assert run([*arguments, "-o", "again.csv", "--node", node]) == 0
    assert sorted((folder / "again.csv").read_text().splitlines()) == sorted(
        (folder / "out.csv").read_text().splitlines()
    )


def test_columns_are_weighed_for_a_declared_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["anonymize", "patients.csv", *FEW, "--k", "10", "--algorithm", "local-recoding", "--iterations", "20"]
    assert run([*asked, "-o", "out.csv", "--target", "disease", "--report", "report.html"]) == 0
    assert "  what columns tell about 'disease' weighs them: " in capsys.readouterr().out
    assert "What columns tell about 'disease' weighs them: " in html.unescape((folder / "report.html").read_text())
    told = "Columns were weighed by what they tell about disease, learnt from the rows: those that tell more lose less."
    assert told in card(folder)["changes"]
    assert card(folder)["released"]["settings"]["target"] == "disease"
    assert "weighs them" not in json.dumps(card(folder))
    assert run([*asked, "-o", "other.csv", "--target", "disease", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert {"weight of age", "weight of sex", "weight of zip"} <= set(measured)
    for target, why in {
        "age": "the target 'age' is a quasi-identifier; name a column that is released as it is",
        "name": "the target 'name' is left out of the release; name a column that is released",
        "disaese": "there is no column 'disaese'; did you mean 'disease'",
    }.items():
        assert why in refused(folder, capsys, [*asked, "-o", "no.csv", "--target", target])


def test_a_schema_file_limits_levels_too(folder: Path) -> None:
    text = (folder / "patients.toml").read_text().replace("[columns.age]", "[columns.age]\nmin_level = 3", 1)
    (folder / "limited.toml").write_text(text)
    arguments = [
        "anonymize",
        "patients.csv",
        "-o",
        "out.csv",
        "--schema",
        "limited.toml",
        "--identifier",
        "cost",
        "--k",
        "5",
    ]
    assert run([*arguments, "--algorithm", "optimal", "--suppress", "0.1"]) == 0
    assert card(folder)["released"]["settings"]["min_level"] == {"age": 3}


@pytest.mark.parametrize("algorithm", ["datafly", "optimal"])
def test_the_cheapest_nodes_are_explained_under_suppression(
    folder: Path, capsys: pytest.CaptureFixture[str], algorithm: str
) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *FEW, "--k", "10", "--algorithm", algorithm]
    assert run([*arguments, "--suppress", "0.02", "--explain", "--json"]) == 0
    solutions = json.loads(capsys.readouterr().out)["solutions"]
    assert solutions["listed"] == "cheapest generalisations by ncp, at most 40 of 2000 rows suppressed"
    assert solutions["complete"] is True
    assert "solutions" not in (folder / "out.csv.card.json").read_text()
    losses = [node["information_loss"] for node in solutions["nodes"][algorithm == "datafly" :]]
    assert losses == sorted(losses)
    assert all(0 <= node["rows_suppressed"] <= 40 and 0 < node["highest_risk"] <= 0.1 for node in solutions["nodes"])
    assert all(set(node["levels"]) == {"age", "sex", "zip"} for node in solutions["nodes"])


@pytest.mark.parametrize(
    "algorithm, option, taken",
    [
        ("mondrian", ["--suppress", "0.1"], "--keep-order, --ranges, --relaxed"),
        ("mondrian", ["--metric", "ncp"], "--keep-order, --ranges, --relaxed"),
        ("mondrian", ["--local"], "--keep-order, --ranges, --relaxed"),
        ("datafly", ["--metric", "ncp"], "--keep-order, --local, --node, --ranges, --suppress"),
        ("datafly", ["--relaxed"], "--keep-order, --local, --node, --ranges, --suppress"),
        ("incognito", ["--suppress", "0.1"], "--keep-order, --metric, --node, --ranges"),
        ("incognito", ["--local"], "--keep-order, --metric, --node, --ranges"),
        ("optimal", ["--relaxed"], "--keep-order, --local, --metric, --node, --ranges, --seconds, --suppress"),
        ("anatomy", ["--ranges", "columns"], "--keep-order"),
        ("anatomy", ["--suppress", "0.1"], "--keep-order"),
    ],
)
def test_options_of_another_algorithm_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], algorithm: str, option: list[str], taken: str
) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *FEW, "--l", "2", "--algorithm", algorithm, *option]
    said = refused(folder, capsys, arguments)
    assert said == f"sfumato: {option[0]} is no option of {algorithm}; it takes {taken}\n"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--explain"], "that datafly, incognito or optimal chooses among; mondrian weighs none"),
        (["--algorithm", "optimal", "--node", "9,9,9"], "node '9,9,9': column 'age' has levels from 0 to 5; found 9"),
        (["--algorithm", "optimal", "--node", "0,0,0"], "2,000 more than the 0 that may be suppressed"),
        (["--algorithm", "incognito", "--node", "age"], "has 1 levels; give one for each of age, sex, zip"),
        (["--algorithm", "datafly", "--max-level", "age=0"], "no generalisation within the limits was found"),
        (["--algorithm", "optimal", "--max-level", "age"], "--max-level 'age' is not of the form age=1"),
        (["--algorithm", "optimal", "--max-level", "age=two"], "--max-level 'age=two': 'two' is not an integer"),
        (["--algorithm", "optimal", "--max-level", "aeg=2"], "column 'aeg' has no role; did you mean 'age'?"),
        (["--algorithm", "optimal", "--min-level", "age=9"], "min_level is 9, and its levels go from 0 to 5"),
        (["--algorithm", "optimal", "--weight", "age=0"], "weight must be a number from 0.001 to 1000; found 0"),
        (["--algorithm", "optimal", "--weight", "disease=2"], "weight is for quasi-identifiers; found sensitive"),
        (["--weight", "age=2"], "column 'age' declares weight, which mondrian does not keep"),
        (["--algorithm", "dataflu"], 'Did you mean "datafly"?'),
        (["--algorithm", "datafly", "--suppress", "2"], "must be a number from 0 to 1. Got 2.0"),
        (["--algorithm", "optimal", "--suppress", "nan"], "must be a number from 0 to 1. Got nan"),
        (["--algorithm", "incognito", "--metric", "loss"], "--metric"),
        (["--hierarchy", "zip"], "'zip' is not of the form age=age.csv"),
        (["--hierarchy", "zpi=zip.csv"], "column 'zpi' has no role; did you mean 'zip'?"),
        (["--hierarchy", "zip=none.toml"], "hierarchy 'none.toml' cannot be read"),
        (["--hierarchy", "zip=patients.toml"], "hierarchy 'patients.toml'"),
        (["--hierarchy", "zip=half.csv"], "column 'zip' row 1: '47115' is not in the hierarchy"),
    ],
)
def test_bad_algorithms_and_hierarchies_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (folder / "half.csv").write_text("\n".join((folder / "zip.csv").read_text().splitlines()[:40]) + "\n")
    whole = ["anonymize", "patients.csv", "-o", "out.csv", *FEW, "--k", "5", *arguments]
    assert said in refused(folder, capsys, whole)


@pytest.mark.parametrize("algorithm", ["mondrian", *FULL_DOMAIN])
@pytest.mark.parametrize(
    "name, content, labels",
    [
        ("region.csv", "A,coast,*\nB,coast,*\nC,hills,*\nD,hills,*\n", {"coast", "hills"}),
        ("region.toml", REGIONS, {"coast", "hills"}),
        ("region.toml", 'builder = "ordered"\nvalues = ["A", "B", "C", "D"]\nsizes = [2]\n', {"[A..B]", "[C..D]"}),
    ],
)
def test_a_hierarchy_in_every_form(folder: Path, algorithm: str, name: str, content: str, labels: set[str]) -> None:
    (folder / "in.csv").write_text("region\n" + "A\nB\nC\nD\nC\n" * 3)
    (folder / name).write_text(content)
    arguments = ["anonymize", "in.csv", "-o", "out.csv", "--quasi", "region", "--hierarchy", f"region={name}"]
    assert run([*arguments, "--k", "4", "--algorithm", algorithm]) == 0
    assert set(pl.read_csv(folder / "out.csv", infer_schema=False)["region"]) == labels
    assert run(["check", "out.csv", "--quasi", "region", "--require", "k=4"]) == 0


@pytest.mark.parametrize("column", ["age", "sex", "zip", "schooling", "admission"])
@pytest.mark.parametrize("known", [[], ["--schema", "patients.toml"]])
def test_a_suggested_hierarchy_can_be_used_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str], column: str, known: list[str]
) -> None:
    assert run(["hierarchy", "suggest", "patients.csv", "--column", column, *known]) == 0
    (folder / "made.toml").write_text(capsys.readouterr().out)
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", "--quasi", column, "--other", "drop", "--k", "50"]
    assert run([*arguments, "--hierarchy", f"{column}=made.toml", "--algorithm", "optimal", "--suppress", "0.05"]) == 0
    assert run(["check", "out.csv", "--quasi", column, "--require", "k=50"]) == 0
    assert set(pl.read_csv("out.csv", infer_schema=False)[column]) != {"*"}


def test_a_suggestion_for_a_column_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(folder, capsys, ["hierarchy", "suggest", "patients.csv", "--column", "zpi"])
    assert said == "sfumato: there is no column 'zpi'; did you mean 'zip'?\n"
    (folder / "gaps.csv").write_text("age,zip\n1,\n2,\n")
    assert "no values" in refused(folder, capsys, ["hierarchy", "suggest", "gaps.csv", "--column", "zip"])


def test_anatomy_writes_two_tables_and_names_both(folder: Path) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *SCHEMA, "--l", "3", "--algorithm", "anatomy"]
    assert run([*arguments, "--report", "report.html"]) == 0
    assert {path.name for path in folder.glob("out*")} == {"out.csv", "out.sensitive.csv", *BESIDE}
    assert (
        run(["check", "out.sensitive.csv", "--quasi", "group", "--sensitive", "disease", "--require", "l=3,k=3"]) == 0
    )
    rows, second = pl.read_csv("out.csv"), pl.read_csv("out.sensitive.csv")
    assert "disease" not in rows.columns
    assert second["count"].sum() == rows.height == 2000
    original = pl.read_csv("patients.csv").select("age", "sex", "zip", "schooling", "admission")
    assert rows.drop("group").sort(pl.all()).equals(original.sort(pl.all()))
    released = card(folder)["released"]
    assert [released["file"], released["companions"][0]["file"]] == ["out.csv", "out.sensitive.csv"]
    assert "k-anonymity is not promised" in " ".join(card(folder)["assumptions"])


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["-o", "out.csv", *FEW, "--k", "2"], "cannot promise k-anonymity"),
        (["-o", "out.csv", *FEW, "--k", "2", "--l", "2"], "cannot promise k-anonymity"),
        (["-o", "out.csv", *FEW, "--t", "0.3"], "cannot promise t-closeness"),
        (["-o", "out.csv", *FEW, "--l", "4"], "at most l=3 is possible"),
        (["-o", "out.csv", "--schema", "patients.toml", "--l", "2"], "found models of cost, disease"),
        (["-o", "-", "--card", "card.json", *FEW, "--l", "2"], "releases several tables; give the data a file"),
        (["-o", "taken.csv", *FEW, "--l", "2"], "output 'taken.sensitive.csv' exists"),
    ],
)
def test_what_anatomy_refuses(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (folder / "taken.sensitive.csv").write_text("mine\n")
    assert said in refused(folder, capsys, ["anonymize", "patients.csv", "--algorithm", "anatomy", *arguments])


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "incognito"])
def test_persons_count_once(folder: Path, capsys: pytest.CaptureFixture[str], algorithm: str) -> None:
    rows = [f"p{person},{20 + person},{'flu' if visit else 'gout'}" for person in range(12) for visit in range(4)]
    (folder / "visits.csv").write_text("id,age,ill\n" + "\n".join(rows) + "\n")
    arguments = ["anonymize", "visits.csv", "--quasi", "age", "--sensitive", "ill", "--person", "id"]
    arguments += ["--algorithm", algorithm]
    assert run([*arguments, "--k", "4", "-o", "out.csv", "--report", "report.html"]) == 0
    out = pl.read_csv(folder / "out.csv")
    assert out.columns == ["age", "ill"]
    assert min(out.group_by("age").len()["len"].to_list()) >= 16
    assert card(folder)["guarantee"]["unit"] == "person (all rows with the same 'id')"
    said = refused(folder, capsys, [*arguments, "--k", "13", "-o", "never.csv"])
    assert "at most k=12 is possible" in said
    said = refused(folder, capsys, [*arguments[:-1], "anatomy", "--l", "2", "-o", "never.csv"])
    assert "cannot be reached: column 'ill' over the whole table has 1" in said  # everybody has both


def test_ranges_as_columns_hold_the_original_values(folder: Path) -> None:
    arguments = ["anonymize", "patients.csv", "-o", "out.csv", *FEW, "--k", "10", "--keep-order"]
    assert run([*arguments, "--algorithm", "datafly", "--ranges", "columns", "--report", "report.html"]) == 0
    out, original = pl.read_csv(folder / "out.csv"), pl.read_csv(folder / "patients.csv")
    for name in ("age", "zip"):
        assert ((out[f"{name}_min"] <= original[name]) & (original[name] <= out[f"{name}_max"])).all()
