"""DOCA, paper mode: each open point of the paper as settled, and the counterexamples to its claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.random import SecureSource, SeededSource
from sfumato.stream.base import Group
from sfumato.stream.publishers.doca import DOCA


def groups(
    values: Sequence[float], *, delay: int = 1000, beta: int = 50, m: int = 100, strict: bool = False
) -> list[Group]:
    publisher = DOCA(sensitivity=1, delay=delay, beta=beta, m=m, strict=strict, rng=SeededSource(1))
    return [*publisher.push_many(np.array(values, dtype=float)), *publisher.flush()]


def places(found: list[Group]) -> list[list[int]]:
    return [group.positions.tolist() for group in found if group.positions is not None]


def test_equal_values_share_a_cluster_from_the_start() -> None:
    assert places(groups([7, 7, 9, 7])) == [[0, 1, 3], [2]]


def test_the_strict_rule_keeps_them_apart_while_the_threshold_is_zero() -> None:
    assert places(groups([7, 7, 9, 7], strict=True)) == [[0], [1], [2], [3]]


def test_a_record_is_forced_into_the_nearest_cluster_when_no_more_may_be_held() -> None:
    assert places(groups([0, 100, 30, 80], beta=2)) == [[0, 2], [1, 3]]


def test_ties_go_to_the_smallest_then_to_the_oldest_cluster() -> None:
    assert places(groups([0, 20, 10], beta=2)) == [[0, 2], [1]]
    assert places(groups([0, 0, 20, 10], beta=2)) == [[0, 1], [2, 3]]


def test_a_whole_cluster_leaves_when_its_first_record_expires() -> None:
    publisher = DOCA(sensitivity=1, delay=2, rng=SeededSource(1))
    assert [len(publisher.push(value)) for value in (5, 9, 5, 9)] == [0, 0, 2, 2]


def test_the_threshold_is_the_mean_loss_of_the_last_groups() -> None:
    """{0, 4} leaves with loss 4/10, then {10} with 0: 43 may join 40 below a mean of 0.2, not below one of 0."""
    assert places(groups([0, 10, 4, 40, 43], delay=2, beta=2, m=2)) == [[0, 2], [1], [3, 4]]
    assert places(groups([0, 10, 4, 40, 43], delay=2, beta=2, m=1)) == [[0, 2], [1], [3], [4]]


def test_all_records_of_a_group_leave_with_one_value() -> None:
    draw = np.random.default_rng(1)
    publisher = DOCA(sensitivity=100, delay=20, beta=5)
    for group in [*publisher.push_many(draw.integers(0, 50, 500).astype(float)), *publisher.flush()]:
        assert len(set(group.values.tolist())) == 1


def test_counterexample_equal_values_show_who_was_grouped() -> None:
    """Two streams that differ in one record: one group against two, with probability 1 and 0."""
    for seed in range(20):
        source = SeededSource(seed)
        one = DOCA(sensitivity=1e6, rng=source)
        same = [*one.push_many(np.array([10.0, 10.0])), *one.flush()]
        two = DOCA(sensitivity=1e6, rng=source)
        other = [*two.push_many(np.array([10.0, 11.0])), *two.flush()]
        assert len({value for group in same for value in group.values}) == 1
        assert len({value for group in other for value in group.values}) == 2


def test_counterexample_with_the_strict_rule() -> None:
    for seed in range(20):
        found = []
        for stream in ([0.0, 100.0, 10.0, 20.0], [0.0, 100.0, 10.0, 90.0]):
            publisher = DOCA(sensitivity=1e6, beta=2, delay=3, strict=True, rng=SeededSource(seed))
            out = [*publisher.push_many(np.array(stream)), *publisher.flush()]
            values = Counter(value for group in out for value in group.values.tolist())
            found.append(sorted(values.values(), reverse=True))
        assert found == [[3, 1], [2, 2]]


def test_counterexample_one_record_moves_most_later_groups() -> None:
    draw = np.random.default_rng(1)
    values = np.round(draw.gamma(2.0, 9000.0, 60_000))
    changed = values.copy()
    changed[5000] = 20 * values.max()
    before, after = ({frozenset(row) for row in places(groups(stream.tolist()))} for stream in (values, changed))
    later = [group for group in after if min(group) > 5000]
    moved = sum(group not in before for group in later)
    assert moved > 0.8 * len(later)


def test_noise_shrinks_with_the_group() -> None:
    for size in (2, 10):
        publisher = DOCA(sensitivity=100, delay=size - 1, beta=1, rng=SeededSource(size))
        out = publisher.push_many(np.zeros(20_000 * size))
        noise = np.array([group.values[0] for group in out])
        assert abs(np.abs(noise).mean() * size / 100 - 1) < 0.03  # the mean of |Laplace(b)| is b


def test_the_card_promises_nothing_and_says_why() -> None:
    card = DOCA(sensitivity=1).card("hours")
    assert card.guarantee.model == "none"
    assert "epsilon" not in card.guarantee.parameters
    assert any(
        warning.startswith("no differential privacy guarantee") and "grouped" in warning for warning in card.warnings
    )
    assert not any("seed" in warning for warning in card.warnings)
    assert any("seed" in warning for warning in DOCA(sensitivity=1, rng=SeededSource(1)).card("hours").warnings)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1e301])
def test_a_record_that_is_no_number_is_refused_with_its_place(bad: float) -> None:
    publisher = DOCA(sensitivity=1)
    publisher.push(1.0)
    with pytest.raises(InputError, match=r"record 1: .* is not a finite number"):
        publisher.push(bad)
    with pytest.raises(InputError, match=r"record 2: .* is not a finite number"):
        publisher.push_many(np.array([1.0, bad]))
    assert publisher.held == 1


def test_the_source_is_secure_by_default() -> None:
    assert isinstance(DOCA(sensitivity=1)._run.source, SecureSource)


def test_a_scale_that_no_grid_can_hold_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be drawn"):
        DOCA(sensitivity=1e-320)
