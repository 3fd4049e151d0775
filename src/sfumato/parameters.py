"""Declared ranges of parameters, checked by one validator with one error sentence everywhere.

A class lists its rules in `RULES`; the conformance suite draws bad values from the same rules, so a
parameter that is not validated fails a test. The idea follows scikit-learn's parameter constraints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from sfumato.errors import ParameterError


class Rule(Protocol):
    """What a parameter must be: a test, the words for it, and values that must be refused.

    >>> rule: Rule = Whole(2)
    >>> rule.accepts(3), rule.accepts(1), rule.wanted
    (True, False, 'an integer of at least 2')
    """

    @property
    def wanted(self) -> str: ...
    def accepts(self, value: object) -> bool: ...
    def refused(self) -> list[object]: ...


@dataclass(frozen=True)
class Whole:
    """An integer of at least `least`.

    >>> Whole(2).accepts(True), Whole(1).accepts(1)
    (False, True)
    """

    least: int

    @property
    def wanted(self) -> str:
        return f"an integer of at least {self.least}"

    def accepts(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= self.least

    def refused(self) -> list[object]:
        return [self.least - 1, self.least + 0.5, "x", None, True]


@dataclass(frozen=True)
class Real:
    """A finite number within `[least, most]`, or above `least` when `above` is set.

    >>> Real(0, 1).wanted, Real(0, above=True).wanted
    ('a number from 0 to 1', 'a number above 0')
    """

    least: float
    most: float = math.inf
    above: bool = False

    @property
    def wanted(self) -> str:
        if self.above:
            upper = "" if math.isinf(self.most) else f" and at most {self.most:g}"
            return f"a number above {self.least:g}{upper}"
        return f"a number from {self.least:g} to {self.most:g}"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            return False
        return (self.least < value if self.above else self.least <= value) and value <= self.most

    def refused(self) -> list[object]:
        high: list[object] = [] if math.isinf(self.most) else [self.most + 0.1]
        return [self.least - 0.1, *([self.least] if self.above else []), *high, math.nan, "x", None]


@dataclass(frozen=True)
class OneOf:
    """One of a few words.

    >>> OneOf(("text", "columns")).wanted
    "one of 'text', 'columns'"
    """

    options: tuple[object, ...]

    @property
    def wanted(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)

    def accepts(self, value: object) -> bool:
        return any(type(value) is type(option) and value == option for option in self.options)

    def refused(self) -> list[object]:
        return ["no such option", 7]


@dataclass(frozen=True)
class Optional:
    """None, or what another rule accepts.

    >>> Optional(Whole(1)).wanted
    'an integer of at least 1, or None'
    """

    rule: Rule

    @property
    def wanted(self) -> str:
        return f"{self.rule.wanted}, or None"

    def accepts(self, value: object) -> bool:
        return value is None or self.rule.accepts(value)

    def refused(self) -> list[object]:
        return [value for value in self.rule.refused() if value is not None]


@dataclass(frozen=True)
class Name:
    """A column's name.

    >>> Name().accepts("age"), Name().accepts("")
    (True, False)
    """

    wanted: str = "the name of a column"

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and bool(value)

    def refused(self) -> list[object]:
        return ["", 3, None]


class Validated:
    """Base for frozen dataclasses whose parameters are checked when they are made.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Window(Validated):
    ...     size: int
    ...     RULES = {"size": Whole(1)}
    >>> Window(0)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: The 'size' parameter of Window must be an integer of at least 1. Got 0 instead.
    """

    RULES: ClassVar[Mapping[str, Rule]] = {}

    def __post_init__(self) -> None:
        for name, rule in self.RULES.items():
            value = getattr(self, name)
            if not rule.accepts(value):
                raise ParameterError(
                    f"The '{name}' parameter of {type(self).__name__} must be {rule.wanted}. Got {value!r} instead."
                )
