"""Joins through a session: a library's tables, hostile public tables, and what a ledger must notice."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest

import sfumato as sf
from sfumato.dp.ledger import Ledger
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.joining import PrivateTables
from sfumato.dp.questions.query import Query
from sfumato.dp.session import Session
from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.promise import Cost, Neighbours, ProtectPersons, ProtectRows, Unit

HUGE = 10**6  # an ε at which the noise is 0 with overwhelming probability
MEMBERS = sf.Schema.from_text(
    """
[columns.member]
role = "identifier"
type = "integer"
[columns.age]
role = "other"
type = "integer"
bounds = [0, 120]
[columns.zip]
role = "other"
type = "category"
"""
)
CHECKOUTS = sf.Schema.from_text(
    """
[columns.member]
role = "identifier"
type = "integer"
[columns.isbn]
role = "other"
type = "category"
[columns.day]
role = "other"
type = "date"
bounds = [2024-01-01, 2024-12-31]
"""
)
SCHEMAS = {"checkouts": CHECKOUTS, "members": MEMBERS}
PEOPLE = pl.DataFrame({"member": [1, 2, 3, 4], "age": [10, 30, 50, 70], "zip": ["3000", "4000", "3000", "9999"]})
LOANS = pl.DataFrame(
    {
        "member": [1, 1, 1, 2, 2, 3, 5],
        "isbn": ["a", "b", "a", "b", "c", "x", "a"],
        "day": [dt.date(2024, month, 1) for month in (1, 1, 2, 3, 3, 4, 5)],
    }
)
BOOKS = pl.DataFrame({"isbn": ["a", "b", "c", "d"], "pages": [100, 200, 300, None]})
GENRES = pl.DataFrame({"isbn": ["a", "a", "b", "c"], "genre": ["crime", "love", "love", "war"]})
PLACES = pl.DataFrame({"zip": ["3000", "4000"], "town": ["Bern", "Basel"]})
PUBLIC = {"books": BOOKS, "places": PLACES, "genres": sf.PublicTable.of(GENRES, "genres", at_most=2)}
PERSON = "person:member:10:10"


def library(folder: Path, **options: Any) -> Session:
    LOANS.write_csv(folder / "checkouts.csv")
    PEOPLE.write_csv(folder / "members.csv")
    data = {name: folder / f"{name}.csv" for name in SCHEMAS}
    given = {"protect": PERSON, "terms": Terms(deadline=0, other_people=True), **options}
    return Session.create(folder / "L", data, SCHEMAS, sf.Budget(epsilon=10**9, delta="0.1"), **given)


def rounded(answer: sf.Answer) -> dict[Any, float]:
    frame = answer.frame
    return {row[0] if len(row) > 3 else "all": round(row[-3], 3) for row in frame.iter_rows()}


CASES: dict[str, dict[Any, float]] = {
    "SELECT COUNT(*) FROM members": {"all": 4},
    "SELECT COUNT(*) FROM checkouts": {"all": 7},
    "SELECT COUNT(*) FROM checkouts AS c WHERE c.member > 0": {"all": 7},
    "SELECT COUNT(DISTINCT member) FROM checkouts": {"all": 4},
    "SELECT COUNT(*) FROM checkouts JOIN members USING (member)": {"all": 6},
    "SELECT COUNT(*) FROM checkouts LEFT JOIN members ON checkouts.member = members.member WHERE age IS NULL": {
        "all": 1
    },
    "SELECT COUNT(*) FROM members LEFT JOIN checkouts USING (member) WHERE isbn IS NULL": {"all": 1},
    "SELECT SUM(age) FROM checkouts JOIN members USING (member) WHERE day < '2024-03-01'": {"all": 30},
    "SELECT town, COUNT(*) FROM members JOIN places USING (zip) GROUP BY town": {"Basel": 1, "Bern": 2},
    "SELECT SUM(pages) FROM checkouts JOIN books USING (isbn)": {"all": 1000},
    "SELECT COUNT(pages) FROM checkouts LEFT JOIN books USING (isbn)": {"all": 6},
    "SELECT genre, COUNT(*) FROM checkouts JOIN genres USING (isbn) GROUP BY genre": {"crime": 3, "love": 5, "war": 1},
    "SELECT genre, SUM(age) FROM checkouts JOIN members USING (member) JOIN genres USING (isbn) GROUP BY genre": {
        "crime": 20,
        "love": 60,
        "war": 30,
    },
    "SELECT town, SUM(pages) FROM checkouts JOIN members USING (member) JOIN places ON members.zip = places.zip "
    "JOIN books USING (isbn) GROUP BY town": {"Basel": 500, "Bern": 400},
}


@pytest.mark.parametrize("text", CASES)
def test_the_library_answers_questions_about_several_tables(tmp_path: Path, text: str) -> None:
    session = library(tmp_path)
    if not CASES[text]:
        with pytest.raises(InputError):
            session.sql(text, HUGE)
        return
    assert rounded(session.sql(text, HUGE, public=PUBLIC)) == CASES[text]


@pytest.fixture
def server(postgres: str) -> Any:
    """Both tables in PostgreSQL."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS library_members, library_checkouts")
        connection.execute("CREATE TABLE library_members (member integer, age integer, zip text)")
        connection.execute("CREATE TABLE library_checkouts (member integer, isbn text, day date)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO library_members VALUES (%s, %s, %s)", PEOPLE.rows())
            cursor.executemany("INSERT INTO library_checkouts VALUES (%s, %s, %s)", LOANS.rows())
        yield postgres, connection
        connection.execute("DROP TABLE library_members, library_checkouts")


