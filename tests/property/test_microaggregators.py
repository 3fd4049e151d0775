"""Random tables through every microaggregator: nobody is lost, every class has k rows, every cell is its centroid."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.checks.tables import JOBS, random_schema, random_table
from sfumato.errors import InputError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.evaluate import check
from sfumato.models import Model
from sfumato.tabular import Microaggregator
from sfumato.tabular.microaggregation.loss import standardize

MULTIVARIATE: list[Microaggregator] = [
    sf.MDAV(keep_order=True),
    sf.MDAVPlus(keep_order=True),
    sf.MDAVStar(keep_order=True),
    sf.VMDAV(gamma=1.1, keep_order=True),
    sf.KAnonyMeans(rounds=3, keep_order=True),
    sf.KAnonyMeans(seeding="forgy", loop="none", candidate="centroid", kappa=4, keep_order=True),
    sf.KAnonyMeansStar(generations=1, keep_order=True),
    sf.Improve(iterations=20, seconds=None, keep_order=True),
]
UNIVARIATE = sf.Univariate(keep_order=True)
BELOW_2K = [one for one in (*MULTIVARIATE, UNIVARIATE) if not isinstance(one, sf.VMDAV | sf.MDAVStar)]
MODEL_SETS: list[list[Model]] = [
    [sf.KAnonymity(3), sf.LDiversity(2, "disease")],
    [sf.KAnonymity(2), sf.LDiversity(2.5, "disease", kind="entropy")],
    [sf.KAnonymity(2), sf.TCloseness(0.25, "disease"), sf.TCloseness(0.3, "income")],
    [sf.AlphaK(0.6, 3, "disease")],
]
QUASI = ("age", "weight", "born", "sex", "job", "grade")

numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6, allow_nan=False))
every = pytest.mark.parametrize("anonymizer", [*MULTIVARIATE, UNIVARIATE], ids=repr)
multivariate = pytest.mark.parametrize("anonymizer", MULTIVARIATE, ids=repr)


def drawn(data: st.DataObject, anonymizer: Microaggregator) -> tuple[pl.DataFrame, int]:
    """A table with as many columns as the algorithm takes, and a k that it has the rows for."""
    width = 1 if anonymizer is UNIVARIATE else 2
    rows = data.draw(st.lists(st.tuples(*[numbers] * width), min_size=2, max_size=40))
    frame = pl.DataFrame(np.array(rows), schema=["a", "b"][:width], orient="row")
    return frame, data.draw(st.integers(2, min(6, len(rows))))


def released(anonymizer: Microaggregator, frame: pl.DataFrame, k: int) -> sf.Release:
    schema = sf.Schema.from_roles(quasi=frame.columns)
    return anonymizer.anonymize(sf.Table.from_frame(frame), schema, [sf.KAnonymity(k)])


def loss_by_hand(before: pl.DataFrame, after: pl.DataFrame) -> float:
    """Percent of the z-scored columns' variance that the release has lost."""
    raw, shown = before.to_numpy(), after.to_numpy()
    moving = raw.min(axis=0) < raw.max(axis=0)
    lost = np.square(raw - shown).mean(axis=0)[moving] / raw.var(axis=0)[moving]
    return 100 * float(lost.mean()) if moving.any() else 0.0


@every
@settings(max_examples=25)
@given(data=st.data())
def test_every_cell_is_the_mean_of_a_class_of_at_least_k_rows(anonymizer: Microaggregator, data: st.DataObject) -> None:
    frame, k = drawn(data, anonymizer)
    release = released(anonymizer, frame, k)
    after = release.table.frame
    assert after.height == frame.height
    joined = after.with_columns(frame[name].alias(f"raw_{name}") for name in frame.columns)
    means = pl.col([f"raw_{name}" for name in frame.columns]).mean()
    for row in joined.group_by(frame.columns).agg(pl.len().alias("size"), means).iter_rows(named=True):
        assert row["size"] >= k
        for name in frame.columns:
            spread = float(np.abs(frame[name].to_numpy()).max())
            assert row[name] == pytest.approx(row[f"raw_{name}"], rel=1e-9, abs=1e-12 * spread)
    assert release.steward["information_loss"] == pytest.approx(loss_by_hand(frame, after), rel=1e-6, abs=1e-6)
    assert "information_loss" not in release.card.released.measures


