"""Errors that say in one sentence what was wrong, where, what was found and what would be right.

Every error the library raises on purpose derives from `SfumatoError`; the command line prints its
sentence and leaves with `exit_code`, as the contract on exit codes asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches


class SfumatoError(Exception):
    """Base of all errors raised on purpose; `str(error)` is one sentence for a person.

    >>> issubclass(InputError, SfumatoError), InputError("no such file").exit_code
    (True, 2)
    """

    exit_code = 2


class InputError(SfumatoError):
    """A file, a table or a value in it cannot be used as it is.

    >>> raise InputError("file 'patients.csv' is empty; give a header line and rows")
    Traceback (most recent call last):
    sfumato.errors.InputError: file 'patients.csv' is empty; give a header line and rows
    """


class UnavailableError(InputError):
    """Somebody else does not answer, as a broker: the same command may work later, so whoever runs it may try again.

    >>> UnavailableError("broker 'redis://server/rides' cannot be reached").exit_code
    75
    """

    exit_code = 75  # EX_TEMPFAIL of sysexits.h


class SchemaError(SfumatoError):
    """A schema or a hierarchy contradicts itself or the table it is used on.

    >>> raise SchemaError("column 'zip' has no role; declare one")
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'zip' has no role; declare one
    """


class ParameterError(SfumatoError, ValueError):
    """A parameter is outside its declared range.

    >>> from sfumato import KAnonymity
    >>> KAnonymity(1)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: The 'k' parameter of KAnonymity must be an integer of at least 2. Got 1 instead.
    """


class UnsatisfiableError(SfumatoError):
    """No release of this table can satisfy the models asked for; the sentence says what is possible.

    >>> raise UnsatisfiableError("k=10 needs 10 rows, the table has 7; k=7 is the most that is possible")
    Traceback (most recent call last):
    sfumato.errors.UnsatisfiableError: k=10 needs 10 rows, the table has 7; k=7 is the most that is possible
    """


class BrokenPromiseError(SfumatoError):
    """A finished release failed the check of its own models and was withheld.

    >>> BrokenPromiseError("withheld").exit_code
    1
    """

    exit_code = 1


class BudgetExceeded(SfumatoError):  # noqa: N818  # it is a refusal, not a fault
    """A question asks for more than is left, and nothing was spent; its fields say how much was and would be.

    >>> from decimal import Decimal
    >>> error = BudgetExceeded({"epsilon": Decimal("0.1")}, {"epsilon": Decimal("0.2")}, "the ledger")
    >>> error.exit_code, error.remaining["epsilon"]
    (1, Decimal('0.1'))
    >>> raise error
    Traceback (most recent call last):
    sfumato.errors.BudgetExceeded: the question costs epsilon 0.2 and the ledger has epsilon 0.1 left; ask for less
    """

    exit_code = 1

    def __init__(self, remaining: Mapping[str, Decimal], asked: Mapping[str, Decimal], whose: str) -> None:
        super().__init__(remaining, asked, whose)
        self.remaining = remaining
        self.asked = asked
        self.whose = whose

    def __str__(self) -> str:
        asked, remaining = (
            ", ".join(f"{name} {value}" for name, value in amounts.items() if self.asked[name])
            for amounts in (self.asked, self.remaining)
        )
        return f"the question costs {asked} and {self.whose} has {remaining} left; ask for less"


class MissingExtraError(SfumatoError):
    """An optional part of the library is not installed.

    >>> raise MissingExtraError("reports need matplotlib; pip install 'sfumato[report]'")
    Traceback (most recent call last):
    sfumato.errors.MissingExtraError: reports need matplotlib; pip install 'sfumato[report]'
    """


def reason(error: Exception) -> str:
    """Return why a file cannot be read, in words and without numbers of the system or the path again.

    >>> reason(FileNotFoundError(2, "No such file or directory", "ages.csv")), reason(ValueError("no JSON"))
    ('it does not exist', 'no JSON')
    """
    if isinstance(error, FileNotFoundError):
        return "it does not exist"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not {error.encoding.upper()}; save it as UTF-8"
    words = error.strerror if isinstance(error, OSError) else None
    return str(error) if words is None else words


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a closing hint with the nearest known name, or the list when nothing is near.

    >>> suggestion("aeg", ["age", "sex"])
    "; did you mean 'age'?"
    >>> suggestion("income", ["age", "sex"])
    "; there are 'age', 'sex'"
    """
    names = list(known)
    by_folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    near = get_close_matches(name.casefold(), list(by_folded), n=1)
    if near:
        return f"; did you mean '{by_folded[near[0]]}'?"
    shown = ", ".join(f"'{other}'" for other in names[:12])
    return f"; there are {shown}{', …' if len(names) > 12 else ''}" if names else ""