def test_the_library_in_a_server_gives_the_same_answers(tmp_path: Path, server: Any) -> None:
    address, connection = server
    data = {name: f"{address}#library_{name}" for name in SCHEMAS}
    session = Session.create(
        tmp_path / "L", data, SCHEMAS, sf.Budget(epsilon=10**9), protect=PERSON, terms=Terms(deadline=0)
    )
    for text, wanted in CASES.items():
        if wanted:
            assert rounded(session.sql(text, HUGE, public=PUBLIC)) == wanted, text
    connection.execute("INSERT INTO library_members VALUES (9, 1, '1')")
    with pytest.raises(InputError, match="new-version"):
        session.sql("SELECT COUNT(*) FROM checkouts JOIN members USING (member) WHERE age > 1", HUGE)


def test_dataframes_are_tables_too_and_are_given_again(tmp_path: Path) -> None:
    frames = {"checkouts": LOANS, "members": PEOPLE}
    budget = sf.Budget(epsilon=10**9)
    Session.create(tmp_path / "L", frames, SCHEMAS, budget, protect=PERSON, terms=Terms(deadline=0))
    with pytest.raises(InputError, match="made for a dataframe"):
        Session.open(tmp_path / "L")
    with pytest.raises(InputError, match="no table 'people'"):
        Session.open(tmp_path / "L", data={"people": PEOPLE})
    session = Session.open(tmp_path / "L", data=frames)
    text = "SELECT COUNT(*) FROM checkouts JOIN members USING (member)"
    assert session.sql(text, HUGE).value == 6
    assert session.new_version({"members": PEOPLE.head(1)}) == 2
    assert session.sql(text, HUGE).value == 3
    assert session.sql("SELECT COUNT(*) FROM checkouts", HUGE).value == 7


def test_a_file_and_a_dataframe_are_joined(tmp_path: Path) -> None:
    LOANS.write_parquet(tmp_path / "checkouts.parquet")
    data = {"checkouts": tmp_path / "checkouts.parquet", "members": PEOPLE}
    session = Session.create(
        tmp_path / "L", data, SCHEMAS, sf.Budget(epsilon=10**9), protect=PERSON, terms=Terms(deadline=0)
    )
    assert session.sql("SELECT COUNT(*) FROM checkouts JOIN members USING (member)", HUGE).value == 6


def test_questions_about_any_table_are_paid_from_one_budget(tmp_path: Path) -> None:
    session = library(tmp_path)
    for text in ("SELECT COUNT(*) FROM members", "SELECT COUNT(*) FROM checkouts"):
        session.sql(text, 10)
    assert session.ledger.spent.epsilon == 20
    assert session.ask(sf.count().of("members"), 10).spent.epsilon == 0  # the same question, in Python
    card = session.ask(sf.count().joined("members", "member"), 10).card
    assert card.guarantee.unit == "person (member): at most 10 rows in each of at most 10 groups"
    assert "members" in card.released.settings["question"]


