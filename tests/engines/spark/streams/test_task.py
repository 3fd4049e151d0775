"""What a Spark task does with one key's records, without Spark: any split and any delivery, the same rows."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="needs pyspark and Java 17")

from sfumato.engines.spark.streams.keys import ByKey, ByPerson  # noqa: E402
from sfumato.engines.spark.streams.stream import SparkStream  # noqa: E402
from sfumato.engines.spark.streams.task import Task  # noqa: E402
from sfumato.errors import InputError, ParameterError  # noqa: E402
from sfumato.random import KeyedSource  # noqa: E402
from sfumato.schema.attribute import Attribute  # noqa: E402
from sfumato.schema.kinds import Kind  # noqa: E402
from sfumato.schema.roles import Role  # noqa: E402
from sfumato.schema.schema import Schema  # noqa: E402
from sfumato.stream import (  # noqa: E402
    CASTLE,
    DOCA,
    AdaptiveHistogram,
    CappedPersons,
    ClockWindows,
    LinkedResponse,
    NaiveLaplace,
    Publisher,
    RankWindows,
)
from sfumato.stream.runtime.noise_key import FILE, make_key, read_key  # noqa: E402
from sfumato.stream.screens.base import NumberScreen, OnBad, Screen  # noqa: E402
from sfumato.stream.screens.times import MarkedScreen  # noqa: E402
from sfumato.stream.screens.tuples import TupleScreen  # noqa: E402

NUMBERS = NumberScreen({"wait": (0.0, 100.0)})
COUNT = 700


class State:
    """Stands in for Spark's state of a key."""

    def __init__(self, kept: tuple[Any, ...] | None = None) -> None:
        self.kept = kept

    @property
    def exists(self) -> bool:
        return self.kept is not None

    @property
    def get(self) -> tuple[Any, ...]:
        assert self.kept is not None
        return self.kept

    def update(self, kept: tuple[Any, ...]) -> None:
        self.kept = kept


def castle() -> tuple[Publisher, Screen]:
    schema = Schema({"wait": Attribute("wait", Role.QUASI, Kind.NUMBER, bounds=(0, 100))})
    publisher = CASTLE(schema, k=5, delay=40, beta=6)
    return publisher, TupleScreen(publisher)


def capped() -> tuple[Publisher, Screen]:
    inner = RankWindows((0, 100), window=50, block=5)
    return CappedPersons(inner, limit=2, person="rider"), MarkedScreen(NUMBERS, person="rider", timed=False)


PUBLISHERS: dict[str, tuple[Publisher, Screen]] = {
    "rank": (RankWindows((0, 100), window=50, block=5), NUMBERS),
    "adaptive": (AdaptiveHistogram((0, 100), window=50), NUMBERS),
    "linked": (LinkedResponse((0, 100), window=50), NUMBERS),
    "laplace": (NaiveLaplace(bounds=(0, 100)), NUMBERS),
    "doca": (DOCA(sensitivity=100, delay=30, beta=5), NUMBERS),
    "castle": castle(),
    "capped": capped(),
}


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    make_key(folder)
    return folder / FILE


