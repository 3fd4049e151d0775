"""What every connector must do: keep order, and lose or double nothing, whoever is killed at whatever moment.

Positions and acknowledgements are checked call by call, then whole streams are killed at random (as Jepsen's tests do,
Kingsbury 2013). A server must run: the suite is given a `LiveBroker`, which makes topics, and kills and starts it.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from sfumato.checks.base import Check, expect
from sfumato.checks.connector_runs import BATCH, BOUNDS, COLUMN, READING, WINDOW, connect, run_stream, start
from sfumato.errors import SfumatoError
from sfumato.stream.connectors.base import Connector, Message, MessageReader, MessageWriter, Received

STREAM, OTHER = "0" * 31 + "1", "0" * 31 + "2"
FEW, PATIENCE = 24, 10.0
KILL_RECORDS = 40 * BATCH
LONGEST_LIFE = 0.15
SETTLED = 0.8  # share of the kills that hit a stream that reads
POISON = (b"", b"{", b"\x00\xff", b"[1]", b'{"value": "x"}', b'{"value": 1}\n{"value": 2}', b"null", b" \n")


class LiveBroker(Protocol):
    """A running server for the tests of one connector: topics nobody used, and a producer and a consumer of its own.

    `fresh` returns the address of a topic that is there and empty, or, `read=False`, of one that may be written.
    `take` returns the payloads that lie in a topic, in order. `kill` and `start` end the server as a power cut would
    and start it again with all it has on the disk; `can_kill` says whether that can be.
    """

    can_kill: bool

    def fresh(self, *, read: bool = True) -> str: ...
    def put(self, address: str, payloads: Sequence[bytes]) -> None: ...
    def take(self, address: str) -> list[bytes]: ...
    def kill(self) -> None: ...
    def start(self) -> None: ...


def connector_checks(
    kind: type[Connector], broker: LiveBroker, *, kills: int = 20, broker_kills: int = 3, seed: int = 1
) -> Iterator[Check]:
    """Yield the checks for one connector on a running server; `kills` of the stream and `broker_kills` are random.

    >>> from sfumato.stream.connectors.redis_streams import RedisStreams
    >>> class Nothing:
    ...     can_kill = False
    >>> [check.name for check in connector_checks(RedisStreams, Nothing())][0]
    'an address is read and refused'
    """
    for name, function in CHECKS.items():
        yield Check(name, partial(function, kind, broker))
    if kills:
        name = f"killed {kills} times, nothing is lost or doubled (seed {seed})"
        yield Check(name, partial(_survives_kills, kind, broker, kills, seed))
    if broker.can_kill and broker_kills:
        name = f"with the broker killed {broker_kills} times, nothing is lost or doubled (seed {seed})"
        yield Check(name, partial(_survives_broker, kind, broker, broker_kills, seed))


def record(value: int) -> bytes:
    """Return the payload of a record.

    >>> record(5)
    b'{"value":5}'
    """
    return msgspec.json.encode({COLUMN: value})


def _read(reader: MessageReader, count: int, limit: int = 7) -> list[Received]:
    """Return what a reader gives until so many messages came."""
    found: list[Received] = []
    until = time.monotonic() + PATIENCE
    while sum(len(one.payloads) for one in found) < count and time.monotonic() < until:
        received = reader.read(limit, 0.2)
        if received is not None:
            expect(len(received.payloads) <= limit, f"{len(received.payloads)} messages are given, {limit} the most")
            found.append(received)
    return found


def _values(found: Sequence[Received]) -> list[int]:
    return [int(msgspec.json.decode(payload)[COLUMN]) for one in found for payload in one.payloads]


def _address(kind: type[Connector], broker: LiveBroker) -> None:
    address = broker.fresh()
    scheme, _, rest = address.partition("://")
    expect(scheme in {kind.name, *kind.aliases}, f"the address {address} has another scheme than {kind.name}")
    expect(kind.form.startswith(f"{kind.name}://"), f"{kind.__name__}.form does not show an address")
    expect(kind.words and all(kind.options.values()), f"{kind.__name__} does not say what it and its options are")
    for wrong in (f"{scheme}://ana:geheim@{rest.rpartition('@')[2]}", _with(address, "password=geheim")):
        said = _refusal(kind, wrong)
        expect(said and "geheim" not in said, f"a password in the address is not refused, or shown: {said}")
        expect(kind.secret() in said, f"the refusal of a password does not name {kind.secret()}: {said}")
    for option in ("fromat=csv", "format=xml", "records=0"):
        expect(_refusal(kind, _with(address, option)), f"the option '{option}' is not refused")


def _with(address: str, option: str) -> str:
    """Return an address with one more option, before what stands behind a #."""
    before, mark, behind = address.partition("#")
    return f"{before}{'&' if '?' in before else '?'}{option}{mark}{behind}"


