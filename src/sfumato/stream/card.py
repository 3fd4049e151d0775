"""The card of a stream's release: what the publisher promises, from its public parameters alone.

Nothing is measured on the records (Dwork & Roth 2014, section 2): a card that counted them would leak what it counts.
Event-level privacy is Dwork, Naor, Pitassi & Rothblum (2010).
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.promise import Clamp, Cost, Input, Metric, Neighbours, PerRow, Promise, ProtectRows, derive
from sfumato.promise.chain import Step
from sfumato.random import KEYED, KeyedSource, Source
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.stream.base import Publisher
from sfumato.stream.loss import ONE_PERSON, ONE_RECORD, loss_words
from sfumato.version import __version__

SEEDED = "noise was drawn from a seed; whoever knows the seed can take it off again: for tests only"
EVENT_LEVEL = (
    "The unit is one record (event level): a person with c records is promised c·ε only.",
    "A drive that reports daily has 30 records a month, so it is promised 30·ε; cap its records to promise more.",
)
EACH = "Each record is protected on its own (event level); for a person with c records the promise is c·ε."
PRESENT = "The unit is one record (event level), there or not: a person with c records is promised c·ε only."
LAPLACE_NOTE = (
    "Noise is discrete Laplace, drawn exactly in integers, so no floating-point rounding weakens the promise."
)
EVENT = (
    *EVENT_LEVEL,
    "How many records come, and when, is public: it decides where windows end and how many rows leave.",
    "Values are clamped to the public bounds; what is no number stands as a public default in its place.",
    LAPLACE_NOTE,
)
IN_RHO = {  # a loss in ρ grows with the square of the records (Bun & Steinke 2016, proposition 1.9)
    EVENT_LEVEL[0]: "The unit is one record (event level): a person with c records is promised c²·ρ only.",
    EVENT_LEVEL[1]: (
        "A drive that reports daily has 30 records a month, so it is promised 900·ρ; cap its records to promise more."
    ),
    PRESENT: "The unit is one record (event level), there or not: a person with c records is promised c²·ρ only.",
    LAPLACE_NOTE: (
        "Noise is discrete Gaussian, drawn exactly in integers, so no floating-point rounding weakens the promise."
    ),
}
UNIT_NOTES = frozenset({*EVENT_LEVEL, EACH, PRESENT, *IN_RHO.values()} - {IN_RHO[LAPLACE_NOTE]})  # of one record


def notes_in_rho(notes: Sequence[str]) -> list[str]:
    """Return notes as they hold for a promise in ρ, whose noise is Gaussian.

    >>> notes_in_rho([PRESENT])[0].endswith("a person with c records is promised c²·ρ only.")
    True
    """
    return [IN_RHO.get(note, note) for note in notes]


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
    keyed = [KEYED] if isinstance(source, KeyedSource) else []
    return Card(
        version=__version__,
        door="stream",
        algorithm=publisher.name,
        guarantee=guarantee,
        assumptions=[*loss_words(publisher.promise()), *assumptions, *keyed],
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


def record_promise(epsilon: float, *steps: Step, neighbours: Neighbours = Neighbours.VALUE) -> Promise:
    """Return what a publisher promises one record whose value is clamped before those steps, at ε for a record.

    >>> from sfumato.promise import Edges, Windows
    >>> record_promise(0.5, Windows(Edges.POSITION)).cost.epsilon
    Decimal('0.5')
    """
    metric = Metric(ProtectRows(), neighbours, Input.RECORDS)
    return derive(metric, [Clamp(), *steps], PerRow(Cost(epsilon=epsilon), neighbours))


def guarantee_of(publisher: Publisher, **further: float) -> Guarantee:
    """Return what a publisher's chain promises, as its card prints it.

    >>> from sfumato.stream import DOCA, RankWindows
    >>> guarantee_of(RankWindows(bounds=(0, 10))).unit, guarantee_of(DOCA(sensitivity=1)).model
    ('record (event level)', 'none')
    """
    promise = publisher.promise()
    if promise is None:
        return Guarantee(model="none", parameters={}, unit="none")
    return Guarantee.of(promise, **further)


def private_card(
    publisher: Publisher, names: Sequence[str], *, notes: Sequence[str] = EVENT, kind: str = "number", source: Source
) -> Card:
    """Return the card of a differentially private stream: its promise, and what `notes` say of it.

    >>> from sfumato.stream import RankWindows
    >>> RankWindows(bounds=(0, 10)).card("hours").guarantee.parameters
    {'epsilon': 1.0}
    """
    columns = [ReleasedColumn(name=name, role="sensitive", type=kind) for name in names]
    return make_card(publisher, guarantee_of(publisher), columns, assumptions=notes, source=source)


def wrapped_card(
    publisher: Publisher,
    behind: Card,
    *,
    notes: Sequence[str],
    columns: Sequence[ReleasedColumn] = (),
    **further: float,
) -> Card:
    """Return the card of a publisher before another one: its own promise and notes, then what the other's card says.

    What that one says of the unit stays only where the unit stays.

    >>> from sfumato.stream import CappedPersons, RankWindows
    >>> CappedPersons(RankWindows(bounds=(0, 10)), limit=3).card("hours").guarantee.parameters
    {'epsilon': 3.0, 'per_record': 1.0}
    """
    released = Released(
        rows=0,
        columns=[*behind.released.columns, *columns],
        settings=publisher.parameters(),
        order=behind.released.order,
    )
    guarantee = guarantee_of(publisher, **further)
    same = guarantee.unit == behind.guarantee.unit
    loss = loss_words(publisher.promise())
    told = (note for note in behind.assumptions if same or note not in UNIT_NOTES)
    kept = [note for note in told if not note.startswith((ONE_RECORD, ONE_PERSON))]
    return Card(
        version=behind.version,
        door=behind.door,
        algorithm=publisher.name,
        guarantee=guarantee,
        assumptions=[*loss, *notes, *kept],
        released=released,
        warnings=behind.warnings,
    )
