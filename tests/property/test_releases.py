"""Random tables, random models: what leaves is complete, satisfies its models, and covers every row."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import UnsatisfiableError
from sfumato.evaluate import check
from sfumato.models import Model

rows = st.fixed_dictionaries(
    {
        "age": st.none() | st.integers(-5, 40),
        "city": st.none() | st.sampled_from(["Rome", "Pisa", "a, b", "{x}", "*", "[1-2]", "?"]),
        "height": st.floats(-1e6, 1e6, allow_nan=False),
        "disease": st.sampled_from(["flu", "gout", "ulcer"]),
    }
)
tables = st.lists(rows, min_size=2, max_size=40)
model_lists = st.lists(
    st.sampled_from(
        [
            sf.LDiversity(2, "disease"),
            sf.LDiversity(1.5, "disease", kind="entropy"),
            sf.LDiversity(2, "disease", kind="recursive"),
            sf.TCloseness(0.3, "disease"),
            sf.AlphaK(0.8, 2, "disease"),
        ]
    ),
    max_size=2,
)
TYPES = {"age": pl.Int64, "city": pl.String, "height": pl.Float64, "disease": pl.String}


@given(tables, st.integers(2, 6), model_lists, st.booleans())
def test_a_release_is_complete_and_keeps_its_models(
    people: list[dict[str, object]], k: int, extra: list[Model], relaxed: bool
) -> None:
    table = sf.Table.from_frame(pl.DataFrame(people, schema=TYPES))
    schema = sf.Schema.from_roles(quasi=["age", "city", "height"], sensitive=["disease"])
    models: list[Model] = [sf.KAnonymity(k), *extra]
    try:
        release = sf.Mondrian(relaxed=relaxed).anonymize(table, schema, models)
    except UnsatisfiableError:
        whole = sf.evaluate.check(table.__class__(table.frame.with_columns(age=pl.lit("*"))), ["age"], ["disease"])
        column = whole.sensitive["disease"]
        too_small = table.rows < k or column.l_distinct < 2 or column.l_entropy < 1.5
        assert too_small or column.l_recursive < 2 or column.alpha > 0.8
        return
    found = check(release.table, ["age", "city", "height"], ["disease"])
    assert found.rows == len(people)
    assert found.k >= k
    assert sorted(release.table.column("disease")) == sorted(str(person["disease"]) for person in people)
    for model in extra:
        column = found.sensitive["disease"]
        values = {"l": column.l_distinct, "t": column.t_equal, "alpha": column.alpha}
        if isinstance(model, sf.LDiversity):
            values["l"] = getattr(column, f"l_{model.kind}")
        name = next(name for name in ("l", "t", "alpha") if hasattr(model, name))
        assert model.holds(values[name])


@given(tables, st.integers(2, 6))
def test_every_value_lies_in_its_range(people: list[dict[str, object]], k: int) -> None:
    table = sf.Table.from_frame(pl.DataFrame(people, schema=TYPES))
    if table.rows < k:
        return
    schema = sf.Schema.from_roles(quasi=["age", "city", "height"], sensitive=["disease"])
    kept = sf.Mondrian(keep_order=True, ranges="columns").anonymize(table, schema, [sf.KAnonymity(k)])
    for before, after in zip(people, kept.table.frame.to_dicts(), strict=True):
        assert after["height_min"] <= before["height"] <= after["height_max"]
        if before["age"] is None:
            assert after["age_missing"]
        else:
            assert after["age_min"] <= before["age"] <= after["age_max"]
        city = "" if before["city"] is None else str(before["city"])
        assert after["city"] == before["city"] or f"{city}" in str(after["city"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=4, max_size=60))
def test_persons_are_counted_not_rows(visits: list[tuple[int, int]]) -> None:
    frame = pl.DataFrame({"id": [v[0] for v in visits], "age": [v[1] for v in visits]})
    schema = sf.Schema.from_roles(quasi=["age"], person="id")
    if frame["id"].n_unique() < 2:
        return
    release = sf.Mondrian(keep_order=True).anonymize(sf.Table.from_frame(frame), schema, [sf.KAnonymity(2)])
    joined = release.table.frame.with_columns(frame["id"])
    assert min(joined.group_by("age").agg(pl.col("id").n_unique())["id"].to_list()) >= 2
