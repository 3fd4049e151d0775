"""How small and how large results can get: the proof, before any row is read, that no double overflows or vanishes.

An engine that raises an overflow on one row would tell of that row (Haeberlen, Pierce & Narayan 2011, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.dp.questions.expression import (
    LEAST,
    MOST,
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnReference,
    Domain,
    Literal,
    Value,
    walk,
)

TINIEST, HUGEST = 1e-290, 1e290  # of the cells of a column
SAFE = 9e15  # whole numbers up to here are exact
LONGEST_WHOLE = 1e19  # integers of cells fit 64 bits
FAR = 4e11  # seconds, and days, between two times of the calendar
TICK = 1e-6  # seconds
LONG = 2e9  # characters
PASSING = {"LEAST", "GREATEST", "COALESCE"}
USES = {  # how often the SQL of a function repeats what it is applied to, at most
    **dict.fromkeys(("DATE_TRUNC", "DAYS_AFTER", "EXTRACT"), 2),
    **dict.fromkeys(("CEIL", "FLOOR", "LOWER", "MOD", "ROUND", "UPPER"), 3),
    **dict.fromkeys(("CAST", "SHIFT"), 5),
}


def extent(value: Value) -> tuple[float, float]:  # noqa: PLR0911  # one for each kind of value
    """Return the least magnitude a result other than 0 can have, and the greatest.

    A sum of doubles that are 0 or at least m is 0 or at least m·2⁻⁵³, the spacing of doubles at m.

    >>> extent(Arithmetic("*", Literal(3, Domain.NUMBER), Literal(0.5, Domain.NUMBER)))
    (1.5, 1.5)
    """
    match value:
        case Literal(number):
            return (abs(number), abs(number)) if number and not isinstance(number, str) else (LEAST, MOST)
        case ColumnReference(_, Domain.NUMBER, (low, high)):
            return LEAST, max(abs(low), abs(high), LEAST)
        case Arithmetic(operator, left, right):
            (least, most), (other_least, other_most) = extent(left), extent(right)
            products = {"*": (least * other_least, most * other_most), "/": (least / other_most, most / other_least)}
            return products.get(operator, (min(least, other_least) * 2.0**-53, most + other_most))
        case Cast(inner, "INTEGER"):
            return 1.0, extent(inner)[1] + 1 if inner.domain is Domain.NUMBER else LONGEST_WHOLE
        case Call():
            return _extent_of_call(value)
        case Case():
            return _hull([extent(result) for result in value.results])
        case _:
            return TINIEST, HUGEST


def _extent_of_call(call: Call) -> tuple[float, float]:
    if call.function in PASSING:
        return _hull([extent(argument) for argument in call.arguments])
    first = call.arguments[0]
    if first.domain is not Domain.NUMBER:
        return {"LENGTH": (1.0, LONG), "EXTRACT": (TICK, FAR), "DIFFERENCE": (TICK, FAR)}[call.function]
    least, most = extent(first)
    if call.function == "ROUND":
        unit = 10.0 ** -int(call.options[0])
        return unit, most + unit
    if call.function == "MOD":
        return 1.0, float(abs(int(call.options[0])))
    return (1.0, most + 1) if call.function in {"FLOOR", "CEIL"} else (least, most)


def _hull(extents: list[tuple[float, float]]) -> tuple[float, float]:
    return min(least for least, _ in extents), max(most for _, most in extents)


def number_columns(value: Value) -> Iterator[ColumnReference]:
    """Yield the columns whose cells make up a number; what a calendar or a length bounds is left out.

    >>> [column.name for column in number_columns(ColumnReference("age", Domain.NUMBER))]
    ['age']
    """
    match value:
        case ColumnReference():
            yield value
        case Arithmetic(_, left, right):
            yield from number_columns(left)
            yield from number_columns(right)
        case Case():
            for result in value.results:
                yield from number_columns(result)
        case Call(_, arguments) if arguments[0].domain is Domain.NUMBER:
            for argument in arguments:
                yield from number_columns(argument)
        case Cast(inner) if inner.domain is Domain.NUMBER:
            yield from number_columns(inner)
        case Cast(inner):
            yield from (node for node in walk(inner) if isinstance(node, ColumnReference))


def copies(value: Value, times: int = 1) -> int:
    """Return how many parts the SQL of a value has at most: some functions repeat what they are applied to.

    >>> copies(Literal(1, Domain.NUMBER))
    1
    """
    match value:
        case Arithmetic(_, left, right):
            return times + copies(left, times) + copies(right, times)
        case Cast(inner):
            return times + copies(inner, times * USES["CAST"])
        case Call(function, arguments):
            again = times * USES.get(function, 1)
            return times + sum(copies(argument, again) for argument in arguments)
        case Case():
            return times + sum(copies(result, times) for result in value.results)
        case _:
            return times
