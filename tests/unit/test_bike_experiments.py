"""The bicycle experiments on made-up rides: every file is written, once, and the numbers are what they say."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import InputError
from sfumato.experiments.bike_answers import ANSWERS, PLAIN, VIEWS
from sfumato.experiments.bike_data import Rides, districts, read_rides
from sfumato.experiments.bikes import FILES, Grid, adjusted_error, main, run, summary
from sfumato.random import SeededSource

HEADER = "tripduration,starttime,start station id,start station latitude,start station longitude,gender\n"
SMALL = Grid((2.251,), tuple(ANSWERS), (1,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two made-up files in the form of the trip data."""
    draw = np.random.default_rng(3)
    for file in FILES.values():
        rows = [
            f"60,2015-09-21 {draw.integers(24):02d}:53,{3000 + station},{40 + station},-7{station},{draw.integers(3)}\n"
            for station in draw.integers(0, 30, 1500)
        ]
        (tmp_path / file).write_bytes(gzip.compress((HEADER + "".join(rows)).encode()))
    return tmp_path


def test_all_files_are_written_and_none_is_replaced(folder: Path) -> None:
    errors = run(folder, folder / "out", SMALL)
    names = {f"bikes-{number}.{kind}" for number in (1, 2, 3) for kind in ("csv", "png")} | {"bikes-1.md"}
    assert {path.name for path in (folder / "out").iterdir()} == names
    assert pl.read_csv(folder / "out" / "bikes-1.csv").height == errors.height == 3 * len(ANSWERS)
    assert (folder / "out" / "bikes-1.md").read_text() == summary(errors)
    with pytest.raises(InputError, match="exists"):
        run(folder, folder / "out", SMALL)


def test_rides_are_read_as_they_are(folder: Path) -> None:
    rides = read_rides(folder / FILES["New York"], "made up")
    assert rides.number == 1500
    assert len(rides.stations) == 30
    assert rides.everybody().sum() == 1500
    assert rides.women().sum() == rides.woman.sum() > 300
    assert rides.first(100).everybody().sum() == 100
    assert len(set(districts(rides.places))) == 16


def test_the_answers_have_the_shape_of_the_question(folder: Path) -> None:
    rides = read_rides(folder / FILES["New York"], "made up")
    for name, answer in ANSWERS.items():
        found = answer(rides, 2.251, SeededSource(1))
        assert found.shape == rides.women().shape
        assert (found.min() < 0) == name.endswith("raw")
        assert name.endswith(("Norm-Sub", "symmetric unary, raw")) or np.array_equal(found, np.rint(found))


def test_the_shares_of_the_views_are_all_of_it() -> None:
    for views in (VIEWS, PLAIN):
        assert sum(view.share for view in views) == pytest.approx(1)
    rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    assert [view.levels for view in PLAIN] == [("woman",), ("hour",), ("station",)]
    assert {axis.name for axis in rides.crossing().axes} == {view.name for view in PLAIN}


def test_the_adjusted_error_is_the_sources() -> None:
    assert adjusted_error(np.array([100.0, 3.0]), np.array([100.0, 0.0])).tolist() == [0.0, 200.0]


def test_the_script_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "give the folder" in capsys.readouterr().err
    assert main([str(tmp_path), str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "does not exist; it is the Citi Bike trip data of New York" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_toy_is_counted_by_hand() -> None:
    toy = Rides(
        "toy", ("A", "B"), np.zeros((2, 2)), np.array([1, 1, 0]), np.array([8, 8, 23]), np.array([True, True, False])
    )
    assert toy.women()[1, 8] == 2
    assert toy.everybody()[0, 23] == 1
    assert toy.cell.tolist() == [32, 32, 23]
