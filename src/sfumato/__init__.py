"""Publish data about people so that no person can be traced, with a card that says what is promised.

Names are loaded when first used, so that importing the package, and `sfumato --help`, stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato import audit, dp, evaluate, local, models, random, report, samples, stream, tabular
    from sfumato.attribute import Attribute
    from sfumato.card import Card, Guarantee
    from sfumato.dp import (
        Answer,
        Budget,
        ProtectPersons,
        ProtectRows,
        Query,
        Session,
        count,
        count_distinct,
        histogram,
        max,  # noqa: A004
        mean,
        median,
        min,  # noqa: A004
        quantile,
        sensitivity,
        sum,  # noqa: A004
        variance,
    )
    from sfumato.engines import spark
    from sfumato.errors import SfumatoError
    from sfumato.finding import Finding
    from sfumato.hierarchy import Hierarchy
    from sfumato.hierarchy_file import read_hierarchy
    from sfumato.hierarchy_suggest import suggest
    from sfumato.io import read
    from sfumato.kinds import Kind
    from sfumato.models import AlphaK, KAnonymity, LDiversity, TCloseness
    from sfumato.release import Release
    from sfumato.roles import Role
    from sfumato.schema import Schema
    from sfumato.table import Table
    from sfumato.tabular import (
        MDAV,
        VMDAV,
        Anatomy,
        Datafly,
        Improve,
        Incognito,
        KAnonyMeans,
        KAnonyMeansStar,
        MDAVPlus,
        MDAVStar,
        Mondrian,
        Optimal,
        PrivateMondrian,
        SafePub,
        Univariate,
        republish,
    )

_HOMES = {
    "Answer": "sfumato.dp",
    "Budget": "sfumato.dp",
    "ProtectPersons": "sfumato.dp",
    "ProtectRows": "sfumato.dp",
    "Query": "sfumato.dp",
    "Session": "sfumato.dp",
    "count": "sfumato.dp",
    "count_distinct": "sfumato.dp",
    "histogram": "sfumato.dp",
    "max": "sfumato.dp",
    "mean": "sfumato.dp",
    "median": "sfumato.dp",
    "min": "sfumato.dp",
    "quantile": "sfumato.dp",
    "sum": "sfumato.dp",
    "variance": "sfumato.dp",
    "AlphaK": "sfumato.models",
    "Attribute": "sfumato.attribute",
    "Card": "sfumato.card",
    "Datafly": "sfumato.tabular",
    "Finding": "sfumato.finding",
    "Guarantee": "sfumato.card",
    "Hierarchy": "sfumato.hierarchy",
    "Incognito": "sfumato.tabular",
    "KAnonymity": "sfumato.models",
    "Kind": "sfumato.kinds",
    "LDiversity": "sfumato.models",
    "Mondrian": "sfumato.tabular",
    "Optimal": "sfumato.tabular",
    "PrivateMondrian": "sfumato.tabular",
    "SafePub": "sfumato.tabular",
    "Release": "sfumato.release",
    "Role": "sfumato.roles",
    "Schema": "sfumato.schema",
    "SfumatoError": "sfumato.errors",
    "TCloseness": "sfumato.models",
    "Table": "sfumato.table",
    "read": "sfumato.io",
    "read_hierarchy": "sfumato.hierarchy_file",
    "suggest": "sfumato.hierarchy_suggest",
    "MDAV": "sfumato.tabular",
    "VMDAV": "sfumato.tabular",
    "Anatomy": "sfumato.tabular",
    "Improve": "sfumato.tabular",
    "KAnonyMeans": "sfumato.tabular",
    "KAnonyMeansStar": "sfumato.tabular",
    "MDAVPlus": "sfumato.tabular",
    "MDAVStar": "sfumato.tabular",
    "Univariate": "sfumato.tabular",
    "republish": "sfumato.tabular",
}
_MODULES = (
    "audit",
    "dp",
    "evaluate",
    "local",
    "models",
    "random",
    "report",
    "samples",
    "sensitivity",
    "spark",
    "stream",
    "tabular",
)

_INSIDE = {"sensitivity": "sfumato.dp.sensitivity", "spark": "sfumato.engines.spark"}

__all__ = [
    "MDAV",
    "VMDAV",
    "AlphaK",
    "Anatomy",
    "Answer",
    "Attribute",
    "Budget",
    "Card",
    "Datafly",
    "Finding",
    "Guarantee",
    "Hierarchy",
    "Improve",
    "Incognito",
    "KAnonyMeans",
    "KAnonyMeansStar",
    "KAnonymity",
    "Kind",
    "LDiversity",
    "MDAVPlus",
    "MDAVStar",
    "Mondrian",
    "Optimal",
    "PrivateMondrian",
    "ProtectPersons",
    "ProtectRows",
    "Query",
    "Release",
    "Role",
    "SafePub",
    "Schema",
    "Session",
    "SfumatoError",
    "TCloseness",
    "Table",
    "Univariate",
    "__version__",
    "audit",
    "count",
    "count_distinct",
    "dp",
    "evaluate",
    "histogram",
    "local",
    "max",
    "mean",
    "median",
    "min",
    "models",
    "quantile",
    "random",
    "read",
    "read_hierarchy",
    "report",
    "republish",
    "samples",
    "sensitivity",
    "spark",
    "stream",
    "suggest",
    "sum",
    "tabular",
    "variance",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(_INSIDE.get(name, f"sfumato.{name}"))
    raise AttributeError(f"module 'sfumato' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