@pytest.mark.parametrize("anonymizer", BELOW_2K, ids=repr)
@settings(max_examples=25)
@given(data=st.data())
def test_no_group_could_be_two(anonymizer: Microaggregator, data: st.DataObject) -> None:
    frame, k = drawn(data, anonymizer)
    sizes = np.bincount(anonymizer.groups(standardize(frame.to_numpy()), k))
    assert sizes.sum() == frame.height
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize("start", [*MULTIVARIATE[:-1], UNIVARIATE], ids=repr)
@settings(max_examples=15)
@given(data=st.data())
def test_improving_never_raises_the_loss_and_repeats(start: Microaggregator, data: st.DataObject) -> None:
    frame, k = drawn(data, start)
    search = sf.Improve(start=start, iterations=30, seconds=None, seed=data.draw(st.integers(0, 9)), keep_order=True)
    first, second = released(search, frame, k), released(search, frame, k)
    assert first.table.frame.equals(second.table.frame)
    assert first.steward["information_loss"] <= released(start, frame, k).steward["information_loss"] + 1e-9


@multivariate
@settings(max_examples=12)
@given(seed=st.integers(0, 999), rows=st.integers(30, 90), models=st.sampled_from(MODEL_SETS))
def test_mixed_tables_keep_every_model(anonymizer: Microaggregator, seed: int, rows: int, models: list[Model]) -> None:
    table, schema = random_table(seed, rows), random_schema()
    try:
        release = anonymizer.anonymize(table, schema, models)
    except UnsatisfiableError:
        shares = table.frame["disease"].value_counts(normalize=True)["proportion"].to_numpy()
        assert shares.max() > 0.6 or -(shares * np.log(shares)).sum() < math.log(2.5)
        return
    assert release.table.rows == rows
    found = check(release.table, QUASI, ("disease", "income"), schema=random_schema())
    assert found.k >= max(model.least_units for model in models)
    for model in models:
        if model.sensitive is None:
            continue
        column = found.sensitive[str(model.sensitive)]
        values = {sf.TCloseness: column.t, sf.AlphaK: column.alpha}
        value = getattr(column, f"l_{model.kind}") if isinstance(model, sf.LDiversity) else values[type(model)]
        assert model.holds(value)


@every
def test_groups_are_merged_no_further_than_a_model_asks(anonymizer: Microaggregator) -> None:
    frame = pl.DataFrame({"age": [1, 2, 11, 12, 101, 102, 111, 112], "disease": list("aabbccdd")})
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"])
    models: list[Model] = [sf.KAnonymity(2), sf.LDiversity(2, "disease")]
    release = anonymizer.anonymize(sf.Table.from_frame(frame), schema, models)
    assert release.table.frame["age"].to_list() == [6.5] * 4 + [106.5] * 4


@multivariate
@settings(max_examples=12)
@given(seed=st.integers(0, 999), rows=st.integers(30, 90), kind=st.sampled_from(["distinct", "entropy"]))
def test_persons_are_counted_not_rows(
    anonymizer: Microaggregator, seed: int, rows: int, kind: Literal["distinct", "entropy"]
) -> None:
    table = random_table(seed, rows)
    models: list[Model] = [sf.KAnonymity(3), sf.LDiversity(2, "disease", kind=kind)]
    try:
        release = anonymizer.anonymize(table, random_schema(person=True), models)
    except UnsatisfiableError:  # few persons with several values each: too many such tables fail the test
        reject()
    joined = release.table.frame.with_columns(table.column("id"))
    classes = joined.group_by(QUASI).agg(pl.col("id", "disease").n_unique())
    assert joined.height == rows
    assert min(classes["id"].to_list()) >= models[0].least_units
    assert min(classes["disease"].to_list()) >= 2


