"""Which released groups are shown: the same as a plain reading of the answer in polars gives."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.dp.questions.presentation import Arrangement, Ordering, Presentation, ShownColumn, arrange
from sfumato.errors import InputError
from sfumato.schema import Kind

COLUMNS = (
    ShownColumn("zone", Kind.CATEGORY, key=True, values=("a", "b", "it's")),
    ShownColumn("level", Kind.ORDINAL, key=True, values=("low", "mid", "high")),
    ShownColumn("day", Kind.DATE, key=True),
    ShownColumn("n", Kind.NUMBER),
    ShownColumn("m", Kind.NUMBER),
)
groups = st.lists(
    st.fixed_dictionaries(
        {
            "zone": st.sampled_from(["a", "b", "it's"]),
            "level": st.sampled_from(["low", "mid", "high"]),
            "day": st.sampled_from(["2025-01-01", "2025-02-01", "1999-12-31"]),
            "n": st.integers(-5, 5),
            "m": st.sampled_from([None, -1.5, 0.0, 2.5]),
        }
    ),
    max_size=12,
)
CONDITIONS = [
    "n > 1",
    "n > 1 AND m < 2",
    "NOT (n > 1 OR m < 2)",
    "m IS NULL OR n IN (1, 2, 3)",
    "n * 2 - 1 >= m",
    "n / m > 1",
    "zone = 'it''s' OR zone LIKE 'b%'",
    "level > 'low'",
    "day >= '2025-01-01'",
    "n BETWEEN -1 AND 2",
    "m <> 0",
]
# The twin: the same conditions as polars reads them, with dates as texts, which sort alike.
IN_POLARS = {
    "level > 'low'": "level <> 'low'",
    "n / m > 1": "CASE WHEN m = 0 THEN NULL ELSE (n * 1.0) / m END > 1",
}


def shown(arrangement: Arrangement, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    values = {column.name: [row[column.name] for row in rows] for column in COLUMNS}
    return [rows[place] for place in arrangement.places(values, len(rows))]  # type: ignore[arg-type]


@pytest.mark.parametrize("condition", CONDITIONS)
@settings(max_examples=25, deadline=None)
@given(rows=groups)
def test_having_keeps_what_a_database_would(condition: str, rows: list[dict[str, object]]) -> None:
    types = {"zone": pl.String, "level": pl.String, "day": pl.String, "n": pl.Int64, "m": pl.Float64}
    frame = pl.DataFrame(rows, schema=types)
    wanted = frame.sql(f"SELECT * FROM self WHERE {IN_POLARS.get(condition, condition)}").to_dicts()  # noqa: S608
    assert shown(arrange(Presentation(having=condition), COLUMNS), rows) == wanted


@settings(max_examples=50, deadline=None)
@given(
    rows=groups,
    order=st.lists(
        st.builds(Ordering, st.sampled_from(["zone", "level", "day", "n", "m"]), st.booleans(), st.booleans()),
        max_size=3,
    ),
    limit=st.none() | st.integers(0, 15),
    offset=st.integers(0, 5),
)
def test_order_and_limit_are_those_of_a_stable_sort(
    rows: list[dict[str, object]], order: list[Ordering], limit: int | None, offset: int
) -> None:
    levels = {"low": 0, "mid": 1, "high": 2}
    wanted = list(rows)
    for one in reversed(order):

        def rank(row: dict[str, object], one: Ordering = one) -> object:
            return levels[str(row["level"])] if one.column == "level" else row[one.column]

        there = sorted((row for row in wanted if rank(row) is not None), key=rank, reverse=one.descending)  # type: ignore[arg-type]
        missing = [row for row in wanted if rank(row) is None]
        wanted = missing + there if one.missing_first else there + missing
    wanted = wanted[offset:] if limit is None else wanted[offset : offset + limit]
    found = shown(arrange(Presentation(order=tuple(order), limit=limit, offset=offset), COLUMNS), rows)
    assert [id(row) for row in found] == [id(row) for row in wanted]


@pytest.mark.parametrize(
    "presentation, wanted",
    [
        (Presentation(having="count > 1"), "no column 'count'"),
        (Presentation(having="zone = 'A'"), "no declared category 'A'"),
        (Presentation(having="n = 'x'"), "compares number with text"),
        (Presentation(having="CAST(n AS INTEGER) > 1"), "CAST"),
        (Presentation(having="day > 'x'"), "2026-01-31"),
        (Presentation(having="n > 1; DROP TABLE x"), "one expression"),
        (Presentation(order=(Ordering("nn"),)), "no column 'nn' to sort by; did you mean 'n'"),
    ],
)
def test_what_cannot_be_shown_is_refused(presentation: Presentation, wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        arrange(presentation, COLUMNS)


@pytest.mark.parametrize("limit", [-1, 10**19, True, 1.5])
def test_limits_are_whole_numbers(limit: object) -> None:
    with pytest.raises(InputError, match="the limit is"):
        Presentation(limit=limit)  # type: ignore[arg-type]


def test_a_card_is_told_when_noise_decides() -> None:
    by_noise = [Presentation(having="n > 1"), Presentation(order=(Ordering("n"),), limit=1)]
    by_keys = [Presentation(having="zone = 'a'"), Presentation(order=(Ordering("n"),)), Presentation(limit=3)]
    assert all(arrange(one, COLUMNS).chooses_by_noise for one in by_noise)
    assert not any(arrange(one, COLUMNS).chooses_by_noise for one in by_keys)
