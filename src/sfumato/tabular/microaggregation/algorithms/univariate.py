"""Optimal microaggregation of a single column.

Hansen & Mukherjee, "A polynomial algorithm for optimal univariate microaggregation" (2003);
Stamm & Schaub, "Faster optimal univariate microaggregation" (2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import ParameterError, SchemaError
from sfumato.tabular.microaggregation.base import ORDER_OPTIONS, ORDER_RULES, Microaggregator
from sfumato.tabular.microaggregation.loss import Labels, Records


def univariate(x: Records, k: int) -> Labels:
    """Return the labels of least error; groups are runs of k to 2k-1 sorted values."""
    from sfumato.tabular.microaggregation.algorithms.univariate_kernel import sorted_groups

    if x.shape[1] != 1:
        raise ParameterError(f"Univariate microaggregation takes one column. Got {x.shape[1]} instead.")
    order = np.argsort(x[:, 0], kind="stable")
    labels = np.empty(len(x), np.int64)
    labels[order] = sorted_groups(x[order, 0], k)
    return labels


@dataclass(frozen=True)
class Univariate(Microaggregator):
    """The optimum for a single number (Hansen & Mukherjee 2003; Stamm & Schaub 2024).

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [1, 2, 9, 10, 11]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> Univariate(keep_order=True).anonymize(people, schema, [sf.KAnonymity(2)]).frame["age"].to_list()
    [1.5, 1.5, 10.0, 10.0, 10.0]
    """

    keep_order: bool = False

    RULES: ClassVar = ORDER_RULES
    OPTIONS: ClassVar = ORDER_OPTIONS
    algorithm: ClassVar = "univariate"

    def groups(self, points: Records, k: int) -> Labels:
        if points.shape[1] != 1:
            raise SchemaError(
                "univariate microaggregation takes one quasi-identifier, a number without missing values; "
                f"found {points.shape[1]} coordinates, so choose another algorithm, for example mdav"
            )
        return univariate(points, k)
