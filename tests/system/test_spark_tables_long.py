"""Tables on real separate processes: the release of the single machine, also when an executor is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf

pytestmark = pytest.mark.long
ROWS, FILES = 2_000_000, 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of Parquet whose files are ordered by place, as files often are."""
    draw = np.random.default_rng(1)
    people = pl.DataFrame(
        {
            "age": draw.integers(16, 90, ROWS),
            "zip": np.sort(draw.integers(0, 60, ROWS)),
            "sex": draw.choice(["F", "M"], ROWS),
            "disease": draw.choice(["flu", "gout", "asthma", "ulcer"], ROWS),
        }
    )
    source = tmp_path / "people"
    source.mkdir()
    for number in range(FILES):
        people.slice(number * ROWS // FILES, ROWS // FILES).write_parquet(source / f"part{number}.parquet")
    return source


@pytest.mark.usefixtures("spark")  # skips without Spark; the cluster is a process of its own
def test_a_killed_executor_changes_nothing(folder: Path, tmp_path: Path) -> None:
    script = Path(__file__).with_name("spark_kill.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(tmp_path / "out")], check=True, capture_output=True, text=True
    )
    news = json.loads(done.stdout.splitlines()[-1])
    assert len(news["before"]) == 2
    assert len(news["killed"]) == 1
    assert news["killed"][0] not in news["after"]
    people = sf.Table(pl.read_parquet(folder / "*.parquet"))
    schema = sf.Schema.from_roles(quasi=["age", "zip", "sex"], sensitive=["disease"])
    expected = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10), sf.LDiversity(2, "disease")])
    released = pl.read_parquet(tmp_path / "out" / "*.parquet")
    names = released.columns
    assert released.group_by(names).len().sort(names).equals(expected.frame.group_by(names).len().sort(names))
