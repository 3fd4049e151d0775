"""A device's memory: the report it once drew for a value, sent again for that value, and a ledger of what it spent.

Permanent answers are those of Erlingsson, Pihur & Korolova (2014), section 3: a fresh draw in every round would add up
until the average tells the value. Everything is on the disk before a report leaves, with a hash of it all, so that
damage is refused and gives no budget back. Standard library only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from sfumato.core.files import open_lock, write_durably
from sfumato.errors import BudgetExceeded, InputError, ParameterError
from sfumato.local.base import LocalProtocol
from sfumato.local.domain import Value
from sfumato.local.reports.report import Report

FORMAT = "sfumato-device-2"
WITHOUT_HASH = "sfumato-device-1"
PARTS = {"format", "budget", "rounds", "answers", "last"}


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
        try:
            object.__setattr__(self, "total", Decimal(str(self.budget)))
        except InvalidOperation:
            object.__setattr__(self, "total", Decimal("NaN"))
        if not self.total.is_finite() or self.total <= 0:
            raise ParameterError(f"the budget of a device is {self.budget!r}; it must be a number above 0")
        with self._exclusive_content() as content:
            if Decimal(content["budget"]) != self.total:
                raise InputError(
                    f"device file '{self.path}' was begun with budget {content['budget']}; found {self.budget}, and a "
                    "budget cannot be changed afterwards"
                )

    @property
    def rounds(self) -> list[dict[str, str]]:
        """Every round this device reported in: its name, the question, and what it cost (0 for a repeated report)."""
        with self._exclusive_content() as content:
            return list(content["rounds"])

    @property
    def spent(self) -> Decimal:
        """What the device has spent."""
        return sum((Decimal(entry["epsilon"]) for entry in self.rounds), Decimal(0))

    def report(self, protocol: LocalProtocol, value: Value, *, period: str) -> Report:
        """The report of a value in a round: the one drawn before if there is one, else a new one that is paid for.

        Raises `BudgetExceeded` when the budget does not suffice, and has drawn nothing. Do not let the collector see
        that: it would tell it that the value changed. Send what `repeat` returns.
        """
        question, key = protocol.question, protocol.answer_key(value)
        with self._exclusive_content() as content:
            answers = content["answers"].setdefault(question, {})
            cost = Decimal(0) if key in answers else protocol.promise.cost.epsilon
            left = self.total - sum((Decimal(entry["epsilon"]) for entry in content["rounds"]), Decimal(0))
            if cost > left:
                raise BudgetExceeded({"epsilon": left}, {"epsilon": cost}, f"device '{self.path}'")
            if key not in answers:
                earlier = [base64.b64decode(kept) for kept in answers.values()]
                answers[key] = base64.b64encode(protocol.draw_answer(value, earlier)).decode("ascii")
            content["last"][question] = key
            content["rounds"].append({"round": period, "question": question, "epsilon": str(cost)})
            self._store(content)
            return protocol.report_answer(base64.b64decode(answers[key]))

    def repeat(self, protocol: LocalProtocol) -> Report:
        """The last report sent for this protocol and domain, which costs nothing; RAPPOR's with fresh noise."""
        question = protocol.question
        with self._exclusive_content() as content:
            if question not in content["last"]:
                raise InputError(f"device file '{self.path}' has no report for this question yet")
            return protocol.report_answer(base64.b64decode(content["answers"][question][content["last"][question]]))

    def _store(self, content: dict[str, Any]) -> None:
        try:
            whole = {**content, "format": FORMAT}
            write_durably(self.path, json.dumps({**whole, "hash": _hash(whole)}, indent=1).encode("ascii"))
        except OSError as error:
            raise InputError(
                f"device file '{self.path}' cannot be written ({error.strerror}), so no report was sent"
            ) from error

    @contextmanager
    def _exclusive_content(self) -> Iterator[dict[str, Any]]:
        """The file's content, made if it is not there, with no other process at it until the block ends."""
        import fcntl  # only where a device keeps a memory; not every system has it

        try:
            lock = open_lock(self.path.with_name(f".{self.path.name}.lock"))
        except OSError as error:
            raise InputError(f"device file '{self.path}' cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.path.exists():
                fresh = {"format": FORMAT, "budget": str(self.total), "rounds": [], "answers": {}, "last": {}}
                self._store(fresh)
            yield _read(self.path)
        finally:
            os.close(lock)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        known = str(content["format"]).startswith(FORMAT[:-1])
        mark = content.pop("hash", None)
        whole = mark == _hash(content) if content["format"] == FORMAT else content["format"] == WITHOUT_HASH
        sound = not known or (whole and set(content) == PARTS and _is_sound(content))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InputError(
            f"device file '{path}' is damaged ({error}); restore it, for it says what was spent"
        ) from error
    if not known:
        raise InputError(f"file '{path}' is not the file of a device; choose another")
    if not sound:
        raise InputError(f"device file '{path}' is damaged; restore it, for it says what was spent")
    return content


def _hash(content: dict[str, Any]) -> str:
    """The hash of all that a file says, however it is laid out."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()


def _is_sound(content: dict[str, Any]) -> bool:
    """Whether every charge is a number and every question's last answer is there to be sent again."""
    charges = [Decimal(content["budget"]), *(Decimal(entry["epsilon"]) for entry in content["rounds"])]
    answers = content["answers"]
    for kept in answers.values():
        for text in kept.values():
            base64.b64decode(text, validate=True)
    last_kept = all(key in answers[question] for question, key in content["last"].items())
    return last_kept and all(charge.is_finite() and charge >= 0 for charge in charges)
