"""The files that are damaged by the tests of flipped bits: each is made small, with the commands that read it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from flips import Said, say, say_all

import sfumato as sf
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import SfumatoError
from sfumato.local import OptimizedUnary, aggregate_file
from sfumato.local.reports.files import write_reports
from sfumato.local.reports.memory import Memory
from sfumato.promise import Cost
from sfumato.table import samples
from sfumato.tabular import republish
from sfumato.tabular.republication.history import History

SCHEMA = '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [16, 94]\n'
CREATE = ("--data", "people.csv", "--schema", "people.toml", "--epsilon", "2", "--deadline", "0")
COUNT, MEAN = "SELECT COUNT(*) FROM people", "SELECT AVG(age) FROM people"
MODELS = [sf.KAnonymity(2), sf.LDiversity(2, "ill")]
PEOPLE = sf.Table(pl.DataFrame({"name": list("abcd"), "age": [20, 21, 60, 61], "ill": ["a", "b", "a", "b"]}))
ROLES = sf.Schema.from_roles(person="name", quasi=["age"], sensitive=["ill"])


@dataclass(frozen=True)
class Subject:
    """A file to damage, and what is read from it."""

    file: Path
    look: Callable[[], Said]


def asked(question: str, analyst: str = "ana", epsilon: str = "0.1") -> list[str]:
    """The command that asks a question."""
    return ["query", "L", question, "--epsilon", epsilon, "--analyst", analyst]


def ledger(folder: Path) -> Subject:
    """A ledger with two analysts, a few answers, a second version, and an entry that was never answered."""
    samples.patients(50).select("age").write_csv(folder / "people.csv")
    (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")
    assert say("budget", "create", "L", *CREATE, "--analyst", "ana=1", "--analyst", "bo=0.5").code == 0
    for question in (COUNT, MEAN):
        assert say(*asked(question)).code == 0
    samples.patients(60).select("age").write_csv(folder / "people.csv")
    assert say("budget", "new-version", "L", "--data", "people.csv").code == 0
    assert say_all(asked(COUNT), asked(COUNT, "bo"), asked(MEAN, "bo")).code == 0
    Ledger.open("L").debit("never answered", 2, "bo", Cost("0.1"))
    again = (asked(COUNT), asked(MEAN, "bo"))
    return Subject(folder / "L", lambda: say_all(["budget", "show", "L", "--json"], *again))


def crashed_ledger(folder: Path) -> Subject:
    """The journal of a ledger whose writer died: what is in the file is undone by whoever opens it next."""
    subject = ledger(folder)
    with closing(sqlite3.connect("L", isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE account SET epsilon = '0'")
        for _ in range(40):
            writer.execute("UPDATE link SET happened = happened || ' '")
            writer.execute("UPDATE answer SET answer = zeroblob(100)")
        torn, journal = (folder / "L").read_bytes(), (folder / "L-journal").read_bytes()
        writer.execute("ROLLBACK")
    assert torn != (folder / "L").read_bytes()
    place = folder / "journal"
    place.write_bytes(journal)

    def look() -> Said:
        (folder / "L").write_bytes(torn)
        (folder / "L-journal").write_bytes(place.read_bytes())
        return subject.look()

    return Subject(place, look)


def told(read: Callable[[], object]) -> Said:
    """What a reader of the library says, as a command would."""
    try:
        return Said(0, repr(read()), "")
    except SfumatoError as error:
        return Said(error.exit_code, "", f"{error}\n")


def device(folder: Path) -> Subject:
    """The memory of a device that has reported twice."""
    protocol = OptimizedUnary(["north", "south", "west"], 1)
    memory = Memory(folder / "device.json", budget=3)
    memory.report(protocol, "north", period="May")
    memory.report(protocol, "south", period="June")

    def read() -> object:
        found = Memory(folder / "device.json", budget=3)
        return found.spent, found.rounds, found.repeat(protocol)

    return Subject(folder / "device.json", lambda: told(read))


def history(folder: Path, name: str) -> Subject:
    """A file of a history with two releases."""
    for _ in range(2):
        republish(PEOPLE, ROLES, MODELS, folder / "series")

    def read() -> object:
        with History.open(folder / "series") as past:
            tables = [table.rows() for table in past.tables()]
            return tables, past.values(), past.signatures(), past.index.releases

    return Subject(folder / "series" / name, lambda: told(read))


def reports(folder: Path) -> Subject:
    """A file of reports; what is rejected is said, and a report that is counted is one that was sent."""
    protocol = OptimizedUnary(["north", "south", "west"], 1)
    file = folder / "reports.bin"
    write_reports(file, protocol, [protocol.perturb(value % 3) for value in range(40)])
    whole = aggregate_file(file)

    def read() -> object:
        found = aggregate_file(file, protocol)
        lost = whole.users - found.users
        assert lost >= 0
        assert (whole.counts - found.counts <= lost).all()
        assert (whole.counts >= found.counts).all()
        return 40

    return Subject(file, lambda: told(read))


def card(folder: Path) -> Subject:
    """The card of an answer, against which the ledger is verified."""
    ledger(folder)
    assert say(*asked("SELECT MIN(age) FROM people"), "-o", "min.csv").code == 0
    verify = ["budget", "verify", "L", "--against", "min.csv.card.json"]
    return Subject(folder / "min.csv.card.json", lambda: say(*verify))
