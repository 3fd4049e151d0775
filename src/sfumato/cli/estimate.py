"""The command that corrects counts, means and covariances of a masked table by what its card says of the method."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.options import Columns, Flag, Input, names
from sfumato.core.files import Staging
from sfumato.errors import InputError, ParameterError, SfumatoError

if TYPE_CHECKING:
    import polars as pl

    from sfumato.release import Card
    from sfumato.table import Table

PLACES = 6


def estimate(
    table: Input,
    /,
    *,
    by: Columns = (),
    card: Path | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True, metavar="OUT")] = None,
    reading: InputOptions = InputOptions(),
    force: Flag = False,
) -> int:
    """Estimate from a masked release what the original table had: counts (pram), means and covariances (noise).

    Counts by one column or two are unbiased, each with its variance and a 95 % interval. Only the release and its card
    are read.

    Args:
        table: The released file: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input.
        by: The column, or the two columns, whose values are counted (pram).
        card: The card of the release; TABLE.card.json unless named.
        output: File for the estimates; its ending chooses the format; printed as CSV unless named.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.release import Card

    place = card or table.with_name(f"{table.name}.card.json")
    stated = Card.read(place)
    found = _estimates(read_told(table, reading), stated, names(by))
    if output is None or str(output) == "-":
        sys.stdout.write(found.write_csv(float_precision=PLACES))
        return 0
    from sfumato.table import Table
    from sfumato.table.io import write_held

    with Staging(force=force, inputs=[table, place]) as staging:
        write_held(Table(found), staging.place(output))
    sys.stdout.write(f"{found.height} estimates written to {output}\n")
    return 0


def _estimates(table: Table, card: Card, by: list[str]) -> pl.DataFrame:
    """Return the estimates that fit the method on the card."""
    from sfumato.tabular import CorrelatedNoise, noise_moments, pram_counts

    try:
        if card.algorithm != CorrelatedNoise.algorithm:
            if not by:
                raise ParameterError("no column was named whose values are counted; name one or two with --by")
            return pram_counts(table, card, by)
        if by:
            raise ParameterError(
                "--by counts values of a release by pram; the card is of correlated-noise, leave it out"
            )
        return noise_moments(table, card)
    except SfumatoError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the card does not hold what an estimate needs ({error!r})") from error
