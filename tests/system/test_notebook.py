"""What Python shows of the main objects, and the kind of dataframe that comes out where pandas came in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.ledger.terms import Terms
from sfumato.schema import Attribute, Kind

ROLES = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
DECLARED = sf.Schema({"age": Attribute("age", sf.Role.OTHER, Kind.INTEGER, (0, 120))}, other="drop")


@pytest.fixture
def people() -> pd.DataFrame:
    """Made-up patients as pandas, with an index of their own."""
    frame = sf.samples.patients(60).to_dict(as_series=False)
    return pd.DataFrame(frame, index=[f"row {number}" for number in range(60)])


@pytest.fixture
def session(people: pd.DataFrame, tmp_path: Path) -> sf.Session:
    """A session over the pandas rows, without a deadline."""
    return sf.Session.create(tmp_path / "l", people[["age"]], DECLARED, sf.Budget(epsilon=1), terms=Terms(deadline=0))


def test_objects_show_themselves_in_one_short_line_and_never_raw_rows(
    people: pd.DataFrame, session: sf.Session
) -> None:
    table = sf.Table.from_frame(people)
    release = sf.Mondrian().anonymize(table, ROLES, [sf.KAnonymity(5)])
    answer = session.ask(sf.count(), epsilon="0.25")
    measures = sf.evaluate.check(release.table, ["age", "sex"], ["disease"])
    names = [str(name) for name in people["name"]]
    published: list[Any] = [release, release.card, release.card.audits[0], measures, answer]
    for one in [table, ROLES, session, session.ledger, *published]:
        line, page = repr(one), one._repr_html_()
        assert line.startswith(f"<{type(one).__name__}: ")
        assert "\n" not in line
        assert len(line) < 250
        assert page.startswith(f"<strong>{type(one).__name__}</strong><table>")
        assert not any(name in line + page for name in names)


def test_a_column_that_is_called_like_markup_is_escaped() -> None:
    assert "<b>" not in sf.Table(pl.DataFrame({"<b>": [1]}))._repr_html_()


def test_a_session_knows_its_budget_and_what_is_left(session: sf.Session) -> None:
    session.ask(sf.count(), epsilon="0.25")
    assert (str(session.budget.epsilon), str(session.left.epsilon)) == ("1", "0.75")


def test_pandas_comes_out_where_pandas_came_in(people: pd.DataFrame, session: sf.Session, tmp_path: Path) -> None:
    table = sf.Table.from_frame(people)
    release = sf.Mondrian().anonymize(table, ROLES, [sf.KAnonymity(5)])
    again = sf.republish(table, ROLES, [sf.KAnonymity(5), sf.LDiversity(2, "disease")], tmp_path / "history")
    answer = session.ask(sf.count(), epsilon="0.25")
    for frame in (release.frame, again.frame, answer.frame, answer.release().frame):
        assert type(frame) is pd.DataFrame
        assert list(frame.index) == list(range(len(frame)))  # rows are shuffled: the old index would undo that
    assert answer.frame["count"].dtype.kind == "i"
    opened = sf.Session.open(tmp_path / "l", data=people[["age"]])
    assert type(opened.ask(sf.count(), epsilon="0.25").frame) is pd.DataFrame


def test_polars_comes_out_of_files(tmp_path: Path) -> None:
    sf.samples.patients(60).select("age").write_csv(tmp_path / "in.csv")
    terms = Terms(deadline=0)
    session = sf.Session.create(tmp_path / "l", tmp_path / "in.csv", DECLARED, sf.Budget(epsilon=1), terms=terms)
    assert isinstance(session.ask(sf.count(), epsilon="0.25").frame, pl.DataFrame)
