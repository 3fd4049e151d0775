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
    from sfumato.engines.spark.local import tally_files, tally_reports
    from sfumato.engines.spark.release import SparkRelease
    from sfumato.engines.spark.reporting import spark_report
    from sfumato.engines.spark.rows import SparkRows
    from sfumato.engines.spark.session import spark_sentences, spark_session
    from sfumato.engines.spark.stream import SparkStream
    from sfumato.engines.spark.stream_keys import ByKey, ByPerson
    from sfumato.engines.spark.stream_run import SparkRun
    from sfumato.engines.spark.stream_source import read_growing
    from sfumato.engines.spark.tables import anonymize

_HOMES = {
    "ByKey": "sfumato.engines.spark.stream_keys",
    "ByPerson": "sfumato.engines.spark.stream_keys",
    "SparkRelease": "sfumato.engines.spark.release",
    "SparkRows": "sfumato.engines.spark.rows",
    "SparkRun": "sfumato.engines.spark.stream_run",
    "SparkStream": "sfumato.engines.spark.stream",
    "anonymize": "sfumato.engines.spark.tables",
    "check": "sfumato.engines.spark.checking",
    "read_folder": "sfumato.engines.spark.folders",
    "read_growing": "sfumato.engines.spark.stream_source",
    "spark_report": "sfumato.engines.spark.reporting",
    "spark_sentences": "sfumato.engines.spark.session",
    "spark_session": "sfumato.engines.spark.session",
    "tally_files": "sfumato.engines.spark.local",
    "tally_reports": "sfumato.engines.spark.local",
    "write_folder": "sfumato.engines.spark.folders",
}

__all__ = [
    "ByKey",
    "ByPerson",
    "SparkRelease",
    "SparkRows",
    "SparkRun",
    "SparkStream",
    "anonymize",
    "check",
    "read_folder",
    "read_growing",
    "spark_report",
    "spark_sentences",
    "spark_session",
    "tally_files",
    "tally_reports",
    "write_folder",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sfumato.engines.spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
