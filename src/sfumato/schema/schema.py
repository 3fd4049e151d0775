"""What is known about a table before its rows are looked at: every column's role, type and limits.

Declared limits are public by construction, which is what differential privacy needs (Dwork & Roth
2014); a schema inferred from rows marks its limits as not public.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from sfumato.core.display import as_html, listed, one_line
from sfumato.errors import InputError, SchemaError, reason, suggestion
from sfumato.schema.attribute import Attribute, Bound
from sfumato.schema.coarsening import Coarsening
from sfumato.schema.detection import detected
from sfumato.schema.file_defaults import of_kind, with_file_defaults, without_file_defaults
from sfumato.schema.kinds import Kind, Weights, is_missing, parse
from sfumato.schema.missing_marks import marks_in
from sfumato.schema.reading import Reading
from sfumato.schema.roles import Role
from sfumato.schema.times import wall_time

if TYPE_CHECKING:
    from sfumato.schema.guess import Guess

OTHER = ("refuse", "keep", "drop")
TOP = ("columns", "person", "other", "failed", "reading")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
EPOCH = dt.date(1970, 1, 1).toordinal()


class NamedColumns(Protocol):
    """What a schema needs of a table: its columns by name. A table knows schemas, a schema knows no table."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""

    def column(self, name: str) -> pl.Series:
        """Return one column."""

    def counted(self, name: str) -> tuple[pl.Series, Weights | None]:
        """Return the different cells of a column and how often each occurs, or all cells and None."""


