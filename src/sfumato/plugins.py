"""Classes by the names that people type: ours and anybody's, found through entry points.

A package offers a class in a group such as `sfumato.anonymizers` of its entry points (the PyPA specification of entry
points); ours are listed in `pyproject.toml` like anybody's. Names are known without loading anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from sfumato.errors import ParameterError, suggestion

KINDS: Mapping[str, str] = {  # the group without its prefix, and the word for one of it
    "anonymizers": "anonymizer",
    "models": "model",
    "publishers": "publisher",
    "protocols": "protocol",
    "means": "mean protocol",
    "mechanisms": "mechanism",
    "formats": "format",
    "connectors": "connector",
}
HOME = "sfumato"
Class = TypeVar("Class")


@dataclass(frozen=True)
class Failure:
    """A class that is offered and cannot be used, and why."""

    kind: str
    name: str
    package: str
    reason: str

    def __str__(self) -> str:
        return f"the {KINDS[self.kind]} '{self.name}' of package '{self.package}' cannot be used: {self.reason}"


def names(kind: str) -> tuple[str, ...]:
    """Return the names that are offered, ours first, each group by the alphabet; nothing is loaded.

    >>> "mondrian" in names("anonymizers")
    True
    """
    return tuple(_offers(kind))


def find(kind: str, name: str, base: type[Class]) -> type[Class]:
    """Return the class that answers to a name or an alias, or refuse in one sentence.

    >>> from sfumato.tabular import Anonymizer
    >>> find("anonymizers", "mondrian", Anonymizer).__name__
    'Mondrian'
    >>> find("anonymizers", "mondiran", Anonymizer)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: there is no anonymizer 'mondiran'; did you mean 'mondrian'?
    """
    offers = _offers(kind)
    if name in offers:
        loaded = _load(kind, name, base)
        if isinstance(loaded, Failure):
            raise ParameterError(f"{loaded}; repair or uninstall the package")
        return loaded
    called = {alias: found for found in every(kind, base).values() for alias in getattr(found, "aliases", ())}
    if name in called:
        return called[name]
    raise ParameterError(f"there is no {KINDS[kind]} '{name}'{suggestion(name, [*offers, *called])}")


def every(kind: str, base: type[Class]) -> dict[str, type[Class]]:
    """Return all classes of a kind that can be used, by name; `failures` tells the others.

    >>> from sfumato.models import Model
    >>> every("models", Model)["k-anonymity"].__name__
    'KAnonymity'
    """
    loaded = {name: _load(kind, name, base) for name in names(kind)}
    return {name: found for name, found in loaded.items() if not isinstance(found, Failure)}


def failures(kind: str, base: type[Class]) -> list[Failure]:
    """Return the offered classes of a kind that cannot be used, each with its reason.

    >>> from sfumato.models import Model
    >>> failures("models", Model)
    []
    """
    return [found for name in names(kind) if isinstance(found := _load(kind, name, base), Failure)]


def load_object(place: str) -> Any:
    """Return what "module:name" stands for: how a class declares what lies in a room above its own.

    >>> load_object("sfumato.release.card:Card").__name__
    'Card'
    >>> load_object("sfumato.release.card:Crad")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: 'sfumato.release.card:Crad' cannot be loaded: module 'sfumato.release.card' has no \
attribute 'Crad'
    """
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"'{place}' cannot be loaded: {error}") from error


@cache
def _offers(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a kind by their names, ours first."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=f"{HOME}.{kind}"), key=lambda point: (_package(point) != HOME, point.name)):
        found[point.name] = (*found.get(point.name, ()), point)
    if not any(_package(point) == HOME for points in found.values() for point in points):
        raise ParameterError(f"the package '{HOME}' is not installed here, only its files are; pip install {HOME}")
    return found


def _load(kind: str, name: str, base: type[Class]) -> type[Class] | Failure:
    found = _loaded(kind, name)
    if isinstance(found, Failure) or (isinstance(found, type) and issubclass(found, base)):
        return found
    point = _offers(kind)[name][0]
    return Failure(kind, name, _package(point), f"{point.value} is no {base.__name__}")


@cache
def _loaded(kind: str, name: str) -> object:
    """Return what an entry point names, or why it cannot be had."""
    first, *others = _offers(kind)[name]
    if others:
        packages = ", ".join(f"'{_package(point)}'" for point in (first, *others))
        return Failure(kind, name, _package(first), f"several packages offer this name ({packages}); uninstall others")
    try:
        return first.load()
    except Exception as error:  # noqa: BLE001 - whatever a stranger's module raises must not end ours
        return Failure(kind, name, _package(first), f"{type(error).__name__}: {error}")


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else point.dist.name
