"""The scale benchmark: fits that find what they should, predictions that add up, and a page written from the record."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scale import jobs, middle, plans
from scale_events import counted, most_kept
from scale_goals import goal_rows
from scale_model import Cluster, Line, Way, asking, distinct, most_rows, predict, reading, single, streaming, ways
from scale_page import BLOCK, BLOCKS, PAGE, filled, predictions, topics
from scale_record import FILE, ScaleRecord, as_text, from_text

costs = st.floats(1e-3, 1e3)
SMALL, LARGE = 1_000_000, 10_000_000
TASK = {"shuffle_bytes": 0, "spilled_bytes": 0, "broadcast_bytes": 0, "driver_mib": 1000, "kept_mib": 500}


def release(job: str, rows: int, points: int, seconds: float) -> dict[str, Any]:
    """Return a made-up run: 3 bytes read, 5 shuffled and 2 written for a row, 100 bytes held for a distinct one."""
    found = {"job": job, "rows": rows, "seconds": seconds, "python_mib": 200 + 100 * points / 2**20, **TASK}
    sizes = {
        "input_bytes": 3 * rows,
        "shuffle_bytes": 5 * rows,
        "broadcast_bytes": 40 * points,
        "output_bytes": 2 * rows,
    }
    told = {
        "broadcast_bytes": 40 * points,
        "distinct_rows": points,
        "certainty_lost": 0.01,
        "hash_seconds": rows * 2e-9,
        "parts": 8,
    }
    return found | sizes | told


def made() -> ScaleRecord:
    """Return a made-up record: a table takes 10 s and 2 µs for each row, and a hash of a gigabyte a second."""
    tables = [release("table", rows, 150_000, 10 + rows * 2e-6 + rows * 2e-9) for rows in (SMALL, LARGE)]
    others = [
        release("wide", SMALL, 900_000, 10 + SMALL * 5e-6 + SMALL * 2e-9),
        release("parts", SMALL, 150_000, 30),
        {"job": "blocks", "rows": 100_000, "seconds": 20.0, "loss": 2.05, "blocks": 5, **TASK},
        {"job": "single_blocks", "rows": 100_000, "seconds": 5.0, "loss": 2.0, "python_mib": 300},
    ]
    each = [
        {"job": job, "rows": rows, "seconds": fixed + rows * cost, "python_mib": 100 + rows / 2**20 * 50, **TASK}
        for job, fixed, cost in (("bare", 8, 1.5e-6), ("single", 0.5, 5e-7))
        for rows in (SMALL, LARGE)
    ]
    asked = {"job": "query", "seconds": 9.0, "python_mib": 100, **TASK}
    each += [
        asked | {"rows": rows, "ledger_seconds": 1 + rows * 3e-6, "question_seconds": 2 + rows * 1e-6}
        for rows in (SMALL, LARGE)
    ]
    streams = [
        {"job": "stream", "rows": rows, "seconds": 5 + rows * 1e-5, "keys": 16, "state_bytes": 16_000, **TASK}
        for rows in (25_000, 100_000)
    ]
    topic: dict[str, Any] = {"job": "topic", "seconds": 9.0, "load": 0.5, "runs": 1, **TASK}
    streams += [
        topic | {"rows": rows, "cpu_seconds": 9 + rows * 4e-5, "broker_seconds": rows * 1e-6, "log_bytes": 40 * rows}
        for rows in (20_000, 100_000)
    ]
    machine = {"cpu": "abacus", "cores": 2, "memory_bytes": 2**34, "java": "17", "python": "3", "versions": {"x": "1"}}
    return ScaleRecord(machine, (SMALL, LARGE), 2, (*tables, *others, *each, *streams))


@given(costs, costs, st.lists(st.integers(1, 1000), min_size=2, max_size=6, unique=True))
def test_a_line_is_found_from_its_points(fixed: float, each: float, places: list[int]) -> None:
    found = Line.through((place, fixed + each * place) for place in places)
    assert found.at(500) == pytest.approx(fixed + each * 500, rel=1e-6)
    assert found.each == pytest.approx(each, rel=1e-4, abs=1e-6)


@given(st.lists(st.tuples(st.integers(1, 1000), costs), min_size=1, max_size=6, unique_by=lambda point: point[0]))
def test_no_cost_is_below_zero(points: list[tuple[int, float]]) -> None:
    found = Line.through(points)
    assert found.fixed >= 0
    assert found.each > 0


def test_a_single_point_a_falling_line_and_one_from_below_zero_are_all_slope() -> None:
    assert Line.through([(10, 5)]) == Line(0.0, 0.5)
    assert Line.through([(1, 4), (2, 2)]) == Line(0.0, 1.6)
    assert Line.through([(1, 1), (2, 3)]) == Line(0.0, 1.4)


def test_the_model_finds_the_costs_that_the_runs_were_made_with() -> None:
    few, many = ways(made())
    assert few.seconds.fixed == pytest.approx(10)
    assert few.core_seconds == pytest.approx(4e-6)  # on two cores
    assert many.core_seconds == pytest.approx(10e-6)
    assert (few.input_bytes, few.shuffle_bytes, few.output_bytes) == pytest.approx((3, 5, 2))
    assert few.hash_rate == pytest.approx(1e9)
    assert distinct(made()).driver.each == pytest.approx(100)
    assert distinct(made()).broadcast.each == pytest.approx(40)
    assert single(made()).bytes.each == pytest.approx(50)
    assert single(made()).most_rows(2**30) == pytest.approx((2**30 - 100 * 2**20) / 50)
    assert streaming(made()).core_seconds == pytest.approx(2e-5)
    assert streaming(made()).state_bytes == 1000
    assert (reading(made()).core_seconds, reading(made()).log_bytes) == pytest.approx((4e-5, 40))
    assert reading(made()).broker_seconds == pytest.approx(1e-6)
    assert (asking(made()).ledger.fixed, asking(made()).question.fixed) == pytest.approx((1, 2))
    assert (asking(made()).ledger.each, asking(made()).question.each) == pytest.approx((3e-6, 1e-6))


def test_a_prediction_adds_up_what_cores_links_and_the_driver_do() -> None:
    way = Way("", Line(10, 2e-6), 4e-6, 2, input_bytes=3, shuffle_bytes=5, output_bytes=2, hash_rate=1e9)
    found = predict(way, 1e9, Cluster(executors=10, cores=4, link=5e8))
    assert found.compute == pytest.approx(4e3 / 40)
    assert found.network == pytest.approx(11e9 / 5e9)  # read twice, shuffled once
    assert found.driver == pytest.approx(10 + 2e9 / 5e8)  # the link is slower than the hash
    assert found.total == pytest.approx(found.compute + found.network + found.driver)
    assert found.disk == pytest.approx(5e8)


@given(st.floats(0.1, 100))
def test_the_list_of_who_shuffled_to_whom_fills_the_driver_at_the_limit(read: float) -> None:
    way = Way("", Line(0, 0), 0, 1, input_bytes=read, shuffle_bytes=0, output_bytes=0, hash_rate=1)
    rows = most_rows(way)
    assert (rows * read / 2**27) * (rows / 1e6) / 8 == pytest.approx(3 * 2**30)


def test_goals_are_met_or_missed_by_what_was_measured() -> None:
    met = {row.name.partition(",")[0]: row.met for row in goal_rows(made())}
    assert met["cost per row"] is True
    slow = replace(made(), runs=tuple(_slower(run) for run in made().runs))
    assert [row.met for row in goal_rows(slow)][:5] == [False, True, True, True, False]


def _slower(run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "seconds": 20 * run["seconds"]} if (run["job"], run["rows"]) == ("table", LARGE) else run


def test_predictions_are_called_so() -> None:
    assert predictions(made()).startswith("Predicted, not measured, for 32 executors of 8 cores, 10 Gbit/s each")


def test_brokers_are_as_many_as_the_readers_links_need() -> None:
    cluster = Cluster(executors=10, cores=4, link=1e7)
    assert reading(made()).speed(cluster) == pytest.approx(1e6)
    assert reading(made()).brokers(cluster) == 4
    assert reading(made()).brokers(replace(cluster, link=1e10)) == 1
    slow = replace(reading(made()), broker_seconds=2e-5)
    assert slow.brokers(cluster) == 5  # twenty cores of brokers, four to each


def test_a_measurement_beside_other_work_says_so() -> None:
    assert "Nothing else took the cores" in " ".join(topics(made()).split())
    busy = tuple({**run, "load": 4.0} if run["job"] == "topic" else run for run in made().runs)
    assert "Other work took most of the cores" in " ".join(topics(replace(made(), runs=busy)).split())


def test_a_record_is_read_as_it_was_written() -> None:
    assert from_text(as_text(made())) == made()


def test_the_page_has_every_block_and_nothing_else_changes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    full = filled(text, made())
    assert filled(full, made()) == full
    assert BLOCK.sub(r"\1\3", full) == BLOCK.sub(r"\1\3", text)
    with pytest.raises(ValueError, match="needs each of"):
        filled(text.replace("<!-- scale goals -->\n", ""), made())
    assert all(block(made()).strip() for block in BLOCKS.values())


def test_the_page_is_what_the_record_gives() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, from_text(FILE.read_text(encoding="utf-8"))) == text, "run `make bench-scale`"


def test_bytes_of_an_event_log_are_added_up(tmp_path: Path) -> None:
    plan = {"nodeName": "BroadcastExchange", "children": [], "metrics": [{"name": "data size", "accumulatorId": 7}]}
    task = {"Shuffle Write Metrics": {"Shuffle Bytes Written": 3}, "Input Metrics": {"Bytes Read": 5}}
    events: list[dict[str, Any]] = [
        {"Event": "start", "sparkPlanInfo": {"nodeName": "Join", "children": [plan], "metrics": []}},
        {"Event": "update", "accumUpdates": [[7, 40], [8, 900]]},
        *[{"Event": "task", "Task Metrics": {**task, "Disk Bytes Spilled": 2}} for _ in range(4)],
    ]
    (tmp_path / "events_1").write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    (tmp_path / ".events_1.crc").write_bytes(b"crc")
    found = counted(tmp_path)
    assert found == {"shuffle_bytes": 12, "spilled_bytes": 8, "broadcast_bytes": 40}


def test_what_java_keeps_is_read_from_its_log(tmp_path: Path) -> None:
    lines = [
        "[0.1s][info][gc] Using G1",
        "[1.2s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 900M->120M(1024M) 5.1ms",
        "[2.2s][info][gc] GC(1) Pause Remark 800M->790M(1024M) 5.1ms",
        "[2.3s][info][gc] GC(1) Concurrent Mark Cycle 12.1ms",
        "[3.2s][info][gc] GC(2) Pause Full (System.gc()) 1800M->340M(3072M) 5.1ms",
    ]
    (tmp_path / "gc.log").write_text("\n".join(lines), encoding="utf-8")
    assert most_kept(tmp_path / "gc.log") == 340


def test_of_several_runs_every_number_is_the_middle_one() -> None:
    runs = [
        {"job": "bare", "rows": 5, "seconds": seconds, "kept_mib": kept} for seconds, kept in ((3, 9), (1, 7), (2, 8))
    ]
    assert middle(runs) == {"job": "bare", "rows": 5, "seconds": 2, "kept_mib": 8, "runs": 3}
    assert middle(runs[:1]) == {**runs[0], "runs": 1}


def test_a_plan_leaves_its_folder_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, list[str]]] = []

    def fake(job: str, rows: int, folder: Path) -> dict[str, Any]:
        seen.append((job, sorted(place.name for place in folder.iterdir())))
        (folder / f"{job}-{rows}").mkdir()
        (folder / f"{job}.ledger").touch()
        return {"job": job, "rows": rows}

    monkeypatch.setattr("scale.run", fake)
    found = list(jobs(tmp_path, [("generate", 5), ("bare", 5), ("table", 5)]))
    assert [run["job"] for run in found] == ["bare", "table"]
    assert [left for job, left in seen if job == "table"] == 3 * [["generate-5", "generate.ledger"]]
    assert not any(tmp_path.iterdir())


def test_every_run_that_the_page_needs_is_planned() -> None:
    planned = {job for plan in plans(SMALL, LARGE) for job, _ in plan if not job.startswith("generate")}
    assert planned == {run["job"] for run in made().runs}
