"""Questions that try to make time depend on one person, and made-up neighbours with and without that person.

The first two are attacks of a review: many quantiles over one person's rows, and many patterns that only one row
reaches. The others try what engines do to save time: skip rows by statistics, hash only some persons (Haeberlen, Pierce
& Narayan 2011, section 3, list such channels).
"""

# ruff: noqa: S608  # questions are made of parts

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from time import sleep

import numpy as np
import polars as pl

from sfumato.audit.time import Twins, time
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.session import Session
from sfumato.errors import InputError, ParameterError
from sfumato.promise.cost import Budget
from sfumato.random import Source
from sfumato.release.finding import Finding
from sfumato.schema import Schema

ROWS = 2000
MANY = 400  # rows of the person in the neighbours that differ by a person
PRICE = Decimal("0.001")
STEP = Decimal("0.000001")  # no price is asked twice, so that no answer comes from the ledger
SCHEMA = """
[columns.name]
role = "identifier"
[columns.diagnosis]
role = "other"
type = "category"
[columns.age]
role = "other"
type = "integer"
bounds = [0, 99]
"""
DIAGNOSES = ("flu", "cold", "asthma", "HIV")


@dataclass(frozen=True)
class Attack:
    """A question in SQL about `alice`, how many rows she has, whom the budget protects, and the δ that is needed."""

    question: str
    rows: int = 1
    protect: str = "rows"
    delta: str = "0"


def _patterns(count: int) -> str:
    tests = [f"diagnosis NOT LIKE '%{chr(97 + place % 26)}%_{place}%'" for place in range(count)]
    half = count // 2
    return f"({' AND '.join(tests[:half])}) AND ({' AND '.join(tests[half:])})"


ALICE = "name = 'alice' AND diagnosis = 'HIV'"
LEVELS = ", ".join(f"QUANTILE(age, {level / 1000:.3f}) AS q{level}" for level in range(1, 201))
PERSON = f"person:name:{MANY // 8}:2"
ATTACKS = {
    "200 quantiles of one person's rows": Attack(f"SELECT {LEVELS} FROM people WHERE {ALICE}"),
    "100 patterns that one row reaches": Attack(f"SELECT COUNT(*) FROM people WHERE {ALICE} AND {_patterns(100)}"),
    "a value beyond all others": Attack("SELECT AVG(age), VAR_POP(age) FROM people WHERE age > 98"),
    "groups that nobody declared": Attack(
        "SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis", delta="0.0000000001"
    ),
    "a person with many rows": Attack("SELECT COUNT(*), AVG(age) FROM people", rows=MANY, protect=PERSON),
    "a person over the limit in many groups": Attack(
        "SELECT age, COUNT(*) FROM people GROUP BY age", rows=MANY, protect=PERSON
    ),
}


def session_twins(folder: Path, *, deadline: float, rows: int = ROWS) -> dict[str, Twins]:
    """Return every attack as two functions that ask our own sessions, on neighbours that are written to a folder.

    >>> import tempfile
    >>> twins = session_twins(Path(tempfile.mkdtemp()), deadline=0, rows=50)
    >>> [question() for question in twins["a value beyond all others"]]
    [True, True]
    """
    if rows < 1:
        raise ParameterError(f"the made-up tables have {rows} rows; give at least 1")
    made: dict[str, Twins] = {}
    for place, (name, attack) in enumerate(ATTACKS.items()):
        left, right = (
            _asking(folder / f"{place}-{side}", _people(rows, alice), attack, deadline)
            for side, alice in (("left", attack.rows), ("right", 0))
        )
        made[name] = (left, right)
    return made


def _people(rows: int, alice: int) -> pl.DataFrame:
    """Return made-up people, the same each time, with so many rows of alice at the end."""
    draw = np.random.default_rng(0)
    names = [f"p{number}" for number in range(rows)] + ["alice"] * alice
    told = [*draw.choice(DIAGNOSES[:-1], rows).tolist(), *["HIV"] * alice]
    ages = [*draw.integers(0, 95, rows).tolist(), *(99 if alice == 1 else place % 100 for place in range(alice))]
    return pl.DataFrame({"name": names, "diagnosis": told, "age": ages})


def _asking(folder: Path, people: pl.DataFrame, attack: Attack, deadline: float) -> Callable[[], object]:
    folder.mkdir()
    people.write_parquet(folder / "people.parquet")
    terms = Terms(deadline=deadline, least_share=Decimal(0), other_people=True)
    budget, schema = Budget(epsilon=10**6, delta="0.5"), Schema.from_text(SCHEMA)
    session = Session.create(
        folder / "ledger", folder / "people.parquet", schema, budget, protect=attack.protect, terms=terms
    )
    prices = itertools.count(1)

    def ask() -> None:
        session.sql(attack.question, PRICE + STEP * next(prices), delta=attack.delta)

    return lambda: _seen(session, ask)


def _seen(session: Session, ask: Callable[[], None]) -> bool:
    """Ask, and return whether there was an answer; an overrun is seen by its refusal, here as a second deadline."""
    try:
        ask()
    except InputError:
        if session.ledger.thaw() is None:
            raise
        sleep(session.ledger.terms.deadline)
        return False
    return True


def audit_sessions(
    *, deadline: float, runs: int = 200, rows: int = ROWS, confidence: float = 0.999, rng: Source | None = None
) -> list[Finding]:
    """Return what the clock tells of our own sessions, attack by attack."""
    with tempfile.TemporaryDirectory() as folder:
        twins = session_twins(Path(folder), deadline=deadline, rows=rows)
        return time(twins, runs=runs, confidence=confidence, rng=rng)
