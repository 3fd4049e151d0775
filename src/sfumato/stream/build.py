"""How a stream is to run: the options of the command line made into a publisher and a screen, or refused."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.schema import Attribute, Schema
from sfumato.stream.base import Published, Publisher
from sfumato.stream.screens.base import Bounds, NumberScreen, OnBad, Screen

HOMES = {
    "laplace": "publishers.laplace.NaiveLaplace",
    "doca": "publishers.doca.DOCA",
    "rank": "publishers.rank.RankWindows",
    "adaptive": "publishers.adaptive.AdaptiveHistogram",
    "linked": "publishers.linked.LinkedResponse",
    "auto": "publishers.auto.auto",
    "several rank": "publishers.rank.RankedAttributes",
    "several adaptive": "publishers.counts.CellHistogram",
    "categories": "publishers.counts.CategoryWindows",
}
WINDOWED = ("rank", "adaptive", "linked")
SEVERAL = ("rank", "adaptive")


@dataclass(frozen=True)
class Plan:
    """A publisher, what stands between it and the feed, and the clock that ends its windows if one does."""

    publisher: Publisher
    screen: Screen
    clock: Callable[[], Published] | None = None


@dataclass(frozen=True)
class Marks:
    """Who a record is of and when it came, as far as the options speak of it."""

    person: str | None = None
    per_person: int = 1
    horizon: str | None = None
    every: str | None = None
    time: str | None = None

    @property
    def asked(self) -> bool:
        """Whether persons or a clock play a part."""
        return self != Marks()

    def refuse_contradictions(self, *, live: bool) -> None:
        """Refuse options that say nothing without others, and a clock on the wall for a file that lies still."""
        if self.person is None and (self.horizon is not None or self.per_person != 1):
            raise ParameterError("--per-person and --horizon speak of persons; name their column with --person")
        if self.person is not None and self.every is not None:
            raise ParameterError("--person and --every cannot go together; choose one of the two")
        timed = next((name for name in ("every", "horizon") if getattr(self, name) is not None), None)
        if timed is None and self.time is not None:
            raise ParameterError("--time goes with --every or --horizon; leave it out")
        if timed is not None and self.time is None and not live:
            raise ParameterError(f"--{timed} needs --time COLUMN here: the records of a file do not arrive")


def plan(name: str, given: dict[str, Any], columns: Sequence[str], on_bad: OnBad, *, live: bool) -> Plan:
    """Return the plan for a publisher by its name; `live` says that records arrive while they are read."""
    if name == "castle":
        return _castle(given, columns, on_bad)
    marks = Marks(**{entry: given.pop(entry) for entry in Marks.__dataclass_fields__ if entry in given})
    marks.refuse_contradictions(live=live)
    if not columns or (len(columns) > 1 and name not in SEVERAL):
        raise ParameterError(f"{name} publishes one column; name it with --column")
    declared = _declared(given.pop("schema", None), columns)
    categories = declared[columns[0]].categories if columns[0] in declared else None
    worded = categories is not None and name in SEVERAL
    if (worded or len(columns) > 1) and marks.asked:
        raise ParameterError("--person and --every go with one column of numbers; publish the others without them")
    bounds = {column: _bounds(declared.get(column)) or given.get("bounds") for column in columns}
    if len(columns) > 1:
        return Plan(_made(f"several {name}", _several(given, bounds)), NumberScreen(bounds, on_bad))
    if worded and categories is not None:
        return _worded(name, given, columns[0], categories, on_bad)
    return _single(name, {**given, "bounds": bounds[columns[0]]}, marks, NumberScreen(bounds, on_bad))


def _single(name: str, given: dict[str, Any], marks: Marks, screen: NumberScreen) -> Plan:
    """Return the plan for one column of numbers."""
    from sfumato.stream.screens.times import MarkedScreen, duration
    from sfumato.stream.wrappers import CappedPersons

    if given["bounds"] is None:
        del given["bounds"]
    if name not in {"doca", "laplace"} and "bounds" not in given:
        raise ParameterError(f"{name} needs --bounds LOW HIGH, which are public")
    if not {"bounds", "sensitivity"} & set(given):
        raise ParameterError(f"{name} needs --bounds LOW HIGH, or --sensitivity")
    if marks.every is not None:
        return _timed(name, given, marks, screen)
    if name == "doca":
        low, high = given.pop("bounds", (0.0, 0.0))
        given.setdefault("sensitivity", high - low)
    publisher = _made(name, _windowed(given) if name in WINDOWED else given)
    if marks.person is None:
        return Plan(publisher, screen)
    horizon = None if marks.horizon is None else duration(marks.horizon)
    marked = MarkedScreen(screen, marks.person, marks.time, timed=horizon is not None)
    return Plan(CappedPersons(publisher, marks.per_person, horizon), marked)


def _timed(name: str, given: dict[str, Any], marks: Marks, screen: NumberScreen) -> Plan:
    """Return the plan for windows that end by the clock; `--delay` then says about how many records they have."""
    from sfumato.stream.publishers.clock import ClockWindows
    from sfumato.stream.screens.times import MarkedScreen, duration
    from sfumato.stream.wrappers import TimedWindows

    expected = {"expected": given.pop("delay")} if "delay" in given else {}
    windows = ClockWindows(kind="rank" if name == "rank" else "adaptive", **expected, **given)
    publisher = TimedWindows(windows, duration(marks.every or ""))
    clock = None if marks.time is not None else lambda: publisher.advance(time.time())
    return Plan(publisher, MarkedScreen(screen, time=marks.time), clock)


def _worded(name: str, given: dict[str, Any], column: str, categories: tuple[str, ...], on_bad: OnBad) -> Plan:
    """Return the plan for a column of declared categories, ordered ones if ranks are asked for."""
    from sfumato.stream.screens.categories import CategoryScreen

    if {"bins", "bounds"} & set(given):
        raise ParameterError("--bins and --bounds are for numbers; each category has a bin of its own")
    worded = {**_windowed(given), "categories": categories, "ordered": name == "rank"}
    return Plan(_made("categories", worded), CategoryScreen(column, categories, on_bad))


def _castle(given: dict[str, Any], columns: Sequence[str], on_bad: OnBad) -> Plan:
    from sfumato.stream.publishers.castle import CASTLE
    from sfumato.stream.screens.tuples import TupleScreen

    file, quasi, person = given.pop("schema", None), given.pop("quasi", ()), given.pop("person", None)
    if file is None:
        raise ParameterError("castle needs --schema with the columns' types, bounds and categories")
    roles = Schema.from_roles(quasi=quasi, sensitive=columns, person=person)
    schema = Schema.from_toml(file).updated(roles)
    if quasi or columns:  # then the others stay behind
        schema = replace(schema, columns={name: schema.columns[name] for name in roles.columns})
    publisher = CASTLE(schema, **given)
    return Plan(publisher, TupleScreen(publisher, on_bad))


def _declared(file: Path | None, columns: Sequence[str]) -> dict[str, Attribute]:
    """Return what a schema file declares about the columns."""
    known = {} if file is None else Schema.from_toml(file).columns
    return {name: known[name] for name in columns if name in known}


def _bounds(attribute: Attribute | None) -> Bounds:
    """Return the declared bounds of a number column; inferred ones are not public and are refused."""
    if attribute is None or attribute.bounds is None:
        return None
    if not attribute.public:
        raise ParameterError(f"the bounds of '{attribute.name}' were inferred from rows; declare public ones")
    low, high = attribute.bounds
    if isinstance(low, dt.date) or isinstance(high, dt.date):
        raise ParameterError(f"column '{attribute.name}' holds dates; a stream of them can go through castle only")
    return float(low), float(high)


def _several(given: dict[str, Any], bounds: Mapping[str, Bounds]) -> dict[str, Any]:
    missing = next((name for name, limits in bounds.items() if limits is None), None)
    if missing is not None:
        raise ParameterError(f"column '{missing}' needs public bounds; declare them in --schema or give --bounds")
    named = {"cells" if name == "bins" else name: value for name, value in given.items()}
    return {**_windowed(named), "bounds": tuple(bounds.values())}


def _windowed(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"window" if name == "delay" else name: value for name, value in given.items()}


def _made(name: str, given: Mapping[str, Any]) -> Publisher:
    module, _, publisher = HOMES[name].rpartition(".")
    made: Publisher = getattr(import_module(f"sfumato.stream.{module}"), publisher)(**given)
    return made
