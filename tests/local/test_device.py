"""Integers on the device: every byte string is tried, so each integer below a bound has exactly the same share."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from sfumato.local import device


def take(given: list[bytes], count: int) -> bytes:
    """What is given, once."""
    found = given.pop()
    assert len(found) == count
    return found


def first_draws(bound: int, size: int, monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """What the first bytes of every kind give; -1 where they are thrown away."""
    found: Counter[int] = Counter()
    for number in range(256**size):
        monkeypatch.setattr(device, "_system_bytes", partial(take, [number.to_bytes(size, "big")]))
        try:
            found[device.below(bound)] += 1
        except IndexError:
            found[-1] += 1
    return found


@pytest.mark.parametrize("bound, size, share", [(2, 1, 128), (5, 1, 32), (200, 1, 1), (256, 1, 1), (300, 2, 128)])
def test_every_integer_below_a_bound_has_the_same_share(
    bound: int, size: int, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = first_draws(bound, size, monkeypatch)
    thrown_away = found.pop(-1, 0)
    assert found == dict.fromkeys(range(bound), share)
    assert thrown_away == 256**size - share * bound


def test_one_integer_needs_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_system_bytes", partial(take, [b""]))
    assert device.below(1) == 0
