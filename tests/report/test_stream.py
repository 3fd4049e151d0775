"""The steward's chapter on a stream: its numbers against plain counts, and that names can do no harm."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.evaluate import histogram_intersection
from sfumato.report import StreamRelease, collect, stream_chapter
from sfumato.stream import NaiveLaplace
from sfumato.stream.publishers.doca import DOCA

TRUTH = np.random.default_rng(1).gamma(3.0, 500.0, 2000)
EVIL = "<script>alert('x')</script>"


def page(column: str = "hours") -> str:
    releases = {}
    for publisher in (DOCA(sensitivity=10_000, delay=100), NaiveLaplace(bounds=(0, 10_000))):
        values = np.concatenate([publisher.push_many(TRUTH).values, publisher.flush().values])
        releases[publisher.name] = StreamRelease(values, publisher.card(column))
    return collect("Stream", [stream_chapter(column, TRUTH, releases)])


def test_the_chapter_says_what_is_promised_and_what_is_not() -> None:
    text = page()
    assert "doca: nothing is promised." in text
    assert "no differential privacy guarantee" in text
    assert "laplace: differential privacy with epsilon 1.0; protected unit: record (event level)." in text
    assert text.count("<svg ") == 2
    assert "Do not publish" in text


def test_the_same_values_have_all_in_common_and_distant_ones_nothing() -> None:
    assert histogram_intersection(TRUTH, TRUTH) == pytest.approx(1.0)
    assert histogram_intersection(TRUTH, TRUTH + 1e9) == 0.0
    half = np.where(np.arange(2000) % 2, TRUTH, 1e9)
    assert histogram_intersection(TRUTH, half) == pytest.approx(0.5, abs=0.05)


def test_a_name_cannot_become_a_tag() -> None:
    assert EVIL not in page(EVIL)


def test_nothing_cannot_be_shown() -> None:
    nothing = StreamRelease(np.empty(0), NaiveLaplace(bounds=(0, 1)).card("hours"))
    with pytest.raises(InputError, match="adaptive has no rows"):
        stream_chapter("hours", TRUTH, {"adaptive": nothing})
    with pytest.raises(InputError, match="the stream has no rows"):
        stream_chapter("hours", np.empty(0), {})