@multivariate
@settings(max_examples=12)
@given(seed=st.integers(0, 999))
def test_words_dates_and_ranks_are_centroids_too(anonymizer: Microaggregator, seed: int) -> None:
    table = random_table(seed, 60)
    release = anonymizer.anonymize(table, random_schema(), [sf.KAnonymity(4)])
    joined = release.table.frame.with_columns(table.column(name).alias(f"raw_{name}") for name in QUASI)
    for (age, _, born, sex, job, _), rows in joined.group_by(QUASI):
        assert sex in rows["raw_sex"].mode().to_list()
        days = rows["raw_born"].to_list()
        assert min(days) <= dt.date.fromisoformat(str(born)) <= max(days)
        covered = {path[0] for path in JOBS.paths if job in path}
        assert set(rows["raw_job"]) <= covered
        known = rows["raw_age"].drop_nulls()
        if known.is_empty():
            assert age is None
        else:
            assert float(str(age).removesuffix("?")) == pytest.approx(known.mean())
            assert str(age).endswith("?") == (len(known) < len(rows))


@every
def test_a_constant_column_stays_as_it_is(anonymizer: Microaggregator) -> None:
    release = released(anonymizer, pl.DataFrame({"x": [0.1] * 7}), 3)
    assert release.table.frame["x"].to_list() == [0.1] * 7
    assert release.steward["information_loss"] == 0.0


@multivariate
def test_a_constant_column_weighs_nothing(anonymizer: Microaggregator) -> None:
    ages = pl.DataFrame({"age": [1, 2, 30, 31, 70, 71, 72]})
    alone = released(anonymizer, ages, 2)
    beside = released(anonymizer, ages.with_columns(rest=pl.lit(4.2)), 2)
    assert beside.table.frame["age"].equals(alone.table.frame["age"])
    assert beside.steward["information_loss"] == pytest.approx(alone.steward["information_loss"])


@every
@pytest.mark.parametrize("rows, k", [(4, 4), (5, 4), (7, 4)])
def test_fewer_than_2k_rows_are_one_class(anonymizer: Microaggregator, rows: int, k: int) -> None:
    release = released(anonymizer, pl.DataFrame({"x": [float(number**2) for number in range(rows)]}), k)
    mean = sum(number**2 for number in range(rows)) / rows
    assert release.table.frame["x"].to_list() == pytest.approx([mean] * rows)
    assert release.steward["information_loss"] == pytest.approx(100.0)


@every
def test_exactly_2k_rows_can_be_two_classes(anonymizer: Microaggregator) -> None:
    release = released(anonymizer, pl.DataFrame({"x": [1, 2, 3, 101, 102, 103]}), 3)
    if not isinstance(anonymizer, sf.VMDAV):  # a wide gamma may take in more rows
        assert release.table.frame["x"].to_list() == [2.0] * 3 + [102.0] * 3


@every
def test_k_copies_of_each_row_lose_nothing(anonymizer: Microaggregator) -> None:
    frame = pl.DataFrame({"x": [0.3, 7.7, 100.1, 250.9] * 3})
    release = released(anonymizer, frame, 3)
    assert release.table.frame.equals(frame)
    assert release.steward["information_loss"] == pytest.approx(0.0)


@every
def test_fewer_rows_than_k_are_refused(anonymizer: Microaggregator) -> None:
    with pytest.raises(UnsatisfiableError, match="at most k=3 is possible"):
        released(anonymizer, pl.DataFrame({"x": [1, 2, 3]}), 4)


@every
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_a_finite_number_is_refused(anonymizer: Microaggregator, value: float) -> None:
    with pytest.raises(InputError, match=r"column 'x' row 2: .* is not a finite number"):
        released(anonymizer, pl.DataFrame({"x": [1.0, value, 2.0]}), 2)


@every
def test_the_largest_and_the_smallest_numbers_do_not_overflow(anonymizer: Microaggregator) -> None:
    wide = released(anonymizer, pl.DataFrame({"x": [1.7e308, 1.6e308, -1.6e308, -1.7e308]}), 2)
    assert wide.table.frame["x"].to_list() == pytest.approx([1.65e308, 1.65e308, -1.65e308, -1.65e308])
    narrow = released(anonymizer, pl.DataFrame({"x": [1e-300, 2e-300, 8e-300, 9e-300]}), 2)
    assert narrow.table.frame["x"].to_list() == pytest.approx([1.5e-300, 1.5e-300, 8.5e-300, 8.5e-300], abs=1e-310)


