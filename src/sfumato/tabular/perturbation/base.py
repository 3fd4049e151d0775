"""What all masking methods share: they change cells of named columns, shuffle the rows, and write an honest card.

Hundepool et al., "Statistical Disclosure Control" (2012, chapter 3), describe the methods. None of them bounds what an
attacker learns, so that the card promises nothing unless a method says otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl

from sfumato import plugins
from sfumato.core.cells import literal
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.groups import Groups
from sfumato.random import SecureSource, Source, permutation
from sfumato.release import Card, Finding, Release
from sfumato.release.card import Guarantee, MeasuredModel, Released, ReleasedColumn
from sfumato.release.plain_words import listed
from sfumato.release.row_counts import RowCounts
from sfumato.schema import Role, Schema
from sfumato.schema.kinds import is_missing
from sfumato.table import Table
from sfumato.table.coded import Held, take
from sfumato.tabular.base import Anonymizer
from sfumato.tabular.changes import coarsened_columns, dropped_columns
from sfumato.tabular.coarsen import rules_on_card
from sfumato.tabular.perturbation.draft import MaskingDraft
from sfumato.tabular.uniqueness import refuse_unique, unique_warnings
from sfumato.version import __version__

NO_PROMISE = Guarantee(model="none", parameters={}, unit="none")
UNPROVEN = (
    "No bound is known on what an attacker learns from this method. How many people its attacks found was measured on "
    "the rows themselves, for the steward alone."
)
ONLY_ONE = (
    "This is the only release of these rows: whoever has a second one, changed anew, can compare the two and undo a "
    "part of the changes."
)
SEEDED = "drawn and shuffled from a seed: whoever knows the seed can undo the method: for tests only"
SEVERAL_ROWS = (
    "some persons have several rows, and each row is changed on its own: what they have in common can be told from all "
    "of them together"
)


@dataclass(frozen=True, eq=False)
class Masked:
    """What a method made of a table: the columns it changed, and what the card and the steward are told.

    `steward` and `notes` come from the original rows and never reach the card.
    """

    columns: Mapping[str, pl.Series]
    changes: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    assumptions: Sequence[str] = (UNPROVEN, ONLY_ONE)
    warnings: Sequence[str] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    models: Sequence[MeasuredModel] = ()
    guarantee: Guarantee = NO_PROMISE
    audits: Sequence[Finding] = ()
    steward: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()


class MaskingAnonymizer(Anonymizer):
    """An anonymizer that changes cells and needs no model; a class writes `mask`, and `claims` if its file shows some.

    >>> import sfumato as sf
    >>> isinstance(sf.RankSwapping(), MaskingAnonymizer), sf.RankSwapping().accepts(sf.KAnonymity(2))
    (True, False)
    """

    needs_models: ClassVar[bool] = False

    @abstractmethod
    def mask(self, draft: MaskingDraft) -> Masked:
        """Return the changed columns, row by row in the table's order."""

    @classmethod
    def claims(cls, card: Card, table: Table) -> list[Finding]:
        """Return what became of the claims of a card that its released table can show; none unless a class has some."""
        del card, table
        return []

    def accepts(self, model: Model) -> bool:
        del model
        return False

    def anonymize(
        self, table: Table, schema: Schema, models: Sequence[Model] = (), *, rng: Source | None = None
    ) -> Release:
        """Return the masked table, its rows shuffled; `rng=None` is the secure source.

        >>> import sfumato as sf
        >>> people = sf.Table.from_frame(sf.samples.patients(100))
        >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
        >>> release = sf.RankSwapping().anonymize(people, schema)
        >>> sorted(release.frame["age"].to_list()) == sorted(people.frame["age"].to_list())
        True
        >>> sf.RankSwapping().anonymize(people, schema, [sf.KAnonymity(2)])
        Traceback (most recent call last):
        sfumato.errors.ParameterError: rank-swapping cannot promise k-anonymity; leave the model out, or choose an \
algorithm that keeps it, for example mondrian
        """
        self._refuse_models(models)
        source = SecureSource() if rng is None else rng
        draft = MaskingDraft.of(table, schema, models, source)
        masked = self.mask(draft)
        kept = {name: one for name, one in draft.unique.items() if name not in masked.columns}
        refuse_unique(kept, draft.schema)
        written = [_written(draft, masked, name) for name in draft.released]
        order = permutation(draft.table.rows, source)
        released = draft.table.made_of([take(column, order) for column in written])
        groups = _classes(draft, Table(pl.DataFrame([_column(one) for one in written])))
        card = self._card(draft, masked, groups, seeded=not source.secure)
        return Release(released, card, steward=masked.steward, notes=masked.notes)

    def settings(self) -> dict[str, Any]:
        """The method's own parameters, as they stand on the card."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]

    def _refuse_models(self, models: Sequence[Model]) -> None:
        for model in models:
            if not self.accepts(model):
                raise ParameterError(
                    f"{self.algorithm} cannot promise {model.name}; leave the model out, or choose an algorithm that "
                    "keeps it, for example mondrian"
                )

    def _card(self, draft: MaskingDraft, masked: Masked, groups: Groups, *, seeded: bool) -> Card:
        columns = draft.schema.columns
        measures = {**_measures(groups), **masked.measures}
        released = Released(
            rows=draft.table.rows,
            columns=[_on_card(draft, name) for name in draft.released],
            classes=groups.count,
            models=list(masked.models),
            measures=measures,
            settings={**self.settings(), **masked.settings, **rules_on_card(columns.values())},
        )
        card = Card(
            version=__version__,
            door="table",
            algorithm=self.algorithm,
            guarantee=masked.guarantee,
            assumptions=[*masked.assumptions, *self.notes],
            released=released,
            audits=list(masked.audits),
            warnings=_warnings(draft, masked, seeded=seeded),
        )
        told = [*dropped_columns(draft.schema), *masked.changes, *coarsened_columns(columns.values())]
        counts = RowCounts.of(card, masked.steward)
        return _replace_changes(card, [*told, *counts.changes()])


def masking_class(algorithm: str) -> type[MaskingAnonymizer] | None:
    """Return the masking method that a card names, or None where it names another algorithm.

    >>> masking_class("rank-swapping").__name__, masking_class("mondrian")
    ('RankSwapping', None)
    """
    kind = plugins.every("anonymizers", Anonymizer).get(algorithm)
    return kind if kind is not None and issubclass(kind, MaskingAnonymizer) else None


def _replace_changes(card: Card, changes: list[str]) -> Card:
    import msgspec

    return msgspec.structs.replace(card, changes=changes)


def _on_card(draft: MaskingDraft, name: str) -> ReleasedColumn:
    attribute = draft.schema.columns[name]
    return ReleasedColumn(
        name=name, role=str(attribute.role), type=None if attribute.kind is None else str(attribute.kind)
    )


def _written(draft: MaskingDraft, masked: Masked, name: str) -> Held:
    """Return a column as it leaves: no word of a quasi-identifier is written so that it reads as a range or a star."""
    if name not in masked.columns and draft.schema.columns[name].role is not Role.QUASI:
        return draft.table.held(name)
    column = masked.columns.get(name)
    if column is not None:
        return column.alias(name)
    return quoted(draft.table.column(name), draft.schema.columns[name].missing)


def quoted(column: pl.Series, marks: tuple[str, ...]) -> pl.Series:
    """Return words in the grammar of published cells, missing marks as they are.

    >>> quoted(pl.Series(["F", "*", "?"]), ("?",)).to_list()
    ['F', '"*"', '?']
    """
    if column.dtype != pl.String:
        return column
    words = column.filter(~is_missing(column, marks)).unique()
    odd = {word: shown for word in words.to_list() if (shown := literal(word)) != word}
    return column.replace(list(odd), list(odd.values())) if odd else column


def _column(held: Held) -> pl.Series:
    from sfumato.table.coded import cells

    return cells(held)


def _classes(draft: MaskingDraft, written: Table) -> Groups:
    """Return the classes that the released quasi-identifiers form, `*` being a value of its own."""
    texts = [written.column(name).cast(pl.String).fill_null("") for name in draft.schema.names(Role.QUASI)]
    numbers = pl.DataFrame(texts).select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy()
    return Groups.of(numbers.astype(np.int64) - 1, {}, draft.person)


def _measures(groups: Groups) -> dict[str, float]:
    return {
        "smallest_class": int(groups.units.min()),
        "largest_class": int(groups.units.max()),
        "average_class": round(groups.rows / groups.count, 4),
        "discernibility": int(np.dot(groups.sizes, groups.sizes)),
    }


def _warnings(draft: MaskingDraft, masked: Masked, *, seeded: bool) -> list[str]:
    kept = {name: one for name, one in draft.unique.items() if name not in masked.columns}
    warnings = unique_warnings(kept, draft.schema, draft.table)
    warnings += [] if draft.table.intake is None else draft.table.intake.warnings
    same = [name for name in draft.schema.names(Role.QUASI) if name not in masked.columns]
    if same:
        warnings.append(f"quasi-identifiers released unchanged: {listed(same)}")
    others = [name for name in draft.released if name not in (*same, *masked.columns)]
    if others:
        warnings.append(f"released unchanged: {listed(others)}")
    if draft.repeats:
        warnings.append(SEVERAL_ROWS)
    return [*warnings, *masked.warnings, *([SEEDED] if seeded else [])]
