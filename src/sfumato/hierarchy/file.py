"""Hierarchies in files: level-per-column CSV, nested TOML, or a TOML rule that a builder turns into a tree.

The CSV form is ARX's (Prasser & Kohlmayer 2015). In nested TOML a table is a node and a list holds the
values below it; a file with the key `builder` names a rule of `hierarchy_builders` and its arguments.
"""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.core.calendar import MONTHS
from sfumato.errors import ParameterError, SchemaError, reason, suggestion
from sfumato.hierarchy import builders as build
from sfumato.hierarchy.limits import MOST_LEVELS, refuse_large
from sfumato.hierarchy.tree import Hierarchy

KEYS = {
    "intervals": ("low", "high", "values", "widths", "edges", "origin"),
    "prefixes": ("values", "lengths"),
    "dates": ("first", "last", "steps"),
    "ordered": ("values", "sizes"),
    "flat": ("values",),
}
PUBLIC = "public"  # `public = false` says that the values were taken from rows


def read_hierarchy(path: str | Path) -> Hierarchy:
    r"""Return the hierarchy in a file: TOML if its name ends so, otherwise level-per-column CSV.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "region.toml"
    >>> _ = file.write_text('[north]\ncoast = ["A", "B"]\n[south]\nhills = ["C"]\n')
    >>> read_hierarchy(file).paths
    (('A', 'coast', 'north'), ('B', 'coast', 'north'), ('C', 'hills', 'south'))
    >>> _ = file.write_text('builder = "intervals"\nlow = 0\nhigh = 99\nwidths = [10, 50]\n')
    >>> read_hierarchy(file).paths[42]
    ('42', '[40-49]', '[0-49]', '*')
    """
    if Path(path).suffix.casefold() != ".toml":
        return Hierarchy.from_csv(path)
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"hierarchy '{path}' cannot be read: {reason(error)}") from error
    except ValueError as error:  # also of a number with thousands of digits
        raise SchemaError(f"hierarchy '{path}' is not valid TOML: {error}") from error
    except RecursionError:
        raise SchemaError(f"hierarchy '{path}' is nested too deeply; give at most {MOST_LEVELS} levels") from None
    return hierarchy_from_mapping(content, f"hierarchy '{path}'")


def hierarchy_from_mapping(content: Mapping[str, Any], name: str = "hierarchy") -> Hierarchy:
    """Return the tree that a parsed TOML file describes, nested or by rule.

    >>> hierarchy_from_mapping({"lung": ["flu", "asthma"], "gut": ["ulcer"]}).label(0, 1)
    'lung'
    """
    if isinstance(content.get(PUBLIC), bool):
        rest = {key: value for key, value in content.items() if key != PUBLIC}
        return replace(hierarchy_from_mapping(rest, name), public=content[PUBLIC])
    if isinstance(content.get("builder"), str):
        return _build_by_rule(content, name)
    paths = list(_paths(content, (), name))
    longest = max(paths, key=len, default=())
    short = next((path for path in paths if len(path) < len(longest)), None)
    if short is not None:
        raise SchemaError(
            f"{name}: the value '{short[0]}' lies {len(short) - 1} deep and '{longest[0]}' {len(longest) - 1}; "
            "put every value equally deep"
        )
    return Hierarchy.from_rows(paths, name)


def _paths(node: Mapping[str, Any], above: tuple[str, ...], name: str) -> Iterator[tuple[str, ...]]:
    if len(above) > MOST_LEVELS:
        raise SchemaError(f"{name} is nested too deeply; give at most {MOST_LEVELS} levels")
    for label, below in node.items():
        if isinstance(below, dict) and below:
            yield from _paths(below, (label, *above), name)
        elif isinstance(below, list) and below:
            for value in below:
                if not isinstance(value, str | int | float | dt.date) or isinstance(value, bool):
                    raise SchemaError(
                        f"{name}: '{label}' holds {value!r}, which is not a value; write texts or numbers"
                    )
                yield (str(value), label, *above)
        else:
            raise SchemaError(f"{name}: '{label}' holds {below!r}; wanted a table of labels or a list of values")


def _build_by_rule(content: Mapping[str, Any], name: str) -> Hierarchy:
    rule = content["builder"]
    if rule not in KEYS:
        raise SchemaError(f"{name}: there is no builder '{rule}'{suggestion(rule, KEYS)}")
    for key in content:
        if key not in {"builder", *KEYS[rule]}:
            raise SchemaError(f"{name}: builder '{rule}' has no key '{key}'{suggestion(key, KEYS[rule])}")
    try:
        return BUILDERS[rule](content)
    except KeyError as error:
        raise SchemaError(f"{name}: builder '{rule}' needs the key {error}") from error
    except (TypeError, AttributeError, ValueError, ArithmeticError) as error:
        if isinstance(error, ParameterError):
            raise SchemaError(f"{name}: {error}") from error
        raise SchemaError(f"{name}: builder '{rule}' cannot use a value of the wrong kind: {error}") from error


def _intervals(content: Mapping[str, Any]) -> Hierarchy:
    edges = "edges" in content
    levels = len(content["edges" if edges else "widths"])
    if "values" in content:
        values = content["values"]
        refuse_large(len(values), levels)
    else:
        refuse_large(content["high"] - content["low"] + 1, levels)
        values = range(content["low"], content["high"] + 1)
    if edges:
        return build.custom_intervals(values, content["edges"])
    return build.intervals(values, content["widths"], content.get("origin", 0))


def _dates(content: Mapping[str, Any]) -> Hierarchy:
    first, last = (_day(content[key]).toordinal() for key in ("first", "last"))
    steps = content.get("steps", list(MONTHS))
    by_clock = bool({"hour", "day"} & {*steps[:1]})
    hours = range(24) if steps[:1] == ["hour"] else (0,)
    refuse_large((last - first + 1) * len(hours), len(steps))
    days = [dt.date.fromordinal(number) for number in range(first, last + 1)]
    if not by_clock:
        return build.dates(days, steps)
    return build.times([dt.datetime.combine(day, dt.time(hour)) for day in days for hour in hours], steps)


def _prefixes(content: Mapping[str, Any]) -> Hierarchy:
    refuse_large(len(content["values"]), len(content["lengths"]))
    return build.prefixes(content["values"], content["lengths"])


def _ordered(content: Mapping[str, Any]) -> Hierarchy:
    refuse_large(len(content["values"]), len(content.get("sizes", "")))
    return build.ordered(content["values"], content.get("sizes"))


def _flat(content: Mapping[str, Any]) -> Hierarchy:
    refuse_large(len(content["values"]), 1)
    return build.flat(content["values"])


def _day(value: object) -> dt.date:
    return dt.date.fromordinal(value.toordinal()) if isinstance(value, dt.date) else dt.date.fromisoformat(str(value))


BUILDERS: dict[str, Callable[[Mapping[str, Any]], Hierarchy]] = {
    "intervals": _intervals,
    "prefixes": _prefixes,
    "dates": _dates,
    "ordered": _ordered,
    "flat": _flat,
}
