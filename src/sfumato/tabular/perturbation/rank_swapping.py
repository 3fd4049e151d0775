"""Rank swapping: each number changes its place with another one whose rank is near.

Moore (1996), "Controlled Data-Swapping Techniques for Masking Public Use Microdata Sets", Census Bureau Research Report
96-04. Each column is swapped by itself, so that its histogram stays exactly as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.parameters import Option, Optional, Real
from sfumato.core.seam import choose
from sfumato.errors import SchemaError
from sfumato.random import Source, permutation
from sfumato.random.laws import Uniform
from sfumato.release.plain_words import listed
from sfumato.schema.kinds import is_missing
from sfumato.tabular.perturbation.base import ONLY_ONE, UNPROVEN, Masked, MaskingAnonymizer
from sfumato.tabular.perturbation.draft import MaskingDraft, is_ordered
from sfumato.tabular.perturbation.given import ColumnNames, Names, names_in

Integers = npt.NDArray[np.int64]
WORDS_PER_SWAP = 3
SAME_HISTOGRAM = (
    "The histogram of each swapped column is exactly that of the original rows, its extreme values among them: whoever "
    "knows that somebody has the highest value can read it."
)


@dataclass(frozen=True)
class RankSwapping(MaskingAnonymizer):
    """Rank swapping of numbers, dates and ordered words within `reach`, a share of the rows (Moore 1996).

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": list(range(20, 60))}))
    >>> release = RankSwapping(reach=0.1).anonymize(people, sf.Schema.from_roles(quasi=["age"]))
    >>> sorted(release.frame["age"].to_list()) == list(range(20, 60)), release.card.guarantee.model
    (True, 'none')
    """

    columns: Names | None = None
    reach: float = 0.05

    RULES: ClassVar = {"columns": Optional(ColumnNames()), "reach": Real(0, 1, above=True)}
    OPTIONS: ClassVar = {
        "columns": Option("Columns to change, separated by commas; quasi-identifiers that fit unless given."),
        "reach": Option("Farthest distance between the ranks of two swapped values, as a share of the rows."),
    }
    algorithm: ClassVar = "rank-swapping"
    notes: ClassVar = (SAME_HISTOGRAM,)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls("age"), cls(["age"], reach=0.5)

    def mask(self, draft: MaskingDraft) -> Masked:
        names = draft.named(names_in(self.columns), is_ordered, "ordered values")
        swapped = {name: self._swap(draft, name) for name in names}
        change = (
            f"{listed(names)}: each value was swapped with another one at most {100 * self.reach:g} % of the ranks "
            "away, each column by itself; missing values kept their place."
        )
        return Masked(swapped, [change], {"columns": list(names)}, (UNPROVEN, ONLY_ONE), steward=_moved(draft, swapped))

    def _swap(self, draft: MaskingDraft, name: str) -> pl.Series:
        attribute, cells = draft.attribute(name), draft.table.column(name)
        if not is_ordered(attribute):
            raise SchemaError(
                f"column '{name}' is {attribute.kind or 'text'}, which has no order; rank-swapping takes numbers, "
                "dates and ordinals; declare categories in their order, or use pram"
            )
        present = np.flatnonzero(~is_missing(cells, attribute.missing).to_numpy())
        ranks = draft.coded(name).codes[present].astype(np.int64)
        order = present[_sorted_at_random(ranks, draft.source)]
        partners = swap_ranks(len(order), max(1, int(self.reach * len(order))), draft.source)
        place = np.arange(len(cells), dtype=np.int64)
        place[order] = order[partners]
        return cells.gather(pl.Series(place))


def _sorted_at_random(ranks: Integers, source: Source) -> Integers:
    """Return the places of the values in their order, equal ones among themselves in an order drawn at random."""
    drawn = permutation(len(ranks), source)
    found: Integers = drawn[np.argsort(ranks[drawn], kind="stable")]
    return found


def swap_ranks(count: int, reach: int, source: Source) -> Integers:
    """Return the rank that each of `count` ranks is swapped with: itself where no free one lies within `reach`.

    From the lowest on, each rank that is still free takes one of the free ranks above it within `reach`, all alike.

    >>> from sfumato.random import SeededSource
    >>> swap_ranks(2, 1, SeededSource(1)).tolist(), swap_ranks(3, 0, SeededSource(1)).tolist()
    ([1, 0], [0, 1, 2])
    """
    return choose(lambda: Uniform("swaps", count), lambda: _draw_swaps(count, reach, source))


def _draw_swaps(count: int, reach: int, source: Source) -> Integers:
    from sfumato.tabular.perturbation.rank_swapping_kernel import swap_from

    partners = np.full(count, -1, dtype=np.int64)
    done, unread = 0, np.empty(0, dtype=np.uint32)
    while done < count:
        words = np.concatenate([unread, source.words(WORDS_PER_SWAP * (count - done) + 64)])
        done, place = swap_from(partners, done, reach, words)
        unread = words[place:]
    return partners


def _moved(draft: MaskingDraft, swapped: dict[str, pl.Series]) -> dict[str, Any]:
    """Return for the steward which share of the cells of each column has another value now."""
    return {
        f"changed_{name}": float(column.ne_missing(draft.table.column(name)).to_numpy().mean())
        for name, column in swapped.items()
    }
