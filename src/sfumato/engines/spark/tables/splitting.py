"""A split of a table into parts each of which could be released alone: cuts that would break a model are taken back.

Parts that satisfy every model beside the whole table leave the search in each part something to find (Mondrian's own
condition on a cut, LeFevre, DeWitt & Ramakrishnan 2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.engines.spark.tables.cuts import PART, Tree, Width, cut_tree
from sfumato.engines.spark.tables.whole import UNITS, Whole
from sfumato.models.criteria import flatten
from sfumato.models.groups import ClassCounts
from sfumato.table.coding import Codes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def split(counts: DataFrame, whole: Whole, parts: int, width: Width) -> Tree:
    """Return the cuts that make about `parts` parts of the counted rows, each satisfying every model."""
    tree = cut_tree(whole.quasi(whole.sample), whole.weights, parts, width)
    while tree.leaves > 1:
        bad = _failing(counts.withColumn(PART, tree.parts(counts)), whole, tree.leaves)
        if not bad:
            break
        tree = tree.without(bad)
    return tree


def _failing(counts: DataFrame, whole: Whole, leaves: int) -> set[int]:
    """Return the parts that break a model, or that no row has."""
    from sfumato.models.criteria_kernel import criterion_holds

    units = np.zeros(leaves, dtype=np.int64)
    every = whole.units_by(counts, PART, None)
    units[every[PART].to_numpy()] = every[UNITS].to_numpy()
    least = max(model.least_units for model in whole.models)
    bad = set(np.flatnonzero(units < max(1, least)).tolist())
    for name, known in whole.sensitive.items():
        found = whole.units_by(counts, PART, name)
        codes = known.coded(found[name]).codes
        tests = [model.criterion(known.column) for model in whole.models if model.sensitive == name]
        criteria = flatten([(test, 0) for test in tests if test is not None], [known.reference])
        for part in range(leaves):
            here = (found[PART] == part).to_numpy()
            held = _histogram(codes[here], found[UNITS].filter(pl.Series(here)), known.column.size)
            flow = np.zeros(len(held) + 1)
            if not all(criterion_holds(criteria, i, held, int(units[part]), flow) for i in range(len(criteria.kind))):
                bad.add(part)
            one = ClassCounts(int(units[part]), int(units[part]), held, known.reference, known.column)
            if not all(
                model.satisfied(one) for model in whole.models if model.sensitive == name and not model.compiled
            ):
                bad.add(part)
    return bad


def _histogram(codes: Codes, units: pl.Series, size: int) -> npt.NDArray[np.int64]:
    return np.bincount(codes, weights=units.to_numpy(), minlength=size).astype(np.int64)
