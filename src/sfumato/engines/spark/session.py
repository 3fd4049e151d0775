"""One Spark session, quiet and set up alike everywhere, or one sentence that says what is missing.

The settings are Spark's own (Zaharia et al. 2016, "Apache Spark: a unified engine"): ANSI mode stays on, times are UTC.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sfumato.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
MASTERS = re.compile(r"local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[\d+,\s*\d+,\s*\d+\]|(spark|sc|k8s)://\S+|yarn")
PORTS = {"spark": 7077, "sc": 15002}
PATIENCE = 5.0  # seconds until a cluster that does not answer counts as unreachable
DRIVER_MEMORY = "3g"  # unless SPARK_DRIVER_MEMORY, Spark's own variable, says otherwise
JARS = "SFUMATO_SPARK_JARS"  # names a folder of jars that Spark's Java gets beside its own
NO_SPARK = "the Spark engine needs pyspark; pip install 'sfumato[spark]'"
NO_JAVA = (
    "the Spark engine needs Java 17 and there is none; install it (Debian: apt-get install openjdk-17-jre-headless) "
    "or set JAVA_HOME to its folder"
)


def spark_session(master: str | None = None) -> SparkSession:
    """Return a session on `master` (`local[*]` unless named), the one that already runs there if there is one.

    >>> spark_session("the-cluster")
    Traceback (most recent call last):
    sfumato.errors.InputError: 'the-cluster' is no Spark master; give local[*], spark://host:7077 or sc://host:15002
    """
    wanted = LOCAL if master is None else master
    if not MASTERS.fullmatch(wanted):
        raise InputError(f"'{wanted}' is no Spark master; give local[*], spark://host:7077 or sc://host:15002")
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError(NO_SPARK) from None
    if wanted.startswith("sc://"):
        return _connect(wanted)
    running = SparkContext._active_spark_context  # noqa: SLF001  # a session is active in one thread alone
    if running is None:
        return _start(wanted)
    if master is not None and running.master != wanted:
        raise InputError(
            f"a Spark session with master '{running.master}' runs in this process already; stop it, or ask for that "
            f"master instead of '{wanted}'"
        )
    return SparkSession.builder.getOrCreate()


@contextmanager
def spark_sentences(what: str) -> Iterator[None]:
    """Turn what Spark throws inside the block into one sentence of ours; `what` says what could not be done.

    >>> with spark_sentences("folder 'people' cannot be read"):
    ...     pass
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise InputError(f"{what}: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    """Return the line of a Spark error that says what happened: the innermost cause, without its class."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and "Python worker" in lines[0]:
        return _python_line(lines)
    causes = [line for line in lines if line.startswith("Caused by:")]
    said = (causes or lines or [type(error).__name__])[-1 if causes else 0].removeprefix("Caused by:").strip()
    return re.sub(r"^[\w.$]+(Exception|Error): ", "", said)


def _python_line(lines: list[str]) -> str:
    """Return the sentence of an error that an executor's Python raised."""
    said = [line for line in lines if re.match(r"^[\w.]+(Error|Exception): ", line)]
    return re.sub(r"^[\w.]+: ", "", said[-1]) if said else lines[0]


def _connect(master: str) -> SparkSession:
    from pyspark.sql import SparkSession

    _refuse_unreachable(master)
    with spark_sentences(f"Spark Connect at '{master}' cannot be used"):
        session = SparkSession.builder.remote(master).getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def _start(master: str) -> SparkSession:
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if _java() is None:
        raise MissingExtraError(NO_JAVA)
    _refuse_unreachable(master)
    conf = _settings(master)
    said = _quiet_file()
    try:
        gateway = SparkContext._gateway or launch_gateway(conf, {"stderr": said})  # type: ignore[no-untyped-call]  # noqa: SLF001
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:  # Spark and Py4J raise what they like here
        raise InputError(f"Spark with master '{master}' does not start: {_reason(error, said)}") from error
    finally:
        if said is not None:
            said.close()


def _quiet_file() -> IO[bytes] | None:
    """Return a nameless file for what the virtual machine says while starting; None shows it (SFUMATO_SPARK_LOUD)."""
    return None if os.environ.get("SFUMATO_SPARK_LOUD") else tempfile.TemporaryFile()


def _reason(error: Exception, said: IO[bytes] | None) -> str:
    """Return why a start failed: what Java said if it ended, otherwise what Spark said."""
    if said is not None and "JAVA_GATEWAY_EXITED" in str(error):
        said.seek(0)
        lines = [line for line in said.read().decode(errors="replace").splitlines() if "rror" in line]
        return lines[0].strip() if lines else "Java ended at once; Spark needs Java 17 or newer"
    return _first_line(error)


def _settings(master: str) -> SparkConf:
    from pyspark import SparkConf

    local = master.startswith("local")
    wanted = {
        "spark.app.name": "sfumato",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", DRIVER_MEMORY),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if local:
        wanted |= _local_settings(master)
    if JARS in os.environ:
        wanted["spark.jars"] = ",".join(_jars(Path(os.environ[JARS])))
    return SparkConf().setAll(list(wanted.items()))


def _jars(folder: Path) -> list[str]:
    """Return the jars of a folder, which the driver gives to the executors."""
    found = sorted(folder.glob("*.jar"))
    if not found:
        raise InputError(f"{JARS} is '{folder}', which has no jar; name a folder with jars, or unset it")
    return [f"file://{file.resolve()}" for file in found]


def _local_settings(master: str) -> dict[str, str]:
    python = os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers run any python3 of the search path
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": python,
        "spark.pyspark.driver.python": python,
        "spark.sql.shuffle.partitions": str(4 * _cores(master)),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
    }


def _cores(master: str) -> int:
    """Return how many tasks a local master runs at once."""
    numbers: list[Any] = re.findall(r"\d+", master)
    if master.startswith("local-cluster"):
        return int(numbers[0]) * int(numbers[1])
    if master == "local":
        return 1
    return (os.cpu_count() or 1) if "*" in master else int(numbers[0])


def _java() -> str | None:
    """Return where Java is, by JAVA_HOME or else the search path."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def _refuse_unreachable(master: str) -> None:
    """Refuse a cluster whose address does not answer; Spark itself would try for minutes."""
    parts = urlsplit(master)
    if parts.scheme not in PORTS:
        return
    host = parts.netloc.split(",")[0]
    name, _, port = host.partition(":")
    try:
        socket.create_connection((name, int(port or PORTS[parts.scheme])), timeout=PATIENCE).close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"the Spark cluster at '{master}' does not answer ({reason}); check address and port"
        ) from error
