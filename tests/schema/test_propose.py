"""Proposed schemas: valid TOML for any table, honest about what was inferred."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import KAnonymity, Kind, Mondrian, Role, Schema, Table
from sfumato.schema.propose import propose
from sfumato.table import samples

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: name.strip() != ""
)
CELLS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


def read_back(folder: Path, table: Table) -> Schema:
    (folder / "proposed.toml").write_text(propose(table), encoding="utf-8", newline="")
    return Schema.from_toml(folder / "proposed.toml")


@given(names=st.lists(NAMES, unique=True, min_size=1, max_size=4), data=st.data())
def test_a_proposal_reads_back_as_what_was_inferred(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], data: st.DataObject
) -> None:
    cells = st.lists(CELLS.map(lambda cell: None if cell is None else str(cell)), min_size=3, max_size=3)
    table = Table(pl.DataFrame({name: pl.Series(data.draw(cells), dtype=pl.String) for name in names}))
    assert read_back(tmp_path_factory.getbasetemp(), table) == Schema.infer(table)


def test_hostile_columns(tmp_path: Path) -> None:
    table = Table(
        pl.DataFrame(
            {
                "new\nline # not a comment": [1.0, float("inf"), None],
                'del\x7f "quoted"': ["?", "x\x7f", "\\"],
                "nothing": pl.Series([None] * 3),
                "born": [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
                "huge": pl.Series([2**64 - 1, 1, 2], dtype=pl.UInt64),
                "tiny": [-1e300, 5e-324, 0.0],
                "mixed": ["1", "2", "x"],
            }
        )
    )
    schema = read_back(tmp_path, table)
    assert tuple(schema.columns) == table.names
    assert schema.columns["born"].bounds == (dt.date(1, 1, 1), dt.date(9999, 12, 31))
    assert schema.columns["tiny"].bounds == (-1e300, 5e-324)
    assert schema.columns["mixed"].kind is Kind.CATEGORY
    assert schema.columns["mixed"].bounds is None


def test_the_patients(tmp_path: Path) -> None:
    table = Table(samples.patients(200))
    roles = {name: attribute.role.value for name, attribute in read_back(tmp_path, table).columns.items()}
    assert roles == {
        "name": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "schooling": "quasi",
        "admission": "quasi",
        "disease": "sensitive",
        "cost": "sensitive",
    }
    released = Mondrian().anonymize(table, read_back(tmp_path, table), [KAnonymity(5)]).table
    assert "name" not in released.names
    assert released.rows == 200


def test_every_limit_is_marked_as_inferred() -> None:
    text = propose(Table(pl.DataFrame({"age": [1, 2], "sex": ["F", "M"]})))
    assert "bounds = [1, 2]  # inferred from the rows" in text
    entries = tomllib.loads(text)["columns"]
    assert all(entry["public"] is False for entry in entries.values())


@pytest.mark.parametrize(
    "name, role",
    [
        ("PatientID", Role.IDENTIFIER),
        ("e-mail", Role.IDENTIFIER),
        ("Last Name", Role.IDENTIFIER),
        ("Date of Birth", Role.QUASI),
        ("Postcode", Role.QUASI),
        ("diagnosis", Role.SENSITIVE),
        ("income", Role.SENSITIVE),
        ("paid", Role.OTHER),
        ("video", Role.OTHER),
    ],
)
def test_roles_guessed_from_names(name: str, role: Role) -> None:
    assert Schema.infer(Table(pl.DataFrame({name: [1, 1]}))).columns[name].role is role


def test_nearly_unique_texts_and_numbers_look_like_identifiers() -> None:
    texts, numbers = [f"x{number}" for number in range(50)], [str(number) for number in range(50)]
    few = [f"x{number % 5}" for number in range(50)]
    found = Schema.infer(Table(pl.DataFrame({"v1": texts, "v2": numbers, "v3": few}))).columns
    assert [entry.role for entry in found.values()] == [Role.IDENTIFIER, Role.IDENTIFIER, Role.OTHER]