def _refusal(kind: type[Connector], address: str) -> str:
    try:
        connect(kind, address)
    except SfumatoError as error:
        expect(len(str(error).splitlines()) == 1, f"refused in more than one line: {error}")
        return str(error)
    return ""


def _keeps_order(kind: type[Connector], broker: LiveBroker) -> None:
    """Expect messages in order, and from any position on exactly those behind it, unless they were acknowledged."""
    address = broker.fresh()
    reader = connect(kind, address).reader()
    try:
        reader.open(STREAM, "")
        broker.put(address, [record(value) for value in range(FEW)])
        found = _read(reader, FEW)
        expect(_values(found) == list(range(FEW)), f"{FEW} messages come as {_values(found)}")
        for place, one in enumerate(found):
            reader.close()
            reader.open(STREAM, one.position)
            rest = [value for later in found[place + 1 :] for value in _values([later])]
            again = _values(_read(reader, len(rest)))
            expect(again == rest, f"behind position {one.position} come {again}, not {rest}")
        expect(reader.read(7, 0.05) is None, "a message comes that nobody wrote")
    finally:
        reader.close()


def _acknowledges_when_told(kind: type[Connector], broker: LiveBroker) -> None:
    """Expect what was read and not acknowledged once more, from the start; what was acknowledged never again."""
    address = broker.fresh()
    reader = connect(kind, address).reader()
    reader.open(STREAM, "")
    broker.put(address, [record(value) for value in range(FEW)])
    _read(reader, FEW)
    reader.close()
    reader = connect(kind, address).reader()  # as after a crash before the first checkpoint
    reader.open(STREAM, "")
    found = _read(reader, FEW)
    reader.close()
    expect(_values(found) == list(range(FEW)), "what was read and lies in no checkpoint does not come again")
    reader = connect(kind, address).reader()
    reader.open(STREAM, found[0].position)
    rest = _values(found[1:])
    expect(_values(_read(reader, len(rest))) == rest, "what lies behind the checkpoint does not come again")
    reader.acknowledge(found[1].position)
    reader.acknowledge(found[1].position)  # after a crash it is told again
    reader.close()
    reader = connect(kind, address).reader()
    reader.open(STREAM, found[1].position)
    rest = _values(found[2:])
    expect(_values(_read(reader, len(rest))) == rest, "what lies behind the acknowledged does not come again")
    reader.close()


def _messages(rows: Sequence[bytes], begin: int = 0) -> list[Message]:
    return [Message(row, 1, begin + number) for number, row in enumerate(rows, 1)]


def _writes_once(kind: type[Connector], broker: LiveBroker) -> None:
    """Expect a writer to know what lies there, so that a replay writes nothing, and to refuse another stream's rows."""
    address = broker.fresh(read=False)
    rows = [record(value) for value in range(FEW)]
    writer = connect(kind, address).writer()
    expect(writer.open(STREAM) == 0, "a topic that nobody wrote to has rows")
    writer.send(_messages(rows[:9]))
    writer.send(_messages(rows[9:16], 9))
    writer.close()
    writer = connect(kind, address).writer()
    there = writer.open(STREAM)
    expect(there == 16, f"16 rows were written, and {there} are said to lie there")
    writer.send(_messages(rows[16:], 16))
    _compares(writer, rows)
    writer.close()
    expect(broker.take(address) == rows, "the topic has other rows than were written")
    _refuses_other_stream(connect(kind, address).writer())


