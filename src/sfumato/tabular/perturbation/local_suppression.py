"""Local suppression: few single cells become `*`, so that every row agrees with at least k rows.

The aim is that of mu-Argus (Hundepool & Willenborg 1996) and of sdcMicro's localSuppression (Templ, Kowarik & Meindl
2015): a suppressed cell may stand for any value. The search is greedy, row after row, by declared importance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import SUPPRESSED, literal
from sfumato.core.parameters import Option, Optional
from sfumato.core.progress import counting
from sfumato.errors import BrokenPromiseError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.models import KAnonymity
from sfumato.models.base import Model
from sfumato.release import Card, Finding
from sfumato.release.card import Guarantee, MeasuredModel
from sfumato.release.finding import NOT_REFUTED, REFUTED
from sfumato.release.plain_words import listed
from sfumato.release.row_counts import STARRED
from sfumato.schema import Kind, Role
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.tabular.card import ONLY_RELEASE
from sfumato.tabular.perturbation.base import Masked, MaskingAnonymizer
from sfumato.tabular.perturbation.draft import MaskingDraft
from sfumato.tabular.perturbation.given import Amounts, ColumnAmounts, amounts_in
from sfumato.tabular.perturbation.matching import STAR, Cases, Cells, coded_texts, match_counts

Integers = npt.NDArray[np.int64]
MOST_COLUMNS = 12
MATCHING = "k-anonymity, * matching any value"
OWN_VALUE = "k-anonymity, * as a value of its own"
ROW_WORDS = "Every row agrees with at least {others} on {quasi}, where a suppressed cell (*) agrees with any value."
OWN_WORDS = "Somebody who takes * for a value of its own sees classes of {least} or more."
SEMANTICS = (
    "k counts rows that agree with a released row; a person's own values may agree with fewer rows, since two rows "
    "that agree with a third need not agree with each other; how few was measured for the steward alone"
)
RARE = "a suppressed cell (*) tells that the row's combination was rare"
KNOWS = (
    "An attacker knows quasi-identifiers and may know that a person is in the table, but nothing else about the rows."
)


@dataclass(frozen=True)
class LocalSuppression(MaskingAnonymizer):
    """Cell-wise suppression until every row agrees with at least k rows, `*` matching any value.

    Cells of a column of greater `importance` (1 unless given) are kept before others. k is that of `KAnonymity`.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [30, 30, 31], "sex": ["F", "F", "F"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"])
    >>> release = LocalSuppression().anonymize(people, schema, [sf.KAnonymity(2)])
    >>> sorted(release.frame["age"].to_list()), release.frame["sex"].to_list()
    (['*', '30', '30'], ['F', 'F', 'F'])
    """

    importance: Amounts | None = None

    RULES: ClassVar = {"importance": Optional(ColumnAmounts())}
    OPTIONS: ClassVar = {
        "importance": Option("How much it costs to suppress a cell of a column, 1 unless given, as in age=3,sex=1.")
    }
    algorithm: ClassVar = "local-suppression"
    needs_models: ClassVar[bool] = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(), cls(importance={"age": 5, "sex": 0.5})

    def accepts(self, model: Model) -> bool:
        return isinstance(model, KAnonymity)

    def mask(self, draft: MaskingDraft) -> Masked:
        k = _asked(draft)
        quasi = draft.schema.names(Role.QUASI)
        coded = [draft.coded(name) for name in quasi]
        cases = Cases.of([column.codes for column in coded])
        shown = suppress(cases, k, self._prices(quasi))
        matched = Cases.of(list(shown[:, cases.rows]))
        least = _kept(int(match_counts(matched).min()), k)
        stars = shown[:, cases.rows] == STAR
        return Masked(
            {column.name: written(column, stars[place]) for place, column in enumerate(coded)},
            _changes(quasi, stars),
            {"importance": dict(zip(quasi, self._weights(quasi), strict=True))},
            (KNOWS, ONLY_RELEASE),
            measures=_measures(stars),
            models=_models(quasi, k, least, int(matched.times.min())),
            guarantee=Guarantee(model=MATCHING, parameters={"matching_k": k}, unit="row"),
            audits=[_finding(k, least)],
            warnings=(SEMANTICS, RARE) if stars.any() else (),
            steward=_candidates(cases, shown, matched, k),
        )

    @classmethod
    def claims(cls, card: Card, table: Table) -> list[Finding]:
        """Return whether every row of the file agrees with as many rows as the card promises."""
        quasi = [column.name for column in card.released.columns if column.role == Role.QUASI]
        least = match_counts(Cases.of(coded_texts([table.column(name) for name in quasi]))).min()
        return [_finding(int(card.guarantee.parameters["matching_k"]), int(least))]

    def _weights(self, quasi: Sequence[str]) -> list[float]:
        given = amounts_in(self.importance)
        odd = [name for name in given if name not in quasi]
        if odd:
            raise SchemaError(
                f"column '{odd[0]}' has an importance and is no quasi-identifier; name one of {listed(quasi)}"
            )
        return [float(given.get(name, 1)) for name in quasi]

    def _prices(self, quasi: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return what suppressing each set of columns costs, the sets numbered by their bits."""
        if len(quasi) > MOST_COLUMNS:
            raise SchemaError(
                f"local-suppression weighs every set of quasi-identifiers, of which there may be {MOST_COLUMNS}; found "
                f"{len(quasi)}"
            )
        prices = np.zeros(1)
        for weight in self._weights(quasi):
            prices = np.concatenate([prices, prices + weight])
        return prices


def suppress(cases: Cases, k: int, prices: npt.NDArray[np.float64]) -> Cells:
    """Return the cells of the cases with stars, so that at least `k` rows agree with each.

    A star never takes a match away, so that a case that has enough keeps them; the rarest cases come first.

    >>> cases = Cases.of([np.array([0, 0, 1]), np.array([5, 5, 5])])
    >>> suppress(cases, 2, np.array([0.0, 1.0, 1.0, 2.0])).tolist()
    [[0, -1], [5, 5]]
    """
    from sfumato.tabular.perturbation.matching_kernel import suppress_cases

    shown = cases.cells.copy()
    short = np.flatnonzero(cases.times < k)
    order = short[np.argsort(cases.times[short], kind="stable")]
    with counting(len(order), "rare rows seen to") as done:
        suppress_cases(shown, cases.times, order, k, prices, done)
    return shown


def _asked(draft: MaskingDraft) -> int:
    """Return the k that was asked for, or say why it cannot be had."""
    asked = [model.k for model in draft.models if isinstance(model, KAnonymity)]
    if len(asked) != 1:
        raise ParameterError("local-suppression needs k-anonymity once, for example KAnonymity(3) or --k 3")
    if draft.repeats:
        raise SchemaError(
            f"local-suppression counts rows, and persons of '{draft.schema.person}' have several; give one row for each"
        )
    if asked[0] > draft.table.rows:
        raise UnsatisfiableError(
            f"k-anonymity asks for {asked[0]} rows in a class and the table has {draft.table.rows}; at most "
            f"k={draft.table.rows} is possible"
        )
    return asked[0]


def _kept(least: int, k: int) -> int:
    """Return how many rows agree with every row, or withhold the release."""
    if least < k:
        raise BrokenPromiseError(
            f"the release was withheld: {MATCHING} asked for {k}, the output has {least}; this is a defect of the "
            "algorithm, please report it"
        )
    return least


def written(column: Column, stars: npt.NDArray[np.bool_]) -> pl.Series:
    """Return a column with stars, where equal values are written alike however they were written before.

    >>> from sfumato.schema import Attribute, Kind
    >>> from sfumato.table.coding import code
    >>> pay = Attribute("pay", Role.QUASI, Kind.NUMBER, missing=("", "?"))
    >>> column = code(pl.Series("pay", ["1.50", "1.5", "?", "", "2"]), pay)
    >>> written(column, np.array([False, False, False, False, True])).to_list()
    ['1.5', '1.5', '', '', '*']
    """
    words = [_word(column, number) for number in range(column.size)]
    shown = pl.Series(column.name, words, dtype=pl.String).gather(pl.Series(column.codes))
    return shown.set(pl.Series(stars), SUPPRESSED)


def _word(column: Column, number: int) -> str:
    """Return the value behind a code as it is published."""
    text = column.text(number)
    if number < column.has_missing:
        return text
    return (
        text.removesuffix(".0") if column.kind is Kind.NUMBER and column.attribute.hierarchy is None else literal(text)
    )


def _changes(quasi: Sequence[str], stars: npt.NDArray[np.bool_]) -> list[str]:
    rows = stars.shape[1]
    told = [f"{listed(quasi)}: single cells were suppressed (*), the fewest in importance that a greedy search found."]
    counts = zip(quasi, stars.sum(axis=1).tolist(), strict=True)
    return [*told, *(f"{name} is replaced by * in {count:,} of {rows:,} rows." for name, count in counts if count)]


def _measures(stars: npt.NDArray[np.bool_]) -> dict[str, float]:
    whole = int(stars.all(axis=0).sum())
    return {"cells_suppressed": int(stars.sum()), **({STARRED: whole} if whole else {})}


def _models(quasi: Sequence[str], k: int, least: int, own: int) -> list[MeasuredModel]:
    others = "one other row" if k == 2 else f"{k - 1:,} other rows"
    return [
        MeasuredModel(
            model=MATCHING, asked=k, measured=least, words=ROW_WORDS.format(others=others, quasi=listed(quasi))
        ),
        MeasuredModel(
            model=OWN_VALUE, asked=1, measured=own, words=OWN_WORDS.format(least=f"{own:,} row{'s' * (own > 1)}")
        ),
    ]


def _finding(k: int, least: int) -> Finding:
    evidence: dict[str, Any] = {
        "method": "rows that agree counted again from the released values, * matching any value"
    }
    if least < k:
        evidence["reason"] = f"a released row agrees with {least} rows"
    return Finding(
        claim=f"{MATCHING}: at least {k} rows agree with every row",
        verdict=NOT_REFUTED if least >= k else REFUTED,
        bound=least,
        evidence=evidence,
    )


def _candidates(cases: Cases, shown: Cells, matched: Cases, k: int) -> dict[str, float]:
    """Return for the steward how few released rows agree with a person's own values, all of which an attacker knows."""
    changed = np.flatnonzero((shown == STAR).any(axis=0))
    if not len(changed):
        return {}
    agree = match_counts(matched, cases.cells[:, changed])
    return {
        "fewest_candidates": int(agree.min()),
        "rows_with_fewer_candidates_than_k": int(cases.times[changed[agree < k]].sum()),
    }
