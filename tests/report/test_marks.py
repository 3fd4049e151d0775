"""Which pages and chapters say *do not publish*, and what the opening says of each release."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.local import GeneralizedResponse
from sfumato.local.collector.estimate import Estimate
from sfumato.random import SeededSource
from sfumato.release import Finding
from sfumato.report import (
    Chapter,
    Gist,
    StreamRelease,
    answers_chapter,
    collect,
    findings_chapter,
    local_chapter,
    local_report,
    stream_chapter,
    table_chapter,
)
from sfumato.report.page.markup import element
from sfumato.stream import NaiveLaplace

FELL = Finding(claim="c", verdict="REFUTED", bound=3, evidence={"attack": "difference", "reason": "somebody has flu"})
STOOD = Finding(claim="c", verdict="NOT_REFUTED", bound=2)
COLOURS = ["red"] * 60 + ["blue"] * 40


def estimate() -> Estimate:
    protocol = GeneralizedResponse(["red", "blue"], 2)
    reports = protocol.report_many(protocol.encode_many(COLOURS), SeededSource(1))
    return protocol.estimate(protocol.aggregate(reports))


@pytest.fixture
def session(tmp_path_factory: pytest.TempPathFactory) -> sf.Session:
    folder = tmp_path_factory.mktemp("query")
    pl.DataFrame({"colour": COLOURS}).write_csv(folder / "cars.csv")
    colour = sf.Attribute("colour", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("red", "blue"))
    return sf.Session.create(
        folder / "cars.ledger", folder / "cars.csv", sf.Schema({"colour": colour}), sf.Budget(epsilon=1)
    )


def test_a_page_of_local_reports_does_not_claim_to_have_seen_rows() -> None:
    page = local_report(estimate())
    assert "original rows" not in page.replace("Nothing here is computed from original rows.", "")
    assert "do not publish" not in page.casefold()


def test_true_counts_make_it_the_stewards() -> None:
    page = collect("Local", [local_chapter(estimate(), truth=Counter(COLOURS))])
    assert page.count("Do not publish") >= 2
    assert ">60</td>" in page
    assert "rings: the truth" in page


def test_answers_are_public_until_the_truth_stands_beside_them(session: sf.Session) -> None:
    answer = session.sql("SELECT colour, COUNT(*) AS cars FROM cars GROUP BY colour", epsilon="0.25")
    assert answers_chapter("Cars", [answer], session.ledger).raw == ""
    chapter = answers_chapter("Cars", [answer], session.ledger, truths=[{"cars": [60, 40]}], findings=[STOOD])
    assert "original rows" in chapter.raw
    page = collect("Cars", [chapter])
    assert "spent 0.25, left 0.75 of 1" in page
    assert ">60</td>" in page
    [gist] = chapter.gists
    assert gist.promise == "differential privacy, epsilon 0.25 spent of epsilon 1; protects one row"


def test_a_page_of_both_kinds_marks_each_chapter_by_itself() -> None:
    truth = np.linspace(0, 10, 100)
    publisher = NaiveLaplace(bounds=(0, 10))
    values = np.concatenate([publisher.push_many(truth).values, publisher.flush().values])
    stream = stream_chapter("hours", truth, {"Laplace": StreamRelease(values, publisher.card("hours"), [STOOD])})
    page = collect("Both", [local_chapter(estimate(), heading="Devices"), stream])
    local, other = page.split("<article>")[1:]
    assert "○ Nothing here is computed from original rows." in local
    assert "Do not publish" not in local
    assert "▲ Do not publish." in other
    assert "chapters marked ▲ are computed from the original rows" in page
    assert re.search(r">Release of a stream\N{NO-BREAK SPACE}▲</a>", page)
    assert ">Devices</a>" in page


def test_a_chapter_that_says_nothing_is_taken_for_the_stewards() -> None:
    assert "Do not publish" in collect("Page", [Chapter("Anything", element("p", "…"), [])])


def test_the_opening_counts_what_left_apart_from_what_was_kept_back() -> None:
    gists = [
        Gist("table", "two tables", "k-anonymity 5", [STOOD, STOOD], releases=2),
        Gist("table", "careless tables", "the same", [FELL, FELL, STOOD], published=False),
    ]
    chapter = findings_chapter("Series", "Twice.", {"Careless": [FELL], "Safe": [STOOD]}, gists=gists)
    page = collect("Doors", [chapter, Chapter("Other", element("p", "…"), [])], opening="Two doors.")
    tiles = dict(re.findall(r"<div><dt>([^<]*)</dt><dd>([^<]*)</dd></div>", page))
    assert tiles["Releases"] == "2"
    assert tiles["Claims refuted"] == "0 of 2"
    assert tiles["Claims refuted, not published"] == "2 of 3"
    assert "Two doors." in page
    assert "Careless: difference 1; Safe: difference 0" in page
    assert page.index("Published by the table door") < page.index("Not published, for comparison")


def test_findings_of_a_table_are_the_cards_unless_others_are_given() -> None:
    people = sf.Table.from_frame(sf.samples.patients(100))
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)])
    assert table_chapter(people, schema, release).gists[0].findings == release.card.audits
    chapter = table_chapter(people, schema, release, findings=[FELL])
    assert "somebody has flu" in collect("Table", [chapter])
    assert chapter.gists[0].promise == "k-anonymity 5; protects one row"
