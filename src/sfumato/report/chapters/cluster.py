"""The steward's report on a table released on a cluster: its promise, how its classes were found, its risks.

The parts are those of the report on one machine (Hundepool et al. 2012, chapter 3) that need no row: class sizes and
what the steward was told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.evaluate.check import Risk
from sfumato.release import Card, Finding
from sfumato.release.row_counts import RowCounts
from sfumato.report.chapters.changes import rows_sentence, what_changed
from sfumato.report.chapters.gate import gate_sections, is_gated
from sfumato.report.chapters.intake import intake_sections
from sfumato.report.chapters.promise import limits, promises_table, public_card
from sfumato.report.chapters.risk import ATTACKED, PERSONS, ClassSizes, attackers, sizes_and_chart
from sfumato.report.chapters.signing import card_warnings
from sfumato.report.page.markup import Markup, element, grid, join, tiles
from sfumato.report.page.overview import Gist, claims_table
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent, pledge, promise, units
from sfumato.table import ParseReport

TITLE = "Release of a table on a cluster"
RAW = "Counts, losses and risks are measured against the original rows."
EXACT = (
    "Exactly: {distinct_rows} distinct rows were counted on the cluster, and the code of the single machine found the "
    "classes. One machine would have found the same classes."
)
PARTS = (
    "By parts: the driver does not take {distinct_rows} distinct rows, so a sample decided where to cut the table into "
    "{parts} parts. Mondrian was exact in each part, and one check covered all released rows. Cuts by a sample may be "
    "worse than exact ones. To avoid them, give the driver more memory and raise the limit on distinct rows."
)
BLOCKS = (
    "By blocks: groups were found in {blocks} blocks of near rows and polished there, then again in blocks with other "
    "borders; one check covered all released rows. Groups at the border of a block may be worse than "
    "those of one machine."
)
TOGETHER = "All rows fitted in one block, so groups were found and polished together, and no split added loss."
COSTS = {
    "certainty_lost": "Detail lost on average (0% shows every value, 100% none)",
    "information_loss": "Variance lost",
    "rows_suppressed": "Rows withheld",
}


@dataclass(frozen=True, eq=False)
class ClusterEvidence:
    """What is known of a release on a cluster: its card, the steward's numbers, and class sizes before and after.

    Sizes `before` count persons where the promise does; sizes `after` count rows.
    """

    card: Card
    steward: Mapping[str, float]
    before: ClassSizes
    after: ClassSizes

    @property
    def quasi(self) -> Sequence[str]:
        """The released quasi-identifiers."""
        return [column.name for column in self.card.released.columns if column.role == "quasi"]

    @property
    def persons(self) -> bool:
        """Whether the promise counts persons, which the released rows no longer show."""
        return units(self.card) == "persons"

    @property
    def risk(self) -> Risk:
        """The risks of the release; for persons, upper bounds from the card's smallest class."""
        if not self.persons:
            return self.after.risk
        most = 1 / self.card.released.measures["smallest_class"]
        return Risk(most, most, most, most)


