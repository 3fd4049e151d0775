"""Masking methods from the command line: releases, cards, audits, estimates, and bad input in a sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = ["--schema", "patients.toml"]
METHODS = {
    "pram": ["--keep", "0.8", "--columns", "sex,schooling"],
    "rank-swapping": ["--reach", "0.1"],
    "record-swapping": ["--geography", "zip", "--risk", "age,sex", "--match", "sex"],
    "local-suppression": ["--k", "3", "--importance", "age=3,zip=0.5"],
    "top-bottom-coding": ["--top", "age=85,cost=3000", "--bottom", "age=18"],
    "rounding": ["--base", "age=2", "--at-random"],
    "correlated-noise": ["--columns", "age,cost", "--noise", "0.2"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("patients.csv", "patients.toml", "zip.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def anonymize(*options: str) -> int:
    return run(["anonymize", "patients.csv", "-o", "out.csv", *SCHEMA, *options])


@pytest.mark.parametrize("method", METHODS)
def test_a_method_from_file_to_audit(folder: Path, capsys: pytest.CaptureFixture[str], method: str) -> None:
    assert anonymize("--algorithm", method, *METHODS[method], "--report", "report.html") == 0
    out, err = capsys.readouterr()
    assert "2000 rows in" in out
    assert "risks by attacks on all columns (for the steward)" in out
    assert "REFUTED" in err  # the gate complains, rightly: these columns were left as they are
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert card["algorithm"] == method
    assert card["guarantee"]["neighbours"] is None
    report = (folder / "report.html").read_text(encoding="utf-8")
    statement = " ".join((folder / "out.csv.statement.txt").read_text().split())
    if method == "local-suppression":
        assert card["guarantee"]["parameters"] == {"matching_k": 3}
        assert "Every row agrees with at least 2 other rows" in statement
    else:
        assert (card["guarantee"]["model"], card["guarantee"]["parameters"]) == ("none", {})
        assert "Nothing is promised." in statement
        assert "nothing is promised" in report
    assert pl.read_csv("out.csv", infer_schema=False).height == 2000
    assert run(["check", "out.csv", "--card", "out.csv.card.json"]) == 0
    marked = method == "correlated-noise"  # nearly every noisy cost occurs once, and the file alone cannot tell why
    assert run(["audit", "release", "out.csv.card.json", "out.csv"]) == int(marked)
    out, _ = capsys.readouterr()
    assert ("the card makes none" in out) == (method != "local-suppression")


def test_both_counts_of_a_suppressed_table_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert anonymize("--algorithm", "local-suppression", "--k", "3") == 0
    out, _ = capsys.readouterr()
    assert "k-anonymity, * matching any value: asked 3, released table has 3" in out
    assert "k-anonymity, * as a value of its own: asked 1, released table has 1" in out
    assert "fewest candidates (for the steward)" in out
    quasi = ["--quasi", "age,sex,zip,schooling,admission"]
    assert run(["check", "out.csv", *quasi, "--require", "k_matching=3"]) == 0
    assert "k_matching    3 (* agrees with any value" in capsys.readouterr().out
    assert run(["check", "out.csv", *quasi, "--require", "k=3"]) == 1
    changed = (folder / "out.csv").read_text().replace("*", "F", 400)
    (folder / "out.csv").write_text(changed)
    assert run(["audit", "release", "out.csv.card.json", "out.csv"]) == 1
    assert "a released row agrees with" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_counts_are_estimated_from_the_release_and_its_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert anonymize("--algorithm", "pram", "--keep", "0.8", "--columns", "sex") == 0
    capsys.readouterr()
    assert run(["estimate", "out.csv", "--by", "sex"]) == 0
    found = pl.read_csv(capsys.readouterr().out.encode())
    assert found.columns == ["sex", "count", "variance", "low", "high"]
    assert found["count"].sum() == pytest.approx(2000, abs=1e-3)
    truth = pl.read_csv("patients.csv")["sex"].value_counts()
    for sex, count in truth.rows():
        row = found.row(by_predicate=pl.col("sex") == sex, named=True)
        assert abs(row["count"] - count) < 6 * row["variance"] ** 0.5
    assert run(["estimate", "out.csv", "--by", "sex,disease", "-o", "counts.parquet"]) == 0
    assert pl.read_parquet("counts.parquet")["count"].sum() == pytest.approx(2000)
    assert run(["estimate", "out.csv", "--by", "sex", "-o", "out.csv.card.json", "--force"]) == 2


@pytest.mark.usefixtures("folder")
def test_moments_are_estimated_from_noise(capsys: pytest.CaptureFixture[str]) -> None:
    assert anonymize("--algorithm", "correlated-noise", "--columns", "age,cost") == 0
    capsys.readouterr()
    assert run(["estimate", "out.csv"]) == 0
    assert capsys.readouterr().out.startswith("column,mean,age,cost\nage,")


@pytest.mark.usefixtures("folder")
def test_thresholds_are_proposed_to_the_steward_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert anonymize("--algorithm", "top-bottom-coding", "--explain") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "age: 4.9 % of the rows lie above 88" in err
    assert err.splitlines()[-1] == (
        "sfumato: top-bottom-coding needs --top or --bottom, for example --top income=5000; --explain proposes some"
    )
    assert not Path("out.csv").exists()


@pytest.mark.usefixtures("folder")
def test_a_ledger_lists_a_masked_table_outside_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    create = ["budget", "create", "l", "--data", "patients.csv", *SCHEMA, "--epsilon", "1"]
    assert run(create) == 0
    assert anonymize("--algorithm", "rank-swapping", "--ledger", "l") == 0
    assert "a release by rank-swapping has no price in a ledger" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, said",
    [
        (["pram"], "pram needs --keep, for example --keep 0.8, or --matrix"),
        (["pram", "--keep", "0"], "must be a number above 0 and at most 1"),
        (["pram", "--keep", "0.8", "--k", "5"], "pram cannot promise k-anonymity"),
        (["pram", "--keep", "0.8", "--columns", "name"], "column 'name' is not released"),
        (["pram", "--keep", "0.8", "--columns", "sxe"], "there is no column 'sxe'; did you mean 'sex'?"),
        (["pram", "--keep", "0.8", "--columns", ","], "must be names of columns"),
        (["pram", "--keep", "0.8", "--columns", "cost"], "column 'cost' is number; pram takes categories"),
        (["pram", "--matrix", "sex"], "must be a transition matrix for each of some columns"),
        (["pram", "--matrix", "sex=none.csv"], "transition matrix 'none.csv' cannot be read"),
        (["pram", "--matrix", "sex=patients.csv"], "transition matrix 'patients.csv' must have its values"),
        (["pram", "--invariant"], "begins with a probability to keep a value"),
        (["pram", "--keep", "0.8", "--reach", "0.1"], "--reach is no option of pram"),
        (["rank-swapping", "--reach", "2"], "must be a number above 0 and at most 1"),
        (["rank-swapping", "--columns", "sex"], "column 'sex' is category, which has no order"),
        (["record-swapping"], "record-swapping needs --geography"),
        (["record-swapping", "--geography", "zip", "--match", "zip"], "'zip' is in --geography"),
        (["record-swapping", "--geography", "zip", "--below", "1"], "must be an integer of at least 2"),
        (["local-suppression"], "no model was asked for"),
        (["local-suppression", "--k", "3", "--l", "2"], "local-suppression cannot promise"),
        (["local-suppression", "--k", "3000"], "at most k=2000 is possible"),
        (["local-suppression", "--k", "3", "--importance", "age"], "must be a number above 0 for each"),
        (["local-suppression", "--k", "3", "--importance", "cost=2"], "is no quasi-identifier"),
        (["top-bottom-coding", "--top", "age=high"], "must be a number for each of some columns"),
        (["top-bottom-coding", "--top", "age=200"], "lies outside the declared bounds [16, 94]"),
        (["rounding", "--base", "age=0"], "must be a number above 0 for each"),
        (["rounding", "--base", "age=5"], "go beyond the declared bounds [16, 94] of column 'age'"),
        (["correlated-noise", "--noise", "-1"], "must be a number above 0"),
        (["correlated-noise", "--columns", "admission"], "'admission' is date; correlated-noise takes numbers"),
        (["rank-swapping", "--engine", "spark"], "rank-swapping"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert anonymize("--algorithm", *options) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, len(err.splitlines()), "internal error" in err) == ("", 1, False)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.usefixtures("folder")
def test_a_matrix_is_an_input_that_no_output_replaces(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sex.csv").write_text("from,F,M\nF,0.9,0.1\nM,0.2,0.8\n")
    command = ["anonymize", "patients.csv", "-o", "sex.csv", *SCHEMA, "--algorithm", "pram", "--matrix", "sex=sex.csv"]
    assert run([*command, "--force"]) == 2
    assert Path("sex.csv").read_text().startswith("from,F,M")
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["none.csv", "--by", "sex"], "card 'none.csv.card.json' cannot be read"),
        (["out.csv"], "no column was named whose values are counted"),
        (["out.csv", "--by", "a,b,c"], "counts are estimated by one column or by two; found a, b, c"),
        (["out.csv", "--by", "sxe"], "there is no column 'sxe'; did you mean 'sex'?"),
        (["out.csv", "--by", "sex", "--card", "patients.csv"], "is not a card"),
        (["out.csv", "--by", "sex", "--card", "other.json"], "the card is of mondrian; counts are corrected"),
        (["out.csv", "--by", "sex", "--card", "hollow.json"], "the card does not hold what an estimate needs"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_bad_estimates_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert anonymize("--algorithm", "pram", "--keep", "0.8", "--columns", "sex") == 0
    card = json.loads(Path("out.csv.card.json").read_text())
    Path("other.json").write_text(json.dumps({**card, "algorithm": "mondrian"}))
    Path("hollow.json").write_text(json.dumps({**card, "released": {**card["released"], "settings": {}}}))
    capsys.readouterr()
    assert run(["estimate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, len(err.splitlines())) == ("", 1)
