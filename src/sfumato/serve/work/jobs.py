"""What a worker is asked to do, and what it may say: jobs, outcomes, and the frames that carry them.

A frame is its length in four bytes and JSON. Nothing is ever unpickled, so that a worker that goes wrong says nothing
but an outcome (Haeberlen, Pierce & Narayan 2011 keep what looks at rows apart from what answers).
"""

from __future__ import annotations

import socket
import struct
from typing import Literal, TypeVar

import msgspec

from sfumato.client.wire import AskBody, PlanBody

Content = TypeVar("Content")
LENGTH = struct.Struct("!I")
LARGEST = 256 << 20  # bytes of a frame


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """What a steward declares with a data set, as a worker makes its ledger from it."""

    schema: str
    epsilon: str
    delta: str
    delta_keys: str
    accountant: Literal["pure", "zcdp"]
    protect: str
    neighbours: Literal["presence", "value"]
    deadline: float
    population: str | None
    other_people: bool
    shares: dict[str, str]


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """Answer a question, charged to the ledger."""

    ledger: str
    analyst: str
    body: AskBody


class Rehearse(msgspec.Struct, frozen=True, tag="rehearse"):
    """Answer a question on made-up rows."""

    ledger: str
    analyst: str
    body: AskBody


class MakePlan(msgspec.Struct, frozen=True, tag="plan"):
    """Plan a question."""

    ledger: str
    analyst: str
    body: PlanBody


class Register(msgspec.Struct, frozen=True, tag="register"):
    """Make the ledger of a data set, having read all its rows."""

    ledger: str
    rows: str
    declared: Declaration


Job = Ask | Rehearse | MakePlan | Register


class Order(msgspec.Struct, frozen=True):
    """A job with its limits: bytes of memory beyond what a worker begins with, and seconds in all."""

    job: Job
    memory: int
    seconds: int
    hidden: str  # the home folder, whose path no sentence tells


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """The clock of an answer starts now: whatever comes before depends on public facts alone."""

    deadline: float


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The job is done; `reply` is the body of the answer."""

    reply: msgspec.Raw


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The job was refused, with a sentence that has no data in it."""

    kind: Literal["input", "budget", "frozen", "broken"]
    sentence: str


Word = Begun | Done | Refused


def send_frame(connection: socket.socket, content: Order | Word) -> None:
    """Send one frame.

    >>> ours, theirs = socket.socketpair()
    >>> send_frame(ours, Begun(1.0))
    >>> receive_frame(theirs, Begun)
    Begun(deadline=1.0)
    >>> ours.close()
    >>> receive_frame(theirs, Begun) is None
    True
    >>> theirs.close()
    """
    body = msgspec.json.encode(content)
    connection.sendall(LENGTH.pack(len(body)) + body)


def receive_frame(connection: socket.socket, kind: type[Content]) -> Content | None:
    """Return the next frame, None where the other side has gone or says something else."""
    head = _exactly(connection, LENGTH.size)
    size = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else LARGEST + 1
    body = _exactly(connection, size) if size <= LARGEST else b""
    try:
        return msgspec.json.decode(body, type=kind) if body else None
    except msgspec.MsgspecError:
        return None


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts, missing = [], size
    while missing:
        try:
            part = connection.recv(min(missing, 1 << 20))
        except ConnectionError:
            part = b""
        if not part:
            return b""
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
