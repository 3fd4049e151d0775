"""A packed table is the table that it was made of, in less memory: every cell, error and release is the same."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import plugins
from sfumato.audit.gate import gate
from sfumato.checks.anonymizers import PUBLIC
from sfumato.checks.tables import random_schema, random_table
from sfumato.errors import InputError
from sfumato.evaluate.check import as_written
from sfumato.evaluate.utility import utility
from sfumato.random import SeededSource
from sfumato.report import table_report
from sfumato.schema import Attribute, Role
from sfumato.table import coded
from sfumato.table.coded import Coded, cells, hold, spread
from sfumato.table.coding import code, code_held, code_sensitive
from sfumato.table.formats.delimited import write_slices
from sfumato.table.formats.formulas import neutralise_table
from sfumato.table.guesses import cell_guesses
from sfumato.table.io import write_held
from sfumato.table.packed import PackedTable
from sfumato.tabular import Anatomy, Anonymizer, Univariate

WORDS = st.sampled_from(["", "a", "b", " a", "é", "e\u0301", "=1+1", "x;=y", "a,b", '"', "12", "1,5", "?", None])
TEXTS = st.lists(WORDS | st.text(st.characters(exclude_categories=["Cs"]), max_size=14), min_size=1, max_size=30)
LONG = "a canary that no reader may ever find"
ANONYMIZERS = [
    one
    for kind in plugins.every("anonymizers", Anonymizer).values()
    if kind not in (Anatomy, Univariate)
    for one in kind.sample()
]


def both(texts: list[str | None]) -> tuple[sf.Table, PackedTable]:
    plain = sf.Table(pl.DataFrame({"word": pl.Series(texts, dtype=pl.String), "row": range(len(texts))}))
    return plain, PackedTable.of(plain)


def released(one: Anonymizer, *, packed: bool, rows: int = 80) -> sf.Release:
    table = random_table(5, rows)
    schema, models = (PUBLIC if one.private else random_schema()), [sf.KAnonymity(3)] if one.needs_models else []
    return one.anonymize(PackedTable.of(table) if packed else table, schema, models, rng=SeededSource(1))


@given(TEXTS)
def test_every_cell_is_the_one_that_was_packed(texts: list[str | None]) -> None:
    plain, packed = both(texts)
    assert isinstance(packed.held("word"), Coded)
    assert packed.frame.equals(plain.frame)
    assert packed.frame.schema == plain.frame.schema
    assert packed.column("word").equals(plain.column("word"))
    assert packed.select(["word"]).equals(plain.select(["word"]))
    assert (packed.rows, packed.names) == (plain.rows, plain.names)
    words, times = packed.counted("word")
    assert times is not None
    assert dict(zip(words, times, strict=True)) == {word: texts.count(word) for word in set(texts)}


@given(TEXTS, st.randoms(use_true_random=False))
def test_rows_that_are_taken_bring_no_words_of_others(texts: list[str | None], draw: object) -> None:
    plain, packed = both(texts)
    wanted = np.array([draw.random() < 0.5 for _ in texts])  # type: ignore[attr-defined]
    for rows in (wanted, np.flatnonzero(wanted)[::-1].copy()):
        taken = packed.take(rows)
        assert taken.frame.equals(plain.take(rows).frame)
        held = taken.held("word")
        assert isinstance(held, Coded)
        assert held.words.equals(taken.column("word").unique(maintain_order=True))


def test_what_is_fresh_holds_the_words_of_its_cells_in_their_order() -> None:
    held = Coded(pl.Series("word", [LONG, "b", None, "a"]), np.array([3, 2, 1, 3], dtype=np.uint32))
    table = PackedTable.of(sf.Table(pl.DataFrame())).made_of([held]).freshened()
    fresh = table.held("word")
    assert isinstance(fresh, Coded)
    assert fresh.words.to_list() == ["a", None, "b"]
    assert fresh.places.dtype == np.uint8
    buffer = io.BytesIO()
    fresh.words.to_frame().write_ipc(buffer)
    assert LONG.encode() not in buffer.getvalue()
    assert table.fresh
    assert table.freshened() is table


def test_a_text_of_few_different_ones_costs_a_byte_or_two() -> None:
    few, more = (hold(pl.Series("x", [str(row % count) for row in range(3_000)])) for count in (256, 257))
    assert isinstance(few, Coded)
    assert isinstance(more, Coded)
    assert (few.places.nbytes, more.places.nbytes) == (3_000, 6_000)


def test_a_column_of_many_different_texts_stays_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "MOST_WORDS", 50)
    many = pl.Series("x", [str(row) for row in range(1_000)])
    assert hold(many) is many
    table = PackedTable.of(sf.Table(pl.DataFrame([many])))
    assert table.counted("x")[1] is None
    assert table.frame["x"].equals(many)


@pytest.mark.parametrize("series", [pl.Series("x", [1, None]), pl.Series("x", ["a", None], dtype=pl.Categorical)])
def test_what_is_no_text_is_held_as_it_is(series: pl.Series) -> None:
    assert hold(series) is series


def test_a_wrong_name_is_told_with_the_right_one() -> None:
    for read in (both(["a"])[1].column, both(["a"])[1].held):
        with pytest.raises(InputError, match="there is no column 'wrod'; did you mean 'word'"):
            read("wrod")


@given(TEXTS)
def test_columns_and_facts_are_replaced_as_in_any_table(texts: list[str | None]) -> None:
    plain, packed = both(texts)
    other = pl.Series("word", range(len(texts)))
    assert packed.with_columns([other]).frame.equals(plain.with_columns([other]).frame)
    report = sf.ParseReport({})
    assert packed.with_intake(report).intake is report
    assert packed.intake is None
    assert [part.rows() for part in packed.slices(7)] == [part.rows() for part in plain.slices(7)]


@given(TEXTS)
def test_codes_are_those_of_the_cells(texts: list[str | None]) -> None:
    series = pl.Series("word", texts, dtype=pl.String)
    held = Coded.of(series)
    attribute = Attribute("word", Role.SENSITIVE, missing=("", "?"))
    for coder in (code, code_sensitive):
        found, wanted = code_held(held, attribute, coder), coder(series, attribute)
        assert found.codes.tolist() == wanted.codes.tolist()
        assert list(found.levels) == list(wanted.levels)
        assert found.has_missing == wanted.has_missing
    codes, alike = spread(held, as_written), as_written(series)
    assert len(set(zip(codes.tolist(), alike.tolist(), strict=True))) == len(set(alike.tolist()))


def test_a_cell_that_is_refused_is_named_by_its_row() -> None:
    held = Coded.of(pl.Series("sex", ["F", "F", "F", "X"]))
    with pytest.raises(InputError, match="row 4: 'X'"):
        code_held(held, Attribute("sex", Role.QUASI, categories=("F", "M")), code)


@given(TEXTS)
def test_a_file_has_the_same_bytes(texts: list[str | None]) -> None:
    plain, packed = both(texts)
    safe = [neutralise_table(table) for table in (plain, packed)]
    assert safe[0][1] == safe[1][1]
    files = [io.BytesIO(), io.BytesIO()]
    for (table, _), file in zip(safe, files, strict=True):
        write_slices(table, file, ",")
    assert files[0].getvalue() == files[1].getvalue() == safe[0][0].frame.write_csv().encode()


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".arrow", ".jsonl", ".jsonl.gz", ".xlsx"])
def test_every_format_writes_a_packed_table_as_any_other(tmp_path: Path, ending: str) -> None:
    plain, packed = both(["a", None, "=1+1", LONG, "a", "b;c"])
    paths = [tmp_path / f"{name}{ending}" for name in ("plain", "packed")]
    told = [write_held(table, path) for table, path in zip((plain, packed), paths, strict=True)]
    assert told[0] == told[1]
    assert sf.read(paths[0]).frame.equals(sf.read(paths[1]).frame)
    assert ending in {".xlsx", ".jsonl.gz", ".csv.gz"} or paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("rows", [30, 100, 1000])
def test_many_rows_are_written_in_slices_as_at_once(rows: int) -> None:
    plain, packed = both([str(row % 7) for row in range(100)])
    for table in (plain, packed):
        file = io.BytesIO()
        write_slices(table, file, ";", rows)
        assert file.getvalue() == plain.frame.write_csv(separator=";").encode()


def test_a_table_without_rows_has_a_header() -> None:
    file = io.BytesIO()
    write_slices(PackedTable.of(sf.Table(pl.DataFrame({"word": pl.Series([], dtype=pl.String)}))), file, ",")
    assert file.getvalue() == b"word\n"


@given(TEXTS)
def test_guesses_are_the_same(texts: list[str | None]) -> None:
    plain, packed = both(texts)
    schema = sf.Schema.from_roles(quasi=["word"], other="drop")
    assert cell_guesses(packed, schema) == cell_guesses(plain, schema)
    assert cell_guesses(packed) == cell_guesses(plain)
    assert schema.settled(packed) == schema.settled(plain)


@pytest.mark.parametrize("one", ANONYMIZERS, ids=str)
def test_a_release_is_the_same(one: Anonymizer) -> None:
    plain, packed = released(one, packed=False), released(one, packed=True)
    assert packed.table.frame.equals(plain.table.frame)
    assert packed.table.frame.schema == plain.table.frame.schema
    assert packed.frame.equals(plain.frame)
    cards = [msgspec.structs.replace(release.card, audits=[]) for release in (plain, packed)]  # their draws are fresh
    assert cards[0] == cards[1]
    assert packed.notes == plain.notes


def test_a_release_of_a_packed_table_is_packed_and_fresh() -> None:
    table = released(sf.Mondrian(), packed=True).table
    assert isinstance(table, PackedTable)
    assert table.fresh


@pytest.mark.parametrize("ranges", ["text", "columns"])
def test_attacks_and_the_report_find_the_same(ranges: str) -> None:
    table, schema = random_table(5, 80), random_schema()
    one = sf.Mondrian(ranges=ranges)  # type: ignore[arg-type]
    found = []
    for original in (table, PackedTable.of(table)):
        release = one.anonymize(original, schema, [sf.KAnonymity(3)], rng=SeededSource(1))
        attacks = gate(release.table, original, schema, release.card)
        found.append((attacks, utility(original, schema, release.table), table_report(original, schema, release)))
    assert found[0] == found[1]


def test_a_label_that_cannot_be_read_is_named_by_its_row() -> None:
    people = sf.Table(pl.DataFrame({"age": [31, 47, 31, 47]}))
    shown = PackedTable.of(sf.Table(pl.DataFrame({"age": ["[31-47]", "[31-47]", "[31-47]", "31 to 47"]})))
    with pytest.raises(InputError, match="row 4: '31 to 47'"):
        utility(people, sf.Schema.from_roles(quasi=["age"]), shown)


def test_cells_of_a_series_are_the_series() -> None:
    series = pl.Series([1, 2])
    assert cells(series) is series
