"""The commands of hierarchies: build one by rule, show it, write it in another form, say what released labels mean."""

from __future__ import annotations

import datetime as dt
import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.options import Columns, Flag, RoleOptions, TableInput, names
from sfumato.cli.progress import steps as progress
from sfumato.cli.terminal import single_line
from sfumato.core.files import Staging, fill
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.hierarchy import Hierarchy

Rule = Literal["intervals", "prefixes", "dates", "ordered", "flat"]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")]
HierarchyFile = Annotated[Path, Parameter(name="HIERARCHY")]
ReleasedFile = Annotated[Path, Parameter(name="RELEASED")]
Listed = Annotated[
    tuple[str, ...], Parameter(negative=(), metavar="LIST", allow_leading_hyphen=True, show_default=False)
]
Limit = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
FROM_ROWS = (
    "the values were taken from rows, which a CSV file cannot say: it is not public, and must not be used for a "
    "differentially private release or exported"
)

EXPORTED = (
    "every value that the hierarchies of {columns} list below a released label is exported; export only values that "
    "were declared without looking at the rows (for the steward)"
)


def build(
    table: TableInput | None = None,
    /,
    *,
    rule: Rule,
    column: str | None = None,
    schema: Path | None = None,
    values: Listed = (),
    low: Limit = None,
    high: Limit = None,
    widths: Listed = (),
    origin: Limit = None,
    edges: Listed = (),
    lengths: Listed = (),
    first: str | None = None,
    last: str | None = None,
    steps: Columns = (),
    sizes: Listed = (),
    reading: InputOptions = InputOptions(),
    output: Output = None,
    force: Flag = False,
) -> int:
    """Build a hierarchy by rule and write it as TOML, or as CSV with a column for each level.

    Args:
        table: File whose column gives the values, where they are not named; the hierarchy is then not public.
        rule: What makes labels: intervals of numbers, prefixes of codes, dates under the calendar, runs of ordered
            words, or nothing but * above all values (flat).
        column: The column of the table.
        schema: TOML file that tells the column's type, missing marks and, if ordinal, its order.
        values: The values, separated by commas; for ordered, in their order.
        low: Lowest number of the scale (intervals of whole numbers).
        high: Highest number of the scale.
        widths: Widths of the intervals, each a multiple of the one before, as in 5,10,20.
        origin: Where intervals are aligned; 0 unless given.
        edges: Where the intervals of a level begin, as in 0,18,65; repeated for each wider level.
        lengths: Lengths of the prefixes, falling, as in 4,3.
        first: First day, as in 2024-01-01 (dates).
        last: Last day.
        steps: Steps of the calendar, as in month,quarter,year.
        sizes: Lengths of the runs of ordered words, as in 2,4.
        output: File to write, .toml or .csv; TOML on standard output unless named.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.hierarchy.file import hierarchy_from_mapping
    from sfumato.schema import Schema
    from sfumato.schema.hierarchy_text import rule_toml
    from sfumato.schema.rule_values import rule_values

    if (table is None) != (column is None):
        raise ParameterError("values come from a table's column: name both the file and --column, or give the values")
    content: dict[str, object] = {"builder": rule}
    with Staging(force=force, inputs=[table, schema]) as staging:
        if table is not None and column is not None:
            known = reading.under(Schema() if schema is None else Schema.from_toml(schema))
            with progress(1) as step:
                step("reading")
                content |= rule_values(read_told(table, reading, known), column, known, rule)
        content |= _named(
            values=names(values),
            low=None if low is None else _number("low", low),
            high=None if high is None else _number("high", high),
            widths=_numbers("widths", widths),
            origin=None if origin is None else _number("origin", origin),
            edges=[_numbers("edges", [level]) for level in edges],
            lengths=_numbers("lengths", lengths),
            first=None if first is None else _day("first", first),
            last=None if last is None else _day("last", last),
            steps=names(steps),
            sizes=_numbers("sizes", sizes),
        )
        public = table is None or rule == "ordered"  # whose values are the schema's
        made = hierarchy_from_mapping({"public": public, **content}, f"--rule {rule}")
        _write(made, output, staging, rule_toml(content, public=public))
    return 0


def convert(hierarchy: HierarchyFile, /, *, output: Output = None, force: Flag = False) -> int:
    """Write a hierarchy in another form: nested TOML, or CSV with a column for each level.

    Args:
        hierarchy: File to read: TOML, or CSV with a row for each value and a column for each level, as ARX has it.
        output: File to write, .toml or .csv; TOML on standard output unless named.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.hierarchy.file import read_hierarchy

    with Staging(force=force, inputs=[hierarchy]) as staging:
        _write(read_hierarchy(hierarchy), output, staging)
    return 0


