"""The report's chapter on local counts: every number is there, no value can become markup, long domains are cut."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import plugins
from sfumato.local import GeneralizedResponse, protocol_class
from sfumato.random import SeededSource
from sfumato.report import collect, local_chapter, local_report


def page(values: tuple[str, ...], users: int = 400) -> str:
    protocol = GeneralizedResponse(values, 4.0)
    codes = np.arange(users) % len(values)
    tally = protocol.aggregate(protocol.report_many(codes, SeededSource(1)))
    tally.reject("malformed", 3)
    return local_report(protocol.estimate(tally))


def test_the_page_says_what_was_counted_and_what_was_not() -> None:
    text = page(("red", "green", "blue"))
    assert "400 reports by generalised randomised response" in text
    assert "computed from the reports alone" in text
    assert "3 reports were rejected" in text
    assert "local differential privacy" in text
    assert text.count("<svg") == 1


@pytest.mark.parametrize("name", plugins.names("protocols"))
def test_every_protocol_has_its_words(name: str) -> None:
    kind = protocol_class(name)
    protocol = kind.sample(("north", "south", "east", "west"), 2.0)
    codes = np.arange(50) % len(protocol.domain)
    text = local_report(protocol.estimate(protocol.aggregate(protocol.report_many(codes, SeededSource(1)))))
    assert kind.words
    assert f"50 reports by {kind.words} say" in text


def test_a_value_cannot_become_markup() -> None:
    text = page(("<script>alert(1)</script>", "a\x00b"))
    assert "<script>" not in text
    assert "\x00" not in text


def test_only_the_largest_counts_of_a_long_domain_are_shown() -> None:
    text = page(tuple(f"value {number:03d}" for number in range(100)), users=5000)
    assert "The 24 largest of 100 are shown." in text
    shown = {f"value {number:03d}" for number in range(100) if f"value {number:03d}</th>" in text}
    assert len(shown) == 24


def test_chapters_of_several_estimates_stand_on_one_page() -> None:
    protocol = GeneralizedResponse(("a", "b"), 1.0)
    chapter = local_chapter(protocol.estimate(protocol.aggregate(protocol.report_many([0, 1, 1]))))
    assert collect("Two", [chapter, chapter]).count('class="chapter">Counts') == 2
