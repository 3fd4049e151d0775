"""Experiments as declared grids: every case once, in order, kept over a kill, never taken from other code or data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import InputError
from sfumato.experiments import runner
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Comparison, Experiment, Part, Row, grid
from sfumato.experiments.figure import Bars, Curve, Figure, Heat, Level, Mark, Panel, Ranked
from sfumato.experiments.interactive import drawing
from sfumato.experiments.page import Page
from sfumato.experiments.pictures import picture
from sfumato.experiments.produce import NAMES, declared
from sfumato.experiments.runner import Run, carry_out
from sfumato.experiments.stand_ins import MAKERS

MARKS: list[Mark] = [
    Curve("line", [1, 2, 3], [1.0, 4.0, 9.0], [0.5, 3.0, 8.0], [2.0, 5.0, 10.0]),
    Curve("dots", [1, 2], [2.0, 3.0], joined=False),
    Level("limit", 5.0),
]
FIGURE = Figure(
    "all",
    "All marks",
    "figure 1",
    "Everything.",
    [
        Panel("curves", "x", "y", MARKS, log_y=True),
        Panel("bars", "x", "y", [Bars("a", ["u", "v"], [1, 2]), Bars("b", ["u", "v"], [2, 1])]),
        Panel("ranked", "x", "", [Ranked("mean", ["u", "v"], [1, 2], [0.5, 1.5], [1.5, 2.5]), Level("at", 1.2, "x")]),
        Panel("heat", "x", "y", [Heat("per cent", ["u", "v"], ["1", "2"], [[0, 1], [2, 3]], 4)]),
    ],
)


def squares(data: Data, n: int, seed: int) -> Iterator[Row]:
    del data, seed
    yield {"square": n * n, "process": os.getpid()}
    yield {"square": -n * n, "process": os.getpid()}


def toy(**axes: list[int]) -> Experiment:
    cases = grid(**axes)
    part = Part("squares", squares, full=cases, quick=cases[:1])
    return Experiment("toy", "A toy", "nobody", "Nothing.", (part,), compare=lambda _: [], draw=lambda _: [])


def test_every_row_carries_its_parameters_in_the_declared_order(tmp_path: Path) -> None:
    run = Run(toy(n=[3, 1, 2], seed=[7, 8]), Data(None), tmp_path, quick=False)
    rows = carry_out(run, workers=2)["squares"]
    assert rows.select("n", "seed", "square").rows() == [
        (n, seed, sign * n * n) for n in (3, 1, 2) for seed in (7, 8) for sign in (1, -1)
    ]
    assert os.getpid() not in rows["process"].to_list()


def test_a_second_run_computes_nothing_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(toy(n=[1, 2], seed=[1]), Data(None), tmp_path, quick=False)
    first = carry_out(run, workers=1)["squares"]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(runner, "ProcessPoolExecutor", refuse)
    assert carry_out(run)["squares"].equals(first)
    more = Run(toy(n=[1, 2, 3], seed=[1]), Data(None), tmp_path, quick=False)
    with pytest.raises(AssertionError, match="again"):
        carry_out(more)


def test_other_code_or_other_data_make_other_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def names(folder: Path) -> set[str]:
        experiment = Experiment(**{**toy(n=[1], seed=[1]).__dict__, "files": ("x.csv",)})
        return {path.name for _, _, path in Run(experiment, Data(folder), tmp_path, quick=False).cases()}

    one, two = tmp_path / "one", tmp_path / "two"
    for folder, content in ((one, "a\n1\n"), (two, "a\n2\n")):
        folder.mkdir()
        (folder / "x.csv").write_text(content)
    assert names(one) != names(two)
    before = names(one)
    monkeypatch.setattr(runner, "_code", lambda: "other")
    assert names(one) != before


SLOW = """
import sys, time
from pathlib import Path
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Experiment, Part, grid
from sfumato.experiments.runner import Run, carry_out

def slow(data, n):
    time.sleep(0.2)
    Path(sys.argv[2], f"{n}-{time.time_ns()}").touch()
    return [{"m": n}]

if __name__ == "__main__":
    part = Part("slow", slow, full=grid(n=list(range(12))), quick=())
    toy = Experiment("toy", "", "", "", (part,), compare=lambda rows: [], draw=lambda rows: [])
    print(carry_out(Run(toy, Data(None), Path(sys.argv[1]), quick=False), workers=2)["slow"]["m"].to_list())
"""


def test_a_killed_run_goes_on_and_its_workers_end(tmp_path: Path) -> None:
    script, kept, seen = tmp_path / "slow.py", tmp_path / "kept", tmp_path / "seen"
    script.write_text(SLOW)
    seen.mkdir()
    command = [sys.executable, str(script), str(kept), str(seen)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list(seen.iterdir())) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.wait()
    time.sleep(1.5)
    done = len(list(seen.iterdir()))
    time.sleep(0.6)
    assert len(list(seen.iterdir())) == done, "workers went on without their parent"
    assert 4 <= done < 12
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.split("\n")[0] == str(list(range(12)))
    again = [name.partition("-")[0] for name in (path.name for path in seen.iterdir())]
    assert len(again) - len(set(again)) <= 2  # at most what the two workers had in hand


@pytest.mark.parametrize("file", MAKERS)
def test_a_stand_in_has_the_columns_of_the_real_set(file: str) -> None:
    frame = Data(None).frame(file)
    assert frame.height > 800
    folder = os.environ.get("SFUMATO_DATA")
    if folder and not file.startswith("citibike"):
        assert frame.columns == Data(Path(folder)).frame(file).columns or set(frame.columns) == set(
            Data(Path(folder)).frame(file).columns
        )


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; give --data"):
        Data(tmp_path / "nowhere")


def test_figures_of_every_kind_are_drawn_twice(tmp_path: Path) -> None:
    picture(FIGURE, tmp_path / "all.png")
    assert (tmp_path / "all.png").stat().st_size > 20_000
    text = drawing(FIGURE)
    for word in ("line", "dots", "limit", "heatmap", '"type":"bar"'):
        assert word in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_a_page_says_what_is_made_up_and_what_is_off() -> None:
    rows = {"squares": pl.DataFrame({"n": [1], "seed": [1], "square": [1]})}
    comparisons = [
        Comparison("table 1", "a|b", 100.0, 104.0, 90.0, "ours is better", 0.05),
        Comparison("table 1", "c", 100.0, 120.0, None, "", 0.05),
    ]
    text = Page(toy(n=[1], seed=[1]), rows, comparisons, [FIGURE], ["x.csv"], quick=True).markdown()
    assert "(quick run, on made-up stand-ins)" in text
    assert "**Made up**: x.csv" in text
    assert "| a\\|b | 100 | 104 | 90 | within 5 %; ours is better |" in text
    assert "**off by +20 %**" in text
    assert "[squares.csv](toy/squares.csv)" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_is_declared_whole(name: str) -> None:
    experiment = declared(name)
    assert experiment.name == name
    for part in experiment.parts:
        assert part.full
        assert part.quick
        assert part.run.__qualname__.isidentifier()  # other processes find it
