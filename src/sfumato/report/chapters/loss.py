"""What the release costs: rows, columns, class sizes, loss of detail, and each column before and after.

Loss per column is the normalised certainty penalty of Xu et al. 2006, over the table that of Ghinita et
al. 2007; the size of classes is judged as in LeFevre, DeWitt & Ramakrishnan 2006.
"""

from __future__ import annotations

from sfumato.evaluate.utility import histogram, variance_lost
from sfumato.report.chapters.evidence import Evidence
from sfumato.report.chapters.sizes import Sizes, sizes_shown
from sfumato.report.charts import charts
from sfumato.report.page.markup import Markup, element, figure, folded, grid, joined
from sfumato.report.page.words import count, percent
from sfumato.schema import Kind, Role

FATES = {
    Role.IDENTIFIER: "Identifiers, dropped",
    Role.QUASI: "Quasi-identifiers, generalised",
    Role.SENSITIVE: "Sensitive, released as they are",
    Role.OTHER: "Others, released as they are and protected by nothing",
}
LOSS = "0% is the value itself, 100% tells nothing more than the column’s whole range."
CENTROIDS = "0% are the values themselves, 100% is one mean for all; words have no variance of their own."
DISTANCE = "Distance between the histograms before and after: 0% alike, 100% apart."
PICTURES = "A range or set counts for each of its values in equal shares. Sensitive columns come last."


def rows_and_columns(evidence: Evidence) -> Markup:
    """Return how many rows came in, went out and were withheld, and what became of the columns."""
    rows = [
        ["Rows in", count(evidence.before.rows)],
        ["Rows out", count(evidence.after.rows)],
        ["Rows withheld", count(evidence.withheld)],
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
    return sizes_shown(Sizes.of(evidence.sizes), least, evidence.utility.discernibility)


def loss_per_column(evidence: Evidence) -> Markup:
    """Return the loss of each quasi-identifier, as a chart and in numbers."""
    if evidence.information_loss is not None:
        return _loss_of_centroids(evidence, evidence.information_loss)
    losses = {name: evidence.utility.columns[name] for name in evidence.quasi}
    ordered = dict(sorted(losses.items(), key=lambda item: -item[1].ncp))
    rows = [[name, percent(loss.ncp), percent(loss.histogram_distance)] for name, loss in ordered.items()]
    picture = figure("Loss of detail", charts.losses({name: loss.ncp for name, loss in ordered.items()}))
    numbers = grid("Loss, and distance of histograms", ["Column", "Loss", "Distance"], rows)
    average = f"On average over cells the release loses {percent(evidence.utility.gcp)} of the detail."
    return joined(
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
    lead = f"Groups are shown as their centroids, which lose {percent(loss)} of the variance. {CENTROIDS} {DISTANCE}"
    return joined([element("p", lead), element("div", *parts, class_="pictured")])


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
    return joined([element("p", PICTURES), key, element("div", *pictures, class_="pictures")])


def _picture(evidence: Evidence, name: str) -> Markup:
    found = histogram(evidence.table, evidence.schema, evidence.released, name)
    attribute = evidence.schema.columns[name]
    bars = [*zip(found.labels, found.before, found.after, strict=True)]
    if any(found.missing):
        bars.append(("missing", *found.missing))
    rows = [[label, count(before), count(after)] for label, before, after in bars]
    numbers = folded("Numbers", grid(f"Rows by {name}", ["", "Before", "After"], rows), class_="numbers")
    title = joined(
        [name, " ", element("span", {Role.QUASI: "quasi-identifier"}.get(attribute.role, str(attribute.role)))]
    )
    if found.edges is None:
        return figure(title, charts.categories(found), numbers)
    return figure(title, charts.spans(found, dates=attribute.kind is Kind.DATE), numbers)
