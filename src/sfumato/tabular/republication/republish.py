"""A table published again: no attack on the series of its releases may find anybody.

Two layers: BPG (Barbosa, Pinto & Gomes 2012) repairs what any anonymizer proposes; m-invariance (Xiao & Tao
2007) groups the rows itself, and keeps its promise when people come and go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import msgspec
import polars as pl

from sfumato.core.parameters import OneOf, Validated
from sfumato.errors import BrokenPromiseError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.models.base import Model
from sfumato.random import SecureSource, Source
from sfumato.release import Card, Release
from sfumato.release.finding import NOT_REFUTED, Finding
from sfumato.release.row_counts import RowCounts
from sfumato.schema import Role, Schema
from sfumato.series.space import ExposureSearch
from sfumato.table import Table
from sfumato.tabular.base import Anonymizer, PartitionAnonymizer
from sfumato.tabular.card import ONLY_RELEASE
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.problem import Problem
from sfumato.tabular.republication.bpg import Series, repair
from sfumato.tabular.republication.draft import Draft
from sfumato.tabular.republication.history import History, Signatures
from sfumato.tabular.republication.m_invariance import InvariantRows
from sfumato.tabular.republication.people import CHANGED, UNCHECKED, People

LAYERS = {"bpg": "BPG", "m-invariance": "m-invariance"}
IN_SERIES = (
    "An attacker has all releases of this series, knows quasi-identifiers and in which releases a person is, "
    "and compares releases by intersection and by difference; sensitive values do not change between releases."
)
INCOMPLETE = "the releases are too many or too entangled for every combination to be compared; some were left out"
LEAST_MOVE = 0.0005  # of a share: less is not worth a line
LEFT_OUT = "rows that could not be published safely beside the earlier releases were left out"


@dataclass(frozen=True)
class Layered(Validated):
    """A request for a layer over an anonymizer, validated.

    >>> Layered("bgp", Mondrian())
    Traceback (most recent call last):
    sfumato.errors.ParameterError: The 'layer' parameter of Layered must be one of 'bpg', 'm-invariance'. \
