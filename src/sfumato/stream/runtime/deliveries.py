"""What becomes of a promise where a source may give a record twice: it is refused, unless the unit bounds it anyway.

A record that counts c times changes c rows, and costs c·ε (group privacy, Dwork & Roth 2014, theorem 2.2); where
nothing bounds c, nothing is promised. A person of whom only so many records count is protected however often each of
them comes: the cap behind the source counts what came.
"""

from __future__ import annotations

from sfumato.errors import ParameterError
from sfumato.stream.base import Publisher
from sfumato.stream.connectors.base import Connector

PERSON = "person"  # how a unit that is one begins
TWICE = "A message may be counted twice: the bound on a person's records counts each time, and holds."


def delivery_notes(source: Connector, publisher: Publisher) -> tuple[str, ...]:
    """Return what a card must say of how a source delivers; refuse a promise that a repeated record breaks.

    >>> from sfumato.stream import NaiveLaplace
    >>> from sfumato.stream.connectors.registry import find_connector
    >>> delivery_notes(find_connector("redis://server/rides"), NaiveLaplace(bounds=(0, 1)))
    ()
    >>> delivery_notes(find_connector("mqtt://server/rides"), NaiveLaplace(bounds=(0, 1)))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: 'mqtt://server/rides': an MQTT broker may give a message twice, and nothing in it \
says so; name the user property that tells messages apart (?id=NAME), or protect persons (--person)
    """
    if source.repeats is None:
        return source.notes
    guarantee = publisher.card().guarantee
    if guarantee.model == "none":
        return source.notes  # nothing is promised that could break
    if not guarantee.unit.startswith(PERSON):
        raise ParameterError(f"'{source.address}': {source.repeats}, or protect persons (--person)")
    return (*source.notes, TWICE)
