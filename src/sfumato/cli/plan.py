"""The command that says which price an accuracy needs."""

from __future__ import annotations

import sys

from sfumato.cli.budget import LedgerFile
from sfumato.cli.options import Flag, Whole
from sfumato.cli.query import Question


def plan(
    ledger: LedgerFile,
    question: Question,
    /,
    *,
    error: float,
    confidence: float = 0.95,
    rows: Whole = None,
    json: Flag = False,
) -> int:
    """Say which ε keeps the error below a bound; nothing is spent. Exit code 1 if the budget left is too small.

    Args:
        ledger: The ledger file.
        question: The question in SQL.
        error: The largest error wanted: of a count, sum, mean or variance; of a quantile in rows of rank.
        confidence: Probability that the error stays below the bound.
        rows: A public guess of how many rows a group has; needed for means and variances.
        json: Print the plan as JSON.
    """
    from sfumato.dp.session import Session

    made = Session.open(ledger).plan(question, error=error, confidence=confidence, rows=rows)
    if json:
        sys.stdout.write(made.to_json() + "\n")
    else:
        left = "" if made.affordable else "; the budget left is too small"
        sys.stdout.write(f"epsilon {made.epsilon} keeps the error within {made.error:g} ({confidence:.0%}){left}\n")
    return 0 if made.affordable else 1
