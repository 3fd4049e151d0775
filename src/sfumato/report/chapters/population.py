"""The steward's chapter on risk in the population: what is found again, who is unique, which columns single people out.

The order is that in which statistical offices read it (Hundepool et al. 2012, chapter 3). Everything is computed from
the table's rows, raw or released, and from how the table was sampled: do not publish the page.
"""

from __future__ import annotations

from sfumato.evaluate.population import PopulationRisk
from sfumato.report.page.markup import Markup, element, grid, join, tiles
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent

TITLE = "Risk in the population"
RAW = "These estimates come from the rows of the table and from how it was sampled."
AGAIN = (
    "Somebody knows the keys of everybody in the population and looks for the rows of the table. A row whose key F "
    "people share is found with the chance 1/F; the expected number adds these chances."
)
CLASSIC = (
    "Benedetti and Franconi’s risk takes every key of the population to be met in the table, and is too low where many "
    "keys are rare. Pitman’s formula allows for keys that were not met."
)
UNIQUES = (
    "People who are alone with their key in the population. The estimators assume different laws of class sizes; "
    "intervals cover the chance of sampling, not that a law is wrong."
)
SPECIAL = "A row is special if few columns single it out: any attacker who knows these few columns can look for it."
HOUSEHOLDS = "Whoever finds one member of a household knows the others, so all members have the risk that one is found."


def population_report(found: PopulationRisk, *, title: str = TITLE) -> str:
    """Return the report on the risk in the population as one self-contained HTML text.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> page = population_report(sf.evaluate.population_risk(people, ["age", "sex"], fraction=0.05))
    >>> "Do not publish" in page, "Population uniques" in page
    (True, True)
    """
    return collect(title, [population_chapter(found, heading=title)])


def population_chapter(found: PopulationRisk, *, heading: str = TITLE) -> Chapter:
    """Return the chapter on the risk in the population, to stand alone or beside others.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> chapter = population_chapter(sf.evaluate.population_risk(people, ["age", "sex"], fraction=0.05))
    >>> [section.heading for section in chapter.sections]
    ['Rows found again', 'Population uniques', 'Special uniques']
    """
    sections = [
        Section("Rows found again", _found_again(found)),
        Section("Population uniques", _uniques(found)),
        Section("Special uniques", _special(found)),
    ]
    if found.household is not None:
        sections.append(Section("Households", _households(found)))
    return Chapter(heading, _summary(found), sections, RAW, warnings=found.notes)


def _summary(found: PopulationRisk) -> Markup:
    choice = found.population_uniques.choice
    lead = (
        f"The table holds {count(found.rows)} of {count(round(found.population))} people. {count(found.uniques)} of "
        f"its rows are unique; about {count(round(choice.value))} people are unique in the population "
        f"({choice.estimator})."
    )
    numbers = {
        "Rows of the population": percent(found.fraction),
        "Unique rows": count(found.uniques),
        "Population uniques": count(round(choice.value)),
        **{f"Found again, {one.method}": _count(one.expected) for one in found.found_again},
    }
    return join([element("p", lead, class_="lead"), tiles(numbers)])


def _found_again(found: PopulationRisk) -> Markup:
    rows = [
        [one.method, _count(one.expected), _ends(one.low, one.high), _share(one.share), _share(one.highest)]
        for one in found.found_again
    ]
    header = ["Risk by", "Rows found", "95 % interval", "Of all rows", "Highest risk of a row"]
    match = found.correct_match
    chance = "No row is unique." if match.chance is None else f"It is {percent(match.chance)}."
    said = f"The chance that a match with a unique row is right needs no law of class sizes. {chance}"
    notes = [element("p", f"{one.method}: {one.note}.", class_="note") for one in found.found_again if one.note]
    return join(
        [element("p", AGAIN), element("p", CLASSIC), grid("Expected", header, rows), *notes, element("p", said)]
    )


def _uniques(found: PopulationRisk) -> Markup:
    choice = found.population_uniques.choice
    estimates = found.population_uniques.estimates
    rows = [[one.estimator, _count(one.value), _ends(one.low, one.high)] for one in estimates]
    notes = [element("p", f"{one.estimator}: {one.note}.", class_="note") for one in estimates if one.note]
    taken = f"{choice.estimator} is taken, since {choice.why}."
    bound = f"Whatever the population is, it has at most {count(round(choice.at_most))} unique people (95 %)."
    table = grid("Estimates", ["Estimator", "People", "95 % interval"], rows)
    return join([element("p", UNIQUES), table, *notes, element("p", f"{taken} {bound}")])


def _special(found: PopulationRisk) -> Markup:
    special = found.special_uniques
    sizes = [[f"{size} column{'s' * (size > 1)}", count(number)] for size, number in enumerate(special.sets, 1)]
    columns = sorted(special.columns.items(), key=lambda item: -item[1])
    said = (
        f"{count(special.rows)} rows are singled out by at most {special.largest} columns. Highest score: "
        f"{special.highest_score:g}. Highest chance that a match is right (DIS-SUDA): "
        f"{percent(special.highest_chance)}."
    )
    tables = [
        grid("Minimal sample uniques", ["Columns", "Sets of rows"], sizes),
        grid("Where they lie", ["Column", "Share of the scores"], [[name, percent(share)] for name, share in columns]),
    ]
    return join([element("p", f"{SPECIAL} {said}"), element("div", *tables, class_="beside")])


def _households(found: PopulationRisk) -> Markup:
    home = found.household
    if home is None:
        return Markup()
    rows = [
        ["Households", count(home.households)],
        ["Members of the largest", count(home.largest)],
        ["Rows in households where somebody is found, Benedetti & Franconi", _count(home.expected)],
        ["The same under Pitman’s formula", _count(home.unseen)],
        ["Highest risk", percent(home.highest)],
    ]
    return join([element("p", HOUSEHOLDS), grid("Households", [], rows)])


def _count(value: float | None) -> str:
    return "–" if value is None else count(round(value, 1))


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _ends(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{_count(low)} to {_count(high)}"
