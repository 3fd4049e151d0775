from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.local import GeneralizedResponse, OptimizedUnary, Reports, Tally
from sfumato.random import SeededSource

PROTOCOL = OptimizedUnary(("red", "green", "blue"), 1.5)


def tally_of(count: int) -> Tally:
    return PROTOCOL.aggregate(PROTOCOL.report_many(np.arange(count) % 3, SeededSource(1)))


def test_tallies_of_different_protocols_do_not_join() -> None:
    with pytest.raises(InputError, match="over 3 values cannot join one of oue"):
        tally_of(3).__iadd__(Tally(GeneralizedResponse(PROTOCOL.domain, 1.5)))
    with pytest.raises(InputError, match="cannot join"):
        tally_of(3) + Tally(OptimizedUnary(("red", "green", "blue", "grey"), 1.5))


def test_a_sum_leaves_its_parts_alone() -> None:
    first, second = tally_of(30), tally_of(60)
    total = first + second
    total += second
    assert (first.users, second.users, total.users) == (30, 60, 150)
    assert first == tally_of(30)


def test_malformed_rows_within_a_packed_batch_are_rejected_one_by_one() -> None:
    rows = np.array([[0b001], [0b1000], [0b111]], dtype=np.uint8)
    tally = PROTOCOL.aggregate(PROTOCOL.packed(rows))
    assert (tally.users, tally.rejected, tally.counts.tolist()) == (2, {"malformed": 1}, [2, 1, 1])


def test_a_packed_batch_of_another_width_is_malformed() -> None:
    wide = Reports("oue", PROTOCOL.design_hash, PROTOCOL.domain_hash, np.zeros((4, 2), dtype=np.uint8))
    assert PROTOCOL.aggregate(wide).rejected == {"malformed": 4}


def test_many_single_reports_are_counted_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.local.collector import tally

    monkeypatch.setattr(tally, "CHUNK_REPORTS", 7)
    reports = [report for chunk in PROTOCOL.report_many(np.arange(50) % 3) for report in chunk]
    assert PROTOCOL.aggregate(reports) == PROTOCOL.aggregate(report.to_json() for report in reports)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"format": "x"}, "its format is 'x'"),
        ({"counts": [1, 2]}, "2 counters; its protocol has 3"),
        ({"counts": [9, 9, 9]}, "counts 9 reports of 6 users"),
        ({"counts": [-1, 0, 0]}, "not a tally"),
        ({"users": "six"}, "not a tally"),
        ({"users": 2**64 - 1, "counts": [2**63, 0, 0]}, "not a tally"),
        ({"rejected": {"malformed": -1}}, "not a tally"),
        ({"extra": 1}, "not a tally"),
    ],
)
def test_a_tally_file_that_contradicts_itself_is_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    tally_of(6).save(tmp_path / "good.json")
    content = json.loads((tmp_path / "good.json").read_text())
    (tmp_path / "bad.json").write_text(json.dumps({**content, **change}))
    with pytest.raises(InputError, match=words):
        Tally.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    "change",
    [
        {"domain": ["red", "green", "grey"]},
        {"chances": {"own": "1", "other": "1"}},
        {"epsilon": 0.1},
        {"parameters": {"epsilon": 2.0}},
        {"parameters": {"epsilon": 1.5, "more": 1}},
        {"parameters": {"epsilon": "x"}},
        {"parameters": {"epsilon": 1.5, "domain": ["a", "b"]}},
        {"protocol": "sue"},
        {"protocol": "none"},
        {"version": 9},
        {"domain": "red"},
    ],
)
def test_a_header_that_contradicts_itself_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    tally_of(6).save(tmp_path / "good.json")
    content = json.loads((tmp_path / "good.json").read_text())
    content["header"].update(change)
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(InputError):
        Tally.load(tmp_path / "bad.json")


def test_a_tally_file_is_not_replaced_and_a_missing_one_is_named(tmp_path: Path) -> None:
    tally_of(6).save(tmp_path / "tally.json")
    with pytest.raises(InputError, match="exists"):
        tally_of(6).save(tmp_path / "tally.json")
    with pytest.raises(InputError, match=r"missing.json' cannot be read: No such file"):
        Tally.load(tmp_path / "missing.json")
    (tmp_path / "noise").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a tally"):
        Tally.load(tmp_path / "noise")


def test_an_estimate_wants_its_own_tally_and_a_known_method() -> None:
    with pytest.raises(InputError, match="tally is one of another oue"):
        OptimizedUnary(("red", "green", "blue"), 1).estimate(tally_of(3))
    with pytest.raises(ParameterError, match="did you mean 'norm-sub'"):
        PROTOCOL.estimate(tally_of(3), consistent="normsub")


def test_an_estimate_is_the_formula() -> None:
    tally = Tally(PROTOCOL, np.array([500, 300, 200]), 900)
    own, other = (float(chance) for chance in PROTOCOL.support)
    estimate = PROTOCOL.estimate(tally, consistent=False)
    assert estimate.counts == pytest.approx((tally.counts - 900 * other) / (own - other))
    assert estimate.variance[0] == pytest.approx(PROTOCOL.variance(900, min(900.0, estimate.counts[0])))
    for end, side in ((estimate.low[1], -1), (estimate.high[1], 1)):  # 1.96 deviations from there, and half a report
        reach = 1.959964 * PROTOCOL.variance(900, end) ** 0.5 + 0.5 / (own - other)
        assert end == pytest.approx(estimate.counts[1] + side * reach, abs=1e-3)
    rows = estimate.frame.rows()
    assert rows[0][0] == "red"
    assert rows[0][1] == pytest.approx(estimate.counts[0])


def test_estimates_add_up_like_their_tallies() -> None:
    first, second = tally_of(3000), tally_of(1500)
    second.reject("malformed")
    parts = [PROTOCOL.estimate(tally, consistent=False) for tally in (first, second)]
    together, joined = parts[0] + parts[1], PROTOCOL.estimate(first + second, consistent=False)
    assert together.counts == pytest.approx(joined.counts)
    assert together.variance == pytest.approx(joined.variance)
    assert together.low == pytest.approx(joined.low)
    assert (together.users, together.rejected) == (4500, {"malformed": 1})
    consistent = PROTOCOL.estimate(first) + PROTOCOL.estimate(second)
    assert consistent.counts.sum() == pytest.approx(4500)
    assert ((consistent.low <= consistent.counts) & (consistent.counts <= consistent.high)).all()
    with pytest.raises(InputError, match="join tallies instead"):
        parts[0] + PROTOCOL.estimate(second)


@pytest.mark.parametrize("method", [True, False, "norm", "norm-mul", "norm-sub", "base-cut", "rounded"])
def test_the_card_says_how_counts_were_processed(method: bool | str) -> None:
    tally = tally_of(90)
    tally.reject("malformed", 2)
    estimate = PROTOCOL.estimate(tally, consistent=method)
    card = estimate.card
    expected = method if isinstance(method, str) else {True: "norm-sub", False: "none"}[method]
    assert card.released.settings["consistency"] == expected
    assert card.released.settings["rejected"] == {"malformed": 2}
    assert any("post-processing" in note for note in card.assumptions) == (method is not False)
    assert any("women only" in note for note in card.assumptions)
    assert any("k times ε" in note for note in card.assumptions)
    assert any("2 reports were rejected" in warning for warning in card.warnings)
    assert card.guarantee.parameters == {"epsilon": PROTOCOL.spent, "epsilon_asked": 1.5}
    assert type(card).from_json(card.to_json()) == card