def show(
    hierarchy: HierarchyFile,
    table: TableInput | None = None,
    /,
    *,
    column: str | None = None,
    schema: Path | None = None,
    reading: InputOptions = InputOptions(),
    json: Flag = False,
) -> int:
    """Show a hierarchy level by level: how many values each label stands for and, with a table, how many rows.

    Args:
        hierarchy: File to read, TOML or CSV.
        table: File whose rows are counted; the counts are for the steward.
        column: The column of the table.
        schema: TOML file that tells the column's type and missing marks.
        json: Print all labels as JSON.
    """
    from sfumato.evaluate.preview import Preview
    from sfumato.hierarchy.file import read_hierarchy
    from sfumato.schema import Schema

    tree = read_hierarchy(hierarchy)
    if (table is None) != (column is None):
        raise ParameterError("rows are counted in a table's column: name both the file and --column, or neither")
    known = reading.under(Schema() if schema is None else Schema.from_toml(schema))
    read = None if table is None else read_told(table, reading, known)
    preview = Preview.of(tree, read, column or "", known)
    if json:
        sys.stdout.write(json_text.dumps(preview.as_json(), indent=2, ensure_ascii=False) + "\n")
        return 0
    secret = "" if table is None else " (for the steward)"
    sys.stdout.writelines(f"{single_line(line)}{secret}\n" for line in preview.lines())
    return 0


def export(
    released: ReleasedFile,
    /,
    *,
    roles: RoleOptions = RoleOptions(),
    output: Output = None,
    force: Flag = False,
) -> int:
    """Say what the labels of a release stand for, for its recipients: from declared hierarchies, never from rows.

    Args:
        released: The released file.
        output: File to write: .json by column and label, or a table with a row for every label and value; CSV on
            standard output unless named.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.release.label_values import as_table, label_values
    from sfumato.table import read
    from sfumato.table.formats import find_format
    from sfumato.table.io import write_held

    schema = roles.build()
    as_json = output is not None and output.suffix.casefold() == ".json"
    if output is not None and not as_json:
        find_format(output)  # an unknown ending is refused before the work
    with Staging(force=force, inputs=[released, *roles.files(schema)]) as staging:
        place = None if output is None else staging.place(output)
        found = label_values(read(released), schema)
        sys.stderr.write(f"sfumato: {EXPORTED.format(columns=single_line(', '.join(found)))}\n")
        if place is None:
            write_held(as_table(found), "-")
        elif as_json:
            fill(place, json_text.dumps(found, indent=2, ensure_ascii=False) + "\n")
        else:
            write_held(as_table(found), place)
    return 0


def _write(made: Hierarchy, output: Path | None, staging: Staging, toml: str | None = None) -> None:
    """Write a hierarchy to a file by its ending, or as TOML to standard output."""
    from sfumato.schema.hierarchy_text import hierarchy_text

    text = hierarchy_text(made, ".toml" if output is None else output.suffix, toml)
    if output is None:
        sys.stdout.write(text)
        return
    if not made.public and output.suffix.casefold() == ".csv":
        sys.stderr.write(f"sfumato: {FROM_ROWS}\n")
    fill(staging.place(output, secret=not made.public), text)


def _named(**given: object) -> dict[str, object]:
    """Return what was given: no empty list, and nothing that is None."""
    return {key: value for key, value in given.items() if value is not None and value != []}


def _numbers(option: str, texts: Sequence[str]) -> list[int | float]:
    return [_number(option, text) for text in names(texts)]


def _number(option: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if abs(number) < float("inf"):
            return number
    raise ParameterError(f"--{option} '{text}' is not a number; give numbers like 5 or 0.5")


def _day(option: str, text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"--{option} '{text}' is not a day; write it like 2024-12-31") from None
