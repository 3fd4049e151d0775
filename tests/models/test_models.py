"""Measures against slow, obvious twins and hand-worked values."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.checks.tables import random_schema, random_table
from sfumato.hierarchy import Hierarchy
from sfumato.models import Groups, measures
from sfumato.models.t_closeness import cuts
from sfumato.schema import Kind, Role
from sfumato.table.coding import Column, code

TREE = Hierarchy.from_rows(
    [
        ("flu", "virus", "lung", "*"),
        ("pneumonia", "virus", "lung", "*"),
        ("asthma", "chronic", "lung", "*"),
        ("ulcer", "acid", "gut", "*"),
    ]
)
people = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["flu", "pneumonia", "asthma", "ulcer"])), min_size=1)


def column(values: list[str], kind: Kind = Kind.CATEGORY, hierarchy: Hierarchy | None = None) -> Column:
    return code(pl.Series("s", values), sf.Attribute("s", Role.SENSITIVE, kind, hierarchy=hierarchy))


def groups(rows: list[tuple[int, str]], hierarchy: Hierarchy | None = None) -> Groups:
    classes = np.unique([row[0] for row in rows], return_inverse=True)[1]
    return Groups.of(classes, {"s": column([row[1] for row in rows], hierarchy=hierarchy)})


def by_class(rows: list[tuple[int, str]]) -> list[Counter[str]]:
    return [Counter(value for group, value in rows if group == wanted) for wanted in sorted({row[0] for row in rows})]


def transport(left: Counter[str], right: Counter[str], distance: dict[tuple[str, str], Fraction]) -> Fraction:
    """The earth mover's distance by its dual, brute force over 1-Lipschitz potentials on a grid."""
    values = sorted(set(left) | set(right))
    scale = math.lcm(*(d.denominator for d in distance.values()))
    shares = {v: Fraction(left[v], left.total()) - Fraction(right[v], right.total()) for v in values}
    best = Fraction(0)
    for heights in itertools.product(range(scale + 1), repeat=len(values)):
        potential = dict(zip(values, (Fraction(h, scale) for h in heights), strict=True))
        if all(abs(potential[a] - potential[b]) <= distance[a, b] for a in values for b in values):
            best = max(best, sum((shares[v] * potential[v] for v in values), Fraction(0)))
    return best


@given(people)
def test_sizes_and_l_measures_equal_their_twins(rows: list[tuple[int, str]]) -> None:
    found, counts = groups(rows), by_class(rows)
    histograms = found.sensitive["s"]
    assert measures.smallest(found) == min(count.total() for count in counts)
    assert measures.l_distinct(histograms) == min(len(count) for count in counts)
    entropies = [-sum(n / c.total() * math.log(n / c.total()) for n in c.values()) for c in counts]
    assert measures.l_entropy(histograms) == pytest.approx(math.exp(min(entropies)))
    for c in (0.5, 1.0, 2.0, 4.0):
        assert measures.l_recursive(histograms, c) == min(slow_recursive(count, c) for count in counts)


def slow_recursive(counts: Counter[str], c: float) -> int:
    ordered = sorted(counts.values(), reverse=True)
    return max((l for l in range(1, len(ordered) + 1) if ordered[0] < c * sum(ordered[l - 1 :])), default=0)


@given(people)
def test_shares_gain_and_ratio_equal_their_twins(rows: list[tuple[int, str]]) -> None:
    found, counts = groups(rows), by_class(rows)
    whole = Counter(value for _, value in rows)
    histograms = found.sensitive["s"]
    pairs = [(n / c.total(), whole[v] / whole.total()) for c in counts for v, n in c.items()]
    assert measures.alpha(found, histograms) == pytest.approx(max(q for q, _ in pairs))
    assert measures.beta(histograms) == pytest.approx(max(0.0, *((q - p) / p for q, p in pairs)))
    assert measures.delta(histograms) == pytest.approx(max(abs(math.log(q / p)) for q, p in pairs))


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["flu", "asthma", "ulcer"])), min_size=1, max_size=12)
)
def test_t_equals_the_dual_of_the_transport_problem(distance: str, rows: list[tuple[int, str]]) -> None:
    whole = Counter(value for _, value in rows)
    order = [leaf for leaf in TREE.leaves if leaf in whole]
    steps = max(1, len(order) - 1)
    paths = {path[0]: path for path in TREE.paths}
    metrics = {
        "equal": lambda a, b: Fraction(int(a != b)),
        "ordered": lambda a, b: Fraction(abs(order.index(a) - order.index(b)), steps),
        "hierarchical": lambda a, b: Fraction(sum(x != y for x, y in zip(paths[a], paths[b], strict=True)), 3),
    }
    metric = {(a, b): metrics[distance](a, b) for a in order for b in order}
    histograms = groups(rows, TREE).sensitive["s"]
    expected = max(transport(count, whole, metric) for count in by_class(rows))
    assert measures.t_distance(histograms, *cuts(histograms.column, distance)) == pytest.approx(float(expected))


def test_t_of_many_classes_is_the_same_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    rows = [(int(c), f"v{v}") for c, v in zip(draw.integers(0, 50, 500), draw.integers(0, 20, 500), strict=True)]
    histograms = groups(rows).sensitive["s"]
    whole = measures.t_distance(histograms, *cuts(histograms.column, "equal"))
    monkeypatch.setattr(measures, "CHUNK", 64)
    assert measures.t_distance(histograms, *cuts(histograms.column, "equal")) == pytest.approx(whole, abs=1e-12)


def test_persons_count_once() -> None:
    person = np.array([0, 0, 0, 1])
    found = Groups.of(np.zeros(4, dtype=np.int64), {"s": column(["flu", "flu", "ulcer", "flu"])}, person)
    assert found.sizes.tolist() == [4]
    assert found.units.tolist() == [2]
    assert found.sensitive["s"].counts.tolist() == [2, 1]
    assert measures.alpha(found, found.sensitive["s"]) == 1.0


def test_a_hierarchical_distance_needs_a_hierarchy() -> None:
    with pytest.raises(sf.SfumatoError, match="column 's' has no hierarchy"):
        cuts(column(["flu"]), "hierarchical")


def test_the_reference_counts_a_person_once_however_classes_divide_the_rows() -> None:
    person, values = np.array([0, 0, 1, 2]), column(["flu", "flu", "flu", "ulcer"])
    for classes in ([0, 0, 0, 0], [0, 1, 0, 1]):
        found = Groups.of(np.array(classes), {"s": values}, person).sensitive["s"]
        assert found.reference.tolist() == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.MDAV(), sf.Datafly()])
def test_t_closeness_holds_for_persons(anonymizer: sf.tabular.Anonymizer, seed: int) -> None:
    models = [sf.KAnonymity(2), sf.TCloseness(0.2, "disease")]
    release = anonymizer.anonymize(random_table(seed, 60), random_schema(person=True), models)
    assert release.card.released.models[1].measured <= 0.2 + 1e-9