def _compares(writer: MessageWriter, rows: Sequence[bytes]) -> None:
    for begin, end in ((0, FEW), (5, 11)):
        for last, payload in writer.read_back(begin, end):
            expect(begin < last, f"rows from {begin} on were asked for, and those up to {last} are given")
            expect(payload == rows[last - 1], f"row {last - 1} is read back as {payload!r}")


def _refuses_other_stream(writer: MessageWriter) -> None:
    try:
        there = writer.open(OTHER)
    except SfumatoError:
        there = 1
    finally:
        writer.close()
    expect(there, "a topic with rows of another stream is taken for an empty one")


def _counts_batches(kind: type[Connector], broker: LiveBroker) -> None:
    """Expect messages of several rows to count all of them."""
    address = broker.fresh(read=False)
    writer = connect(kind, address).writer()
    writer.open(STREAM)
    pairs = [record(2 * number) + b"\n" + record(2 * number + 1) for number in range(3)]
    writer.send([Message(pair, 2, 2 * number) for number, pair in enumerate(pairs, 1)])
    writer.close()
    there = writer.open(STREAM)
    writer.close()
    expect(there == 6, f"three messages of two rows are counted as {there} rows")


class Run:
    """One stream through two topics: prepared, fed, and compared with what came in."""

    def __init__(self, kind: type[Connector], broker: LiveBroker, payloads: Sequence[bytes]) -> None:
        self._kind, self._broker, self.total = kind, broker, len(payloads)
        self.folder = Path(tempfile.mkdtemp(prefix="sfumato-connector-"))
        self.source, self.target = broker.fresh(), broker.fresh(read=False)
        self.until(0)  # now it has a name at the broker, and a checkpoint
        broker.put(self.source, payloads)

    def wait_for_reading(self) -> None:
        """Return when the process that was started reads."""
        until = time.monotonic() + PATIENCE
        while not (self.folder / READING).exists() and time.monotonic() < until:
            time.sleep(0.005)
        (self.folder / READING).unlink(missing_ok=True)

    def until(self, records: int, on_bad: str = "clamp") -> None:
        """Run in this process until so many records were read."""
        source, target = connect(self._kind, self.source), connect(self._kind, self.target)
        run_stream(source, target, self.folder, records, on_bad=on_bad)

    def expect_rows(self, wanted: Sequence[float]) -> None:
        """Expect exactly these values in the output, in order, each under its own number."""
        rows = [msgspec.json.decode(payload) for payload in self._broker.take(self.target)]
        numbers = [row["seq"] for row in rows]
        expect(numbers == sorted(numbers), "rows are not in order")
        expect(len(set(numbers)) == len(numbers), f"{len(numbers) - len(set(numbers))} rows are there twice")
        expect(numbers == list(range(len(wanted))), f"{len(wanted)} rows should be there, {len(numbers)} are")
        found = [row[COLUMN] for row in rows]
        wrong = next((place for place, pair in enumerate(zip(found, wanted, strict=True)) if pair[0] != pair[1]), None)
        if wrong is not None:
            expect(condition=False, sentence=f"row {wrong} has {found[wrong]}, not {wanted[wrong]}")
        shutil.rmtree(self.folder)


def _goes_on(kind: type[Connector], broker: LiveBroker) -> None:
    run = Run(kind, broker, [record(value) for value in range(5 * BATCH)])
    for stop in (BATCH, 3 * BATCH, run.total):
        run.until(stop)
    run.expect_rows(range(run.total))


def _poison(kind: type[Connector], broker: LiveBroker) -> None:
    """Expect a message that is no record to be one bad record in its place, and to move nobody else."""
    middle = BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) / 2
    payloads = [record(value) for value in range(3 * WINDOW + len(POISON))]
    payloads += [record(0)] * (-len(payloads) % WINDOW)
    wanted: list[float] = [float(msgspec.json.decode(payload)[COLUMN]) for payload in payloads]
    for number, poison in enumerate(POISON):
        payloads[3 * number], wanted[3 * number] = poison, middle
    run = Run(kind, broker, payloads)
    run.until(run.total)
    run.expect_rows(wanted)


