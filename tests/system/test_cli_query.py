"""The query door at the command line: budgets, questions, plans, and errors in one sentence that cost nothing."""

# ruff: noqa: S608  # questions are made of parts

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.dp import Session
from sfumato.dp.ledger.statement import statement
from sfumato.release.card import json_schema
from sfumato.table import samples

SCHEMA = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
type = "integer"
bounds = [16, 94]
[columns.sex]
role = "quasi"
type = "category"
categories = ["F", "M"]
[columns.disease]
role = "sensitive"
type = "category"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with 300 made-up patients and a budget of 1."""
    samples.patients(300).select("name", "age", "sex", "disease").write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    create = ["budget", "create", "L", "--data", "people.csv", "--schema", "people.toml"]
    assert run([*create, "--epsilon", "1", "--delta", "1e-6", "--deadline", "0"]) == 0
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["budget", "show", "L", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def ask(question: str, *options: str) -> int:
    return run(["query", "L", question, *options])


def test_a_question_is_charged_once_and_answered_twice_alike(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    assert ask(question, "--epsilon", "0.1") == 0
    first = capsys.readouterr()
    assert ask(question.lower().replace("people", "people"), "--epsilon", "0.10") == 0
    second = capsys.readouterr()
    assert first.out.splitlines()[-2:] == second.out.splitlines()[-2:]
    assert "left epsilon 0.9" in first.err
    assert "asked before" in second.err
    account = shown(capsys)
    assert (account["budget"]["epsilon"], account["spent"]["epsilon"], account["left"]["epsilon"]) == (1, 0.1, 0.9)
    assert len(account["entries"]) == 1
    assert folder.exists()


def test_json_holds_answer_and_card(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert ask("SELECT AVG(age) AS mean FROM people", "--epsilon", "0.5", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["answer"][0]) == {"mean", "mean_low", "mean_high"}
    jsonschema.validate(found["card"], json_schema())
    assert found["card"]["guarantee"]["parameters"] == {"epsilon": 0.5}
    assert found["left"]["epsilon"] == 0.5
    assert folder.exists()


def test_rows_card_and_picture_are_written_together(folder: Path) -> None:
    question = "SELECT disease, COUNT(*) FROM people GROUP BY disease"
    assert ask(question, "--epsilon", "0.9", "--delta", "1e-7", "-o", "out.csv", "--plot", "out.svg") == 0
    assert pl.read_csv(folder / "out.csv").columns == ["disease", "count", "count_low", "count_high"]
    assert (folder / "out.svg").read_text(encoding="utf-8").startswith("<svg")
    assert json.loads((folder / "out.csv.card.json").read_text(encoding="utf-8"))["door"] == "query"


def test_a_file_in_the_way_is_noticed_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out.csv").touch()
    assert ask("SELECT COUNT(*) FROM people", "--epsilon", "0.1", "-o", "out.csv") == 2
    assert shown(capsys)["spent"]["epsilon"] == 0


def test_a_budget_that_does_not_suffice_refuses_with_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("SELECT COUNT(*) FROM people", "--epsilon", "1.5") == 1
    assert "the ledger has epsilon 1" in capsys.readouterr().err
    assert shown(capsys)["spent"]["epsilon"] == 0
    assert folder.exists()


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["query", "L", "SELECT COUNT(*) FROM people ORDER BY age", "--epsilon", "0.1"], "ORDER BY"),
        (["query", "L", "SELECT DISTINCT age FROM people", "--epsilon", "0.1"], "SELECT DISTINCT"),
        (["query", "L", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "--keys", "age"], "--keys NAME=VALUES"),
        (["query", "L", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "--keys", "age=1"], "does not group"),
        (["query", "L", "SELECT MIN(age) FROM people", "--epsilon", "0.1", "--candidates", "age=x"], "'x'"),
        (["query", "L", "SELECT COUNT(*) FROM other", "--epsilon", "0.1"], "'people'"),
        (["query", "L", "SELECT SUM(disease) FROM people", "--epsilon", "0.1"], "no public bounds"),
        (["query", "L", "SELECT COUNT(*) FROM people WHERE ag > 3", "--epsilon", "0.1"], "ag"),
        (["query", "L", "SELECT COUNT(*) FROM people"], "price"),
        (["query", "L", "SELECT COUNT(*) FROM people", "--epsilon", "x"], "'x'"),
        (["query", "nothing", "SELECT COUNT(*) FROM people", "--epsilon", "1"], "nothing"),
        (["query", "people.csv", "SELECT COUNT(*) FROM people", "--epsilon", "1"], "people.csv"),
        (["query", "L", "SELECT disease, COUNT(*) FROM people GROUP BY disease", "--epsilon", "0.1"], "delta"),
        (["plan", "L", "SELECT AVG(age) FROM people", "--error", "1"], "public guess"),
        (["plan", "L", "SELECT COUNT(*) FROM people", "--error", "-1"], "error"),
        (["plan", "L", "SELECT MEDIAN(age) FROM people", "--error", "5"], "public guess"),
        (["plan", "L", "SELECT COUNT(*) FROM people"], "give one of error, epsilon and rho"),
        (["plan", "L", "SELECT COUNT(*) FROM people", "--error", "5", "--epsilon", "1"], "an error or from a price"),
        (["plan", "L", "SELECT COUNT(*) FROM people", "--rho", "1"], "not rho"),
        (["budget", "show", "people.toml"], "people.toml"),
        (["budget", "create", "L", "--data", "people.csv", "--schema", "people.toml", "--epsilon", "1"], "L"),
        (["budget", "create", "M", "--data", "no.csv", "--schema", "people.toml", "--epsilon", "1"], "no.csv"),
        (["budget", "create", "M", "--data", "people.csv", "--schema", "no.toml", "--epsilon", "1"], "no.toml"),
        (["budget", "create", "M", "--data", "people.csv", "--schema", "people.toml", "--epsilon", "0"], "epsilon"),
        (
            [
                "budget",
                "create",
                "M",
                "--data",
                "people.csv",
                "--schema",
                "people.toml",
                "--epsilon",
                "1",
                "--protect",
                "x",
            ],
            "'x'",
        ),
        (["budget", "new-version", "L", "--data", "no.csv"], "no.csv"),
    ],
)
def test_errors_are_one_sentence_and_cost_nothing(
    folder: Path, arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert word in error
    assert shown(capsys)["spent"]["epsilon"] == 0
    assert not (folder / "M").exists()


def test_a_changed_file_needs_a_new_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples.patients(200).select("name", "age", "sex", "disease").write_csv(folder / "people.csv")
    assert ask("SELECT COUNT(*) FROM people", "--epsilon", "0.1") == 2
    assert "new-version" in capsys.readouterr().err
    assert run(["budget", "new-version", "L", "--data", "people.csv"]) == 0
    assert ask("SELECT COUNT(*) FROM people", "--epsilon", "0.1") == 0
    account = shown(capsys)
    assert (account["version"], account["spent"]["epsilon"]) == (2, 0.1)


def test_plan_says_what_an_accuracy_costs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["plan", "L", "SELECT COUNT(*) FROM people", "--error", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["error"] <= 5
    assert 0.4 < found["epsilon"] < 0.8
    assert run(["plan", "L", "SELECT COUNT(*) FROM people", "--error", "1"]) == 1
    assert shown(capsys)["spent"]["epsilon"] == 0
    assert folder.exists()


def test_plan_says_which_error_a_price_buys_and_opens_no_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "people.csv").unlink()
    before = (folder / "L").read_bytes()
    capsys.readouterr()
    question = "SELECT sex, COUNT(*), AVG(age), MIN(age) FROM people GROUP BY sex"
    assert run(["plan", "L", question, "--epsilon", "0.6", "--rows", "1000", "--confidence", "0.9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("price: epsilon 0.6; left: epsilon 1, delta 0.000001; left afterwards: epsilon 0.4, ")
    assert lines[1].split("  ")[0] == "answer"
    assert "90 % error" in lines[1]
    assert lines[2].split() == ["count", "±11", "rows", "5", "epsilon", "0.2"]  # 2·exp(-12/5)/(1 + exp(-1/5)) = 0.0998
    assert "the price is shared evenly by 3 aggregates" in lines
    assert "values of age are clipped to [16, 94]" in lines
    assert sum("made-up rows, drawn evenly from the declared bounds" in line for line in lines) == 1
    assert run(["plan", "L", question, "--epsilon", "0.6", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["error"] is None for entry in found["answers"]] == [False, True, True]
    assert found["left_after"]["epsilon"] == 0.4
    assert run(["plan", "L", question, "--epsilon", "2"]) == 1
    assert "the budget left is too small" in capsys.readouterr().out
    assert (folder / "L").read_bytes() == before


def test_the_ledger_shows_no_number_from_the_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("SELECT COUNT(*) FROM people", "--epsilon", "0.1") == 0
    text = json.dumps(shown(capsys))
    assert "fingerprint" not in text
    assert "secret" not in text
    assert folder.exists()


def test_an_analyst_named_twice_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["budget", "create", "T", "--data", "people.csv", "--schema", "people.toml", "--epsilon", "1"]
    assert run([*create, "--analyst", "ana=0.2", "--analyst", "ana=0.9"]) == 2
    assert "the analyst 'ana' is named twice" in capsys.readouterr().err
    assert not (folder / "T").exists()


def test_python_gives_what_the_commands_print(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    assert ask(question, "--epsilon", "0.1") == 0
    capsys.readouterr()
    assert ask(question, "--epsilon", "0.1", "--json") == 0
    session = Session.open(folder / "L", deadline=0)
    assert capsys.readouterr().out == session.sql(question, "0.1").to_json() + "\n"
    assert shown(capsys) == statement(session.ledger)
    assert run(["plan", "L", question, "--error", "5", "--json"]) == 0
    assert capsys.readouterr().out == session.plan(question, error=5).to_json() + "\n"


def test_a_minimum_says_how_far_off_its_rank_may_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At this price the margin passes half of the 300 rows, so that both answers are the median."""
    capsys.readouterr()
    assert ask("SELECT MIN(age), MAX(age) FROM people", "--epsilon", "0.02", "--json") == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    least = found["card"]["released"]["settings"]["rank_error"]["min_age"]
    assert least > 300
    assert found["answer"][0]["min_age_rank_error"] == least
    words = "min_age is within ±"
    assert any(words in warning and "it may be any value" in warning for warning in found["card"]["warnings"])
    assert ask("SELECT MIN(age) FROM people", "--epsilon", "0.02") == 0
    assert words in capsys.readouterr().err
    assert folder.exists()


