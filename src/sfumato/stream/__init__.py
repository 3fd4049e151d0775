"""Anonymous groups out of an endless feed, within a delay bound; publishers are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.stream.base import Group, Published, Publisher

if TYPE_CHECKING:
    from sfumato.stream.castle import CASTLE
    from sfumato.stream.doca import DOCA
    from sfumato.stream.laplace import NaiveLaplace

_HOMES = {
    "AdaptiveHistogram": "sfumato.stream.adaptive",
    "CASTLE": "sfumato.stream.castle",
    "DOCA": "sfumato.stream.doca",
    "LinkedResponse": "sfumato.stream.linked",
    "NaiveLaplace": "sfumato.stream.laplace",
    "RankWindows": "sfumato.stream.rank",
    "auto": "sfumato.stream.choose",
}

__all__ = ["CASTLE", "DOCA", "Group", "NaiveLaplace", "Published", "Publisher"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sfumato.stream' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
