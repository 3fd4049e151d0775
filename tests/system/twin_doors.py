"""Paths through all doors for twin runs: questions, commands, and Spark's task function, each true as it stands."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.audit.twin import Pair, TwinPath
from sfumato.audit.twin.command import command_path
from sfumato.audit.twin.neighbours import changed_persons, changed_values, present_or_not
from sfumato.audit.twin.paths import cost_of, joined
from sfumato.audit.twin.questions import QuestionPath
from sfumato.audit.twin.sandbox import Main
from sfumato.audit.twin.tables import table_path
from sfumato.checks.twin import twin_paths
from sfumato.cli.main import run as main
from sfumato.promise.cost import Accountant, Budget, Cost
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit
from sfumato.random import KeyedSource, SecureSource
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream import CappedPersons, ClockWindows, RankWindows

Maker = Callable[[Path], TwinPath]
RIDES = [
    {"rider": f"r{number * 7 % 9}", "hour": str(number % 4), "cost": str(number * 13 % 100), "zone": "abc"[number % 3]}
    for number in range(24)
]
DECLARED = Schema(
    {
        "rider": Attribute("rider", Role.OTHER, Kind.CATEGORY),
        "hour": Attribute("hour", Role.OTHER, Kind.INTEGER, bounds=(0, 3)),
        "cost": Attribute("cost", Role.OTHER, Kind.INTEGER, bounds=(0, 100)),
        "zone": Attribute("zone", Role.OTHER, Kind.CATEGORY),
    }
)
SCHEMA = """
[columns.rider]
role = "identifier"
[columns.hour]
role = "quasi"
type = "integer"
bounds = [0, 3]
[columns.cost]
role = "sensitive"
type = "integer"
bounds = [0, 100]
[columns.zone]
role = "quasi"
type = "category"
categories = ["a", "b", "c"]
"""
ODD = {0: {"zone": "?", "cost": "?"}, 12: {"zone": "", "cost": ""}, 23: {"zone": "d", "cost": "999"}}
PERSON = ProtectPersons("rider", rows=2, groups=1)
WIDE = ProtectPersons("rider", rows=2, groups=3)
ZCDP = Budget(epsilon=50, delta="1e-6", accountant=Accountant.ZCDP)


def registered(name: str, number: int = 0) -> Maker:
    """The path of a registered class, one of those that the conformance suite attacks."""
    return lambda _: list(twin_paths()[name]())[number]


def question(
    sql: str,
    unit: Unit = ProtectRows(),  # noqa: B008 - frozen
    neighbours: Neighbours = Neighbours.PRESENCE,
    budget: Budget | None = None,
    **price: Any,
) -> Maker:
    """The path of a question to a session in Python."""
    kept = {} if budget is None else {"budget": budget}
    asked = price or {"epsilon": 1}

    def make(_: Path) -> TwinPath:
        def ask(session: sf.Session) -> Any:
            return session.sql(sql.replace("rides", session.table), **asked)

        return QuestionPath(ask, RIDES, DECLARED, unit, neighbours, **kept).path()

    return make


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def command(text: str, *, called: Main | None = None, setup: str = "") -> Maker:
    """The path of a command line: {rides}, {schema}, {domain} and {ledger} stand for files."""

    def make(folder: Path) -> TwinPath:
        rows = [{**row, "time": str(10 * number)} for number, row in enumerate(RIDES)]
        files = {
            "rides": write_rows(folder / "rides.csv", rows),
            "few": write_rows(folder / "few.csv", [{"zone": row["zone"]} for row in RIDES[:3]]),
            "odd": write_rows(folder / "odd.csv", [{**row, **ODD.get(place, {})} for place, row in enumerate(RIDES)]),
            "small": folder / "small.toml",
            "schema": folder / "schema.toml",
            "domain": folder / "domain.txt",
            "ledger": folder / "rides.ledger",
        }
        files["schema"].write_text(SCHEMA)
        files["small"].write_text(SCHEMA[SCHEMA.index("[columns.zone]") :])
        files["domain"].write_text("a\nb\nc\n")
        if setup and not files["ledger"].exists():
            create = setup.format(**files).split()
            assert main(["budget", "create", str(files["ledger"]), *create]) == 0
        words = [part.replace("~", " ").format(**files) for part in text.split()]
        return command_path(called or main, words)

    return make


STREAM = "stream {rides} -o out.csv --column cost --bounds 0 100 --delay 9 --publisher"
LEDGER = "--data {rides} --schema {schema} --epsilon 50 --delta 0.0001"


def safepub(_: Path) -> TwinPath:
    """Few rows, a small k and a large sample, where every sample can be tried and something leaves."""
    chosen = sf.SafePub(epsilon=1.5, delta=0.3, beta=0.5, scheme={"age": 3})
    rows = [{"age": "1", "sex": "f", "ill": "no"}] * 3
    return table_path(chosen, [sf.KAnonymity(2)], rows=rows)


def picked_safepub(_: Path) -> TwinPath:
    """The same with a scheme that is picked."""
    schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 7))})
    chosen = sf.SafePub(epsilon=1.5, delta=0.3, beta=0.5)
    return table_path(chosen, [sf.KAnonymity(2)], schema=schema, rows=[{"age": "1"}] * 4)


def mondrian(_: Path) -> TwinPath:
    return table_path(sf.PrivateMondrian(epsilon=5, depth=3))


def capped_clock(neighbours: Neighbours) -> Maker:
    """Persons before windows by the clock, with the promise under one kind of neighbours put to runs."""

    def make(_: Path) -> TwinPath:
        draw = np.random.default_rng(3)
        records = np.column_stack([draw.integers(0, 100, 40), np.arange(40) % 12]).astype(np.float64)

        def run(given: Any) -> Any:
            inner = ClockWindows(bounds=(0, 100), kind="adaptive", bins=8, expected=40)
            publisher = CappedPersons(inner, limit=1, rng=SecureSource())
            return joined([publisher.push_many(given), publisher.flush()])

        def without() -> Iterator[Pair]:
            for person in (0, 5, 11):
                yield Pair(records, records[records[:, 1] != person], f"person {person} is there or not")

        pairs = without() if neighbours is Neighbours.PRESENCE else changed_persons(records, (0, 100))
        return TwinPath("persons before the clock", run, pairs, Cost(epsilon=1), 1)

    return make


def presence_of_events(_: Path) -> TwinPath:
    """A stream whose number of records is public, charged to a ledger that protects presence."""

    def run(given: Any) -> Any:
        publisher = RankWindows((0, 100), window=10, rng=SecureSource())
        return joined([publisher.push_many(given), publisher.flush()])

    records = np.arange(25.0)
    return TwinPath("rank windows, by presence", run, present_or_not(records, (0, 100)), Cost(epsilon=1), 1)


def several_runs(used: Callable[[Any], Any], epsilon: str) -> Maker:
    """What `used` makes of one stream of numbers, at what all of it together costs."""

    def make(_: Path) -> TwinPath:
        pairs = list(changed_values(np.arange(64.0), (0, 100)))[:4]
        return TwinPath("several runs over one stream", used, pairs, Cost(epsilon=epsilon), 1)

    return make


def restored_twice(keyed: bool) -> Callable[[Any], Any]:
    """A stream that goes on from one saved state twice, as after a restored checkpoint."""

    def used(records: Any) -> Any:
        source = KeyedSource(bytes(range(32))) if keyed else SecureSource()
        first = RankWindows((0, 100), window=32, block=8, rng=source)
        kept = first.state()
        left = [first.push_many(records)]
        again = RankWindows((0, 100), window=32, block=8, rng=source)
        again.restore(kept)
        return joined([*left, again.push_many(records)])

    return used


def spark_task(publisher: Any, order: str, pairs: Callable[[Any], Iterator[Pair]]) -> Maker:
    """The task function that Spark runs for one key, called without Spark; records are in the order of a column."""

    def make(folder: Path) -> TwinPath:
        import pandas as pd

        from sfumato.engines.spark.streams.task import NUMBER, ORDER, Task
        from sfumato.stream.runtime.noise_key import FILE, make_key
        from sfumato.stream.screens.base import NumberScreen

        secret = folder / "key"
        if not secret.exists():
            secret.mkdir()
            make_key(secret)
        task = Task(publisher, NumberScreen({"cost": (0.0, 100.0)}), secret / FILE, "rides", orders=1)

        def run(values: Any) -> Any:
            place = values if order == "cost" else np.arange(len(values))
            frame = pd.DataFrame({ORDER.format(0): place, NUMBER.format(0): values})
            state: Any = TaskState()
            left = list(task(("north",), iter([frame]), state))
            left += list(task.flush(iter([pd.DataFrame({"key": ["north"], "state": [state.get[0]]})])))
            return [part.to_dict(orient="list") for part in left]

        cost = cost_of(publisher.card("cost").guarantee)
        return TwinPath(
            "Spark's task", run, pairs(np.random.default_rng(5).integers(0, 100, 40).astype(float)), cost, 1
        )

    return make


class TaskState:
    """Stands in for Spark's state of a key."""

    kept: tuple[Any, ...] | None = None

    @property
    def exists(self) -> bool:
        return self.kept is not None

    @property
    def get(self) -> tuple[Any, ...]:
        assert self.kept is not None
        return self.kept

    def update(self, kept: tuple[Any, ...]) -> None:
        self.kept = kept