def cluster_report(
    card: Card,
    steward: Mapping[str, float],
    before: ClassSizes,
    after: ClassSizes,
    *,
    title: str | None = None,
    intake: ParseReport | None = None,
    findings: Sequence[Finding] = (),
) -> str:
    """Return the report on a release on a cluster, as one self-contained HTML text; `intake` tells of the cells.

    `findings` are those of attacks on the release; they stand before the card's audits.

    >>> import numpy as np, polars as pl, sfumato as sf
    >>> people = sf.Table(pl.DataFrame({"age": [30, 31, 60, 61]}))
    >>> release = sf.Mondrian().anonymize(people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
    >>> sizes = ClassSizes.of(np.array([1, 1, 1, 1])), ClassSizes.of(np.array([2, 2]))
    >>> page = cluster_report(release.card, {"distinct_rows": 4, "certainty_lost": 0.03}, *sizes)
    >>> "Exactly: 4 distinct rows" in page
    True
    """
    evidence = ClusterEvidence(card, steward, before, after)
    tried = [*findings, *card.audits]
    sections = [
        *gate_sections(tried),
        Section("What is promised", promises_table(card, evidence.quasi)),
        Section("How classes were found, and what it cost", way_taken(steward)),
        Section("What attacks found", claims_table([finding for finding in tried if not is_gated(finding)])),
        Section("What is not promised", limits([card])),
        Section("Class sizes", _sizes(evidence)),
        Section("Risks", _risks(evidence)),
        *intake_sections(intake),
        Section("The public card", public_card(card)),
    ]
    left = f"{count(card.released.rows)} rows in {count(after.classes)} classes"
    gist = Gist(card.door, left, pledge(card), tried)
    warnings = card_warnings([card], tried)
    chapter = Chapter(title or TITLE, _summary(evidence), sections, RAW, [gist], warnings)
    return collect(title or TITLE, [chapter])


def way_taken(steward: Mapping[str, float]) -> Markup:
    """Return how the classes were found on the cluster, and at which loss, from what the steward was told.

    >>> "By parts" in way_taken({"distinct_rows": 9e6, "parts": 4, "certainty_lost": 0.1})
    True
    """
    split = BLOCKS if steward.get("blocks", 0) > 1 else TOGETHER
    way = split if "blocks" in steward else PARTS if "parts" in steward else EXACT
    words = way.format(**{name: count(value) for name, value in steward.items()})
    costs = [[words, _loss_text(name, steward[name])] for name, words in COSTS.items() if name in steward]
    return join([element("p", words), grid("What was lost", [], costs) if costs else Markup()])


def _loss_text(name: str, value: float) -> str:
    if name == "rows_suppressed":
        return count(value)
    return percent(value / 100 if name == "information_loss" else value)


def _summary(evidence: ClusterEvidence) -> Markup:
    card = evidence.card
    promises = " ".join(promise(entry, card, evidence.quasi) for entry in card.released.models)
    counts = RowCounts.of(card, evidence.steward)
    unique = "Unique persons" if evidence.persons else "Unique rows"
    fate = (
        f"{rows_sentence(counts)} {unique}: {count(evidence.before.unique)} in the original, "
        f"{count(evidence.after.unique)} in the release."
    )
    changed = what_changed(card, counts)
    return join([element("p", promises, class_="lead"), element("p", fate), changed, _tiles(evidence)])


def _tiles(evidence: ClusterEvidence) -> Markup:
    released = evidence.card.released
    risks = [percent(risk.prosecutor_max) for risk in (evidence.before.risk, evidence.risk)]
    figures = {
        "Rows released": count(released.rows),
        f"Smallest class, in {units(evidence.card)}": count(
            released.measures.get("smallest_class", evidence.after.smallest)
        ),
        "Highest risk of being found": " → ".join(risks),
    }
    names = {"certainty_lost": "Detail lost on average", "information_loss": "Information loss"}
    lost = {
        words: _loss_text(name, evidence.steward[name]) for name, words in names.items() if name in evidence.steward
    }
    return tiles(figures | lost)


def _sizes(evidence: ClusterEvidence) -> Markup:
    asked = evidence.card.guarantee.parameters.get("k")
    least = asked if isinstance(asked, int) and not evidence.persons else None
    withheld = int(evidence.steward.get("rows_suppressed", 0))
    whole = evidence.card.released.rows + withheld
    return sizes_and_chart(evidence.after, least, evidence.after.squares + withheld * whole)


def _risks(evidence: ClusterEvidence) -> Markup:
    lines = attackers(
        evidence.before.risk, evidence.risk, (evidence.before.unique, evidence.after.unique), persons=evidence.persons
    )
    note = element("p", PERSONS, class_="note") if evidence.persons else Markup()
    return join([element("p", ATTACKED), note, grid("Being found again", ["Risk", "Before", "After"], lines)])
