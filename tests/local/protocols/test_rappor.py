"""RAPPOR: its two promises, Bloom filters, both randomisations, and decoding over candidates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.local.probabilities import SCALE
from sfumato.local.protocols.rappor import COHORT_BYTES, Rappor
from sfumato.random import SeededSource

SITES = tuple(f"site{number}.example" for number in range(60))


def test_the_promises_are_those_of_the_paper() -> None:
    """Erlingsson et al. (2014), section 5: h=2, f=1/2, p=1/2, q=3/4 give ε∞ = 4 ln 3 and ε₁ = 1.0743."""
    protocol = Rappor(SITES, 4 * math.log(3), hashes=2, p=0.5, q=0.75)
    assert 2 * protocol.flip / SCALE == pytest.approx(0.5, abs=1e-12)
    assert protocol.spent == pytest.approx(4 * math.log(3), abs=1e-9)
    assert protocol.spent_once == pytest.approx(1.0743, abs=5e-5)
    parameters = protocol.card(10).guarantee.parameters
    assert (parameters["epsilon"], parameters["epsilon_once"]) == (protocol.spent, protocol.spent_once)


def test_no_report_says_more_than_the_two_promises() -> None:
    protocol = Rappor(("a", "b", "c"), 3.0, bits=6, hashes=2, cohorts=2, p=0.3, q=0.8)
    once = Fraction(math.exp(protocol.spent_once)) * Fraction(1 + 10**9, 10**9)
    for cohort in range(2):
        for bits in range(64):
            payload = cohort.to_bytes(COHORT_BYTES, "little") + bytes([bits])
            chances = [protocol.probability(payload, code) for code in range(3)]
            assert max(chances) <= once * min(chances)


def test_values_set_at_most_as_many_bits_as_there_are_hashes_and_cohorts_differ() -> None:
    protocol = Rappor(SITES, 2, hashes=3, bits=64, cohorts=8)
    filters = [protocol.bloom("site1.example", cohort) for cohort in range(8)]
    assert all(1 <= len(bits) <= 3 for bits in filters)
    assert len({frozenset(bits) for bits in filters}) > 4
    assert protocol.bloom(1, 0) != protocol.bloom("1", 0)


def test_bulk_and_device_agree_on_the_filters() -> None:
    protocol = Rappor(SITES, 2, bits=20)
    rows = np.unpackbits(protocol.bloom_rows(np.array([5, 7]), np.array([0, 3])), axis=1, bitorder="little")
    found = [set(np.flatnonzero(row).tolist()) for row in rows]
    assert found == [protocol.bloom(SITES[5], 0), protocol.bloom(SITES[7], 3)]


def test_a_value_that_is_no_candidate_can_be_reported() -> None:
    protocol = Rappor(SITES, 4)
    report = protocol.instantaneous(protocol.permanent_of("nowhere.example"))
    assert protocol.aggregate([report]).users == 1


def test_reports_of_a_cohort_that_does_not_exist_are_rejected() -> None:
    protocol = Rappor(SITES, 4, cohorts=3, bits=12)
    payload = np.array([[3, 0, 1, 1], [2, 0, 1, 16], [2, 0, 1, 15]], dtype=np.uint8)
    assert protocol.well_formed(payload).tolist() == [False, False, True]


@pytest.mark.parametrize(
    "bad, words",
    [
        ({"p": 0.8, "q": 0.7}, "p must be the smaller one"),
        ({"hashes": 9}, "at most 8 hashes"),
        ({"bits": 70_000}, "65536 bits"),
        ({"bits": 65_536, "cohorts": 65_536}, "65536 cohorts of 65536 bits; their product may be 16777216"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(bad: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Rappor(SITES, 2, **bad)  # type: ignore[arg-type]


def collected(
    protocol: Rappor, weights: np.ndarray[tuple[int], np.dtype[np.float64]], users: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    draw = np.random.default_rng(4)
    return draw.choice(len(protocol.domain), users, p=weights / weights.sum())


def test_decoding_finds_the_heavy_candidates_and_little_else() -> None:
    protocol = Rappor(SITES, 6)
    weights = np.zeros(60)
    weights[:4] = [8, 4, 2, 1]
    codes = collected(protocol, weights, 60_000)
    estimate = protocol.estimate(protocol.aggregate(protocol.report_many(codes, SeededSource(2))))
    true = np.bincount(codes, minlength=60)
    assert (estimate.counts[:4] > 0).all()
    assert np.count_nonzero(estimate.counts[4:]) <= 3
    assert (np.abs(estimate.counts - true)[:4] < 4 * np.sqrt(estimate.variance[:4])).all()
    assert estimate.counts.sum() <= 60_000 * (1 + 1e-9)
    assert estimate.method == "sparse"


def test_users_whose_value_is_no_candidate_are_in_no_count() -> None:
    everything = Rappor((*SITES, *(f"other{number}" for number in range(400))), 6)
    weights = np.concatenate([[30_000.0], np.zeros(59), np.full(400, 75.0)])
    codes = collected(everything, weights, 60_000)
    reports = [batch.payload for batch in everything.report_many(codes, SeededSource(5))]
    known = Rappor(SITES, 6)
    estimate = known.estimate(known.aggregate([known.packed(payload) for payload in reports]))
    assert abs(estimate.counts[0] - np.count_nonzero(codes == 0)) < 4 * math.sqrt(estimate.variance[0])
    assert estimate.counts[1:].sum() < 10_000


def test_raw_counts_are_unbiased_least_squares() -> None:
    protocol = Rappor(SITES[:10], 5, cohorts=8)
    codes = collected(protocol, np.arange(1.0, 11.0), 20_000)
    true = np.bincount(codes, minlength=10)
    errors = []
    for seed in range(40):
        tally = protocol.aggregate(protocol.report_many(codes, SeededSource(seed)))
        estimate = protocol.estimate(tally, consistent=False)
        errors.append((estimate.counts - true) / np.sqrt(estimate.variance))
    scores = np.array(errors)
    assert abs(scores.mean()) < 5 / math.sqrt(scores.size)
    assert 0.8 < scores.std() < 1.2


def test_too_many_candidates_for_least_squares_are_refused() -> None:
    protocol = Rappor(SITES, 4, bits=8, cohorts=2)
    tally = protocol.aggregate(protocol.report_many(np.zeros(100, dtype=np.int64), SeededSource(1)))
    with pytest.raises(InputError, match="cannot be told apart"):
        protocol.estimate(tally, consistent=False)


def test_other_consistency_methods_and_other_tallies_are_refused() -> None:
    protocol = Rappor(SITES, 4)
    with pytest.raises(ParameterError, match="sparse regression"):
        protocol.estimate(protocol.aggregate([]), consistent="norm")
    with pytest.raises(InputError, match="another rappor protocol"):
        protocol.estimate(Rappor(SITES, 3).aggregate([]))


def test_no_reports_give_no_counts() -> None:
    protocol = Rappor(SITES, 4)
    assert protocol.estimate(protocol.aggregate([])).counts.tolist() == [0.0] * 60
