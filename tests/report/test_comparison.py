"""The page of candidates: every name is in the picture, nothing is drawn outside, no name becomes markup."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.evaluate import Candidate
from sfumato.release.row_counts import RowCounts
from sfumato.report import comparison_report
from sfumato.report.charts.comparison import rail_heights, risk_loss_map


def candidates(count: int) -> list[Candidate]:
    return [
        Candidate(
            f"mondrian-k{number + 2}",
            "sfumato anonymize",
            loss=0.02 * number,
            classes=5,
            rows=RowCounts(100, 0, 0, 100),
            highest_risk=1 / (number + 2),
            mean_risk=0.05,
            guesses={"disease": 0.5},
            seconds=0.1,
        )
        for number in range(count)
    ]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 0.03))
def test_names_on_the_rail_do_not_touch_and_keep_their_order(wanted: list[float], gap: float) -> None:
    heights = rail_heights(sorted(wanted), gap)
    assert len(heights) == len(wanted)
    assert all(after - before >= gap * (1 - 1e-9) for before, after in pairwise(heights))
    assert all(-1e-9 <= height <= 1 + 1e-9 for height in heights)


def test_names_with_room_stand_beside_their_points() -> None:
    assert rail_heights([0.1, 0.5, 0.9], 0.05) == pytest.approx([0.1, 0.5, 0.9])
    assert rail_heights([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])


@pytest.mark.parametrize("count", [1, 2, 8, 25])
def test_every_candidate_is_named_in_the_picture_once(count: int) -> None:
    picture = risk_loss_map(candidates(count))
    for one in candidates(count):
        assert picture.count(f">{one.name}</text>") == 1
    width, height = (int(side) for side in re.findall(r'viewBox="0 0 (\d+) (\d+)"', picture)[0])
    for x, y in re.findall(r'<text [^>]*?(?:transform="translate\(|x=")(-?[\d.]+)[ ,"]+(?:y=")?(-?[\d.]+)', picture):
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height


def test_more_candidates_than_have_room_are_told() -> None:
    page = comparison_report(candidates(45))
    assert page.count("</text>") > 40
    assert "5 candidates that others beat are left out of the picture." not in comparison_report(candidates(40))


def test_names_cannot_become_markup() -> None:
    evil = Candidate(
        "<script>alert(1)</script>", "<b>", loss=0.1, highest_risk=0.5, guesses={"<i>": 1.0}, notes=["<u>x"]
    )
    refused = Candidate("<img>", "", refusal="<svg onload=x>")
    page = comparison_report([evil, refused])
    assert not re.search(r"<script|<img|<i>|<b>|<u>|onload=x>", page)
    assert "&lt;script&gt;" in page


def test_a_sure_guess_and_a_stopped_comparison_stand_before_anything_else() -> None:
    sure = Candidate("a", "", loss=0.1, highest_risk=0.5, guesses={"disease": 1.0})
    page = comparison_report([sure], total=3)
    assert "1 of 3 candidates were measured" in page
    assert "everybody has the same value of disease" in page
    assert page.index("Before you sign") < page.index(">Less loss costs risk")


def test_columns_of_nothing_but_zeros_are_a_sentence() -> None:
    page = comparison_report(candidates(2))
    assert "No candidate has rows that were starred or added or withheld." in page
    some = Candidate("a", "", loss=0.1, highest_risk=0.5, rows=RowCounts(10, 2, 0, 8))
    assert ">Withheld</th>" in comparison_report([some])


def test_simulated_candidates_have_no_place_on_the_map() -> None:
    private = Candidate(
        "safepub-k5", "sfumato anonymize", loss=0.4, simulated=1000, notes=["simulated on 1,000 made-up rows"]
    )
    page = comparison_report([*candidates(2), private])
    assert ">safepub-k5</text>" not in page
    assert "Simulated on 1,000 made-up rows." in page
    assert "Do not publish" not in comparison_report([private], raw=False)
