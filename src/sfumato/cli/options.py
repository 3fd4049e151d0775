"""Options that several commands share: which part columns play, and how options are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, Token

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.schema import Schema


def _whole(_hint: object, tokens: Sequence[Token]) -> int:
    """Return an integer that was written as one; cyclopts alone would round 2.5 to 2."""
    return int(tokens[0].value)


def as_place(_hint: object, tokens: Sequence[Token]) -> Path | str:
    """Return a file, or the address of a database or a broker as it was written."""
    text = tokens[0].value
    return text if "://" in text else Path(text)


MOST_TRIALS, MOST_RUNS = 10**9, 10**7  # of a step in bulk, of one by one
Whole = Annotated[int | None, Parameter(converter=_whole)]
Columns = Annotated[tuple[str, ...], Parameter(negative=(), metavar="COLUMNS", show_default=False)]
FormulaChoice = Literal["neutralise", "keep"]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
Input = Annotated[Path, Parameter(name="IN", allow_leading_hyphen=True)]
LedgerName = Annotated[Path | str, Parameter(name="LEDGER", converter=as_place)]
LedgerOption = Annotated[Path | str | None, Parameter(converter=as_place, metavar="LEDGER")]
TableInput = Annotated[Path | str, Parameter(name="IN", converter=as_place, allow_leading_hyphen=True)]


def bounded(given: int | None, option: str, most: int = MOST_TRIALS) -> int:
    """Return a count that somebody asked for, 0 if none; one with which a command would not end is refused.

    >>> bounded(3 * 10**9, "--trials")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: --trials 3000000000 would not end; give at most 1000000000
    """
    if given is not None and given > most:
        raise ParameterError(f"{option} {given} would not end; give at most {most}")
    return given or 0


def names(given: Sequence[str]) -> list[str]:
    """Return the column names in comma-separated lists.

    >>> names(["age,sex", "zip"])
    ['age', 'sex', 'zip']
    """
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


@Parameter(name="*", group="Columns")
@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """Which part columns play.

    Attributes:
        quasi: Columns an attacker may know, separated by commas.
        sensitive: Confidential columns, which the release keeps.
        identifier: Columns that name a person, which the release drops.
        person: Column that tells persons apart when one can have several rows.
        other: What to do with columns that have no role; without it they are refused.
        schema: TOML file with roles, types, bounds, categories and hierarchies.
        hierarchy: Hierarchy of a column, as in age=age.csv or zip=zip.toml; may be repeated.
        coarsen: Rule for a sensitive or other column, as in cost=round:100,top:10000, cost=bands:0,500,1000,
            cost=microaggregate:10 or visited=period:month; may be repeated.
        accept_unique: Columns to release as they are although their values single people out; the card warns of them.
    """

    quasi: Columns = ()
    sensitive: Columns = ()
    identifier: Columns = ()
    person: str | None = None
    other: Literal["keep", "drop"] | None = None
    schema: Path | None = None
    hierarchy: Annotated[tuple[str, ...], Parameter(negative=(), metavar="COLUMN=FILE", show_default=False)] = ()
    coarsen: Annotated[tuple[str, ...], Parameter(negative=(), metavar="COLUMN=RULE", show_default=False)] = ()
    accept_unique: Columns = ()

    def build(self) -> Schema:
        """Return the schema file, if any, with the roles and hierarchies named on the command line laid over it."""
        from sfumato.schema import Schema

        named = Schema.from_roles(
            quasi=names(self.quasi),
            sensitive=names(self.sensitive),
            identifier=names(self.identifier),
            person=self.person,
            other=self.other or "refuse",
        )
        schema = named if self.schema is None else Schema.from_toml(self.schema).updated(named)
        for entry in self.hierarchy:
            schema = _with_hierarchy(schema, entry)
        for entry in self.coarsen:
            schema = _with_rule(schema, entry)
        return schema.accepting(names(self.accept_unique))

    def files(self, schema: Schema) -> list[Path]:
        """Return the files that the schema was built from: its own and those of its hierarchies.

        >>> from sfumato.schema import Schema
        >>> RoleOptions(schema=Path("people.toml")).files(Schema())
        [PosixPath('people.toml')]
        """
        home = Path() if self.schema is None else self.schema.parent
        named = [Path(column.hierarchy_file) for column in schema.columns.values() if column.hierarchy_file]
        own = [] if self.schema is None else [self.schema]
        return [*own, *named, *(home / file for file in named)]


def _with_hierarchy(schema: Schema, entry: str) -> Schema:
    from sfumato.errors import suggestion
    from sfumato.hierarchy.file import read_hierarchy
    from sfumato.schema import Kind

    name, equals, file = entry.partition("=")
    if not equals:
        raise ParameterError(f"hierarchy '{entry}' is not of the form age=age.csv")
    if name not in schema.columns:
        near = suggestion(name, schema.columns)
        raise ParameterError(f"hierarchy '{entry}': column '{name}' has no role{near}")
    plain = replace(schema.columns[name], kind=Kind.CATEGORY, bounds=None, categories=None)
    column = replace(plain, hierarchy=read_hierarchy(file), hierarchy_file=file)
    return replace(schema, columns={**schema.columns, name: column})


def _with_rule(schema: Schema, entry: str) -> Schema:
    from sfumato.schema import Coarsening

    name, equals, rule = entry.partition("=")
    if not equals:
        raise ParameterError(f"coarsening '{entry}' is not of the form cost=round:100")
    return schema.with_coarsening(name, Coarsening.parse(name, rule))
