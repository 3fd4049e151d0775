"""The commands of a budget: make it, show it, and declare that the data changed."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.engine import EngineOptions
from sfumato.cli.input_options import InputOptions, tell_sentences
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.options import Flag, LedgerName
from sfumato.cli.progress import steps
from sfumato.cli.tables import Numbers, named_tables, numbers_of, unit_of, with_schemas

ENTRIES_SHOWN = 20
WORDS_SHOWN = 60


def create(
    ledger: LedgerName,
    /,
    *,
    data: Annotated[tuple[str, ...], Parameter(negative=(), metavar="FILE")],
    schema: Annotated[tuple[Path, ...], Parameter(negative=(), metavar="FILE")],
    epsilon: str,
    delta: str = "0",
    delta_keys: str = "0",
    accountant: Literal["pure", "zcdp"] = "pure",
    protect: str = "rows",
    person: str | None = None,
    rows: Numbers = (),
    neighbours: Literal["presence", "value"] = "presence",
    analyst: Annotated[tuple[str, ...], Parameter(negative=(), metavar="NAME=EPSILON", show_default=False)] = (),
    deadline: float = 1.0,
    horizon: str | None = None,
    population: str | None = None,
    other_people: Flag = False,
    reading: InputOptions = InputOptions(),
    engine: EngineOptions = EngineOptions(),
    intake: IntakeOptions = IntakeOptions(),
) -> int:
    """Make a privacy budget for a data set in a new ledger; an existing one is never replaced.

    Args:
        ledger: File to make, or postgresql://USER@HOST/DATABASE?ledger=NAME; never restore an older copy of it.
        data: CSV (also .gz), Excel or Parquet file, a folder for Spark, or postgresql://USER@HOST/DATABASE#TABLE.
            Repeat it for several tables of the same persons, as FILE or NAME=FILE.
        schema: TOML file that declares types, bounds and categories, without looking at the rows; one for each table.
        epsilon: The privacy loss that all answers together may reach.
        delta: Probability that this bound fails; needed by zcdp, and to find keys that are not declared.
        delta_keys: The part of delta that may find keys under zcdp; pure accounting uses all of delta for that.
        accountant: How losses add up: pure ε, or zero-concentrated (less noise for many questions).
        protect: The unit: rows, or person:ID:ROWS:GROUPS for at most ROWS rows in each of at most GROUPS groups.
        person: The same as --protect person:ID:1:1.
        rows: So many rows of a person are joined from a table, where another one is joined with it.
        neighbours: What differs between neighbouring data sets: one unit is present or absent, or has other values.
        analyst: Who may ask, and up to which ε of their own; may be repeated. Without it anybody may.
        deadline: Every answer leaves after exactly this many seconds, to hide timing; 0 hides nothing.
        horizon: The budget counts over each such span (30d, 12h); without it for ever.
        population: The people whom the budget is about, in your words; the table's name unless given.
        other_people: Allow a second ledger over the same rows, because it is about other people.
    """
    from sfumato.dp.ledger.shares import read_shares
    from sfumato.dp.ledger.terms import Terms
    from sfumato.dp.session import Session
    from sfumato.errors import ParameterError
    from sfumato.promise.cost import Accountant, Budget, amount
    from sfumato.schema import Schema
    from sfumato.stream.screens.times import duration
    from sfumato.table.parse_report import IN_ANSWERS

    span = None if horizon is None else duration(horizon)
    terms = Terms(deadline=deadline, horizon=span, population=population, other_people=other_people)
    kept = Accountant(accountant)
    budget = Budget(epsilon=amount(epsilon), delta=amount(delta), accountant=kept, keys=amount(delta_keys))
    shares = read_shares(analyst)
    with steps(1) as step:
        step("reading")
        declared = [reading.under(intake.declared(Schema.from_toml(path))) for path in schema]
        given, schemas = with_schemas(named_tables(data), declared)
        if engine.spark:
            if not isinstance(given, str):
                raise ParameterError("the engine spark keeps one table under a ledger; leave --engine out, or give one")
            reading.refuse_layout("spark", schemas)
            from sfumato.engines.spark.queries import SparkRows

            given = SparkRows.of_folder(given, schemas, engine.master)
        session = Session.create(
            ledger,
            given,
            schemas,
            budget,
            protect=unit_of(protect, person),
            neighbours=neighbours,
            analysts=shares,
            terms=terms,
            rows=numbers_of(rows),
        )
    tell_sentences(session.rows.guesses)
    intake.tell_tables(session.parse_reports, IN_ANSWERS)
    sys.stdout.write(f"{session.ledger.name}: budget {session.ledger.left}, protecting a {session.unit.words}\n")
    names = list(session.tables.schemas) or [session.table]
    sys.stdout.write(f"  questions call the table{'s' * (len(names) > 1)} {', '.join(names)}\n")
    return 0


def show(ledger: LedgerName, /, *, json: Flag = False) -> int:
    """Show what was spent, by whom and on which questions, and what is left.

    Args:
        ledger: The ledger: its file, or postgresql://USER@HOST/DATABASE?ledger=NAME.
        json: Print everything as JSON.
    """
    from sfumato.dp.dataset import facts_by_table
    from sfumato.dp.ledger.ledger import Ledger
    from sfumato.dp.ledger.statement import statement
    from sfumato.dp.questions.compiled import short_words

    opened = Ledger.open(ledger)
    if json:
        sys.stdout.write(json_text.dumps(statement(opened), indent=2, ensure_ascii=False) + "\n")
        return 0
    facts = opened.facts
    tables = ", ".join(facts_by_table(facts))
    lines = [
        f"{opened.name}: {tables}, version {opened.version}, protecting {facts['protect']} ({facts['neighbours']})",
        f"  budget {opened.budget.total}  spent {opened.spent}  left {opened.left}",
        *([f"  FROZEN: {opened.frozen}"] if opened.frozen else []),
    ]
    entries = list(opened.entries())
    if len(entries) > ENTRIES_SHOWN:
        lines.append(f"  … {len(entries) - ENTRIES_SHOWN} earlier entries (all of them with --json)")
    for entry in entries[-ENTRIES_SHOWN:]:
        asked = f"{entry.time}  {entry.analyst}  {entry.cost}  {short_words(entry.question, WORDS_SHOWN)}"
        lines.append(f"  {entry.number:>4}  {asked}{_remark(entry.answered, entry.outside)}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _remark(answered: bool, outside: bool) -> str:  # noqa: FBT001 - two facts of an entry
    if outside:
        return "  (outside the bound)"
    return "" if answered else "  (charged, never answered)"


def verify(
    ledger: LedgerName,
    /,
    *,
    against: Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative=(), show_default=False)] = (),
) -> int:
    """Check that a ledger was not rolled back, cut or edited; kept cards show what it held when they left.

    Args:
        ledger: The ledger: its file, or postgresql://USER@HOST/DATABASE?ledger=NAME.
        against: Cards of answers and releases that were charged to it, or answers as JSON; the more, the better.
    """
    from sfumato.dp.ledger.places import store_of
    from sfumato.dp.ledger.verify import verify as find_faults

    wrong = find_faults(ledger, against)
    for sentence in wrong:
        sys.stdout.write(f"REFUTED  {sentence}\n")
    if not wrong:
        kept = f"and fits {len(against)} kept cards" if against else "(keep cards and give them with --against)"
        sys.stdout.write(f"NOT REFUTED  {store_of(ledger).name}: the chain holds, the tables say what it says {kept}\n")
    return 1 if wrong else 0


def thaw(ledger: LedgerName, /) -> int:
    """Unfreeze a ledger that was frozen because an answer overran its deadline.

    Args:
        ledger: The ledger: its file, or postgresql://USER@HOST/DATABASE?ledger=NAME.
    """
    from sfumato.dp.ledger.ledger import Ledger

    opened = Ledger.open(ledger)
    reason = opened.thaw()
    words = "was not frozen" if reason is None else f"answers again; it was frozen, since {reason}"
    sys.stdout.write(f"{opened.name}: {words}\n")
    return 0


def new_version(
    ledger: LedgerName,
    /,
    *,
    data: Annotated[tuple[str, ...], Parameter(negative=(), metavar="FILE")],
    reading: InputOptions = InputOptions(),
    engine: EngineOptions = EngineOptions(),
    intake: IntakeOptions = IntakeOptions(),
) -> int:
    """Declare that the rows have changed; what was spent stays spent.

    Args:
        ledger: The ledger: its file, or postgresql://USER@HOST/DATABASE?ledger=NAME.
        data: The new file, or the same one with its new content; of several tables NAME=FILE, for each that changed.
    """
    from sfumato.dp.session import Session
    from sfumato.table.parse_report import IN_ANSWERS

    tables = named_tables(data)
    rows: Any = data[0] if len(data) == 1 and [*tables.values()] == [*data] else tables
    if engine.spark:
        from sfumato.engines.spark.queries import SparkRows

        rows = SparkRows.of_ledger(ledger, engine.master, data[0])
    with steps(1) as step:
        step("reading")
        session = Session.open(ledger, data=rows)
        number = session.new_version(rows, reading=reading.reading(), failed=intake.declared(session.schema).failed)
    tell_sentences(session.rows.guesses)
    intake.tell_tables(session.parse_reports, IN_ANSWERS)
    sys.stdout.write(f"{session.ledger.name}: the data are now version {number}\n")
    return 0
