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
from typing import Protocol

import numpy as np
import polars as pl

from sfumato.core.display import as_html, listed, one_line
from sfumato.errors import InputError, SchemaError, suggestion
from sfumato.schema.attribute import Attribute, Bound
from sfumato.schema.kinds import Kind, Weights, detect, is_missing, parse
from sfumato.schema.reading import Reading
from sfumato.schema.roles import Role, guess_role

OTHER = ("refuse", "keep", "drop")
TOP = ("columns", "person", "other", "reading")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
EPOCH = dt.date(1970, 1, 1).toordinal()


class NamedColumns(Protocol):
    """What a schema needs of a table: its columns by name. A table knows schemas, a schema knows no table."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""

    def column(self, name: str) -> pl.Series:
        """Return one column."""


@dataclass(frozen=True)
class Schema:
    """Declared columns, the column that names a person (if rows share one), and what to do with the rest.

    >>> schema = Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
    >>> schema.names(Role.QUASI)
    ('age', 'zip')
    """

    columns: Mapping[str, Attribute] = field(default_factory=dict)
    person: str | None = None
    other: str = "refuse"
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        if self.other not in OTHER:
            raise SchemaError(f"other must be one of {', '.join(OTHER)}; found '{self.other}'")
        if self.person is not None and self.person in self.columns:
            role = self.columns[self.person].role
            if role is not Role.IDENTIFIER:
                raise SchemaError(f"column '{self.person}' names the person, so its role is identifier; found {role}")

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
        return cls(columns, person, other)

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
            raise SchemaError(f"schema '{path}' cannot be read: {error}") from error
        return cls.from_text(text, path)

    @classmethod
    def from_text(cls, text: str, path: str | Path = "schema.toml") -> Schema:
        r"""Return the schema in TOML text; `path` is where it comes from, for errors and for hierarchy files beside it.

        >>> Schema.from_text('[columns.age]\nrole = "quasi"\n').names(Role.QUASI)
        ('age',)
        """
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"schema '{path}' is not valid TOML: {error}") from error
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
        return cls(columns, person, content.get("other", "refuse"), _reading(content.get("reading", {}), path))

    @classmethod
    def infer(cls, table: NamedColumns) -> Schema:
        """Return guessed roles, types and limits, marked as not public: a proposal for a person to correct.

        >>> import polars as pl
        >>> from sfumato.table import Table
        >>> guess = Schema.infer(Table(pl.DataFrame({"age": [31, 47], "disease": ["flu", "flu"]})))
        >>> guess.columns["age"].bounds, guess.columns["age"].public, guess.columns["disease"].role.value
        ((31, 47), False, 'sensitive')
        """
        return cls({name: _infer_attribute(name, table) for name in table.names})

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
            lines += [f"{key} = {toml_value(value)}" for key, value in attribute.to_mapping().items()]
        return "\n".join(lines) + "\n"

    def _top(self) -> dict[str, str]:
        top = {} if self.person is None else {"person": self.person}
        return top if self.other == "refuse" else {**top, "other": self.other}

    def names(self, role: Role) -> tuple[str, ...]:
        """The columns that play `role`, in declared order."""
        return tuple(name for name, attribute in self.columns.items() if attribute.role is role)

    def updated(self, later: Schema) -> Schema:
        """Return this schema with the roles, person and policy of `later` laid over it.

        >>> base = Schema.from_roles(quasi=["age"])
        >>> base.updated(Schema.from_roles(sensitive=["age"])).names(Role.SENSITIVE)
        ('age',)
        """
        columns = dict(self.columns)
        for name, attribute in later.columns.items():
            columns[name] = replace(columns[name], role=attribute.role) if name in columns else attribute
        person = later.person if later.person is not None else self.person
        other = self.other if later.other == "refuse" else later.other
        return Schema(columns, person, other, self.reading if later.reading == Reading() else later.reading)

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
            table.column(name)
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


def _reading(entry: object, path: str | Path) -> Reading:
    if not isinstance(entry, dict):
        raise SchemaError(f"schema '{path}': reading must be a table [reading]; found {entry!r}")
    return Reading.from_mapping(entry)


def _with_kind(attribute: Attribute, table: NamedColumns, weights: Weights | None) -> Attribute:
    if attribute.kind is not None or attribute.role in (Role.IDENTIFIER, Role.OTHER):
        return attribute
    if attribute.categories is not None or attribute.hierarchy is not None:
        return replace(attribute, kind=Kind.CATEGORY)
    return replace(attribute, kind=detect(table.column(attribute.name), attribute.missing, weights))


def _infer_attribute(name: str, table: NamedColumns) -> Attribute:
    series = table.column(name)
    marks = ("", "?") if series.dtype == pl.String and (series == "?").any() else ("",)
    kind, bounds = detect(series, marks), None
    missing = is_missing(series, marks)
    if kind.numeric and not missing.all():
        try:
            numbers = parse(series, kind, missing)[~missing.to_numpy()]
            bounds = (_limit(numbers.min(), kind), _limit(numbers.max(), kind))
        except InputError:  # numbers and texts mixed: a category until a person says otherwise
            kind = Kind.CATEGORY
    return Attribute(name, guess_role(name, series), kind, bounds=bounds, missing=marks, public=False)


def _limit(value: np.generic, kind: Kind) -> Bound:
    if kind is Kind.DATE:
        return dt.date.fromordinal(int(value) + EPOCH)
    return int(value) if kind is Kind.INTEGER else float(value)


def toml_key(name: str) -> str:
    """Return a name as a TOML key, quoted where it must be.

    >>> toml_key("age"), toml_key("marital status")
    ('age', '"marital status"')
    """
    return name if BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """Return a text, number, date, truth value or list as TOML.

    >>> toml_value(["", 1.5, True])
    '["", 1.5, true]'
    """
    if isinstance(value, list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float) and math.isinf(value):
        return f"{value}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML wants DEL escaped, JSON does not
