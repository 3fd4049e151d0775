"""The card of a stream's release: what the publisher promises, from its public parameters alone.

Nothing is measured on the records (Dwork & Roth 2014, section 2): a card that counted them would leak what it counts.
Event-level privacy is Dwork, Naor, Pitassi & Rothblum (2010).
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.random import KEYED, KeyedSource, Source
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.stream.base import Publisher
from sfumato.version import __version__

SEEDED = "noise was drawn from a seed; whoever knows the seed can take it off again: for tests only"
REPLACEMENT = "streams with the same arrivals that differ in the value of one record"
EVENT = (
    "The unit is one record (event level): a person with c records is promised c·ε only.",
    "A drive that reports daily has 30 records a month, so it is promised 30·ε; cap its records to promise more.",
    "How many records come, and when, is public: it decides where windows end and how many rows leave.",
    "Values are clamped to the public bounds; what is no number stands as a public default in its place.",
    "Noise is discrete Laplace, drawn exactly in integers, so no floating-point rounding weakens the promise.",
)


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


def windows_note(window: int) -> str:
    """Return what the card says about windows of a public size.

    >>> windows_note(1000)
    'Windows of 1000 records are disjoint, so the whole stream costs one ε; the last one may have fewer records.'
    """
    return (
        f"Windows of {window} records are disjoint, so the whole stream costs one ε; the last one may have fewer "
        "records."
    )


def private_card(
    publisher: Publisher,
    names: Sequence[str],
    epsilon: float,
    *,
    notes: Sequence[str] = (),
    kind: str = "number",
    source: Source,
) -> Card:
    """Return the card of an ε-differentially private stream at event level under replacement.

    >>> from sfumato.stream import RankWindows
    >>> RankWindows(bounds=(0, 10)).card("hours").guarantee.parameters
    {'epsilon': 1.0}
    """
    return make_card(
        publisher,
        Guarantee(
            model="differential privacy",
            parameters={"epsilon": epsilon},
            unit="record (event level)",
            neighbours=REPLACEMENT,
        ),
        [ReleasedColumn(name=name, role="sensitive", type=kind) for name in names],
        assumptions=[*EVENT, *notes],
        source=source,
    )
