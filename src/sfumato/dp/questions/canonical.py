"""One form for what means the same: conditions and values in canonical order, so that equal questions have equal texts.

A question that was paid for is known again by its text (McSherry 2009 charges a question as it is asked).
"""

from __future__ import annotations

from sfumato.dp.questions.expression import (
    Arithmetic,
    Condition,
    InList,
    Junction,
    Literal,
    Negation,
    Truth,
    Value,
    ValueComparison,
)

MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def compare(operator: str, left: Value, right: Value) -> ValueComparison:
    """Return the comparison with its sides in canonical order: literals to the right, then by text.

    >>> from sfumato.dp.questions.expression import ColumnReference, Domain
    >>> compare("<", Literal(3, Domain.NUMBER), ColumnReference("a", Domain.NUMBER)).text
    '"a" > 3'
    """
    if (isinstance(left, Literal), left.text) > (isinstance(right, Literal), right.text):
        return ValueComparison(MIRRORED[operator], right, left)
    return ValueComparison(operator, left, right)


def compute(operator: str, left: Value, right: Value) -> Arithmetic:
    """Return the arithmetic; the sides of a sum or a product stand in canonical order.

    >>> from sfumato.dp.questions.expression import ColumnReference, Domain
    >>> compute("+", Literal(1, Domain.NUMBER), ColumnReference("a", Domain.NUMBER)).text
    '("a" + 1)'
    """
    if operator in "+*" and left.text > right.text:
        left, right = right, left
    return Arithmetic(operator, left, right)


def join(operator: str, operands: list[Condition]) -> Condition:
    """Return AND or OR of all operands: nested ones of the same kind are opened, each stands once, sorted.

    >>> join("AND", [Truth(True), Truth(True)]).text
    'TRUE'
    """
    flat: dict[str, Condition] = {}
    for operand in operands:
        same = isinstance(operand, Junction) and operand.operator == operator
        for part in operand.operands if same and isinstance(operand, Junction) else (operand,):
            flat[part.text] = part
    parts = tuple(flat[text] for text in sorted(flat))
    return parts[0] if len(parts) == 1 else Junction(operator, parts)


def negate(operand: Condition) -> Condition:
    """Return the condition that is true where `operand` is false, and unknown where it is unknown.

    >>> from sfumato.dp.questions.expression import ColumnReference, Domain, Missing
    >>> negate(negate(Missing(ColumnReference("a", Domain.TEXT)))).text
    '"a" IS NULL'
    """
    if isinstance(operand, Negation):
        return operand.operand
    if isinstance(operand, Truth):
        return Truth(not operand.value)
    if isinstance(operand, ValueComparison):
        return ValueComparison(OPPOSITE[operand.operator], operand.left, operand.right)
    return Negation(operand)


def one_of(value: Value, literals: list[Literal]) -> Condition:
    """Return the test that a value is one of some literals, each once and sorted.

    >>> from sfumato.dp.questions.expression import ColumnReference, Domain
    >>> one_of(ColumnReference("a", Domain.NUMBER), [Literal(2, Domain.NUMBER), Literal(1, Domain.NUMBER)]).text
    '"a" IN (1, 2)'
    """
    different = {literal.text: literal for literal in literals}
    ordered = tuple(sorted(different.values(), key=lambda literal: (isinstance(literal.value, str), literal.value)))
    if not ordered:
        return ValueComparison("<>", value, value)  # false, and unknown where the value is missing
    return compare("=", value, ordered[0]) if len(ordered) == 1 else InList(value, ordered)
