"""Differentially private tables: charged before they are drawn, attacked before they are handed out, with their card.

What a card of a private release may say is post-processing of what is released (Dwork & Roth 2014, proposition 2.1).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import msgspec

from sfumato import plugins
from sfumato.core.seam import choose
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.promise import Cost, Metric, Neighbours, PerRow, Promise, ProtectRows, derive
from sfumato.random import SecureSource, Source
from sfumato.random.laws import Uniform
from sfumato.release import Release
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.base import Anonymizer
from sfumato.tabular.charge import Charge
from sfumato.tabular.level_rules import refuse_unkept
from sfumato.tabular.private.public_columns import PublicColumn
from sfumato.version import __version__

CARD_TRIALS = 200  # runs of an algorithm on made-up rows, for the card: a few seconds
ROWS = Metric(ProtectRows(), Neighbours.PRESENCE)
ASSUMPTIONS = (
    "Every person has at most one row; where a person has more, the promise to that person weakens by their number.",
    "Types, bounds, categories and hierarchies were declared without looking at the rows.",
    "Other releases of the same rows add to the loss; a ledger adds them up.",
)
SEEDED = "drawn from a seed: whoever knows the seed can undo the protection: for tests only, promises nothing"


@dataclass(frozen=True, eq=False)
class PrivateDraw:
    """A private table before it is drawn: what it promises, what a ledger remembers it by, and how it is drawn."""

    promise: Promise
    asked: Mapping[str, Any]
    draw: Callable[[Source], Release]


class PrivateAnonymizer(Anonymizer):
    """An anonymizer whose releases are differentially private: paid for first, and attacked before they leave.

    >>> import sfumato as sf
    >>> isinstance(sf.PrivateMondrian(epsilon=1), PrivateAnonymizer)
    True
    """

    private: ClassVar[bool] = True
    needs_models: ClassVar[bool] = False
    epsilon: float

    @classmethod
    def from_options(cls, given: Mapping[str, Any], *, called: str, **fixed: Any) -> Self:
        """Return an instance made of command-line options; the privacy loss has no default.

        >>> import sfumato as sf
        >>> sf.PrivateMondrian.from_options({"depth": 4}, called="private-mondrian")
        Traceback (most recent call last):
        sfumato.errors.ParameterError: private-mondrian needs --epsilon, for example --epsilon 0.1
        """
        if "epsilon" not in given:
            raise ParameterError(f"{called} needs --epsilon, for example --epsilon 0.1")
        return super().from_options(given, called=called, **fixed)

    @abstractmethod
    def prepare(self, table: Table, schema: Schema, models: Sequence[Model]) -> PrivateDraw:
        """Return what a release costs and how it is drawn, or refuse; nothing is drawn, and no row can refuse."""

    def anonymize(
        self,
        table: Table,
        schema: Schema,
        models: Sequence[Model] = (),
        *,
        rng: Source | None = None,
        charge: Charge | None = None,
        audit: bool = True,
    ) -> Release:
        """Return the release; with a `charge`, it is paid for first.

        The card says what the attack found that the class declares, run on made-up rows with randomness of its own;
        `audit=False` leaves it out, which saves a few seconds where many releases are drawn.
        """
        refuse_unkept(self, schema)
        prepared = self.prepare(table, schema, models)
        draw = partial(prepared.draw, SecureSource() if rng is None else rng)
        release = draw() if charge is None else charge.release(table, dict(prepared.asked), prepared.promise, draw)
        return self._attack(release) if audit and self.audit is not None else release

    def _attack(self, release: Release) -> Release:
        """Return the release with what its attack found on its card."""
        attack = plugins.load_object(str(self.audit))
        law = Uniform("attack on made-up rows")  # no row of the table decides what it finds
        findings = choose(lambda: law, lambda: attack(release.card, CARD_TRIALS, None))
        return replace(release, card=msgspec.structs.replace(release.card, audits=findings))


def row_promise(cost: Cost) -> Promise:
    """Return the promise of an algorithm whose proof is for one row that is there or not: every row counts once.

    >>> row_promise(Cost(epsilon=1)).cost_for(ProtectRows(), Neighbours.VALUE).epsilon
    Decimal('2')
    """
    return derive(ROWS, [], PerRow(cost, Neighbours.PRESENCE))


def private_card(
    *,
    algorithm: str,
    guarantee: Guarantee,
    released: Released,
    notes: Sequence[str],
    secure: bool,
    changes: Sequence[str] = (),
) -> Card:
    """Return the card of a private table; `notes` join the assumptions, `changes` come from public numbers alone."""
    return Card(
        version=__version__,
        door="table",
        algorithm=algorithm,
        guarantee=guarantee,
        assumptions=[*ASSUMPTIONS, *notes],
        released=released,
        warnings=[] if secure else [SEEDED],
        changes=list(changes),
    )


def released_columns(columns: Sequence[PublicColumn]) -> list[ReleasedColumn]:
    """Return the released columns as they stand on a card."""
    attributes = [column.attribute for column in columns]
    return [ReleasedColumn(name=one.name, role=str(one.role), type=str(one.kind)) for one in attributes]
