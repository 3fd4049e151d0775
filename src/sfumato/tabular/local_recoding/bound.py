"""What any local recoding into classes of at least k rows loses at least, so that a search knows how far it can go.

A row costs at least what the cheapest cover of it and k - 1 companions costs; prices of rows (Lagrangian duality,
Geoffrion 1974) add what rows in cheap classes lose when they make up somebody else's class. Models beyond k rows only
raise the loss, so each bound holds for them too. Bounds are computed from raw rows: they are the steward's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import KIND, SIZE, START, TREE, WEIGHT, Penalties

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TOLERANCE = 1e-9  # more than sums of decimals err, so that no bound is above the true one


def pair_bound(cells: Cells, penalties: Penalties, least: int) -> float:
    """Return a bound on the mean penalty of a cell of the table: each row with its (k - 1)-th nearest companion.

    It holds for ranges, sets and nodes, also where rows are suppressed.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.local_recoding.penalties import penalties
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
    >>> round(pair_bound(Cells.of(problem), penalties(problem.quasi), 2), 6)
    0.125
    """
    from sfumato.tabular.local_recoding.bound_kernel import pair_penalties

    _refuse_few(cells, least)
    facts, nodes, costs, _ = penalties
    near = cells.near(penalties, np.arange(cells.count), max(1, least - 1))
    each = pair_penalties(facts, nodes, costs, cells.codes, counts_of(cells), near, least)
    return mean_penalty(cells, penalties, each)


def cover_bound(cells: Cells, penalties: Penalties, least: int) -> float:
    """Return the bound by the cheapest nodes that cover each row and k - 1 companions, where all columns are trees.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.local_recoding.penalties import penalties
    >>> from sfumato.tabular.problem import Problem
    >>> town = sf.Hierarchy.from_rows([["Bern", "CH"], ["Basel", "CH"], ["Rome", "IT"]])
    >>> schema = sf.Schema({"town": sf.Attribute("town", sf.Role.QUASI, hierarchy=town)})
    >>> table = sf.Table.from_frame(pl.DataFrame({"town": ["Bern", "Basel", "Rome", "Rome"]}))
    >>> problem = Problem.of(table, schema, [sf.KAnonymity(2)])
    >>> round(cover_bound(Cells.of(problem), penalties(problem.quasi), 2), 6)
    0.333333
    """
    return bound_of_prices(cells, penalties, least, np.zeros(cells.count))


def bound_of_prices(cells: Cells, penalties: Penalties, least: int, prices: Floats) -> float:
    """Return the bound that any prices of rows prove, one price for the rows of each cell; trees only.

    Take a class of n >= k rows under nodes of penalty c. It costs n c, its rows' prices and n times c less their mean
    price; no k rows under these nodes have a higher mean than the k dearest. So the loss of a partition is at least
    the sum over all rows of their price and of the least slack, c less the mean of the k dearest, of all nodes above.
    """
    _refuse_few(cells, least)
    return mean_penalty(cells, penalties, prices + slack_of(cells, penalties, least, prices))


def slack_of(cells: Cells, penalties: Penalties, least: int, prices: Floats) -> Floats:
    """Return the least slack of a row of each cell, over all nodes above it and its suppression alone."""
    from sfumato.tabular.local_recoding.bound_kernel import lower_slack

    facts, nodes, costs, _ = penalties
    order, slack = np.argsort(-prices, kind="stable"), whole(penalties) - prices
    every, counts = lattice_of(penalties), counts_of(cells)
    lower_slack(facts, nodes, costs, cells.codes, counts, every, prices, order, least, slack)
    return slack


def lattice_of(penalties: Penalties) -> Int64s:
    """Return every combination of levels of trees."""
    facts = penalties.facts
    if (facts[:, KIND] != TREE).any():
        raise ParameterError("a bound by the nodes of a lattice needs a hierarchy for every quasi-identifier")
    heights = (facts[:, WEIGHT] - facts[:, START]) // facts[:, SIZE]
    return np.array(list(product(*(range(height) for height in heights))), dtype=np.int64)


def by_leaves(penalties: Penalties, leaves: Sequence[int]) -> Penalties:
    """Return penalties of trees by (m - 1)/(D - 1) where a node covers m of a column's D leaves, instead of m/D.

    So does ARX measure (Iyengar 2002).

    >>> import polars as pl
    >>> from sfumato.hierarchy import Hierarchy
    >>> from sfumato.schema import Attribute, Role
    >>> from sfumato.table.coding import code
    >>> from sfumato.tabular.local_recoding.penalties import penalties
    >>> town = Hierarchy.from_rows([["Bern", "CH"], ["Basel", "CH"], ["Rome", "IT"]])
    >>> column = code(pl.Series("town", ["Bern", "Basel", "Rome"]), Attribute("town", Role.QUASI, hierarchy=town))
    >>> by_leaves(penalties([column]), [3]).costs[:6].tolist()
    [0.0, 0.0, 0.0, 0.5, 0.5, 0.0]
    """
    from sfumato.tabular.local_recoding.cover_kernel import fill_pairs

    costs = penalties.costs.copy()
    for fact, whole_domain in zip(penalties.facts, leaves, strict=True):
        weight, part = costs[fact[WEIGHT]], slice(fact[START], fact[WEIGHT])
        costs[part] = np.maximum(0.0, costs[part] * whole_domain - weight) / max(1, whole_domain - 1)
    fill_pairs(penalties.facts, penalties.nodes, costs)
    return penalties._replace(costs=costs)


def counts_of(cells: Cells) -> Int64s:
    """Return the number of rows of each cell."""
    return np.diff(cells.first)


def whole(penalties: Penalties) -> float:
    """Return what a suppressed row costs."""
    return float(penalties.costs[penalties.facts[:, WEIGHT]].sum())


def mean_penalty(cells: Cells, penalties: Penalties, each: Floats) -> float:
    """Return the mean over all cells of the table of what rows cost at least, less what sums may err."""
    mean = float(counts_of(cells) @ each) / len(cells.of_row) / len(penalties.facts)
    return max(0.0, mean - TOLERANCE * max(1.0, whole(penalties), float(np.abs(each).max())))


def _refuse_few(cells: Cells, least: int) -> None:
    if len(cells.of_row) < least:
        raise ParameterError(f"classes of {least} rows were asked for and the table has {len(cells.of_row)}")
