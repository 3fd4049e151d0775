"""Kafka's client as readers and writers need it: quiet, with an end to every wait, and its errors in our own words.

librdkafka's log goes nowhere, since it may quote what a broker sends; what went wrong is told in one sentence, and what
may pass is worth another attempt (`BrokerGoneError`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, MissingExtraError, ParameterError
from sfumato.stream.connectors.base import BrokerGoneError, Connector

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

PORT, SECURE = 9092, "kafkas"
PATIENCE = 10.0  # seconds for a broker to answer one request
GLANCE = 0.05  # seconds between two looks at whether an answer has come
CALM = {"socket.timeout.ms": round(1000 * PATIENCE), "reconnect.backoff.max.ms": 1000}
ALL_DOWN = "_ALL_BROKERS_DOWN"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
NEAR = ("localhost", "127.0.0.1", "::1")
STRANGER = ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED")
DISTRUSTED = "_SSL"
LASTING = {*STRANGER, DISTRUSTED}  # what another attempt does not mend
REFUSALS: Mapping[tuple[str, ...], str] = {
    (DISTRUSTED,): (
        "broker '{address}' has a certificate that is not trusted; check the host's name, and name its authority with "
        "?ca=FILE"
    ),
    STRANGER: "broker '{address}' refuses the login; check the user and {secret}",
    ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"): (
        "broker '{address}' does not allow that topic '{topic}' {what}; check the user's rights"
    ),
    ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "TOPIC_EXCEPTION"): (
        "broker '{address}' has no topic '{topic}'; check the name, or make the topic first"
    ),
    ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"): (
        "output '{address}': another process writes this stream now, or the broker gave this one up after a long "
        "wait; let one alone run, and start the same command again"
    ),
    ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"): (
        "input '{address}' no longer has the records behind this checkpoint: the broker deleted them unread; begin "
        "another stream, with another checkpoint"
    ),
    ("MSG_SIZE_TOO_LARGE",): "output '{address}' takes no message that long; give ?records= a smaller number",
}
SENTENCES = {name: sentence for names, sentence in REFUSALS.items() for name in names}
FILES = {"ssl.ca.location": "ca", "ssl.certificate.location": "cert", "ssl.key.location": "key"}


@dataclass(frozen=True)
class TopicShape:
    """A topic as the broker describes it: its id, which a topic that is made anew has not, and its partitions."""

    ident: str
    partitions: int


@dataclass
class KafkaClient:
    """What one reader or writer asks of the brokers behind an address."""

    connector: Connector
    trouble: KafkaError | None = field(default=None, init=False)  # why a connection failed last
    down: bool = field(default=False, init=False)  # whether no broker answers at all

    def describe(self) -> TopicShape:
        """Return what the topic is; one that is not there is refused, and not made."""
        kafka, topic = load_client(), self.connector.topic
        from confluent_kafka.admin import AdminClient

        with self.sentences("is described"):
            admin = AdminClient(self._whole({}), logger=_silent())
            asked = admin.describe_topics(kafka.TopicCollection([topic]), request_timeout=PATIENCE)[topic]
            while not asked.done():
                admin.poll(GLANCE)  # hears what fails
                self.refuse_gone("is described")
            found = asked.result()
        return TopicShape(str(found.topic_id), len(found.partitions))

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """Return a consumer that reads what is committed and moves no position by itself."""
        fixed = {"enable.auto.commit": False, "isolation.level": "read_committed", "auto.offset.reset": "error"}
        consumer: Consumer = load_client().Consumer(self._whole({**fixed, **settings}), logger=_silent())
        return consumer

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        """Return a producer."""
        producer: Producer = load_client().Producer(self._whole(settings), logger=_silent())
        return producer

    def _whole(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        self.hear_nothing()
        return {**broker_settings(self.connector), **CALM, **settings, "error_cb": self._note}

    def hear_nothing(self) -> None:
        """Forget what failed before."""
        self.trouble, self.down = None, False

    def _note(self, error: KafkaError) -> None:
        if error.name() == ALL_DOWN:
            self.down = True
        else:
            self.trouble = error

    @contextmanager
    def sentences(self, what: str) -> Iterator[None]:
        """Turn what the client raises inside the block into an error of ours; `what` says what happens to the topic."""
        kafka = load_client()
        try:
            yield
        except kafka.KafkaException as error:
            raise self.told(error.args[0], what) from None

    def refuse_gone(self, what: str) -> None:
        """Say that no broker answers or the login is refused, if the client heard so."""
        if self.trouble is not None and (self.down or self.trouble.name() in LASTING):
            raise self.told(self.trouble, what)

    def told(self, error: KafkaError, what: str) -> Exception:
        """Return an error of the client as one of ours; `what` says what was to happen to the topic."""
        trouble, connector = self.trouble, self.connector
        name = error.name() if trouble is None or trouble.name() not in LASTING else trouble.name()
        if name not in SENTENCES:
            return BrokerGoneError(_reason(error if trouble is None else trouble))
        address, topic, secret = connector.address, connector.topic, connector.secret()
        return InputError(SENTENCES[name].format(address=address, topic=topic, secret=secret, what=what))


def broker_settings(connector: Connector) -> dict[str, Any]:
    """Return how the client reaches the brokers of an address and logs in."""
    address = connector.address
    host = f"[{address.host}]" if ":" in address.host else address.host
    secure, mechanism = address.scheme == SECURE, address.options.get("mechanism", MECHANISMS[0])
    if mechanism not in MECHANISMS:
        raise ParameterError(f"address '{address}': mechanism is '{mechanism}'; give {', '.join(MECHANISMS)}")
    settings: dict[str, Any] = {"bootstrap.servers": f"{host}:{address.port or PORT}"}
    settings["security.protocol"] = ("SASL_" if address.user else "") + ("SSL" if secure else "PLAINTEXT")
    if secure:
        files = {name: address.file(option) for name, option in FILES.items()}
        settings |= {name: file for name, file in files.items() if file is not None}
    if address.user is None:
        return settings
    if mechanism == MECHANISMS[0] and not secure and address.host not in NEAR:
        raise ParameterError(
            f"address '{address}' would send the password readably; give {SECURE}://, or ?mechanism={MECHANISMS[-1]}"
        )
    login = {"sasl.mechanism": mechanism, "sasl.username": address.user, "sasl.password": connector.password or ""}
    return settings | login


def load_client() -> ModuleType:
    """Return the client's module."""
    try:
        import confluent_kafka
    except ImportError as error:
        raise MissingExtraError("Kafka needs its client; pip install 'sfumato[kafka]'") from error
    return confluent_kafka


def _silent() -> logging.Logger:
    """Return a log that goes nowhere."""
    logger = logging.getLogger("sfumato.kafka")
    logger.disabled = True
    return logger


def _reason(error: KafkaError) -> str:
    """Return why, without the client's remarks on its own states."""
    if error.name() == "_TIMED_OUT":
        return f"no answer within {PATIENCE:.0f} seconds; it may want a user or {SECURE}://"
    return error.str().partition(" (after ")[0].rpartition(": ")[2] or error.name()
