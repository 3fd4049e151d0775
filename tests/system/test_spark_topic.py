"""Topics of a real Kafka broker through publishers on Spark: the rows of a folder, once, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
import pytest
from authority import HOST
from confluent_kafka import Producer
from kafka_server import PASSWORD, PATIENCE, USER, KafkaServer
from killed import finished, started, until

from sfumato.cli.main import run
from sfumato.engines.spark.streams.keys import ByKey, ByPerson, Keys
from sfumato.engines.spark.streams.publish import publish_stream
from sfumato.engines.spark.streams.source import ARRIVAL
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.errors import InputError
from sfumato.random import KeyedSource
from sfumato.schema import Schema
from sfumato.schema.attribute import Attribute
from sfumato.schema.kinds import Kind
from sfumato.schema.roles import Role
from sfumato.stream import RankWindows, build
from sfumato.stream.runtime.checkpoint import CheckpointFolder
from sfumato.stream.runtime.hooks import Hooks
from sfumato.stream.runtime.job import Outcome
from sfumato.stream.runtime.noise_key import FILE, read_key
from sfumato.stream.setup import StreamSetup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_JARS = "needs Spark's jars for Kafka, which tests/engines/spark/streams/kafka_jars.xml brings"
RANK = ["--publisher", "rank", "--delay", "50", "--block", "10", "--bounds", "0", "100", "--engine", "spark"]
RECORDS = 300
NUMBERS = count()


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Give the session of all tests if it has Kafka's jars, which are required where they could be fetched."""
    if "SFUMATO_SPARK_JARS" not in os.environ:
        pytest.skip(NO_JARS)
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.fixture(scope="module")
def server(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    del session
    one = KafkaServer(tmp_path_factory.mktemp("kafka"))
    one.start()
    yield one
    one.stop()


@pytest.fixture
def topic(server: KafkaServer) -> str:
    """Return a new topic of one partition."""
    name = f"rides-{next(NUMBERS)}"
    server.create(name)
    return name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rides(number: int = RECORDS, seed: int = 5) -> pl.DataFrame:
    """Return waiting times at two stops, one of which is no number."""
    draw = np.random.default_rng(seed)
    wait = np.round(draw.gamma(3, 12, number), 1).astype(str)
    wait[7] = "x"
    riders = [f"r{rider}" for rider in draw.integers(0, 40, number)]
    return pl.DataFrame({"stop": draw.integers(0, 2, number).astype(str), "wait": wait, "rider": riders})


def messages(records: pl.DataFrame) -> list[bytes]:
    return [json.dumps(record).encode() for record in records.to_dicts()]


def rows(place: Path) -> pl.DataFrame:
    """Return what was published, key by key in its order."""
    found = pl.read_parquet(place / "**" / "*.parquet", hive_partitioning=False)
    return found.sort("stop" if "stop" in found.columns else "bucket", "seq")


def begin_alike(kept: Path, place: Path, question: dict[str, Any] | None = None) -> None:
    """Begin a stream with the key and the id of another one, so that it draws the same noise."""
    place.mkdir(parents=True)
    shutil.copy2(kept / FILE, place / FILE)
    with CheckpointFolder.open(kept) as before, CheckpointFolder.open(place) as after:
        begun = before.load()
        assert begun is not None
        asked = {**(begun.question if question is None else question), "output": str((place.parent / "out").resolve())}
        after.save(msgspec.structs.replace(begun, question=asked, ended=False, mark=begun.mark if not question else ""))


def test_a_topic_becomes_a_folder_of_what_one_machine_would_publish(
    server: KafkaServer, topic: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages that are no records have no key, and move no window of a record that has one."""
    records = rides()
    payloads = messages(records)
    server.fill(topic, [*payloads[:100], b"poison", None, *payloads[100:]])
    command = ["stream", server.place(topic), "-o", "out", "--column", "wait", "--key", "stop", "--checkpoint", "kept"]
    assert run([*command, *RANK]) == 0, capsys.readouterr().err
    assert f"sfumato: {RECORDS + 2} records read, 2 of them broken lines" in capsys.readouterr().err
    found = rows(folder / "out")
    assert found.columns == ["wait", "stop", "group", "size", "seq"]
    key = read_key(folder / "kept" / FILE)
    with CheckpointFolder.open("kept") as store:
        begun = store.load()
    assert begun is not None
    values = np.nan_to_num(records["wait"].cast(pl.Float64, strict=False).to_numpy().clip(0, 100), nan=50.0)
    for stop in ("0", "1"):
        publisher = RankWindows(
            (0.0, 100.0), window=50, block=10, rng=KeyedSource(key, "stream", begun.stream, "wait", "key", stop)
        )
        own = values[(records["stop"] == stop).to_numpy()]
        alone = np.concatenate([publisher.push_many(own).values, publisher.flush().values])
        assert found.filter(stop=stop)["wait"].to_list() == alone.tolist()
    assert found.filter(pl.col("stop").is_null()).height == 2
    again(server, topic, [*command, *RANK], capsys)


def again(server: KafkaServer, topic: str, command: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a stream that is over: the same once more; a refusal if the topic has grown, is another one, or is gone."""
    before = {file: file.read_bytes() for file in Path("out").rglob("*.parquet")}
    assert run(command) == 0
    server.fill(topic, messages(rides()[:1]))
    refused(command, "follow a growing topic", capsys)
    refused([*command, "--epsilon", "2"], "epsilon was 1.0", capsys)
    server.create(other := f"{topic}-other")
    refused([command[0], server.place(other), *command[2:]], "is not what this checkpoint was reading", capsys)
    server.delete(topic)
    refused(command, f"has no topic '{topic}'", capsys)
    server.create(topic)
    refused(command, "was deleted and made anew", capsys)
    assert {file: file.read_bytes() for file in Path("out").rglob("*.parquet")} == before


def refused(command: Sequence[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(list(command)) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert [line for line in said.splitlines() if line.startswith("sfumato: ")] == said.splitlines()[-1:]


def castle() -> StreamSetup:
    schema = Schema({"wait": Attribute("wait", Role.QUASI, Kind.NUMBER, bounds=(0, 100))})
    return build("castle", [], schema=schema, k=5, delay=40, beta=6, on_bad="default")


PUBLISHERS: dict[str, tuple[Callable[[], StreamSetup], Keys]] = {
    "rank": (lambda: build("rank", ["wait"], bounds=(0, 100), delay=50, block=10), ByKey("stop")),
    "linked by persons": (
        lambda: build("linked", ["wait"], bounds=(0, 100), delay=50, person="rider", per_person=3),
        ByPerson("rider", 2),
    ),
    "castle": (castle, ByKey("stop")),
    "totals": (lambda: build("totals", ["wait"], bounds=(0, 100), delay=50, total="sum", windows=10), ByKey("stop")),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "name, form", [("rank", "csv"), ("linked by persons", "json"), ("castle", "json"), ("totals", "csv")]
)
def test_a_topic_and_a_folder_give_the_same_rows(
    server: KafkaServer, topic: str, folder: Path, name: str, form: str
) -> None:
    """The same records, key and id; a message holds one record of JSON, or seven of CSV."""
    records = rides()
    made, keys = PUBLISHERS[name]
    Path("in").mkdir()
    records.write_csv("in/1.csv")
    if form == "json":
        server.fill(topic, messages(records))
        address = server.place(topic)
    else:
        parts = [records.slice(start, 7).write_csv().encode() for start in range(0, RECORDS, 7)]
        server.fill(topic, parts)
        address = f"{server.place(topic)}?format=csv&records=7"
    (folder / "topic").mkdir()
    publish_stream(address, folder / "topic" / "out", made(), keys, checkpoint=folder / "topic" / "kept")
    question = SparkStream(made().publisher, made().screen, keys, ARRIVAL).question()
    begin_alike(folder / "topic" / "kept", folder / "folder" / "kept", question)
    publish_stream("in", folder / "folder" / "out", made(), keys, checkpoint=folder / "folder" / "kept")
    found = rows(folder / "topic" / "out")
    assert found.height > 0
    assert found.equals(rows(folder / "folder" / "out"))


@pytest.mark.long
def test_a_killed_driver_goes_on_with_the_same_rows(server: KafkaServer, topic: str, folder: Path) -> None:
    """Kill it while a batch is written, and again when one is published and Spark does not know it yet."""
    from spark_topic_streamer import setup

    server.fill(topic, messages(rides(2400)))
    out, commits = folder / "out", folder / "kept" / "spark" / "commits"
    script = "spark_topic_streamer.py", server.place(topic)
    with started(folder, *script) as process:
        until(process, folder, (out / ".batch-1.partial").exists)
    assert not (commits / "1").exists()
    with started(folder, *script) as process:
        until(process, folder, lambda: (out / "batch=2").exists() and not (commits / "2").exists())
    published = pl.read_parquet(out / "batch=2" / "*.parquet")
    with started(folder, *script) as process:
        finished(process, folder)
    assert pl.read_parquet(out / "batch=2" / "*.parquet").equals(published)
    found = rows(out)
    assert found.height == 2400
    assert len(list(commits.glob("[0-9]*"))) == 6
    begin_alike(folder / "kept", folder / "quiet" / "kept")
    publish_stream(
        server.place(topic), folder / "quiet" / "out", setup(), ByKey("stop"), checkpoint=folder / "quiet" / "kept"
    )
    assert found.equals(rows(folder / "quiet" / "out"))


@pytest.mark.long
def test_a_followed_topic_of_partitions_goes_on_and_reads_what_is_committed(
    server: KafkaServer, topic: str, folder: Path
) -> None:
    """Stop a followed stream, let the topic grow by a partition too, and follow it again; nothing aborted is read."""
    server.create(topic, 2)
    parts = [messages(rides(200, seed)) for seed in range(3)]
    made, keys, kept = PUBLISHERS["rank"][0](), ByKey("stop"), folder / "kept"
    server.fill(topic, parts[0])
    producer = Producer({"bootstrap.servers": server.host, "transactional.id": "given up"})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce_batch(topic, [{"value": payload} for payload in parts[0]], partition=1)
    producer.flush(PATIENCE)
    producer.abort_transaction(PATIENCE)

    def follow(stop: Callable[[], bool]) -> Outcome:
        return publish_stream(
            server.place(topic), folder / "out", made, keys, checkpoint=kept, follow=True, hooks=Hooks(stop=stop)
        )

    outcome = follow((kept / "spark" / "commits" / "0").exists)
    assert not outcome.complete
    assert outcome.progress.rows + outcome.progress.held == 200
    assert outcome.progress.held > 0
    server.fill(topic, parts[1], partition=1)
    server.create(topic, 3)
    server.fill(topic, parts[2], partition=2)
    outcome = publish_stream(server.place(topic), folder / "out", made, keys, checkpoint=kept)
    assert (outcome.complete, outcome.progress.rows, outcome.progress.held) == (True, 600, 0)
    assert outcome.intake.records == 600


@pytest.mark.long
def test_records_that_the_broker_deleted_unread_are_an_error(server: KafkaServer, topic: str, folder: Path) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    made, kept = PUBLISHERS["rank"][0](), folder / "kept"
    server.fill(topic, messages(rides()))
    publish_stream(
        server.place(topic),
        folder / "out",
        made,
        ByKey("stop"),
        checkpoint=kept,
        follow=True,
        hooks=Hooks(stop=(kept / "spark" / "commits" / "0").exists),
    )
    server.fill(topic, messages(rides()))
    admin = AdminClient({"bootstrap.servers": server.host})
    gone = TopicPartition(topic, 0, RECORDS + 100)
    admin.delete_records([gone])[gone].result(PATIENCE)
    with pytest.raises(InputError, match="no longer has the records behind this checkpoint") as error:
        publish_stream(server.place(topic), folder / "out", made, ByKey("stop"), checkpoint=kept)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.long
def test_a_password_reaches_the_broker_and_no_log_checkpoint_or_card(
    server: KafkaServer,
    topic: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """By PLAIN, and by TLS and SCRAM in a process that writes Spark's event log and all that Spark says aloud."""
    server.fill(topic, messages(rides()))
    ca = server.authority.ca
    word = tmp_path_factory.mktemp("secret") / "word"
    word.write_text(PASSWORD + "\n", encoding="utf-8")
    word.chmod(0o600)
    monkeypatch.setenv("SFUMATO_SPARK_LOUD", "1")
    login = f"password-file={word}"
    guarded = f"kafka://{USER}@127.0.0.1:{server.guarded_port}/{topic}?{login}"
    secure = f"kafkas://{USER}@{HOST}:{server.secure_port}/{topic}?mechanism=SCRAM-SHA-512&ca={ca}&{login}"
    publish_stream(guarded, folder / "plain", PUBLISHERS["rank"][0](), ByKey("stop"), checkpoint=folder / "kept")
    place = folder / "tls"
    (place / "conf").mkdir(parents=True)
    (place / "events").mkdir()
    logged = f"spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir file://{place}/events\n"
    (place / "conf" / "spark-defaults.conf").write_text(logged, encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(place / "conf"))
    with started(place, "spark_topic_streamer.py", secure, "INFO") as process:
        finished(process, place)
    assert rows(place / "out").height == rows(folder / "plain").height == RECORDS
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert "sasl.jaas.config = [hidden]" in (place / "said.txt").read_text(encoding="utf-8")
    assert any((place / "events") in file.parents and file.stat().st_size for file in files)
    assert [file for file in files if PASSWORD.encode() in file.read_bytes()] == []
