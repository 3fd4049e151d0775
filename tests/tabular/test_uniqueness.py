"""Columns released as they are that single people out: refused in every algorithm, accepted by name, told first."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.main import run
from sfumato.errors import SchemaError
from sfumato.report import table_report
from sfumato.schema import Attribute, Coarsening, Kind, Role, Schema
from sfumato.schema.separation import distinctness
from sfumato.table import Table
from sfumato.tabular import Anonymizer

ROWS = 120
ASKED = ["--quasi", "age,sex", "--sensitive", "disease", "--k", "5"]


def people() -> pl.DataFrame:
    draw = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "age": draw.integers(20, 60, ROWS),
            "sex": draw.choice(["F", "M"], ROWS),
            "disease": draw.choice(["flu", "gout", "cold"], ROWS),
            "mrn": draw.permutation(ROWS) + 10_000,
            "note": [f"seen by doctor {number}" for number in range(ROWS)],
            "cost": draw.lognormal(7, 0.6, ROWS).round(2),
            "ward": draw.choice(["a", "b", "c"], ROWS),
        }
    )


@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 6)), max_size=30))
def test_distinctness_is_what_counting_says(rows: list[tuple[int | None, int]]) -> None:
    values = pl.Series([None if value is None else str(value) for value, _ in rows], dtype=pl.String)
    present = [value for value, _ in rows if value is not None]
    found = distinctness(values)
    assert (found.cells, found.distinct) == (len(present), len(set(present)))
    assert found.alone == sum(count == 1 for count in Counter(present).values())
    by_person = distinctness(values, person=np.array([person for _, person in rows], dtype=np.int64))
    pairs = {(value, person) for value, person in rows if value is not None}
    owners = Counter(value for value, _ in pairs)
    assert by_person.units == len({person for _, person in pairs})
    assert by_person.alone == len({person for value, person in pairs if owners[value] == 1})


@pytest.mark.parametrize("column", ["mrn", "note"])
def test_other_columns_that_single_out_are_refused_until_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    people().select("age", "sex", "disease", "ward", column).write_csv(source)
    command = ["anonymize", str(source), "-o", str(out), *ASKED, "--other", "keep"]
    assert run(command) == 2
    said = capsys.readouterr().err
    assert f"column '{column}' would be released as it is and has 120 distinct values, 120 of 120 rows alone" in said
    assert f"accept it with --accept-unique {column}" in said
    assert not out.exists()
    assert run([*command, "--accept-unique", column, "--report", str(tmp_path / "report.html")]) == 0
    card = json.loads((tmp_path / "out.csv.card.json").read_text(encoding="utf-8"))
    assert card["warnings"][0].startswith(f"column '{column}' singles people out and was accepted")
    assert "singles people out and was accepted" in (tmp_path / "report.html").read_text(encoding="utf-8")
    capsys.readouterr()


def test_the_schema_accepts_too_and_survives_its_file() -> None:
    text = '[columns.mrn]\nrole = "other"\naccept_unique = true\n'
    schema = Schema.from_text(text)
    assert schema.columns["mrn"].accept_unique
    assert Schema.from_text(schema.to_toml()) == schema
    with pytest.raises(SchemaError, match="column 'mrn': accept_unique must be true or false; found 1"):
        Schema.from_text(text.replace("true", "1"))
    assert Schema.from_roles(quasi=["age"], other="keep", accept_unique=["mrn"]).columns["mrn"].role is Role.OTHER
    with pytest.raises(SchemaError, match="column 'mrn' has no role"):
        Schema.from_roles(quasi=["age"], accept_unique=["mrn"])


@pytest.mark.parametrize(
    "algorithm", [sf.Mondrian(), sf.Datafly(), sf.Incognito(), sf.MDAV()], ids=lambda one: one.algorithm
)
def test_every_algorithm_refuses(algorithm: Anonymizer) -> None:
    table = Table(people().select("age", "disease", "mrn"))
    schema = Schema.from_roles(quasi=["age"], sensitive=["disease"], other="keep")
    with pytest.raises(SchemaError, match="--accept-unique mrn"):
        algorithm.anonymize(table, schema, [sf.KAnonymity(5)])
    accepted = schema.accepting(["mrn"])
    assert "was accepted" in algorithm.anonymize(table, accepted, [sf.KAnonymity(5)]).card.warnings[0]


def test_republish_and_anatomy_refuse(tmp_path: Path) -> None:
    table = Table(people().select("age", "disease", "mrn"))
    schema = Schema.from_roles(quasi=["age"], sensitive=["disease"], other="keep")
    models = [sf.LDiversity(2, "disease")]
    with pytest.raises(SchemaError, match="--accept-unique mrn"):
        sf.republish(table, schema, models, tmp_path / "series")
    with pytest.raises(SchemaError, match="--accept-unique mrn"):
        sf.Anatomy().anonymize(table, schema, models)


def test_a_sensitive_text_that_singles_out_is_refused_and_a_sensitive_number_warned_of() -> None:
    models = [sf.KAnonymity(5)]
    with pytest.raises(SchemaError, match="column 'note' would be released as it is"):
        sf.Mondrian().anonymize(
            Table(people().select("age", "note")), Schema.from_roles(quasi=["age"], sensitive=["note"]), models
        )
    table, schema = Table(people().select("age", "cost")), Schema.from_roles(quasi=["age"], sensitive=["cost"])
    release = sf.Mondrian().anonymize(table, schema, models)
    warning = release.card.warnings[0]
    assert warning.startswith("sensitive column 'cost' singles people out (120 distinct values, 120 of 120 rows alone")
    assert "l-diversity protects nobody where all values differ" in warning
    rule = Schema.from_text(f'[columns.cost]\nrole = "sensitive"\n{warning.rpartition("for example ")[2]}\n')
    assert "singles people out" in table_report(table, schema, release)
    coarse = rule.columns["cost"].coarsen
    assert isinstance(coarse, Coarsening)
    quiet = sf.Mondrian().anonymize(table, schema.with_coarsening("cost", coarse), models)
    assert not any("singles people out" in text for text in quiet.card.warnings)


def test_half_of_the_values_twice_still_single_the_others_out() -> None:
    weights = [10_000 + number for number in range(60)] + [20_000 + number // 2 for number in range(60)]
    table = Table(people().select("age").with_columns(pl.Series("fnlwgt", weights)))
    with pytest.raises(SchemaError, match="90 distinct values, 60 of 120 rows alone with theirs"):
        sf.Mondrian().anonymize(table, Schema.from_roles(quasi=["age"], other="keep"), [sf.KAnonymity(5)])


def test_persons_are_counted_where_they_have_several_rows() -> None:
    rows = pl.DataFrame({"id": [number // 4 for number in range(ROWS)], "age": people()["age"]})
    rows = rows.with_columns(pl.Series("card", [f"c{number // 4}" for number in range(ROWS)]))
    schema = Schema.from_roles(quasi=["age"], person="id", other="keep")
    with pytest.raises(SchemaError, match="30 distinct values, 30 of 30 persons alone with theirs"):
        sf.Mondrian().anonymize(Table(rows), schema, [sf.KAnonymity(5)])


def test_few_rows_and_repeating_values_are_no_reason() -> None:
    schema = Schema.from_roles(quasi=["age"], other="keep")
    for table in (Table(people().select("age", "mrn").head(19)), Table(people().select("age", "ward"))):
        card = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(2)]).card
        assert not any("singles" in text for text in card.warnings)


def test_a_private_table_prints_the_same_whatever_its_rows_hold() -> None:
    """Nothing about uniqueness may leave a differentially private release: it would tell about the rows."""
    attribute = Attribute("cost", Role.SENSITIVE, Kind.NUMBER, bounds=(0, 100_000))
    table = Table(people().select("cost"))
    release = sf.PrivateMondrian(epsilon=1).anonymize(table, Schema({"cost": attribute}), audit=False)
    assert release.card.warnings == []
