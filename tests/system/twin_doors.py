"""Paths through all doors for twin runs: questions, commands, and Spark's task function, each true as it stands."""

from __future__ import annotations

import csv
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
from prometheus_client import generate_latest

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
from sfumato.dp.questions.public import PublicTable
from sfumato.promise.cost import Accountant, Budget, Cost
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit
from sfumato.random import KeyedSource, SecureSource
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream import (
    CappedPersons,
    ClockStatistics,
    ClockWindows,
    RankWindows,
    RunningTotals,
    TimedWindows,
    WEventWindows,
)
from sfumato.stream.operate.numbers import StreamNumbers, registry_of
from sfumato.stream.runtime.hooks import StreamProgress

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
PERSONS = (
    "SELECT AVG(n), SUM(total) FROM (SELECT rider, COUNT(*) AS n, SUM(cost) AS total FROM rides WHERE hour < 3 "
    "GROUP BY rider) AS t"
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
ZCDP_KEYS = Budget(epsilon=50, delta="1e-4", accountant=Accountant.ZCDP, keys="5e-5")


def registered(name: str, number: int = 0) -> Maker:
    """The path of a registered class, one of those that the conformance suite attacks."""
    return lambda _: list(twin_paths()[name]())[number]


def question(
    sql: str,
    unit: Unit = ProtectRows(),  # noqa: B008 - frozen
    neighbours: Neighbours = Neighbours.PRESENCE,
    budget: Budget | None = None,
    *,
    public: dict[str, Any] | None = None,
    tables: dict[str, list[str]] | None = None,
    **price: Any,
) -> Maker:
    """The path of a question to a session in Python, with public tables that it joins, and private ones of the rows."""
    kept: dict[str, Any] = {} if budget is None else {"budget": budget}
    asked = price or {"epsilon": 1}

    def make(_: Path) -> TwinPath:
        def ask(session: sf.Session) -> Any:
            return session.sql(sql.replace("rides", session.table), public=public, **asked)

        return QuestionPath(ask, RIDES, DECLARED, unit, neighbours, **kept, tables=tables or {}).path()

    return make


ZONES = PublicTable.of(
    pl.DataFrame({"zone": ["a", "a", "a", "b", "d"], "name": ["North", "Hill", "Lake", "South", "West"]}),
    "zones",
    at_most=3,
)
NAMED = "SELECT name, COUNT(*) FROM rides JOIN zones USING (zone) GROUP BY name"
PARTS = {"rides": ["rider", "hour", "cost"], "places": ["rider", "zone"]}
JOINED = "SELECT COUNT(*) FROM rides JOIN places USING (rider)"


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


def scraped(argv: Sequence[str]) -> int:
    """Run a stream with its public page, every state of which is left in a file as anybody could have read it."""

    def listen(numbers: StreamNumbers, progress: StreamProgress) -> None:
        told(numbers, progress)
        seen.append(generate_latest(registry_of([numbers.public])))
        Path("scraped.prom").write_bytes(b"".join(text for text, _ in groupby(seen)))  # who scrapes sees states alone

    told, seen = StreamNumbers.listen, list[bytes]()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with patch.object(StreamNumbers, "listen", listen):
        return main([*argv, "--metrics", str(port)])


STREAM = "stream {rides} -o out.csv --column cost --bounds 0 100 --delay 9 --publisher"
CLOCKED = f"{STREAM.replace(' --delay 9', '')} rank --every 60s --time time --from 0 --until 300"
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


def sequences(spend: str) -> Maker:
    """A record in each of three successive windows, there or not, in streams whose windows are all published."""

    def make(_: Path) -> TwinPath:
        values = [10.0 if window % 2 else 90.0 for window in range(9) for _ in range(60)]
        records = np.column_stack([values, np.repeat(np.arange(9) * 10.0, 60)])

        def run(given: Any) -> Any:
            inner = WEventWindows((0, 100), successive=3, bins=2, spend=spend)  # type: ignore[arg-type]
            publisher = TimedWindows(inner, start=0.0, every=10.0, until=90.0, rng=SecureSource())
            return joined([publisher.push_many(given), publisher.flush()])

        def pairs() -> Iterator[Pair]:
            for first in range(7):
                gone = [60 * window + window for window in range(first, first + 3)]
                yield Pair(records, np.delete(records, gone, axis=0), f"a record in windows {first} to {first + 2}")

        return TwinPath(f"w-event, {spend}", run, pairs(), Cost(epsilon=1), 1)

    return make


def sliding(statistics: str) -> Maker:
    """Statistics of three windows that slide over one pane, which one record more may be in."""

    def make(_: Path) -> TwinPath:
        publisher = ClockStatistics({"cost": (0, 100)}, statistics, 3, bins=2, rng=SecureSource())

        def run(given: Any) -> Any:
            publisher.begin(SecureSource())
            return joined([publisher.push_many(given), *(publisher.tick() for _ in range(3))])

        pairs = present_or_not(np.full(100, 10.0), (0, 100))
        return TwinPath("sliding windows", run, pairs, cost_of(publisher.card().guarantee), 1)

    return make


def w_event_persons(_: Path) -> TwinPath:
    """A person with many records in each of four windows, of whom one counts in each."""
    times = np.tile(np.arange(4) * 10.0, 30)
    records = np.column_stack([np.full(120, 10.0), np.arange(120) // 4 % 10, times])

    def run(given: Any) -> Any:
        windows = TimedWindows(WEventWindows((0, 100), successive=4, bins=2), start=0.0, every=10.0, until=40.0)
        publisher = CappedPersons(windows, limit=1, rng=SecureSource())
        return joined([publisher.push_many(given), publisher.flush()])

    pair = Pair(records, records[records[:, 1] != 3], "person 3 is there or not")
    return TwinPath("w-event for persons", run, [pair], Cost(epsilon=1), 3)


def w_event_at_the_limit(_: Path) -> TwinPath:
    """Five records where more than four make a window be published, were there no noise on the distance."""

    def run(given: Any) -> Any:
        inner = WEventWindows((0, 100), successive=2, bins=1)
        publisher = TimedWindows(inner, start=0.0, every=10.0, until=30.0, rng=SecureSource())
        return joined([publisher.push_many(given), publisher.flush()])

    records = np.column_stack([np.full(5, 10.0), np.full(5, 1.0)])
    return TwinPath("w-event at the limit", run, [Pair(records, records[1:], "a record is there or not")], Cost(1), 5)


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
    "question, unknown keys under zcdp": question(
        "SELECT zone, hour, SUM(cost) FROM rides GROUP BY zone, hour", WIDE, budget=ZCDP_KEYS, rho="0.5", delta="1e-5"
    ),
    "question, different values": question("SELECT hour, COUNT(DISTINCT cost) FROM rides GROUP BY hour", WIDE),
    "question, different values changed": question(
        "SELECT COUNT(DISTINCT cost), COUNT(*) FROM rides", PERSON, Neighbours.VALUE
    ),
    "question, features of persons": question(PERSONS, WIDE),
    "question, features of persons changed": question(PERSONS, WIDE, Neighbours.VALUE),
    "question, persons by a feature": question(
        "SELECT COUNT(*) FROM (SELECT rider, COUNT(DISTINCT zone) AS n, ARG_MIN(cost, hour) AS c FROM rides "
        "GROUP BY rider) AS t WHERE c < 80 GROUP BY HISTOGRAM(n, 2)",
        WIDE,
    ),
    "question, private bounds": question("SELECT BOUNDS(cost), AVG(CLIP(cost, 0, 64)) FROM rides", PERSON),
    "question, private bounds in groups": question("SELECT hour, BOUNDS(cost) FROM rides GROUP BY hour", WIDE),
    "question, zcdp": question("SELECT COUNT(*), VAR_POP(cost), MEDIAN(cost) FROM rides", budget=ZCDP, rho="0.1"),
    "question, public join": question(NAMED, public={"zones": ZONES}),
    "question, public join, changed values": question(NAMED, neighbours=Neighbours.VALUE, public={"zones": ZONES}),
    "question, private join": question(JOINED, PERSON, tables=PARTS),
    "question, private join in groups": question(
        "SELECT hour, COUNT(*), SUM(cost) FROM rides LEFT JOIN places USING (rider) JOIN zones USING (zone) "
        "GROUP BY hour",
        WIDE,
        public={"zones": ZONES},
        tables=PARTS,
    ),
    "command, query": command(
        "query {ledger} SELECT~hour,~COUNT(*)~FROM~rides~GROUP~BY~hour --epsilon 1", setup=LEDGER
    ),
    "command, stream adaptive": command(f"{STREAM} adaptive"),
    "command, stream of persons": command(f"{STREAM} rank --person rider --per-person 2"),
    "command, stream with a report": command(f"{STREAM} linked --events --parse-report steward.json"),
    "command, stream by the clock": command(CLOCKED),
    "command, stream with the steward's page": command(f"{STREAM} rank --events --report steward.html"),
    "command, the page of a stream": command(f"{STREAM} rank", called=scraped),
    "command, the page of a stream by the clock": command(CLOCKED, called=scraped),
    "command, running totals": command(f"{STREAM} totals --delta 0.000001 --windows 9 --total mean"),
    "command, running totals by the clock": command(
        "stream {rides} -o out.csv --column cost --bounds 0 100 --publisher totals --every 60s --time time --from 0 "
        "--until 300 --total histogram --bins 4 --last-windows 2"
    ),
    "command, w-event for persons": command(
        "stream {rides} -o out.csv --column cost --bounds 0 100 --publisher w-event --every 60s --time time --from 0 "
        "--until 240 --successive 4 --bins 2 --person rider --per-person 1"
    ),
    "w-event, distribution": sequences("distribution"),
    "w-event, absorption": sequences("absorption"),
    "w-event, persons": w_event_persons,
    "w-event, at the limit": w_event_at_the_limit,
    "command, stream of statistics": command(
        "stream {rides} -o out.csv --column cost,zone --schema {schema} --publisher statistics --delay 6 --last 12 "
        "--statistics count,~mean,~median~of~cost,~histogram"
    ),
    "command, statistics that slide, of persons": command(
        "stream {rides} -o out.csv --column cost,zone --schema {schema} --publisher statistics --every 60s --last 180s "
        "--time time --from 0 --until 300 --statistics count,~mean,~quantile~0.9,~histogram~of~zone --person rider"
    ),
    "statistics, chosen in sliding windows": sliding("median"),
    "statistics, panes of sliding windows": sliding("count, mean, histogram"),
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
    "Spark's task, totals": spark_task(
        RunningTotals((0, 100), window=10, delta=1e-6, total="histogram", bins=3), "arrival", changed
    ),
}
