"""Functions of numbers and texts, and the choice among values, as sqlglot reads them; each with one canonical form.

A text that a function makes is never much longer than what it is made of: what joins texts asks for bounded ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.dp.questions.canonical import compare
from sfumato.dp.questions.expression import Call, Case, Cast, Condition, Domain, Literal, Value
from sfumato.dp.questions.extent import SAFE, extent
from sfumato.dp.questions.literals import LONGEST, as_date, as_time, refusal
from sfumato.dp.questions.ranges import range_of
from sfumato.dp.questions.texts import length_of
from sfumato.dp.questions.trees import only, parts, whole_number
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp

PLACES = 15  # of ROUND, before and after the point
EMPTY = Literal("", Domain.TEXT)


class PartReader(Protocol):
    """What reads the values and conditions inside a function."""

    @property
    def schema(self) -> Schema: ...
    def value(self, node: exp.Expr) -> Value: ...
    def condition(self, node: exp.Expr) -> Condition: ...
    def pair(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> tuple[Value, Value]: ...


def _typed(reader: PartReader, node: exp.Expr, part: exp.Expr, domain: Domain) -> Value:
    value = reader.value(part)
    if value.domain is not domain:
        raise refusal(node, f"it takes a {domain}, and {value.text} is a {value.domain}")
    return value


def _of_number(reader: PartReader, node: exp.Expr) -> Value:
    value = _typed(reader, node, only(node, "this"), Domain.NUMBER)
    return Call(type(node).__name__.upper(), (value,), Domain.NUMBER)


def _rounded(reader: PartReader, node: exp.Expr) -> Value:
    value = _typed(reader, node, only(node, "this", ignored=("decimals",)), Domain.NUMBER)
    written: Any = node.args.get("decimals")
    if written is None:
        return Cast(value, "INTEGER", Domain.NUMBER)
    places = whole_number(node, written, -PLACES, PLACES, "ROUND takes a number of places")
    return Call("ROUND", (value,), Domain.NUMBER, (places,)) if places else Cast(value, "INTEGER", Domain.NUMBER)


def _remainder(reader: PartReader, node: exp.Expr) -> Value:
    inner, divisor = parts(node, "this", "expression")
    value, number = _typed(reader, node, inner, Domain.NUMBER), reader.value(divisor)
    if not isinstance(number, Literal) or isinstance(number.value, str) or not float(number.value).is_integer():
        raise refusal(node, "the divisor of MOD is a whole number that is written out")
    if not number.value:
        raise refusal(node, "nothing is divided by 0")
    if not range_of(value, reader.schema).whole or extent(value)[1] > SAFE:
        raise refusal(node, f"MOD takes whole numbers with declared bounds within ±{SAFE:.0e}; write FLOOR(…)")
    return Call("MOD", (value,), Domain.NUMBER, (int(abs(number.value)),))


def _among(reader: PartReader, node: exp.Expr) -> Value:
    """Return LEAST, GREATEST or COALESCE; the order of values matters to COALESCE alone."""
    name = type(node).__name__.upper()
    written = parts(node, "this", "expressions", ignored=("ignore_nulls",))
    values = _agreed(node, [reader.value(part) for part in written])
    if name != "COALESCE":
        different = {value.text: value for value in values}
        values = [different[text] for text in sorted(different)]
        if values[0].domain is Domain.TEXT:
            raise refusal(node, f"{name} takes numbers, dates or timestamps")
    return values[0] if len(values) == 1 else Call(name, tuple(values), values[0].domain)


def _unless(reader: PartReader, node: exp.Expr) -> Value:
    value, other = reader.pair(node, *parts(node, "this", "expression"))
    return Call("NULLIF", (value, other), value.domain)


def _agreed(node: exp.Expr, values: list[Value]) -> list[Value]:
    """Return values in one domain; a text beside dates or times is read as one."""
    domains = {value.domain for value in values}
    if Domain.TIMESTAMP in domains:
        values = [as_time(value, None) for value in values]
    elif Domain.DATE in domains:
        values = [as_date(value) for value in values]
    if len({value.domain for value in values}) > 1:
        found = " and ".join(sorted({str(value.domain) for value in values}))
        raise refusal(node, f"its values are of one type, and here are {found}")
    return values


def _choice(reader: PartReader, node: exp.Expr) -> Value:
    """Return CASE; the simple form and IF become the searched form."""
    if type(node).__name__ == "If":
        cases, last = [node], node.args.get("false")
    else:
        cases, last = parts(node, "ifs", ignored=("this", "default")), node.args.get("default")
    tests = [_test(reader, node, case) for case in cases]
    results = [None if _is_null(part) else reader.value(part) for part in [case.args["true"] for case in cases]]
    otherwise = None if last is None or _is_null(last) else reader.value(last)
    given = _agreed(node, [value for value in (*results, otherwise) if value is not None])
    if not given:
        raise refusal(node, "one of its results is a value")
    left = iter(given)
    results = [None if value is None else next(left) for value in results]
    otherwise = None if otherwise is None else next(left)
    return Case(tuple(zip(tests, results, strict=True)), otherwise, given[0].domain)


def _test(reader: PartReader, node: exp.Expr, case: exp.Expr) -> Condition:
    parts(case, "this", "true", ignored=("false",))
    compared: Any = None if case is node else node.args.get("this")
    if compared is None:
        return reader.condition(case.this)
    return compare("=", *reader.pair(node, compared, case.this))


def _is_null(node: exp.Expr) -> bool:
    return type(node).__name__ == "Null"


def _of_text(reader: PartReader, node: exp.Expr) -> Value:
    value = _typed(reader, node, only(node, "this"), Domain.TEXT)
    name = type(node).__name__.upper()
    return Call(name, (value,), Domain.NUMBER if name == "LENGTH" else Domain.TEXT)


def _beginning(reader: PartReader, node: exp.Expr) -> Value:
    inner, count = parts(node, "this", "expression")
    value = _typed(reader, node, inner, Domain.TEXT)
    name = type(node).__name__.upper()
    many = whole_number(node, count, 0, LONGEST, f"{name} takes a number of characters")
    if name == "LEFT":
        return Call("SUBSTRING", (value,), Domain.TEXT, (1, many))
    return Call("RIGHT", (value,), Domain.TEXT, (many,))


def _stretch(reader: PartReader, node: exp.Expr) -> Value:
    inner, start = parts(node, "this", "start", ignored=("length",))
    value = _typed(reader, node, inner, Domain.TEXT)
    options = [whole_number(node, start, 1, LONGEST, "SUBSTRING begins at a place")]
    if node.args.get("length") is not None:
        options.append(whole_number(node, node.args["length"], 0, LONGEST, "SUBSTRING takes a number of characters"))
    return Call("SUBSTRING", (value,), Domain.TEXT, tuple(options))


def _joined(reader: PartReader, node: exp.Expr) -> Value:
    """Return `a || b`, missing where a part is; CONCAT leaves missing parts out, as in PostgreSQL."""
    if type(node).__name__ == "DPipe":
        values = [_typed(reader, node, part, Domain.TEXT) for part in parts(node, "this", "expression")]
    else:
        written = parts(node, "expressions", ignored=("coalesce",))
        values = [_never_missing(_typed(reader, node, part, Domain.TEXT)) for part in written]
    flat: list[Value] = []
    for value in values:
        same = isinstance(value, Call) and value.function == "CONCAT"
        flat += value.arguments if same and isinstance(value, Call) else (value,)
    lengths = [length_of(value) for value in flat]
    for value, length in zip(flat, lengths, strict=True):
        if length is None:
            raise refusal(node, f"texts that are joined have a greatest length; write LEFT({value.text}, 20)")
    if sum(length or 0 for length in lengths) > LONGEST:
        raise refusal(node, f"its result may have more than {LONGEST} characters")
    return flat[0] if len(flat) == 1 else Call("CONCAT", tuple(flat), Domain.TEXT)


def _never_missing(value: Value) -> Value:
    return value if isinstance(value, Literal) else Call("COALESCE", (value, EMPTY), Domain.TEXT)


READERS: dict[str, Callable[[PartReader, exp.Expr], Value]] = {
    **dict.fromkeys(("Abs", "Floor", "Ceil"), _of_number),
    "Round": _rounded,
    "Mod": _remainder,
    **dict.fromkeys(("Least", "Greatest", "Coalesce"), _among),
    "Nullif": _unless,
    **dict.fromkeys(("Case", "If"), _choice),
    **dict.fromkeys(("Lower", "Upper", "Trim", "Length"), _of_text),
    **dict.fromkeys(("Left", "Right"), _beginning),
    "Substring": _stretch,
    **dict.fromkeys(("DPipe", "Concat"), _joined),
}
