"""Risks of the original and of the released rows, side by side.

The three attackers are those of El Emam (2013, chapters 16-19); what a class gives away about a
sensitive column follows Machanavajjhala et al. 2007 and Li, Li & Venkatasubramanian 2007.
"""

from __future__ import annotations

from sfumato.evaluate.check import Risk, SensitiveMeasures
from sfumato.report.chapters.evidence import Evidence
from sfumato.report.page.markup import Markup, element, grid, joined
from sfumato.report.page.words import count, percent

ATTACKERS = {
    "prosecutor_max": (
        "Prosecutor, worst case",
        "Knows that a person is in the table: chance to pick out the easiest one.",
    ),
    "prosecutor_mean": ("Prosecutor, on average", "The same for a person drawn at random from the table."),
    "journalist_max": (
        "Journalist, worst case",
        "Does not know who is in the table; without a register of the population, the table stands for it.",
    ),
    "marketer": ("Marketer", "Links everybody at once: the share of persons expected to be linked rightly."),
}
LEAD = "Chances that a person is found again by somebody who knows the quasi-identifiers exactly."
PERSONS = (
    "The chances of being found count persons, the rest counts rows. The release no longer tells which rows belong to "
    "one person, so the chances after are the most that its smallest class allows."
)


def risks_before_and_after(evidence: Evidence) -> Markup:
    """Return the attackers' chances, and what classes give away, in the original and in the release."""
    header = ["Risk", "Before", "After"]
    chances = (evidence.risk_before, evidence.risk_after)
    uniques = (evidence.before.uniques, evidence.after.uniques)
    tables = [grid("Being found again", header, attackers(*chances, uniques, persons=evidence.counts_persons))]
    for name in evidence.sensitive:
        rows = _disclosure(evidence.before.sensitive[name], evidence.after.sensitive[name])
        tables.append(grid(f"What a class gives away about {name}", header, rows))
    note = element("p", PERSONS, class_="note") if evidence.counts_persons else Markup()
    return joined([element("p", LEAD), note, element("div", *tables, class_="beside")])


def attackers(before: Risk, after: Risk, uniques: tuple[int, int], *, persons: bool) -> list[list[str]]:
    """Return a line for each attacker's chances before and after, and one for unique rows.

    Where persons are counted, the chances after are the most that are possible.
    """
    bound = "≤\N{NO-BREAK SPACE}" if persons else ""
    rows = [
        [_explained(*words), percent(getattr(before, name)), bound + percent(getattr(after, name))]
        for name, words in ATTACKERS.items()
    ]
    unique = _explained("Unique rows", "Alone with their combination of quasi-identifiers.")
    return [*rows, [unique, *map(count, uniques)]]


def _disclosure(before: SensitiveMeasures, after: SensitiveMeasures) -> list[list[str]]:
    shares = _explained("Surest guess", "The largest share of one value in a class: how sure an attacker can be of it.")
    values = _explained("Different values", "In the class that has fewest.")
    entropy = _explained("Effective values", "In the least varied class, counting rare values for less (entropy).")
    distance = _explained("Distance from the whole table", "Of the class that differs most, from 0 to 1.")
    return [
        [shares, percent(before.alpha), percent(after.alpha)],
        [values, count(before.l_distinct), count(after.l_distinct)],
        [entropy, f"{before.l_entropy:.2f}", f"{after.l_entropy:.2f}"],
        [distance, f"{before.t:.3f}", f"{after.t:.3f}"],
    ]


def _explained(name: str, meaning: str) -> Markup:
    return joined([name, element("small", meaning)])
