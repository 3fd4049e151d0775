"""The work that `growth` times: for each algorithm a function from n, d or k to a run of it on made-up data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from lattice import census
from local import EPSILON, codes
from microaggregation import K, gaussian, plain_mdav
from mondrian import MODELS, SCHEMA, people
from mondrian_peers import peer
from query import asking
from stream_paper import SENSITIVITY, readings, tuples, twin
from stream_private import BOUNDS

import sfumato as sf
from sfumato.hierarchy import builders as build
from sfumato.local import OptimizedUnary
from sfumato.stream import CASTLE, DOCA
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.tabular import Datafly, Incognito
from sfumato.tabular.microaggregation.algorithms.kanonymeans import kanonymeans as kanonymeans_groups
from sfumato.tabular.microaggregation.algorithms.mdav import mdav as mdav_groups
from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus as mdav_plus_groups
from sfumato.tabular.microaggregation.loss import Labels, Records

Work = Callable[[], object]
VALUES = 50
ROWS = {"d": 100_000, "k": 1_000_000}
MIDDLE = 30_000
FEW = 2_000


def mondrian_rows(rows: int) -> Work:
    table = sf.Table(people(rows))
    return lambda: sf.Mondrian().anonymize(table, SCHEMA, MODELS)


def mondrian_k(k: int) -> Work:
    table = sf.Table(people(ROWS["k"]))
    return lambda: sf.Mondrian().anonymize(table, SCHEMA, [sf.KAnonymity(k)])


def columns_of(count: int) -> sf.Table:
    """Return a hundred thousand rows of so many columns of fifty values, uniform and independent."""
    draw = np.random.default_rng(1)
    return sf.Table(pl.DataFrame({f"c{number}": draw.integers(0, VALUES, ROWS["d"]) for number in range(count)}))


def mondrian_columns(count: int) -> Work:
    table = columns_of(count)
    schema = sf.Schema.from_roles(quasi=table.names)
    return lambda: sf.Mondrian().anonymize(table, schema, MODELS)


def anonypy_seconds(rows: int) -> float:
    return float(peer(people(rows), "anonypy")["seconds"])


def datafly_rows(rows: int) -> Work:
    table, schema = census(rows)
    return lambda: Datafly(suppress=0.02).anonymize(table, schema, MODELS)


def incognito_rows(rows: int) -> Work:
    table, schema = census(rows)
    return lambda: Incognito().anonymize(table, schema, MODELS)


def incognito_columns(count: int) -> Work:
    table = columns_of(count)
    tree = build.intervals(range(VALUES), [5, 25])
    schema = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name in table.names})
    return lambda: Incognito().anonymize(table, schema, MODELS)


def _grouping(groups: Callable[[Records, int], Labels], over: str, place: int, rows: int) -> Work:
    x = gaussian(place if over == "n" else rows, place if over == "d" else 5)
    return lambda: groups(x, place if over == "k" else K)


def mdav(over: str, place: int) -> Work:
    return _grouping(mdav_groups, over, place, MIDDLE)


def mdav_plus(over: str, place: int) -> Work:
    return _grouping(mdav_plus_groups, over, place, MIDDLE)


def kanonymeans(over: str, place: int) -> Work:
    return _grouping(kanonymeans_groups, over, place, FEW)


def plain_mdav_rows(rows: int) -> Work:
    return _grouping(plain_mdav, "n", rows, rows)


def _unary(users: int, domain: int) -> Work:
    values, protocol = codes(users, domain), OptimizedUnary(range(domain), EPSILON)
    return lambda: protocol.estimate(protocol.aggregate(protocol.report_many(values)))


def unary_users(users: int) -> Work:
    return _unary(users, 24)


def unary_domain(domain: int) -> Work:
    return _unary(100_000, domain)


def count_rows(folder: Path, rows: int) -> Work:
    draw = np.random.default_rng(1)
    frame = pl.DataFrame({"hour": draw.integers(0, 24, rows), "age": draw.integers(16, 95, rows)})
    return asking(Path(tempfile.mkdtemp(dir=folder)) / "rides.ledger", frame)


def doca_records(records: int) -> Work:
    values = readings(records)
    return lambda: DOCA(sensitivity=SENSITIVITY).push_many(values)


def plain_doca_records(records: int) -> Work:
    values, plain = readings(records).tolist(), twin("doca_twin")
    return lambda: plain.groups_of(values, 1000, 50, 100)


def adaptive_records(records: int) -> Work:
    values = np.clip(readings(records), *BOUNDS)
    return lambda: AdaptiveHistogram(BOUNDS).push_many(values)


def castle(over: str, place: int) -> Work:
    rows = tuples(place if over == "n" else ROWS["d"], place if over == "d" else 3)
    names = [f"a{number}" for number in range(rows.shape[1])]
    schema = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 100)) for name in names})
    return lambda: CASTLE(schema, k=place if over == "k" else 10).push_many(rows)


def plain_castle_records(records: int) -> Work:
    rows, plain = tuples(records).tolist(), twin("castle_twin")

    def work() -> None:
        publisher = plain.Twin([(0.0, 100.0)] * 3, lambda _: 0, k=10, delay=1000, beta=50, mu=100)
        for record in rows:
            publisher.push(record)

    return work
