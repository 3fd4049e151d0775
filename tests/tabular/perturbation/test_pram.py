"""PRAM: every cell follows its matrix, exactly and with power, and corrected counts are unbiased."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.local import GeneralizedResponse
from sfumato.local.probabilities import SCALE
from sfumato.random import SecureSource, SeededSource
from sfumato.release.card import CellPromise
from sfumato.tabular.perturbation.matrix_law import MatrixLaw
from sfumato.tabular.perturbation.pram import draw_cells, reversal_weights
from sfumato.tabular.perturbation.pram_counts import corrected
from sfumato.tabular.perturbation.transition_matrix import TransitionMatrix, invariant_matrix

DRAWS = 60_000
TINY = 1e-9
JOBS = ("cook", "nurse", "clerk")
DECLARED = TransitionMatrix.of(JOBS, [["0.7", "0.2", "0.1"], ["0.05", "0.9", "0.05"], ["1/3", "1/3", "1/3"]])


def schema(*names: str) -> sf.Schema:
    domains = {"job": JOBS, "sex": ("F", "M")}
    return sf.Schema(
        {name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.CATEGORY, categories=domains[name]) for name in names}
    )


def fits(shown: np.ndarray, law: Sequence[float]) -> bool:
    """Whether shown codes may come from a law: Hoeffding's bound on each share, together at TINY."""
    shares = np.bincount(shown, minlength=len(law)) / len(shown)
    slack = math.sqrt(math.log(2 * len(law) / TINY) / (2 * len(shown)))
    return bool((np.abs(shares - np.array(law)) <= slack).all())


@pytest.mark.parametrize("matrix", [TransitionMatrix.uniform(JOBS, "0.7"), DECLARED])
@pytest.mark.parametrize("source", [SeededSource(7), SecureSource()])
def test_cells_follow_their_matrix_and_no_other(matrix: TransitionMatrix, source: sf.random.Source) -> None:
    for value in range(3):
        shown = draw_cells(np.full(DRAWS, value), matrix, source)
        law = matrix.array[value]
        assert fits(shown, law)
        for factor in (0.7, 1.3):  # what moves a third more, or a third less, is told apart
            moved = (1 - law[value]) * factor
            others = law * moved / (1 - law[value])
            others[value] = 1 - moved
            assert not fits(shown, others)


def test_the_invariant_matrix_is_drawn_and_keeps_counts_on_average() -> None:
    counts = np.array([6000, 3000, 1000])
    first = TransitionMatrix.uniform(JOBS, "0.6")
    matrix = invariant_matrix(first, counts)
    assert np.allclose(counts @ matrix.array, counts)
    source = SeededSource(3)
    for value in range(3):
        once = draw_cells(np.full(DRAWS, value), first, source)
        assert fits(draw_cells(once, reversal_weights(first, counts), source), matrix.array[value])


@given(st.lists(st.integers(1, 50), min_size=2, max_size=5), st.integers(1, 99))
def test_the_reversal_is_bayes_theorem(counts: list[int], percent: int) -> None:
    first = TransitionMatrix.uniform([str(place) for place in range(len(counts))], Fraction(percent, 100))
    weights = reversal_weights(first, np.array(counts))
    for shown, row in enumerate(weights.tolist()):
        exact = [first.chance(value, shown) * count for value, count in enumerate(counts)]
        assert [Fraction(weight, sum(row)) for weight in row] == [one / sum(exact) for one in exact]


