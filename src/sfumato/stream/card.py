"""The card of a stream's release: what the publisher promises, from its public parameters alone.

Nothing is measured on the records (Dwork & Roth 2014, section 2): a card that counted them would leak what it counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.random import KEYED, KeyedSource, Source
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.stream.base import Publisher
from sfumato.version import __version__

SEEDED = "noise was drawn from a seed; whoever knows the seed can take it off again: for tests only"


def make_card(
    publisher: Publisher,
    guarantee: Guarantee,
    columns: Sequence[ReleasedColumn],
    *,
    assumptions: Sequence[str] = (),
    warnings: Sequence[str] = (),
    source: Source,
) -> Card:
    """Return the card of a stream before its first row; the runner adds how many rows left.

    >>> from sfumato.random import SeededSource
    >>> from sfumato.stream import NaiveLaplace
    >>> promise = Guarantee(model="none", parameters={}, unit="record")
    >>> make_card(NaiveLaplace(bounds=(0, 1)), promise, [], source=SeededSource(1)).warnings == [SEEDED]
    True
    """
    return Card(
        version=__version__,
        door="stream",
        algorithm=publisher.name,
        guarantee=guarantee,
        assumptions=[*assumptions, *([KEYED] if isinstance(source, KeyedSource) else [])],
        released=Released(
            rows=0,
            columns=list(columns),
            settings=publisher.parameters(),
            order="kept" if publisher.linked else "not linked to the records",
        ),
        warnings=[*warnings, *([] if source.secure else [SEEDED])],
    )
