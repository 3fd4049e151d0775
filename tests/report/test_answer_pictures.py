"""Pictures of answers: sorted or in their own order, every label there or counted, bars that touch, intervals."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.dp.answer import Answer
from sfumato.dp.stored_answer import AnswerColumn, KeyColumn, StoredAnswer
from sfumato.errors import InputError
from sfumato.promise.cost import Cost
from sfumato.report.charts.answer_groups import marks_of
from sfumato.report.charts.answers import dots
from sfumato.report.charts.axis import DAY, Axis, number_of

SVG = "{http://www.w3.org/2000/svg}"
Cells = list[list[int | float | str]]


def answer(cells: Cells, values: list[float], *keys: KeyColumn, half: float | None = 5) -> Answer:
    ends = ([None] * len(values),) * 2 if half is None else ([v - half for v in values], [v + half for v in values])
    column = AnswerColumn(
        name="count",
        mechanism="",
        values=list(values),
        low=list(ends[0]),
        high=list(ends[1]),
        scale=[1.0] * len(values),
        rank_error=74.0 if half is None else None,
        least_rows=149 if half is None else None,
    )
    names = [key.name for key in keys]
    stored = StoredAnswer(question="q", keys=names, cells=cells, columns=[column], epsilon="1", key_columns=list(keys))
    return Answer(stored, Cost("1"), Cost("1"))


def key(name: str = "town", *, ordered: bool = False, edges: list[int | float | str] | None = None) -> KeyColumn:
    return KeyColumn(name=name, declared=True, ordered=ordered, edges=edges)


def drawn(made: Answer) -> ET.Element:
    return ET.fromstring(made.plot().svg)  # noqa: S314 - made here


def labels(made: Answer, anchor: str) -> list[str]:
    texts = [text for text in drawn(made).iter(f"{SVG}text") if text.get("text-anchor") == anchor]
    return ["".join(part for part in (text.text, *(child.tail for child in text)) if part) for text in texts]


def test_categories_are_sorted_by_value_and_others_keep_their_order() -> None:
    cells: Cells = [["a"], ["b"], ["c"]]
    assert labels(answer(cells, [3, 9, 5], key()), "end") == ["b", "c", "a"]
    assert labels(answer(cells, [3, 9, 5], key(ordered=True)), "end") == ["a", "b", "c"]
    assert labels(answer([["2025-01-02"], ["2025-01-03"]], [3, 9], key(ordered=True)), "end")[0] == "2025-01-02"


def test_two_keys_are_grouped_rows_the_largest_group_first() -> None:
    cells: Cells = [["F", "low"], ["F", "high"], ["M", "low"], ["M", "high"]]
    made = answer(cells, [1, 2, 9, 3], key("sex"), key("schooling", ordered=True))
    assert labels(made, "start") == ["count by sex, schooling", "M", "F"]
    assert labels(made, "end") == ["low", "high", "low", "high"]


def test_of_many_groups_the_largest_are_shown_and_the_others_counted() -> None:
    made = answer([[f"town {place}"] for place in range(123)], list(range(123)), key())
    assert labels(made, "end") == [f"town {place}" for place in range(122, 72, -1)]
    assert "the 50 largest of 123 groups; 73 are not shown" in made.plot().svg
    tops = [float(text.get("y", "")) for text in drawn(made).iter(f"{SVG}text") if text.get("text-anchor") == "end"]
    assert min(after - before for before, after in pairwise(tops)) >= 16  # the labels are 12 high


def test_long_names_are_cut_and_whole_in_their_tooltip() -> None:
    name = "chronic obstructive pulmonary <disease>"
    made = answer([[name], ["flu"]], [3, 9], key())
    assert labels(made, "end") == ["flu", "chronic obstructive…"]
    assert name in [title.text for title in drawn(made).iter(f"{SVG}title")]
    assert f"{name}: 3 (95 %: -2 to 8)" in [title.text for title in drawn(made).iter(f"{SVG}title")]


def test_bins_are_touching_bars_as_wide_as_the_bins_with_intervals() -> None:
    made = answer([[0], [10], [40]], [3, -9, 5], key("age", ordered=True, edges=[0, 10, 40, 50]))
    bars = [(float(bar.get("x", "")), float(bar.get("width", ""))) for bar in drawn(made).iter(f"{SVG}rect")]
    assert len(bars) == 3
    for (left, width), (after, _) in pairwise(bars):
        assert left + width == pytest.approx(after, abs=0.02)
    assert bars[1][1] == pytest.approx(3 * bars[0][1], rel=0.01)
    upright = [line for line in drawn(made).iter(f"{SVG}line") if line.get("x1") == line.get("x2")]
    assert len(upright) == 3
    assert labels(made, "middle") == ["0", "10", "40", "50"]


def test_a_quantile_says_that_it_has_no_interval() -> None:
    made = answer([["F"], ["M"]], [3, 9], key(), half=None)
    assert "no interval: within ±74 rows of its rank (95 %)" in made.plot().svg
    assert not [line for line in drawn(made).iter(f"{SVG}line") if line.get("y1") == line.get("y2")]


def test_the_truth_is_a_ring_at_its_own_group() -> None:
    made = answer([["a"], ["b"]], [3, 9], key())
    picture = dots(made, made.stored.columns[0], [3, 9])
    rings = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', picture)]
    assert rings == sorted(rings, reverse=True)  # b is drawn first


def test_nothing_to_show_is_said() -> None:
    assert "no group is there to show" in answer([], [], key()).plot().svg


def test_a_picture_is_shown_by_notebooks_and_written_once(tmp_path: Path) -> None:
    made = answer([[]], [1432])
    picture = made.plot(tmp_path / "a.svg")
    assert picture._repr_svg_() == (tmp_path / "a.svg").read_text(encoding="utf-8") == picture.svg
    assert repr(picture).startswith("<Picture")
    assert "svg.sfumato {" in picture.svg  # its style does not reach the page that shows it
    assert ":root" not in picture.svg
    with pytest.raises(InputError, match=r"a\.svg"):
        made.plot(tmp_path / "a.svg")
    made.plot(tmp_path / "a.svg", force=True)


MADE = """
import sys
sys.modules["matplotlib"] = None
from sfumato.dp.answer import Answer
from sfumato.dp.stored_answer import AnswerColumn, StoredAnswer
from sfumato.promise.cost import Cost
column = AnswerColumn(name="n", mechanism="", values=[3], low=[1], high=[5], scale=[1.0])
stored = StoredAnswer(question="q", keys=[], cells=[[]], columns=[column], epsilon="1")
assert Answer(stored, Cost("1"), Cost("1")).plot().svg.startswith("<svg")
assert "numba" not in sys.modules
"""


def test_a_picture_needs_no_drawing_library() -> None:
    subprocess.run([sys.executable, "-c", MADE], check=True)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5), st.booleans())
def test_an_axis_holds_every_number_and_its_ticks_in_order(numbers: list[float], times: bool) -> None:
    axis = Axis.over(numbers, 50, 400, times=times)
    places = [axis.at(number) for number in numbers]
    assert all(49.9 <= place <= 400.1 for place in places)
    ticks = axis.ticks()
    assert [at for at, _ in ticks] == sorted(at for at, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)


def test_dates_have_their_place() -> None:
    assert number_of("1970-02-01") == 31 * DAY
    assert number_of("1970-01-01 01:00:00") == 3600
    axis = Axis.over([number_of("2025-01-05") or 0, number_of("2025-09-05") or 0], 100, 386, times=True)
    assert [label for _, label in axis.ticks()] == ["2025-01", "2025-03", "2025-05", "2025-07", "2025-09"]


def test_the_question_s_own_order_is_kept() -> None:
    column = AnswerColumn(name="n", mechanism="", values=[3, 9, 5], low=[1, 7, 3], high=[5, 11, 7], scale=[1.0] * 3)
    cells: list[list[int | float | str]] = [["a"], ["b"], ["c"]]
    stored = StoredAnswer(question="q", keys=["zone"], cells=cells, columns=[column], epsilon="1")
    assert [mark.name for mark in marks_of(stored, column)] == ["b", "c", "a"]
    sorted_up = msgspec.structs.replace(stored, arranged=["sorted by zone"])
    assert [mark.name for mark in marks_of(sorted_up, column)] == ["a", "b", "c"]
