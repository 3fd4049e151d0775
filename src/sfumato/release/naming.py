"""What people call a release: its title, the data set's name, who signs for it; and the day on which it left.

None of it is read from the data. A file's name can tell of people ("clinic-smith.csv"), so no name is taken from one;
whoever publishes says it (Gebru et al. 2021 ask for it in a data sheet).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from sfumato.core.clock import today
from sfumato.errors import ParameterError
from sfumato.release.card import Card

LONGEST = 200


@dataclass(frozen=True)
class Naming:
    """Names for a card and its statement; what is not given stays as the card has it, and the day is today's.

    >>> Naming(title="Visits in spring").title
    'Visits in spring'
    >>> Naming(dataset=" ")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the dataset ' ' is no name; give one line of 1 to 200 characters
    """

    title: str | None = None
    dataset: str | None = None
    signed_by: str | None = None

    def __post_init__(self) -> None:
        for what in ("title", "dataset", "signed_by"):
            given = getattr(self, what)
            if given is not None and not (given.strip() and given.isprintable() and len(given) <= LONGEST):
                raise ParameterError(
                    f"the {what.replace('_', ' ')} {given[:LONGEST]!r} is no name; give one line of 1 to {LONGEST} "
                    "characters"
                )

    def name(self, card: Card) -> Card:
        """Return the card with these names and the day; a card that has a day keeps it.

        >>> from sfumato.release.card import Guarantee, Released
        >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
        ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[])
        >>> named = Naming(dataset="Clinic").name(card)
        >>> named.dataset, named.title, len(named.date)
        ('Clinic', None, 10)
        """
        return msgspec.structs.replace(self.name_again(card), date=card.date or today())

    def name_again(self, card: Card) -> Card:
        """Return a card that left before, with these names; the day on which it left stays as it is."""
        return msgspec.structs.replace(
            card,
            title=self.title or card.title,
            dataset=self.dataset or card.dataset,
            signed_by=self.signed_by or card.signed_by,
        )


UNNAMED = Naming()
