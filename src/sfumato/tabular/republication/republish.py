"""A table published again: no attack on the series of its releases may find anybody.

Three layers: the exact one repairs what any anonymizer proposes until an attacker who adds up finds nobody; BPG
(Barbosa, Pinto & Gomes 2012) does so against difference and intersection; m-invariance (Xiao & Tao 2007) groups the
rows itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
from sfumato.schema.attribute import LEVELS
from sfumato.table import Table
from sfumato.tabular.base import Anonymizer, PartitionAnonymizer
from sfumato.tabular.card import ONLY_RELEASE
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.problem import Problem
from sfumato.tabular.republication.bpg import Series, merge_failing, repair
from sfumato.tabular.republication.draft import Draft
from sfumato.tabular.republication.exact import Watched, attest, repair_exactly, units_of
from sfumato.tabular.republication.history import History, Members, Signatures
from sfumato.tabular.republication.invariant_rows import InvariantRows, invariant_card
from sfumato.tabular.republication.people import CHANGED, UNCHECKED, People

LAYERS = {"exact": "exact audit", "bpg": "BPG", "m-invariance": "m-invariance"}
COMPARES = (
    "An attacker has all releases of this series, knows quasi-identifiers and in which releases a person is, "
    "and compares releases by intersection and by difference; sensitive values do not change between releases."
)
IN_SERIES = {
    "exact": (
        "An attacker has all releases of this series, knows everybody's quasi-identifiers, in which releases each "
        "person is and in which class, and adds up all published counts; a person's sensitive values do not change "
        "between releases, or the attacker knows that they did. The attacker does not know how classes were chosen."
    ),
    "bpg": f"{COMPARES} An attacker who knows everybody and adds up counts may learn more; nobody checked that.",
    "m-invariance": COMPARES,
}
SHORT = "earlier releases left some persons fewer values or records than is asked now; this release takes nothing more"
MUCH_MERGED = 4  # so many times fewer classes than proposed are worth a word
SMALLER = "no column names the persons, so the layer is bpg, which promises less than exact; see the card"
NO_PERSONS = (
    "the exact layer follows persons from release to release; declare the column that names them (--person), or choose "
    "--layer bpg, which promises less"
)
INCOMPLETE = "the releases are too many or too entangled for every combination to be compared; some were left out"
LEAST_MOVE = 0.0005  # of a share: less is not worth a line
LEFT_OUT = "rows that could not be published safely beside the earlier releases were left out"


@dataclass(frozen=True)
class Secrets:
    """What a layer must remember of the people in a release."""

    signatures: Signatures = field(default_factory=dict)
    members: Members | None = None


@dataclass(frozen=True)
class Layered(Validated):
    """A request for a layer over an anonymizer, validated.

    >>> Layered("bgp", Mondrian())
    Traceback (most recent call last):
    sfumato.errors.ParameterError: The 'layer' parameter of Layered must be one of 'exact', 'bpg', 'm-invariance'. \
