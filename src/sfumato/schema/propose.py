"""A schema file to start from: guessed roles, types and limits, with comments that say what to check."""

from __future__ import annotations

from sfumato.schema.attribute import Attribute
from sfumato.schema.roles import Role
from sfumato.schema.schema import NamedColumns, Schema, toml_key, toml_value

OPENING = """\
# Proposed schema: roles are guesses from names, types and limits are read from the rows. Correct them.
#   role = "identifier" | "quasi" | "sensitive" | "other"
#          dropped        generalised  protected   passed on unchanged
#   type = "integer" | "number" | "date" | "category" | "ordinal" (needs categories = [...] in order) | "text"
#   bounds = [low, high], categories = [...], hierarchy = "file.csv", missing = ["", "?"]
# `public = false` marks limits that were inferred from the rows. Replace them by limits that everybody
# may know (an age lies between 0 and 120) and delete the line; differential privacy refuses inferred ones.
# person = "column"   # if one person can have several rows, name the column that tells them apart
"""
WHY = {
    Role.IDENTIFIER: "looks like it names a person: dropped",
    Role.QUASI: "an attacker may know it: generalised",
    Role.SENSITIVE: "looks confidential: kept; ask for l-diversity or t-closeness to protect it",
    Role.OTHER: "passed on unchanged: make sure nobody can link it to a person",
}


def propose(table: NamedColumns) -> str:
    """Return the text of a proposed schema file for `table`.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> print(propose(Table(pl.DataFrame({"age": [31, 47]}))).partition("[columns")[2])
    .age]
    role = "quasi"  # an attacker may know it: generalised
    type = "integer"
    bounds = [31, 47]  # inferred from the rows
    public = false
    <BLANKLINE>
    """
    return OPENING + "".join(_section(table, attribute) for attribute in Schema.infer(table).columns.values())


def _section(table: NamedColumns, attribute: Attribute) -> str:
    comments = {"role": WHY[attribute.role], "bounds": "inferred from the rows"}
    lines = ["", f"[columns.{toml_key(attribute.name)}]"]
    for key, value in attribute.to_mapping().items():
        comment = f"  # {comments[key]}" if key in comments else ""
        lines.append(f"{key} = {toml_value(value)}{comment}")
    if attribute.kind is not None and not attribute.kind.numeric:
        count = table.column(attribute.name).n_unique()
        lines.append(f"# {count} different values")
    return "\n".join(lines) + "\n"
