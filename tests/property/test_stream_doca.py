"""DOCA against its twin: the same groups whatever the records, the parameters and the batches."""

from __future__ import annotations

import numpy as np
from doca_twin import groups_of
from hypothesis import given
from hypothesis import strategies as st

from sfumato.checks.publishers import join_rows, run
from sfumato.random import SeededSource
from sfumato.random.discrete_kernel import fill_laplace_scales
from sfumato.stream.publishers.doca import DOCA

WHOLE = st.lists(st.integers(0, 30).map(float), max_size=120)
REAL = st.lists(st.floats(-1e6, 1e6), max_size=120)
CUTS = st.lists(st.integers(0, 120), max_size=8)


@given(
    values=WHOLE | REAL,
    cuts=CUTS,
    delay=st.integers(1, 40),
    beta=st.integers(1, 8),
    m=st.integers(1, 10),
    strict=st.booleans(),
)
def test_groups_and_values_are_those_of_the_twin(
    values: list[float], cuts: list[int], delay: int, beta: int, m: int, strict: bool
) -> None:
    publisher = DOCA(sensitivity=50, delay=delay, beta=beta, m=m, strict=strict, rng=SeededSource(3))
    out = join_rows(run(publisher, np.array(values), [min(cut, len(values)) for cut in cuts]))
    wanted = groups_of(values, delay, beta, m, strict=strict)
    assert out[4].tolist() == [place for cluster in wanted for place in cluster.places]
    assert out[2].tolist() == [len(cluster.places) for cluster in wanted for _ in cluster.places]
    draws = np.empty(len(wanted), dtype=np.int64)
    scales = publisher._scale // np.array([len(cluster.places) for cluster in wanted], dtype=np.int64)
    fill_laplace_scales(draws, 0, scales, 1, SeededSource(3).words(4096 + 40 * len(wanted)))
    noisy = [cluster.mean + draw * publisher._step for cluster, draw in zip(wanted, draws.tolist(), strict=True)]
    assert out[0].tolist() == [value for value, cluster in zip(noisy, wanted, strict=True) for _ in cluster.places]


@given(values=WHOLE, delay=st.integers(1, 20), beta=st.integers(1, 5))
def test_pushing_one_by_one_is_the_same(values: list[float], delay: int, beta: int) -> None:
    whole = join_rows(run(DOCA(sensitivity=9, delay=delay, beta=beta, rng=SeededSource(1)), np.array(values)))
    single = DOCA(sensitivity=9, delay=delay, beta=beta, rng=SeededSource(1))
    parts = join_rows([*(single.push(value) for value in values), single.flush()])
    assert all(np.array_equal(one, other) for one, other in zip(whole, parts, strict=True))
