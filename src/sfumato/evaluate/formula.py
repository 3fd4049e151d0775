"""The model of a regression as it is written: a target and its terms, as in `income ~ age + sex`.

The notation is that of Wilkinson & Rogers 1973, without interactions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfumato.errors import ParameterError

NAME = r"\s*(?:`[^`]+`|[^~+`\s][^~+`]*)\s*"
FORMULA = re.compile(rf"({NAME})~({NAME}(?:\+{NAME})*)")
FORM = "write it like income ~ age + sex, with names that hold + or ~ in `backticks`"


@dataclass(frozen=True)
class Formula:
    """A target, and the columns that are to explain it.

    >>> Formula.parse("income ~ age + hours per week")
    Formula(target='income', terms=('age', 'hours per week'))
    """

    target: str
    terms: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Return the formula that a text writes, or say what is wrong with it.

        >>> Formula.parse("income ~ age * sex").terms
        ('age * sex',)
        >>> Formula.parse("y = x")
        Traceback (most recent call last):
        sfumato.errors.ParameterError: 'y = x' is not a regression; write it like income ~ age + sex, with names that \
hold + or ~ in `backticks`
        """
        found = FORMULA.fullmatch(text)
        names = [] if found is None else [_plain(name) for name in (found[1], *re.findall(NAME, found[2]))]
        if not names:
            raise ParameterError(f"'{text}' is not a regression; {FORM}")
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise ParameterError(f"'{text}' names '{twice}' twice; name every column once")
        return cls(names[0], tuple(names[1:]))

    def __str__(self) -> str:
        return f"{_written(self.target)} ~ {' + '.join(map(_written, self.terms))}"


def _plain(name: str) -> str:
    return name.strip().strip("`")


def _written(name: str) -> str:
    return f"`{name}`" if {"+", "~"} & {*name} else name
