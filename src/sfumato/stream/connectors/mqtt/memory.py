"""Which messages were read already, as far as MQTT can tell: by their ids, or by the packet numbers they came under.

A broker gives unacknowledged messages once more when a connection begins again, in their order, marked as repeats, and
under their old packet numbers (MQTT 5.0, section 4.4). Acknowledged in order, at most as many as we let it send ahead
can come again; so many numbers are kept. No number tells of a broker that forgot its own state: ids are for that.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

DIGEST = 8


class Memory(ABC):
    """The last messages that were read, oldest first, by keys of one size; `most` are kept.

    Keys are `lasting` where they name a message for ever, and not for one session.
    """

    size: int
    lasting = False

    def __init__(self, most: int, written: str = "") -> None:
        content, size = b64decode(written), self.size
        self._most = most
        self._keys = dict.fromkeys(content[place : place + size] for place in range(0, len(content), size))

    @abstractmethod
    def key(self, message: MQTTMessage) -> bytes | None:
        """Return what a message is known by; None where it has nothing."""

    def knows(self, message: MQTTMessage, key: bytes) -> bool:
        """Return whether a message was read already: one whose key may be used anew must say that it comes again."""
        return key in self._keys and (self.lasting or message.dup)

    def keep(self, key: bytes, unacknowledged: int) -> None:
        """Remember a message that was read, and forget the oldest if there is no more room.

        There is room for packet numbers that are unacknowledged too, however many a broker sends.
        """
        self._keys.pop(key, None)
        self._keys[key] = None
        room = self._most + (0 if self.lasting else unacknowledged)
        while len(self._keys) > room:
            del self._keys[next(iter(self._keys))]

    def begin_session(self) -> None:
        """The broker began a new session: keys of the old one mean nothing in it."""
        if not self.lasting:
            self._keys.clear()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._keys)

    @property
    def written(self) -> str:
        """All of it as text, for the checkpoint."""
        return b64encode(b"".join(self._keys)).decode()


class PacketNumbers(Memory):
    """Recognises a message that the broker marks as sent before, under a number that was read."""

    size = 2

    def key(self, message: MQTTMessage) -> bytes | None:
        return message.mid.to_bytes(self.size, "big")


class Names(Memory):
    """Recognises a message by the user property that names it, among those of its topic; the topic counts with it."""

    size, lasting = DIGEST, True

    def __init__(self, name: str, most: int, written: str = "") -> None:
        super().__init__(most, written)
        self._name = name

    def key(self, message: MQTTMessage) -> bytes | None:
        found = dict(getattr(message.properties, "UserProperty", ())).get(self._name)
        if found is None:
            return None
        content = b"\0".join((message.topic.encode(), found.encode()))
        return hashlib.blake2b(content, digest_size=DIGEST).digest()
