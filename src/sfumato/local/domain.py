"""The declared values a report may speak of: a public list, with a hash that every report carries.

The domain is fixed before the first report, as Erlingsson, Pihur & Korolova (2014) need of a collector's candidates.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import InputError, suggestion

Value = str | int

LARGEST_DOMAIN = 2**24
LARGEST_SEARCHED = 10_000  # a nearest name among more would take seconds to find


@dataclass(frozen=True)
class DomainRule:
    """Two or more different strings or integers; exactly `size` of them where that is set.

    >>> DomainRule().accepts(("north", "south")), DomainRule().accepts(("north",))
    (True, False)
    """

    size: int | None = None

    @property
    def wanted(self) -> str:
        number = f"2 to {LARGEST_DOMAIN}" if self.size is None else str(self.size)
        return f"a sequence of {number} different strings or integers"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, tuple) or not 2 <= len(value) <= LARGEST_DOMAIN or self.size not in {None, len(value)}:
            return False
        return all(_is_value(entry) for entry in value) and len(set(value)) == len(value)

    def bad_values(self) -> list[object]:
        third: list[object] = [] if self.size is None else [("a", "b", "c")]
        return [(), ("a",), ("a", "a"), ("a", 1.5), ("a", True), ("a", "\ud800"), "ab", None, *third]


@dataclass(frozen=True)
class Sentence:
    """Words for a reader.

    >>> Sentence().accepts("the lowest variance"), Sentence().accepts(3)
    (True, False)
    """

    wanted: str = "a text"

    def accepts(self, value: object) -> bool:
        return isinstance(value, str)

    def bad_values(self) -> list[object]:
        return [3, None]


def as_domain(values: object) -> object:
    """Return a sequence of values as the tuple it stands for, and anything else as it is.

    >>> as_domain(["a", "b"]), as_domain("ab")
    (('a', 'b'), 'ab')
    """
    for name in ("tolist", "to_list"):  # arrays and columns hold foreign scalars
        if hasattr(values, name):
            return tuple(getattr(values, name)())
    return tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else values


def read_domain(path: str | Path) -> tuple[str, ...]:
    r"""Return the values in a text file, one a line; an empty or repeated one is refused with its line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "colours.txt"
    >>> _ = file.write_text("red\ngreen\nred\n", encoding="utf-8")
    >>> read_domain(file)
    Traceback (most recent call last):
    sfumato.errors.InputError: domain '...colours.txt' line 3: 'red' is there already, in line 1
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").rstrip("\n").split("\n")  # values may hold other separators
    except OSError as error:
        raise InputError(f"domain '{path}' cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InputError(f"domain '{path}' is not a text file in UTF-8") from None
    seen: dict[str, int] = {}
    for number, value in enumerate(lines, start=1):
        if not value.strip():
            raise InputError(f"domain '{path}' line {number} is empty; give one value a line")
        if value in seen:
            raise InputError(f"domain '{path}' line {number}: '{value}' is there already, in line {seen[value]}")
        seen[value] = number
    if len(seen) < 2:
        raise InputError(f"domain '{path}' has {len(seen)} values; give at least 2")
    return tuple(seen)


def fingerprint(content: object) -> str:
    """Return sixteen hexadecimal digits that stand for a JSON value: the start of its SHA-256.

    >>> fingerprint(["a", "b"]) == fingerprint(("a", "b")), len(fingerprint([]))
    (True, 16)
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def hint(value: object, domain: Sequence[Value]) -> str:
    """Return the closing words of an error about a value outside a domain: the nearest one, if that is quickly found.

    >>> hint("nort", ("north", "south")), hint("nort", range(20_000))
    ("; did you mean 'north'?", '')
    """
    return suggestion(str(value), map(str, domain)) if len(domain) <= LARGEST_SEARCHED else ""


def _is_value(entry: object) -> bool:
    if isinstance(entry, str):
        return entry.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in entry)  # those have no UTF-8
    return isinstance(entry, int) and not isinstance(entry, bool)