def test_a_minimum_that_would_be_the_median_is_refused_where_the_rows_are_guessed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for what in ("MIN(age)", "MAX(age)", "QUANTILE(age, 0.9)"):
        assert ask(f"SELECT {what} FROM people", "--epsilon", "0.02", "--rows", "300") == 2
        assert "larger epsilon" in capsys.readouterr().err
    assert shown(capsys)["spent"]["epsilon"] == 0
    assert ask("SELECT MIN(age) FROM people", "--epsilon", "0.5", "--rows", "300") == 0
    assert ask("SELECT MIN(age) FROM people", "--epsilon", "0.5", "--rows", "0") == 2
    assert folder.exists()


MONSTERS = [
    "SELECT QUANTILE(age, 1e-10000000) FROM people",
    "SELECT QUANTILE(age, 1e10000000) FROM people",
    f"SELECT QUANTILE(age, 0.{'1' * 15_000}) FROM people",
    f"SELECT PERCENTILE_CONT({'9' * 15_000}) WITHIN GROUP (ORDER BY age) FROM people",
    f"SELECT COUNT(*) FROM people GROUP BY HISTOGRAM(age, {'9' * 15_000})",
    "SELECT COUNT(*) FROM people WHERE age > 1e10000000",
    f"SELECT COUNT(*) FROM people WHERE age > {'9' * 9_000}",
    f"SELECT COUNT(*) FROM people WHERE {'(' * 5_000}age > 1{')' * 5_000}",
    f"SELECT COUNT(*) FROM people WHERE {'NOT ' * 4_000}age > 1",
    f"SELECT COUNT(*) FROM people WHERE age > {'-' * 9_000}1",
    f"SELECT COUNT(*) FROM people WHERE age > {'- ' * 4_000}1",
    f"SELECT COUNT(*) FROM people WHERE age IN ({', '.join(map(str, range(1500)))})",
    f"SELECT COUNT(*) FROM people WHERE disease IN ({', '.join(map(repr, map(str, range(1100))))})",
    f"SELECT COUNT(*) FROM people WHERE disease LIKE '{'%a' * 100}'",
    f"SELECT COUNT(*) FROM people WHERE {' OR '.join(['age > 1 + age * 2'] * 500)}",
    "SELECT COUNT(*) FROM people WHERE " + " AND ".join(f"disease LIKE '%{n}%'" for n in range(250)),
    "SELECT COUNT(*) FROM people WHERE " + " AND ".join(f"(age > {n} OR age < {n})" for n in range(300)),
    "SELECT " + ", ".join(f"COUNT(*) AS c{n}" for n in range(1_000)) + " FROM people",
    f"SELECT SUM(age{' + age' * 3_000}) FROM people",
    f"SELECT COUNT(*) FROM people GROUP BY {'(' * 40}age{' * age)' * 40}",
    f"SELECT COUNT(*) FROM people GROUP BY {'(' * 90}age{' * 2)' * 90}",
    f"SELECT SUM(x) FROM {'(SELECT x * x AS x FROM ' * 8}(SELECT age AS x FROM people){') t' * 8}",
    f"SELECT COUNT(*) FROM {'(SELECT age FROM ' * 900}people{') t' * 900}",
    f"SELECT age, COUNT(*) FROM people GROUP BY age HAVING {' AND '.join(['count > 1'] * 1_000)}",
    f"SELECT age, COUNT(*) FROM people GROUP BY age ORDER BY {', '.join(['age + 1'] * 1_500)}",
    f"SELECT COUNT(*) FROM people LIMIT {'9' * 15_000}",
    f"SELECT {'SUM(' * 3_000}age{')' * 3_000} FROM people",
    f"SELECT COUNT(*) FROM people WHERE age = CAST('1' AS DECIMAL({'9' * 4_000}))",
]


