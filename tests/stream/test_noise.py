"""Scales of exact noise, and what keyed noise is a function of: every parameter, scale, place and content."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato import plugins
from sfumato.checks.publishers import fresh
from sfumato.errors import SfumatoError
from sfumato.random import KeyedSource
from sfumato.random.random_words import WordRun
from sfumato.stream import CappedPersons, ClockWindows, Publisher, RankWindows
from sfumato.stream.noise import add_noise, add_noise_to_rows, noise_scale


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, 123.456])
def test_scales_are_never_below_what_epsilon_asks_for(epsilon: float) -> None:
    for sensitivity in (1, 2, 99618):
        scale = noise_scale(sensitivity, epsilon)
        exact = Fraction(sensitivity) / Fraction(repr(epsilon))
        assert exact <= scale <= exact * Fraction(1_000_001, 1_000_000) + Fraction(1, 2**20)


def test_two_runs_at_two_epsilons_under_one_key_do_not_give_the_mean_away() -> None:
    """The counterexample: with the same words in two scales, 2·row₂ − row₁ was the exact mean of the window."""
    values = np.random.default_rng(1).uniform(40_000, 60_000, 1000)
    key, errors = bytes(range(32)), []
    for first in range(20):
        rows = [
            RankWindows((0, 100_000), 1000, epsilon, 1000, rng=KeyedSource(key, first)).push_many(values).values[0]
            for epsilon in (0.1, 0.2)
        ]
        errors.append(abs(2 * rows[1] - rows[0] - values.mean()))
    assert np.median(errors) > 200  # the noise of a mean at ε = 0.1 is 1000


def seeds_of(publisher: Publisher, records: Any, source: KeyedSource) -> set[bytes]:
    """Return where all words begin that a publisher reads for a stream."""
    seen: set[bytes] = set()
    words_of = KeyedSource.words_of

    def spy(self: KeyedSource, seeds: Any, blocks: int, first: int = 0) -> Any:
        seen.update(seed.tobytes() for seed in seeds)
        return words_of(self, seeds, blocks, first)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyedSource, "words_of", spy)
        subject = fresh(publisher, source)
        subject.push_many(records)
        subject.flush()
    return seen


def samples() -> list[Any]:
    found = [sample for kind in plugins.every("publishers", Publisher).values() for sample in kind.sample()]
    return [*found, *CappedPersons.sample(), *ClockWindows.sample()]


def others(publisher: Any) -> Iterator[Any]:
    """Yield the same publisher with each of its parameters changed a little."""
    for entry in dataclasses.fields(publisher):
        value = getattr(publisher, entry.name)
        changed: Any = None
        if isinstance(value, bool):
            changed = not value
        elif isinstance(value, int | float):
            changed = value + 1
        elif isinstance(value, tuple) and value and isinstance(value[0], int | float):
            changed = (*value[:-1], value[-1] + 1)
        elif isinstance(value, Publisher):
            changed = next(others(value))
        if changed is not None:
            with suppress(SfumatoError):
                yield dataclasses.replace(publisher, **{entry.name: changed})


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.publisher.name)
def test_no_two_runs_of_other_parameters_share_a_word(sample: Any) -> None:
    """Whatever parameter differs, of a publisher or of a wrapper, the same records under the same key share nothing."""
    source, records = KeyedSource(bytes(range(32)), "stream"), sample.records(1, 300)
    own = seeds_of(sample.publisher, records, source)
    assert own == seeds_of(sample.publisher, records, source)
    changed = list(others(sample.publisher))
    assert changed
    for other in changed:
        found = seeds_of(other, records, source)
        assert found
        assert not own & found, other


def test_the_scale_is_part_of_the_context_whatever_the_caller_says() -> None:
    run, exact = WordRun(KeyedSource(bytes(32)), "owner"), np.full(50, 7)
    noises = {scale: add_noise(run, exact, scale, 0) - exact for scale in (Fraction(10), Fraction(20), Fraction(20, 3))}
    assert np.abs(np.corrcoef([noises[scale] for scale in noises]) - np.eye(3)).max() < 0.6
    rows = exact[:, None]
    single, double = (add_noise_to_rows(run, rows, Fraction(scale), 0) - rows for scale in (1000, 2000))
    assert abs(np.corrcoef(single[:, 0], double[:, 0])[0, 1]) < 0.6


def test_a_wrapper_that_begins_anew_keeps_the_publisher_behind_and_its_noise() -> None:
    """A clock may hold the publisher behind, so it must stay the same object, with the noise of one made afresh."""
    source, records = KeyedSource(bytes(32), "stream"), CappedPersons.sample()[0].records(1, 300)
    begun = CappedPersons(RankWindows((0, 1000), window=70, block=8), limit=3)
    behind = begun.publisher
    begun.push_many(records[:100])
    begun.begin(source)
    assert begun.publisher is behind
    assert begun.held == 0
    made = CappedPersons(RankWindows((0, 1000), window=70, block=8), limit=3, rng=source)
    assert np.array_equal(begun.push_many(records).values, made.push_many(records).values)
