"""The steward's report on a table release: what is promised, what is not, what was lost, what risk remains.

The parts are those that Hundepool et al. 2012 and El Emam 2013 ask of a documented release.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.release import Finding, Release
from sfumato.report.chapters.evidence import Evidence
from sfumato.report.chapters.loss import before_and_after, class_sizes, loss_per_column, rows_and_columns
from sfumato.report.chapters.promise import limits, promised, public_card
from sfumato.report.chapters.risk import risks_before_and_after
from sfumato.report.chapters.verdicts import found
from sfumato.report.page.markup import Markup, element, joined, tiles
from sfumato.report.page.overview import Gist
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent, pledge, promise, units
from sfumato.schema import Schema
from sfumato.table import Table

TITLE = "Release of a table"
RAW = "Counts, losses, histograms and risks are measured against the original rows."
SECTIONS = {
    "Rows and columns": rows_and_columns,
    "Class sizes": class_sizes,
    "Loss per column": loss_per_column,
    "Before and after": before_and_after,
    "Risks": risks_before_and_after,
}


def table_report(table: Table, schema: Schema, release: Release, *, title: str | None = None) -> str:
    """Return the report on `release`, made from `table`, as one self-contained HTML text.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> page = table_report(people, schema, sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)]))
    >>> "Every combination of age and sex is shared by at least 10 rows." in page
    True
    """
    return collect(title or TITLE, [table_chapter(table, schema, release, heading=title or TITLE)])


def table_chapter(
    table: Table,
    schema: Schema,
    release: Release,
    *,
    heading: str = TITLE,
    findings: Sequence[Finding] | None = None,
) -> Chapter:
    """Return the report's chapter on a table release, to stand alone or beside those of other releases.

    `findings` are those of attacks on the release; without them the card's audits are shown.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [30, 31, 60, 61]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> chapter = table_chapter(people, schema, sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(2)]))
    >>> [section.heading for section in chapter.sections][:3]
    ['What is promised', 'What attacks found', 'What is not promised']
    """
    evidence = Evidence.of(table, schema, release)
    tried = release.card.audits if findings is None else findings
    sections = [
        Section("What is promised", promised(release.card, evidence.quasi)),
        Section("What attacks found", found(tried)),
        Section("What is not promised", limits([release.card])),
        *(Section(name, part(evidence)) for name, part in SECTIONS.items()),
        Section("The public card", public_card(release.card)),
    ]
    classes = f" in {count(len(evidence.sizes))} classes" * (release.card.released.classes is not None)
    left = f"{count(release.table.rows)} rows{classes}"
    gist = Gist(release.card.door, left, pledge(release.card), tried)
    return Chapter(heading, _summary(evidence), sections, RAW, [gist])


def _summary(evidence: Evidence) -> Markup:
    card, before, after = evidence.card, evidence.before, evidence.after
    promises = " ".join(promise(entry, card, evidence.quasi) for entry in card.released.models)
    released = f"{count(after.rows)} of {count(before.rows)}" if evidence.withheld else f"All {count(before.rows)}"
    fate = (
        f"{released} rows were released. Rows that were alone with their combination: "
        f"{count(before.uniques)} in the original, {count(after.uniques)} in the release."
    )
    return joined([element("p", promises, class_="lead"), element("p", fate), _tiles(evidence)])


def _tiles(evidence: Evidence) -> Markup:
    risks = [percent(risk.prosecutor_max) for risk in (evidence.risk_before, evidence.risk_after)]
    smallest = evidence.card.released.measures.get("smallest_class", evidence.after.k)
    return tiles(
        {
            "Rows released": f"{count(evidence.after.rows)} of {count(evidence.before.rows)}",
            f"Smallest class, in {units(evidence.card)}": count(smallest),
            "Highest risk of being found": " → ".join(risks),
            **_lost(evidence),
        }
    )


def _lost(evidence: Evidence) -> dict[str, str]:
    if evidence.information_loss is not None:
        return {"Information loss": percent(evidence.information_loss)}
    return {"Detail lost on average": percent(evidence.utility.gcp)}
