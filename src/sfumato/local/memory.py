"""A device's memory: the report it once drew for a value, sent again for that value, and a ledger of what it spent.

Permanent answers are those of Erlingsson, Pihur & Korolova (2014), section 3: a fresh draw in every round would add up
until the average tells the value. Everything is on the disk before a report leaves. Standard library only.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.local.base import LocalProtocol
from sfumato.local.domain import Value
from sfumato.local.rappor import Rappor
from sfumato.local.report import Report

FORMAT = "sfumato-device-1"


class SpentError(SfumatoError):
    """A device would have to spend more than its budget, and has drawn nothing; the fields say how much.

    >>> error = SpentError(Decimal("0.5"), Decimal(1))
    >>> str(error), error.exit_code
    ('a new report costs ε=1 and this device has ε=0.5 left; it may only repeat its last one', 1)
    """

    exit_code = 1

    def __init__(self, remaining: Decimal, asked: Decimal) -> None:
        super().__init__(
            f"a new report costs ε={asked} and this device has ε={remaining} left; it may only repeat its last one"
        )
        self.remaining = remaining
        self.asked = asked


@dataclass(frozen=True)
class Memory:
    """The file of one device, readable by its owner only: reports already drawn, and the budget for new ones.

    >>> import tempfile
    >>> from sfumato.local import OptimizedUnary
    >>> stations = OptimizedUnary(["north", "south"], 1)
    >>> memory = Memory(Path(tempfile.mkdtemp()) / "device.json", budget=2)
    >>> memory.report(stations, "north", period="May") == memory.report(stations, "north", period="June")
    True
    >>> memory.spent <= 1, [entry["round"] for entry in memory.rounds]
    (True, ['May', 'June'])
    """

    path: Path
    budget: float
    total: Decimal = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "total", Decimal(str(self.budget)))
        if not self.total.is_finite() or self.total <= 0:
            raise ParameterError(f"the budget of a device is {self.budget}; it must be a number above 0")
        with self._held() as content:
            if Decimal(content["budget"]) != self.total:
                raise InputError(
                    f"device file '{self.path}' was begun with budget {content['budget']}; found {self.budget}, and a "
                    "budget cannot be changed afterwards"
                )

    @property
    def rounds(self) -> list[dict[str, str]]:
        """Every round this device reported in: its name, the question, and what it cost (0 for a repeated report)."""
        with self._held() as content:
            return list(content["rounds"])

    @property
    def spent(self) -> Decimal:
        """What the device has spent."""
        return sum((Decimal(entry["epsilon"]) for entry in self.rounds), Decimal(0))

    def report(self, protocol: LocalProtocol, value: Value, *, period: str) -> Report:
        """The report of a value in a round: the one drawn before if there is one, else a new one that is paid for.

        Raises `SpentError` when the budget does not suffice. Do not let the collector see that: it would tell it that
        the value changed. Send what `repeat` returns.
        """
        code = protocol.encode(value)
        question, key = _question(protocol), str(code)
        with self._held() as content:
            answers = content["answers"].setdefault(question, {})
            cost = Decimal(0) if key in answers else Decimal(repr(protocol.spent))
            left = self.total - sum((Decimal(entry["epsilon"]) for entry in content["rounds"]), Decimal(0))
            if cost > left:
                raise SpentError(left, cost)
            if key not in answers:
                answers[key] = base64.b64encode(_permanent(protocol, code)).decode("ascii")
            content["last"][question] = key
            content["rounds"].append({"round": period, "question": question, "epsilon": str(cost)})
            write_durably(self.path, json.dumps(content, indent=1).encode("ascii"))
            return _sent(protocol, base64.b64decode(answers[key]))

    def repeat(self, protocol: LocalProtocol) -> Report:
        """The last report sent for this protocol and domain, which costs nothing."""
        question = _question(protocol)
        with self._held() as content:
            if question not in content["last"]:
                raise InputError(f"device file '{self.path}' has no report for this question yet")
            return _sent(protocol, base64.b64decode(content["answers"][question][content["last"][question]]))

    @contextmanager
    def _held(self) -> Iterator[dict[str, Any]]:
        """The file's content, made if it is not there, with no other process at it until the block ends."""
        import fcntl  # only where a device keeps a memory; not every system has it

        try:
            lock = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(f"device file '{self.path}' cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.path.exists():
                fresh = {"format": FORMAT, "budget": str(self.total), "rounds": [], "answers": {}, "last": {}}
                write_durably(self.path, json.dumps(fresh).encode("ascii"))
            yield _read(self.path)
        finally:
            os.close(lock)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that after a crash it is either as before or complete; only its owner may read it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "device.json"
    >>> write_durably(file, b"{}")
    >>> file.read_bytes(), oct(file.stat().st_mode & 0o777)
    (b'{}', '0o600')
    """
    beside = path.with_name(f".{path.name}.partial")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        whole = content["format"] == FORMAT and {"budget", "rounds", "answers", "last"} <= content.keys()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"device file '{path}' is damaged ({error}); restore it, for it says what was spent"
        ) from error
    if not whole:
        raise InputError(f"file '{path}' is not the file of a device; choose another")
    return content


def _question(protocol: LocalProtocol) -> str:
    return f"{protocol.design_hash}-{protocol.domain_hash}"


def _permanent(protocol: LocalProtocol, code: int) -> bytes:
    return protocol.permanent(code) if isinstance(protocol, Rappor) else protocol.perturb(code).payload


def _sent(protocol: LocalProtocol, kept: bytes) -> Report:
    if isinstance(protocol, Rappor):
        return protocol.instantaneous(kept)
    return Report(protocol.name, protocol.design_hash, protocol.domain_hash, kept)