def test_the_card_names_the_public_table_and_its_hash(tmp_path: Path) -> None:
    PLACES.write_csv(tmp_path / "places.csv")
    session = library(tmp_path)
    text = "SELECT town, COUNT(*) FROM members JOIN places USING (zip) GROUP BY town"
    answer = session.sql(text, HUGE, public={"places": tmp_path / "places.csv"})
    digest = sf.PublicTable.of(tmp_path / "places.csv").digest
    assert digest in answer.card.released.settings["question"]
    assert any(digest in line and "public" in line for line in answer.card.assumptions)
    PLACES.head(1).write_csv(tmp_path / "places.csv")
    other = session.sql(text, HUGE, public={"places": tmp_path / "places.csv"})
    assert other.spent.epsilon == HUGE  # another content is another question
    assert other.frame.height == 1


# What is refused.


def ask(session: Session, query: Query) -> str:
    with pytest.raises(SfumatoError) as caught:
        session.ask(query, 1)
    assert session.ledger.spent == Cost()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def public(**columns: Any) -> sf.PublicTable:
    return sf.PublicTable.of(pl.DataFrame(columns), "others")


@pytest.mark.parametrize(
    "table, on, sentence",
    [
        (public(zip=["3000", "3000"], town=["a", "b"]), "zip", "up to 2 rows for one value of zip"),
        (public(age=["ten"], town=["a"]), "age", "1 cells of column 'age' are no integer"),
        (public(age=[dt.date(2024, 1, 1)], town=["a"]), "age", "holds dates"),
        (public(zip=["3000"], age=[3]), "zip", "column 'age' is in 'others' and in the rows before"),
        (public(zip=["3000"]), "town", "column 'town' is not in the schema"),
        (public(code=["3000"]), "zip", "has no column 'zip'"),
        (public(zip=["3000"], town=["a\0b"]), "zip", "NUL"),
        (public(zip=["3000"], town=["a" * 2000]), "zip", "more than 1000 characters"),
        (public(zip=["3000"]), [], "names no column"),
        ("nobody", "member", "there is no table 'nobody'"),
        ("members", "member", "stands twice"),
        ("checkouts", [("zip", "isbn")], "leaves out the person's column 'member'"),
        ("checkouts", [("age", "member")], "leaves out the person's column 'member'"),
        ("checkouts", ["member", ("age", "day")], "two types: 'age' is integer and 'day' of 'checkouts' is date"),
    ],
)
def test_a_join_that_is_not_covered_is_refused_before_it_is_paid(
    tmp_path: Path, table: Any, on: Any, sentence: str
) -> None:
    assert sentence in ask(library(tmp_path), sf.count().of("members").joined(table, on))


@pytest.mark.parametrize("most", [0, -1, 1001, True])
def test_a_bound_of_matches_is_a_number(tmp_path: Path, most: int) -> None:
    asked = sf.count().of("members").joined(public(zip=["3000"]), "zip", at_most=most)
    assert "give a whole number from 1 to 1000" in ask(library(tmp_path), asked)


def test_private_joins_need_persons_and_several_tables(tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "members.csv")
    session = Session.create(tmp_path / "L", tmp_path / "members.csv", MEMBERS, sf.Budget(epsilon=9))
    assert "the ledger has one table, and 'checkouts' is another" in ask(
        session, sf.count().joined("checkouts", "member")
    )
    tables = PrivateTables(SCHEMAS)
    with pytest.raises(ParameterError, match="the budget protects rows, and one row of 'members'"):
        compile_query(sf.count().joined("members", "member"), CHECKOUTS, ProtectRows(), Neighbours.PRESENCE, tables)
    data = dict.fromkeys(SCHEMAS, PEOPLE)
    with pytest.raises(ParameterError, match="the budget protects rows and has 2 tables"):
        Session.create(tmp_path / "M", data, SCHEMAS, sf.Budget(epsilon=9))


def test_missing_keys_match_nothing_and_are_no_copies(tmp_path: Path) -> None:
    table = sf.PublicTable.of(pl.DataFrame({"zip": ["3000", None, "", "NA"], "town": ["a", "b", "c", "d"]}), "places")
    session = library(tmp_path)
    assert session.ask(sf.count().of("members").joined(table, "zip"), HUGE).value == 2


def test_a_million_keys_are_joined_and_no_more(tmp_path: Path) -> None:
    keys = pl.Series("zip", range(10**6)).cast(pl.String)
    table = sf.PublicTable.of(pl.DataFrame({"zip": keys, "size": range(10**6)}), "places")
    session = library(tmp_path)
    begun = time.monotonic()
    assert session.ask(sf.sum("size").of("members").joined(table, "zip"), 10**8).value == 3000 + 4000 + 3000 + 9999
    assert time.monotonic() - begun < 60
    with pytest.raises(InputError, match="at most 1000000 are joined"):
        sf.PublicTable.of(pl.DataFrame({"zip": range(10**6 + 1)}), "places")