@dataclass(frozen=True)
class Schema:
    """Declared columns, the column that names a person (if rows share one), and what to do with the rest.

    `failed` is the share of a column's filled cells that may be no value of its type; 1 % where nothing is said.

    >>> schema = Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
    >>> schema.names(Role.QUASI)
    ('age', 'zip')
    """

    columns: Mapping[str, Attribute] = field(default_factory=dict)
    person: str | None = None
    other: str = "refuse"
    reading: Reading = field(default_factory=Reading)
    failed: float | None = None  # the share of a column's filled cells that may be no value of its type

    def __post_init__(self) -> None:
        if self.failed is not None and not _is_share(self.failed):
            raise SchemaError(f"failed must be a share between 0 and 1; found {self.failed!r}")
        if self.other not in OTHER:
            raise SchemaError(f"other must be one of {', '.join(OTHER)}; found '{self.other}'")
        if self.person is not None and self.person in self.columns:
            role = self.columns[self.person].role
            if role is not Role.IDENTIFIER:
                raise SchemaError(f"column '{self.person}' names the person, so its role is identifier; found {role}")
        as_read = {name: with_file_defaults(attribute, self.reading) for name, attribute in self.columns.items()}
        object.__setattr__(self, "columns", as_read)

    def _facts(self) -> dict[str, object]:
        named = {str(role): listed(self.names(role)) for role in Role if self.names(role)}
        person = {} if self.person is None else {"person": self.person}
        rest = {"refuse": "refused", "keep": "kept", "drop": "dropped"}[self.other]
        return {**named, **person, "columns without a role": rest}

    def __repr__(self) -> str:
        return one_line("Schema", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Schema", self._facts())

    @classmethod
    def from_roles(
        cls,
        *,
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        identifier: Iterable[str] = (),
        other: str = "refuse",
        person: str | None = None,
        accept_unique: Iterable[str] = (),
    ) -> Schema:
        """Return a schema that only names roles; types are detected when it meets a table.

        >>> Schema.from_roles(quasi=["age"], sensitive=["age"])
        Traceback (most recent call last):
        sfumato.errors.SchemaError: column 'age' has two roles, quasi and sensitive; give it one
        """
        columns: dict[str, Attribute] = {}
        named = ((Role.QUASI, quasi), (Role.SENSITIVE, sensitive), (Role.IDENTIFIER, identifier))
        for role, names in named:
            for name in names:
                if name in columns and columns[name].role is not role:
                    raise SchemaError(f"column '{name}' has two roles, {columns[name].role} and {role}; give it one")
                columns[name] = Attribute(name, role, public=False)
        if person is not None and person not in columns:
            columns[person] = Attribute(person, Role.IDENTIFIER, public=False)
        return cls(columns, person, other).accepting(accept_unique)

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        r"""Return the schema in a TOML file; unknown keys are refused, hierarchy files lie beside it.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "patients.toml"
        >>> _ = file.write_text('[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [16, 94]\n')
        >>> Schema.from_toml(file).columns["age"].bounds
        (16, 94)
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError(f"schema '{path}' cannot be read: {reason(error)}") from error
        return cls.from_text(text, path)

    @classmethod
    def from_text(cls, text: str, path: str | Path = "schema.toml") -> Schema:
        r"""Return the schema in TOML text; `path` is where it comes from, for errors and for hierarchy files beside it.

        >>> Schema.from_text('[columns.age]\nrole = "quasi"\n').names(Role.QUASI)
        ('age',)
        """
        try:
            content = tomllib.loads(text)
        except ValueError as error:  # also of a number with thousands of digits
            raise SchemaError(f"schema '{path}' is not valid TOML: {error}") from error
        except RecursionError:
            raise SchemaError(f"schema '{path}' is nested too deeply; a schema needs three levels") from None
        for key in content:
            if key not in TOP:
                raise SchemaError(f"schema '{path}': unknown key '{key}'{suggestion(key, TOP)}")
        entries = content.get("columns", {})
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise SchemaError(f"schema '{path}': columns must be tables like [columns.age]")
        folder = Path(path).parent
        columns = {name: Attribute.from_mapping(name, entry, folder) for name, entry in entries.items()}
        person = content.get("person")
        if person is not None and not isinstance(person, str):
            raise SchemaError(f"schema '{path}': person must be the name of a column; found {person!r}")
        if person is not None and person not in columns:
            columns[person] = Attribute(person, Role.IDENTIFIER)
        reading = _reading(content.get("reading", {}), path)
        return cls(columns, person, content.get("other", "refuse"), reading, content.get("failed"))

    @classmethod
    def infer(cls, table: NamedColumns) -> Schema:
        """Return guessed roles, types and limits, marked as not public: a proposal for a person to correct.

        >>> import polars as pl
        >>> from sfumato.table import Table
        >>> guess = Schema.infer(Table(pl.DataFrame({"age": [31, 47], "disease": ["flu", "flu"]})))
        >>> guess.columns["age"].bounds, guess.columns["age"].public, guess.columns["disease"].role.value
        ((31, 47), False, 'sensitive')
        """
        return cls({name: one.attribute for name, one in infer_columns(table).items()})

    def to_toml(self) -> str:
        """Return the schema as TOML text that `from_toml` reads back.

        >>> print(Schema.from_roles(quasi=["age"]).to_toml())
        [columns.age]
        role = "quasi"
        public = false
        <BLANKLINE>
        """
        lines = [f"{key} = {toml_value(value)}" for key, value in self._top().items()]
        pinned = [f"{key} = {toml_value(value)}" for key, value in self.reading.to_mapping().items()]
        if pinned:
            lines += [*([""] if lines else []), "[reading]", *pinned]
        for name, attribute in self.columns.items():
            lines += ["", f"[columns.{toml_key(name)}]"] if lines else [f"[columns.{toml_key(name)}]"]
            alone = without_file_defaults(attribute, self.reading).to_mapping()
            lines += [f"{key} = {toml_value(value)}" for key, value in alone.items()]
        return "\n".join(lines) + "\n"

    def _top(self) -> dict[str, object]:
        top: dict[str, object] = {} if self.person is None else {"person": self.person}
        top |= {} if self.other == "refuse" else {"other": self.other}
        return top if self.failed is None else {**top, "failed": self.failed}

    def names(self, role: Role) -> tuple[str, ...]:
        """The columns that play `role`, in declared order."""
        return tuple(name for name, attribute in self.columns.items() if attribute.role is role)

    def updated(self, later: Schema) -> Schema:
        """Return this schema with the roles, person and policy of `later` laid over it.

        A column that is no longer released as it is loses its rule of coarsening.

        >>> base = Schema.from_roles(quasi=["age"])
        >>> base.updated(Schema.from_roles(sensitive=["age"])).names(Role.SENSITIVE)
        ('age',)
        """
        columns = dict(self.columns)
        for name, attribute in later.columns.items():
            columns[name] = _in_role(columns[name], attribute.role) if name in columns else attribute
        person = later.person if later.person is not None else self.person
        other = self.other if later.other == "refuse" else later.other
        failed = self.failed if later.failed is None else later.failed
        return Schema(columns, person, other, self.reading, failed).read_as(later.reading)

    def read_as(self, reading: Reading) -> Schema:
        """Return the schema for a file that is written so; what `reading` leaves open is as it was pinned here.

        >>> Schema.from_roles(quasi=["age"]).read_as(Reading(missing=("NA",))).columns["age"].missing
        ('NA', '')
        """
        columns = {name: without_file_defaults(attribute, self.reading) for name, attribute in self.columns.items()}
        return replace(self, columns=columns, reading=reading.or_else(self.reading))

    def with_coarsening(self, name: str, rule: Coarsening) -> Schema:
        """Return this schema with a rule for a column; one without a role is declared if the rest is kept.

        >>> Schema.from_roles(sensitive=["cost"]).with_coarsening("cost", Coarsening(round=100)).columns["cost"].coarsen
        Coarsening(round=100, bands=None, microaggregate=None, top=None, bottom=None, period=None)
        """
        return replace(self, columns={**self.columns, name: replace(self._kept(name), coarsen=rule)})

    def accepting(self, names: Iterable[str]) -> Schema:
        """Return this schema with columns accepted that single people out; one without a role must be kept.

        >>> Schema(other="keep").accepting(["mrn"]).columns["mrn"].accept_unique
        True
        """
        accepted = {name: replace(self._kept(name), accept_unique=True) for name in names}
        return replace(self, columns={**self.columns, **accepted})

    def _kept(self, name: str) -> Attribute:
        """Return a declared column, or one that is kept because the rest is."""
        if name in self.columns:
            return self.columns[name]
        if self.other != "keep":
            raise SchemaError(f"column '{name}' has no role{suggestion(name, self.columns)}; declare one")
        return Attribute(name, Role.OTHER, public=False)

    def settled(self, table: NamedColumns, weights: Weights | None = None) -> Schema:
        """Return the schema of exactly the columns of `table` that it may use, each with role and type.

        Where rows were counted before, `weights` says how often each occurs.

        >>> import polars as pl
        >>> from sfumato.table import Table
        >>> people = Table(pl.DataFrame({"age": [31], "job": ["cook"]}))
        >>> Schema.from_roles(quasi=["age"]).settled(people)
        Traceback (most recent call last):
        sfumato.errors.SchemaError: column 'job' has no role; declare one, or say what to do with the rest \
(--other keep or --other drop)
        """
        for name in self.columns:
            if name not in table.names:
                table.column(name)  # says which name was probably meant
        columns = {}
        for name in table.names:
            attribute = self.columns.get(name)
            if attribute is None and self.other == "drop":
                continue
            if attribute is None and self.other == "keep":
                attribute = Attribute(name, Role.OTHER, public=False)
            if attribute is None:
                raise SchemaError(
                    f"column '{name}' has no role; declare one, or say what to do with the rest "
                    "(--other keep or --other drop)"
                )
            columns[name] = _with_kind(attribute, table, weights)
        return replace(self, columns=columns)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _reading(entry: object, path: str | Path) -> Reading:
    if not isinstance(entry, dict):
        raise SchemaError(f"schema '{path}': reading must be a table [reading]; found {entry!r}")
    return Reading.from_mapping(entry)


def _in_role(attribute: Attribute, role: Role) -> Attribute:
    """Return a column in another role; one that is not released as it is has no rule of coarsening."""
    rule = attribute.coarsen if role in (Role.SENSITIVE, Role.OTHER) else None
    if role is not Role.QUASI:
        attribute = replace(attribute, min_level=None, max_level=None, weight=None)
    return replace(attribute, role=role, coarsen=rule)


def _with_kind(attribute: Attribute, table: NamedColumns, weights: Weights | None) -> Attribute:
    unread = attribute.role in (Role.IDENTIFIER, Role.OTHER) and attribute.coarsen is None
    if attribute.kind is not None or unread:
        return attribute
    if attribute.categories is not None or attribute.hierarchy is not None:
        return of_kind(attribute, Kind.CATEGORY)
    cells, times = table.counted(attribute.name) if weights is None else (table.column(attribute.name), weights)
    found = detected(attribute, cells, times)
    return found if found.kind is None else of_kind(found, found.kind)


@dataclass(frozen=True)
class InferredColumn:
    """A guessed declaration of a column, and the reason for its role."""

    attribute: Attribute
    guess: Guess


def infer_columns(table: NamedColumns) -> dict[str, InferredColumn]:
    """Return a guessed declaration for each column, with the reason for its role.

    >>> import polars as pl
    >>> from sfumato.table import Table
    >>> infer_columns(Table(pl.DataFrame({"Alter": [31, 47]})))["Alter"].guess.reason
    'the name says age (alter); alone it singles out 100 % of rows'
    """
    from sfumato.schema.guess import guess_roles

    plain = {name: _infer_type(name, table) for name in table.names}
    guesses = guess_roles({name: (table.column(name), one) for name, one in plain.items()})
    return {
        name: InferredColumn(replace(one, role=guesses[name].role, coarsen=guesses[name].coarsen), guesses[name])
        for name, one in plain.items()
    }


def _infer_type(name: str, table: NamedColumns) -> Attribute:
    series = table.column(name)
    marks = ("", *marks_in(series))
    found = detected(Attribute(name, Role.OTHER, missing=marks, public=False), series)
    missing = is_missing(series, marks)
    if found.kind is None or not found.kind.numeric or missing.all():
        return found
    try:
        numbers = parse(series, found.kind, missing, found.written)[~missing.to_numpy()]
    except InputError:  # numbers and texts mixed: a category until a person says otherwise
        return Attribute(name, found.role, Kind.CATEGORY, missing=marks, public=False)
    return replace(found, bounds=(_limit(numbers.min(), found.kind), _limit(numbers.max(), found.kind)))


def _limit(value: np.generic, kind: Kind) -> Bound:
    if kind is Kind.DATE:
        return dt.date.fromordinal(int(value) + EPOCH)
    if kind is Kind.TIMESTAMP:
        return wall_time(int(value))
    return int(value) if kind is Kind.INTEGER else float(value)


def toml_key(name: str) -> str:
    """Return a name as a TOML key, quoted where it must be.

    >>> toml_key("age"), toml_key("marital status")
    ('age', '"marital status"')
    """
    return name if BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """Return a text, number, date, truth value, list or inline table as TOML.

    >>> toml_value(["", 1.5, True]), toml_value({"round": 100})
    ('["", 1.5, true]', '{round = 100}')
    """
    if isinstance(value, dict):
        return f"{{{', '.join(f'{toml_key(key)} = {toml_value(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float) and math.isinf(value):
        return f"{value}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML wants DEL escaped, JSON does not
