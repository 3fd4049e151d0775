"""One check: a name and a function that raises when the class under test does not conform.

Shipping the suite with the library follows river's `utils.check_estimator` (Montiel et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import NamedTuple, TypeVar

from sfumato.core.parameters import Validated
from sfumato.errors import ParameterError

Instance = TypeVar("Instance", bound=Validated)


class ConformanceError(AssertionError):
    """A class does not keep to the contract of its kind; the sentence says which part.

    >>> raise ConformanceError("Mondrian lost 3 rows")
    Traceback (most recent call last):
    sfumato.checks.base.ConformanceError: Mondrian lost 3 rows
    """


class Check(NamedTuple):
    """A named check; `run()` returns quietly or raises `ConformanceError`.

    >>> Check("says nothing", lambda: None).run()
    """

    name: str
    run: Callable[[], None]


def expect(condition: object, sentence: str) -> None:
    """Raise with `sentence` unless the condition holds.

    >>> expect(1 + 1 == 2, "arithmetic is broken")
    """
    if not condition:
        raise ConformanceError(sentence)


def parameter_checks(instance: Validated) -> Iterator[Check]:
    """Yield a check for each value that a declared rule must refuse, and one that every field has a rule.

    >>> from sfumato import KAnonymity
    >>> [check.name for check in parameter_checks(KAnonymity(3))][:2]
    ['every parameter has a rule', 'k refuses 1']
    """
    yield Check("every parameter has a rule", lambda: _every_field_ruled(instance))
    for name, rule in type(instance).RULES.items():
        for value in rule.bad_values():
            yield Check(f"{name} refuses {value!r}", lambda name=name, value=value: _refuses(instance, name, value))  # type: ignore[misc]


def _every_field_ruled(instance: Validated) -> None:
    names = {field.name for field in fields(instance)}  # type: ignore[arg-type]
    missing = sorted(names - set(type(instance).RULES))
    expect(not missing, f"{type(instance).__name__} does not validate {missing}")


def _refuses(instance: Validated, name: str, value: object) -> None:
    try:
        replace(instance, **{name: value})  # type: ignore[type-var]
    except ParameterError as error:
        words = f"The '{name}' parameter of {type(instance).__name__} must be"
        expect(str(error).startswith(words), f"the error for {name}={value!r} does not say what is wanted: {error}")
        return
    raise ConformanceError(f"{type(instance).__name__} accepts {name}={value!r}")
