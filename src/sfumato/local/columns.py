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

from sfumato.core.arrays import Codes, Reals
from sfumato.core.files import Staging
from sfumato.core.progress import tell
from sfumato.errors import InputError
from sfumato.local.base import LocalProtocol
from sfumato.local.card import mean_card
from sfumato.local.domain import Value
from sfumato.local.means.base import MeanProtocol
from sfumato.local.means.tally import MeanEstimate, MeanTally
from sfumato.local.protocol_choice import AUTO, mean_protocol_for, protocol_for
from sfumato.local.reports.files import open_reports, write_stream
from sfumato.local.reports.report import Reports
from sfumato.release.card import Card
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.schema import Attribute, Kind, Reading, Role
from sfumato.table import Table, read

if TYPE_CHECKING:
    import polars as pl

    from sfumato.local.charge import CollectionCharge

LINES = {".jsonl", ".ndjson"}


@dataclass(frozen=True)
class PerturbedColumn:
    """What was written: the protocol with the reason why it was chosen, and the card of the reports."""

    protocol: LocalProtocol
    card: Card


@dataclass(frozen=True)
class ColumnMean:
    """A mean from local reports: the protocol, the estimate with its interval, and its card."""

    protocol: MeanProtocol
    estimate: MeanEstimate
    card: Card


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
) -> PerturbedColumn:
    """Write a report for every row of a table or a file, and a card with its statement; all or nothing.

    JSON lines if the name ends in .jsonl or .ndjson, packed otherwise; .gz after it compresses. A row whose value is
    not in the domain is an error: leaving it out would be a report too. `force` replaces files that exist, except
    those in `keep`.

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
        values = (table if isinstance(table, Table) else read(table)).column(column)
        chosen = protocol_for(protocol, domain, epsilon, len(values))
        codes = encode_column(chosen, values)
        form = "lines" if LINES & {suffix.casefold() for suffix in target.suffixes[-2:]} else "packed"
        with open_reports(data) as file:
            written = write_stream(file, chosen, _with_progress(chosen.report_many(codes), len(codes)), form=form)
        final = naming.name(_card_for_file(chosen.card(written), data, target.name))
        card_files.write(final)
    return PerturbedColumn(chosen, final)


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
) -> ColumnMean:
    """Return the mean of a column of a table or a file, from one fresh report of every row, with its card.

    A row without a number within the bounds is an error. `reading` says how a file is written. With a `charge` the
    reports are paid for before they are drawn, and the same question about the same file has the same answer.

    >>> import polars as pl
    >>> ages = Table.from_frame(pl.DataFrame({"age": [31, 47, 60, 18]}))
    >>> found = estimate_mean(ages, column="age", bounds=(16, 94), epsilon=2)
    >>> found.protocol.name, found.estimate.users, 16 <= found.card.released.measures["mean"] <= 94
    ('hybrid', 4, True)
    """
    chosen = mean_protocol_for(protocol, *bounds, epsilon)
    if charge is None:
        held = table if isinstance(table, Table) else read(table, reading=reading)
        tally = chosen.aggregate(chosen.report_many(column_numbers(held.column(column), reading)))
        return mean_of_tally(chosen, tally, column, consistent=consistent)
    from sfumato.local.charge import paid_mean_tally

    made = mean_of_tally(chosen, paid_mean_tally(charge, chosen, table, column, reading), column, consistent=consistent)
    return replace(made, card=charge.on_card(made.card))


def mean_of_tally(protocol: MeanProtocol, tally: MeanTally, column: str, *, consistent: bool) -> ColumnMean:
    """Return the mean of the reports in a tally, with its card; `consistent` keeps it within the bounds.

    >>> from sfumato.local import Duchi
    >>> protocol = Duchi(0, 10, 1)
    >>> mean_of_tally(protocol, protocol.aggregate([1, -1, 1]), "age", consistent=True).card.algorithm
    'duchi'
    """
    estimate = protocol.estimate(tally, consistent=consistent)
    return ColumnMean(protocol, estimate, mean_card(protocol, tally, estimate, column=column, consistent=consistent))


def encode_column(protocol: LocalProtocol, values: pl.Series) -> Codes:
    """Return the place of every row's value in the domain, compared as text; rows outside it are refused and counted.

    >>> import polars as pl
    >>> from sfumato.local import WarnerResponse
    >>> protocol = WarnerResponse(["no", "yes"], 1)
    >>> encode_column(protocol, pl.Series("vote", ["yes", "no"])).tolist()
    [1, 0]
    >>> encode_column(protocol, pl.Series("vote", ["yes", "maybe"]))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'vote': 1 row has a value that is not in the domain, the first is row 2; \
complete the domain or clean the rows
    """
    import polars as pl

    order = {str(value): place for place, value in enumerate(protocol.domain)}
    if len(order) < len(protocol.domain):
        raise InputError("two values of the domain are the same text, such as 1 and '1'; give each its own")
    codes = values.cast(pl.String).replace_strict(order, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    outside = (codes < 0).nonzero()[0]
    if outside.size:
        empty = values.null_count()
        missing = f" ({empty} of them no value at all)" if empty else ""
        raise InputError(
            f"column '{values.name}': {rows_have(outside.size)} a value that is not in the domain{missing}, the first "
            f"is row {outside[0] + 1}; complete the domain or clean the rows"
        )
    return codes


def column_numbers(values: pl.Series, reading: Reading | None = None) -> Reals:
    """Return a column's numbers; rows without one are refused and counted.

    >>> import polars as pl
    >>> column_numbers(pl.Series("age", ["31", "47"])).tolist()
    [31.0, 47.0]
    """
    from sfumato.schema.file_defaults import with_file_defaults
    from sfumato.schema.values import parse_cells

    declared = Attribute(values.name, Role.OTHER, Kind.NUMBER)
    numbers = parse_cells(values, declared if reading is None else with_file_defaults(declared, reading)).values
    missing = numbers.is_null().to_numpy().nonzero()[0]
    if missing.size:
        raise InputError(
            f"column '{values.name}': {rows_have(missing.size)} no number, the first is row {missing[0] + 1}; "
            "clean the rows"
        )
    return numbers.to_numpy()


def rows_have(number: int) -> str:
    """Return the opening words of a sentence about so many rows.

    >>> rows_have(1), rows_have(3)
    ('1 row has', '3 rows have')
    """
    return f"{number} rows have" if number > 1 else "1 row has"


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
