"""One SELECT out of a text: parsed by sqlglot, never handed to an engine; what is not covered is refused by name.

A question is read whole before anything is looked at (Haeberlen, Pierce & Narayan 2011: what is refused is refused by
public facts alone).
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sfumato.dp.questions.computed import DIALECT
from sfumato.dp.questions.intervals import refuse_unread_intervals
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 20_000
SILENT = logging.NullHandler()
SHOWN = 60  # characters of a clause in an error
CLAUSES = {
    "with_": "WITH",
    "distinct": "SELECT DISTINCT",
    "joins": "JOIN",
    "laterals": "LATERAL",
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "into": "INTO",
    "locks": "FOR UPDATE",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
}


def read_select(text: str, columns: Collection[str] = ()) -> exp.Select:
    """Return the one SELECT that a text holds; `columns` may be words of SQL.

    >>> read_select("SELECT COUNT(*) FROM rides").key
    'select'
    >>> read_select("SELECT COUNT(*) FROM rides WHERE Alter < 30", ["alter"]).args["where"].sql()
    'WHERE "alter" < 30'
    """
    from sqlglot import exp

    if len(text) > LONGEST:
        raise InputError(f"the question is {len(text)} characters long; at most {LONGEST} are read")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError("the question has bytes that are not UTF-8; write it in UTF-8")
    statements = _parsed(text, columns)
    refuse_unread_intervals(text, DIALECT)
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        kinds = ", ".join(_kind(statement) for statement in statements) or "nothing"
        raise InputError(f"the question is {kinds}; write one SELECT of aggregates")
    return statements[0]


def _kind(statement: exp.Expr) -> str:
    """Return what a statement is: the first word of one that the parser only knows by name."""
    from sqlglot import exp

    named = isinstance(statement, exp.Command) and isinstance(statement.this, str)
    return str(statement.this).upper() if named else type(statement).__name__.upper()


def _parsed(text: str, columns: Collection[str]) -> list[exp.Expr]:
    """Return the statements of a text; where it cannot be read, names of columns are put in quotes first."""
    from sqlglot import parse
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").addHandler(SILENT)  # what it cannot read is told once, in our own words
    try:
        return [statement for statement in parse(text, dialect=DIALECT) if statement is not None]
    except (SqlglotError, RecursionError) as error:
        quoted = _with_quotes(text, columns)
        if quoted != text:
            return _parsed(quoted, ())
        deep = isinstance(error, RecursionError) or not str(error)
        line = "too deeply nested" if deep else str(error).splitlines()[0].partition(". Line ")[0]
        reason = "a part is missing" if line.startswith("Required keyword") else line
        raise InputError(
            f"the question is not SQL that can be read ({reason}); write one SELECT, and quote names that are words of "
            "SQL"
        ) from None


def _with_quotes(text: str, columns: Collection[str]) -> str:
    """Return a text with quotes around the words of SQL that are names of columns.

    >>> print(_with_quotes("SELECT SUM(x) FROM t WHERE table = 'table'", ["Table"]))
    SELECT SUM(x) FROM t WHERE "Table" = 'table'
    """
    from sqlglot import TokenType, tokenize
    from sqlglot.errors import SqlglotError

    names = {name.casefold(): name for name in columns}
    try:
        tokens = tokenize(text, dialect=DIALECT)
    except SqlglotError:
        return text
    for token in reversed(tokens):
        name = names.get(token.text.casefold())
        if name is not None and token.token_type not in {TokenType.STRING, TokenType.IDENTIFIER}:
            quoted = '"' + name.replace('"', '""') + '"'
            text = text[: token.start] + quoted + text[token.end + 1 :]
    return text


def check_clauses(select: exp.Select, covered: Collection[str], where: str = "the question") -> None:
    """Refuse a SELECT with a clause that is not covered there.

    >>> check_clauses(read_select("SELECT DISTINCT x FROM rides"), {"expressions", "from_"})
    Traceback (most recent call last):
    sfumato.errors.InputError: the question has a clause SELECT DISTINCT, which is not covered; leave it out
    """
    for name, value in select.args.items():
        if value and name not in {*covered, "kind", "hint"}:
            clause = CLAUSES.get(name, name.strip("_").upper().replace("_", " "))
            raise InputError(f"{where} has a clause {clause}, which is not covered; leave it out")


def shown_sql(node: Any) -> str:
    """Return the beginning of what was written, for an error.

    >>> shown_sql(read_select("select  1"))
    'SELECT 1'
    """
    try:
        text = str(node.sql(comments=False))
    except RecursionError:
        return "something too deeply nested"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
