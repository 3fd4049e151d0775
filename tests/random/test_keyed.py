"""Keyed noise: the same context repeats it, any other context or key gives other noise, and the key stays secret."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.random import KeyedSource, discrete_laplace, new_key
from sfumato.stream import DOCA, AdaptiveHistogram, ClockWindows, NaiveLaplace, RankWindows

KEY = bytes(range(32))
PARTS = st.one_of(st.text(), st.integers(-(2**70), 2**70), st.binary())


def words(*context: Any, key: bytes = KEY) -> list[int]:
    found: list[int] = KeyedSource(key, *context).words(8).tolist()
    return found


def test_the_words_are_aes_in_counter_mode_from_the_hmac_of_the_context() -> None:
    message = b"4:text6:meters" + b"6:number2:-7"
    seed = np.frombuffer(hmac.new(KEY, message, hashlib.sha256).digest()[:16], dtype="<u8")
    counters = b"".join((seed ^ np.array([0, ahead], dtype="<u8")).tobytes() for ahead in range(2))
    key = hmac.new(KEY, b"words", hashlib.sha256).digest()
    book = modes.ECB()  # noqa: S305  # the blocks are counters
    stream = Cipher(algorithms.AES(key), book).encryptor().update(counters)
    assert words("meters", -7) == np.frombuffer(stream, dtype="<u4").tolist()


@pytest.mark.parametrize("width", [1, 2, 3, 32, 33])
def test_rows_drawn_together_are_those_drawn_alone_and_follow_number_content_and_width(width: int) -> None:
    source = KeyedSource(KEY, "rows")
    rows = np.random.default_rng(1).integers(0, 9, (50, width))
    seeds = source.row_seeds(7, rows)
    assert np.array_equal(seeds[20:], source.row_seeds(27, rows[20:]))
    same = np.zeros((50, width), dtype=np.int64)
    changed = same.copy()
    changed[:, -1] += 1
    found = [source.row_seeds(0, same), source.row_seeds(0, changed), source.row_seeds(0, same.astype(np.float64))]
    found += [source.row_seeds(0, np.zeros((50, width + 1), dtype=np.int64)), KeyedSource(KEY).row_seeds(0, same)]
    everything = np.concatenate(found)
    assert len(np.unique(everything, axis=0)) == len(everything)


def test_a_copy_of_a_keyed_source_begins_at_its_first_word() -> None:
    source = KeyedSource(KEY, "meters")
    source.words(5)
    for twin in (copy.copy(source), copy.deepcopy(source)):
        assert twin.words(8).tolist() == words("meters")


@given(st.lists(PARTS, max_size=4), st.lists(PARTS, max_size=4))
def test_two_contexts_share_words_only_if_they_are_the_same(first: list[Any], second: list[Any]) -> None:
    alike = [(type(part), part) for part in first] == [(type(part), part) for part in second]
    assert (words(*first) == words(*second)) == alike


@pytest.mark.parametrize(
    "first, second",
    [
        (("ab", "c"), ("a", "bc")),
        (("1",), (1,)),
        ((b"1",), ("1",)),
        (("4:text1:a",), ("4:text", "1:a")),
        ((np.array([1, 2]),), (np.array([1.0, 2.0]),)),
        ((np.zeros((2, 3)),), (np.zeros((3, 2)),)),
        ((np.zeros(2), np.zeros(1)), (np.zeros(1), np.zeros(2))),
    ],
)
def test_contexts_that_look_alike_are_told_apart(first: tuple[Any, ...], second: tuple[Any, ...]) -> None:
    assert words(*first) != words(*second)


def test_a_narrower_source_is_that_of_the_longer_context_and_begins_at_its_first_word() -> None:
    wide = KeyedSource(KEY, "meters")
    wide.words(1000)
    assert wide.of(3).words(8).tolist() == words("meters", 3)


def test_a_run_of_words_does_not_depend_on_how_it_is_asked_for() -> None:
    source = KeyedSource(KEY, "meters")
    assert [*source.words(3).tolist(), *source.words(5).tolist()] == words("meters")


def test_noise_of_other_contexts_and_keys_is_independent() -> None:
    """Noise under neighbouring numbers, contents or keys is uncorrelated: 5 standard deviations of 40,000 pairs."""
    count, scale = 40_000, Fraction(20)
    base = discrete_laplace(count, scale, KeyedSource(KEY, "stream", 1, "content"))
    others = [
        KeyedSource(KEY, "stream", 2, "content"),
        KeyedSource(KEY, "stream", 1, "contents"),
        KeyedSource(KEY, "streams", 1, "content"),
        KeyedSource(new_key(), "stream", 1, "content"),
    ]
    for source in others:
        other = discrete_laplace(count, scale, source)
        assert abs(np.corrcoef(base, other)[0, 1]) < 5 / np.sqrt(count)
    again = discrete_laplace(count, scale, KeyedSource(KEY, "stream", 1, "content"))
    assert np.corrcoef(base, again)[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("true, accepted", [(1.0, True), (1.3, False), (0.7, False)])
def test_keyed_noise_over_many_groups_has_its_scale(true: float, accepted: bool) -> None:
    """One draw from each of 20,000 contexts: the mean of |x| fits the scale, and not at ±30 % of it."""
    scale, groups = 30, 20_000
    source = KeyedSource(KEY, "scale")
    draws = np.array([discrete_laplace(1, Fraction(scale), source.of(number))[0] for number in range(groups)])
    ratio = np.exp(-1 / (scale * true))
    expected, variance = 2 * ratio / (1 - ratio**2), 2 * ratio / (1 - ratio) ** 2
    error = np.sqrt((variance - expected**2) / groups)
    assert (abs(np.abs(draws).mean() - expected) < 6 * error) == accepted


def test_the_key_shows_nowhere() -> None:
    source = KeyedSource(KEY, "meters")
    assert KEY.hex() not in repr(source)
    assert str(KEY) not in f"{source!r}{source}"
    with pytest.raises(TypeError, match="never written or sent"):
        pickle.dumps(source)
    with pytest.raises(TypeError, match="never written or sent"):
        pickle.dumps(RankWindows((0, 10), rng=source))
    with pytest.raises(ParameterError, match="has 3 bytes; it must have 32"):
        KeyedSource(b"abc")


def test_what_a_group_publishes_depends_on_its_exact_content_and_its_number() -> None:
    """A window of the same records in another place, or with one record moved, has noise of its own."""
    window = np.linspace(20, 60, 100)
    moved = window.copy()
    moved[50] += 1
    first, second = (RankWindows((0, 100), window=100, block=10, rng=KeyedSource(KEY, "rank")) for _ in range(2))
    rows = first.push_many(np.concatenate([window, window])).values.reshape(2, 100)
    other = second.push_many(np.concatenate([moved, window])).values.reshape(2, 100)
    assert not np.array_equal(rows[0], rows[1])
    assert np.abs(rows[0] - other[0]).max() > 1  # far more than the records moved: the noise is another
    assert np.array_equal(rows[1], other[1])  # the same records under the same number: nothing new to see


def test_the_order_within_a_window_changes_nothing_where_it_is_not_released() -> None:
    draw = np.random.default_rng(1)
    window = draw.uniform(0, 100, 500)
    for publisher in (RankWindows, AdaptiveHistogram):
        first, second = (publisher((0, 100), window=500, rng=KeyedSource(KEY, "order")) for _ in range(2))
        shuffled = second.push_many(draw.permutation(window)).values
        assert np.array_equal(first.push_many(window).values, shuffled)


def test_adaptive_noise_is_another_when_the_same_records_fall_into_other_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins follow the past; the same records after another past must not meet the same noise."""
    draw = np.random.default_rng(2)
    last = draw.uniform(0, 100, 200)
    pasts = [draw.uniform(0, 100, 200), draw.uniform(40, 60, 200)]
    kept: list[Any] = []
    seed_of = KeyedSource.seed_of

    def spy(self: KeyedSource, *context: Any) -> Any:
        kept.append(context)
        return seed_of(self, *context)

    monkeypatch.setattr(KeyedSource, "seed_of", spy)
    for past in pasts:
        AdaptiveHistogram((0, 100), window=200, rng=KeyedSource(KEY, "bins")).push_many(np.concatenate([past, last]))
    first, second = kept[1], kept[3]
    assert first[3:5] == second[3:5] == (1, "bins")
    assert not np.array_equal(first[5], second[5])  # the bins are part of what decides the noise


@pytest.mark.parametrize("publisher", [NaiveLaplace(bounds=(0, 10)), DOCA(sensitivity=10, delay=20, beta=3)])
def test_linked_noise_repeats_and_follows_the_number(publisher: Any) -> None:
    from sfumato.checks.publishers import fresh

    values = np.full(60, 5.0)
    runs = [fresh(publisher, KeyedSource(KEY, name)).push_many(values).values for name in ("a", "a", "b")]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert len(np.unique(runs[0])) > 1


def test_intervals_without_rows_have_noise_of_their_own() -> None:
    """A window of the clock that releases nothing keeps the group's number; its noise must still be its own."""
    publisher = ClockWindows((0, 100), epsilon=0.5, kind="rank", rng=KeyedSource(KEY, "clock"))
    released = [len(publisher.tick()) > 0 for _ in range(60)]
    assert 10 < sum(released) < 50