@pytest.mark.parametrize(
    "data, schemas, sentence",
    [
        ({"a": LOANS, "A": PEOPLE}, {"a": CHECKOUTS, "A": MEMBERS}, "two tables have one name"),
        ({"a": LOANS, "b": LOANS}, {"a": CHECKOUTS, "b": CHECKOUTS}, "have the same rows"),
        ({"a": LOANS, "b": PEOPLE}, {"a": CHECKOUTS}, "the table 'b' has no schema"),
        ({}, {}, "0 tables"),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(tmp_path: Path, data: Any, schemas: Any, sentence: str) -> None:
    with pytest.raises(SfumatoError, match=sentence):
        Session.create(tmp_path / "L", data, schemas, sf.Budget(epsilon=1), protect=PERSON)
    assert not (tmp_path / "L").exists()


def test_the_person_is_declared_alike_in_all_tables(tmp_path: Path) -> None:
    other = sf.Schema.from_text('[columns.member]\nrole = "identifier"\n')
    with pytest.raises(InputError, match="'member' has several types"):
        Session.create(
            tmp_path / "L",
            {"a": LOANS, "b": PEOPLE},
            {"a": CHECKOUTS, "b": other},
            sf.Budget(epsilon=1),
            protect=PERSON,
        )


def test_a_second_ledger_over_any_of_the_tables_is_refused(tmp_path: Path) -> None:
    session = library(tmp_path, terms=Terms(deadline=0))
    assert session.table == "checkouts"
    with pytest.raises(InputError, match="knows these rows already"):
        Session.create(tmp_path / "M", tmp_path / "members.csv", MEMBERS, sf.Budget(epsilon=1))
    PEOPLE.head(2).write_csv(tmp_path / "some.csv")
    data = {"some": tmp_path / "some.csv", "loans": tmp_path / "checkouts.csv"}
    with pytest.raises(InputError, match="knows these rows already"):
        Session.create(
            tmp_path / "M", data, {"some": MEMBERS, "loans": CHECKOUTS}, sf.Budget(epsilon=1), protect=PERSON
        )


# What is hashed is what is joined.


def after_the_debit(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    true_debit = Ledger.debit

    def debit(self: Ledger, *arguments: Any, **options: Any) -> Any:
        entry = true_debit(self, *arguments, **options)
        change()
        return entry

    monkeypatch.setattr(Ledger, "debit", debit)


JOINED = "SELECT COUNT(*) FROM checkouts JOIN members USING (member)"


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_a_table_replaced_after_the_hash_is_not_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    session = library(tmp_path)
    other = tmp_path / "other.csv"
    (LOANS if name == "checkouts" else PEOPLE).head(1).write_csv(other)
    after_the_debit(monkeypatch, lambda: other.replace(tmp_path / f"{name}.csv"))
    try:
        assert session.sql(JOINED, HUGE).value == 6  # the files that were hashed
    except InputError as error:
        assert "changed while it was read" in str(error)  # noqa: PT017  # either is right
    with pytest.raises(InputError, match="new-version"):
        session.sql(JOINED, HUGE + 1)


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_a_table_written_while_it_is_joined_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    session = library(tmp_path)
    path = tmp_path / f"{name}.csv"
    after_the_debit(monkeypatch, lambda: path.write_text(path.read_text() + path.read_text().splitlines()[1]))
    with pytest.raises(InputError, match="changed while it was read"):
        session.sql(JOINED, HUGE)


def test_a_question_about_one_table_does_not_look_at_the_others(tmp_path: Path) -> None:
    session = library(tmp_path)
    (tmp_path / "members.csv").unlink()
    assert session.sql("SELECT COUNT(*) FROM checkouts", HUGE).value == 7
    with pytest.raises(InputError, match=r"check that it is still there|does not exist"):
        session.sql(JOINED, HUGE)


def test_a_join_reads_no_other_file(tmp_path: Path) -> None:
    """The database of a join opens the files of its tables, and nothing else."""
    session = library(tmp_path)
    session.sql(JOINED, HUGE)
    assert session.rows.together.joint is not None
    _, joint = session.rows.together.joint
    with pytest.raises(InputError, match="could not be read"):
        joint._execute(f"SELECT * FROM read_csv('{tmp_path / 'L'}')", {})  # noqa: S608  # a test's own words


# What a join promises.


def compiled(query: Query, unit: Unit, neighbours: Neighbours = Neighbours.PRESENCE) -> Compiled:
    tables = PrivateTables(SCHEMAS) if isinstance(unit, ProtectPersons) else PrivateTables()
    return compile_query(query, CHECKOUTS, unit, neighbours, tables)


GENRE = sf.PublicTable.of(GENRES, "genres", at_most=2)
PROMISES = {
    "one": sf.count().joined(GENRE, "isbn"),
    "by": sf.count().joined(GENRE, "isbn").by("genre"),
    "sum": sf.sum("pages").joined(GENRE, "isbn").joined(sf.PublicTable.of(BOOKS, "books"), "isbn"),
    "median": sf.median("pages").joined(GENRE, "isbn").joined(sf.PublicTable.of(BOOKS, "books"), "isbn").by("genre"),
    "found": sf.count().joined(GENRE, "isbn").by("isbn"),
}


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("name", PROMISES)
def test_copies_are_paid_for_where_rows_are_protected(name: str, neighbours: Neighbours) -> None:
    from sfumato.dp.promised import question_promise

    price = Cost(epsilon="0.3", delta="0.001" if name == "found" else "0")
    asked = compiled(PROMISES[name], ProtectRows(3), neighbours)
    assert asked.norms.rows == 6
    assert question_promise(asked, price).cost == price
    persons = compiled(PROMISES[name], ProtectPersons("member", 4, 2), neighbours)
    assert persons.norms.rows == 4
    assert question_promise(persons, price).cost == price


def test_noise_that_forgets_the_copies_cannot_be_sold(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.dp.promised import question_promise

    monkeypatch.setattr("sfumato.dp.questions.compiled.copies_of", lambda *_: 1)
    with pytest.raises(ParameterError, match="more than its price"):
        question_promise(compiled(PROMISES["one"], ProtectRows()), Cost(epsilon=1))


def test_a_private_join_promises_a_row_what_its_person_costs_twice() -> None:
    """A row more is a person less with the old rows, and one more with the new ones."""
    from sfumato.dp.promised import question_promise

    promise = question_promise(
        compiled(sf.count().joined("members", "member"), ProtectPersons("member", 4, 2)), Cost(epsilon=1)
    )
    assert promise.cost == Cost(epsilon=1)
    assert promise.cost_for(ProtectRows(), Neighbours.PRESENCE) == Cost(epsilon=2)


def test_the_text_of_a_question_names_its_tables_and_every_bound() -> None:
    unit = ProtectPersons("member", 4, 2)
    texts = {
        compiled(sf.count(), unit).text,
        compiled(sf.count().of("members"), unit).text,
        compiled(sf.count().joined("members", "member"), unit).text,
        compiled(sf.count().joined("members", "member", how="left"), unit).text,
        compiled(sf.count().joined(GENRE, "isbn"), unit).text,
        compiled(sf.count().joined(GENRE, "isbn", at_most=3), unit).text,
        compiled(sf.count().joined(GENRE, "isbn", how="left"), unit).text,
        compile_query(
            sf.count().joined("members", "member"),
            CHECKOUTS,
            unit,
            Neighbours.PRESENCE,
            PrivateTables(SCHEMAS, {"members": 1}),
        ).text,
    }
    assert len(texts) == 8
    assert compile_query(sf.count(), CHECKOUTS, unit, Neighbours.PRESENCE).text.startswith('{"aggregates"')


def test_questions_declared_together_pay_for_copies_and_read_the_same_tables(tmp_path: Path) -> None:
    from sfumato.dp.batch import mechanisms_together

    price = Cost(epsilon=1, delta="1e-6")
    plain, joined = (compiled(asked, ProtectRows()) for asked in (sf.count(), PROMISES["one"]))
    one, two = mechanisms_together([plain, plain], price), mechanisms_together([joined, joined], price)
    assert two[0].scale == pytest.approx(2 * one[0].scale, rel=0.01)  # type: ignore[attr-defined]
    session = library(tmp_path)
    with pytest.raises(ParameterError, match="read different tables"):
        session.ask_together([sf.count(), sf.count().of("members")], 1, "1e-6")
    older = sf.count().joined("members", "member").where("age > 20")
    answers = session.ask_together([sf.count().joined("members", "member"), older], 100, "1e-6")
    assert [answer.value for answer in answers] == pytest.approx([6, 3], abs=4)  # the noise has a scale below 1/2