@pytest.mark.parametrize("size, epsilon", [(2, 1.0), (3, 0.5), (40, 2.0)])
def test_keeping_with_a_probability_is_generalised_randomised_response(size: int, epsilon: float) -> None:
    values = [str(number) for number in range(size)]
    protocol = GeneralizedResponse(values, epsilon)
    own, other = protocol.thresholds["own"], protocol.thresholds["other"]
    matrix = TransitionMatrix.uniform(values, Fraction(own * 2**60 // SCALE, 2**60))  # what the sampler can draw
    assert abs(matrix.chance(0, 0) - Fraction(own, SCALE)) < Fraction(1, 2**60)
    assert abs(matrix.chance(0, 1) - Fraction(other, SCALE)) < Fraction(1, 2**60)
    assert float(matrix.epsilon or 0) == pytest.approx(protocol.spent, rel=1e-12)


@given(st.integers(2, 5).flatmap(lambda d: st.lists(st.lists(st.integers(1, 9), min_size=d, max_size=d),
                                                    min_size=d, max_size=d)))  # fmt: skip
def test_epsilon_is_the_largest_log_ratio_of_a_report(weights: list[list[int]]) -> None:
    rows = [[Fraction(weight, sum(row)) for weight in row] for row in weights]
    size = len(rows)
    matrix = TransitionMatrix.of([str(place) for place in range(size)], rows)
    slow = max(
        math.log(rows[one][shown] / rows[other][shown])
        for shown in range(size)
        for one in range(size)
        for other in range(size)
    )
    assert float(matrix.epsilon or 0) == pytest.approx(slow, abs=1e-12)
    for shown in range(size):
        law = [MatrixLaw(np.array([value]), matrix) for value in range(2)]
        assert abs(law[0].loss(law[1], np.array([shown])).forward) <= float(matrix.epsilon or 0) + 1e-12


def test_a_matrix_with_a_zero_or_from_the_rows_proves_nothing() -> None:
    assert TransitionMatrix.of(["a", "b"], [[1, 0], ["0.5", "0.5"]]).epsilon is None
    assert invariant_matrix(TransitionMatrix.uniform(["a", "b"], "0.8"), np.array([3, 1])).epsilon is None


def test_the_card_states_what_single_cells_cost_and_the_sum() -> None:
    people = sf.Table.from_frame(pl.DataFrame({"job": ["cook", "nurse"] * 20, "sex": ["F", "M"] * 20}))
    promise = sf.PRAM("job,sex", keep=0.8).anonymize(people, schema("job", "sex")).card.guarantee
    assert (promise.model, promise.parameters, promise.neighbours) == ("none", {}, None)
    assert promise.of_cells is not None
    assert promise.of_cells.columns == pytest.approx({"job": math.log(8), "sex": math.log(4)})
    assert promise.of_cells.epsilon == pytest.approx(math.log(32))


def test_values_that_are_not_declared_prove_nothing() -> None:
    people = sf.Table.from_frame(pl.DataFrame({"job": ["cook", "nurse"] * 20}))
    card = sf.PRAM("job", keep=0.8).anonymize(people, sf.Schema.from_roles(quasi=["job"])).card
    assert card.guarantee.of_cells is None
    assert any("no categories are declared" in warning for warning in card.warnings)


def test_a_card_with_another_loss_is_refuted() -> None:
    people = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M"] * 20}))
    release = sf.PRAM(keep=0.8).anonymize(people, schema("sex"))
    assert not any(finding.refuted for finding in sf.PRAM.claims(release.card, release.table))
    cells = CellPromise(columns={"sex": 1.0}, epsilon=1.0)
    promise = msgspec.structs.replace(release.card.guarantee, cells=cells)
    lying = msgspec.structs.replace(release.card, guarantee=promise)
    (refuted,) = [finding for finding in sf.PRAM.claims(lying, release.table) if finding.refuted]
    assert refuted.bound == pytest.approx(math.log(4))
    odd = sf.Table(pl.DataFrame({"sex": ["F", "X"]}))
    assert any(finding.refuted for finding in sf.PRAM.claims(release.card, odd))


def slow_counts(shown: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The solution of the whole linear system of cells, by the Kronecker product."""
    flat = np.linalg.solve(np.kron(first, second).T, shown.ravel())
    return flat.reshape(shown.shape)


def slow_variance(table: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The variance of each estimate, cell after cell, from the multinomial law of each original cell."""
    whole, inverse = np.kron(first, second), np.linalg.inv(np.kron(first, second))
    spread = sum(count * (np.diag(row) - np.outer(row, row)) for count, row in zip(table.ravel(), whole, strict=True))
    return np.diag(inverse.T @ spread @ inverse).reshape(table.shape)


def test_corrected_cross_tables_solve_the_whole_system() -> None:
    draw = np.random.default_rng(5)
    first, second = DECLARED.array * 0.5 + np.eye(3) * 0.5, np.array([[0.9, 0.1], [0.2, 0.8]])
    shown = draw.integers(50, 500, (3, 2)).astype(float)
    count, variance = corrected(shown, first, second)
    assert np.allclose(count, slow_counts(shown, first, second))
    assert np.allclose(variance, np.maximum(slow_variance(count, first, second), 0))


def test_counts_are_unbiased_and_vary_as_they_say() -> None:
    truth = np.repeat(np.arange(3), [500, 300, 200])
    sexes = np.where(np.arange(1000) % 3 == 0, "F", "M")
    people = sf.Table(pl.DataFrame({"job": [JOBS[code] for code in truth], "sex": sexes}))
    method = sf.PRAM("job,sex", keep=0.7)
    runs = []
    for seed in range(300):
        release = method.anonymize(people, schema("job", "sex"), rng=SeededSource(seed))
        runs.append(sf.pram_counts(release.table, release.card, ["job", "sex"]))
    counts = np.array([run["count"] for run in runs])
    variance = np.array([run["variance"] for run in runs]).mean(axis=0)
    exact = np.array([np.sum((truth == job) & (sexes == sex)) for job in range(3) for sex in ("F", "M")])
    error = np.sqrt(variance / len(runs))
    assert (np.abs(counts.mean(axis=0) - exact) < 5 * error).all()
    naive = np.array([np.bincount(truth)[0] * 0.7 + 500 * 0.15])  # what is shown, uncorrected, is far off
    assert abs(naive[0] - 500) > 50
    ratio = counts.var(axis=0, ddof=1) / variance
    assert (ratio > 0.7).all()
    assert (ratio < 1.3).all()
    inside = np.array([(run["low"].to_numpy() <= exact) & (exact <= run["high"].to_numpy()) for run in runs])
    assert 0.92 < inside.mean() < 0.98


def test_missing_values_and_unchanged_columns_are_counted_as_they_are() -> None:
    people = sf.Table(pl.DataFrame({"job": ["cook", None, "nurse", ""] * 50, "ill": ["flu", "gout"] * 100}))
    declared = schema("job")
    declared = sf.Schema({**declared.columns, "ill": sf.Attribute("ill", sf.Role.SENSITIVE)})
    release = sf.PRAM(keep=0.9).anonymize(people, declared)
    assert release.table.column("job").is_in(["", *JOBS]).fill_null(value=True).all()
    found = sf.pram_counts(release.table, release.card, ["job"])
    assert found.filter(pl.col("job") == "")[["count", "variance"]].rows() == [(100.0, 0.0)]
    ill = sf.pram_counts(release.table, release.card, ["ill"])
    assert dict(zip(ill["ill"], ill["count"], strict=True)) == {"flu": 100.0, "gout": 100.0}


def test_words_that_look_like_ranges_are_quoted_and_counted() -> None:
    words = ("[1-2]", "*", "{a}")
    column = sf.Attribute("word", sf.Role.QUASI, sf.Kind.CATEGORY, categories=words)
    people = sf.Table(pl.DataFrame({"word": list(words) * 40}))
    release = sf.PRAM(keep=0.9).anonymize(people, sf.Schema({"word": column}))
    assert set(release.table.column("word")) == {'"[1-2]"', '"*"', '"{a}"'}
    assert set(sf.pram_counts(release.table, release.card, ["word"])["word"]) == set(words)


def test_a_matrix_file_is_read_exactly(tmp_path: Path) -> None:
    file = tmp_path / "job.csv"
    file.write_text("from,cook,nurse\ncook,0.9,0.1\nnurse,1/3,2/3\n")
    assert TransitionMatrix.read(file).rows[1] == (Fraction(1, 3), Fraction(2, 3))
    people = sf.Table(pl.DataFrame({"job": ["cook", "nurse"] * 30}))
    release = sf.PRAM(matrices=f"job={file}").anonymize(people, sf.Schema.from_roles(quasi=["job"]))
    assert release.card.released.settings["matrices"]["job"]["matrix"] == [["9/10", "1/10"], ["1/3", "2/3"]]


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "found no header"),
        ("from,a,b\na,1,0\n", "in the same order"),
        ("from,a,b\nb,1,0\na,0,1\n", "in the same order"),
        ("from,a,b\na,1,0\nb,x,1\n", "no probability"),
        ("from,a,b\na,1,0\nb,1/0,1\n", "no probability"),
        ("from,a,b\na,0.9,0.2\nb,0,1\n", "add up to 1.1"),
        ("from,a,b\na,1.5,-0.5\nb,0,1\n", "at least 0"),
        ("from,a,b\na,1\nb,0,1\n", "a row and a column for each"),
    ],
)
def test_a_broken_matrix_file_is_refused_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said) as refused:
        TransitionMatrix.read(file)
    assert str(file) in str(refused.value)


