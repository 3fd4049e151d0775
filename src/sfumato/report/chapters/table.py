"""The steward's report on a table release: what is promised, what is not, what was lost, what risk remains.

The parts are those that Hundepool et al. 2012 and El Emam 2013 ask of a documented release. Loss per column is the
normalised certainty penalty of Xu et al. 2006, over the table that of Ghinita et al. 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.evaluate.utility import histogram, variance_lost
from sfumato.release import Finding, Release
from sfumato.report import charts
from sfumato.report.chapters.changes import rows_sentence, what_changed
from sfumato.report.chapters.evidence import Evidence
from sfumato.report.chapters.gate import gate_sections, is_gated
from sfumato.report.chapters.intake import intake_sections
from sfumato.report.chapters.promise import limits, names_and_day, promises_table, public_card
from sfumato.report.chapters.risk import ClassSizes, risks_before_and_after, sizes_and_chart
from sfumato.report.chapters.signing import card_warnings, table_warnings
from sfumato.report.chapters.utility import released_distances
from sfumato.report.page.markup import Markup, element, figure, fold, grid, join, tiles
from sfumato.report.page.overview import Gist, claims_table
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent, pledge, promise, units
from sfumato.schema import Kind, Role, Schema
from sfumato.schema.times import DAY
from sfumato.table import Table
from sfumato.table.parse_report import take_in

TITLE = "Release of a table"
RAW = "Counts, losses, histograms and risks are measured against the original rows."
FATES = {
    Role.IDENTIFIER: "Identifiers, dropped",
    Role.QUASI: "Quasi-identifiers, generalised",
    Role.SENSITIVE: "Sensitive, released as they are",
    Role.OTHER: "Others, released as they are, not protected",
}
LOSS = "0% means the exact value, 100% the column’s whole range."
CENTROIDS = "0% means the exact values, 100% one mean for all rows. Words have no variance."
DISTANCE = "Distance between the histograms before and after: 0% equal, 100% disjoint."
PICTURES = "A range or set is spread evenly over its values. Sensitive columns come last."


def table_report(
    table: Table,
    schema: Schema,
    release: Release,
    *,
    title: str | None = None,
    findings: Sequence[Finding] | None = None,
) -> str:
    """Return the report on `release`, made from `table`, as one self-contained HTML text.

    `findings` are those of attacks on the release; without them the card's audits are shown.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> page = table_report(people, schema, sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)]))
    >>> "Every combination of age and sex is shared by at least 10 rows." in page
    True
    """
    heading = title or release.card.title or TITLE
    chapter = table_chapter(table, schema, release, heading=heading, findings=findings)
    return collect(heading, [chapter], about=names_and_day(release.card))


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
    table = take_in(table, schema)
    evidence = Evidence.of(table, schema, release)
    tried = release.card.audits if findings is None else findings
    sections = [
        *gate_sections(tried),
        Section("What is promised", promises_table(release.card, evidence.quasi)),
        Section("What attacks found", claims_table([finding for finding in tried if not is_gated(finding)])),
        Section("What is not promised", limits([release.card])),
        *(Section(name, part(evidence)) for name, part in SECTIONS.items()),
        *intake_sections(table.intake),
        Section("The public card", public_card(release.card)),
    ]
    classes = f" in {count(len(evidence.sizes))} classes" * (release.card.released.classes is not None)
    left = f"{count(release.table.rows)} rows{classes}"
    gist = Gist(release.card.door, left, pledge(release.card), tried)
    warnings = [*card_warnings([release.card], tried), *table_warnings(evidence)]
    return Chapter(heading, _summary(evidence), sections, RAW, [gist], warnings)


def _summary(evidence: Evidence) -> Markup:
    card, before, after = evidence.card, evidence.before, evidence.after
    promises = " ".join(promise(entry, card, evidence.quasi) for entry in card.released.models)
    fate = (
        f"{rows_sentence(evidence.counts)} Unique rows: {count(before.uniques)} in the original, "
        f"{count(after.uniques)} in the release."
    )
    changed = what_changed(card, evidence.counts, evidence.release.notes)
    return join([element("p", promises, class_="lead"), element("p", fate), changed, _tiles(evidence)])


def _tiles(evidence: Evidence) -> Markup:
    risks = [percent(risk.prosecutor_max) for risk in (evidence.risk_before, evidence.risk_after)]
    smallest = evidence.card.released.measures.get("smallest_class", evidence.after.k)
    return tiles(
        {
            "Rows released": _rows_tile(evidence),
            f"Smallest class, in {units(evidence.card)}": count(smallest),
            "Highest risk of being found": " → ".join(risks),
            **_loss_tile(evidence),
        }
    )


def _rows_tile(evidence: Evidence) -> str:
    counts = evidence.counts
    added = f" + {count(counts.added)} of nobody" if counts.added else ""
    return f"{count(counts.released - counts.added)} of {count(counts.read)}{added}"


def _loss_tile(evidence: Evidence) -> dict[str, str]:
    if evidence.information_loss is not None:
        return {"Information loss": percent(evidence.information_loss)}
    return {"Detail lost on average": percent(evidence.utility.gcp)}


def rows_and_columns(evidence: Evidence) -> Markup:
    """Return how many rows were read, released and withheld, and what was done to the columns."""
    rows = [
        ["Rows in", count(evidence.before.rows)],
        ["Rows out", count(evidence.after.rows)],
        ["Rows withheld", count(evidence.withheld)],
        ["Rows added that belong to nobody", count(evidence.counts.added)],
        ["Rows with every quasi-identifier suppressed (*)", count(evidence.counts.starred)],
        ["Cells of quasi-identifiers suppressed (*)", count(evidence.suppressed_cells)],
    ]
    columns = (
        element("div", element("dt", fate), element("dd", ", ".join(names)))
        for role, fate in FATES.items()
        if (names := evidence.schema.names(role))
    )
    return element("div", grid("Rows", [], rows), element("dl", *columns, class_="columns"), class_="beside")


def class_sizes(evidence: Evidence) -> Markup:
    """Return how large the classes are, as a chart and in numbers."""
    asked = evidence.card.guarantee.parameters.get("k")
    least = asked if isinstance(asked, int) and not evidence.counts_persons else None
    return sizes_and_chart(ClassSizes.of(evidence.sizes), least, evidence.utility.discernibility)


def loss_per_column(evidence: Evidence) -> Markup:
    """Return the loss of each quasi-identifier, as a chart and in numbers."""
    if evidence.information_loss is not None:
        return _loss_of_centroids(evidence, evidence.information_loss)
    losses = {name: evidence.utility.columns[name] for name in evidence.quasi}
    ordered = dict(sorted(losses.items(), key=lambda item: -item[1].ncp))
    rows = [[name, percent(loss.ncp), percent(loss.histogram_distance)] for name, loss in ordered.items()]
    picture = figure("Loss of detail", charts.losses({name: loss.ncp for name, loss in ordered.items()}))
    numbers = grid("Loss, and distance of histograms", ["Column", "Loss", "Distance"], rows)
    average = f"The release loses {percent(evidence.utility.gcp)} of the detail, on average over all cells."
    return join(
        [
            element("p", f"{average} {LOSS} {DISTANCE}"),
            element("div", picture, numbers, class_="pictured"),
        ]
    )


def _loss_of_centroids(evidence: Evidence, loss: float) -> Markup:
    lost = variance_lost(evidence.table, evidence.schema, evidence.released)
    ordered = dict(sorted(lost.items(), key=lambda item: -item[1]))
    distances = evidence.utility.columns
    rows = [
        [name, percent(ordered[name]) if name in ordered else "–", percent(distances[name].histogram_distance)]
        for name in (*ordered, *(name for name in evidence.quasi if name not in ordered))
    ]
    parts = [grid("Variance lost, and distance of histograms", ["Column", "Loss", "Distance"], rows)]
    if ordered:
        parts.insert(0, figure("Variance lost", charts.losses(ordered)))
    lead = (
        f"Each group is released as its centroid, which loses {percent(loss)} of the variance. {CENTROIDS} {DISTANCE}"
    )
    return join([element("p", lead), element("div", *parts, class_="pictured")])


def before_and_after(evidence: Evidence) -> Markup:
    """Return a picture of each quasi-identifier and sensitive column, original and released."""
    key = element(
        "p",
        element("span", "before: filled", class_="key before"),
        " ",
        element("span", "after: line or diamond", class_="key after"),
        class_="keys",
    )
    pictures = [_picture(evidence, name) for name in (*evidence.quasi, *evidence.sensitive)]
    return join([element("p", PICTURES), key, element("div", *pictures, class_="pictures")])


def _picture(evidence: Evidence, name: str) -> Markup:
    found = histogram(evidence.table, evidence.schema, evidence.released, name)
    attribute = evidence.schema.columns[name]
    bars = [*zip(found.labels, found.before, found.after, strict=True)]
    if any(found.missing):
        bars.append(("missing", *found.missing))
    rows = [[label, count(before), count(after)] for label, before, after in bars]
    numbers = fold("Numbers", grid(f"Rows by {name}", ["", "Before", "After"], rows), class_="numbers")
    title = join(
        [name, " ", element("span", {Role.QUASI: "quasi-identifier"}.get(attribute.role, str(attribute.role)))]
    )
    if found.edges is None:
        return figure(title, charts.categories(found), numbers)
    if attribute.kind is Kind.TIMESTAMP:
        found = replace(found, edges=found.edges / DAY)
    return figure(title, charts.spans(found, dates=attribute.kind in {Kind.DATE, Kind.TIMESTAMP}), numbers)


SECTIONS = {  # what decides first, then the evidence
    "Risks": risks_before_and_after,
    "Loss per column": loss_per_column,
    "Distances": released_distances,
    "Rows and columns": rows_and_columns,
    "Class sizes": class_sizes,
    "Before and after": before_and_after,
}
