"""The steward's chapter on risk in the population: what it shows, what it says where there is nothing to show."""

from __future__ import annotations

import polars as pl

from sfumato.evaluate.population import population_risk
from sfumato.report import population_chapter, population_report
from sfumato.table import Table, samples

PATIENTS = Table.from_frame(samples.patients(300))


def test_numbers_are_those_that_were_estimated() -> None:
    found = population_risk(PATIENTS, ["age", "sex", "zip"], fraction=0.1)
    page = population_report(found, title="Survey 2026")
    assert "<h1>Survey 2026</h1>" in page
    assert "Do not publish" in page
    choice = found.population_uniques.choice
    assert f"{choice.estimator} is taken, since {choice.why}." in page.replace("&#x27;", "'")
    assert f"it has at most {round(choice.at_most):,} unique people (95 %)" in page
    for one in found.found_again:
        assert one.expected is not None
        assert f"{round(one.expected, 1):,.1f}".removesuffix(".0") in page


def test_households_have_a_section_where_they_are_named() -> None:
    homes = Table(PATIENTS.frame.with_columns(home=pl.Series([row // 2 for row in range(300)])))
    chapter = population_chapter(population_risk(homes, ["age", "sex"], fraction=0.1, household="home"))
    assert [section.heading for section in chapter.sections][-1] == "Households"
    assert "Members of the largest" in chapter.sections[-1].body


def test_what_has_no_solution_is_a_dash_with_its_reason() -> None:
    unique = Table(pl.DataFrame({"id": [str(row) for row in range(40)]}))
    page = population_report(population_risk(unique, ["id"], fraction=0.1))
    assert "no solution: Pitman’s formula" in page.replace("&#x27;", "’")
    assert "<td>–</td>" in page
    alike = Table(pl.DataFrame({"sex": ["F"] * 40}))
    assert "No row is unique." in population_report(population_risk(alike, ["sex"], fraction=0.1))


def test_starred_rows_stand_before_the_signature() -> None:
    starred = Table(pl.DataFrame({"age": ["*", "*", "3", "4"]}))
    page = population_report(population_risk(starred, ["age"], fraction=0.5))
    assert "Rows with * in every quasi-identifier: 2. They count as one class" in page
