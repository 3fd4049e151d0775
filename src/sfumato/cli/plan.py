"""The command that plans a question: which price an accuracy needs, or which accuracy a price buys."""

from __future__ import annotations

import sys
from typing import Any

from sfumato.cli.engine import EngineOptions
from sfumato.cli.options import Flag, LedgerName, Whole
from sfumato.cli.query import ANALYST, Question, is_curator, refuse_local
from sfumato.cli.tables import PublicOptions


def plan(
    ledger: LedgerName,
    question: Question,
    /,
    *,
    error: float | None = None,
    epsilon: str | None = None,
    rho: str | None = None,
    delta: str = "0",
    confidence: float = 0.95,
    rows: Whole = None,
    analyst: str = ANALYST,
    json: Flag = False,
    tables: PublicOptions = PublicOptions(),
) -> int:
    """Say which ε keeps the error below a bound, or which error a price buys; nothing is spent, no row is seen.

    Give one of --error, --epsilon and --rho. Exit code 1 if the budget left is too small.

    Args:
        ledger: The ledger's file, postgresql://USER@HOST/DATABASE?ledger=NAME, or a curator's https://HOST/DATASET.
        question: The question in SQL.
        error: The largest error wanted of any answer, in the unit of the answer.
        epsilon: A price, to see which error it buys; under a zcdp ledger it buys ρ = ε²/2.
        rho: A price under a zcdp ledger.
        delta: The extra price of finding keys that are not declared, to see their threshold.
        confidence: Probability that the error stays below the bound.
        rows: A public guess of how many rows a group has; the errors of means, variances and quantiles need it.
        analyst: Who would ask.
        json: Print the plan as JSON.
    """
    from sfumato.client import Curator
    from sfumato.dp.session import Session

    price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta}
    if is_curator(ledger):
        refuse_local(analyst, EngineOptions(), tables)
        made = Curator.of_environment(str(ledger)).plan(question, error, confidence, rows, **price)
    else:
        session = Session.open(ledger)
        asked = session.question(question, public=tables.tables())
        made = session.plan(asked, error, confidence, rows, analyst=analyst, **price)
    if json:
        sys.stdout.write(made.to_json() + "\n")
        return 0 if made.affordable else 1
    if error is not None:
        sys.stdout.write(f"epsilon {made.epsilon} keeps the error within {made.error:g} ({100 * confidence:g} %)\n")
    sys.stdout.write(made.to_text() + "\n")
    return 0 if made.affordable else 1
