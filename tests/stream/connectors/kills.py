"""How often the tests of connectors kill a stream, or its broker, at a random moment; few where that is slow."""

from __future__ import annotations

GOAL = 200
STREAMS = {"redis": 45, "postgresql": 45, "nats": 45, "mqtt": 40, "kafka": 12}
BROKERS = {"redis": 5, "postgresql": 5, "nats": 5, "mqtt": 8, "kafka": 2}
