"""A trial: an algorithm on a random sample of the rows, to see in seconds what it would do, and never a release.

What holds on a sample need not hold on the table it was drawn from: smallest classes and rare values are missed
(Skinner & Elliot 2002, "A measure of disclosure risk for microdata").
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from sfumato.errors import ParameterError
from sfumato.random import SecureSource, Source, permutation
from sfumato.release import Release
from sfumato.table import Table

TRIAL = (
    "Trial on a random sample of {rows} rows, not a release: do not publish it. It would be one more table about the "
    "same people. With fewer rows to choose from, its classes are wider and its loss is higher than those of all rows."
)
ON_A_SAMPLE = (
    "measured on a random sample of {rows} of {all} rows: other rows may share or break these classes, so k, l, t and "
    "risks of the whole table may be higher or lower; check it without --sample before it is published"
)


def sample_rows(table: Table, count: int, source: Source | None = None) -> Table:
    """Return a random sample of the rows, in their order; all of them where there are no more.

    >>> import polars as pl
    >>> sample_rows(Table(pl.DataFrame({"age": range(100)})), 10).rows
    10
    """
    if count < 1:
        raise ParameterError(f"a sample needs at least one row; --sample asks for {count}")
    if count >= table.rows:
        return table
    chosen = np.sort(permutation(table.rows, source or SecureSource())[:count])
    return table.take(chosen)


def mark_trial(release: Release) -> Release:
    """Return the release with a card that says, before any other warning, that it is none.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(50))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)])
    >>> mark_trial(release).card.warnings[0][:54]
    'Trial on a random sample of 50 rows, not a release: do'
    """
    warning = TRIAL.format(rows=release.card.released.rows)
    return replace(release, card=msgspec.structs.replace(release.card, warnings=[warning, *release.card.warnings]))
