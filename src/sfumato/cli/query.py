"""The command that asks a question and gets a noisy answer, charged to a budget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.engine import EngineOptions
from sfumato.cli.naming_options import NamingOptions
from sfumato.cli.options import Flag, FormulaChoice, LedgerName, Whole
from sfumato.cli.progress import steps
from sfumato.cli.tables import PublicOptions
from sfumato.core.files import Staging
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.answer import Answer
    from sfumato.dp.questions.query import Query

ANALYST = "analyst"
Question = Annotated[str, Parameter(name="SQL")]
Given = Annotated[tuple[str, ...], Parameter(negative=(), metavar="NAME=VALUES", show_default=False)]


def query(
    ledger: LedgerName,
    question: Question,
    /,
    *,
    epsilon: str | None = None,
    rho: str | None = None,
    delta: str = "0",
    analyst: str = ANALYST,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")] = None,
    post: Annotated[tuple[Literal["nonnegative", "consistent", "integer"], ...], Parameter(negative=())] = (),
    plot: Path | None = None,
    rows: Whole = None,
    keys: Given = (),
    candidates: Given = (),
    force: Flag = False,
    naming: NamingOptions = NamingOptions(),
    formulas: FormulaChoice = "neutralise",
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
    tables: PublicOptions = PublicOptions(),
) -> int:
    """Ask a question in SQL; the answer has noise, and its price is debited first.

    The same question at the same price is answered again with the same numbers, free of charge. Exit code 1 if the
    budget left is too small.

    Args:
        ledger: The ledger's file, postgresql://USER@HOST/DATABASE?ledger=NAME, or a curator's https://HOST/DATASET.
        question: SELECT of COUNT, SUM, AVG, VAR_POP, MIN, MAX, MEDIAN, QUANTILE, BOUNDS with JOIN, WHERE, GROUP BY.
        epsilon: The price; under a zcdp ledger it buys ρ = ε²/2.
        rho: The price under a zcdp ledger.
        delta: The extra price of finding keys that are not declared.
        analyst: Who asks.
        output: File for the rows; the card goes beside it.
        post: Post-processing, which costs nothing.
        plot: SVG file with a picture of the answer.
        rows: Public guess of the rows in a group; a MIN, MAX or quantile that the noise would hide is then refused.
        keys: Keys of a group, declared by you without looking at the rows: NAME=A,B,C, NAME=FILE.csv (or .parquet),
            NAME=2026-01-01..2026-03-31/week.
        candidates: Values among which quantiles of a column are chosen: NAME=0,5,10.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        formulas: What becomes of cells that a spreadsheet would run as formulas, in text files: neutralise puts a '
            before them, keep leaves them.
        json: Print the answer with its card as JSON.
    """
    from sfumato.dp.answer_files import AnswerFiles
    from sfumato.dp.session import Session

    def draw(answer: Answer) -> str:
        from sfumato.report.charts.answers import answer_picture

        return answer_picture(answer)

    with (
        Staging(force=force, inputs=[*_files_read(ledger), *tables.files] if force else ()) as staging,
        steps(1) as step,
    ):
        files, names = AnswerFiles.place(staging, output, plot), naming.build()  # before anything is paid
        step("asking")
        price: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "post": post, "rows": rows}
        if is_curator(ledger):
            refuse_local(analyst, engine, tables)
            answer = asked_of_curator(str(ledger), question, keys, candidates, price)
        else:
            session = Session.open(ledger, data=_spark_rows(ledger, engine))
            asked = with_given(session.question(question, public=tables.tables()), keys, candidates)
            answer = session.ask(asked, analyst=analyst, **price)
        files.write(answer, draw, names, formulas)
    if json:
        sys.stdout.write(answer.to_json() + "\n")
        return 0
    sys.stdout.write(_printed(answer, output, formulas))
    for note in answer.notes:
        sys.stderr.write(f"{note}\n")
    spent = "nothing (asked before)" if str(answer.spent) == "nothing" else answer.spent
    sys.stderr.write(f"spent {spent}, left {answer.left}\n")
    return 0


def with_given(asked: Query, keys: Sequence[str], candidates: Sequence[str]) -> Query:
    """Return a question with the keys and candidates that options give, each as NAME=VALUES."""
    from sfumato.dp.questions.given_keys import read_keys

    for option in keys:
        name, values = _named(option, "--keys")
        asked = asked.with_keys({name: read_keys(name, values).values})
    for option in candidates:
        name, values = _named(option, "--candidates")
        asked = asked.with_candidates({name: [value.strip() for value in values.split(",")]})
    return asked


def asked_of_curator(
    address: str, question: str, keys: Sequence[str], candidates: Sequence[str], price: dict[str, Any]
) -> Answer:
    """Return the answer of a curator; keys and candidates are put into the question here, by its public schema."""
    from sfumato.client import Curator

    curator = Curator.of_environment(address)
    asked = with_given(curator.question(question), keys, candidates) if keys or candidates else question
    return curator.ask(asked, **price)


def is_curator(ledger: Path | str) -> bool:
    """Return whether a ledger is behind the address of a curator.

    >>> is_curator("https://curator.example/rides"), is_curator("postgresql://server/city?ledger=rides")
    (True, False)
    """
    return isinstance(ledger, str) and ledger.startswith(("https://", "http://"))


def refuse_local(analyst: str, engine: EngineOptions, tables: PublicOptions) -> None:
    """Refuse options that need the rows, or another name, where a curator is asked."""
    named = {"--analyst": analyst != ANALYST, "--engine": engine.spark, "--public": bool(tables.files)}
    for option, given in named.items():
        if given:
            raise ParameterError(f"{option} is for a ledger on this machine; a curator knows you by your token alone")


def _spark_rows(ledger: Path | str, engine: EngineOptions) -> Any:
    if not engine.spark:
        return None
    from sfumato.engines.spark.queries import SparkRows

    return SparkRows.of_ledger(ledger, engine.master)


def _named(option: str, flag: str) -> tuple[str, str]:
    name, between, values = option.partition("=")
    if not (name and between and values):
        raise ParameterError(f"{flag} is '{option}'; write {flag} NAME=VALUES")
    return name, values


def _printed(answer: Answer, output: Path | None, formulas: str) -> str:
    """Return the rows as CSV, or where they are."""
    from sfumato.table.formats.formulas import neutralise

    if output is not None:
        return f"{len(answer.stored.cells)} rows written to {output}\n"
    return (answer.rows if formulas == "keep" else neutralise(answer.rows).frame).write_csv()


def _files_read(ledger: Path | str) -> list[str | Path | None]:
    """Return the ledger's own file and those of its rows; a curator's are elsewhere."""
    if is_curator(ledger):
        return []
    from sfumato.dp.dataset import facts_by_table
    from sfumato.dp.ledger.ledger import Ledger

    return [ledger, *(table.get("data") for table in facts_by_table(Ledger.open(ledger).facts).values())]
