"""Constants that no declared value can equal: a condition with one is refused, free, before anything is charged.

A misspelt category would spend privacy loss on an answer that is noise alone. The refusal depends on the schema, which
is public, and never on a row (Haeberlen, Pierce & Narayan 2011, on refusals that tell of a row).
"""

from __future__ import annotations

import re

from sfumato.dp.questions.calendar import truncate
from sfumato.dp.questions.expression import (
    ColumnReference,
    InList,
    Like,
    Literal,
    Node,
    Value,
    ValueComparison,
    walk,
)
from sfumato.dp.questions.literals import short
from sfumato.dp.questions.ranges import Range, range_of
from sfumato.dp.questions.texts import length_of
from sfumato.errors import InputError, suggestion
from sfumato.schema import Schema


def refuse_impossible(node: Node, schema: Schema) -> None:
    """Refuse a condition that asks for a value which cannot be, by the public declarations of its columns.

    >>> from sfumato.dp.questions.expression import ColumnReference, Domain
    >>> from sfumato.schema import Attribute, Kind, Role
    >>> sex = Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("Female", "Male"))
    >>> refuse_impossible(
    ...     ValueComparison("=", ColumnReference("sex", Domain.TEXT), Literal("female", Domain.TEXT)),
    ...     Schema({"sex": sex}))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'sex' has no declared category 'female'; did you mean 'Female'?
    """
    for part in walk(node):
        match part:
            case ValueComparison("=" | "<>", Literal(), Literal()):
                pass
            case ValueComparison("=" | "<>", value, Literal() as literal):
                _refuse_literal(value, literal, schema)
            case InList(value, literals):
                for literal in literals:
                    _refuse_literal(value, literal, schema)
            case Like(value):
                _refuse_pattern(value, part, schema)


def _refuse_literal(value: Value, literal: Literal, schema: Schema) -> None:
    found = range_of(value, schema)
    if isinstance(literal.value, str):
        _refuse_word(value, literal.value, found, schema)
        return
    if found.whole and not float(literal.value).is_integer():
        raise InputError(f"{_named(value)} holds integers, so none equals {literal.text}; write a whole number")
    if found.multiple > 1 and literal.value % found.multiple:
        raise InputError(f"{_named(value)} is a multiple of {found.multiple}, so none equals {literal.text}; write one")
    if found.limits is not None and not found.limits[0] <= literal.value <= found.limits[1]:
        low, high = (Literal(limit, literal.domain).text for limit in found.limits)
        limits = f"has the declared bounds {_declared(value, schema)}"
        if not isinstance(value, ColumnReference):
            limits = f"lies between {low} and {high}"
        raise InputError(
            f"{_named(value)} {limits}, so none equals {literal.text}; "
            "ask for a value between them, or compare with < or >"
        )
    if found.period is not None and truncate(literal.value, found.period, literal.domain) != literal.value:
        raise InputError(
            f"{_named(value)} is the start of a {found.period}, so none equals {literal.text}; write such a start"
        )


def _declared(value: Value, schema: Schema) -> str:
    bounds = schema.columns[value.name].bounds if isinstance(value, ColumnReference) else None
    return f"[{bounds[0]}, {bounds[1]}]" if bounds is not None else ""


def _named(value: Value) -> str:
    return f"column '{value.name}'" if isinstance(value, ColumnReference) else f"the value {short(value.text)}"


def _refuse_word(value: Value, word: str, found: Range, schema: Schema) -> None:
    words = found.words
    if words is not None and word not in words:
        folded = {known.casefold(): known for known in words}
        near = f"; did you mean '{folded[word.casefold()]}'?" if word.casefold() in folded else suggestion(word, words)
        what = "has no declared category" if isinstance(value, ColumnReference) else "is never, as declared,"
        raise InputError(f"{_named(value)} {what} '{word}'{near}")
    if isinstance(value, ColumnReference) and words is None and word in schema.columns[value.name].missing:
        raise InputError(f"column '{value.name}' has '{word}' as a mark of a missing value; ask for IS NULL")
    longest = length_of(value)
    if words is None and longest is not None and len(word) > longest:
        raise InputError(f"{_named(value)} has at most {longest} characters, so none equals '{short(word)}'")


def _refuse_pattern(value: Value, like: Like, schema: Schema) -> None:
    words = range_of(value, schema).words
    if words is not None and not any(re.fullmatch(like.regular_expression, word, re.DOTALL) for word in words):
        what = f"of {_named(value)}" if isinstance(value, ColumnReference) else f"that {_named(value)} can be"
        raise InputError(f"no declared category {what} fits the pattern '{like.pattern}'")
