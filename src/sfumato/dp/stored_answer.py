"""What the ledger keeps of an answer: numbers with their noise, and every public fact that belongs to them.

The numbers are drawn once and shown again as often as they are asked for; whatever is done with them afterwards costs
nothing (Dwork & Roth 2014, proposition 2.1).
"""

from __future__ import annotations

import msgspec

from sfumato.release.card import Guarantee

CONFIDENCE = 0.95
OF_THE_ANSWER = "the answer"
OF_CANDIDATES = "rows by which the rank may be off beyond the best candidate's, with 95 % confidence"
RANK_ERROR = "_rank_error"
Value = int | float | str | None


class AnswerColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One aggregate's answers, one per group: value, interval, noise scale, and the mechanism that made them.

    A quantile has a `rank_error` in place of an interval: by how many rows its rank may be off, with 95 % confidence;
    with fewer rows than `least_rows` it says no more than a median would.

    >>> AnswerColumn(name="count", mechanism="discrete Laplace", values=[3], low=[0], high=[33], scale=[10.0]).values
    [3]
    """

    name: str
    mechanism: str
    values: list[Value]
    low: list[Value]
    high: list[Value]
    scale: list[float]
    unit_of_scale: str = OF_THE_ANSWER
    counts: bool = False
    rank_error: float | None = None
    least_rows: int | None = None


class KeyColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A key of an answer: whether its values are declared and have an order, and the edges of its bins if it has bins.

    >>> KeyColumn(name="age", declared=True, ordered=True, edges=[0, 50, 99]).edges
    [0, 50, 99]
    """

    name: str
    declared: bool
    ordered: bool
    edges: list[int | float | str] | None = None


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about an answer that does not change when it is shown again; what the ledger keeps.

    >>> StoredAnswer(question="q", keys=[], cells=[[]], columns=[], epsilon="0.1").epsilon
    '0.1'
    """

    question: str
    keys: list[str]
    cells: list[list[int | float | str]]
    columns: list[AnswerColumn]
    epsilon: str
    delta: str = "0"
    rho: str = "0"
    accountant: str = "pure"
    unit: str = "row"
    neighbours: str = "presence"
    data_version: int = 1
    assumptions: list[str] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    postprocessing: list[str] = msgspec.field(default_factory=list)
    guarantee: Guarantee | None = None
    clipped: dict[str, list[int | float | str]] = msgspec.field(default_factory=dict)  # by column, its declared bounds
    said: list[str] = msgspec.field(default_factory=list)  # what else bounds the answer, in words
    threshold: int | None = None  # the noisy number of units below which a key that is not declared stays inside
    present_from: int | None = None  # the number of units from which such a key is there with 95 % probability
    key_columns: list[KeyColumn] = msgspec.field(default_factory=list)  # none in answers of earlier ledgers
    derived: dict[str, str] = msgspec.field(default_factory=dict)  # by computed column, its expression
    arranged: list[str] = msgspec.field(default_factory=list)  # what was done to released groups when they were shown
    chosen_by_noise: bool = False  # whether released numbers decided which groups are shown
