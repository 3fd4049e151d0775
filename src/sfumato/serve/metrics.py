"""The numbers of a running curator: calls by operation and status, and questions that run; nothing about rows.

The format is that of Prometheus (OpenMetrics 1.0). No number has an account, a data set or a question in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter


class Numbers:
    """Counts calls.

    >>> numbers = Numbers()
    >>> numbers.called("health", 200)
    >>> b'operation="health",status="200"} 1.0' in numbers.page({"asking": 0})
    True
    """

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter

        self._registry: CollectorRegistry = CollectorRegistry()
        words = "Calls by operation and status."
        labels = ["operation", "status"]
        self._calls: Counter = Counter("sfumato_curator_calls", words, labels, registry=self._registry)

    def called(self, operation: str, status: int) -> None:
        """Count a call."""
        self._calls.labels(operation, str(status)).inc()

    def page(self, running: dict[str, int]) -> bytes:
        """Return all numbers as Prometheus reads them."""
        from prometheus_client import CollectorRegistry, Gauge, generate_latest

        now = CollectorRegistry()
        gauge = Gauge("sfumato_curator_running", "Jobs that run now.", ["kind"], registry=now)
        for kind, many in running.items():
            gauge.labels(kind).set(many)
        return bytes(generate_latest(self._registry) + generate_latest(now))
