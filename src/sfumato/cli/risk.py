"""The command that estimates what a table risks in the population it was sampled from, for the steward alone."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.options import Columns, Flag, TableInput, Whole, names
from sfumato.cli.progress import steps
from sfumato.cli.terminal import single_line
from sfumato.core.files import Staging, fill
from sfumato.core.progress import listening
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.evaluate import PopulationRisk
    from sfumato.evaluate.population import CorrectMatch
    from sfumato.evaluate.population.household import HouseholdRisk
    from sfumato.evaluate.population.reidentified import RowsFoundAgain
    from sfumato.evaluate.population.suda import SpecialUniques
    from sfumato.evaluate.population.uniques import PopulationUniques
    from sfumato.schema import Schema

KEEP = "for the steward: do not publish"
Place = Annotated[Path | None, Parameter(allow_leading_hyphen=True, metavar="FILE")]


def risk(
    table: TableInput,
    /,
    *,
    quasi: Columns = (),
    weights: str | None = None,
    fraction: float | None = None,
    household: str | None = None,
    largest: Whole = None,
    schema: Path | None = None,
    each: Place = None,
    report: Place = None,
    reading: InputOptions = InputOptions(),
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Estimate what a table risks in the population it was sampled from; all of it is the steward's alone.

    Say how the table was sampled, with --fraction or with --weights. Printed are the rows that somebody is expected to
    find who knows the whole population, population uniques, special uniques (SUDA2) and the risk of households.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE. Cells may be values, ranges, sets or *.
        quasi: Columns an attacker may know, separated by commas; without it those of the schema.
        weights: Column of sampling weights: how many people of the population a row stands for.
        fraction: Share of the population that the table holds, such as 0.01.
        household: Column that tells households apart: whoever finds one member knows the others.
        largest: Most columns in a set that is tried for special uniques; without it all, or as many as 5000 sets allow.
        schema: TOML file that tells roles, types and missing marks.
        each: CSV file for the risks of every row, in the table's order; do not publish it.
        report: HTML page for the steward; do not publish it.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the estimates as JSON.
    """
    from sfumato.evaluate import population_risk

    columns, known = _asked(names(quasi), schema, reading)
    given = [table, *([] if schema is None else [schema])]
    with Staging(force=force, inputs=given) as staging, steps(2) as step:
        rows_place = None if each is None else staging.place(each, secret=True)
        page_place = None if report is None else staging.place(report, secret=True)
        step("reading")
        rows = read_told(table, reading, known)
        step("estimating")
        with listening(step.share):
            found = population_risk(
                rows, columns, fraction=fraction, weights=weights, household=household, largest=largest, schema=known
            )
        if rows_place is not None:
            fill(rows_place, found.each.write_csv())
        if page_place is not None:
            from sfumato.report import population_report

            fill(page_place, population_report(found))
    text = json_text.dumps(found.as_json(), indent=2, ensure_ascii=False) + "\n" if json else _text(found)
    sys.stdout.write(text)
    return 0


def _asked(quasi: list[str], schema: Path | None, reading: InputOptions) -> tuple[list[str], Schema]:
    """Return the quasi-identifiers named on the command line, or those of the schema, and what is known of columns."""
    from sfumato.schema import Role, Schema

    if not quasi and schema is None:
        raise ParameterError("no quasi-identifier was named; name them with --quasi or --schema")
    declared = Schema() if schema is None else Schema.from_toml(schema)
    return quasi or list(declared.names(Role.QUASI)), reading.under(declared)


def _text(found: PopulationRisk) -> str:
    lines = [
        f"({KEEP})",
        f"rows            {found.rows}, of a population of {found.population:,.0f} ({found.fraction:.3%})",
        f"classes         {found.classes}, {found.uniques} of them of one row",
        "rows found again by somebody who knows the population (95 % interval; highest risk of a row)",
        *map(_again, found.found_again),
        *_unique_lines(found.population_uniques),
        *_special_lines(found.special_uniques, found.correct_match),
        *([] if found.household is None else _household_lines(found.household)),
        *found.notes,
    ]
    return "\n".join(map(single_line, lines)) + "\n"


def _again(one: RowsFoundAgain) -> str:
    highest = "" if one.highest is None else f"; {one.highest:.4g}"
    return f"  {one.method:<24} {_number(one.expected)}{_ends(one.low, one.high)}{highest}{_after(one.note)}"


def _unique_lines(found: PopulationUniques) -> list[str]:
    choice = found.choice
    each = [
        f"  {one.estimator:<24} {_number(one.value)}{_ends(one.low, one.high)}{_after(one.note)}"
        for one in found.estimates
    ]
    return [
        "population uniques (95 % interval)",
        *each,
        f"  taken: {choice.estimator}, {_number(choice.value)}, since {choice.why}",
        f"  whatever the population is: at most {_number(choice.at_most)} (95 %)",
    ]


def _special_lines(found: SpecialUniques, match: CorrectMatch) -> list[str]:
    sizes = ", ".join(f"{count} of {size}" for size, count in enumerate(found.sets, 1) if count)
    columns = sorted(found.columns.items(), key=lambda item: -item[1])
    lines = [
        f"a match with a unique row is right with the chance {_chance(match.chance)}{_chances(match.low, match.high)}",
        f"special uniques {found.rows} rows, by sets of at most {found.largest} columns: {sizes or 'none'}",
        f"  highest score {found.highest_score:g}, highest chance of a right match {found.highest_chance:.4g}",
        *(f"  {name}: in {share:.1%} of the scores" for name, share in columns if found.rows),
    ]
    missed = f"  unique rows that need larger sets, without a score: {found.missed}"
    return [*lines, missed] if found.missed else lines


def _household_lines(home: HouseholdRisk) -> list[str]:
    return [
        f"households      {home.households}, the largest of {home.largest}; rows in households where somebody is found",
        f"  Benedetti & Franconi     {_number(home.expected)}; {home.highest:.4g}",
        f"  Pitman                   {_number(home.unseen)}",
    ]


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:,.1f}".removesuffix(".0")


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({_number(low)} to {_number(high)})"


def _chance(value: float | None) -> str:
    return "none (no row is unique)" if value is None else f"{value:.4g}"


def _chances(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({low:.4g} to {high:.4g}, 95 %)"


def _after(note: str) -> str:
    return f"; {note}" if note else ""
