"""Constants that no declared value can equal: a condition with one is refused, free, before anything is charged.

A misspelt category would spend privacy loss on an answer that is noise alone. The refusal depends on the schema, which
is public, and never on a row (Haeberlen, Pierce & Narayan 2011, on refusals that tell of a row).
"""

from __future__ import annotations

import re

from sfumato.dp.questions.clock import bound_position
from sfumato.dp.questions.expression import (
    ColumnReference,
    Condition,
    InList,
    Like,
    Literal,
    ValueComparison,
    walk,
)
from sfumato.errors import InputError, suggestion
from sfumato.schema import Attribute, Kind, Schema


def refuse_impossible(condition: Condition, schema: Schema) -> None:
    """Refuse a condition that asks for a value which its column cannot have by its public declaration.

    >>> from sfumato.dp.questions.expression import Domain
    >>> from sfumato.schema import Role
    >>> sex = Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("Female", "Male"))
    >>> refuse_impossible(
    ...     ValueComparison("=", ColumnReference("sex", Domain.TEXT), Literal("female", Domain.TEXT)),
    ...     Schema({"sex": sex}))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'sex' has no declared category 'female'; did you mean 'Female'?
    """
    for node in walk(condition):
        match node:
            case ValueComparison("=" | "<>", ColumnReference(name), Literal() as literal):
                _refuse_literal(schema.columns[name], literal)
            case InList(ColumnReference(name), literals):
                for literal in literals:
                    _refuse_literal(schema.columns[name], literal)
            case Like(ColumnReference(name)):
                _refuse_pattern(schema.columns[name], node)


def _refuse_literal(attribute: Attribute, literal: Literal) -> None:
    if isinstance(literal.value, str):
        _refuse_word(attribute, literal.value)
        return
    if attribute.kind is Kind.INTEGER and not float(literal.value).is_integer():
        raise InputError(
            f"column '{attribute.name}' holds integers, so none equals {literal.text}; write a whole number"
        )
    if attribute.bounds is None or not attribute.public:
        return
    low, high = (bound_position(limit) for limit in attribute.bounds)
    if not low <= literal.value <= high:
        limits = f"[{attribute.bounds[0]}, {attribute.bounds[1]}]"
        raise InputError(
            f"column '{attribute.name}' has the declared bounds {limits}, so none equals {literal.text}; "
            "ask for a value between them, or compare with < or >"
        )


def _refuse_word(attribute: Attribute, word: str) -> None:
    words = _words(attribute)
    if words is not None and word not in words:
        folded = {known.casefold(): known for known in words}
        near = f"; did you mean '{folded[word.casefold()]}'?" if word.casefold() in folded else suggestion(word, words)
        raise InputError(f"column '{attribute.name}' has no declared category '{word}'{near}")
    if word in attribute.missing and words is None:
        raise InputError(f"column '{attribute.name}' has '{word}' as a mark of a missing value; ask for IS NULL")


def _refuse_pattern(attribute: Attribute, like: Like) -> None:
    words = _words(attribute)
    if words is not None and not any(re.fullmatch(like.regular_expression, word, re.DOTALL) for word in words):
        raise InputError(f"no declared category of column '{attribute.name}' fits the pattern '{like.pattern}'")


def _words(attribute: Attribute) -> tuple[str, ...] | None:
    """Return the public categories of a column of words, or None where any word may occur."""
    if not attribute.public or (attribute.kind is not None and attribute.kind.numeric):
        return None
    return attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
