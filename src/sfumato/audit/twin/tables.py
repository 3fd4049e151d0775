"""The paths of private tables: an anonymizer that promises differential privacy, on nasty rows of a small table.

Where a secret sample is summed out (SafePub), tables are small enough to sum over every sample: the exact δ takes the
place of forced outcomes (Li, Qardaji & Su 2012 prove such a δ; `docs/algorithms/safepub.md` makes it exact).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sfumato.audit.twin import TwinPath
from sfumato.audit.twin.paths import cost_of
from sfumato.audit.twin.rows import Row, Rows, as_frame, row_pairs
from sfumato.audit.twin.watch import Recorder
from sfumato.core.seam import watched_by
from sfumato.models.base import Model
from sfumato.promise.unit import Neighbours
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.tabular.base import Anonymizer

SCHEMA = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 7)),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("f", "m")),
        "ill": Attribute("ill", Role.SENSITIVE, Kind.CATEGORY, categories=("no", "yes")),
    }
)
FEW = 2  # rows where every sample is tried
SOME = 60
TRIED = ("the first", "the only", "a row more", "a last row more, its cells missing")  # where all is summed up


def table_path(
    anonymizer: Anonymizer, models: Sequence[Model] = (), *, schema: Schema = SCHEMA, rows: Rows | None = None
) -> TwinPath:
    """Return the path of a private anonymizer, on made-up rows unless some are given.

    >>> from sfumato.tabular import PrivateMondrian
    >>> table_path(PrivateMondrian(epsilon=1)).attack().verdict
    'NOT_REFUTED'
    """
    given = list(made_up_rows(SOME) if rows is None else rows)
    columns = list(given[0])

    def run(chosen: Rows) -> Any:
        table = Table.from_frame(as_frame(chosen, columns))
        release = anonymizer.anonymize(table, schema, models, audit=False)  # type: ignore[call-arg]  # private ones do
        return {"rows": release.table.frame, "card": release.card}

    recorder = Recorder()
    with watched_by(recorder):
        card = run(given)["card"]
    if recorder.hides and rows is None:
        given = given[:FEW]
    pairs = row_pairs(given, Neighbours.PRESENCE)
    if recorder.hides:  # each pair takes many runs
        pairs = (pair for pair in pairs if pair.words.startswith(TRIED))
    return TwinPath(anonymizer.algorithm, run, pairs, cost_of(card.guarantee), times=1)


def made_up_rows(count: int) -> Iterator[Row]:
    """Yield rows of three small columns, many of them alike.

    >>> next(iter(made_up_rows(1)))
    {'age': '0', 'sex': 'f', 'ill': 'no'}
    """
    for number in range(count):
        yield {"age": str(number // 3 % 5), "sex": "fm"[number % 5 == 4], "ill": ("no", "yes")[number % 7 == 6]}