def _slow_sink(kind: type[Connector], broker: LiveBroker) -> None:
    """Expect that no more is read than two checkpoints ahead of what the sink has taken."""
    address, target = broker.fresh(), broker.fresh(read=False)
    folder, written, ahead = Path(tempfile.mkdtemp(prefix="sfumato-connector-")), [0], [0]

    class Slow(kind):  # type: ignore[valid-type,misc]
        def writer(self) -> MessageWriter:
            real: MessageWriter = super().writer()
            send = real.send

            def late(messages: Sequence[Message]) -> None:
                time.sleep(0.05)
                send(messages)
                written[0] = messages[-1].end

            real.send = late  # type: ignore[method-assign]
            return real

    total = 12 * BATCH
    run_stream(connect(kind, address), connect(Slow, target), folder, 0)
    broker.put(address, [record(value) for value in range(total)])

    def look(progress: object) -> None:
        ahead[0] = max(ahead[0], progress.records - written[0])  # type: ignore[attr-defined]

    run_stream(connect(kind, address), connect(Slow, target), folder, total, listen=look)
    shutil.rmtree(folder)
    expect(written[0] == total, f"{total} records came, and {written[0]} rows left")
    expect(ahead[0] <= 3 * BATCH, f"{ahead[0]} records were read that the sink had not taken")


def _survives_kills(kind: type[Connector], broker: LiveBroker, kills: int, seed: int) -> None:
    moment = random.Random(seed)  # noqa: S311  # when to kill is no secret
    killed, runs = 0, 0
    while killed < kills:
        expect(runs < kills, f"{runs} streams came to their end, and only {killed} were killed: make them longer")
        runs += 1
        run = Run(kind, broker, [record(value) for value in range(KILL_RECORDS)])
        killed += _kill_until_done(kind, broker, run, moment, kills - killed)
        run.until(run.total)
        run.expect_rows(range(run.total))


def _kill_until_done(kind: type[Connector], broker: LiveBroker, run: Run, moment: random.Random, most: int) -> int:
    """Kill one stream over and over until it is done or was killed so often; return how often.

    Most of the time it reads already; now and then it has only begun. While nothing has left, each life may be twice as
    long, so that a slow broker or machine does not keep every kill before the first row.
    """
    longest, left = LONGEST_LIFE, False
    for killed in range(most):
        process = start(kind, run.source, run.target, run.folder, run.total)
        if moment.random() < SETTLED:
            run.wait_for_reading()
        process.join(moment.uniform(0.0, longest))
        ended = process.exitcode is not None
        process.kill()
        process.join()
        _expect_no_error(run.folder)
        if ended:
            return killed
        left = left or bool(broker.take(run.target))
        longest = LONGEST_LIFE if left else min(2 * longest, PATIENCE)
    expect(left, "a stream that was killed over and over has not come any further")
    return most


def _survives_broker(kind: type[Connector], broker: LiveBroker, kills: int, seed: int) -> None:
    """Kill the server while a stream runs, and the stream too now and then; both go on."""
    moment = random.Random(seed)  # noqa: S311  # when to kill is no secret
    run = Run(kind, broker, [record(value) for value in range(KILL_RECORDS)])
    process = start(kind, run.source, run.target, run.folder, run.total)
    run.wait_for_reading()
    for number in range(kills):
        time.sleep(moment.uniform(0.0, LONGEST_LIFE))
        broker.kill()
        if number % 3 == 2:
            process.kill()
            process.join()
        broker.start()
        if process.exitcode is not None:
            process = start(kind, run.source, run.target, run.folder, run.total)
    process.join(6 * PATIENCE)
    ended = process.exitcode is not None
    process.kill()
    _expect_no_error(run.folder)
    expect(ended, "the stream does not come to its end though the broker is back")
    run.expect_rows(range(run.total))


def _expect_no_error(folder: Path) -> None:
    error = folder / "error"
    expect(not error.exists(), f"the stream ended: {error.read_text(encoding='utf-8') if error.exists() else ''}")


CHECKS = {
    "an address is read and refused": _address,
    "messages come in order, from any position": _keeps_order,
    "nothing is acknowledged unless it is told": _acknowledges_when_told,
    "a row is written once": _writes_once,
    "rows of a message are counted": _counts_batches,
    "a stream that was stopped goes on": _goes_on,
    "a poison message moves nobody": _poison,
    "a slow sink bounds what is read": _slow_sink,
}
