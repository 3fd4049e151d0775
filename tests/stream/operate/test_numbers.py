"""What the public page of a stream tells under each promise, and what is the steward's alone."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import generate_latest

from sfumato.stream import build
from sfumato.stream.intake import CellCount, ColumnCount, Intake
from sfumato.stream.operate.numbers import SECRET, StreamNumbers, registry_of
from sfumato.stream.runtime.hooks import Hooks, StreamProgress

CLOCK: dict[str, Any] = {"every": "60s", "from_": "2026-01-01T00:00:00Z"}
OF_RECORDS: dict[str, dict[str, Any]] = {
    "records come, and that is public": {"publisher": "rank", "delay": 20},
    "persons' values, and who comes is public": {"publisher": "rank", "delay": 20, "person": "drive"},
}
HIDDEN: dict[str, dict[str, Any]] = {
    "windows by the clock": {"publisher": "rank", **CLOCK},
    "persons, there or not": {"publisher": "adaptive", "person": "drive", **CLOCK},
    "no promise": {"publisher": "doca", "delay": 20, "beta": 5},
}
ONE = StreamProgress(records=61, rows=40, groups=2, held=21, vacant=0)
OTHER = StreamProgress(records=99_061, rows=40, groups=2, held=99_021, vacant=0)
CLEAN = Intake(records=61, columns={"hours": ColumnCount(61)})
DIRTY = Intake(
    records=99_061,
    broken=CellCount(3, [1, 2, 3]),
    columns={"hours": ColumnCount(99_061, CellCount(4), CellCount(5), CellCount(6))},
    left_out={"records that came too late": 7},
)


def page(options: dict[str, Any], *news: Any) -> str:
    """Return the public page of a stream whose hooks were told some news."""
    numbers = StreamNumbers(build(columns=["hours"], bounds=(0, 100), **options))
    hooks = numbers.hooks(Hooks())
    for told in news:
        (hooks.listen if isinstance(told, StreamProgress) else hooks.keep)(told)
    return generate_latest(registry_of([numbers.public])).decode()


@pytest.mark.parametrize("name", HIDDEN)
def test_a_page_tells_nothing_of_hidden_records(name: str) -> None:
    text = page(HIDDEN[name], ONE, CLEAN)
    assert text == page(HIDDEN[name], OTHER, DIRTY)
    assert "sfumato_stream_rows_total 40.0" in text
    assert "sfumato_stream_groups_total 2.0" in text
    assert "records_total" not in text


@pytest.mark.parametrize("name", OF_RECORDS)
def test_a_page_tells_how_many_records_came_where_the_promise_does(name: str) -> None:
    text = page(OF_RECORDS[name], ONE, CLEAN)
    assert "sfumato_stream_records_total 61.0" in text
    assert text == page(OF_RECORDS[name], ONE, DIRTY)  # but not what was wrong with them
    assert text != page(OF_RECORDS[name], OTHER, CLEAN)


def test_windows_by_the_clock_tell_where_the_last_one_ended() -> None:
    text = page(HIDDEN["windows by the clock"], StreamProgress(5, 3, 2, 0, vacant=1))
    assert "sfumato_stream_last_window_end_timestamp_seconds 1.76722572e+09" in text  # 2026-01-01T00:02:00Z
    assert "sfumato_stream_windows_without_rows_total 1.0" in text
    assert "sfumato_stream_epsilon 1.0" in text
    assert 'neighbours="presence' in text


def test_all_that_is_counted_of_records_is_on_the_stewards_page_and_is_marked() -> None:
    numbers = StreamNumbers(build("rank", ["hours"], bounds=(0, 100), **CLOCK))
    numbers.listen(OTHER)
    numbers.keep(DIRTY)
    lines = generate_latest(registry_of([numbers.steward])).decode().splitlines()
    for told in (
        "sfumato_steward_records_total 99061.0",
        "sfumato_steward_held_records 99021.0",
        "sfumato_steward_broken_records_total 3.0",
        'sfumato_steward_cells_total{column="hours",sort="missing"} 4.0',
        'sfumato_steward_cells_total{column="hours",sort="failed"} 5.0',
        'sfumato_steward_cells_total{column="hours",sort="outside"} 6.0',
        'sfumato_steward_left_out_total{why="records that came too late"} 7.0',
    ):
        assert told in lines
    helps = [line for line in lines if line.startswith("# HELP")]
    assert len(helps) == 7
    assert all(SECRET in line for line in helps)
    assert all("sfumato_steward_" in line for line in lines)


def test_a_page_of_a_promise_in_rho_tells_rho_and_no_epsilon_of_nothing() -> None:
    setup = build("totals", ["hours"], bounds=(0, 100), delta=1e-6)
    text = generate_latest(registry_of([StreamNumbers(setup).public])).decode()
    assert setup.promise is not None
    assert f"sfumato_stream_rho {float(setup.promise.cost.rho)!r}" in text
    assert "sfumato_stream_epsilon" not in text
