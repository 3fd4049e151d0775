"""A long stream through a broker, run by hand: its rate, its memory, and whether each row left once and in order.

`python benchmarks/soak.py [RECORDS [nats|redis [FILE.json]]]`: 100 million records through NATS unless given. Records
are fed beside it while fewer than `BACKLOG` wait; what was read or looked at is dropped, so that disks stay small.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from stream_brokers import OPTIONS, SERVERS, WINDOW, Load

TOGETHER, MESSAGES = 100, 1000  # records in a message, and messages that are fed at once
BACKLOG = 2_000_000
RECORDS = 100_000_000
WARM = 0.1  # share of the rows after which memory must not grow


class Row(msgspec.Struct):
    """What is looked at of a released row."""

    seq: int


ROWS = msgspec.json.Decoder(Row)


class Topics(Protocol):
    """The topics `in` and `out` of a broker."""

    place: str

    def feed(self, payloads: Sequence[bytes]) -> None: ...
    def rows(self) -> list[bytes]: ...
    def drop(self, messages: int, rows: int) -> None: ...


class Nats:
    """Streams of NATS on its disk."""

    server = "NatsServer"

    def __init__(self, port: int) -> None:
        self.place = f"nats://127.0.0.1:{port}"
        self._loop = asyncio.new_event_loop()
        self._run(self._open())

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    async def _open(self) -> None:
        import nats
        from nats.js.api import AckPolicy, ConsumerConfig

        self._client = await nats.connect(self.place)
        self._streams = self._client.jetstream(timeout=30)
        for name in ("in", "out"):
            await self._streams.add_stream(name=name, subjects=[name])
        quiet = ConsumerConfig(ack_policy=AckPolicy.NONE)
        self._reader = await self._streams.pull_subscribe("out", stream="out", config=quiet)

    def feed(self, payloads: Sequence[bytes]) -> None:
        self._run(self._feed(payloads))

    async def _feed(self, payloads: Sequence[bytes]) -> None:
        sent = [await self._streams.publish_async("in", payload) for payload in payloads]
        await asyncio.gather(*sent)

    def rows(self) -> list[bytes]:
        found: list[bytes] = []
        with suppress(TimeoutError):
            found = [one.data for one in self._run(self._reader.fetch(MESSAGES, timeout=0.2))]
        return found

    def drop(self, messages: int, rows: int) -> None:
        self._run(self._streams.purge_stream("in", seq=max(1, messages)))
        self._run(self._streams.purge_stream("out", seq=max(1, rows // TOGETHER)))  # the last message stays


class Redis:
    """Streams of Redis, each write on the disk before it answers."""

    server = "RedisServer"

    def __init__(self, port: int) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        once = Retry(NoBackoff(), 0)  # a pipeline that is sent again would add its entries twice
        self._client = redis.Redis(port=port, socket_timeout=None, retry=once)
        self.place, self._fed, self._last = f"redis://127.0.0.1:{port}", 0, "0-0"
        self._client.xadd("in", {"data": b"x"}, id="0-1")
        self._client.xdel("in", "0-1")

    def feed(self, payloads: Sequence[bytes]) -> None:
        with self._client.pipeline(transaction=False) as pipe:
            for number, payload in enumerate(payloads, self._fed + 1):
                pipe.xadd("in", {"data": payload}, id=f"{number}-0")
            pipe.execute()
        self._fed += len(payloads)

    def rows(self) -> list[bytes]:
        found: Any = self._client.xrange("out", f"({self._last}", "+", count=MESSAGES)
        if not found:
            time.sleep(0.05)
            return []
        self._last = found[-1][0].decode()
        return [fields[b"rows"] for _, fields in found]

    def drop(self, messages: int, rows: int) -> None:
        self._client.xtrim("in", minid=f"{messages}-0", approximate=False)
        self._client.xtrim("out", minid=f"{rows}-0", approximate=False)


BROKERS: dict[str, type[Nats | Redis]] = {"nats": Nats, "redis": Redis}


class Soak:
    """One run: feeds, looks at each row, and notes memory once a second."""

    def __init__(self, records: int, topics: Topics, process: subprocess.Popen[bytes]) -> None:
        self.records, self._topics, self._process = records, topics, process
        self._payloads = Load(MESSAGES * TOGETHER, TOGETHER).payloads
        self.fed = self.left = 0
        self.samples: list[tuple[float, int, int]] = []
        self._begun = time.monotonic()

    def run(self) -> float:
        """Return the seconds from the beginning to the last row."""
        quiet = time.monotonic()
        while self.left < self.records:
            if self._process.poll() is not None or time.monotonic() > quiet + 120:
                sys.exit(f"the stream stands still or has ended with {self.left:,} of {self.records:,} rows")
            if self.fed < self.records and self.fed - self.left < BACKLOG:
                self._topics.feed(self._payloads[: (self.records - self.fed) // TOGETHER])
                self.fed = min(self.records, self.fed + MESSAGES * TOGETHER)
            if self._look():
                quiet = time.monotonic()
            self._sample()
        seconds = time.monotonic() - self._begun
        if self._topics.rows():
            sys.exit("more rows left than records came")
        return seconds

    def _look(self) -> bool:
        """Look at the rows that came: each has the number after the one before it."""
        found = self._topics.rows()
        for payload in found:
            for row in ROWS.decode_lines(payload):
                if row.seq != self.left:
                    sys.exit(f"row {row.seq} stands where row {self.left} should be")
                self.left += 1
        if found:
            self._topics.drop(self.left // TOGETHER, self.left)
        return bool(found)

    def _sample(self) -> None:
        now = time.monotonic() - self._begun
        if not self.samples or now >= self.samples[-1][0] + 1:
            self.samples.append((round(now, 2), self.left, _resident(self._process.pid)))

    def told(self, broker: str, seconds: float) -> dict[str, Any]:
        """Return the figures, the slope of memory among them."""
        warm = np.array([(rows, size) for _, rows, size in self.samples if rows >= WARM * self.records], dtype=float)
        slope = float(np.polyfit(warm[:, 0], warm[:, 1], 1)[0]) if len(warm) > 2 else None
        return {
            "broker": broker,
            "records": self.records,
            "rows in order, each once": self.left,
            "seconds": round(seconds, 1),
            "records a second": round(self.records / seconds),
            "MiB at most": round(max(size for _, _, size in self.samples) / 1024, 1),
            "MiB after a tenth, least and most": [
                round(float(pick(warm[:, 1])) / 1024, 1) for pick in (np.min, np.max)
            ],
            "MiB more with each million records after a tenth": None if slope is None else round(slope * 1e6 / 1024, 4),
            "samples of second, rows, KiB": self.samples,
        }


def _resident(process: int) -> int:
    """Return the resident memory of a process in KiB."""
    text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0])


def soak(records: int, broker: str) -> dict[str, Any]:
    """Return the figures of one run on a server of the tests, which is started and stopped."""
    sys.path.append(str(SERVERS))
    with tempfile.TemporaryDirectory() as folder:
        (place := Path(folder, "server")).mkdir()
        kind = BROKERS[broker]
        server = getattr(__import__("servers"), kind.server)(place)
        server.start()
        try:
            topics = kind(server.port)
            ends = [f"{topics.place}/in?records={TOGETHER}", "-o", f"{topics.place}/out?records={TOGETHER}"]
            kept = ["--checkpoint", f"{folder}/kept", "--card", f"{folder}/card.json"]
            with (told := Path(folder, "said")).open("wb") as said:
                command = [sys.executable, "-m", "sfumato", "stream", *ends, *OPTIONS, *kept]
                process = subprocess.Popen(command, stdout=said, stderr=said)
                try:
                    run = Soak(records, topics, process)
                    seconds = run.run()
                    process.send_signal(signal.SIGINT)
                    process.wait(60)
                except SystemExit as stopped:
                    sys.exit(f"{stopped}; the command said: {told.read_text(encoding='utf-8')[-500:]}")
                finally:
                    process.kill()
            return run.told(broker, seconds)
        finally:
            server.stop()


def main(records: str = str(RECORDS), broker: str = "nats", file: str = "soak.json") -> None:
    """Run one soak, print its figures, and write them with all samples to a file."""
    if int(records) % (MESSAGES * TOGETHER) or int(records) % WINDOW or broker not in BROKERS:
        sys.exit(f"give a multiple of {MESSAGES * TOGETHER:,} records, and one of {', '.join(BROKERS)}")
    figures = soak(int(records), broker)
    Path(file).write_text(json.dumps(figures) + "\n", encoding="utf-8")
    print("\n".join(f"{name}: {value}" for name, value in figures.items() if not name.startswith("samples")))


if __name__ == "__main__":
    main(*sys.argv[1:])
