"""Declared coarsening: every cell by its rule, against slow twins; every algorithm sees the released values."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.main import run
from sfumato.core.cells import read
from sfumato.errors import InputError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.evaluate import check
from sfumato.report import table_report
from sfumato.schema import Attribute, Coarsening, Kind, Role, Schema
from sfumato.table import Table
from sfumato.tabular import Anonymizer
from sfumato.tabular.coarsen import coarsen_cells, coarsen_table, group_means, ranges_in_order, round_to

WHOLE = st.integers(-10_000, 10_000)
COSTS = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6).map(lambda value: round(value, 2))), min_size=1, max_size=40)


def cost(rule: Coarsening, kind: Kind = Kind.NUMBER, **more: object) -> Attribute:
    return Attribute("cost", Role.SENSITIVE, kind, coarsen=rule, **more)  # type: ignore[arg-type]


def coarse(values: Sequence[object], rule: Coarsening, kind: Kind = Kind.NUMBER, **more: object) -> pl.Series:
    return coarsen_cells(pl.Series("cost", values), cost(rule, kind, **more))[0]


# --- against slow twins ---------------------------------------------------------------------------------------------


@given(st.lists(WHOLE, min_size=1, max_size=30), st.integers(1, 500))
def test_whole_numbers_round_as_fractions_do(values: list[int], step: int) -> None:
    twin = [math.floor(Fraction(value, step) + Fraction(1, 2)) * step for value in values]
    assert round_to(np.array(values), step).tolist() == twin


@given(COSTS, st.sampled_from([0.05, 0.5, 1, 10, 100, 2500]))
def test_rounding_loses_no_row_moves_at_most_half_a_step_and_is_idempotent(
    values: list[float | None], step: float
) -> None:
    rule = Coarsening(round=step)
    series = pl.Series("cost", values, dtype=pl.Float64)
    once, now = coarsen_cells(series, cost(rule))
    assert [value is None for value in once] == [value is None for value in values]
    for before, after in zip(values, once, strict=True):
        assert before is None or abs(before - after) <= step / 2 * (1 + 1e-6)
    again = coarsen_cells(once, cost(rule))[0]
    assert again.to_list() == once.to_list()
    assert now.coarsen is None


@given(COSTS, st.lists(WHOLE, min_size=2, max_size=8, unique=True).map(sorted))
def test_a_band_holds_its_value_and_the_bands_keep_the_order(values: list[float | None], edges: list[int]) -> None:
    inside = [None if value is None else min(max(value, edges[0]), edges[-1]) for value in values]
    series = pl.Series("cost", inside, dtype=pl.Float64)
    found, now = coarsen_cells(series, cost(Coarsening(bands=tuple(edges))))
    for before, after in zip(inside, found, strict=True):
        assert (before is None) == (after is None)
        if before is not None:
            low, high = read(after).limits or (0, 0)
            assert low <= before <= high
    assert now.kind is Kind.ORDINAL
    if found.drop_nulls().len():
        assert ranges_in_order(found) == tuple(label for label in now.categories or () if label in set(found))


def slow_groups(values: list[int], k: int) -> float:
    """The least squared error of any cut of the sorted values into runs of at least k."""
    ordered = sorted(values)
    best = math.inf
    for count in range(1, len(ordered) // k + 1):
        for inner in itertools.combinations(range(k, len(ordered) - k + 1), count - 1):
            ends = [0, *inner, len(ordered)]
            parts = [ordered[low:high] for low, high in itertools.pairwise(ends)]
            if all(len(part) >= k for part in parts):
                best = min(best, sum((x - sum(part) / len(part)) ** 2 for part in parts for x in part))
    return best


@given(st.lists(st.integers(0, 60), min_size=3, max_size=10), st.integers(2, 3))
def test_group_means_have_the_least_error_of_all_cuts(values: list[int], k: int) -> None:
    means = group_means(np.array(values), k, "cost")
    assert np.square(np.array(values) - means).sum() == pytest.approx(slow_groups(values, k), abs=1e-6)
    assert min(means.tolist().count(mean) for mean in means.tolist()) >= k
    assert means.sum() == pytest.approx(sum(values))
    assert group_means(means, k, "cost").tolist() == pytest.approx(means.tolist())


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), min_size=4, max_size=30))
def test_groups_count_persons_where_a_person_has_several_rows(rows: list[tuple[int, int]]) -> None:
    values, person = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    if len(set(person.tolist())) < 2:
        with pytest.raises(UnsatisfiableError, match="1 persons"):
            group_means(values, 2, "cost", person)
        return
    means = group_means(values, 2, "cost", person)
    for mean in set(means.tolist()):
        assert len(set(person[means == mean].tolist())) >= 2


@given(st.lists(st.dates(dt.date(1990, 1, 1), dt.date(2030, 1, 1)), min_size=1, max_size=20))
def test_a_period_holds_its_day(days: list[dt.date]) -> None:
    for period in ("month", "quarter", "year", "decade"):
        found = coarse(days, Coarsening(period=period), Kind.DATE)
        for day, label in zip(days, found, strict=True):
            low, high = read(label).on_calendar().ends or ("", "")
            assert low <= day.isoformat() <= high


def test_top_and_bottom_codes_and_missing_cells() -> None:
    found = coarse(["-5", "7.5", "?", "99"], Coarsening(top=50, bottom=0), missing=("?",))
    assert found.to_list() == [0.0, 7.5, None, 50.0]
    days = coarse(["2024-12-31", "2025-06-01"], Coarsening(bottom=dt.date(2025, 1, 1)), Kind.DATE)
    assert days.to_list() == [dt.date(2025, 1, 1), dt.date(2025, 6, 1)]


# --- declarations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("coarsen = 5", "coarsen must be a table like {round = 100}; found 5"),
        ("coarsen = {runde = 5}", "unknown key 'runde' of coarsen; did you mean 'round'?"),
        ("coarsen = {}", "no rule was given"),
        ("coarsen = {round = 0}", "round must be a number above 0; found 0"),
        ("coarsen = {round = true}", "round must be a number above 0; found True"),
        ("coarsen = {bands = [5]}", "bands must be two or more numbers that rise"),
        ("coarsen = {bands = 5}", "bands must be a list of numbers"),
        ("coarsen = {microaggregate = 1}", "microaggregate must be an integer of at least 2; found 1"),
        ("coarsen = {round = 5, bands = [0, 5]}", "round and bands exclude each other"),
        ("coarsen = {bands = [0, 5], top = 5}", "bands and top exclude each other"),
        ("coarsen = {top = 5, bottom = 5}", "bottom must lie below top; found 5 and 5"),
        ("coarsen = {period = 'month'}", "period:month coarsens dates; found number"),
        ("coarsen = {period = 'minute'}", "period must be one of"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_its_column(text: str, sentence: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_text(f'[columns.cost]\nrole = "sensitive"\ntype = "number"\n{text}\n')
    assert str(caught.value).startswith("column 'cost': ")
    assert sentence in str(caught.value)


def test_a_rule_is_for_columns_that_are_released_as_they_are() -> None:
    with pytest.raises(SchemaError, match="coarsen is for sensitive and other columns; found quasi"):
        Attribute("age", Role.QUASI, Kind.INTEGER, coarsen=Coarsening(round=5))


@pytest.mark.parametrize(
    "text",
    ["round:100,top:10000", "bands:0,500,1000", "microaggregate:10", "top:10000,bottom:0", "period:month", "round:0.5"],
)
def test_rules_survive_files_and_command_lines(text: str) -> None:
    rule = Coarsening.parse("cost", text)
    assert rule.text == text
    schema = Schema({"cost": Attribute("cost", Role.SENSITIVE, coarsen=rule)})
    assert Schema.from_text(schema.to_toml()).columns["cost"].coarsen == rule


# --- in releases ----------------------------------------------------------------------------------------------------

RULES = [
    Coarsening(round=500, top=6000),
    Coarsening(bands=(0, 500, 1000, 5000)),
    Coarsening(microaggregate=10),
]


def patients(rows: int = 200) -> Table:
    return Table.from_frame(sf.samples.patients(rows))


def schema_of(rule: Coarsening, **more: object) -> Schema:
    columns = {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120)),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("F", "M")),
        "cost": cost(rule, bounds=(0, 100_000)),
    }
    return Schema(columns, other="drop", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
@pytest.mark.parametrize("algorithm", [sf.Mondrian(), sf.Datafly(), sf.MDAV()], ids=lambda one: one.algorithm)
def test_models_see_what_is_released(algorithm: Anonymizer, rule: Coarsening) -> None:
    models = [sf.KAnonymity(5), sf.LDiversity(2, "cost"), sf.TCloseness(0.5, "cost")]
    release = algorithm.anonymize(patients(), schema_of(rule), models)
    assert release.card.released.settings["coarsen"] == {"cost": rule.to_mapping()}
    expected = coarsen_table(patients(), schema_of(rule).settled(patients()))[0].column("cost")
    assert sorted(map(str, release.frame["cost"])) == sorted(map(str, expected))
    measured = {entry.model: entry.measured for entry in release.card.released.models}
    shown = [column.name for column in release.card.released.columns if column.role == "quasi"]
    again = check(release.table, shown, ["cost"], schema=schema_of(rule)).sensitive["cost"]
    assert again.l_distinct == measured["distinct l-diversity"]
    assert again.t == pytest.approx(measured["t-closeness"])
    assert "cost" in table_report(patients(), schema_of(rule), release)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
def test_a_coarse_release_is_measured_again_from_its_file(tmp_path: Path, rule: Coarsening) -> None:
    models = [sf.KAnonymity(5), sf.TCloseness(0.5, "cost")]
    sf.Mondrian().anonymize(patients(), schema_of(rule), models).save(tmp_path / "out.csv")
    findings = sf.audit.release(tmp_path / "out.csv.card.json", tmp_path / "out.csv", trials=50)
    closeness = [finding for finding in findings if finding.claim.startswith("t-closeness")]
    assert [finding.verdict for finding in closeness] == ["NOT_REFUTED"]


def test_anatomy_deals_out_coarse_values() -> None:
    rule = Coarsening(bands=(0, 1000, 2000, 3000))
    release = sf.Anatomy().anonymize(patients(), schema_of(rule), [sf.LDiversity(2, "cost")])
    assert set(release.companions["sensitive"].frame["cost"]) <= set(rule.labels(Kind.NUMBER, (0, 100_000)))


@pytest.mark.parametrize("layer", ["bpg", "m-invariance"])
def test_a_series_keeps_the_rule(tmp_path: Path, layer: str) -> None:
    rows = sf.samples.patients(300)
    schema = schema_of(Coarsening(bands=(0, 1000, 2500)), person="name")
    schema = Schema({**schema.columns, "name": Attribute("name", Role.IDENTIFIER)}, "name", "drop")
    for part in (rows.head(250), rows):
        release = sf.republish(
            Table(part),
            schema,
            [sf.LDiversity(2, "cost")],
            tmp_path / "series",
            layer=layer,  # type: ignore[arg-type]
        )
        assert set(release.frame["cost"]) <= {"[0..1000]", "[1000..2500]", "[2500..100000]"}
        assert release.card.released.settings["coarsen"] == {"cost": {"bands": [0, 1000, 2500]}}


def test_a_series_refuses_means_that_move(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="gives a person another value in each release"):
        sf.republish(patients(), schema_of(RULES[2]), [sf.KAnonymity(5)], tmp_path / "series")


@pytest.mark.parametrize("rule", RULES[1:], ids=lambda rule: rule.text)
def test_private_tables_refuse_rules_that_look_at_rows_or_make_ranges(rule: Coarsening) -> None:
    with pytest.raises(SchemaError, match="column 'cost': coarsening"):
        sf.PrivateMondrian(epsilon=1).anonymize(patients(), schema_of(rule), audit=False)


def test_private_tables_follow_rules_of_one_cell_and_no_cell_stops_them() -> None:
    rows = patients().frame.with_columns(pl.col("cost").cast(pl.String))
    broken = Table(rows.with_columns(pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("x")).otherwise("cost")
                                     .alias("cost")))  # fmt: skip
    release = sf.PrivateMondrian(epsilon=1).anonymize(broken, schema_of(RULES[0]), audit=False)
    assert release.card.released.settings["coarsen"] == {"cost": {"round": 500, "top": 6000}}
    limits = [read(cell).limits for cell in release.frame["cost"]]
    assert max(high for limit in limits if limit for high in limit) <= 6000


@pytest.mark.parametrize(
    "cells, sentence",
    [(["1", "x"], "the first is 'x' in row 2"), (["1", "200000"], "row 2: 200000 lies outside the declared bounds")],
)
def test_cells_that_no_rule_can_read_are_refused(cells: list[str], sentence: str) -> None:
    table = Table(pl.DataFrame({"age": [30, 30], "sex": ["F", "F"], "cost": cells}))
    with pytest.raises(InputError, match=sentence):
        sf.Mondrian().anonymize(table, schema_of(RULES[0]), [sf.KAnonymity(2)])


def test_a_value_beyond_the_bands_is_refused() -> None:
    table = Table(pl.DataFrame({"cost": [5, 50]}))
    rule = cost(Coarsening(bands=(0, 10)), Kind.INTEGER)
    with pytest.raises(InputError, match="row 2: 50 lies outside the declared bands; add an edge"):
        coarsen_table(table, Schema({"cost": rule}))


def test_an_other_column_is_coarsened_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    sf.samples.patients(100).write_csv(source)
    options = ["--quasi", "age,sex", "--sensitive", "disease", "--identifier", "name,zip,schooling"]
    rules = ["--other", "keep", "--coarsen", "cost=round:1000,top:5000", "--coarsen", "admission=period:quarter"]
    assert run(["anonymize", str(source), "-o", str(out), *options, *rules, "--k", "5"]) == 0
    assert set(pl.read_csv(out)["cost"]) <= {0, 1000, 2000, 3000, 4000, 5000}
    assert set(pl.read_csv(out)["admission"]) <= {f"2025-Q{quarter}" for quarter in (1, 2, 3, 4)}
    card = json.loads((tmp_path / "out.csv.card.json").read_text())
    assert card["released"]["settings"]["coarsen"]["cost"] == {"round": 1000, "top": 5000}
    capsys.readouterr()


@pytest.mark.parametrize(
    "option, sentence",
    [
        ("cost", "coarsening 'cost' is not of the form cost=round:100"),
        ("cost=100", "coarsening '100' is not of the form round:100"),
        ("costs=round:100", "column 'costs' has no role; did you mean 'cost'?; declare one"),
        ("cost=round:many", "round must be a number above 0; found 'many'"),
    ],
)
def test_the_command_line_refuses_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, sentence: str
) -> None:
    sf.samples.patients(20).write_csv(tmp_path / "in.csv")
    asked = ["--quasi", "age", "--sensitive", "cost", "--other", "drop", "--k", "5", "--coarsen", option]
    assert run(["anonymize", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), *asked]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_microaggregate_asks_for_more_than_there_is() -> None:
    with pytest.raises(UnsatisfiableError, match="groups of 10 and there are 3 values; at most 3"):
        coarse([1.0, 2.0, 3.0], Coarsening(microaggregate=10))


def test_spark_refuses_means_before_it_reads() -> None:
    from sfumato.engines.spark.tables.coarsening import coarsen_rows

    with pytest.raises(ParameterError, match="needs every row on one machine"):
        coarsen_rows(None, schema_of(RULES[2]))  # type: ignore[arg-type]


@pytest.mark.parametrize("period, label", [("hour", "2015-09-21 14h"), ("day", "2015-09-21"), ("week", "2015-W39")])
def test_timestamps_become_periods(period: str, label: str) -> None:
    bounds = (dt.datetime(2015, 9, 20), dt.datetime(2015, 9, 22, 5))
    rule = Coarsening(period=period)
    start = Attribute("start", Role.SENSITIVE, Kind.TIMESTAMP, bounds=bounds, coarsen=rule)
    cells = pl.Series("start", ["2015-09-21 14:53:16", "2015-09-20 23:59:59.5", ""])
    values, now = coarsen_cells(cells, start)
    assert values.to_list()[0] == label
    assert values.to_list()[2] is None
    assert set(values.drop_nulls()) <= set(now.categories or ())
    assert list(now.categories or ()) == sorted(now.categories or ())
    assert ranges_in_order(values.drop_nulls(), timed=True) == tuple(sorted(values.drop_nulls()))


def test_groups_of_timestamps_show_their_mean() -> None:
    start = Attribute("start", Role.SENSITIVE, Kind.TIMESTAMP, coarsen=Coarsening(microaggregate=2))
    values, now = coarsen_cells(pl.Series("start", ["2015-09-21 14:00:00", "2015-09-21 15:00:01"]), start)
    assert values.to_list() == [dt.datetime(2015, 9, 21, 14, 30)] * 2
    assert now.kind is Kind.TIMESTAMP


def test_rules_that_do_not_fit_timestamps_are_refused() -> None:
    with pytest.raises(SchemaError, match="round:100 does not coarsen timestamps; give a period, for example hour"):
        Attribute("start", Role.SENSITIVE, Kind.TIMESTAMP, coarsen=Coarsening(round=100))
    with pytest.raises(SchemaError, match="period:hour coarsens timestamps; found date"):
        Attribute("day", Role.SENSITIVE, Kind.DATE, coarsen=Coarsening(period="hour"))