Got 'bgp' instead.
    """

    layer: str
    anonymizer: PartitionAnonymizer

    RULES: ClassVar = {"layer": OneOf(tuple(LAYERS))}

    def publish(self, problem: Problem, past: History, series: Series, source: Source) -> tuple[Release, Secrets]:
        """Return a release that is safe beside the earlier ones, and what must be recorded with it."""
        if self.layer == "m-invariance":
            return self._publish_invariant(problem, past, series, source)
        if self.layer == "exact" and problem.schema.person is None:
            raise SchemaError(NO_PERSONS)
        draft = Draft.of(problem, self.anonymizer.partition(problem).rows)
        if self.layer == "exact":
            release, secrets = self._publish_exact(draft, past, series, source)
        else:
            release, secrets = self._publish_draft(repair(draft, series, whole=False), series, source), Secrets()
        suppressed = problem.table.rows - release.table.rows
        return _with_counts(release, problem.table.rows, rows_suppressed=suppressed), secrets

    def _publish_exact(self, draft: Draft, past: History, series: Series, source: Source) -> tuple[Release, Secrets]:
        """Return the release of a draft repaired until an exact audit finds nobody, and who is in which class."""
        problem = draft.problem
        past.refuse_fewer_records(problem.least_units)
        members = [one.classes for one in past.members()]
        units = units_of(problem, list(series.least))
        watched = Watched(series.earlier, members, series.least, problem.least_units, units)
        proposed = draft.count
        draft = repair_exactly(draft, watched)
        _refuse_nothing(draft)
        release = self.anonymizer.publish(*draft.finish(), source)
        findings, classes = attest(release, draft, watched)
        card = self._series_card(release.card, findings, series.releases + 1, [SHORT] if watched.short else [])
        notes = [*release.notes, *_few_classes(proposed, draft.count)]
        release = replace(release, card=card, notes=notes)
        return release, Secrets(members=Members(records=problem.least_units, classes=classes))

    def _publish_invariant(
        self, problem: Problem, past: History, series: Series, source: Source
    ) -> tuple[Release, Secrets]:
        known, m = past.signatures(), max(series.least.values())
        rows = InvariantRows.of(problem, known, m, source)
        draft = merge_failing(Draft.of(rows.problem, rows.groups))
        signatures = rows.checked_signatures(draft, known, m)
        release = self.anonymizer.publish(*draft.finish(), source)
        release = replace(release, card=invariant_card(release.card, m, series.releases + 1))
        counts = {"counterfeit_rows": rows.counterfeits, "rows_suppressed": 0}
        release = _with_counts(release, problem.table.rows, **counts)
        moved = [moved_share(problem.table.column(name), release.table.column(name)) for name in series.least]
        release = replace(release, notes=[*release.notes, *filter(None, moved)])
        return release, Secrets(signatures={**known, **signatures})

    def _publish_draft(self, draft: Draft, series: Series, source: Source) -> Release:
        """Return the release of a repaired draft, once the attacks on the finished table found nobody."""
        _refuse_nothing(draft)
        release = self.anonymizer.publish(*draft.finish(), source)
        searches = {name: series.find_exposures(name, release.table.frame) for name in series.least}
        if any(search.exposures for search in searches.values()):
            raise BrokenPromiseError("the release was withheld: beside earlier ones it exposes somebody; report it")
        findings = [
            Finding(
                claim=f"the releases together leave every person at least {search.least} values of '{name}'",
                verdict=NOT_REFUTED,
                bound=search.least,
                evidence={
                    "releases": series.releases + 1,
                    "attacks": ["intersection", "difference"],
                    "complete": search.complete,
                },
            )
            for name, search in searches.items()
        ]
        warnings = [INCOMPLETE] if any(not found.complete for found in searches.values()) else []
        return replace(release, card=self._series_card(release.card, findings, series.releases + 1, warnings))

    def _series_card(self, card: Card, audits: list[Finding], releases: int, warnings: list[str]) -> Card:
        parameters = {**card.guarantee.parameters, "series": self.layer, "releases": releases}
        model = f"{card.guarantee.model}, in series by {LAYERS[self.layer]}"
        return msgspec.structs.replace(
            card,
            guarantee=msgspec.structs.replace(card.guarantee, model=model, parameters=parameters),
            assumptions=[*(text for text in card.assumptions if text != ONLY_RELEASE), IN_SERIES[self.layer]],
            audits=[*card.audits, *audits],
            warnings=[*card.warnings, *warnings],
        )


def _few_classes(proposed: int, left: int) -> list[str]:
    """Return what the steward must hear where few of the proposed classes are left."""
    if left * MUCH_MERGED > proposed:
        return []
    classes = "class is" if left == 1 else "classes are"
    sentence = (
        f"of {proposed:,} proposed classes {left:,} {classes} left: more would expose somebody beside the earlier "
        "releases; where people come and go, a series of its own with --layer m-invariance keeps more detail"
    )
    return [sentence]


def _refuse_nothing(draft: Draft) -> None:
    if draft.count == 0:
        raise UnsatisfiableError(
            "nothing of this table can be published safely beside the earlier releases; wait for more rows"
        )


def republish(  # noqa: PLR0913  # what is published, beside what, and how
    table: Table,
    schema: Schema,
    models: Sequence[Model],
    history: str | Path,
    anonymizer: Anonymizer | None = None,
    *,
    layer: Literal["exact", "bpg", "m-invariance"] | None = None,
    changed: Literal["refuse", "warn"] = "refuse",
    rng: Source | None = None,
) -> Release:
    """Return a release of `table` that is safe beside all releases in the `history` folder, and record it there.

    The release is recorded before it is returned: after a crash the series may count a table that nobody
    got, never miss one that somebody has. Where a column names the persons, sensitive values that have changed since
    an earlier release are refused, or with `changed="warn"` stand as a warning on the card. The layer, unless named, is
    that of the history; a new history takes "exact", or "bpg" where no column names the persons.

    >>> import tempfile, sfumato as sf
    >>> folder = Path(tempfile.mkdtemp()) / "series"
    >>> schema = Schema.from_roles(quasi=["age"], sensitive=["disease"], person="name", other="drop")
    >>> people, models = sf.samples.patients(300), [sf.KAnonymity(5), sf.LDiversity(2, "disease")]
    >>> first = republish(Table(people.head(250)), schema, models, folder)
    >>> second = republish(Table(people), schema, models, folder)
    >>> second.card.guarantee.parameters["releases"]
    2
    """
    request = Layered(layer or "exact", _with_boxes(Mondrian() if anonymizer is None else anonymizer))
    _refuse_models(models)
    _refuse_moving_values(schema)
    with History.open(history) as past:
        problem = Problem.of(table, schema, list(models))
        quasi, sensitive = problem.schema.names(Role.QUASI), problem.schema.names(Role.SENSITIVE)
        if not sensitive:
            raise SchemaError("a series is attacked through its sensitive values; declare a sensitive column")
        kept = {name: least(models, name) for name in sensitive}
        request = replace(request, layer=layer or past.layer or ("bpg" if schema.person is None else "exact"))
        past.refuse_other_series(request.layer, quasi, sensitive, kept)
        people = People.of(problem, sensitive, past.values())
        if people is not None and changed == "refuse":
            people.refuse_changed()
        series = Series.of(past.tables(), problem.schema, kept)
        release, secrets = request.publish(problem, past, series, SecureSource() if rng is None else rng)
        past.refuse_other_columns(release.table.names)
        release = _with_people(release, people)
        values = None if people is None else people.recorded
        if layer is None and request.layer == "bpg" and schema.person is None:
            release = replace(release, notes=[*release.notes, SMALLER])
        columns = (quasi, sensitive)
        told = past.record(release, request.layer, columns, secrets.signatures, kept, values, secrets.members)
    return replace(release, notes=[*release.notes, *told])


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
    """Refuse a rule under which a person's value changes when other rows come or go, and limits that are not kept."""
    for name, attribute in schema.columns.items():
        if attribute.coarsen is not None and attribute.coarsen.microaggregate is not None:
            raise SchemaError(
                f"column '{name}': coarsening {attribute.coarsen.text} gives a person another value in each release; "
                "declare round, bands, top, bottom or period for a series"
            )
        declared = next((key for key in LEVELS if getattr(attribute, key) is not None), None)
        if declared is not None:
            raise SchemaError(
                f"column '{name}' declares {declared}, and a series widens ranges as it must; leave it out"
            )


def _refuse_models(models: Sequence[Model]) -> None:
    for model in models:
        if not model.kept_in_series:
            raise ParameterError(
                f"{model.name} does not survive leaving out rows, which a series may need; "
                "ask for k-anonymity or l-diversity"
            )
