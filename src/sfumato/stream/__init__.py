"""Anonymous groups out of an endless feed, within a delay bound; publishers are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.stream.base import Group, Published, Publisher

if TYPE_CHECKING:
    from sfumato.stream.adaptive import AdaptiveHistogram
    from sfumato.stream.castle import CASTLE
    from sfumato.stream.categories import CategoryWindows
    from sfumato.stream.choose import auto
    from sfumato.stream.clock import ClockWindows
    from sfumato.stream.doca import DOCA
    from sfumato.stream.laplace import NaiveLaplace
    from sfumato.stream.linked import LinkedResponse
    from sfumato.stream.persons import CappedPersons
    from sfumato.stream.rank import RankWindows
    from sfumato.stream.several import CellHistogram, RankedAttributes

_HOMES = {
    "AdaptiveHistogram": "sfumato.stream.adaptive",
    "CASTLE": "sfumato.stream.castle",
    "CappedPersons": "sfumato.stream.persons",
    "CategoryWindows": "sfumato.stream.categories",
    "CellHistogram": "sfumato.stream.several",
    "ClockWindows": "sfumato.stream.clock",
    "DOCA": "sfumato.stream.doca",
    "LinkedResponse": "sfumato.stream.linked",
    "NaiveLaplace": "sfumato.stream.laplace",
    "RankWindows": "sfumato.stream.rank",
    "RankedAttributes": "sfumato.stream.several",
    "auto": "sfumato.stream.choose",
}

__all__ = [
    "CASTLE",
    "DOCA",
    "AdaptiveHistogram",
    "CappedPersons",
    "CategoryWindows",
    "CellHistogram",
    "ClockWindows",
    "Group",
    "LinkedResponse",
    "NaiveLaplace",
    "Published",
    "Publisher",
    "RankWindows",
    "RankedAttributes",
    "auto",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sfumato.stream' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
