"""What a stream's promise means for one source of many records, in plain words, and whether the feed may have some.

Losses add up over the records of one source (group privacy, Dwork & Roth 2014, theorem 2.2). How many records a source
has is data, so the words give a table for public numbers, and columns are looked at by their names alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from sfumato.errors import ParameterError
from sfumato.promise import Cost, Promise, ProtectPersons, ProtectRows, span_words

MANY = (10, 100, 1000)
ONE_RECORD = "Protected is one record:"
ONE_PERSON = "Protected is one person"
WORDS = """
person user customer client patient subject participant respondent member employee worker student pupil rider driver
passenger visitor guest owner tenant house household home family meter device drive phone mobile vehicle car bike
account serial email mail mrn ssn imei msisdn iban passport nif cpf name surname
kunde kundin nutzer haushalt haus zaehler zähler geraet gerät teilnehmer mitarbeiter fahrer konto
personne utilisateur foyer maison compteur appareil usuario cliente paciente hogar casa contador
pessoa utilizador medidor persona utente paziente famiglia contatore
"""
PERSON_WORDS = frozenset(WORDS.split())
KEY_WORDS = frozenset(("id", "uid", "uuid", "guid", "ident", "identifier"))


def loss_words(promise: Promise | None) -> list[str]:
    """Return what one source loses in all, as a sentence; nothing where nothing is promised.

    >>> from sfumato.stream import CappedPersons, RankWindows
    >>> rank = RankWindows(bounds=(0, 10))
    >>> loss_words(rank.promise())
    ['Protected is one record: ε = 1. Losses add up: a person, house or device with 10 records loses up to ε = 10, \
with 100 records ε = 100, with 1000 records ε = 1000.']
    >>> loss_words(CappedPersons(rank, limit=3, horizon=86400.0, person="house").promise())
    ["Protected is one person ('house'): ε = 3 in every period of 1 day; losses of several periods add up."]
    """
    if promise is None:
        return []
    loss = _told(promise.cost)
    unit = promise.metric.unit
    if isinstance(unit, ProtectPersons):
        span = " over the whole stream"
        if promise.horizon is not None:
            span = f" in every period of {span_words(promise.horizon)}; losses of several periods add up"
        return [f"{ONE_PERSON} ('{unit.person}'): {loss}{span}."]
    table = ", ".join(_many_records(promise))
    return [f"{ONE_RECORD} {loss}." + (f" Losses add up: a person, house or device {table}." if table else "")]


def _many_records(promise: Promise) -> Iterator[str]:
    """Yield what a source of many records loses, for some public numbers, as far as it can be counted."""
    with suppress(ParameterError):  # a loss beyond all measure
        for count in MANY:
            cost = promise.cost_for(ProtectRows(count), promise.metric.neighbours)
            yield f"with {count} records {'loses up to ' if count == MANY[0] else ''}{_told(cost)}"


def _told(cost: Cost) -> str:
    return f"ρ = {float(cost.rho):.6g}" if cost.rho else f"ε = {float(cost.epsilon):g}"


def may_be_person(name: str) -> bool:
    """Return whether a column of that name may tell persons, houses or devices apart.

    >>> [may_be_person(name) for name in ("house_id", "customerNo", "Zählernummer", "hours", "humidity")]
    [True, True, True, False, False]
    """
    folded = re.sub(r"[^\w]+|_+", " ", re.sub(r"(?<=[a-zäöü])(?=[A-Z])", "_", name)).casefold().split()
    if KEY_WORDS.intersection(folded) or PERSON_WORDS.intersection(folded):
        return True
    stems = (word.removesuffix(end) for word in folded for end in ("id", "nummer", "nr", "number", "no", "s"))
    return any(stem in PERSON_WORDS for stem in stems)


def ask_person(promise: Promise | None, header: Sequence[str], known: Collection[str]) -> str | None:
    """Return a question about a column that may tell persons apart where single records are protected, by its name.

    >>> from sfumato.stream import RankWindows
    >>> ask_person(RankWindows(bounds=(0, 10)).promise(), ["time", "house_id", "watts"], {"watts"})
    "column 'house_id' may tell persons apart; give --person house_id to protect them, or --events to protect single \
records"
    """
    if promise is None or not isinstance(promise.metric.unit, ProtectRows):
        return None
    found = next((name for name in header if name not in known and may_be_person(name)), None)
    if found is None:
        return None
    return (
        f"column '{found}' may tell persons apart; give --person {found} to protect them, or --events to protect "
        "single records"
    )
