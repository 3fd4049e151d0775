"""The application: routes made from the table of operations, and what happens to every request before and after them.

A request is refused as early as possible: by its host, its place, its token, its role, its size, its form. Nothing that
goes wrong is told in other words than those of a problem (RFC 9457), and no header lets a page run or frame anything.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.serve.accounts import Role
from sfumato.serve.api.openapi import PATTERNS
from sfumato.serve.api.pages import Content
from sfumato.serve.api.table import OPERATIONS, Operation
from sfumato.serve.problems import Problem, problem_of
from sfumato.serve.server import Call, Server
from sfumato.serve.settings import BODY_SECONDS, MEBIBYTE, UPLOAD_SECONDS
from sfumato.serve.tokens import Caller, find_caller
from sfumato.serve.uploads import Arrival

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
PROBLEM = "application/problem+json"
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
WRONG = {404: "not-found", 405: "wrong-method"}
Tell = Callable[[str], None]


def application(server: Server, tell: Tell | None = None) -> ASGIApp:
    """Return the application of a server; `tell` gets one line of JSON for each call, without data."""
    said = tell or _to_standard_error
    routes = [Route(one.path, _endpoint(server, one, said), methods=[one.method]) for one in OPERATIONS]

    async def refused(request: Request, error: Exception) -> Response:
        del request
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _problem(Problem(WRONG.get(status, "broken")))

    app = Starlette(routes=routes, exception_handlers={HTTPException: refused})
    app.router.redirect_slashes = False
    return _Guarded(app, server)


class _Guarded:
    """Refuses other hosts, puts the security headers on every answer, and lets no error out."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        begun = False

        async def send_guarded(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                known = {name.lower() for name, _ in message["headers"]}
                more = [
                    (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in known
                ]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._server.settings.answers_to(hosts[0].decode("latin-1")):
            await _problem(Problem("wrong-host", "name the host in --allow-host"))(scope, receive, send_guarded)
            return
        try:
            await self._app(scope, receive, send_guarded)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001  # no error may reach the server's own log with its words
            _to_standard_error(_line("unknown", 500, Caller.nobody(), error))
            if not begun:
                await _problem(Problem("broken"))(scope, receive, send_guarded)


def _endpoint(server: Server, operation: Operation, tell: Tell) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        caller, broke = Caller.nobody(), None
        try:
            caller = await run_in_threadpool(_caller, server, request)
            response = await _answer(server, operation, request, caller)
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001  # every one becomes a problem
            problem = problem_of(error, server.hidden)
            broke = error if problem.kind == "broken" else None
            response = _problem(problem)
        server.numbers.called(operation.name, response.status_code)
        tell(_line(operation.name, response.status_code, caller, broke))
        return response

    return endpoint


async def _answer(server: Server, operation: Operation, request: Request, caller: Caller) -> Response:
    _refuse_strangers(operation, request, caller)
    path = _path(request)
    window = _window(operation, request)
    key = _key(operation, request)
    arrival: Arrival | None = None
    try:
        body: Any = None
        if operation.upload:
            arrival = await _upload(server, request)
        elif operation.body is not None or operation.form:
            body = _decoded(operation, await _body(operation, request))
        call = Call(server, caller, path, window, body, arrival, key)
        return _response(operation, await run_in_threadpool(operation.call, call))
    finally:
        if arrival is not None:
            arrival.close()


def _caller(server: Server, request: Request) -> Caller:
    """Return who calls: nobody where no token is shown; a token that is no good is refused."""
    shown = request.headers.getlist("authorization")
    if not shown:
        return Caller.nobody()
    kind, _, text = shown[0].partition(" ")
    found = find_caller(server.home.database, text) if len(shown) == 1 and kind.lower() == "bearer" else None
    if found is None:
        raise Problem("not-signed-in", "the token is unknown, revoked or over")
    return found


def _refuse_strangers(operation: Operation, request: Request, caller: Caller) -> None:
    if operation.allows(caller.role, caller.scopes):
        return
    del request
    if caller.role is Role.NOBODY:
        raise Problem("not-signed-in", "send a token: Authorization: Bearer …")
    raise Problem("forbidden")


def _path(request: Request) -> dict[str, str]:
    """Return what the path names; a name that none can have leads nowhere."""
    found = {name: str(value) for name, value in request.path_params.items()}
    for name, value in found.items():
        if not re.fullmatch(PATTERNS[name], value):
            raise Problem("not-found")
    return found


def _window(operation: Operation, request: Request) -> Any:
    pairs = request.query_params.multi_items()
    if operation.window is None:
        if pairs:
            raise Problem("input", "this place takes no parameters; leave out what follows the question mark")
        return None
    if len({name for name, _ in pairs}) < len(pairs):
        raise Problem("input", "a parameter stands twice; give it once")
    try:
        return msgspec.convert(dict(pairs), operation.window, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Problem("input", f"the parameters cannot be used: {_plain(error)}") from None


def _key(operation: Operation, request: Request) -> str | None:
    keys = request.headers.getlist("idempotency-key")
    if not operation.keyed or not keys:
        return None
    if len(keys) > 1:
        raise Problem("input", "the idempotency key stands twice; give it once")
    return keys[0]


async def _body(operation: Operation, request: Request) -> bytes:
    wanted = FORM if operation.form else JSON
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != wanted:
        raise Problem("wrong-type", f"send the body as {wanted}")
    _refuse_length(request, operation.largest)
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                _refuse_more(size, operation.largest)
                parts.append(part)
    except TimeoutError:
        raise Problem("too-slow", f"send the body within {BODY_SECONDS:g} s") from None
    return b"".join(parts)


def _refuse_length(request: Request, largest: int) -> None:
    length = request.headers.get("content-length", "0")
    plain = length.isascii() and length.isdecimal() and len(length) < 19
    _refuse_more(int(length) if plain else largest + 1, largest)


def _refuse_more(size: int, largest: int) -> None:
    if size > largest:
        raise Problem("too-large", f"the body may have {largest} bytes")


async def _upload(server: Server, request: Request) -> Arrival:
    largest = server.settings.upload * MEBIBYTE
    _refuse_length(request, largest)
    arrival = Arrival.begin(server.home.work)
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            async for part in request.stream():
                _refuse_more(arrival.size + len(part), largest)
                await run_in_threadpool(arrival.write, part)
    except TimeoutError:
        arrival.close()
        raise Problem("too-slow", f"send the file within {UPLOAD_SECONDS:g} s") from None
    except BaseException:
        arrival.close()
        raise
    return arrival


def _decoded(operation: Operation, body: bytes) -> Any:
    if operation.body is None:
        return body
    try:
        return msgspec.json.decode(body, type=operation.body)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Problem("input", f"the body cannot be used: {_plain(error)}") from None


def _plain(error: Exception) -> str:
    """Return what is wrong in visible characters: it may quote what was sent."""
    words = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return "".join(letter if letter.isprintable() else "?" for letter in words)[:300]


def _response(operation: Operation, found: Any) -> Response:
    if isinstance(found, Content):
        return Response(found.body, media_type=found.media)
    if found is None:
        return Response(status_code=operation.status)
    content = bytes(found) if isinstance(found, msgspec.Raw) else msgspec.json.encode(found)
    return Response(content, status_code=operation.status, media_type=JSON)


def _problem(problem: Problem) -> Response:
    more = {"not-signed-in": {"www-authenticate": "Bearer"}, "busy": {"retry-after": "1"}}.get(problem.kind)
    content = msgspec.json.encode(problem.reply)
    return Response(content, status_code=problem.status, headers=more, media_type=PROBLEM)


def _line(operation: str, status: int, caller: Caller, error: Exception | None) -> str:
    """Return one line about a call: of an error its kind and its place in our code, never its words."""
    said: dict[str, Any] = {"time": round(time.time(), 3), "operation": operation, "status": status}
    said["account"] = caller.name
    if error is not None:
        last = traceback.extract_tb(error.__traceback__)[-1:]
        said["error"] = type(error).__name__
        said["place"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in last]
    return json.dumps(said)


def _to_standard_error(line: str) -> None:
    sys.stderr.write(f"{line}\n")