Got 'bgp' instead.
    """

    layer: str
    anonymizer: PartitionAnonymizer

    RULES: ClassVar = {"layer": OneOf(tuple(LAYERS))}

    def publish(self, problem: Problem, past: History, series: Series, source: Source) -> tuple[Release, Signatures]:
        """Return a release that is safe beside the earlier ones, and the signatures to record with it."""
        if self.layer == "bpg":
            draft = repair(Draft.of(problem, self.anonymizer.partition(problem).rows), series, whole=False)
            release = self._publish_draft(draft, series, source)
            return _with_counts(
                release, problem.table.rows, rows_suppressed=problem.table.rows - release.table.rows
            ), {}
        known = past.signatures()
        rows = InvariantRows.of(problem, known, max(series.least.values()), source)
        draft = repair(Draft.of(rows.problem, rows.groups), series, whole=True)
        release, counterfeits = self._publish_draft(draft, series, source), rows.count(draft)
        suppressed = problem.table.rows - (release.table.rows - counterfeits)
        release = _with_counts(release, problem.table.rows, counterfeit_rows=counterfeits, rows_suppressed=suppressed)
        moved = [moved_share(problem.table.column(name), release.table.column(name)) for name in series.least]
        release = replace(release, notes=[*release.notes, *filter(None, moved)])
        return release, {**known, **rows.kept_signatures(draft)}

    def _publish_draft(self, draft: Draft, series: Series, source: Source) -> Release:
        """Return the release of a repaired draft, once the attacks on the finished table found nobody."""
        if draft.count == 0:
            raise UnsatisfiableError(
                "nothing of this table can be published safely beside the earlier releases; wait for more rows"
            )
        release = self.anonymizer.publish(*draft.finish(), source)
        searches = {name: series.find_exposures(name, release.table.frame) for name in series.least}
        if any(search.exposures for search in searches.values()):
            raise BrokenPromiseError("the release was withheld: beside earlier ones it exposes somebody; report it")
        return replace(release, card=self._card(release.card, searches, series.releases + 1))

    def _card(self, card: Card, searches: Mapping[str, ExposureSearch], releases: int) -> Card:
        parameters = {**card.guarantee.parameters, "series": self.layer, "releases": releases}
        model = f"{card.guarantee.model}, in series by {LAYERS[self.layer]}"
        audits = [
            Finding(
                claim=f"the releases together leave every person at least {search.least} values of '{name}'",
                verdict=NOT_REFUTED,
                bound=search.least,
                evidence={
                    "releases": releases,
                    "attacks": ["intersection", "difference"],
                    "complete": search.complete,
                },
            )
            for name, search in searches.items()
        ]
        return msgspec.structs.replace(
            card,
            guarantee=msgspec.structs.replace(card.guarantee, model=model, parameters=parameters),
            assumptions=[*(text for text in card.assumptions if text != ONLY_RELEASE), IN_SERIES],
            audits=[*card.audits, *audits],
            warnings=[
                *card.warnings,
                *([INCOMPLETE] if any(not found.complete for found in searches.values()) else []),
            ],
        )


def republish(  # noqa: PLR0913  # what is published, beside what, and how
    table: Table,
    schema: Schema,
    models: Sequence[Model],
    history: str | Path,
    anonymizer: Anonymizer | None = None,
    *,
    layer: Literal["bpg", "m-invariance"] = "bpg",
    changed: Literal["refuse", "warn"] = "refuse",
    rng: Source | None = None,
) -> Release:
    """Return a release of `table` that is safe beside all releases in the `history` folder, and record it there.

    The release is recorded before it is returned: after a crash the series may count a table that nobody
    got, never miss one that somebody has. Where a column names the persons, sensitive values that have changed since
    an earlier release are refused, or with `changed="warn"` stand as a warning on the card.

    >>> import tempfile, sfumato as sf
    >>> folder = Path(tempfile.mkdtemp()) / "series"
    >>> schema = Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> people, models = sf.samples.patients(300), [sf.KAnonymity(5), sf.LDiversity(2, "disease")]
    >>> first = republish(Table(people.head(250)), schema, models, folder)
    >>> second = republish(Table(people), schema, models, folder)
    >>> second.card.guarantee.parameters["releases"]
    2
    """
    request = Layered(layer, _with_boxes(Mondrian() if anonymizer is None else anonymizer))
    _refuse_models(models)
    _refuse_moving_values(schema)
    with History.open(history) as past:
        problem = Problem.of(table, schema, list(models))
        quasi, sensitive = problem.schema.names(Role.QUASI), problem.schema.names(Role.SENSITIVE)
        if not sensitive:
            raise SchemaError("a series is attacked through its sensitive values; declare a sensitive column")
        kept = {name: least(models, name) for name in sensitive}
        past.refuse_other_series(layer, quasi, sensitive, kept)
        people = People.of(problem, sensitive, past.values())
        if people is not None and changed == "refuse":
            people.refuse_changed()
        series = Series.of(past.tables(), problem.schema, kept)
        release, signatures = request.publish(problem, past, series, SecureSource() if rng is None else rng)
        past.refuse_other_columns(release.table.names)
        release = _with_people(release, people)
        past.record(release, layer, (quasi, sensitive), signatures, kept, None if people is None else people.recorded)
    return release


def _with_people(release: Release, people: People | None) -> Release:
    """Return the release with what its steward hears about the people, and a warning if values have changed."""
    if people is None:
        return replace(release, notes=[*release.notes, UNCHECKED])
    card = release.card
    if people.changed:
        card = msgspec.structs.replace(card, warnings=[*card.warnings, CHANGED])
    return replace(release, card=card, notes=[*release.notes, *people.notes()])


def moved_share(before: pl.Series, after: pl.Series) -> str | None:
    """Return which value's share of a column grew most, where rows were added or left out; None where none did.

    >>> moved_share(pl.Series("income", ["high", "low", "low"]), pl.Series("income", ["high", "high", "low", "low"]))
    "income: 'high' has 33.3 % of the rows read and 50.0 % of the released rows"
    """
    counted = [
        dict(side.cast(pl.String).fill_null("").alias("value").value_counts().iter_rows()) for side in (before, after)
    ]
    shares = {
        value: tuple(counts.get(value, 0) / max(1, sum(counts.values())) for counts in counted)
        for value in sorted({*counted[0], *counted[1]})
    }
    value = max(shares, key=lambda word: shares[word][1] - shares[word][0])
    read, released = shares[value]
    if released - read < LEAST_MOVE:
        return None
    return (
        f"{before.name}: '{value}' has {100 * read:.1f} % of the rows read and {100 * released:.1f} % of the "
        "released rows"
    )


def _with_counts(release: Release, read: int, *, rows_suppressed: int, **counts: int) -> Release:
    """Return the release with its counts: those of released rows on the card, of rows left out for the steward."""
    card = release.card
    measures = {**card.released.measures, **counts}
    warnings = [*card.warnings, LEFT_OUT] if rows_suppressed else card.warnings
    released = msgspec.structs.replace(card.released, measures=measures)
    steward = {**release.steward, "rows_suppressed": rows_suppressed}
    told = msgspec.structs.replace(card, released=released, warnings=warnings)
    changes = [*card.changes, *RowCounts.of(told, steward, read).changes()]
    return replace(release, card=msgspec.structs.replace(told, changes=changes), steward=steward)


def least(models: Sequence[Model], column: str) -> int:
    """Return how many values of a column a series must leave everybody: the l asked for, or 2.

    >>> from sfumato.models import LDiversity
    >>> least([LDiversity(3, "disease")], "disease"), least([LDiversity(3, "disease")], "income")
    (3, 2)
    """
    asked = [model.distinct_values for model in models if model.sensitive == column]
    return max([2, *(math.ceil(number - 1e-9) for number in asked if number is not None)])


def _with_boxes(anonymizer: Anonymizer) -> PartitionAnonymizer:
    """Return the anonymizer if it finds classes that a series of releases can go on with."""
    if not isinstance(anonymizer, PartitionAnonymizer):
        raise ParameterError(
            f"{anonymizer.algorithm} makes private tables, which a series of classes cannot go on with"
        )
    if not anonymizer.has_boxes:
        raise ParameterError(f"{anonymizer.algorithm} has no boxes that a series could widen; choose another algorithm")
    return anonymizer


def _refuse_moving_values(schema: Schema) -> None:
    """Refuse a rule under which a person's value changes when other rows come or go."""
    for name, attribute in schema.columns.items():
        if attribute.coarsen is not None and attribute.coarsen.microaggregate is not None:
            raise SchemaError(
                f"column '{name}': coarsening {attribute.coarsen.text} gives a person another value in each release; "
                "declare round, bands, top, bottom or period for a series"
            )


def _refuse_models(models: Sequence[Model]) -> None:
    for model in models:
        if not model.suppression_monotone:
            raise ParameterError(
                f"{model.name} does not survive leaving out rows, which a series may need; "
                "ask for k-anonymity or l-diversity"
            )
