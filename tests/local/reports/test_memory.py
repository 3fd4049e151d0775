"""A device's memory: unchanged values cost nothing, changed ones do, and nothing leaves before it is written."""

from __future__ import annotations

import json
import multiprocessing
from decimal import Decimal
from pathlib import Path

import pytest

from sfumato.errors import BudgetExceeded, InputError, ParameterError
from sfumato.local import GeneralizedResponse, LocalProtocol, OptimizedUnary
from sfumato.local.card import with_memory
from sfumato.local.protocols.rappor import Rappor
from sfumato.local.reports import memory as memory_module
from sfumato.local.reports.memory import Memory

STATIONS = OptimizedUnary(tuple(f"station {number}" for number in range(40)), 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "device.json"


def test_an_unchanged_value_sends_the_same_report_for_nothing(file: Path) -> None:
    memory = Memory(file, budget=1)
    first = memory.report(STATIONS, "station 3", period="May")
    again = [Memory(file, budget=1).report(STATIONS, "station 3", period=str(round_)) for round_ in range(50)]
    assert all(report == first for report in again)
    assert memory.spent == Decimal(repr(STATIONS.spent))
    assert [entry["epsilon"] for entry in memory.rounds[1:]] == ["0"] * 50


def test_every_other_value_costs_epsilon_and_an_old_one_comes_back(file: Path) -> None:
    memory = Memory(file, budget=2)
    first = memory.report(STATIONS, "station 3", period="1")
    memory.report(STATIONS, "station 4", period="2")
    assert memory.report(STATIONS, "station 3", period="3") == first
    assert memory.spent == 2 * Decimal(repr(STATIONS.spent))


def test_nothing_is_drawn_beyond_the_budget_and_the_last_report_can_be_repeated(file: Path) -> None:
    memory = Memory(file, budget=1.5)
    sent = memory.report(STATIONS, "station 3", period="1")
    before = file.read_bytes()
    with pytest.raises(BudgetExceeded) as refused:
        memory.report(STATIONS, "station 4", period="2")
    assert refused.value.remaining["epsilon"] == Decimal("1.5") - Decimal(repr(STATIONS.spent))
    assert file.read_bytes() == before
    assert memory.repeat(STATIONS) == sent


def test_questions_share_one_budget_and_no_answers(file: Path) -> None:
    memory = Memory(file, budget=1)
    memory.report(STATIONS, "station 3", period="1")
    other = GeneralizedResponse(STATIONS.domain, 1)
    with pytest.raises(BudgetExceeded):
        memory.report(other, "station 3", period="1")
    with pytest.raises(InputError, match="no report for this question"):
        memory.repeat(other)


def test_a_report_that_cannot_be_recorded_does_not_leave(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(file, budget=1)

    def full(_path: Path, _content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(memory_module, "write_durably", full)
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\), so no report was sent"):
            memory.report(STATIONS, "station 3", period="1")
    assert memory.spent == 0
    assert json.loads(file.read_text())["answers"] == {}


def test_a_crash_before_the_report_leaves_has_paid_and_draws_nothing_new(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_protocol: object, _kept: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalProtocol, "report_answer", crash)
        with pytest.raises(KeyboardInterrupt):
            Memory(file, budget=1).report(STATIONS, "station 3", period="1")
    (file.parent / ".device.json.partial").write_bytes(b"{ half a file")
    memory = Memory(file, budget=1)
    assert memory.spent == Decimal(repr(STATIONS.spent))
    assert memory.report(STATIONS, "station 3", period="1") == memory.repeat(STATIONS)
    assert memory.spent == Decimal(repr(STATIONS.spent))


def test_a_budget_cannot_be_raised_by_opening_the_file_again(file: Path) -> None:
    Memory(file, budget=1)
    with pytest.raises(InputError, match="was begun with budget 1"):
        Memory(file, budget=2)


def whole(**changed: object) -> bytes:
    """The file of a device that has reported once, with some parts changed."""
    kept = {
        "format": "sfumato-device-1",
        "budget": "1",
        "rounds": [{"round": "May", "question": "q", "epsilon": "0.5"}],
        "answers": {"q": {"3": "AAAA"}},
        "last": {"q": "3"},
    }
    return json.dumps(kept | changed).encode()


DAMAGED = [
    b"",
    b"{",
    b"[]",
    b'{"format": "sfumato-device-1"}',
    b'{"format": "other"}',
    whole(budget="x"),
    whole(rounds=[{}]),
    whole(rounds=[{"epsilon": "NaN"}]),
    whole(rounds=[{"epsilon": "-9"}]),
    whole(answers=[]),
    whole(answers={"q": {"3": "not base64"}}),
    whole(last={"q": "4"}),
]


def test_the_file_of_a_device_is_read_again(file: Path) -> None:
    file.write_bytes(whole())
    assert Memory(file, budget=1).spent == Decimal("0.5")


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_refused_and_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged|not the file of a device"):
        Memory(file, budget=1)
    assert file.read_bytes() == content


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), "much", None])
def test_a_budget_is_a_number_above_zero(file: Path, budget: object) -> None:
    with pytest.raises(ParameterError, match="above 0"):
        Memory(file, budget)  # type: ignore[arg-type]
    assert not file.exists()


def test_rappor_keeps_the_permanent_answer_and_draws_every_report_anew(file: Path) -> None:
    protocol = Rappor(("cat", "dog"), 4)
    memory = Memory(file, budget=4)
    reports = {memory.report(protocol, "cat", period=str(round_)).payload for round_ in range(20)}
    assert len(reports) == 20
    assert len({payload[:2] for payload in reports}) == 1  # one cohort
    assert memory.spent <= 4
    assert protocol.aggregate([memory.repeat(protocol)]).users == 1


def test_a_device_stays_in_its_rappor_cohort_when_its_value_changes(file: Path) -> None:
    """The cohort travels in the clear: a new one for every value would tell that the value changed."""
    protocol = Rappor(("cat", "dog"), 1, cohorts=64)
    memory = Memory(file, budget=12)
    reports = [memory.report(protocol, f"animal {number}", period=str(number)) for number in range(12)]
    assert len({report.payload[:2] for report in reports}) == 1
    assert protocol.aggregate(reports).users == 12


def test_a_rappor_value_need_not_be_a_candidate_and_candidates_may_change(file: Path) -> None:
    memory = Memory(file, budget=4)
    memory.report(Rappor(("cat", "dog"), 4), "axolotl", period="1")
    later = Rappor(("cat", "dog", "horse"), 4)
    assert later.aggregate([memory.report(later, "axolotl", period="2"), memory.repeat(later)]).users == 2
    assert memory.spent <= 4
    assert [entry["epsilon"] for entry in memory.rounds[1:]] == ["0"]


def report_once(file: Path, number: int) -> None:
    Memory(file, budget=10).report(STATIONS, f"station {number % 2}", period=str(number))


@pytest.mark.long
def test_processes_take_turns_and_lose_nothing(file: Path) -> None:
    Memory(file, budget=10)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=report_once, args=(file, number)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    memory = Memory(file, budget=10)
    assert len(memory.rounds) == 6
    assert memory.spent == 2 * Decimal(repr(STATIONS.spent))


def test_the_card_says_what_happens_when_a_value_changes() -> None:
    plain = STATIONS.card(10)
    card = with_memory(plain, budget=3)
    assert any("value changes" in sentence for sentence in card.assumptions)
    assert any("add up" in sentence and "Fresh" in sentence for sentence in plain.assumptions)
    assert not any("Fresh reports" in sentence for sentence in card.assumptions)
    assert len(card.assumptions) == len(plain.assumptions) + 3
