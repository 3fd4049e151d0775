"""The commands of the query door: make a budget, look at it, ask, plan, and declare that the data changed."""

from __future__ import annotations

import json as json_text
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.engine import EngineOptions
from sfumato.cli.options import Flag, Whole
from sfumato.cli.progress import steps
from sfumato.core.files import Staging
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.answer import Answer
    from sfumato.dp.ledger.amount import Cost
    from sfumato.dp.ledger.ledger import Ledger
    from sfumato.schema import Schema

LedgerFile = Annotated[Path, Parameter(name="LEDGER")]
Question = Annotated[str, Parameter(name="SQL")]
ENTRIES_SHOWN = 20


def create(
    ledger: LedgerFile,
    /,
    *,
    data: str,
    schema: Path,
    epsilon: str,
    delta: str = "0",
    accountant: Literal["pure", "zcdp"] = "pure",
    protect: str = "rows",
    neighbours: Literal["presence", "value"] = "presence",
    analyst: Annotated[tuple[str, ...], Parameter(negative=(), metavar="NAME=EPSILON", show_default=False)] = (),
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Make a budget for a data set, kept in a ledger file; an existing file is never replaced.

    Args:
        ledger: File to make; keep it safe, and never restore an older copy of it.
        data: CSV (also .gz) or Parquet file, a folder of them for Spark, or postgresql://USER@HOST/DATABASE#TABLE.
        schema: TOML file that declares types, bounds and categories, without looking at the rows.
        epsilon: What all answers together may lose.
        delta: The probability with which that may fail; needed by zcdp, and to find keys that are not declared.
        accountant: How losses add up: pure ε, or zero-concentrated (less noise for many questions).
        protect: The unit: rows, or person:ID:ROWS:GROUPS for at most ROWS rows in each of at most GROUPS groups.
        neighbours: Whether a unit is there or not, or has other values.
        analyst: Who may ask, and up to which ε of their own; may be repeated. Without it anybody may.
    """
    from sfumato.dp.ledger.amount import Accountant, Budget, amount
    from sfumato.dp.session import Session
    from sfumato.schema import Schema

    budget = Budget(epsilon=amount(epsilon), delta=amount(delta), accountant=Accountant(accountant))
    shares = _shares(analyst)
    with steps(1) as step:
        step("reading")
        declared = Schema.from_toml(schema)
        rows = _placed(data, declared, engine)
        session = Session.create(
            ledger, rows, declared, budget, protect=protect, neighbours=neighbours, analysts=shares
        )
    sys.stdout.write(f"{ledger}: budget {session.ledger.left}, protecting a {session.unit.words}\n")
    sys.stdout.write(f"  questions call the table {session.table}\n")
    return 0


def _placed(data: str, schema: Schema, engine: EngineOptions) -> Any:
    """Return the data as the session takes them: their name, or the rows that Spark has opened."""
    if not engine.spark:
        return data
    from sfumato.engines.spark.queries.rows import SparkRows

    return SparkRows.of_folder(data, schema, engine.master)


def _found(ledger: Path, engine: EngineOptions) -> Any:
    """Return the rows of a ledger as Spark opens them, or None where the ledger's own address suffices."""
    from sfumato.dp.ledger.ledger import Ledger
    from sfumato.schema import Schema

    if not engine.spark:
        return None
    facts = Ledger.open(ledger).facts
    if facts.get("engine") != "spark" or facts["data"] is None:
        raise ParameterError(f"ledger '{ledger}' was not made for a folder with --engine spark; leave --engine out")
    return _placed(facts["data"], Schema.from_text(facts["schema"]), engine)


def _shares(entries: tuple[str, ...]) -> dict[str, Decimal] | None:
    shares = [_share(entry) for entry in entries]
    for name, _ in shares:
        if sum(name == other for other, _ in shares) > 1:
            raise ParameterError(f"the analyst '{name}' is named twice; give each one share")
    return dict(shares) or None


def _share(entry: str) -> tuple[str, Decimal]:
    from sfumato.dp.ledger.amount import amount

    name, equals, share = entry.rpartition("=")
    if not equals or not name:
        raise ParameterError(f"the analyst '{entry}' is not of the form NAME=EPSILON")
    return name, amount(share)


def show(ledger: LedgerFile, /, *, json: Flag = False) -> int:
    """Show what was spent, by whom and on what, and what is left.

    Args:
        ledger: The ledger file.
        json: Print everything as JSON.
    """
    from sfumato.dp.ledger.ledger import Ledger

    opened = Ledger.open(ledger)
    if json:
        sys.stdout.write(json_text.dumps(_account(opened), indent=2, ensure_ascii=False) + "\n")
        return 0
    facts = opened.facts
    lines = [
        f"{ledger}: {facts['table']}, version {opened.version}, protecting {facts['protect']} ({facts['neighbours']})",
        f"  budget {opened.budget.total}  spent {opened.spent}  left {opened.left}",
    ]
    entries = list(opened.entries())
    if len(entries) > ENTRIES_SHOWN:
        lines.append(f"  … {len(entries) - ENTRIES_SHOWN} earlier entries (all of them with --json)")
    for entry in entries[-ENTRIES_SHOWN:]:
        state = "" if entry.answered else "  (charged, never answered)"
        lines.append(
            f"  {entry.number:>4}  {entry.time}  {entry.analyst}  {entry.cost}  {_short(entry.question)}{state}"
        )
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _account(ledger: Ledger) -> dict[str, Any]:
    budget = ledger.budget
    facts = {name: value for name, value in ledger.facts.items() if name != "fingerprint"}
    entries = [
        {
            "number": entry.number,
            "time": entry.time,
            "analyst": entry.analyst,
            "version": entry.version,
            "question": entry.question,
            "cost": _numbers(ledger, entry.cost),
            "answered": entry.answered,
        }
        for entry in ledger.entries()
    ]
    return {
        "accountant": str(budget.accountant),
        "promise": {"epsilon": float(budget.epsilon), "delta": float(budget.delta)},
        "budget": _numbers(ledger, budget.total),
        "spent": _numbers(ledger, ledger.spent),
        "left": _numbers(ledger, ledger.left),
        "version": ledger.version,
        "facts": facts,
        "entries": entries,
    }


def _numbers(ledger: Ledger, cost: Cost) -> dict[str, float]:
    return {name: float(value) for name, value in ledger.budget.amounts(cost).items()}


def _short(question: str, most: int = 60) -> str:
    from sfumato.dp.questions.compiled import short_words

    text = short_words(question)
    return text if len(text) <= most else text[: most - 1] + "…"


def new_version(ledger: LedgerFile, /, *, data: str, engine: EngineOptions = EngineOptions()) -> int:
    """Declare that the rows have changed; what was spent stays spent.

    Args:
        ledger: The ledger file.
        data: The new file, or the same one with its new content.
    """
    from sfumato.dp.ledger.ledger import Ledger
    from sfumato.dp.session import Session
    from sfumato.schema import Schema

    rows = _placed(data, Schema.from_text(Ledger.open(ledger).facts["schema"]), engine)
    number = Session.open(ledger, data=rows).new_version(rows)
    sys.stdout.write(f"{ledger}: the data are now version {number}\n")
    return 0


def query(
    ledger: LedgerFile,
    question: Question,
    /,
    *,
    epsilon: str | None = None,
    rho: str | None = None,
    delta: str = "0",
    analyst: str = "analyst",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")] = None,
    post: Annotated[tuple[Literal["nonnegative", "consistent", "integer"], ...], Parameter(negative=())] = (),
    plot: Path | None = None,
    latency: float = 0.25,
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Ask a question in SQL; the answer has noise, and its price is debited first.

    The same question at the same price is answered again with the same numbers, free of charge. Exits with 1 when the
    budget does not suffice.

    Args:
        ledger: The ledger file.
        question: SELECT of COUNT, SUM, AVG, VAR_POP, MIN, MAX, MEDIAN, QUANTILE with WHERE and GROUP BY.
        epsilon: The price; under a zcdp ledger it buys ρ = ε²/2.
        rho: The price under a zcdp ledger.
        delta: The extra price of finding keys that are not declared.
        analyst: Who asks.
        output: File for the rows; the card goes beside it.
        post: Post-processing, which costs nothing.
        plot: SVG file with a picture of the answer.
        latency: The beat in seconds on which answers leave, so that their time tells nothing.
        json: Print the answer with its card as JSON.
    """
    from sfumato.dp.session import Session

    with Staging() as staging, steps(1) as step:
        places = [None if path is None else staging.place(path) for path in (output, _card(output), plot)]
        step("asking")
        session = Session.open(ledger, data=_found(ledger, engine), latency=latency)
        answer = session.sql(question, epsilon, delta=delta, rho=rho, analyst=analyst, post=post)
        _write(answer, output, places)
    _say(answer, output, json=json)
    return 0


def _card(output: Path | None) -> Path | None:
    return None if output is None else output.with_name(f"{output.name}.card.json")


def _write(answer: Answer, output: Path | None, places: list[Path | None]) -> None:
    data, card, plot = places
    if output is not None and data is not None and card is not None:
        card.write_text(answer.release().write(data, name=output.name).to_json(), encoding="utf-8")
    if plot is not None:
        from sfumato.report.chapters.answers import answer_picture

        plot.write_text(answer_picture(answer), encoding="utf-8")


def _say(answer: Answer, output: Path | None, *, json: bool) -> None:
    if json:
        sys.stdout.write(json_text.dumps(_as_json(answer), indent=2, ensure_ascii=False) + "\n")
        return
    if output is None:
        sys.stdout.write(_rows(answer))
    else:
        sys.stdout.write(f"{len(answer.stored.cells)} rows written to {output}\n")
    spent = "nothing (asked before)" if str(answer.spent) == "nothing" else answer.spent
    sys.stderr.write(f"spent {spent}, left {answer.left}\n")


def _rows(answer: Answer) -> str:
    """The answer as CSV text, which a person can read and a program too."""
    return answer.frame.write_csv()


def _as_json(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.frame.to_dicts(),
        "spent": _plain(answer.spent),
        "left": _plain(answer.left),
        "card": json_text.loads(answer.card.to_json()),
    }


def _plain(cost: Cost) -> dict[str, float]:
    return {"epsilon": float(cost.epsilon), "delta": float(cost.delta), "rho": float(cost.rho)}


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
    """Say which ε keeps the error of a question below a bound; nothing is spent. Exits with 1 when it is not left.

    Args:
        ledger: The ledger file.
        question: The question in SQL.
        error: The largest error wanted: of a count, sum, mean or variance; of a quantile in rows of rank.
        confidence: With which probability the error stays below.
        rows: A public guess of how many rows a group has; needed for means and variances.
        json: Print the plan as JSON.
    """
    from sfumato.dp.session import Session

    made = Session.open(ledger).plan(question, error=error, confidence=confidence, rows=rows)
    if json:
        entry = {"epsilon": float(made.epsilon), "cost": _plain(made.cost), "error": made.error}
        sys.stdout.write(json_text.dumps({**entry, "affordable": made.affordable}, indent=2) + "\n")
    else:
        left = "" if made.affordable else "; the budget has not so much left"
        sys.stdout.write(f"epsilon {made.epsilon} keeps the error within {made.error:g} ({confidence:.0%}){left}\n")
    return 0 if made.affordable else 1
