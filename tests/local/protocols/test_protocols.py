from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InputError, ParameterError
from sfumato.local import device
from sfumato.local import domain as domain_module
from sfumato.local.base import LocalProtocol
from sfumato.local.probabilities import SCALE
from sfumato.local.protocol_choice import rank
from sfumato.local.protocols import hadamard, hashing, randomized_response, subset, unary
from sfumato.local.protocols.bulk import respond_many
from sfumato.random import SeededSource, Words

DOMAIN = tuple(f"station {number}" for number in range(30))
HEAVY = {"numpy", "numba", "polars", "msgspec", "narwhals", "cryptography"}
KINDS = [
    "GeneralizedResponse",
    "SymmetricUnary",
    "OptimizedUnary",
    "LocalHashing",
    "SubsetSelection",
    "HadamardResponse",
]


class Constant:
    """A source whose 64-bit words are all the same."""

    secure = False

    def __init__(self, word: int) -> None:
        self.halves = [word & 0xFFFFFFFF, word >> 32]

    def words(self, count: int) -> Words:
        return np.array(self.halves * (count // 2), dtype=np.uint32)


@pytest.mark.parametrize("kind", [*KINDS, "WarnerResponse"])
def test_a_device_needs_nothing_but_the_standard_library(kind: str) -> None:
    domain = ["no", "yes"] if kind == "WarnerResponse" else ["a", "b", "c"]
    program = (
        f"import sys; from sfumato.local import {kind}; protocol = {kind}({domain!r}, 1.5)\n"
        f"print(protocol.perturb(protocol.encode({domain[1]!r})).to_json())\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    line, modules = done.stdout.splitlines()
    assert not set(modules.split()) & HEAVY
    assert getattr(sf.local, kind)(domain, 1.5).aggregate([line]).users == 1


def formulas(d: int, e: float, n: float, count: float) -> dict[str, float]:
    """The variances as `local.md` has them."""
    root, g = math.sqrt(e), round(e) + 1
    return {
        "grr": n * (d - 2 + e) / (e - 1) ** 2 + count * (d - 2) / (e - 1),
        "sue": n * root / (root - 1) ** 2,
        "oue": 4 * n * e / (e - 1) ** 2 + count,
        "olh": n * (e - 1 + g) ** 2 / ((e - 1) ** 2 * (g - 1)),
        "hr": n * (e + 1) ** 2 / (e - 1) ** 2,
    }


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.251])
def test_variances_are_those_of_the_formulas(epsilon: float) -> None:
    e, n = math.exp(epsilon), 1000.0
    empty = {protocol.name: protocol.variance(n) for _, protocol in rank(DOMAIN, epsilon, 1000)}
    for name, value in formulas(30, e, n, 0).items():
        assert empty[name] == pytest.approx(value, rel=1e-6), name
    some = {protocol.name: protocol.variance(n, 200) for _, protocol in rank(DOMAIN, epsilon, 1000)}
    exact = {name: formulas(30, e, n, 200)[name] for name in ("grr", "sue", "oue")}
    for name, value in exact.items():
        assert some[name] == pytest.approx(value, rel=1e-6), name


def test_the_lowest_variance_is_chosen_and_says_why() -> None:
    for domain, epsilon in ((DOMAIN, 1.0), (DOMAIN[:3], 4.0), (("no", "yes"), 0.3), (range(600), 2.251)):
        chosen = sf.local.choose(domain=domain, epsilon=epsilon, users=12_700)
        ranked = rank(domain, epsilon, 12_700)
        assert chosen == ranked[0][1]
        variances = [variance for variance, _ in ranked]
        assert variances == pytest.approx(sorted(variances), rel=1e-8)
        assert chosen.name in chosen.reason
        assert ranked[1][1].name in chosen.reason


def test_among_equals_the_shorter_report_is_chosen() -> None:
    chosen = sf.local.choose(domain=DOMAIN[:12], epsilon=5, users=10)
    assert chosen.name == "grr"  # subset selection with k = 1 is the same protocol in two bytes


@pytest.mark.parametrize("users", [0, 1.5, "many"])
def test_a_number_of_users_is_wanted(users: object) -> None:
    with pytest.raises(ParameterError, match="'users' parameter of choose"):
        sf.local.choose(DOMAIN, 1, users)  # type: ignore[arg-type]


def patch_words(monkeypatch: pytest.MonkeyPatch, word: int) -> None:
    for module in (device, randomized_response, subset, unary, hadamard):
        monkeypatch.setattr(module, "words64", lambda count: (word,) * count)


@pytest.mark.parametrize("size", [2, 3, 300])
def test_a_response_is_decided_at_its_threshold(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = randomized_response.response_thresholds(1.3, size)
    assert own + (size - 1) * other == SCALE
    expected = {own - 1: 1, own: 0, own + other - 1: 0, 2**64 - 1: size - 1 if size > 2 else 0}
    if size > 2:
        expected[own + other] = 2
    for word, answer in expected.items():
        patch_words(monkeypatch, word)
        assert randomized_response.respond(1, own, other) == answer
        assert respond_many(np.array([1]), own, other, Constant(word)).tolist() == [answer]


@pytest.mark.parametrize("kind", [sf.local.SymmetricUnary, sf.local.OptimizedUnary])
def test_a_bit_is_decided_at_its_threshold(kind: type[unary.UnaryEncoding], monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = kind(("a", "b", "c"), 1.7)
    own, other = protocol.bits
    for word, bits in ((0, 0b111), (other - 1, 0b111), (other, 0b010), (own - 1, 0b010), (own, 0)):
        patch_words(monkeypatch, word)
        assert protocol.perturb(1).payload == bytes([bits])


def test_a_set_holds_the_value_at_its_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = sf.local.SubsetSelection(range(10), 0.8)
    held = protocol.thresholds["held"]
    patch_words(monkeypatch, held - 1)
    assert protocol.perturb(4).payload[0] >> 4 & 1 == 1
    patch_words(monkeypatch, held)
    assert protocol.perturb(4).payload[0] >> 4 & 1 == 0


def test_the_hash_family_is_pairwise_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all seeds of a small field of the same form, every pair of cells occurs as often as the sizes say."""
    monkeypatch.setattr(hashing, "PRIME", 31)
    monkeypatch.setattr(hashing, "SHIFT", 5)
    for groups in (2, 3, 5, 8):
        sizes = np.bincount([residue * groups >> 5 for residue in range(31)], minlength=groups)
        pairs = np.zeros((groups, groups), dtype=int)
        for slope, shift in product(range(31), repeat=2):
            pairs[hashing.cell_of(3, slope, shift, groups), hashing.cell_of(17, slope, shift, groups)] += 1
        assert pairs.tolist() == np.outer(sizes, sizes).tolist()
        starts = [hashing.cell_start(cell, groups) for cell in range(groups)]
        assert starts == [int(np.searchsorted([r * groups >> 5 for r in range(31)], cell)) for cell in range(groups)]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0, 5.0])
def test_two_values_share_a_cell_with_one_in_g(epsilon: float) -> None:
    protocol = sf.local.LocalHashing(DOMAIN, epsilon)
    assert protocol.groups == round(math.exp(epsilon)) + 1
    assert abs(protocol.collision - Fraction(1, protocol.groups)) < Fraction(1, 2**30)
    assert protocol.collision > 0
    own, other = protocol.support
    assert other == pytest.approx(1 / protocol.groups, rel=1e-6)
    assert own > other


def test_seeds_fill_the_field() -> None:
    class Edge:
        secure = False

        def __init__(self) -> None:
            self.calls = 0

        def words(self, count: int) -> Words:
            self.calls += 1
            word = 0xFFFFFFFF if self.calls == 1 else 0xFFFFFFFD
            return np.full(count, word, dtype=np.uint32)

    assert hashing.residues(3, Edge()).tolist() == [2**31 - 2] * 3  # 2^31 - 1 is not in the field and is drawn again
    drawn = hashing.residues(40_000, SeededSource(1))
    assert drawn.size == 40_000
    assert abs(drawn.mean() / 2**30 - 1) < 0.02


@pytest.mark.parametrize(
    "attempt, words",
    [
        (
            lambda: sf.local.OptimizedUnary(["a"], 1),
            "'domain' parameter of OptimizedUnary must be a sequence of 2 to 16777216 different",
        ),
        (lambda: sf.local.WarnerResponse(["a", "b", "c"], 1), "must be a sequence of 2 different strings or integers"),
        (lambda: sf.local.GeneralizedResponse(["a", ["b"]], 1), "different strings or integers"),  # type: ignore[list-item]
        (lambda: sf.local.GeneralizedResponse(["a", "b"], 0), "'epsilon' parameter of GeneralizedResponse"),
        (lambda: sf.local.LocalHashing(["a", "b"], 41), "a number from 1e-06 to 40"),
        (lambda: sf.local.choose(5, 1, 10), "different strings or integers. Got 5"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters_are_refused(attempt: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        attempt()


def test_a_value_outside_the_domain_is_refused_with_a_hint() -> None:
    protocol = sf.local.OptimizedUnary(["north", "south"], 1)
    with pytest.raises(InputError, match=r"value 'nort' is not in the domain of 2 values; did you mean 'north'\?"):
        protocol.encode("nort")
    with pytest.raises(InputError, match="row 2: value 'west' is not in the domain"):
        protocol.encode_many(["north", "west"])
    with pytest.raises(InputError, match="value True"):
        sf.local.OptimizedUnary([1, 2], 1).encode(bool(1))


@pytest.mark.parametrize("kind", [*KINDS, "WarnerResponse", "Rappor"])
@pytest.mark.parametrize("place", [2, -1, 255, 1.0, "a", None])
def test_a_place_outside_the_domain_never_leaves_the_device(kind: str, place: object) -> None:
    protocol = getattr(sf.local, kind)(("no", "yes"), 1)
    with pytest.raises(InputError, match=f"place {place!r} is not in the domain; places are 0 to 1"):
        protocol.perturb(place)
    assert protocol.aggregate([protocol.perturb(np.int64(1))]).users == 1


@pytest.mark.parametrize("value", [True, 1.0, [1], None])
def test_what_only_equals_a_value_is_not_that_value(value: object) -> None:
    protocol = sf.local.GeneralizedResponse([0, 1, 2], 1)
    with pytest.raises(InputError, match="is not in the domain"):
        protocol.encode(value)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"row 2: value .* is not in the domain"):
        protocol.encode_many([2, value])  # type: ignore[list-item]


def test_a_wrong_value_of_a_large_domain_is_refused_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A nearest name among a million would take a quarter of a minute."""
    protocol = sf.local.LocalHashing(tuple(f"value {number}" for number in range(20_000)), 1)
    monkeypatch.setattr(domain_module, "suggestion", None)
    with pytest.raises(InputError, match=r"value 'velue 7' is not in the domain of 20000 values$"):
        protocol.encode("velue 7")


@pytest.mark.parametrize("kind", ["OptimizedUnary", "SubsetSelection"])
def test_a_device_packs_a_large_report(kind: str) -> None:
    assert len(getattr(sf.local, kind)(range(1_000_000), 2).draw(7)) == 125_000


def test_chances_that_cannot_be_told_apart_are_never_chosen() -> None:
    """Over 2^23 values and at the smallest ε, 2^64 is too coarse for randomised response."""
    domain = sf.local.GeneralizedResponse((0, 1), 1e-6)
    object.__setattr__(domain, "_thresholds", (2**41, 2**41))
    assert domain.variance(100) == math.inf
    with pytest.raises(InputError, match="too small to count 2 values by grr"):
        domain.estimate(domain.aggregate([]))


def test_a_domain_may_come_as_a_frame_column_or_an_array() -> None:
    import polars as pl

    by_column = sf.local.OptimizedUnary(pl.Series(["a", "b"]), 1)  # type: ignore[arg-type]
    assert by_column == sf.local.OptimizedUnary(("a", "b"), 1)
    by_array = sf.local.OptimizedUnary(np.arange(3), 1)  # type: ignore[arg-type]
    assert by_array.domain == (0, 1, 2)
    assert by_array.encode_many(np.array([2, 0])).tolist() == [2, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 13.814, 40.0])
def test_the_ends_of_the_range_work(kind: str, epsilon: float) -> None:
    protocol: LocalProtocol = getattr(sf.local, kind)(DOMAIN, epsilon)
    assert 0 < protocol.spent <= protocol.epsilon
    codes = np.arange(900) % 30
    tally = protocol.aggregate(protocol.report_many(codes, SeededSource(1)))
    estimate = protocol.estimate(tally, consistent=False)
    assert np.isfinite(estimate.counts).all()
    assert (estimate.variance > 0).all()
    if epsilon >= 13 and kind in {"GeneralizedResponse", "SubsetSelection"}:
        assert np.abs(estimate.counts - 30).max() < 1


def test_chunks_bound_the_memory() -> None:
    protocol = sf.local.OptimizedUnary(range(1000), 1)
    sizes = [chunk.payload.nbytes for chunk in protocol.report_many(np.zeros(20_000, dtype=np.int64))]
    assert max(sizes) <= 2**20
    assert sum(sizes) == 20_000 * 125
