"""What all tests share: where real data lie, and how hard Hypothesis looks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from ledger_places import Ledgers
    from pyspark.sql import SparkSession

NO_DATA = "needs real data: set SFUMATO_DATA to their folder"
NO_SERVER = "needs a PostgreSQL server: set SFUMATO_POSTGRES to its address, postgresql://user@host/database"
NO_SPARK = "needs pyspark and Java 17"
NO_BROWSER = "no Chromium on this machine"
NO_NODE = "no Node on this machine"
NO_BROKER = "no broker to start on this machine"
NO_KAFKA = "needs a Kafka broker"
NO_SPARK_KAFKA = "needs Spark's jars for Kafka"
REQUIRED = {
    NO_DATA: "SFUMATO_REQUIRE_DATA",
    NO_SERVER: "SFUMATO_REQUIRE_POSTGRES",
    NO_SPARK: "SFUMATO_REQUIRE_SPARK",
    NO_BROWSER: "SFUMATO_REQUIRE_CHROMIUM",
    NO_NODE: "SFUMATO_REQUIRE_NODE",
    NO_BROKER: "SFUMATO_REQUIRE_BROKERS",
    NO_KAFKA: "SFUMATO_REQUIRE_KAFKA",
    NO_SPARK_KAFKA: "SFUMATO_REQUIRE_SPARK_KAFKA",
}

JARS = Path.home() / ".cache" / "sfumato-spark-kafka"  # which tests/engines/spark/streams/kafka_jars.xml brings
if "SFUMATO_SPARK_JARS" not in os.environ and any(JARS.glob("*.jar")):
    os.environ["SFUMATO_SPARK_JARS"] = str(JARS)
os.environ["SFUMATO_QUIET"] = "1"  # commands that tests start say nothing of compiling, which only the first ones do

settings.register_profile(
    "sfumato", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sfumato")


@pytest.fixture
def data() -> Callable[[str], Path]:
    """Return a function that finds a real data file; a test without the data is skipped, never passed."""

    def find(name: str) -> Path:
        folder = os.environ.get("SFUMATO_DATA")
        if not folder:
            pytest.skip(NO_DATA)
        path = Path(folder) / name
        assert path.exists(), f"SFUMATO_DATA has no {name}"
        return path

    return find


@pytest.fixture(scope="session")
def postgres() -> str:
    """Return the address of a PostgreSQL server to write to; without one a test is skipped, never passed."""
    address = os.environ.get("SFUMATO_POSTGRES")
    if not address:
        pytest.skip(NO_SERVER)
    return address


@pytest.fixture(params=["file", "postgres"])
def ledgers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledgers]:
    """Give the places of a test's ledgers: files, and schemas of PostgreSQL where a server is there."""
    from ledger_places import Files, Schemas

    made = Files(tmp_path) if request.param == "file" else Schemas(request.getfixturevalue("postgres"))
    yield made
    made.clear()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Give one Spark session of two cores to all tests; without Spark or Java a test is skipped, never passed."""
    from sfumato.engines.spark import spark_session
    from sfumato.errors import MissingExtraError

    try:
        session = spark_session("local[2]")
    except MissingExtraError as error:
        pytest.skip(f"{NO_SPARK}: {error}")
    yield session
    from pyspark import SparkContext

    machine = SparkContext._gateway
    session.stop()
    if machine is not None:
        machine.shutdown()
        machine.proc.stdin.close()
        machine.proc.wait(timeout=30)
        SparkContext._gateway = SparkContext._jvm = None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the whole run if data or a server were there (SFUMATO_REQUIRE_…) and a test was skipped for want of them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = [(report.nodeid, str(report.longrepr)) for report in reporter.stats.get("skipped", [])]
    for reason, variable in REQUIRED.items():
        wanting = [name for name, why in skipped if reason in why]
        if wanting and os.environ.get(variable):
            reporter.write_line(f"skipped for want of what is there ({variable}): {', '.join(wanting)}", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
