"""The parts of a tree that sqlglot read: every argument is understood, or the node is refused by name.

A part that was passed over would change what a condition means without a word (Haeberlen, Pierce & Narayan 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.dp.questions.literals import refusal

if TYPE_CHECKING:
    from sqlglot import exp

IGNORED = {"typed", "safe"}  # what sqlglot notes on a node without changing its meaning


def parts(node: exp.Expr, *names: str, ignored: tuple[str, ...] = ()) -> list[exp.Expr]:
    """Return the named arguments of a node, lists opened; any other argument that is set is refused.

    >>> import sqlglot
    >>> [part.name for part in parts(sqlglot.parse_one("a + b"), "this", "expression")]
    ['a', 'b']
    """
    for name, value in node.args.items():
        if name not in {*names, *IGNORED, *ignored, "negate"} and value not in (None, False, []):
            raise refusal(node)
    found: list[exp.Expr] = []
    for name in names:
        value = node.args.get(name)
        if value is None or value == []:
            raise refusal(node)
        found += value if isinstance(value, list) else [value]
    return found


def only(node: exp.Expr, name: str, *, ignored: tuple[str, ...] = ()) -> exp.Expr:
    """Return the one argument of a node.

    >>> import sqlglot
    >>> only(sqlglot.parse_one("ABS(a)"), "this").name
    'a'
    """
    (part,) = parts(node, name, ignored=ignored)
    return part


def whole_number(node: exp.Expr, part: exp.Expr, low: int, high: int, what: str) -> int:
    """Return an integer that is written as a literal between two limits.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("LEFT(a, 3)")
    >>> whole_number(tree, tree.args["expression"], 0, 9, "LEFT takes a number of characters")
    3
    """
    sign = 1
    if type(part).__name__ == "Neg":
        sign, part = -1, part.this
    text = str(part.this) if type(part).__name__ == "Literal" and not part.args.get("is_string") else ""
    if not text.isdecimal() or not text.isascii() or len(text) > 15 or not low <= sign * int(text) <= high:
        raise refusal(node, f"{what}, a whole number from {low} to {high}")
    return sign * int(text)
