"""What users of OpenDP and Tumult asked for, asked here: joins with public tables, and studies of one row per patient.

OpenDP's issues 2186 (join with a public table) and 2611 (bring a patient's treatments together, join that with
other tables, and only then ask), and Tumult's tutorials on people with several rows and on joins.
"""

# ruff: noqa: S608  # questions are made of parts

from __future__ import annotations

import datetime as dt
import statistics
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.ledger.terms import Terms

PERSON = '[columns.patient]\nrole = "identifier"\ntype = "integer"\n'
TREATMENTS = sf.Schema.from_text(
    PERSON
    + """
[columns.day]
role = "other"
type = "date"
bounds = [2024-01-01, 2024-12-31]
[columns.code]
role = "other"
type = "category"
[columns.cost]
role = "other"
type = "integer"
bounds = [0, 100]
"""
)
PATIENTS = sf.Schema.from_text(PERSON + '[columns.age]\nrole = "other"\ntype = "integer"\nbounds = [0, 120]\n')
AGES = {1: 70, 2: 30, 3: 81, 4: 66, 5: 20}
ROWS = [
    (1, dt.date(2024, 3, 1), "scan", 80),
    (1, dt.date(2024, 1, 5), "test", 10),
    (1, dt.date(2024, 6, 1), "test", 12),
    (2, dt.date(2024, 2, 1), "scan", 90),
    (3, dt.date(2024, 2, 2), "test", 11),
    (3, dt.date(2024, 2, 3), "scan", 70),
    (4, dt.date(2024, 9, 9), "care", 40),
]
KINDS = pl.DataFrame({"code": ["scan", "test", "care"], "kind": ["imaging", "laboratory", "ward"]})


@pytest.fixture
def session(tmp_path: Path) -> sf.Session:
    """Patients and their treatments, at a price that leaves no noise; ROWS and GROUPS bound nobody."""
    frames = {
        "treatments": pl.DataFrame(ROWS, schema=["patient", "day", "code", "cost"], orient="row"),
        "patients": pl.DataFrame({"patient": list(AGES), "age": list(AGES.values())}),
    }
    schemas = {"treatments": TREATMENTS, "patients": PATIENTS}
    budget, unit = sf.Budget(epsilon=10**9, delta="0.1"), "person:patient:5:3"
    return sf.Session.create(tmp_path / "L", frames, schemas, budget, protect=unit, terms=Terms(deadline=0))


def asked(session: sf.Session, text: str, **options: object) -> dict[object, float]:
    """Return the first aggregate of each group."""
    frame = session.sql(text, 10**6, public={"kinds": KINDS}, **options).frame
    return {row[0] if len(row) > 3 else "all": row[-3] for row in frame.iter_rows()}


def test_rows_are_joined_with_a_public_table(session: sf.Session) -> None:
    """OpenDP 2186: keys, types and categories of what is joined need no declaration."""
    found = asked(session, "SELECT kind, COUNT(*) FROM treatments JOIN kinds USING (code) GROUP BY kind")
    assert found == {"imaging": 3, "laboratory": 3, "ward": 1}


def test_pipelines_are_joined_before_anything_is_released(session: sf.Session) -> None:
    """OpenDP 2610 and 2611: a patient's treatments, filtered, brought together and joined with the patient's age."""
    study = """
        WITH study AS (
            SELECT patient, LEAST(COUNT(*), 20) AS treatments, SUM(cost) AS costs, MAX(age) AS years,
                   ARG_MIN(kind, day) AS first_kind, ARG_MAX(kind, day) AS last_kind
            FROM treatments JOIN patients USING (patient) JOIN kinds USING (code)
            WHERE cost > 10 GROUP BY patient
        )
    """
    own = {one: sorted((row for row in ROWS if row[0] == one and row[3] > 10), key=lambda row: row[1]) for one in AGES}
    old = [rows for one, rows in own.items() if rows and AGES[one] >= 65]
    mean = asked(session, study + "SELECT AVG(treatments) FROM study WHERE years >= 65")["all"]
    assert mean == pytest.approx(statistics.mean(len(rows) for rows in old), abs=1e-3)
    total = asked(session, study + "SELECT SUM(costs) FROM study WHERE years >= 65")["all"]
    assert total == sum(cost for rows in old for *_, cost in rows)
    kinds = dict(KINDS.iter_rows())
    firsts = [kinds[rows[0][2]] for rows in own.values() if rows]
    groups = asked(session, study + "SELECT first_kind, COUNT(*) FROM study GROUP BY first_kind")
    assert groups == {kind: firsts.count(kind) for kind in sorted(kinds.values())}
    turned = sum(rows[0][2] != rows[-1][2] for rows in own.values() if rows)
    assert asked(session, study + "SELECT COUNT(*) FROM study WHERE first_kind <> last_kind")["all"] == turned


def test_people_with_several_rows_are_counted_by_public_keys(session: sf.Session) -> None:
    """Tumult's tutorials: rows and people of each key of a public list, and the age of those who had it."""
    codes = KINDS["code"].to_list()
    rows = sf.count().of("treatments").by("code", keys=codes)
    assert dict(session.ask(rows, 10**6).frame.select("code", "count").iter_rows()) == {"scan": 3, "test": 3, "care": 1}
    people = sf.count_distinct("patient").of("treatments").by("code", keys=codes)
    found = session.ask(people, 10**6).frame.select("code", "count_distinct_patient")
    assert dict(found.iter_rows()) == {"scan": 3, "test": 2, "care": 1}
    joined = sf.mean("age").of("treatments").joined("patients", "patient").by("code", keys=codes)
    means = dict(session.ask(joined, 10**6).frame.select("code", "mean_age").iter_rows())
    wanted = {code: statistics.mean(AGES[row[0]] for row in ROWS if row[2] == code) for code in codes}
    assert means == {code: pytest.approx(mean, abs=1e-2) for code, mean in wanted.items()}