def changed(records: Any) -> Iterator[Pair]:
    return changed_values(records, (0.0, 100.0), edge=10)


SPARK = RankWindows((0, 100), window=10, block=5)
TRUE: dict[str, Maker] = {
    "question, groups of rows": question("SELECT hour, COUNT(*), AVG(cost) FROM rides GROUP BY hour"),
    "question, changed values": question(
        "SELECT hour, COUNT(*), SUM(cost) FROM rides GROUP BY hour", neighbours=Neighbours.VALUE
    ),
    "question, persons": question("SELECT COUNT(*), SUM(cost), MEDIAN(cost) FROM rides", PERSON),
    "question, persons in groups": question("SELECT hour, COUNT(*) FROM rides GROUP BY hour", WIDE),
    "question, unknown keys": question(
        "SELECT zone, COUNT(*) FROM rides GROUP BY zone", PERSON, epsilon=1, delta="1e-6"
    ),
    "question, zcdp": question("SELECT COUNT(*), VAR_POP(cost), MEDIAN(cost) FROM rides", budget=ZCDP, rho="0.1"),
    "command, query": command(
        "query {ledger} SELECT~hour,~COUNT(*)~FROM~rides~GROUP~BY~hour --epsilon 1", setup=LEDGER
    ),
    "command, stream adaptive": command(f"{STREAM} adaptive"),
    "command, stream of persons": command(f"{STREAM} rank --person rider --per-person 2"),
    "command, stream with a report": command(f"{STREAM} linked --events --parse-report steward.json"),
    "command, stream by the clock": command(
        "stream {rides} -o out.csv --column cost --bounds 0 100 --publisher rank --every 60s --time time --from 0 "
        "--until 300"
    ),
    "command, private-mondrian": command(
        "anonymize {rides} -o out.csv --schema {schema} --other drop --algorithm private-mondrian --epsilon 1"
    ),
    "command, private-mondrian, coarse": command(
        "anonymize {rides} -o out.csv --schema {schema} --other drop --algorithm private-mondrian --epsilon 1 "
        "--sensitive cost --coarsen cost=round:20,top:60"
    ),
    "command, safepub": command(
        "anonymize {few} -o out.csv --schema {small} --algorithm safepub --epsilon 1 --beta 0.3"
    ),
    "command, local perturb": command("local perturb {rides} -o out.bin --column zone --domain {domain} --epsilon 1"),
    "command, local mean": command("local mean {rides} --column cost --bounds 0 100 --epsilon 1"),
    "command, local perturb with silent rows": command(
        "local perturb {odd} -o out.bin --column zone --domain {domain} --epsilon 1 --max-failed 0.2 "
        "--parse-report steward.json"
    ),
    "command, local mean with silent rows": command(
        "local mean {odd} --column cost --bounds 0 100 --epsilon 1 --max-failed 0.2 --parse-report steward.json"
    ),
    "table, safepub": safepub,
    "table, safepub picks": picked_safepub,
    "table, private-mondrian": mondrian,
    "persons before the clock": capped_clock(Neighbours.PRESENCE),
    "a restored stream, keyed": several_runs(restored_twice(keyed=True), "1"),
    "Spark's task, rank": spark_task(SPARK, "arrival", changed),
}
