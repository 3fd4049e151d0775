"""Declared ranges of parameters, checked by one validator with one error sentence everywhere.

A class lists its rules in `RULES`; the conformance suite draws bad values from the same rules, so a
parameter that is not validated fails a test. The idea follows scikit-learn's parameter constraints. `OPTIONS`
lists the parameters that the command line takes, each with the sentence that explains it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Protocol, Self

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
    def bad_values(self) -> list[object]: ...


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

    def bad_values(self) -> list[object]:
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

    def bad_values(self) -> list[object]:
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

    def bad_values(self) -> list[object]:
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

    def bad_values(self) -> list[object]:
        return [value for value in self.rule.bad_values() if value is not None]


@dataclass(frozen=True)
class Name:
    """A column's name.

    >>> Name().accepts("age"), Name().accepts("")
    (True, False)
    """

    wanted: str = "the name of a column"

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and bool(value)

    def bad_values(self) -> list[object]:
        return ["", 3, None]


@dataclass(frozen=True)
class Option:
    """A parameter at the command line: a sentence that explains it, and its name there if that is another one.

    >>> Option("Largest number of cuts between the whole domain and a box.").flag("depth")
    '--depth'
    >>> Option("The window's size.", name="delay").flag("window")
    '--delay'
    """

    words: str
    name: str | None = None

    def flag(self, parameter: str) -> str:
        """Return what a person types for `parameter`."""
        return f"--{(self.name or parameter).replace('_', '-')}"


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
    OPTIONS: ClassVar[Mapping[str, Option]] = {}

    @classmethod
    def from_options(cls, given: Mapping[str, Any], *, called: str, **fixed: Any) -> Self:
        """Return an instance made of command-line options, by their names there; `called` is what a person typed.

        `fixed` are parameters that come from elsewhere, such as public bounds from a schema.

        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Window(Validated):
        ...     size: int = 10
        ...     OPTIONS = {"size": Option("How many records wait.", name="delay")}
        >>> Window.from_options({"delay": 3}, called="window")
        Window(size=3)
        >>> Window.from_options({"depth": 3}, called="window")
        Traceback (most recent call last):
        sfumato.errors.ParameterError: --depth is no option of window; it takes --delay

        What has no default must be given.

        >>> @dataclass(frozen=True)
        ... class Delay(Validated):
        ...     size: int
        ...     OPTIONS = {"size": Option("How many records wait.", name="delay")}
        >>> Delay.from_options({}, called="delay")
        Traceback (most recent call last):
        sfumato.errors.ParameterError: delay needs --delay
        """
        parameters = {option.name or parameter: parameter for parameter, option in cls.OPTIONS.items()}
        for name in given:
            if name not in parameters:
                taken = ", ".join(sorted(option.flag(parameter) for parameter, option in cls.OPTIONS.items()))
                raise ParameterError(f"{Option('').flag(name)} is no option of {called}; it takes {taken or 'none'}")
        needed = {entry.name for entry in fields(cls) if entry.default is entry.default_factory is MISSING}  # type: ignore[arg-type]
        for name, parameter in parameters.items():
            if parameter in needed and name not in given and parameter not in fixed:
                raise ParameterError(f"{called} needs {Option('').flag(name)}")
        return cls(**fixed, **{parameters[name]: value for name, value in given.items()})

    def __post_init__(self) -> None:
        for name, rule in self.RULES.items():
            value = getattr(self, name)
            if not rule.accepts(value):
                raise ParameterError(
                    f"The '{name}' parameter of {type(self).__name__} must be {rule.wanted}. Got {value!r} instead."
                )
