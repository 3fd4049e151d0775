"""Private candidates tried on made-up rows: nothing of the real table is read, so that nothing has to be paid.

Whoever tries a private algorithm on real rows and looks at the result has spent its ε, whether or not it is published
(Dwork & Roth 2014, section 2). Rows that are drawn evenly from the declared domains are public.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.compiling import working_time
from sfumato.evaluate.candidates.candidate import Candidate
from sfumato.evaluate.utility import utility
from sfumato.random import SeededSource, Source
from sfumato.release.row_counts import WITHHELD, RowCounts
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.schema.times import EPOCH, wall_time
from sfumato.table import Table
from sfumato.tabular.private.base import PrivateAnonymizer
from sfumato.tabular.private.public_columns import domain_ends, domain_words
from sfumato.tabular.proposals import Proposal

ROWS = 10_000
SEED = 1  # rows that are nobody's need no secret
STEPS = 1 << 20  # of a continuous column
SIMULATED = (
    "simulated on {rows:,} made-up rows, drawn evenly from the declared domains; no real row was read and nothing was "
    "charged. Real rows lie closer together, so a release of them may lose less, and other rows may be withheld."
)


def simulate(proposal: Proposal, anonymizer: PrivateAnonymizer, schema: Schema, rows: int) -> Candidate:
    """Return what a private candidate does to made-up rows; it is given no others.

    >>> from sfumato import PrivateMondrian
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 99))})
    >>> anonymizer = PrivateMondrian(epsilon=1)
    >>> simulate(Proposal("private-mondrian", anonymizer, [], {}), anonymizer, schema, 1000).simulated
    1000
    """
    table = made_up_table(schema, rows, SeededSource(SEED))
    begun = working_time()
    release = anonymizer.anonymize(table, schema, proposal.models, rng=SeededSource(SEED + 1), audit=False)
    seconds = working_time() - begun
    notes = [SIMULATED.format(rows=rows)]
    loss = None
    if release.table.rows:
        loss = utility(table, schema, release.table).gcp
    else:
        notes.append("no class was large enough to be released.")
    withheld = release.steward.get(WITHHELD)  # none where released rows stand for nobody in particular
    return Candidate(
        proposal.name,
        proposal.command,
        loss=loss,
        classes=release.card.released.classes,
        rows=None if withheld is None else RowCounts(rows, int(withheld), 0, rows - int(withheld)),
        seconds=seconds,
        simulated=rows,
        notes=notes,
    )


def made_up_table(schema: Schema, rows: int, source: Source) -> Table:
    """Return so many rows, each cell drawn evenly from its column's public domain.

    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(18, 19))})
    >>> sorted(set(made_up_table(schema, 50, SeededSource(1)).column("age").to_list()))
    [18, 19]
    """
    columns = []
    for name, attribute in schema.columns.items():
        if attribute.role is Role.IDENTIFIER:
            columns.append(pl.Series(name, [f"nobody {number}" for number in range(rows)]))
        else:
            columns.append(pl.Series(name, _cells(attribute, rows, source)))
    return Table(pl.DataFrame(columns))


def _cells(attribute: Attribute, rows: int, source: Source) -> list[Any]:
    words = domain_words(attribute)
    if words is not None:
        return [words[place] for place in _places(len(words), rows, source)]
    low, high = domain_ends(attribute)
    if attribute.kind is Kind.NUMBER:
        return [float(low + (high - low) * place / STEPS) for place in _places(STEPS + 1, rows, source)]
    numbers = [int(low) + int(place) for place in _places(int(high - low) + 1, rows, source)]
    if attribute.kind is Kind.DATE:
        return [EPOCH + dt.timedelta(days=number) for number in numbers]
    return [wall_time(number) for number in numbers] if attribute.kind is Kind.TIMESTAMP else numbers


def _places(count: int, rows: int, source: Source) -> npt.NDArray[np.int64]:
    """Return numbers below `count`; their tiny bias is of no concern where rows are nobody's."""
    return (source.words(rows) % np.uint64(count)).astype(np.int64)
