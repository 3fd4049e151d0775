"""The command compare: rows as they come, a page, releases by name, and Ctrl-C that keeps what is there."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.table import samples

ROLES = ["--quasi", "age,sex,zip", "--sensitive", "disease", "--other", "drop"]
PUBLIC = """
[columns.age]
role = "quasi"
type = "integer"
bounds = [16, 94]
[columns.sex]
role = "quasi"
type = "category"
categories = ["F", "M"]
"""
MARK = "Do not publish: for the data steward alone"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with 300 made-up patients, and a schema whose domains are public."""
    samples.patients(300).write_csv(tmp_path / "in.csv")
    samples.patients(300).select("age", "sex").write_csv(tmp_path / "two.csv")
    (tmp_path / "public.toml").write_text(PUBLIC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compare(*arguments: str) -> int:
    return run(["compare", "in.csv", *ROLES, *arguments])


@pytest.mark.usefixtures("folder")
def test_the_table_is_aligned_and_says_whom_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--algorithms", "mondrian,optimal", "--k", "5,10,400", "--suppress", "0.05") == 0
    said = capsys.readouterr()
    mark, header, *lines = said.out.splitlines()
    assert mark.startswith(MARK)
    rows = [line for line in lines if re.match(r"(mondrian|optimal)-k", line)]
    assert [row.split()[0] for row in rows] == [
        f"{algorithm}-k{k}" for algorithm in ("mondrian", "optimal") for k in (5, 10, 400)
    ]
    assert all(len(row) == len(header) for row in rows if "not made" not in row)
    assert rows[2].endswith(
        "not made: k-anonymity asks for 400 rows in a class and the table has 300; at most k=300 is possible"
    )
    assert any(line.startswith("    levels age ") for line in lines)
    assert any(line.startswith("no other candidate has less loss and no more risk: mondrian-k5") for line in lines)


@pytest.mark.usefixtures("folder")
def test_json_has_a_candidate_in_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--algorithms", "mondrian", "--k", "5,10", "--json") == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["name"] for one in told] == ["mondrian-k5", "mondrian-k10"]
    assert all(one["do_not_publish"] is True for one in told)
    assert set(told[0]["surest_guess"]) == {"disease"}


def test_the_page_stands_alone_and_is_marked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--algorithms", "mondrian,anatomy", "--k", "5,10", "--html", "page.html") == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.count("Do not publish") >= 2
    assert not re.search(r"<script|https?://|@import|url\((?!#)", page)
    assert ">mondrian-k10</text>" in page
    assert "cannot promise k-anonymity" in page
    assert oct((folder / "page.html").stat().st_mode)[-3:] == "600"
    assert "page (do not publish): page.html" in capsys.readouterr().out
    assert compare("--algorithms", "mondrian", "--html", "page.html") == 2
    assert compare("--algorithms", "mondrian", "--html", "page.html", "--force") == 0


@pytest.mark.parametrize(
    "grid, name, plain",
    [
        (["--algorithms", "mondrian", "--k", "5,10"], "mondrian-k10", ["--algorithm", "mondrian", "--k", "10"]),
        (
            ["--algorithms", "mondrian,optimal", "--k", "5", "--l", "2,3", "--suppress", "0.05,0.1"],
            "optimal-k5-l3-suppress0.1",
            ["--algorithm", "optimal", "--k", "5", "--l", "3", "--suppress", "0.1"],
        ),
        (
            ["--algorithms", "local-recoding", "--k", "5", "--iterations", "50", "--local", "yes", "--suppress", "0"],
            "local-recoding-k5",
            ["--algorithm", "local-recoding", "--k", "5", "--iterations", "50"],
        ),
        (
            ["--algorithms", "local-recoding", "--k", "5", "--iterations", "50", "--target", "disease"],
            "local-recoding-k5-target-disease",
            ["--algorithm", "local-recoding", "--k", "5", "--iterations", "50", "--target", "disease"],
        ),
        (
            ["--algorithms", "mdav,datafly", "--k", "5", "--local", "no,yes"],
            "datafly-k5-local",
            ["--algorithm", "datafly", "--k", "5", "--local"],
        ),
    ],
)
def test_a_candidate_is_released_as_anonymize_does_it(
    folder: Path, capsys: pytest.CaptureFixture[str], grid: list[str], name: str, plain: list[str]
) -> None:
    if "--iterations" in grid:
        grid = [word for word in grid if word not in {"--local", "yes", "--suppress", "0"}]
    assert compare(*grid, "--release", name, "-o", "ours.csv") == 0
    assert f"{name} is sfumato anonymize {' '.join(plain)}\n" in capsys.readouterr().err
    assert run(["anonymize", "in.csv", *ROLES, *plain, "-o", "theirs.csv"]) == 0
    ours, theirs = (pl.read_csv(folder / file, infer_schema=False) for file in ("ours.csv", "theirs.csv"))
    assert ours.columns == theirs.columns
    assert sorted(ours.rows()) == sorted(theirs.rows())  # each is shuffled anew
    cards = [json.loads((folder / f"{file}.csv.card.json").read_text()) for file in ("ours", "theirs")]
    for card in cards:
        for part in ("file", "sha256"):
            card["released"].pop(part, None)
    assert cards[0] == cards[1]
    assert (folder / "ours.csv.statement.html").exists()


def test_a_private_candidate_needs_a_ledger_and_pays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "two.csv", "--schema", "public.toml", "--algorithms", "private-mondrian", "--epsilon", "0.5,1"]
    name = "private-mondrian-epsilon0.5"
    assert run([*asked, "--release", name, "-o", "out.csv"]) == 2
    assert "name the ledger that pays" in capsys.readouterr().err
    assert run(["budget", "create", "L", "--data", "two.csv", "--schema", "public.toml", "--epsilon", "1"]) == 0
    assert run([*asked, "--release", name, "-o", "out.csv", "--ledger", "L"]) == 0
    capsys.readouterr()
    assert run(["budget", "show", "L", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spent"]["epsilon"] == 0.5
    assert (folder / "out.csv").exists()


def test_private_candidates_alone_read_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two.csv").unlink()
    asked = ["compare", "two.csv", "--schema", "public.toml", "--algorithms", "safepub,private-mondrian"]
    assert run([*asked, "--epsilon", "1", "--k", "5", "--made-up-rows", "3000", "--html", "page.html"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("For the data steward: simulated on made-up rows; no row of the table was read.")
    assert out.count("simulated on 3,000 made-up rows") == 2
    assert "~" in out
    assert "Do not publish" not in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--k", "five"], "--k takes integers, by commas; found 'five'"),
        (["--local", "maybe"], "--local takes yes and no, by commas; found 'maybe'"),
        (["--algorithms", "mondiran"], "did you mean 'mondrian'?"),
        (["--algorithms", "mondrian", "--suppress", "0.1"], "--suppress is no option of mondrian or of a model"),
        (["--release", "mondrian-k6", "-o", "x.csv"], "there is no candidate 'mondrian-k6'; did you mean"),
        (["--release", "mondrian-k5"], "--release needs a file for the release"),
        (["--release", "mondrian-k5", "-o", "x.csv", "--html", "p.html"], "leave one of them out"),
        (["-o", "x.csv"], "belong to --release NAME"),
        (["--algorithms", "mondrian", "--k", "1000"], "no candidate could be made"),
        (["--made-up-rows", "0"], "made_up_rows"),
        (["--regression", "disease"], "'disease' is not a regression"),
        (["--regression", "cost ~ agee"], "agee"),
        (["--regression", "disease ~ age"], "target 'disease' has"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_ctrl_c_keeps_what_is_there(folder: Path) -> None:
    arguments = ["--algorithms", "mondrian,local-recoding", "--k", "5,10", "--seconds", "60", "--html", "page.html"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-m", "sfumato", "compare", "in.csv", *ROLES, *arguments], **pipes) as child:
        seen: list[str] = []
        while not any(line.startswith("mondrian-k10") for line in seen):
            seen.append(child.stdout.readline())  # type: ignore[union-attr]
            assert seen[-1], child.stderr.read()  # type: ignore[union-attr]
        child.send_signal(signal.SIGINT)
        rest, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "no other candidate has less loss and no more risk" in rest
    done = int(re.findall(r"interrupted; (\d) of 4 candidates were measured", err)[0])
    assert done in {2, 3}  # a search that hears of it gives the best that it has
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert f"The comparison was stopped: {done} of 4 candidates were measured." in page


@pytest.mark.usefixtures("folder")
def test_masked_candidates_leave_models_out_and_have_no_loss_that_labels_would_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compare("--algorithms", "mondrian,pram", "--k", "5,10", "--keep", "0.7,0.9", "--json") == 0
    found = {one["name"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert list(found) == ["mondrian-k5", "mondrian-k10", "pram-keep0.7", "pram-keep0.9"]
    assert found["pram-keep0.7"]["loss"] is None
    assert found["pram-keep0.7"]["highest_risk"] == 1
    assert "columns and pairs moved" in found["pram-keep0.7"]["notes"][0]
    assert found["pram-keep0.7"]["distances"]["worst_pair"] > 0
    assert compare("--algorithms", "mondrian,pram", "--k", "5", "--keep", "0.7") == 0
    assert "no other candidate has less loss and no more risk: mondrian-k5\n" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_a_text_with_commas_is_one_value_and_is_repeated_for_several(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--algorithms", "optimal", "--k", "2", "--node", "5,1,3", "--node", "5,0,4", "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["name"] for one in found] == ["optimal-k2-node-5,1,3", "optimal-k2-node-5,0,4"]


def test_distances_and_regressions_are_columns_of_text_json_and_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "--algorithms",
        "mondrian",
        "--k",
        "5,50",
        "--regression",
        "sex ~ age",
        "--regression",
        "age ~ sex + disease",
    ]
    assert compare(*asked, "--html", "page.html") == 0
    header, *lines = capsys.readouterr().out.splitlines()[1:]
    assert re.search(r"column %  pair %  overlap sex ~ age  overlap age ~ sex \+ disease  seconds$", header)
    assert any(line.startswith("overlap sex ~ age: mean overlap of the coefficients' 95 % intervals") for line in lines)
    assert compare(*asked, "--json") == 0
    small, large = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    for one in (small, large):
        assert run(["anonymize", "in.csv", *ROLES, *one["command"].split()[2:], "-o", "out.csv", "--force"]) == 0
        capsys.readouterr()
        told = ["--original", "in.csv", *ROLES, *asked[4:], "--json"]
        assert run(["utility", "out.csv", *told]) == 0
        alone = json.loads(capsys.readouterr().out)
        columns = {name: found["total_variation"] for name, found in alone["columns"].items()}
        assert one["distances"]["columns"] == pytest.approx(columns, abs=1e-6)
        assert one["distances"]["worst_column"] == pytest.approx(max(columns.values()), abs=1e-6)
        changes = [
            max(abs(after - before) for before, after in (pair["cramers_v"], pair["correlation"] or (0, 0)))
            for pair in alone["pairs"]
        ]
        assert one["distances"]["worst_pair"] == pytest.approx(max(changes), abs=1e-6)
        assert one["distances"]["mean_pair"] == pytest.approx(sum(changes) / len(changes), abs=1e-6)
        assert one["scores"] == pytest.approx(
            {f"overlap {fit['formula']}": fit["mean_overlap"] for fit in alone["regressions"]}, abs=1e-6
        )
    assert small["distances"]["mean_pair"] < large["distances"]["mean_pair"]
    page = (folder / "page.html").read_text(encoding="utf-8")
    for words in ("Column moved most", "Mean pair", ">overlap sex ~ age<", "Mean overlap of the coefficients"):
        assert words in page


def test_a_regression_of_private_candidates_alone_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "two.csv", "--schema", "public.toml", "--algorithms", "private-mondrian", "--epsilon", "1"]
    assert run([*asked, "--regression", "sex ~ age"]) == 2
    assert "leave --target and --regression out" in capsys.readouterr().err
    assert folder.exists()


def test_candidates_under_a_population_show_its_risks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples.patients(900).write_csv(folder / "people.csv")  # the first 300 are those of the table
    asked = ["--algorithms", "mondrian", "--k-map", "5,20", "--population", "people.csv"]
    assert compare(*asked, "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["name"] for one in found] == ["mondrian-k-map5", "mondrian-k-map20"]
    for one, k in zip(found, (5, 20), strict=True):
        assert one["marketer_risk"] <= one["journalist_risk"] <= 1 / k
        assert one["highest_risk"] >= one["journalist_risk"]
    assert compare(*asked, "--html", "page.html") == 0
    said = capsys.readouterr().out
    assert "journalist %  marketer %  guess disease %" in said
    assert "\njournalist, marketer: chance to find a person of the population" in said
    assert ">Journalist</th>" in (folder / "page.html").read_text(encoding="utf-8")
    assert compare("--algorithms", "mondrian", "--k", "5") == 0
    assert "journalist" not in capsys.readouterr().out
