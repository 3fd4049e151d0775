"""A curator in a folder of a test, called without a network, and workers that answer in this process."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.serve.accounts import Role, open_account
from sfumato.serve.app import application
from sfumato.serve.home import Home
from sfumato.serve.run import listen
from sfumato.serve.server import Server
from sfumato.serve.settings import Settings
from sfumato.serve.tokens import Scope, issue_token, scopes_of
from sfumato.serve.work import child, jobs
from sfumato.serve.work.crew import Crew

SCHEMA = """
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 23]
[columns.station]
role = "other"
categories = ["A", "B"]
"""
ROWS = "hour,station\n" + "8,A\n9,B\n17,A\n" * 50
COUNT = "SELECT station, COUNT(*) FROM rides GROUP BY station"
PEOPLE = {"steward": Role.STEWARD, "ana": Role.ANALYST, "bo": Role.ANALYST, "rita": Role.READER}
Headers = Sequence[tuple[str, str]]


def amounts(epsilon: str = "0") -> dict[str, str]:
    """Return a pure loss as it is written."""
    return {"epsilon": epsilon, "delta": "0", "rho": "0"}


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The kind of the problem that it is."""
        assert self.headers["content-type"] == "application/problem+json"
        return str(self.json()["type"]).removeprefix("urn:sfumato:problem:")


@dataclass
class InProcess(Crew):
    """A crew without processes: every job is done here, at once."""

    home: Path
    seen: list[jobs.Job] = field(default_factory=list)

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.seen = []

    def start(self) -> None:
        pass

    def ask(self, job: jobs.Ask, freeze: Any) -> jobs.Done | jobs.Refused:
        del freeze
        self.seen.append(job)
        with self.asking.taken(job.analyst):
            return child.outcome(job, lambda _: None, f"{self._home}/")

    def do(self, job: jobs.Rehearse | jobs.MakePlan | jobs.Register, account: str) -> jobs.Done | jobs.Refused:
        self.seen.append(job)
        with self.free.taken(account):
            return child.outcome(job, lambda _: None, f"{self._home}/")


@dataclass
class Door:
    """A curator's application, and the tokens of its people."""

    server: Server
    tokens: dict[str, str]
    lines: list[str] = field(default_factory=list)

    @classmethod
    def make(cls, folder: Path, **settings: Any) -> Door:
        home = Home.open(folder / "home")
        server = Server(home, Settings(**settings))
        server.__dict__["crew"] = InProcess(home.path)
        tokens = {}
        for name, role in PEOPLE.items():
            open_account(home.database, name, role, "home")
            tokens[name] = issue_token(home.database, name, scopes_of(role), 30, "home").text
        return cls(server, tokens)

    def token(self, name: str, *scopes: Scope) -> str:
        return issue_token(self.server.home.database, name, scopes, 30, "home").text

    def call(
        self,
        method: str,
        path: str,
        who: str | None = None,
        body: Any = None,
        headers: Headers = (),
        *,
        parts: Iterable[bytes] | None = None,
        host: str = "127.0.0.1:8460",
        pause: float = 0.0,
    ) -> Reply:
        sent = [("host", host), *headers]
        if who is not None:
            sent.append(("authorization", f"Bearer {self.tokens.get(who, who)}"))
        if body is not None:
            sent.append(("content-type", "application/json"))
            parts = [body if isinstance(body, bytes) else json.dumps(body).encode()]
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent]
        return asyncio.run(self._call(method, path, raw, list(parts or [b""]), pause))

    async def _call(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], parts: list[bytes], pause: float
    ) -> Reply:
        from urllib.parse import unquote

        place, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(place), "raw_path": place.encode(), "query_string": query.encode(), "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8460),
        }  # fmt: skip
        waiting, found = list(parts), list[Any]()

        async def receive() -> dict[str, Any]:
            if not waiting:
                await asyncio.sleep(3600)
            await asyncio.sleep(pause)
            part = waiting.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(waiting)}

        async def send(message: Any) -> None:
            found.append(message)

        await application(self.server, self.lines.append)(scope, receive, send)
        pairs = {name.decode("latin-1"): value.decode("latin-1") for name, value in found[0]["headers"]}
        return Reply(found[0]["status"], pairs, b"".join(message.get("body", b"") for message in found[1:]))

    def upload(self, name: str, content: bytes = ROWS.encode()) -> Reply:
        return self.call("PUT", f"/api/v1/files/{name}", "steward", parts=[content])

    def declare(self, **more: Any) -> Reply:
        """Register an uploaded file as a data set."""
        body = {"name": "rides", "file": "rides.csv", "schema": SCHEMA, "epsilon": "1.2", "deadline": 60}
        shares = {"shares": {"ana": "1", "bo": "0.5"}}
        return self.call("POST", "/api/v1/data-sets", "steward", {**body, **shares, **more})

    def register(self, name: str = "rides", rows: str = ROWS, **more: Any) -> Reply:
        """Upload a file and register it as a data set."""
        uploaded = self.upload(f"{name}.csv", rows.encode())
        assert uploaded.status == 201, uploaded.body
        return self.declare(name=name, file=f"{name}.csv", **more)

    def ask(self, who: str, body: Any, key: str | None = None, name: str = "rides") -> Reply:
        headers = [] if key is None else [("idempotency-key", key)]
        return self.call("POST", f"/api/v1/data-sets/{name}/ask", who, body, headers)


@contextmanager
def listening(door: Door) -> Iterator[str]:
    """Give the address of a curator that listens on a real socket while the block runs."""
    import uvicorn

    with listen(Settings(port=0)) as listener:
        config = uvicorn.Config(application(door.server, door.lines.append), log_config=None, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until = time.monotonic() + 30
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
