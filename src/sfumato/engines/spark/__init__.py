"""The doors on Apache Spark: a Spark DataFrame comes in, a Spark DataFrame goes out, and the promise is the same.

Names are loaded when first used, so that nothing here needs Spark before it is asked for (Armbrust et al. 2015, "Spark
SQL", for the engine).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.engines.spark.checking import check
    from sfumato.engines.spark.folders import read_folder, write_folder
    from sfumato.engines.spark.release import SparkRelease
    from sfumato.engines.spark.rows import SparkRows
    from sfumato.engines.spark.session import spark_sentences, spark_session
    from sfumato.engines.spark.tables import anonymize

_HOMES = {
    "SparkRelease": "sfumato.engines.spark.release",
    "SparkRows": "sfumato.engines.spark.rows",
    "anonymize": "sfumato.engines.spark.tables",
    "check": "sfumato.engines.spark.checking",
    "read_folder": "sfumato.engines.spark.folders",
    "spark_sentences": "sfumato.engines.spark.session",
    "spark_session": "sfumato.engines.spark.session",
    "write_folder": "sfumato.engines.spark.folders",
}

__all__ = [
    "SparkRelease",
    "SparkRows",
    "anonymize",
    "check",
    "read_folder",
    "spark_sentences",
    "spark_session",
    "write_folder",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sfumato.engines.spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
