"""Nothing happens silently to a table: rows added, withheld and starred are told where people look, in true numbers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.table import samples

SEED = 20240715
ADULT = ["--quasi", "age,sex", "--sensitive", "income", "--person", "id", "--other", "drop"]
INVARIANT = [*ADULT, "--l", "2", "--layer", "m-invariance", "--history", "h"]
PRIVATE = """other = "drop"
[columns.age]
role = "quasi"
type = "integer"
bounds = [0, 60]
"""


def adults(rows: int = 400) -> pl.DataFrame:
    """People like those of Adult: 24 in 100 earn more than 50K."""
    draw = random.Random(SEED)  # noqa: S311  # made-up people
    return pl.DataFrame(
        {
            "id": [f"P{number}" for number in range(rows)],
            "age": [draw.randint(17, 90) for _ in range(rows)],
            "sex": [draw.choice(["F", "M"]) for _ in range(rows)],
            "income": [">50K" if number % 25 < 6 else "<=50K" for number in range(rows)],
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    adults().write_csv("in.csv")
    return tmp_path


def card_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{name}.card.json").read_text(encoding="utf-8"))
    return found


def said(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int = 0) -> str:
    capsys.readouterr()
    assert run(arguments) == code
    found = capsys.readouterr()
    return found.out if code == 0 else found.err


@pytest.mark.usefixtures("folder")
def test_counterfeits_are_told_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, ["republish", "in.csv", "-o", "out.csv", *INVARIANT, "--report", "r.html"])
    released = pl.read_csv("out.csv", infer_schema=False)
    added = released.height - 400
    share = 100 * int((released["income"] == ">50K").sum()) / released.height
    assert added > 100
    assert f"400 rows read: 0 withheld, 400 released; {added} rows added that belong to nobody" in out
    assert f"income: '>50K' has 24.0 % of the rows read and {share:.1f} % of the released rows (for the steward)" in out
    sentence = f"{added} of {released.height} rows were added that belong to nobody (counterfeits)."
    assert any(sentence in change for change in card_of("out.csv")["changes"])
    assert sentence in " ".join(Path("out.csv.statement.txt").read_text().split())
    page = Path("r.html").read_text()
    assert f"{added} rows added that belong to nobody" in page
    assert "-" + str(added) not in page
    assert "−" + str(added) not in page
    assert "24.0 %" in page


@pytest.mark.usefixtures("folder")
def test_starred_rows_are_told_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["--quasi", "age,sex", "--sensitive", "income", "--identifier", "id", "--k", "6"]
    arguments = ["anonymize", "in.csv", "-o", "out.csv", *roles, "--algorithm", "optimal", "--suppress", "0.3"]
    out = said(capsys, [*arguments, "--report", "r.html"])
    released = pl.read_csv("out.csv", infer_schema=False)
    starred = released.filter((pl.col("age") == "*") & (pl.col("sex") == "*")).height
    assert starred > 3
    sentence = f"{starred} of 400 rows have every quasi-identifier replaced by *."
    assert sentence in out
    assert f"{starred} released with every quasi-identifier as *" in out
    assert sentence in card_of("out.csv")["changes"]
    page = Path("r.html").read_text()
    assert sentence in page
    assert "All 400 rows were released" not in page


@pytest.mark.usefixtures("folder")
def test_withheld_rows_are_counted_for_the_steward_alone(capsys: pytest.CaptureFixture[str]) -> None:
    adults().with_columns(age=pl.when(pl.col("id") == "P7").then(999).otherwise(pl.col("age") // 30)).write_csv(
        "one.csv"
    )
    roles = ["--quasi", "age", "--sensitive", "income", "--identifier", "id", "--other", "drop", "--k", "3"]
    arguments = ["anonymize", "one.csv", "-o", "out.csv", *roles, "--algorithm", "optimal", "--suppress", "0.01"]
    out = said(capsys, [*arguments, "--report", "r.html"])
    assert "400 rows read: 1 withheld, 399 released" in out
    assert any("Some rows were withheld" in change for change in card_of("out.csv")["changes"])
    assert "400" not in Path("out.csv.card.json").read_text().replace("0.400", "")
    assert "400 rows read: 1 withheld" in Path("r.html").read_text()


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.usefixtures("folder")
def test_what_a_private_table_left_out_is_not_on_standard_output(
    capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    Path("s.toml").write_text(PRIVATE)
    outside = int((adults()["age"] > 60).sum())
    private = ["--schema", "s.toml", "--algorithm", "private-mondrian", "--epsilon", "1"]
    assert run(["anonymize", "in.csv", "-o", "o.csv", *private, *more]) == 0
    found = capsys.readouterr()
    assert f"rows not counted (for the steward): {outside}" in found.err
    assert "steward" not in found.out
    assert "rows_not_counted" not in found.out
    assert "How many is not told." in found.out


@pytest.mark.usefixtures("folder")
def test_changed_incomes_are_refused_by_name(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    swapped = pl.when(pl.col("income") == ">50K").then(pl.lit("<=50K")).otherwise(pl.lit(">50K"))
    later = adults().with_columns(income=pl.when(pl.col("id").is_in(["P3", "P9"])).then(swapped).otherwise("income"))
    later.write_csv("later.csv")
    for layer, needed in (("bpg", ["--k", "4"]), ("m-invariance", [])):
        common = [*ADULT, "--l", "2", "--layer", layer, *needed, "--history", layer]
        said(capsys, ["republish", "in.csv", *common])
        before = sorted(file.name for file in (folder / layer).iterdir())
        err = said(capsys, ["republish", "later.csv", *common], code=2)
        assert "2 of 400 persons published before have other values of income now, the first is 'P3'" in err
        assert sorted(file.name for file in (folder / layer).iterdir()) == before
        out = said(capsys, ["republish", "later.csv", "-o", f"{layer}.csv", *common, "--changed", "warn"])
        assert "2 persons have other sensitive values than before (for the steward)" in out
        assert "warning: sensitive values of some persons have changed" in out
        assert any("some persons have changed" in warning for warning in card_of(f"{layer}.csv")["warnings"])


@pytest.mark.usefixtures("folder")
def test_who_came_and_went_is_told_to_the_steward(capsys: pytest.CaptureFixture[str]) -> None:
    adults().tail(380).vstack(adults(420).tail(20)).write_csv("later.csv")
    common = [*ADULT, "--l", "2", "--k", "4", "--history", "h"]
    said(capsys, ["republish", "in.csv", *common])
    out = said(capsys, ["republish", "later.csv", *common])
    assert "20 of 400 persons of earlier releases are not in this table, 20 are new (for the steward)" in out


@pytest.mark.usefixtures("folder")
def test_a_series_without_persons_says_that_nobody_checked(capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["--quasi", "age,sex", "--sensitive", "income", "--other", "drop", "--l", "2", "--k", "4", "--history", "h"]
    assert "no column names the persons, so nobody checked" in said(capsys, ["republish", "in.csv", *roles])


@pytest.mark.usefixtures("folder")
def test_a_series_with_other_columns_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["--quasi", "age,sex", "--sensitive", "income", "--l", "2", "--k", "4", "--history", "h"]
    said(capsys, ["republish", "in.csv", *roles, "--other", "drop"])
    err = said(capsys, ["republish", "in.csv", *roles, "--other", "keep", "--accept-unique", "id"], code=2)
    assert "has releases with the columns age, sex, income; found id, age, sex, income" in err
    assert not Path("h/release-0002.csv").exists()


@pytest.mark.usefixtures("folder")
def test_identifiers_that_repeat_are_named_where_one_row_each_is_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    twice = adults().with_columns(id=pl.Series([f"P{number // 2}" for number in range(400)]))
    twice.write_csv("twice.csv")
    roles = ["--quasi", "age,sex", "--sensitive", "income", "--k", "4"]
    out = said(capsys, ["anonymize", "twice.csv", "-o", "a.csv", *roles, "--identifier", "id"])
    assert "no identifier differs in every row (id)" in out
    out = said(capsys, ["anonymize", "twice.csv", "-o", "b.csv", *roles, "--person", "id", "--other", "drop"])
    assert "no identifier differs" not in out
    out = said(capsys, ["anonymize", "in.csv", "-o", "c.csv", *roles, "--identifier", "id"])
    assert "no identifier differs" not in out


def test_every_anonymizer_says_what_became_of_the_rows() -> None:
    """Rows in − withheld + added = rows out, for every registered one; stars are counted again from the table."""
    from sfumato import plugins
    from sfumato.release.row_counts import RowCounts
    from sfumato.tabular import Anonymizer, MaskingAnonymizer, PrivateAnonymizer

    table = sf.Table.from_frame(samples.patients(120))
    every = plugins.every("anonymizers", Anonymizer)
    assert len(every) > 8
    for name, kind in every.items():
        if issubclass(kind, PrivateAnonymizer | MaskingAnonymizer):  # the latter's suite counts their rows
            continue
        models = [sf.LDiversity(2, "disease")] if name == "anatomy" else [sf.KAnonymity(5)]
        quasi = ["age"] if name == "univariate" else ["age", "sex"]
        schema = sf.Schema.from_roles(quasi=quasi, sensitive=["disease"], identifier=["name"], other="drop")
        for chosen in kind.sample():
            release = chosen.anonymize(table, schema, models)
            frame = release.table.frame.with_columns(pl.all().cast(pl.String))
            whole = set(quasi) <= set(frame.columns)  # limits in two columns show no star
            starred = frame.filter(pl.all_horizontal(pl.col(quasi) == "*")).height if whole else 0
            counts = RowCounts.of(release.card, release.steward, read=120)
            assert counts.withheld == 120 - frame.height, name
            assert counts.words.startswith(f"120 rows read: {120 - frame.height} withheld, {frame.height} released")
            told = [change for change in release.card.changes if "every quasi-identifier replaced by *" in change]
            expected = [f"{starred} of {frame.height} rows have every quasi-identifier replaced by *."]
            assert told == (expected if starred else []), name
            assert any("left out" in change for change in release.card.changes), name
            assert any(change.startswith(f"{', '.join(quasi)}:") for change in release.card.changes), name


@pytest.mark.usefixtures("folder")
def test_a_second_table_of_the_same_people_breaks_the_assumption_that_it_is_the_only_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("s.toml").write_text(PRIVATE)
    assert run(["budget", "create", "l", "--data", "in.csv", "--schema", "s.toml", "--epsilon", "1"]) == 0
    roles = ["--quasi", "age,sex", "--sensitive", "income", "--other", "drop", "--ledger", "l"]
    said(capsys, ["anonymize", "in.csv", "-o", "a.csv", *roles, "--k", "4"])
    assert not any("other release" in warning for warning in card_of("a.csv")["warnings"])
    said(capsys, ["anonymize", "in.csv", "-o", "again.csv", *roles, "--k", "4"])
    assert not any("other release" in warning for warning in card_of("again.csv")["warnings"])
    out = said(capsys, ["anonymize", "in.csv", "-o", "b.csv", *roles, "--k", "5"])
    assert "the account lists 1 other release of these persons outside its bound" in out
