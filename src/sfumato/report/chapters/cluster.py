"""The steward's report on a table released on a cluster: its promise, the way it took and what that cost, its risks.

The parts are those of the report on one machine (Hundepool et al. 2012, chapter 3) that need no row: class sizes and
what the release itself told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.evaluate.check import Risk
from sfumato.release import Card
from sfumato.report.chapters.promise import limits, promised, public_card
from sfumato.report.chapters.risk import LEAD, PERSONS, attackers
from sfumato.report.chapters.sizes import Sizes, sizes_shown
from sfumato.report.chapters.verdicts import found
from sfumato.report.page.markup import Markup, element, grid, joined, tiles
from sfumato.report.page.overview import Gist
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent, pledge, promise, units

TITLE = "Release of a table on a cluster"
RAW = "Counts, losses and risks are measured against the original rows."
EXACT = (
    "The exact way: {distinct_rows} distinct rows were counted on the cluster, and the classes found among them by the "
    "code of the single machine. They are the classes that one machine would have found."
)
PARTS = (
    "By parts: {distinct_rows} distinct rows were more than the driver takes, so a sample said where to cut the table "
    "into {parts} parts, Mondrian was exact in each, and one check covered all released rows. Cuts by a sample may be "
    "worse than exact ones; more memory for the driver and a higher bound on distinct rows avoid them."
)
BLOCKS = (
    "By blocks: groups were found in {blocks} blocks of near rows and polished there, then again in blocks cut askew; "
    "one check covered all released rows. Groups at the border of a block may be worse than those of one machine."
)
TOGETHER = "All rows fitted in one block: groups were found and polished together, with nothing lost to a split."
COSTS = {
    "certainty_lost": "Detail lost on average (0% shows every value, 100% none)",
    "information_loss": "Variance lost",
    "rows_suppressed": "Rows withheld",
}


@dataclass(frozen=True, eq=False)
class Told:
    """What is known of a release on a cluster: its card, what the steward was told, and class sizes before and after.

    Sizes `before` count persons where the promise does; sizes `after` count rows.
    """

    card: Card
    steward: Mapping[str, float]
    before: Sizes
    after: Sizes

    @property
    def quasi(self) -> Sequence[str]:
        """The released quasi-identifiers."""
        return [column.name for column in self.card.released.columns if column.role == "quasi"]

    @property
    def persons(self) -> bool:
        """Whether the promise counts persons, of whom the released rows no longer tell."""
        return units(self.card) == "persons"

    @property
    def risk(self) -> Risk:
        """The chances after; for persons the most that the card's smallest class allows."""
        if not self.persons:
            return self.after.risk
        most = 1 / self.card.released.measures["smallest_class"]
        return Risk(most, most, most, most)


def cluster_report(
    card: Card, steward: Mapping[str, float], before: Sizes, after: Sizes, *, title: str | None = None
) -> str:
    """Return the report on a release that lies on a cluster, as one self-contained HTML text.

    >>> import numpy as np, polars as pl, sfumato as sf
    >>> people = sf.Table(pl.DataFrame({"age": [30, 31, 60, 61]}))
    >>> release = sf.Mondrian().anonymize(people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
    >>> sizes = Sizes.of(np.array([1, 1, 1, 1])), Sizes.of(np.array([2, 2]))
    >>> page = cluster_report(release.card, {"distinct_rows": 4, "certainty_lost": 0.03}, *sizes)
    >>> "The exact way: 4 distinct rows" in page
    True
    """
    told = Told(card, steward, before, after)
    sections = [
        Section("What is promised", promised(card, told.quasi)),
        Section("The way that was taken, and what it cost", way_taken(steward)),
        Section("What attacks found", found(card.audits)),
        Section("What is not promised", limits([card])),
        Section("Class sizes", _sizes(told)),
        Section("Risks", _risks(told)),
        Section("The public card", public_card(card)),
    ]
    left = f"{count(card.released.rows)} rows in {count(after.classes)} classes"
    chapter = Chapter(title or TITLE, _summary(told), sections, RAW, [Gist(card.door, left, pledge(card), card.audits)])
    return collect(title or TITLE, [chapter])


def way_taken(steward: Mapping[str, float]) -> Markup:
    """Return which way a release took on the cluster, and its cost in loss, from what the steward was told.

    >>> "By parts" in way_taken({"distinct_rows": 9e6, "parts": 4, "certainty_lost": 0.1})
    True
    """
    split = BLOCKS if steward.get("blocks", 0) > 1 else TOGETHER
    way = split if "blocks" in steward else PARTS if "parts" in steward else EXACT
    words = way.format(**{name: count(value) for name, value in steward.items()})
    costs = [[words, _cost(name, steward[name])] for name, words in COSTS.items() if name in steward]
    return joined([element("p", words), grid("What was lost", [], costs) if costs else Markup()])


def _cost(name: str, value: float) -> str:
    if name == "rows_suppressed":
        return count(value)
    return percent(value / 100 if name == "information_loss" else value)


def _summary(told: Told) -> Markup:
    card = told.card
    promises = " ".join(promise(entry, card, told.quasi) for entry in card.released.models)
    rows, withheld = card.released.rows, int(told.steward.get("rows_suppressed", 0))
    released = f"{count(rows)} of {count(rows + withheld)}" if withheld else f"All {count(rows)}"
    alone = "Persons" if told.persons else "Rows"
    fate = (
        f"{released} rows were released. {alone} that were alone with their combination: "
        f"{count(told.before.unique)} in the original, {count(told.after.unique)} in the release."
    )
    return joined([element("p", promises, class_="lead"), element("p", fate), _tiles(told)])


def _tiles(told: Told) -> Markup:
    released = told.card.released
    risks = [percent(risk.prosecutor_max) for risk in (told.before.risk, told.risk)]
    figures = {
        "Rows released": count(released.rows),
        f"Smallest class, in {units(told.card)}": count(released.measures.get("smallest_class", told.after.smallest)),
        "Highest risk of being found": " → ".join(risks),
    }
    names = {"certainty_lost": "Detail lost on average", "information_loss": "Information loss"}
    lost = {words: _cost(name, told.steward[name]) for name, words in names.items() if name in told.steward}
    return tiles(figures | lost)


def _sizes(told: Told) -> Markup:
    asked = told.card.guarantee.parameters.get("k")
    least = asked if isinstance(asked, int) and not told.persons else None
    withheld = int(told.steward.get("rows_suppressed", 0))
    whole = told.card.released.rows + withheld
    return sizes_shown(told.after, least, told.after.squares + withheld * whole)


def _risks(told: Told) -> Markup:
    lines = attackers(told.before.risk, told.risk, (told.before.unique, told.after.unique), persons=told.persons)
    note = element("p", PERSONS, class_="note") if told.persons else Markup()
    return joined([element("p", LEAD), note, grid("Being found again", ["Risk", "Before", "After"], lines)])
