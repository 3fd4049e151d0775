"""One column as declared: its role, its type and everything public about its values.

Declared bounds and categories are what a differentially private step may use (Dwork & Roth 2014,
section 3); inferred ones are marked as not public.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sfumato.errors import SchemaError, suggestion
from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy.file import read_hierarchy
from sfumato.schema.coarsening import Coarsening
from sfumato.schema.kinds import Kind
from sfumato.schema.roles import Role
from sfumato.schema.times import LAST, on_wall, read_time
from sfumato.schema.written import Written

Bound = int | float | dt.date
Word = TypeVar("Word", Role, Kind)
WRITTEN = ("decimal", "thousands", "format", "zone")
BOUND_TYPES = {Kind.DATE: dt.date, Kind.TIMESTAMP: dt.datetime}
RELEASED = ("coarsen", "accept_unique")
LEVELS = ("min_level", "max_level", "weight")
LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000
MISSING = ("missing", "missing_is_value")
KEYS = ("role", "type", "bounds", "categories", "hierarchy", *MISSING, "public", *WRITTEN, *RELEASED, *LEVELS)


@dataclass(frozen=True)
class Attribute:
    """A declared column; `kind=None` lets the type be detected, `public=False` marks inferred limits.

    >>> Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(16, 94)).public
    True
    """

    name: str
    role: Role
    kind: Kind | None = None
    bounds: tuple[Bound, Bound] | None = None
    categories: tuple[str, ...] | None = None
    hierarchy: Hierarchy | None = None
    missing: tuple[str, ...] = ("",)
    public: bool = True
    hierarchy_file: str | None = None
    decimal: str | None = None  # how numbers are written: the mark before decimals, and between thousands
    thousands: str | None = None
    format: str | None = None  # how dates and times are written, as strptime has it
    zone: str | None = None  # the time zone whose days and hours count
    coarsen: Coarsening | None = None  # how values are made coarser before a table is released
    coarsened: Coarsening | None = None  # the rule that the values at hand went through already; not in a file
    accept_unique: bool = False  # released although its values single rows out
    missing_is_value: bool = False  # whether a missing sensitive value counts as a value, as for diversity
    min_level: int | None = None  # the lowest and highest level of generalisation that may be released
    max_level: int | None = None
    weight: float | None = None  # how much the column's loss counts beside that of others; 1 unless declared

    def __post_init__(self) -> None:
        if self.kind is Kind.TIMESTAMP and self.bounds is not None:
            low, high = (_wall_limit(limit, self.zone, at_end=end) for end, limit in enumerate(self.bounds))
            object.__setattr__(self, "bounds", (low, high))
        wrong = self._contradiction()
        if wrong:
            raise SchemaError(f"column '{self.name}': {wrong}")

    @property
    def written(self) -> Written:
        """How the cells are written: marks of numbers, format and zone of times.

        >>> Attribute("wage", Role.OTHER, Kind.NUMBER, decimal=",").written.decimal
        ','
        """
        return Written(self.decimal, self.thousands, self.format, self.zone)

    def _contradiction(self) -> str | None:
        bounds = None if self.bounds is None else self._contradicting_bounds(self.bounds)
        if bounds is not None:
            return bounds
        written = self.written.problem()
        if written is not None:
            return written
        if self.kind is Kind.ORDINAL and self.categories is None:
            return "type ordinal needs categories = [...] in their order"
        wrong = None if self.categories is None else self._contradicting_categories(self.categories)
        return wrong or self._contradicting_rule() or self._contradicting_levels()

    def _contradicting_bounds(self, bounds: tuple[Bound, Bound]) -> str | None:
        if self.kind is None or not self.kind.numeric:
            return f"bounds need type integer, number, date or timestamp; found {self.kind or 'no type'}"
        if {_bound_type(limit) for limit in bounds} != {BOUND_TYPES.get(self.kind, float)}:
            return f"bounds {_listed(bounds)} do not fit type {self.kind}"
        if bounds[0] > bounds[1]:  # type: ignore[operator]  # both are dates or both numbers
            return f"bounds must be [low, high]; found {_listed(bounds)}"
        if self.kind is Kind.INTEGER and not all(_fits_64_bits(limit) for limit in bounds):
            return f"bounds of integers must fit 64 bits; found {_listed(bounds)}"
        return None

    def _contradicting_rule(self) -> str | None:
        if self.missing_is_value and self.role is not Role.SENSITIVE:
            return f"missing_is_value is for sensitive columns; found {self.role}"
        if self.coarsen is None:
            return None
        if self.role not in {Role.SENSITIVE, Role.OTHER}:
            return f"coarsen is for sensitive and other columns; found {self.role}, which is generalised or dropped"
        return self.coarsen.misfit(self.kind)

    def _contradicting_levels(self) -> str | None:
        given = {key: value for key in LEVELS if (value := getattr(self, key)) is not None}
        if given and self.role is not Role.QUASI:
            return f"{next(iter(given))} is for quasi-identifiers; found {self.role}, which is not generalised"
        for key in ("min_level", "max_level"):
            level = given.get(key, 0)
            if not isinstance(level, int) or isinstance(level, bool) or level < 0:
                return f"{key} must be an integer of at least 0; found {level!r}"
        if self.min_level is not None and self.max_level is not None and self.min_level > self.max_level:
            return f"min_level must not be above max_level; found {self.min_level} and {self.max_level}"
        weight = given.get("weight", 1)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not in_weights(weight):
            return f"weight must be a number from {LEAST_WEIGHT} to {MOST_WEIGHT}; found {weight!r}"
        return None

    def _contradicting_categories(self, categories: tuple[str, ...]) -> str | None:
        if self.kind not in {Kind.CATEGORY, Kind.ORDINAL, None}:
            return f"categories need type category or ordinal; found {self.kind}"
        if len(set(categories)) != len(categories):
            return "a category stands twice; list each once"
        return "categories and a hierarchy both list the values; give one of them" if self.hierarchy else None

    @classmethod
    def from_mapping(cls, name: str, entry: Mapping[str, object], folder: Path) -> Attribute:
        """Return the attribute declared by one `[columns.NAME]` table of a schema file.

        >>> Attribute.from_mapping("sex", {"role": "quasi", "tpye": "text"}, Path())
        Traceback (most recent call last):
        sfumato.errors.SchemaError: column 'sex': unknown key 'tpye'; did you mean 'type'?
        """
        for key in entry:
            if key not in KEYS:
                raise SchemaError(f"column '{name}': unknown key '{key}'{suggestion(key, KEYS)}")
        if "role" not in entry:
            raise SchemaError(f"column '{name}' has no role; declare role = {_choices(Role)}")
        file = entry.get("hierarchy")
        if file is not None and not isinstance(file, str):
            raise SchemaError(f"column '{name}': hierarchy must be a file name; found {file!r}")
        written: dict[str, Any] = {key: _text(name, key, entry[key]) for key in WRITTEN if key in entry}
        written |= {key: entry[key] for key in LEVELS if key in entry}
        return cls(
            name,
            role=_word(name, "role", entry["role"], Role),
            kind=_word(name, "type", entry["type"], Kind) if "type" in entry else None,
            bounds=_bounds(name, entry["bounds"]) if "bounds" in entry else None,
            categories=_texts(name, "categories", entry["categories"]) if "categories" in entry else None,
            hierarchy=read_hierarchy(folder / file) if file is not None else None,
            missing=_texts(name, "missing", entry.get("missing", [""])),
            public=_flag(name, "public", entry.get("public", True)),
            hierarchy_file=file,
            coarsen=Coarsening.from_mapping(name, entry["coarsen"]) if "coarsen" in entry else None,
            accept_unique=_flag(name, "accept_unique", entry.get("accept_unique", False)),
            missing_is_value=_flag(name, "missing_is_value", entry.get("missing_is_value", False)),
            **written,
        )

    def to_mapping(self) -> dict[str, object]:
        """Return the entry that `from_mapping` reads back."""
        entry: dict[str, object] = {"role": str(self.role)}
        if self.kind is not None:
            entry["type"] = str(self.kind)
        if self.bounds is not None:
            entry["bounds"] = list(self.bounds)
        if self.categories is not None:
            entry["categories"] = list(self.categories)
        if self.hierarchy_file is not None:
            entry["hierarchy"] = self.hierarchy_file
        if self.missing != ("",):
            entry["missing"] = list(self.missing)
        entry |= {key: value for key in WRITTEN if (value := getattr(self, key)) is not None}
        if not self.public:
            entry["public"] = False
        if self.coarsen is not None:
            entry["coarsen"] = self.coarsen.to_mapping()
        if self.accept_unique:
            entry["accept_unique"] = True
        if self.missing_is_value:
            entry["missing_is_value"] = True
        return entry | {key: value for key in LEVELS if (value := getattr(self, key)) is not None}


def in_weights(weight: float) -> bool:
    """Return whether a number may be a column's weight; farther apart, the heaviest column alone would count.

    >>> in_weights(3), in_weights(0), in_weights(float("nan"))
    (True, False, False)
    """
    return LEAST_WEIGHT <= weight <= MOST_WEIGHT


def _choices(words: type[Role | Kind]) -> str:
    return " | ".join(f'"{word.value}"' for word in words)


def _word(name: str, key: str, value: object, words: type[Word]) -> Word:
    try:
        return words(str(value))
    except ValueError:
        raise SchemaError(f"column '{name}': {key} must be {_choices(words)}; found {value!r}") from None


def _bounds(name: str, value: object) -> tuple[Bound, Bound]:
    if isinstance(value, list) and len(value) == 2:
        low, high = (_bound(limit) for limit in value)
        if low is not None and high is not None and isinstance(low, dt.date) == isinstance(high, dt.date):
            return low, high
    raise SchemaError(f"column '{name}': bounds must be [low, high]; found {value!r}")


def _bound(value: object) -> Bound | None:
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            return _time(value)
    if isinstance(value, bool) or value != value:  # noqa: PLR0124  # NaN
        return None
    return value if isinstance(value, int | float | dt.date) else None


def _time(text: str) -> dt.datetime | None:
    """Return the time in a text, with its offset where it has one."""
    try:
        return dt.datetime.fromisoformat(text) if read_time(text) is not None else None
    except ValueError:
        return None


def _wall_limit(limit: Bound, zone: str | None, *, at_end: int) -> Bound:
    """Return a bound of a timestamp by the clock of its zone; of a day, its first or last microsecond."""
    if isinstance(limit, dt.datetime):
        return on_wall(limit, zone)
    return dt.datetime.combine(limit, LAST if at_end else dt.time()) if isinstance(limit, dt.date) else limit


def _bound_type(limit: Bound) -> type[Bound]:
    if isinstance(limit, dt.datetime):
        return dt.datetime
    return dt.date if isinstance(limit, dt.date) else float


def _fits_64_bits(limit: Bound) -> bool:
    return isinstance(limit, int | float) and -(2**63) <= limit < 2**63


def _listed(bounds: tuple[Bound, Bound]) -> str:
    return f"[{bounds[0]}, {bounds[1]}]"


def _text(name: str, key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise SchemaError(f"column '{name}': {key} must be a text; found {value!r}")


def _flag(name: str, key: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise SchemaError(f"column '{name}': {key} must be true or false; found {value!r}")


def _texts(name: str, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return tuple(str(item) for item in value)
    raise SchemaError(f"column '{name}': {key} must be a list of texts; found {value!r}")
