"""The choice of a publisher follows public numbers, and is the better one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.evaluate.stream import window_distance
from sfumato.random import SeededSource
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.auto import PublisherChoice, auto
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankWindows


def test_the_choice_follows_public_numbers() -> None:
    assert isinstance(auto((0, 100)), AdaptiveHistogram)
    assert isinstance(auto((0, 100), keep="order"), LinkedResponse)
    assert isinstance(auto((0, 100), epsilon=0.02, delay=30), RankWindows)
    assert auto((0, 100), epsilon=30.0, keep="order").name == "laplace"
    assert "predicted mean squared error" in PublisherChoice((0, 100)).reason()
    for name, value in (("bounds", (1, 0)), ("epsilon", 0), ("delay", 0), ("keep", "both")):
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of PublisherChoice"):
            PublisherChoice(**{"bounds": (0, 1), name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon, delay", [(0.05, 100), (1.0, 1000)])
def test_the_better_prediction_is_the_better_publisher(epsilon: float, delay: int) -> None:
    choice = PublisherChoice((0, 1000), epsilon, delay)
    values = np.random.default_rng(1).uniform(0, 1000, 100 * delay)
    measured = {
        "rank": RankWindows((0, 1000), delay, epsilon, choice.block, rng=SeededSource(1)),
        "adaptive": AdaptiveHistogram((0, 1000), delay, epsilon, choice.bins, rng=SeededSource(1)),
    }
    found = {name: window_distance(values, made.push_many(values).values, delay) for name, made in measured.items()}
    assert min(found, key=lambda name: found[name]) == choice.best() or math.isclose(*found.values(), rel_tol=0.5)
