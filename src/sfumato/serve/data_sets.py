"""Data sets of a curator: registered by a steward with a schema, a budget and a share for each analyst.

A data set is a folder with its rows and its ledger, which names its analysts (`sfumato.dp.ledger.shares`), so that the
ledger refuses whoever has no share even where this server would not.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from sfumato.client.wire import ColumnReply, DataSetReply, TableReply
from sfumato.dp.dataset import facts_by_table
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import InputError
from sfumato.promise.cost import amount
from sfumato.promise.unit import read_unit
from sfumato.schema import Schema
from sfumato.schema.attribute import Bound
from sfumato.serve import acts
from sfumato.serve.accounts import Role, find_account
from sfumato.serve.api.types import DataSetBody, RegisteredReply
from sfumato.serve.home import LEDGER, Home
from sfumato.serve.names import data_set_name, file_name, inside
from sfumato.serve.problems import Problem
from sfumato.serve.work import jobs
from sfumato.serve.work.crew import Crew


def register(home: Home, crew: Crew, body: DataSetBody, by: str) -> RegisteredReply:
    """Make the ledger of an uploaded file, in a worker that reads all rows once, and let its analysts ask."""
    name, file = data_set_name(body.name), file_name(body.file)
    shares = {analyst: str(amount(share)) for analyst, share in body.shares.items()}
    with home.database.reading() as book:
        _refuse_strangers(book, shares)
    declared = _declaration(body, shares)
    with _new_folder(home, name, file) as (folder, rows):
        job = jobs.Register(str(folder / LEDGER), str(rows), declared)
        outcome = crew.do(job, by)
        if isinstance(outcome, jobs.Refused):
            raise Problem("broken" if outcome.kind == "broken" else "input", outcome.sentence)
        with home.database.writing() as book:
            _refuse_strangers(book, shares)
            book.execute("INSERT INTO data_set (name, registered) VALUES (?, ?)", (name, acts.now()))
            pairs = [(name, analyst) for analyst in shares]
            book.executemany("INSERT INTO access (data_set, account) VALUES (?, ?)", pairs)
            about = {"data_set": name, "file": file, "epsilon": declared.epsilon, "analysts": sorted(shares)}
            acts.record(book, by, "registered a data set", about)
    (home.files / file).unlink(missing_ok=True)
    return RegisteredReply(name, msgspec.json.decode(outcome.reply)["notes"])


def _declaration(body: DataSetBody, shares: dict[str, str]) -> jobs.Declaration:
    _refuse_files(body.schema)
    Schema.from_text(body.schema)
    return jobs.Declaration(
        schema=body.schema,
        epsilon=str(amount(body.epsilon)),
        delta=str(amount(body.delta)),
        delta_keys=str(amount(body.delta_keys)),
        accountant=body.accountant,
        protect=body.protect,
        neighbours=body.neighbours,
        deadline=body.deadline,
        population=body.population,
        other_people=body.other_people,
        shares=shares,
    )


def _refuse_files(schema: str) -> None:
    """Refuse a schema that names files of this machine: hierarchies are listed in it, or are not there."""
    try:
        columns = tomllib.loads(schema).get("columns", {})
    except (ValueError, RecursionError):
        return  # the schema's own reader says it better
    entries = columns.items() if isinstance(columns, dict) else ()
    for name, entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("hierarchy"), str):
            raise InputError(f"column '{name}' names a file of hierarchies; list its categories in the schema")


def _refuse_strangers(book: sqlite3.Connection, shares: dict[str, str]) -> None:
    for name in shares:
        found = find_account(book, name)
        if found is None or found.closed is not None or found.role is not Role.ANALYST:
            raise InputError(f"'{name}' is no open account of an analyst; open one first")


@contextmanager
def _new_folder(home: Home, name: str, file: str) -> Iterator[tuple[Path, Path]]:
    """Give the folder of a new data set and its rows in it; the folder goes again if anything fails."""
    source = inside(home.files, file)
    if not source.is_file():
        raise InputError(f"there is no uploaded file '{file}'; upload it first")
    folder = inside(home.data, name)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise Problem("conflict", f"there is a data set '{name}' already; choose another name") from None
    rows = folder / f"{name}.{file.partition('.')[2]}"
    try:
        os.link(source, rows)
        yield folder, rows
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def names_for(book: sqlite3.Connection, account: str, role: Role, after: str, most: int) -> list[str]:
    """Return some names of data sets that somebody may see: a steward all, an analyst those with a share."""
    if role is Role.STEWARD:
        rows = book.execute("SELECT name FROM data_set WHERE name > ? ORDER BY name LIMIT ?", (after, most))
    else:
        sql = "SELECT data_set AS name FROM access WHERE account = ? AND data_set > ? ORDER BY data_set LIMIT ?"
        rows = book.execute(sql, (account, after, most))
    return [row["name"] for row in rows]


def ledger_for(home: Home, account: str, role: Role, name: str) -> Path:
    """Return the ledger of a data set that somebody may see; whether another one exists is told to nobody."""
    sql = (
        "SELECT 1 FROM data_set LEFT JOIN access ON data_set = name AND account = ? "
        "WHERE name = ? AND (? OR account IS NOT NULL)"
    )
    with home.database.reading() as book:
        if book.execute(sql, (account, name, role is Role.STEWARD)).fetchone() is None:
            raise Problem("not-found")
    return home.ledger_of(name)


def describe(ledger: Ledger, name: str) -> DataSetReply:
    """Return what analysts may know of a data set: what was declared with it."""
    facts = ledger.facts
    tables = [_table(table, told["schema"]) for table, told in facts_by_table(facts).items()]
    unit, terms = read_unit(facts["protect"]), ledger.terms
    frozen = ledger.frozen is not None
    return DataSetReply(name, tables, unit.words, facts["neighbours"], ledger.version, terms.deadline, frozen)


def _table(name: str, text: str) -> TableReply:
    columns = [
        ColumnReply(
            column,
            one.role.value,
            None if one.kind is None else one.kind.value,
            None if one.bounds is None else [_end(bound) for bound in one.bounds],
            None if one.categories is None else list(one.categories),
        )
        for column, one in Schema.from_text(text).columns.items()
    ]
    return TableReply(name, columns, text)


def _end(bound: Bound) -> int | float | str:
    return bound if isinstance(bound, int | float) else str(bound)
