"""Files to start from: a schema with guessed roles, types and limits, and a hierarchy by the rule that fits a column.

Proposals look at the rows, so like every inferred limit they are for a person to correct (numbers by intervals, dates
by the calendar, codes by their prefix, as Sweeney 2002 does by hand).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.core.cells import SUPPRESSED
from sfumato.errors import InputError, SchemaError
from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy.builders import growing_widths
from sfumato.hierarchy.file import PUBLIC, hierarchy_from_mapping
from sfumato.hierarchy.limits import MOST_VALUES
from sfumato.schema.attribute import Attribute
from sfumato.schema.detection import detected
from sfumato.schema.kinds import PLAIN, Kind, is_missing, parse
from sfumato.schema.roles import Role
from sfumato.schema.schema import InferredColumn, NamedColumns, Schema, infer_columns, toml_key, toml_value
from sfumato.schema.times import wall_time
from sfumato.schema.written import Written

OPENING = """\
# Proposed schema: roles are guesses from values and names, types and limits are read from the rows. Correct them.
#   role = "identifier" | "quasi" | "sensitive" | "other"
#          dropped        generalised  protected   passed on unchanged
#   type = "integer" | "number" | "date" | "timestamp" | "category" | "text"
#          | "ordinal" (needs categories = [...] in order)
#   bounds = [low, high], categories = [...], hierarchy = "file.csv", missing = ["", "?"]
#   coarsen = {round = 100}, {bands = [0, 500, 1000]}, {microaggregate = 10}, {top = 99, bottom = 0}, {period = "month"}
#   decimal = ",", thousands = ".", format = "%d.%m.%Y", zone = "Europe/Berlin": how the cells are written
# `public = false` marks limits that were inferred from the rows. Replace them by limits that everybody
# may know (an age lies between 0 and 120) and delete the line; differential privacy refuses inferred ones.
"""
PERSON = '# person = "column"   # if one person can have several rows, name the column that tells them apart\n'
WHY = {
    Role.IDENTIFIER: "dropped",
    Role.QUASI: "generalised",
    Role.SENSITIVE: "kept; ask for l-diversity or t-closeness to protect it",
    Role.OTHER: "passed on unchanged",
}
POSTAL_WORDS = re.compile(r"zip|postal|postcode|plz|cep|código", re.IGNORECASE)
EPOCH = dt.date(1970, 1, 1).toordinal()
HOURLY = 366  # days up to which times are proposed under hours; beyond, under days


def propose(table: NamedColumns) -> str:
    """Return the text of a proposed schema file for `table`, with the reason for each role.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> print(propose(Table(pl.DataFrame({"age": [31, 31]}))).partition("[columns")[2])
    .age]
    role = "quasi"  # generalised: the name says age (age)
    type = "integer"
    bounds = [31, 31]  # inferred from the rows
    public = false
    <BLANKLINE>
    """
    found = infer_columns(table)
    people = [_person(name, table) for name, one in found.items() if one.guess.repeats]
    return OPENING + ("".join(people) or PERSON) + "".join(_section(table, one) for one in found.values())


def _person(name: str, table: NamedColumns) -> str:
    """Return the line that declares a column of repeating ids as the person, for somebody to uncomment."""
    column = table.column(name)
    rows = f"{column.n_unique():,} different ids in {len(column):,} rows"
    return f"# person = {toml_value(name)}   # {rows}: uncomment if each is a person\n"


def _section(table: NamedColumns, one: InferredColumn) -> str:
    attribute, guess = one.attribute, one.guess
    comments = {"role": f"{WHY[attribute.role]}: {_plain(guess.reason)}", "bounds": "inferred from the rows"}
    comments["coarsen"] = "proposed: hardly any value then occurs once"
    lines = ["", f"[columns.{toml_key(attribute.name)}]"]
    for key, value in attribute.to_mapping().items():
        comment = f"  # {comments[key]}" if key in comments else ""
        lines.append(f"{key} = {toml_value(value)}{comment}")
    if attribute.kind is not None and not attribute.kind.numeric:
        count = table.column(attribute.name).n_unique()
        lines.append(f"# {count} different values")
    return "\n".join(lines) + "\n"


def _plain(reason: str) -> str:
    """Return a reason that fits a comment: names of columns in it may hold anything."""
    return "".join(letter if letter.isprintable() else " " for letter in reason)


@dataclass(frozen=True)
class Suggestion:
    """A proposed hierarchy, and the TOML text that `read_hierarchy` turns into the same tree.

    >>> suggest(pl.Series("sex", ["F", "M"])).hierarchy.leaves
    ('F', 'M')
    """

    hierarchy: Hierarchy
    text: str


def suggest(
    series: pl.Series,
    kind: Kind | None = None,
    *,
    missing: tuple[str, ...] = ("",),
    categories: Sequence[str] | None = None,
    written: Written = PLAIN,
) -> Suggestion:
    """Return a hierarchy for the values of a column; `categories` gives ordered words their order.

    >>> print(suggest(pl.Series("zip", ["02139", "02141", "02138"])).text)
    # zip: codes under ever shorter prefixes
    public = false
    builder = "prefixes"
    values = ["02138", "02139", "02141"]
    lengths = [4]
    <BLANKLINE>
    >>> suggest(pl.Series("age", [16, 94])).hierarchy.paths[0]
    ('16', '[15-19]', '[10-19]', '[0-19]', '[0-39]', '*')
    """
    present = series.filter(~is_missing(series, missing))
    if present.is_empty():
        raise InputError(f"column '{series.name}' has no values to make a hierarchy of; give some rows")
    if kind is None:
        guess = detected(Attribute(series.name, Role.OTHER, missing=missing), present)
        kind, written = guess.kind, guess.written
    found = kind or Kind.CATEGORY
    words = present.cast(pl.String).unique().sort().to_list()
    if categories is not None:
        content: dict[str, object] = {"builder": "ordered", "values": list(categories)}
        return _suggestion(series.name, "words in their order under runs of 2, 4, 8", content, public=True)
    if _are_codes(series.name, words, found):
        return _suggestion(series.name, *_prefixes(words))
    if found.numeric:
        return _suggestion(series.name, *_scale(present, found, written))
    return _suggestion(series.name, "values under nothing but *: name groups of your own", {SUPPRESSED: words})


def suggest_column(table: NamedColumns, name: str, schema: Schema) -> Suggestion:
    """Return a hierarchy for a column of a table; the schema may tell its type, missing marks and order.

    >>> from sfumato.table import Table
    >>> suggest_column(Table(pl.DataFrame({"sex": ["F", "M"]})), "sex", Schema()).hierarchy.leaves
    ('F', 'M')
    """
    known = schema.columns.get(name)
    if known is None:
        return suggest(table.column(name))
    column = table.column(name)
    return suggest(column, known.kind, missing=known.missing, categories=known.categories, written=known.written)


def _suggestion(name: str, why: str, content: dict[str, object], *, public: bool = False) -> Suggestion:
    marked: dict[str, object] = content if public else {PUBLIC: False, **content}
    lines = [f"# {_plain(name)}: {why}", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in marked.items())]
    try:
        return Suggestion(hierarchy_from_mapping(marked), "\n".join(lines) + "\n")
    except SchemaError as error:
        raise InputError(f"column '{name}': {error}") from None


def _are_codes(name: str, words: list[str], kind: Kind) -> bool:
    """Whether the values are postal codes or look like it: equally long, three or more, with a digit in each."""
    alike = len({len(word) for word in words}) == 1 and len(words[0]) >= 3
    postal = POSTAL_WORDS.search(name) is not None
    with_digits = kind is Kind.CATEGORY and all(any(letter.isdigit() for letter in word) for word in words)
    return alike and (postal or with_digits)


def _prefixes(words: list[str]) -> tuple[str, dict[str, object]]:
    """Return the lengths at which fewer prefixes remain, down to the last one that still tells any apart."""
    counts = {length: len({word[:length] for word in words}) for length in range(len(words[0]), 0, -1)}
    lengths = [length for length in list(counts)[1:] if 1 < counts[length] < counts[length + 1]]
    return "codes under ever shorter prefixes", {"builder": "prefixes", "values": words, "lengths": lengths}


def scale_rule(present: pl.Series, kind: Kind, written: Written = PLAIN) -> dict[str, object]:
    """Return the rule that fits numbers, dates or times, as a hierarchy's file has it.

    >>> scale_rule(pl.Series("age", [16, 94]), Kind.INTEGER)
    {'builder': 'intervals', 'low': 16, 'high': 94, 'widths': [5, 10, 20, 40]}
    """
    return _scale(present, kind, written)[1]


def _scale(present: pl.Series, kind: Kind, written: Written) -> tuple[str, dict[str, object]]:
    nowhere = pl.Series([False]).new_from_index(0, len(present))
    numbers = sorted(set(parse(present, kind, nowhere, written).tolist()))
    if kind is Kind.TIMESTAMP:
        first, last = (wall_time(time).date() for time in (numbers[0], numbers[-1]))
        steps = ["hour", "day", "month", "quarter", "year"]
        steps = steps if (last - first).days <= HOURLY else steps[1:]
        return "times under the calendar", {"builder": "dates", "first": first, "last": last, "steps": steps}
    if kind is Kind.DATE:
        first, last = (dt.date.fromordinal(int(day) + EPOCH) for day in (numbers[0], numbers[-1]))
        steps = ["month", "quarter", "year", "decade"]
        return "days under the calendar", {"builder": "dates", "first": first, "last": last, "steps": steps}
    marks = written.numbers() if present.dtype == pl.String else None
    texts = (present.cast(pl.String) if marks is None else marks.texts(present)).unique().to_list()
    scale: dict[str, object] = {"values": sorted(texts, key=lambda text: (float(text), text))}
    if kind is Kind.INTEGER:
        many = numbers[-1] - numbers[0] >= MOST_VALUES  # then only the numbers that occur
        scale = {"values": numbers} if many else {"low": numbers[0], "high": numbers[-1]}
    widths: list[object] = list(growing_widths(numbers[0], numbers[-1]))
    return "numbers under intervals of growing width", {"builder": "intervals", **scale, "widths": widths}
