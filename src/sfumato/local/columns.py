"""A table's column as its rows' own devices would report it: a file of reports with its card, or a mean with its card.

Every row is perturbed by itself from the secure source. This is how a steward who has the values tries the local door
out, and how values that were collected before leave as reports (Warner 1965 asked people one by one).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.files import Staging
from sfumato.core.progress import tell
from sfumato.errors import InputError
from sfumato.local.base import LocalProtocol
from sfumato.local.card import for_silent_rows, mean_card
from sfumato.local.domain import Value
from sfumato.local.intake import SilentRows, reported_codes, reported_numbers
from sfumato.local.means.base import MeanProtocol
from sfumato.local.means.tally import MeanEstimate, MeanTally
from sfumato.local.protocol_choice import AUTO, mean_protocol_for, protocol_for
from sfumato.local.reports.files import open_reports, write_stream
from sfumato.local.reports.report import Reports
from sfumato.release.card import Card
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.schema import Reading
from sfumato.table import Table, read

if TYPE_CHECKING:
    from sfumato.local.charge import CollectionCharge

LINES = {".jsonl", ".ndjson"}


@dataclass(frozen=True)
class PerturbedColumn:
    """What was written: the protocol with the reason why it was chosen, the card of the reports, and who is silent.

    `others` are the rows that have no report; they are for the steward alone.
    """

    protocol: LocalProtocol
    card: Card
    others: SilentRows


@dataclass(frozen=True)
class ColumnMean:
    """A mean from local reports: the protocol, the estimate with its interval, its card, and who is silent.

    `others` are the rows that have no report; they are for the steward alone.
    """

    protocol: MeanProtocol
    estimate: MeanEstimate
    card: Card
    others: SilentRows


def write_perturbed(  # noqa: PLR0913  # what is reported, how, and where each file goes
    table: Table | str | Path,
    output: str | Path,
    *,
    column: str,
    domain: Sequence[Value],
    epsilon: float,
    protocol: str = AUTO,
    card: str | Path | None = None,
    force: bool = False,
    keep: Sequence[str | Path] = (),
    naming: Naming = UNNAMED,
    reading: Reading | None = None,
    max_failed: float | None = None,
) -> PerturbedColumn:
    """Write a report for every row of a table or a file, and a card with its statement; all or nothing.

    JSON lines if the name ends in .jsonl or .ndjson, packed otherwise; .gz after it compresses. A row whose value is
    missing or not in the domain has no report; more than `max_failed` of the rows, 1 % unless said, are refused.
    `reading` says how a file is written. `force` replaces files that exist, except those in `keep`.

    >>> import tempfile
    >>> import polars as pl
    >>> folder = Path(tempfile.mkdtemp())
    >>> answers = Table.from_frame(pl.DataFrame({"vote": ["yes", "no", "no"]}))
    >>> made = write_perturbed(answers, folder / "votes.bin", column="vote", domain=["no", "yes"], epsilon=1)
    >>> made.protocol.name, made.card.released.rows, sorted(file.name for file in folder.iterdir())
    ('rr', 3, ['votes.bin', 'votes.bin.card.json', 'votes.bin.statement.html', 'votes.bin.statement.txt'])
    """
    target = Path(output)
    if str(output) == "-":
        raise InputError("reports are binary and go to a file; name one with -o")
    with Staging(force=force, inputs=keep) as staging:
        data = staging.place(target)
        card_files = CardFiles.place(staging, card or target.with_name(f"{target.name}.card.json"))
        tell(0.0, "reading")
        values = (table if isinstance(table, Table) else read(table, reading=reading)).column(column)
        chosen = protocol_for(protocol, domain, epsilon, len(values))
        codes, others = reported_codes(chosen, values, reading, max_failed)
        if others.silent.cells:  # the number of reports is public, that of rows is not
            chosen = protocol_for(protocol, domain, epsilon, len(codes))
        form = "lines" if LINES & {suffix.casefold() for suffix in target.suffixes[-2:]} else "packed"
        with open_reports(data) as file:
            written = write_stream(file, chosen, _with_progress(chosen.report_many(codes), len(codes)), form=form)
        final = naming.name(_card_for_file(for_silent_rows(chosen.card(written)), data, target.name))
        card_files.write(final)
    return PerturbedColumn(chosen, final, others)


def estimate_mean(  # noqa: PLR0913 - all that is declared about a mean
    table: Table | str | Path,
    *,
    column: str,
    bounds: tuple[float, float],
    epsilon: float,
    protocol: str = AUTO,
    consistent: bool = True,
    charge: CollectionCharge | None = None,
    reading: Reading | None = None,
    max_failed: float | None = None,
) -> ColumnMean:
    """Return the mean of a column of a table or a file, from one fresh report of every row, with its card.

    A row without a number within the bounds has no report; more than `max_failed` of the rows, 1 % unless said, are
    refused. `reading` says how a file is written. With a `charge` the reports are paid for before they are drawn, and
    the same question about the same file has the same answer.

    >>> import polars as pl
    >>> ages = Table.from_frame(pl.DataFrame({"age": [31, 47, 60, 18]}))
    >>> found = estimate_mean(ages, column="age", bounds=(16, 94), epsilon=2)
    >>> found.protocol.name, found.estimate.users, 16 <= found.card.released.measures["mean"] <= 94
    ('hybrid', 4, True)
    """
    chosen = mean_protocol_for(protocol, *bounds, epsilon)
    if charge is None:
        held = table if isinstance(table, Table) else read(table, reading=reading)
        numbers, others = reported_numbers(chosen, held.column(column), reading, max_failed)
        tally = chosen.aggregate(chosen.report_many(numbers))
        return mean_of_tally(chosen, tally, column, others, consistent=consistent)
    from sfumato.local.charge import paid_mean_tally

    paid = paid_mean_tally(charge, chosen, table, column, reading, max_failed)
    made = mean_of_tally(chosen, paid.tally, column, paid.others, consistent=consistent)
    return replace(made, card=charge.on_card(made.card))


def mean_of_tally(
    protocol: MeanProtocol, tally: MeanTally, column: str, others: SilentRows, *, consistent: bool
) -> ColumnMean:
    """Return the mean of the reports in a tally, with its card; `consistent` keeps it within the bounds.

    >>> import polars as pl
    >>> from sfumato.local import Duchi
    >>> protocol = Duchi(0, 10, 1)
    >>> others = reported_numbers(protocol, pl.Series("age", [1, 2, 3])).others
    >>> mean_of_tally(protocol, protocol.aggregate([1, -1, 1]), "age", others, consistent=True).card.algorithm
    'duchi'
    """
    estimate = protocol.estimate(tally, consistent=consistent)
    card = for_silent_rows(mean_card(protocol, tally, estimate, column=column, consistent=consistent))
    return ColumnMean(protocol, estimate, card, others)


def _with_progress(reports: Iterable[Reports], total: int) -> Iterator[Reports]:
    """The same reports; whoever listens hears how far they have come."""
    done = 0
    for batch in reports:
        yield batch
        done += len(batch)
        tell(done / total, f"{done} of {total}")


def _card_for_file(card: Card, data: Path, name: str) -> Card:
    """The card with the name and the hash of the file it belongs to."""
    with data.open("rb") as file:
        return card.for_file(name, hashlib.file_digest(file, "sha256").hexdigest())