@multivariate
def test_missing_numbers_are_marked(anonymizer: Microaggregator) -> None:
    mixed = released(anonymizer, pl.DataFrame({"x": [1, None, 3]}), 2).table.frame["x"].to_list()
    assert mixed == ["2.0?"] * 3
    frame = pl.DataFrame({"x": [None, None, None, 5, 5, 5]}, schema={"x": pl.Int64})
    assert released(anonymizer, frame, 3).table.frame["x"].to_list() == [None] * 3 + ["5.0"] * 3
    empty = pl.DataFrame({"x": [None] * 4, "y": [1, 2, 3, 4]}, schema={"x": pl.Int64, "y": pl.Int64})
    assert released(anonymizer, empty, 2).table.frame["x"].to_list() == [None] * 4


def test_univariate_refuses_what_is_not_one_number() -> None:
    for frame in (
        pl.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]}),
        pl.DataFrame({"x": [1, None, 3]}),
        pl.DataFrame({"x": ["a", "b", "c"]}),
    ):
        with pytest.raises(SchemaError, match="univariate microaggregation takes one quasi-identifier"):
            released(UNIVARIATE, frame, 2)


@multivariate
def test_free_text_is_shown_only_where_all_rows_agree(anonymizer: Microaggregator) -> None:
    frame = pl.DataFrame({"note": ["calm", "calm", "calm", "tall", "wry", "odd"], "age": [20, 20, 20, 70, 70, 70]})
    note = sf.Attribute("note", sf.Role.QUASI, sf.Kind.TEXT)
    schema = sf.Schema({"note": note, "age": sf.Attribute("age", sf.Role.QUASI)})
    release = anonymizer.anonymize(sf.Table.from_frame(frame), schema, [sf.KAnonymity(3)])
    assert release.table.frame["note"].to_list() == ["calm"] * 3 + ["*"] * 3


@multivariate
def test_a_column_of_many_words_is_grouped_by_their_order(anonymizer: Microaggregator) -> None:
    words = [f"{letter}{number:03}" for number in range(150) for letter in "ab"]
    release = released(anonymizer, pl.DataFrame({"word": words}), 3)
    crossing = [one for one, other in zip(words, release.table.frame["word"], strict=True) if one[0] != other[0]]
    assert min(release.table.frame["word"].value_counts()["count"].to_list()) >= 3
    assert len(crossing) <= 5  # only the class where the letters meet


def test_memory_follows_the_rows_not_rows_times_words() -> None:
    rows = 20_000
    frame = pl.DataFrame({"word": [f"w{number}" for number in range(rows)], "x": np.arange(rows) % 97})
    release = released(sf.MDAVPlus(keep_order=True), frame, 5)  # a table of 4,000 classes by 20,000 words is 640 MB
    assert release.table.frame.n_unique() > rows // 12


@multivariate
def test_every_row_is_released_whatever_the_order(anonymizer: Microaggregator) -> None:
    table = random_table(7, 50)
    shuffled = replace(anonymizer, keep_order=False).anonymize(table, random_schema(), [sf.KAnonymity(3)])  # type: ignore[type-var]
    kept = anonymizer.anonymize(table, random_schema(), [sf.KAnonymity(3)])
    assert shuffled.card.released.order == "shuffled"
    assert sorted(map(str, shuffled.table.frame.rows())) == sorted(map(str, kept.table.frame.rows()))


def test_a_search_without_an_end_is_refused() -> None:
    with pytest.raises(ParameterError, match="Improve would never stop"):
        sf.Improve(seconds=None)
    with pytest.raises(ParameterError, match="KAnonyMeansStar would never stop"):
        sf.KAnonyMeansStar(generations=None)


def test_the_card_names_where_a_search_started() -> None:
    card = released(sf.Improve(start=sf.MDAV(), iterations=5, seconds=None), pl.DataFrame({"x": [1, 2, 8, 9]}), 2).card
    assert card.released.settings["start"] == "mdav"