@pytest.mark.parametrize("question", MONSTERS, ids=lambda question: question[:50])
def test_monstrous_questions_are_refused_at_once(
    folder: Path, question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    begun = time.process_time()
    assert ask(question, "--epsilon", "0.1") == 2
    assert time.process_time() - begun < 2  # of work: other tests run beside
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert len(error) < 500
    assert "Traceback" not in error
    assert shown(capsys)["spent"]["epsilon"] == 0
    assert folder.exists()


def test_questions_compute_keep_and_sort_what_they_show(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = (
        "WITH adults AS (SELECT *, age - 16 AS years FROM people WHERE age >= 18) "
        "SELECT sex AS s, AVG(years * 2) AS double, COUNT(*) AS n FROM adults GROUP BY s ORDER BY n DESC LIMIT 1"
    )
    assert ask(question, "--epsilon", "0.5", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert list(first["answer"][0]) == ["s", "double", "double_low", "double_high", "n", "n_low", "n_high"]
    assert len(first["answer"]) == 1
    settings = first["card"]["released"]["settings"]
    assert settings["postprocessing"] == ["sorted by n, descending", "the first 1 kept"]
    jsonschema.validate(first["card"], json_schema())
    plain = "SELECT sex, AVG((age - 16) * 2), COUNT(*) FROM people WHERE age >= 18 GROUP BY sex"
    assert ask(plain, "--epsilon", "0.5") == 0
    printed = capsys.readouterr()
    assert "asked before" in printed.err
    assert len(printed.out.splitlines()) == 3
    assert folder.exists()


def test_keys_and_candidates_are_given_by_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "diseases.csv").write_text("disease\nflu\ncold\nnone such\n", encoding="utf-8")
    question = "SELECT disease AS d, COUNT(*) FROM people GROUP BY disease"
    assert ask(question, "--epsilon", "0.1", "--keys", "d=diseases.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["d"] for row in found["answer"]] == ["cold", "flu", "none such"]
    assert "keys of d were given by the analyst, without looking at the rows" in found["card"]["assumptions"]
    assert ask(question, "--epsilon", "0.1", "--keys", "d=flu,none such,cold") == 0
    assert "asked before" in capsys.readouterr().err
    assert ask("SELECT MEDIAN(age) FROM people", "--epsilon", "0.1", "--candidates", "age=20,40.5,60", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"][0]["median_age"] in (20, 40.5, 60)
    assert any("candidates for median_age" in one for one in found["card"]["assumptions"])
    spent = shown(capsys)["spent"]["epsilon"]
    for wrong in (["--keys", "d=none.csv"], ["--keys", "sex=f"], ["--candidates", "age=1"]):
        assert ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", "--epsilon", "0.1", *wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert shown(capsys)["spent"]["epsilon"] == spent


def test_no_name_or_alias_can_hurt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Aliases are names of columns and nothing else, in the answer, on the card and in the file."""
    for alias in ('"; DROP TABLE people; --"', '"日本"', '"it\'s"', '"=1+1"', f'"{"x" * 3000}"'):
        question = f"SELECT sex AS {alias}, COUNT(*) FROM people GROUP BY {alias} HAVING {alias} = 'F' ORDER BY {alias}"
        assert ask(question, "--epsilon", "0.1", "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["answer"][0][alias.strip('"')] == "F"
    assert shown(capsys)["spent"]["epsilon"] == 0.1
    assert folder.exists()


def test_persons_values_and_bounds_at_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = [
        "budget",
        "create",
        "P",
        "--data",
        "people.csv",
        "--schema",
        "people.toml",
        "--protect",
        "person:name:2:2",
    ]
    zcdp = ["--accountant", "zcdp", "--delta-keys", "4e-6", "--other-people", "--deadline", "0"]
    assert run([*create, "--epsilon", "100", "--delta", "1e-5", *zcdp]) == 0
    asked = {
        "SELECT AVG(n) FROM (SELECT name, COUNT(*) AS n FROM people GROUP BY name) AS t": "n counts at most 4 rows",
        "SELECT COUNT(DISTINCT age) FROM people": "",
        "SELECT BOUNDS(age) FROM people": "upper_bound_age aims to leave 1 % of the values above it",
        "SELECT AVG(CLIP(age, 0, 64)) FROM people": "values of age in mean are clipped to [0, 64]",
    }
    for question, note in asked.items():
        assert run(["query", "P", question, "--rho", "1"]) == 0
        assert note in capsys.readouterr().err
    diseases = "SELECT disease, COUNT(*) FROM people GROUP BY disease"
    assert run(["query", "P", diseases, "--rho", "1", "--delta", "1e-6"]) == 0
    assert "are withheld (threshold)" in capsys.readouterr().err
    assert run(["query", "P", diseases, "--rho", "2", "--delta", "9e-6"]) == 1
    assert statement(Session.open(folder / "P").ledger)["left"]["delta"] == 3e-6


def test_columns_may_be_words_of_sql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A German file has ages as `Alter`, which is a command of SQL; what cannot be read is told in our own words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kunden.csv").write_text("Alter,table\n30,a\n40,b\n", encoding="utf-8")
    number = 'role = "other"\ntype = "integer"\nbounds = [0, 99]\n'
    words = 'role = "other"\ntype = "category"\ncategories = ["a", "b"]\n'
    (tmp_path / "kunden.toml").write_text(f"[columns.Alter]\n{number}[columns.table]\n{words}", encoding="utf-8")
    create = ["budget", "create", "L", "--data", "kunden.csv", "--schema", "kunden.toml", "--deadline", "0"]
    assert run([*create, "--epsilon", "1"]) == 0
    question = "SELECT table, AVG(Alter) AS jahre FROM kunden WHERE Alter < 60 GROUP BY table"
    assert ask(question, "--epsilon", "0.1") == 0
    assert capsys.readouterr().out.splitlines()[-3].startswith("table,jahre")
    assert ask("SELECT COUNT(*) FROM kunden WHERE drop < 3", "--epsilon", "0.1") == 2
    said = capsys.readouterr().err
    assert "quote names that are words of SQL" in said
    assert "sqlglot" not in said
