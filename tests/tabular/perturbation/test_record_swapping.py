"""Record swapping: who is at risk moves, within the area above, and every count that is promised to stay does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.random import SeededSource
from sfumato.tabular.perturbation.draft import MaskingDraft

SCHEMA = sf.Schema.from_roles(quasi=["region", "district", "age", "sex"])


def people(seed: int, rows: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    district = draw.integers(0, 6, rows)
    return pl.DataFrame(
        {
            "region": [f"r{number // 3}" for number in district],
            "district": [f"d{number}" for number in district],
            "age": draw.integers(20, 40, rows).astype(str),
            "sex": draw.choice(["F", "M"], rows),
        }
    )


def swapped(frame: pl.DataFrame, method: sf.RecordSwapping, seed: int = 1) -> tuple[pl.DataFrame, dict[str, float]]:
    masked = method.mask(MaskingDraft.of(sf.Table(frame), SCHEMA, source=SeededSource(seed)))
    return frame.with_columns(masked.columns.values()), dict(masked.steward)


def at_risk(frame: pl.DataFrame, level: str, below: int) -> set[int]:
    """The rows of which fewer than `below` in their area have the same age and sex, counted one by one."""
    rows = frame.select(level, "age", "sex").rows()
    return {number for number, row in enumerate(rows) if rows.count(row) < below}


@given(st.integers(0, 30), st.integers(2, 60), st.integers(2, 4), st.floats(0, 1))
def test_what_is_kept_and_who_is_moved(seed: int, rows: int, below: int, rate: float) -> None:
    frame = people(seed, rows)
    method = sf.RecordSwapping("region,district", match="sex", risk="age,sex", below=below, rate=rate)
    after, told = swapped(frame, method, seed)
    pairs = frame.select("region", "district").rows(), after.select("region", "district").rows()
    assert sorted(pairs[0]) == sorted(pairs[1])  # areas keep their sizes, and districts their regions
    for columns in (["region", "sex"], ["district", "sex"]):  # and what had to match
        assert sorted(frame.select(columns).rows()) == sorted(after.select(columns).rows())
    assert frame.select("age", "sex").equals(after.select("age", "sex"))
    moved = {number for number in range(rows) if pairs[0][number] != pairs[1][number]}
    assert len(moved) == told["rows_swapped"]
    risky = at_risk(frame, "region", below) | at_risk(frame, "district", below)
    assert told["rows_at_risk"] == len(risky)
    assert told["rows_at_risk_swapped"] == len(risky & moved)
    left = [number for number in range(rows) if number not in moved]
    for number in risky - moved:  # nobody is left with whom a row at risk could have been swapped within its region
        same = [other for other in left if pairs[0][other][0] == pairs[0][number][0]
                and frame["sex"][other] == frame["sex"][number]]  # fmt: skip
        assert len({pairs[0][other][1] for other in same}) == 1
    if told["rows_swapped"] < rate * rows:
        groups = {(pairs[0][number][0], frame["sex"][number], pairs[0][number][1]) for number in left}
        assert len({group[:2] for group in groups}) == len(groups)


def test_a_row_at_risk_in_its_district_alone_stays_in_its_region() -> None:
    frame = pl.DataFrame(
        {
            "region": ["r0"] * 10 + ["r1"] * 10,
            "district": ["d0"] * 1 + ["d1"] * 9 + ["d2"] * 10,
            "age": ["30"] * 20,
            "sex": ["F"] * 20,
        }
    )
    after, told = swapped(frame, sf.RecordSwapping("region,district", risk="age,sex", below=3, rate=0))
    assert (told["rows_at_risk"], told["rows_swapped"]) == (1, 2)
    assert after["region"].to_list() == frame["region"].to_list()
    assert after["district"][0] == "d1"


def test_partners_are_uniform() -> None:
    frame = pl.DataFrame({"region": ["r0"] + ["r1"] * 2 + ["r2"], "district": list("abcd"), "age": ["1"] * 4,
                          "sex": ["F"] * 4})  # fmt: skip
    schema = sf.Schema.from_roles(quasi=["region", "age"], other="drop")
    seen = []
    for seed in range(3000):
        draft = MaskingDraft.of(sf.Table(frame), schema, source=SeededSource(seed))
        column = sf.RecordSwapping("region", risk="age", below=2, rate=0).mask(draft).columns["region"]
        seen.append(tuple(column))
    risky_first = [row for row in seen if row[0] != "r0"]
    shares = np.array([sum(row[0] == "r1" for row in risky_first), sum(row[0] == "r2" for row in risky_first)])
    # r0 and r2 are at risk; whoever comes first takes one of three rows: two of r1, one of the other
    assert len(risky_first) == len(seen)
    assert abs(shares[0] / len(seen) - 2 / 3) < 0.05


def test_what_cannot_be_swapped_is_refused() -> None:
    table = sf.Table(people(1, 20))
    with pytest.raises(ParameterError, match="needs --geography"):
        sf.RecordSwapping().anonymize(table, SCHEMA)
    with pytest.raises(ParameterError, match="'region' is in --geography"):
        sf.RecordSwapping("region", match="region").anonymize(table, SCHEMA)
    with pytest.raises(sf.SfumatoError, match="there is no column 'regoin'; did you mean 'region'"):
        sf.RecordSwapping("regoin").anonymize(table, SCHEMA)
    with pytest.raises(ParameterError, match="no column is left"):
        sf.RecordSwapping("region").anonymize(table, sf.Schema.from_roles(quasi=["region"], other="drop"))
    doubled = sf.Table(people(1, 20).with_columns(id=pl.Series([str(number // 2) for number in range(20)])))
    schema = sf.Schema.from_roles(quasi=["region", "age"], person="id", other="drop")
    with pytest.raises(SchemaError, match="have several"):
        sf.RecordSwapping("region").anonymize(doubled, schema)