def test_probabilities_that_no_whole_number_holds_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 18 decimals"):
        TransitionMatrix.uniform(JOBS, 5e-324)
    fine = TransitionMatrix.uniform(JOBS, "0.12345678901234567")
    with pytest.raises(ParameterError, match="fewer decimals"):
        reversal_weights(fine, np.array([100, 100, 100]))


def test_what_cannot_be_done_is_refused() -> None:
    people = sf.Table(pl.DataFrame({"job": ["cook", "nurse"] * 30, "age": [30, 40] * 30}))
    plain = sf.Schema.from_roles(quasi=["job", "age"])
    with pytest.raises(ParameterError, match="needs --keep"):
        sf.PRAM().anonymize(people, plain)
    with pytest.raises(SchemaError, match="'age' is integer; pram takes categories"):
        sf.PRAM("age", keep=0.8).anonymize(people, plain)
    with pytest.raises(ParameterError, match="begins with a probability"):
        sf.PRAM(invariant=True)
    with pytest.raises(SchemaError, match="'clerk' is in one of them only"):
        sf.PRAM(matrices={"job": DECLARED}).anonymize(people, plain)
    release = sf.PRAM("job", keep=0.5).anonymize(people, plain)
    with pytest.raises(ParameterError, match="cannot be inverted"):
        sf.pram_counts(release.table, release.card, ["job"])
    with pytest.raises(ParameterError, match="by one column or by two"):
        sf.pram_counts(release.table, release.card, [])
