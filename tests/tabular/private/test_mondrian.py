"""Private Mondrian: what is spent on each row, consistent counts, boxes that tile the public domain."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.evaluate.workload import Condition
from sfumato.random import SeededNoise, SeededSource
from sfumato.tabular.private.mondrian import side_text
from sfumato.tabular.private.mondrian import tree as trees
from sfumato.tabular.private.mondrian.tree import Box, Spending, grow, make_consistent, merge_even_cuts, share_out
from sfumato.tabular.private.public_columns import GRID, PublicColumn

SIZES = [50, 2, 9]


def points(rows: int = 3000, seed: int = 2) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    draw = np.random.default_rng(seed)
    return np.stack(
        [(draw.beta(2, 9, rows) * 50).astype(np.int64), draw.integers(0, 2, rows), draw.integers(0, 9, rows)], 1
    )


def leaves(box: Box) -> list[Box]:
    return [box] if box.sides is None else [*leaves(box.sides[0]), *leaves(box.sides[1])]


def cells(box: Box) -> int:
    return int(np.prod([high - low + 1 for low, high in zip(box.low, box.high, strict=True)]))


@pytest.mark.parametrize("epsilon, depth", [("0.1", 10), ("1", 3), ("0.37", 1), ("2.5", 14)])
def test_every_row_loses_exactly_epsilon_on_its_way(monkeypatch: pytest.MonkeyPatch, epsilon: str, depth: int) -> None:
    spent: dict[int, Fraction] = defaultdict(Fraction)
    count, choose = trees._count, trees._choose_cut

    def counted(boxes: Sequence[Box], price: Fraction, noise: object) -> None:
        for row in (row for box in boxes for row in box.rows.tolist()):
            spent[row] += price
        count(boxes, price, noise)  # type: ignore[arg-type]

    def chosen(box: Box, *rest: object) -> object:
        for row in box.rows.tolist():
            spent[row] += rest[1]  # type: ignore[operator]
        return choose(box, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(trees, "_count", counted)
    monkeypatch.setattr(trees, "_choose_cut", chosen)
    spending = Spending.of(Fraction(epsilon), depth, 5)
    assert spending.total == Fraction(epsilon)
    grow(points(400), SIZES, spending, 35 / float(Fraction(epsilon)), SeededNoise(1))
    assert set(spent.values()) == {Fraction(epsilon)}
    assert len(spent) == 400


def test_noise_is_never_less_than_the_price_asks_for() -> None:
    for price in (Fraction(1, 3), Fraction(7, 100), Fraction(3)):
        assert 1 / trees.scale_of(price) <= price


def test_boxes_tile_the_domain_and_counts_add_up() -> None:
    tree = grow(points(), SIZES, Spending.of(Fraction(1), 8, 5), 35, SeededNoise(3))
    assert sum(map(cells, leaves(tree))) == 50 * 2 * 9
    assert sum(len(box.rows) for box in leaves(tree)) == 3000
    make_consistent(tree)
    merge_even_cuts(tree, 1.0)
    shared = share_out(tree, max(0, round(tree.count)))
    assert sum(map(cells, (box for box, _ in shared))) == 50 * 2 * 9
    assert sum(count for _, count in shared) == round(tree.count)
    assert min(count for _, count in shared) >= 0


def least_squares(tree: Box) -> float:
    """The best estimate of the whole by plain linear algebra over the leaves."""
    found = leaves(tree)
    rows, values, weights = [], [], []

    def visit(box: Box) -> None:
        rows.append([float(any(leaf is inner for inner in leaves(box))) for leaf in found])
        values.append(box.count)
        weights.append(box.variance**-0.5)
        for side in box.sides or ():
            visit(side)

    visit(tree)
    scaled = np.array(rows) * np.array(weights)[:, None]
    return float(np.linalg.lstsq(scaled, np.array(values) * np.array(weights), rcond=None)[0].sum())


def test_consistency_is_weighted_least_squares() -> None:
    tree = grow(points(800), SIZES, Spending.of(Fraction(1), 5, 3), 30, SeededNoise(5))
    expected = least_squares(tree)
    make_consistent(tree)
    assert tree.count == pytest.approx(expected, rel=1e-9)


def test_cuts_that_noise_explains_are_merged_and_others_stay() -> None:
    def halves(left: float, right: float) -> Box:
        parts = (Box((0,), (4,), left, 100.0), Box((5,), (9,), right, 100.0))
        return Box((0,), (9,), left + right, 50.0, parts)

    even, uneven = halves(500, 505), halves(900, 100)
    assert merge_even_cuts(even, 1.0) == 0
    assert merge_even_cuts(uneven, 1.0) > 0
    assert even.sides is None
    assert uneven.sides is not None


@pytest.mark.parametrize(
    "attribute, low, high, text",
    [
        (sf.Attribute("a", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(-5, 5)), 0, 3, "[-5--2]"),
        (sf.Attribute("a", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69)), 4, 4, "24"),
        (sf.Attribute("a", sf.Role.QUASI, sf.Kind.NUMBER, bounds=(0, 1)), 0, GRID // 2 - 1, "[0.0..0.5]"),
        (sf.Attribute("a", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("x", "y, z")), 0, 1, '{x, "y, z"}'),
        (sf.Attribute("a", sf.Role.QUASI, sf.Kind.ORDINAL, categories=("lo", "mid", "hi")), 1, 2, "[mid..hi]"),
        (
            sf.Attribute("a", sf.Role.QUASI, sf.Kind.DATE, bounds=(dt.date(2025, 1, 1), dt.date(2025, 12, 31))),
            0,
            30,
            "[2025-01-01..2025-01-31]",
        ),
    ],
)
def test_sides_are_written_as_the_contract_says(attribute: sf.Attribute, low: int, high: int, text: str) -> None:
    assert side_text(PublicColumn.of(pl.Series("a", [None], dtype=pl.String), attribute), low, high) == text


def test_a_release_is_read_back_by_the_counting_query_and_by_check() -> None:
    table = sf.Table.from_frame(sf.samples.census_10k())
    schema = sf.Schema(
        {
            "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69)),
            "sex": sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("1", "2")),
            "salary": sf.Attribute("salary", sf.Role.SENSITIVE, sf.Kind.NUMBER, bounds=(10_000, 300_100)),
        },
        other="drop",
    )
    release = sf.PrivateMondrian(epsilon=2).anonymize(table, schema, rng=SeededSource(1))
    truth = table.frame.filter((pl.col("salary") <= 80_000) & (pl.col("age") < 45) & (pl.col("sex") == 1)).height
    asked: dict[str, Condition] = {"salary": (10_000, 80_000), "age": (20, 44), "sex": ["1"]}
    assert sf.evaluate.expected_count(release.table, schema, asked) == pytest.approx(truth, rel=0.1)
    assert sf.evaluate.check(release.table, ["age", "sex", "salary"]).classes == release.card.released.classes
    assert release.card.guarantee.parameters == {"epsilon": 2.0}
    assert any("seed" in warning for warning in release.card.warnings)


def test_no_row_can_make_it_stop_and_left_out_rows_are_the_stewards() -> None:
    schema = sf.Schema({"age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69))})
    odd = sf.Table(pl.DataFrame({"age": ["x", None, "900", "33"]}))
    release = sf.PrivateMondrian(epsilon=1).anonymize(odd, schema)
    assert release.steward == {"rows_not_counted": 3.0}
    assert "not_counted" not in release.card.to_json()
    sf.PrivateMondrian(epsilon=1).anonymize(sf.Table(odd.frame.head(0)), schema)


def test_too_deep_a_tree_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"must be at most 30\. Got 31"):
        sf.PrivateMondrian(epsilon=1, depth=31)
    schema = sf.Schema({"age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 10**9))})
    ages = sf.Table(pl.DataFrame({"age": [0] * 5000}))
    release = sf.PrivateMondrian(epsilon=50, depth=30).anonymize(ages, schema, audit=False)
    assert release.table.column("age").to_list().count("0") > 4900


def test_other_models_are_refused() -> None:
    schema = sf.Schema({"age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69))})
    with pytest.raises(ParameterError, match="not k-anonymity"):
        sf.PrivateMondrian(epsilon=1).anonymize(sf.Table(pl.DataFrame({"age": [30]})), schema, [sf.KAnonymity(2)])
