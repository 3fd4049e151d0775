"""How Spark's Kafka source reaches the brokers of an address: the same options, in the words of Kafka's Java client.

Only committed messages are read, and what a broker has deleted unread is an error (Kreps, Narkhede & Rao 2011 on logs
that forget). A password is told to the client alone: Spark hides options whose value speaks of one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError, MissingExtraError, ParameterError
from sfumato.stream.connectors.base import Connector
from sfumato.stream.connectors.kafka.client import broker_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = {
    "org.apache.spark.sql.kafka010.KafkaSourceProvider": "spark-sql-kafka-0-10_2.13",
    "org.apache.spark.kafka010.KafkaTokenUtil": "spark-token-provider-kafka-0-10_2.13",
    "org.apache.kafka.clients.consumer.KafkaConsumer": "kafka-clients",
    "org.apache.commons.pool2.PooledObject": "commons-pool2",
}
UNMAPPED = {
    "group": "Spark commits no offsets to a consumer group",
    "cert": "Spark would be told our own certificate's key as an option",
    "key": "Spark would be told our own certificate's key as an option",
}
LOGINS = {"PLAIN": "plain.PlainLoginModule"}
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def refuse_missing_jars(session: SparkSession) -> None:
    """Refuse a session whose Java does not have Kafka's source; one sentence says what is missing and how it comes."""
    machine = session.sparkContext._jvm  # noqa: SLF001  # the only way to ask for a class
    missing = [name for kind, name in NEEDED.items() if not _has_class(machine, kind)]
    if missing:
        raise MissingExtraError(
            f"Spark reads Kafka by jars that it does not have here ({', '.join(missing)}); put them into a folder, and "
            "name it in SFUMATO_SPARK_JARS (docs/guides/brokers.md says where they come from)"
        )


def _has_class(machine: object, name: str) -> bool:
    from py4j.protocol import Py4JJavaError

    try:
        thread = machine.java.lang.Thread.currentThread()  # type: ignore[attr-defined]
        thread.getContextClassLoader().loadClass(name)
    except Py4JJavaError:
        return False
    return True


def reading_options(connector: Connector) -> dict[str, str]:
    """Return how Spark reads the topic of an address; an option that it has no equal of is refused by its name.

    >>> from sfumato.stream.connectors.registry import find_connector
    >>> reading_options(find_connector("kafka://server/rides"))["kafka.isolation.level"]
    'read_committed'
    >>> reading_options(find_connector("kafka://server/rides?group=lag"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: address 'kafka://server/rides' has the option 'group', which --engine spark does \
not take: Spark commits no offsets to a consumer group; leave it out
    """
    refuse_unmapped(connector)
    own = broker_settings(connector)
    options = {
        "subscribe": connector.topic,
        "failOnDataLoss": "true",
        "kafka.bootstrap.servers": own["bootstrap.servers"],
        "kafka.security.protocol": own["security.protocol"],
        "kafka.isolation.level": "read_committed",
    }
    if "ssl.ca.location" in own:
        options |= _trust(connector, Path(own["ssl.ca.location"]))
    if "sasl.mechanism" in own:
        options |= _login(connector, own["sasl.mechanism"], own["sasl.username"], own["sasl.password"])
    return options


def refuse_unmapped(connector: Connector) -> None:
    """Refuse an option of the address for which Spark's source has no equal."""
    for name, why in UNMAPPED.items():
        if name in connector.address.options:
            raise ParameterError(
                f"address '{connector}' has the option '{name}', which --engine spark does not take: {why}; leave it "
                "out"
            )


def _trust(connector: Connector, file: Path) -> dict[str, str]:
    """Return whose certificates are believed: those of a file, which executors need not see."""
    try:
        found = CERTIFICATE.findall(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise InputError(f"address '{connector}': file '{file}' cannot be read: {error.strerror}") from error
    if not found:
        raise InputError(f"address '{connector}': file '{file}' has no certificate; give one in PEM")
    return {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.certificates": "\n".join(found)}


def _login(connector: Connector, mechanism: str, user: str, password: str) -> dict[str, str]:
    if not password:
        raise InputError(f"address '{connector}' has a user and no password; give it as {connector.secret()}")
    module = f"org.apache.kafka.common.security.{LOGINS.get(mechanism, 'scram.ScramLoginModule')}"
    told = f"{module} required username={_quoted(user)} password={_quoted(password)};"
    return {"kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": told}


def _quoted(text: str) -> str:
    r"""Return a text as a value of Java's login settings.

    >>> print(_quoted('a"b\\c'))
    "a\"b\\c"
    """
    if not text.isprintable():
        raise InputError("a user or a password with line breaks or control characters cannot be told to Spark's client")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
