"""Experiments as declared grids: every case once, in order, kept over a kill, never taken from other code or data."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from sfumato.core.files import hold
from sfumato.errors import InputError, MissingExtraError, SfumatoError
from sfumato.experiments import runner
from sfumato.experiments.data import Data
from sfumato.experiments.declared import ComparedNumber, Experiment, Part, Row, grid
from sfumato.experiments.figure import Bars, Curve, Figure, Heat, Mark, Panel, Ranked, ReferenceLine
from sfumato.experiments.interactive import drawing
from sfumato.experiments.page import Page
from sfumato.experiments.pictures import picture
from sfumato.experiments.produce import KEPT, NAMES, find_experiment, produce
from sfumato.experiments.runner import Run, carry_out
from sfumato.experiments.stand_ins import MAKERS

MARKS: list[Mark] = [
    Curve("line", [1, 2, 3], [1.0, 4.0, 9.0], [0.5, 3.0, 8.0], [2.0, 5.0, 10.0]),
    Curve("dots", [1, 2], [2.0, 3.0], joined=False),
    ReferenceLine("limit", 5.0),
]
FIGURE = Figure(
    "all",
    "All marks",
    "figure 1",
    "Everything.",
    [
        Panel("curves", "x", "y", MARKS, log_y=True),
        Panel("bars", "x", "y", [Bars("a", ["u", "v"], [1, 2]), Bars("b", ["u", "v"], [2, 1])]),
        Panel(
            "ranked",
            "x",
            "",
            [Ranked("mean", ["u", "v"], [1, 2], [0.5, 1.5], [1.5, 2.5]), ReferenceLine("at", 1.2, "x")],
        ),
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


def test_rows_that_a_crash_has_spoilt_are_computed_again(tmp_path: Path) -> None:
    spoilt = [b"", b'[{"square": 4', b"{}", b"[4]", b"\xff\x00"]
    run = Run(toy(n=[1, 2, 3, 4, 5, 6], seed=[1]), Data(None), tmp_path, quick=False)
    first = carry_out(run, workers=1)["squares"].drop("process")
    for left, case in zip(spoilt, run.cases()[1:], strict=True):
        case[2].write_bytes(left)
    assert carry_out(run, workers=1)["squares"].drop("process").equals(first)
    assert all(case[2].read_bytes() != left for left, case in zip(spoilt, run.cases()[1:], strict=True))


def ended(data: Data, n: int) -> Iterator[Row]:
    del data
    if n == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    yield {"m": n}


def test_a_worker_that_is_killed_ends_the_run_in_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    part = Part("ended", ended, full=grid(n=[1, 2]), quick=())
    experiment = Experiment("toy", "", "", "", (part,), compare=lambda _: [], draw=lambda _: [])
    run = Run(experiment, Data(None), tmp_path, quick=False)
    with pytest.raises(SfumatoError, match=r"was ended \(too little memory\?\); what is done is kept"):
        carry_out(run, workers=1)
    assert [path.exists() for _, _, path in run.cases()] == [True, False]


def test_nobody_else_writes_to_the_folder_of_a_run(tmp_path: Path) -> None:
    produce(toy(n=[1], seed=[1]), Data(None), tmp_path)
    with (tmp_path / "toy" / KEPT / "lock").open("rb") as lock:
        hold(lock.fileno(), "the folder")
        with pytest.raises(InputError, match="toy' is in use by another process"):
            produce(toy(n=[1], seed=[1]), Data(None), tmp_path)
    produce(toy(n=[1], seed=[1]), Data(None), tmp_path)


def test_a_page_that_cannot_be_finished_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    produce(toy(n=[1], seed=[1]), Data(None), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if KEPT not in path.parts and path.is_file()}
    assert {path.suffix for path in before} == {".md", ".html", ".csv"}

    def full(page: Page) -> str:
        raise OSError(28, "No space left on device", str(page.title))

    monkeypatch.setattr(Page, "html", full)
    with pytest.raises(InputError, match="output cannot be written: No space left on device"):
        produce(toy(n=[1, 2], seed=[1]), Data(None), tmp_path)
    assert {path: path.read_bytes() for path in before} == before


def test_a_reader_who_left_is_no_fault_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def left(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("sfumato.experiments.produce.carry_out", left)
    with pytest.raises(BrokenPipeError):
        produce(toy(n=[1], seed=[1]), Data(None), tmp_path)


def test_what_draws_is_asked_for_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtraError, match=r"^experiments need plotly; pip install 'sfumato\[experiments\]'$"):
        produce(toy(n=[1], seed=[1]), Data(None), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda _: "", r"cannot be read \(empty CSV\); repair it, or take it away"),
        (lambda text: text[:3000], "has .* rows; the experiment needs at least 834|has empty cells"),
        (lambda text: text.replace("SALES", "SOLD", 1), "has no column 'SALES'"),
        (lambda text: _with_first_cell(text, "many"), "column 'FIXED.ASSETS' of .* holds text"),
        (lambda text: _with_first_cell(text, ""), "column 'FIXED.ASSETS' of .* has empty cells"),
        (lambda text: _with_first_cell(text, "inf"), "column 'FIXED.ASSETS' of .* has infinite values"),
    ],
)
def test_a_data_set_that_is_not_what_it_should_be_is_refused(
    spoil: Callable[[str], str], said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "a[1]*"  # a name, not a pattern
    folder.mkdir()
    whole = Data(None).frame("tarragona.csv").write_csv()
    (folder / "tarragona.csv").write_text(whole)
    Data(folder).check(["tarragona.csv", "census.csv"])
    again = tmp_path / "again"
    again.mkdir()
    (again / "tarragona.csv").write_text(spoil(whole))
    with pytest.raises(InputError, match=said):
        Data(again).check(["tarragona.csv"])


def _with_first_cell(text: str, cell: str) -> str:
    head, first, rest = text.split("\n", 2)
    return "\n".join([head, ",".join([cell, *first.split(",")[1:]]), rest])


@pytest.mark.parametrize("file", ["backblaze_smart9_201609.parquet", "citibike_nyc_sample_2013_2014.csv.gz"])
def test_a_file_that_is_cut_off_or_a_folder_is_refused(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes((b"PAR1" if file.endswith("parquet") else gzip.compress(b"a,b\n" * 999))[:20])
    with pytest.raises(InputError, match=r"cannot be read \(.*\w.*\); repair it"):
        Data(tmp_path).check([file])
    (tmp_path / file).unlink()
    (tmp_path / file).mkdir()
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\); repair it"):
        Data(tmp_path).check([file])


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
        ComparedNumber("table 1", "a|b", 100.0, 104.0, 90.0, "ours is better", 0.05),
        ComparedNumber("table 1", "c", 100.0, 120.0, None, "", 0.05),
    ]
    text = Page(toy(n=[1], seed=[1]), rows, comparisons, [FIGURE], ["x.csv"], quick=True).markdown()
    assert "(quick run, on made-up stand-ins)" in text
    assert "**Made up**: x.csv" in text
    assert "| a\\|b | 100 | 104 | 90 | within 5 %; ours is better |" in text
    assert "**off by +20 %**" in text
    assert "[squares.csv](toy/squares.csv)" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_is_declared_whole(name: str) -> None:
    experiment = find_experiment(name)
    assert experiment.name == name
    for part in experiment.parts:
        assert part.full
        assert part.quick
        assert part.run.__qualname__.isidentifier()  # other processes find it
