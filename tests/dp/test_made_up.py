"""Rehearsals: made-up rows keep to the schema, look at nothing, and cost nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.made_up import MADE_UP, MOST_ROWS, made_up_frame
from sfumato.errors import BudgetExceeded, ParameterError, SfumatoError
from sfumato.promise.unit import ProtectPersons, ProtectRows

TEXT = """
[columns.person]
role = "identifier"
[columns.age]
role = "other"
type = "integer"
bounds = [16, 94]
[columns.cost]
role = "other"
type = "number"
bounds = [-2.5, 7.5]
decimal = ","
[columns.day]
role = "other"
type = "date"
bounds = ["2025-01-01", "2025-12-31"]
format = "%d.%m.%Y"
[columns.start]
role = "other"
type = "timestamp"
bounds = ["2025-01-01 00:00:00", "2025-01-02 00:00:00"]
[columns.level]
role = "other"
type = "ordinal"
categories = ["low", "high"]
[columns.words]
role = "other"
[columns.unbounded]
role = "other"
type = "integer"
"""
SCHEMA = sf.Schema.from_text(TEXT)
UNIT = ProtectPersons("person", rows=3, groups=2)


def test_every_cell_is_one_that_the_schema_allows() -> None:
    frame = made_up_frame(SCHEMA, UNIT, 2000)
    assert (frame["age"].min(), frame["age"].max()) == (16, 94)
    assert frame["cost"].is_between(-2.5, 7.5).all()
    assert frame["cost"].n_unique() > 1000
    assert (str(frame["day"].min()), str(frame["day"].max())) == ("2025-01-01", "2025-12-31")
    assert frame["start"].is_between(pl.datetime(2025, 1, 1), pl.datetime(2025, 1, 2)).all()
    assert set(frame["level"]) == {"low", "high"}
    assert frame["words"].str.starts_with("made up").all()
    assert frame["person"].n_unique() == 2000 // 6
    assert frame.equals(made_up_frame(SCHEMA, UNIT, 2000))


@pytest.mark.parametrize("rows", [0, -1, MOST_ROWS + 1, True])
def test_so_many_rows_are_not_made_up(rows: int) -> None:
    with pytest.raises(ParameterError, match="made up"):
        made_up_frame(SCHEMA, ProtectRows(), rows)


def session_of(folder: Path, rows: int = 40) -> sf.Session:
    """Return a session on rows that are all alike, so that looking at them would show."""
    frame = pl.DataFrame({"person": [f"p{n}" for n in range(rows)], "age": [20] * rows, "level": ["low"] * rows})
    text = TEXT.partition("[columns.cost]")[0] + '[columns.level]\nrole = "other"\ncategories = ["low", "high"]\n'
    path = folder / "people.csv"
    frame.write_csv(path)
    budget = sf.Budget(epsilon=1, delta="1e-6")
    return sf.Session.create(folder / "l", path, sf.Schema.from_text(text), budget, analysts={"ana": "0.5"})


def test_a_rehearsal_answers_about_nobody(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    (tmp_path / "people.csv").unlink()  # it needs no rows
    opened = sf.Session.open(tmp_path / "l")
    answer = opened.rehearse("SELECT level, COUNT(*), AVG(age) FROM people GROUP BY level", "0.9", analyst="ana")
    low, high = answer.rows["count"].to_list()
    assert abs(low - 500) < 200
    assert abs(high - 500) < 200
    assert answer.card.warnings[0] == MADE_UP
    assert answer.card.ledger is None
    assert str(answer.spent) == "nothing"
    assert str(answer.left.epsilon) == "0.5"
    assert session.ledger.spent == opened.ledger.spent
    assert list(opened.ledger.entries()) == []
    again = opened.rehearse("SELECT level, COUNT(*), AVG(age) FROM people GROUP BY level", "0.9", analyst="ana")
    assert not again.rows.equals(answer.rows)  # the noise is drawn anew


def test_a_rehearsal_arranges_and_finds_keys_as_an_answer_does(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    top = session.rehearse(sf.count().by("level").top(1), 5, analyst="ana", post=("nonnegative",), rows=200)
    assert top.rows.height == 1
    assert top.stored.postprocessing == ["nonnegative"]
    unknown = session.rehearse(sf.count().by("person"), 5, delta="1e-7", analyst="ana")
    assert unknown.stored.threshold is not None


def test_a_rehearsal_refuses_what_an_answer_refuses(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    for question in ("SELECT age FROM people", "SELECT COUNT(*) FROM people WHERE level = 'middle'"):
        with pytest.raises(SfumatoError):
            session.rehearse(question, 1, analyst="ana")
    with pytest.raises(ParameterError, match="price"):
        session.rehearse(sf.count(), 0, analyst="ana")
    with pytest.raises(BudgetExceeded):
        session.ask(sf.count(), 1, analyst="ana")
    assert session.rehearse(sf.count(), 1, analyst="ana").value is not None  # free, whatever is left


def test_several_tables_are_rehearsed_with_the_same_persons(tmp_path: Path) -> None:
    person = '[columns.member]\nrole = "identifier"\ntype = "integer"\n'
    loans = pl.DataFrame({"member": [1, 1, 2], "isbn": ["a", "b", "a"]})
    members = pl.DataFrame({"member": [1, 2], "age": [10, 30]})
    session = sf.Session.create(
        tmp_path / "library.ledger",
        {"loans": loans, "members": members},
        {
            "loans": sf.Schema.from_text(person + '[columns.isbn]\nrole = "other"\ncategories = ["a", "b"]\n'),
            "members": sf.Schema.from_text(
                person + '[columns.age]\nrole = "other"\ntype = "integer"\nbounds = [0, 9]\n'
            ),
        },
        sf.Budget(epsilon=9),
        protect="person:member:5:2",
        rows={"members": 1},
    )
    asked = sf.count().joined("members", on="member").by("isbn").of("loans")
    answer = session.rehearse(asked, 9)
    assert sum(answer.rows["count"].to_list()) > 300
    assert session.rehearse(sf.mean("age").of("members"), 9).rows.height == 1
