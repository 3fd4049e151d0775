"""Leaks put into a clean release on purpose, each by itself: every one falls, and the clean release stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.random import SeededSource

ROWS = 400
NOTES = ("came for a check", "came for a control visit", "sent home after a check", "sent home after a control visit")


def people() -> pl.DataFrame:
    """Made-up visits with columns that are safe to pass on, and others that the leaks draw on."""
    draw = np.random.default_rng(3)
    zips = draw.integers(0, 40, ROWS)
    frame = sf.samples.patients(ROWS, seed=5).select("age", "sex", "disease", "cost")
    return frame.with_columns(
        pl.Series("name", [f"Person {draw.integers(10**9)}x{row}" for row in range(ROWS)]),
        pl.Series("zip", [f"{47000 + 10 * code}" for code in zips]),
        pl.Series("exact", frame["cost"]),
        (pl.col("cost") / 1000).round().clip(upper_bound=4).cast(pl.Int64) * 1000,
        pl.Series("note", draw.choice(NOTES, ROWS)),
    )


QUASI, SENSITIVE = ["age", "sex", "zip"], ["disease", "cost", "note"]


@dataclass
class Case:
    """A release on its way out: its rows (each at its person's place), its original, its card and its files."""

    original: pl.DataFrame
    rows: pl.DataFrame
    card: dict[str, Any]
    name: str = "out.csv"
    order: bool = True
    files: dict[str, pl.DataFrame] | None = None

    def add(self, name: str, values: Any, role: str = "other", *, known: bool = True) -> None:
        """Release one more column, which the original has too if it is `known`."""
        column = pl.Series(name, values)
        self.rows = self.rows.with_columns(column)
        if known:
            self.original = self.original.with_columns(column)
        self.card["released"]["columns"].append({"name": name, "role": role, "type": None})

    def put(self, name: str, row: int, value: str) -> None:
        """Write one released cell."""
        texts = self.rows[name].cast(pl.String).to_list()
        texts[row] = value
        self.rows = self.rows.with_columns(pl.Series(name, texts))

    def save(self, folder: Path) -> list[str]:
        """Write everything, the card with the right hash and counts, and return the command that attacks it."""
        rows = self.rows.sample(fraction=1, shuffle=True, seed=11) if self.order else self.rows
        file = folder / self.name
        rows.write_csv(file)
        for name, frame in (self.files or {}).items():
            frame.write_csv(folder / name)
        released = self.card["released"]
        released.setdefault("sha256", None)
        if released["sha256"] != "wrong":
            released |= {"file": self.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        (folder / "card.json").write_text(json.dumps(self.card))
        self.original.write_csv(folder / "original.csv")
        roles = {"identifier": ["name"], "quasi": QUASI, "sensitive": SENSITIVE}
        told = {name: role for role, names in roles.items() for name in names}
        lines = [
            f'[columns."{name}"]\nrole = "{told.get(name, "other")}"\n'
            for name in self.original.columns
            if name in told or name in rows.columns
        ]
        (folder / "schema.toml").write_text('other = "drop"\n' + "".join(lines))
        return ["audit", "release", str(folder / "card.json"), str(file)]


@pytest.fixture(scope="module")
def clean() -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The original, its 10-anonymous release with every row at its person's place, and the card."""
    original = people()
    schema = sf.Schema.from_roles(quasi=QUASI, sensitive=SENSITIVE, identifier=["name", "exact"], other="keep")
    models = [sf.KAnonymity(10), sf.LDiversity(3, "disease")]
    release = sf.Mondrian(keep_order=True).anonymize(sf.Table(original), schema, models, rng=SeededSource(1))
    card = json.loads(release.card.to_json())
    card["released"]["order"] = "shuffled"
    return original, release.table.frame.cast(pl.String), json.dumps(card)


@pytest.fixture
def case(clean: tuple[pl.DataFrame, pl.DataFrame, str]) -> Case:
    original, rows, card = clean
    return Case(original, rows, json.loads(card))


def numbers(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def a_unique_column(case: Case) -> None:
    case.add("case_no", numbers().permutation(ROWS) + 70_000)


def a_nearly_unique_column(case: Case) -> None:
    case.add("fnlwgt", numbers().integers(10_000, 13_000, ROWS))


def an_exact_cost(case: Case) -> None:
    case.rows = case.rows.with_columns(case.original["exact"].cast(pl.String).alias("cost"))
    case.original = case.original.with_columns(pl.col("exact").alias("cost"))
    next(column for column in case.card["released"]["columns"] if column["name"] == "cost")["type"] = "number"


def a_rare_free_text(case: Case) -> None:
    case.put("note", 7, "came after a derailment near the quarry")


def an_email_in_a_text(case: Case) -> None:
    case.put("note", 9, "came for a check, write to a.b@example.org")


def a_telephone_in_a_text(case: Case) -> None:
    case.put("note", 9, "came for a check, call +49 30 901820 55")


def the_original_order(case: Case) -> None:
    case.order = False


def rows_sorted_by_a_value(case: Case) -> None:
    case.rows, case.order = case.rows.sample(fraction=1, shuffle=True, seed=2).sort("cost"), False


def a_row_number(case: Case) -> None:
    case.add("row", np.arange(1, ROWS + 1))


def a_name_in_the_file_name(case: Case) -> None:
    case.name = f"visit-of-{case.original['name'][3].replace(' ', '-')}.csv"


def a_timestamp_to_the_second(case: Case) -> None:
    seconds = numbers().integers(0, 90_000_000, ROWS)
    start = pl.Series(seconds).cast(pl.Int64) * 1_000_000 + 1_400_000_000_000_000
    case.add("seen", start.cast(pl.Datetime("us")).dt.strftime("%Y-%m-%d %H:%M:%S"))


def coordinates(case: Case) -> None:
    draw = numbers()
    case.add("lat", np.round(52 + draw.random(ROWS) / 3, 4))
    case.add("lon", np.round(13 + draw.random(ROWS) / 3, 4))


def coarse_coordinates(case: Case) -> None:
    """Neither is unique, the pair is."""
    draw = numbers()
    case.add("lat", np.round(52 + draw.random(ROWS) * 0.6, 2))
    case.add("lon", np.round(13 + draw.random(ROWS) * 0.6, 2))


def a_plain_hash(case: Case) -> None:
    case.add("key", [hashlib.sha256(name.encode()).hexdigest()[:12] for name in case.original["name"]], known=False)


def a_pseudonym_that_repeats(case: Case) -> None:
    case.add("key", [hashlib.sha256(f"salt{row // 4}".encode()).hexdigest()[:16] for row in range(ROWS)], known=False)


def a_fine_cell_in_one_class(case: Case) -> None:
    case.put("age", 5, str(case.original["age"][5]))


def a_class_below_k(case: Case) -> None:
    cell = case.rows["zip"][0]
    case.rows = case.rows.with_columns(
        pl.when((pl.col("zip") == cell) & (pl.int_range(pl.len()) < 40))
        .then(pl.lit("{47000, 47390}"))
        .otherwise("zip")
        .alias("zip")
    )


def a_class_of_one_disease(case: Case) -> None:
    first = case.rows.select(pl.all_horizontal(pl.col(name) == case.rows[name][0] for name in QUASI)).to_series()
    disease = pl.when(first).then(pl.lit("flu")).otherwise("disease").alias("disease")
    case.rows, case.original = case.rows.with_columns(disease), case.original.with_columns(disease)


def a_starred_row_with_a_rare_value(case: Case) -> None:
    """Twelve starred rows are a class of more than ten, and one has a disease that nobody else has."""
    starred = pl.int_range(pl.len()) < 12
    case.rows = case.rows.with_columns(pl.when(starred).then(pl.lit("*")).otherwise(name).alias(name) for name in QUASI)
    case.put("disease", 4, "kuru")


def a_derived_column(case: Case) -> None:
    case.add("zip_plus_1", [str(int(code) + 1) for code in case.original["zip"]])


def a_city_beside_the_postcode(case: Case) -> None:
    case.add("city", [f"City {code}" for code in case.original["zip"]])


def a_year_of_birth(case: Case) -> None:
    case.add("born", 2026 - case.original["age"])


def an_outlier(case: Case) -> None:
    case.put("cost", 11, "950000")


def a_companion_that_joins_back(case: Case) -> None:
    """Two tables in groups of ten, each with a number of the row beside the group."""
    slots, groups = [f"s{row}" for row in range(ROWS)], [row // 10 for row in range(ROWS)]
    case.add("slot", slots, known=False)
    case.add("group", groups, known=False)
    case.rows = case.rows.drop("disease")
    columns = case.card["released"]["columns"]
    case.card["released"]["columns"] = [column for column in columns if column["name"] != "disease"]
    values = {"slot": slots, "group": groups, "disease": case.original["disease"], "count": [1] * ROWS}
    case.files = {"out.sensitive.csv": pl.DataFrame(values)}
    told = [{"name": "disease", "role": "sensitive"}]
    case.card["released"]["companions"] = [
        {"name": "sensitive", "rows": ROWS, "columns": told, "file": "out.sensitive.csv"}
    ]


def a_wrong_row_count(case: Case) -> None:
    case.card["released"]["rows"] = ROWS + 1


def a_wrong_hash(case: Case) -> None:
    case.card["released"]["sha256"] = "wrong"


def a_pattern_of_gaps(case: Case) -> None:
    draw = numbers()
    for place in range(10):
        case.add(f"asked{place}", np.where(draw.random(ROWS) < 0.5, "", "yes"))


def a_column_the_card_does_not_name(case: Case) -> None:
    case.rows = case.rows.with_columns(pl.Series("extra", ["a", "b"] * (ROWS // 2)))


def a_name_in_a_cell(case: Case) -> None:
    case.put("note", 2, case.original["name"][2])


MARKS = "no passed-on column marks its rows"
LEAKS: dict[Callable[[Case], None], str] = {
    a_unique_column: MARKS,
    a_nearly_unique_column: MARKS,
    an_exact_cost: MARKS,
    a_row_number: MARKS,
    a_timestamp_to_the_second: MARKS,
    coordinates: MARKS,
    a_rare_free_text: "no note holds a word",
    an_email_in_a_text: "no released cell holds an address",
    a_telephone_in_a_text: "no released cell holds an address",
    rows_sorted_by_a_value: "the order of the rows tells nothing about their values",
    a_plain_hash: "no column is a pseudonym",
    a_pseudonym_that_repeats: "no column is a pseudonym",
    a_fine_cell_in_one_class: "k-anonymity: at least 10",
    a_class_below_k: "k-anonymity: at least 10",
    a_class_of_one_disease: "distinct l-diversity on 'disease'",
    a_starred_row_with_a_rare_value: "suppressed rows are not marked",
    an_outlier: "no passed-on number stands far",
    a_companion_that_joins_back: "the table 'sensitive' cannot be joined back",
    a_wrong_row_count: "the file has 401 rows",
    a_wrong_hash: "the file is the one that the card was written for",
    a_pattern_of_gaps: "which cells are missing marks no rows",
    a_column_the_card_does_not_name: "the file has no column that the card does not name",
}
BESIDE_THE_ORIGINAL: dict[Callable[[Case], None], str] = {
    a_unique_column: "singling out",
    an_exact_cost: "singling out",
    the_original_order: "the rows are not in the order of the original",
    a_name_in_the_file_name: "the file's name holds no identifier",
    coarse_coordinates: "inference",
    a_plain_hash: "no released cell holds an identifier",
    a_derived_column: "given back",
    a_city_beside_the_postcode: "given back",
    a_year_of_birth: "given back",
    a_name_in_a_cell: "no released cell holds an identifier",
}


def audited(case: Case, folder: Path, capsys: pytest.CaptureFixture[str], *, original: bool) -> list[dict[str, Any]]:
    command = case.save(folder)
    if original:
        command += ["--original", str(folder / "original.csv"), "--schema", str(folder / "schema.toml")]
    capsys.readouterr()
    code = run([*command, "--json"])
    out, err = capsys.readouterr()
    assert code in {0, 1}, err
    refuted: list[dict[str, Any]] = [finding for finding in json.loads(out) if finding["verdict"] == "REFUTED"]
    assert code == bool(refuted)
    return refuted


@pytest.mark.parametrize("original", [True, False])
def test_the_clean_release_stands(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, original: bool
) -> None:
    assert audited(case, tmp_path, capsys, original=original) == []


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_a_leak_falls_by_the_file_alone(
    leak: Callable[[Case], None], case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leak(case)
    refuted = audited(case, tmp_path, capsys, original=False)
    assert [finding for finding in refuted if finding["claim"].startswith(LEAKS[leak])]
    assert all(finding["evidence"]["reason"] for finding in refuted)


@pytest.mark.parametrize("leak", BESIDE_THE_ORIGINAL, ids=lambda leak: leak.__name__)
def test_a_leak_falls_beside_the_original(
    leak: Callable[[Case], None], case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leak(case)
    refuted = audited(case, tmp_path, capsys, original=True)
    found = [finding for finding in refuted if finding["claim"].startswith(BESIDE_THE_ORIGINAL[leak])]
    assert found
    assert all(finding["evidence"]["remedy"] for finding in found)