@pytest.fixture(scope="module")
def records() -> Any:
    draw = np.random.default_rng(3)
    wait = np.round(draw.gamma(3, 12, COUNT), 1)
    riders = [f"r{number}" for number in draw.integers(0, 60, COUNT)]
    return pd.DataFrame({"order0": np.arange(COUNT) // 2, "order1": np.arange(COUNT), "number0": wait, "text0": riders})


def task_of(name: str, secret: Path) -> Task:
    publisher, screen = PUBLISHERS[name]
    sent = pickle.dumps(Task(publisher, screen, secret, "a stream", orders=2))
    task: Task = pickle.loads(sent)  # noqa: S301  # our own bytes, as Spark sends them
    return task


def run(task: Task, pieces: list[Any], key: str | None = "k") -> Any:
    """Return the rows of a key whose micro-batches are `pieces`, each delivered in chunks."""
    state: Any = State()
    rows = []
    for piece in pieces:
        chunks: Iterator[Any] = (piece[place : place + 97] for place in range(0, len(piece), 97))
        rows += list(task((key,), chunks, state))
    assert state.kept is not None
    rows += list(task.flush(iter([pd.DataFrame({"key": [key], "state": [state.kept[0]]})])))
    return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_key_publishes_what_one_machine_publishes(name: str, secret: Path, records: Any) -> None:
    task = task_of(name, secret)
    rows = run(task, [records])
    publisher = task.for_key("k")
    values = task.screen(task._batch(iter([records])), 0).values
    alone = [publisher.push_many(values), publisher.flush()]
    columns = [publisher.columns(part, ["wait"])["wait"] for part in alone]
    assert rows["wait"].tolist() == [value for column in columns for value in column]
    assert rows["seq"].tolist() == list(range(len(rows)))
    assert len(rows) == COUNT


@pytest.mark.parametrize("name", PUBLISHERS)
def test_splits_and_the_order_of_delivery_change_nothing(name: str, secret: Path, records: Any) -> None:
    task, draw = task_of(name, secret), np.random.default_rng(5)
    whole = run(task, [records])
    for count in (1, 3, 12):
        ends = sorted(draw.choice(np.arange(1, COUNT), count, replace=False).tolist())
        pieces = [records[start:end] for start, end in zip([0, *ends], [*ends, COUNT], strict=True)]
        shuffled = [piece.sample(frac=1, random_state=number) for number, piece in enumerate(pieces)]
        pd.testing.assert_frame_equal(whole, run(task, shuffled))


def test_keys_streams_and_secrets_have_noise_of_their_own(secret: Path, records: Any, tmp_path: Path) -> None:
    task = task_of("rank", secret)
    make_key(tmp_path)
    publisher, screen = PUBLISHERS["rank"]
    others = [
        run(task, [records], key="l"),
        run(task, [records], key=None),
        run(task, [records], key="no key"),
        run(Task(publisher, screen, secret, "another stream", orders=2), [records]),
        run(Task(publisher, screen, tmp_path / FILE, "a stream", orders=2), [records]),
    ]
    seen = [run(task, [records]), *others]
    for place, first in enumerate(seen):
        for second in seen[place + 1 :]:
            assert not np.array_equal(first["wait"], second["wait"])


def test_no_value_decides_the_order(secret: Path, records: Any) -> None:
    """A record with another value stays in its place, so that windows stay what they were but for one record."""
    task = task_of("rank", secret)
    changed = records.copy()
    changed.loc[10, "number0"] = 99.0
    changed.loc[10, "text0"] = "zz"
    first, second = (task._batch(iter([frame.sample(frac=1, random_state=1)])) for frame in (records, changed))
    assert np.flatnonzero(first.numbers["wait"] != second.numbers["wait"]).tolist() == [10]


def test_texts_are_ordered_by_the_times_they_tell(secret: Path) -> None:
    task = Task(RankWindows((0, 100)), NUMBERS, secret, "a stream", orders=1)
    frame = pd.DataFrame({"order0": ["10", "9", None, "2016-09-01", "x"], "number0": [2.0, 1.0, 5.0, 3.0, 4.0]})
    assert task._batch(iter([frame])).numbers["wait"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_what_is_no_number_stands_in_its_place(secret: Path) -> None:
    task = Task(RankWindows((0, 100)), NUMBERS, secret, "a stream", orders=1)
    cells = ["5", " 7", "x", None, "inf", "1e9", "-0.0"]
    frame = pd.DataFrame({"order0": range(len(cells)), "number0": pd.Series(cells, dtype=object)})
    values = task.screen(task._batch(iter([frame])), 0).values
    assert values.tolist() == [5.0, 7.0, 50.0, 50.0, 50.0, 100.0, 0.0]


def test_the_key_is_kept_for_its_owner_and_out_of_what_is_sent(secret: Path) -> None:
    key = read_key(secret)
    assert secret.stat().st_mode & 0o777 == 0o600
    sent = pickle.dumps(task_of("adaptive", secret))
    assert key not in sent
    assert key.hex().encode() not in sent
    with pytest.raises(TypeError):
        pickle.dumps(KeyedSource(key))


def test_a_key_that_others_may_read_is_refused_without_showing_it(tmp_path: Path) -> None:
    make_key(tmp_path)
    file = tmp_path / FILE
    file.chmod(0o644)
    with pytest.raises(InputError, match="can be read by others") as refused:
        read_key(file)
    assert file.read_bytes().hex() not in str(refused.value)
    assert repr(file.read_bytes()) not in str(refused.value)


@pytest.mark.parametrize(
    "publisher, screen, keys, order, sentence",
    [
        (ClockWindows((0, 1)), NUMBERS, ByKey("stop"), ("t",), "windows that end by the clock need one clock"),
        (RankWindows((0, 1)), NUMBERS, ByKey("wait"), ("t",), "column 'wait' cannot be the key"),
        (RankWindows((0, 1)), NUMBERS, ByKey("seq"), ("t",), "column 'seq' cannot be the key"),
        (RankWindows((0, 1)), NUMBERS, ByKey("stop"), (), "records need an order"),
        (RankWindows((0, 1)), NUMBERS, ByKey("stop"), ("t", "wait"), "column 'wait' is published and cannot order"),
        (DOCA(1.0), NumberScreen({"wait": None}), ByKey("stop"), ("t",), "doca on Spark needs --bounds"),
        (
            DOCA(1.0),
            NumberScreen({"wait": (0, 1)}, OnBad("quarantine", Path("bad"))),
            ByKey("stop"),
            ("t",),
            "many machines cannot put records aside in one file",
        ),
    ],
)
def test_what_spark_cannot_do_is_refused(
    publisher: Publisher, screen: Screen, keys: ByKey, order: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        SparkStream(publisher, screen, keys, order)


def test_the_card_says_what_is_protected() -> None:
    publisher, screen = capped()
    by_key = SparkStream(publisher, screen, ByKey("stop"), ("t",)).card()
    by_person = SparkStream(publisher, screen, ByPerson("rider", 4), ("t",)).card()
    event = SparkStream(RankWindows((0, 1)), NUMBERS, ByKey("stop"), ("t",)).card()
    assert by_key.guarantee.unit == "person (rider, within one value of 'stop'): all records of one"
    assert by_person.guarantee.unit == publisher.card("wait").guarantee.unit
    assert event.guarantee.unit == "record (event level)"
    for card in (by_key, by_person, event):
        assert any("computational" in sentence for sentence in card.assumptions)
        assert card.released.settings["engine"] == "spark"
        assert not card.warnings
    assert any("All records of a person are in one bucket" in sentence for sentence in by_person.assumptions)
    assert any("promised m times ε only" in sentence for sentence in by_key.assumptions)
