"""The commands of the local door: turn a column into reports as devices would, and reports into counts or a mean."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.engine import EngineOptions
from sfumato.cli.options import Flag, Input
from sfumato.cli.outputs import STDOUT, Outputs, refuse_mixed_output
from sfumato.cli.progress import Steps, steps
from sfumato.core.files import Staging
from sfumato.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from sfumato.core.arrays import Codes, Reals
    from sfumato.local import LocalProtocol, MeanProtocol, Reports, Tally
    from sfumato.local.means.tally import MeanTally
    from sfumato.release import Card

Output = Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)]
Protocol = Literal["auto", "rr", "grr", "sue", "oue", "olh", "ss", "subset", "hr", "rappor"]
Bounds = Annotated[tuple[float, float], Parameter(allow_leading_hyphen=True, metavar="LOW HIGH", negative="")]
LINES = {".jsonl", ".ndjson"}


def perturb(
    table: Input,
    /,
    *,
    output: Output,
    column: str,
    epsilon: float,
    domain: Path,
    protocol: Protocol = "auto",
    card: Path | None = None,
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Write a report for every row, drawn as the row's own device would draw it, and a card.

    A row whose value is not in the domain is an error, and nothing is written: leaving it out would be a report too.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input. On Spark, also a folder.
        output: Report file to write: JSON lines if it ends in .jsonl, packed otherwise; .gz after it compresses. On
            Spark, a folder of JSON lines.
        column: The column to report.
        epsilon: What one report may cost.
        domain: Text file with the possible values, one a line; it is public and fixed beforehand.
        protocol: How a value becomes a report; auto takes the lowest predicted variance.
        card: Where the card goes; REPORTS.card.json unless named.
        json: Print the card.
    """
    from sfumato.local.reports.files import open_reports, write_stream
    from sfumato.table import read

    if engine.spark:
        return _perturb_on_spark(table, output, column, _domain(domain), (protocol, epsilon, card, json), engine.master)
    with Staging() as staging, steps(2) as step:
        data, card_file = _places(staging, output, card)
        step("reading")
        values = read(table).column(column)
        chosen = _protocol(protocol, _domain(domain), epsilon, len(values))
        codes = _codes(chosen, values)
        step("reporting")
        form = "lines" if LINES & {suffix.casefold() for suffix in output.suffixes[-2:]} else "packed"
        with open_reports(data) as file:
            written = write_stream(file, chosen, _told(chosen.report_many(codes), len(codes), step), form=form)
        final = _named(chosen.card(written), data, output)
        card_file.write_text(final.to_json(), encoding="utf-8")
    return _said(chosen, final, written, output, json=json)


def estimate(
    *reports: Annotated[Path, Parameter(name="REPORTS", allow_leading_hyphen=True)],
    output: Output,
    raw: Flag = False,
    card: Path | None = None,
    report: Path | None = None,
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Write the estimated count of every value with its variance and 95 % interval, and a card.

    Files of one protocol and one domain add up. A report that does not belong is rejected and counted.

    Args:
        reports: Report files, also .gz; - is standard input. On Spark, also folders of them.
        output: File for value, count, variance, low, high; its ending chooses the format; - is standard output.
        raw: Leave the counts unbiased: some are negative, and they do not add up to the reports.
        card: Where the card goes; OUT.card.json unless named.
        report: Where the steward's HTML report goes.
        json: Print the card.
    """
    if not reports:
        raise InputError("there is no report file; name one or more")
    refuse_mixed_output(output, card, json=json)
    with Staging() as staging, steps(len(reports) + 1) as step:
        outputs = Outputs.place(staging, output, card, report)
        tally = _usable(_tally_on_spark(reports, engine.master) if engine.spark else _tally(reports, step))
        step("estimating")
        found = tally.protocol.estimate(tally, consistent=not raw)
        release = found.release()
        final = outputs.write(release)
        if outputs.report is not None:
            from sfumato.report.chapters.local import local_report

            outputs.report.write_text(local_report(found), encoding="utf-8")
    if output == STDOUT:
        release.write(STDOUT)
    lines = [f"{len(found.values)} counts from {found.users} reports by {found.protocol.name} written to {output}"]
    lines += [f"warning: {warning}" for warning in final.warnings]
    stream = sys.stderr if output == STDOUT else sys.stdout
    stream.write(final.to_json() if json else "\n  ".join(lines) + "\n")
    return 0


def mean(
    table: Input,
    /,
    *,
    column: str,
    bounds: Bounds,
    epsilon: float,
    protocol: Literal["auto", "laplace", "duchi", "piecewise", "hybrid"] = "auto",
    raw: Flag = False,
    card: Path | None = None,
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Estimate the mean of a column from one report of every row, drawn as its own device would draw it.

    A row without a number within the bounds is an error, for the same reason as a value outside a domain.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input. On Spark, also a folder.
        column: The column of numbers.
        bounds: The smallest and the largest possible value, public and fixed beforehand.
        epsilon: What one report may cost.
        protocol: How a number becomes a report; auto takes the lowest worst-case variance.
        raw: Leave the mean unbiased: it can lie outside the bounds.
        card: Where the card goes, if anywhere.
        json: Print the card, which has the mean among its measures.
    """
    from sfumato.local.card import mean_card
    from sfumato.local.protocol_choice import mean_protocol_for

    with Staging() as staging, steps(2) as step:
        place = None if card is None else staging.place(card)
        low, high = bounds
        chosen = mean_protocol_for(protocol, low, high, epsilon)
        step("reading")
        tally = _means_on_spark(table, column, chosen, engine.master) if engine.spark else _means(table, column, chosen)
        step("estimating")
        found = chosen.estimate(tally, consistent=not raw)
        final = mean_card(chosen, tally, found, column=column, consistent=not raw)
        if place is not None:
            place.write_text(final.to_json(), encoding="utf-8")
    words = f"mean of {column}: {found.mean:.6g}, 95 % interval {found.low:.6g} to {found.high:.6g}"
    lines = f"{words}, from {found.users} reports by {chosen.name}, ε={chosen.spent:.6g} each\n"
    sys.stdout.write(final.to_json() if json else lines)
    return 0


def _places(staging: Staging, output: Path, card: Path | None) -> tuple[Path, Path]:
    """Where the reports and the card are written until both are complete."""
    if output == STDOUT:
        raise InputError("reports are binary and go to a file; name one with -o")
    return staging.place(output), staging.place(card or output.with_name(f"{output.name}.card.json"))


def _domain(path: Path) -> tuple[str, ...]:
    """The values in a text file, one a line; an empty or repeated one is refused with its line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")  # values may hold other separators
    except OSError as error:
        raise InputError(f"domain '{path}' cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InputError(f"domain '{path}' is not a text file in UTF-8") from None
    seen: dict[str, int] = {}
    for number, value in enumerate(lines, start=1):
        if not value.strip():
            raise InputError(f"domain '{path}' line {number} is empty; give one value a line")
        if value in seen:
            raise InputError(f"domain '{path}' line {number}: '{value}' is there already, in line {seen[value]}")
        seen[value] = number
    if len(seen) < 2:
        raise InputError(f"domain '{path}' has {len(seen)} values; give at least 2")
    return tuple(seen)


def _protocol(name: str, domain: tuple[str, ...], epsilon: float, users: int) -> LocalProtocol:
    from sfumato.local.protocol_choice import protocol_for

    return protocol_for(name, domain, epsilon, users)


def _codes(protocol: LocalProtocol, values: pl.Series) -> Codes:
    """The place of every row's value in the domain."""
    import polars as pl

    order = {value: place for place, value in enumerate(protocol.domain)}
    codes = values.cast(pl.String).replace_strict(order, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    outside = (codes < 0).nonzero()[0]
    if outside.size:
        found = f"{outside.size} rows have" if outside.size > 1 else "1 row has"
        raise InputError(
            f"column '{values.name}': {found} a value that is not in the domain, the first is row {outside[0] + 1}; "
            "complete the domain or clean the rows"
        )
    return codes


def _told(reports: Iterable[Reports], total: int, step: Steps) -> Iterator[Reports]:
    """The same reports, telling how far they have come."""
    done = 0
    for batch in reports:
        yield batch
        done += len(batch)
        step.share(done / total, f"{done} of {total}")


def _numbers(values: pl.Series) -> Reals:
    import polars as pl

    numbers = values.cast(pl.Float64, strict=False)
    missing = numbers.is_null().to_numpy().nonzero()[0]
    if missing.size:
        found = f"{missing.size} rows have" if missing.size > 1 else "1 row has"
        raise InputError(
            f"column '{values.name}': {found} no number, the first is row {missing[0] + 1}; clean the rows"
        )
    return numbers.to_numpy()


def _means(table: Path, column: str, protocol: MeanProtocol) -> MeanTally:
    """The tally of one fresh report of every row."""
    from sfumato.table import read

    return protocol.aggregate(protocol.report_many(_numbers(read(table).column(column))))


def _tally(paths: tuple[Path, ...], step: Steps) -> Tally | None:
    """The tally of all report files together."""
    from sfumato.local.reports.files import aggregate_file, aggregate_stream

    total: Tally | None = None
    for place, path in enumerate(paths):
        if path.resolve() in {earlier.resolve() for earlier in paths[:place]}:
            raise InputError(f"report file '{path}' is named twice; its reports would count twice")
        step(f"counting {path.name}")
        found = aggregate_stream(sys.stdin.buffer, where="standard input") if path == STDOUT else aggregate_file(path)
        total = found if total is None else total + found
    return total


def _usable(total: Tally | None) -> Tally:
    """The tally, if any report could be used."""
    if total is None or total.users == 0:
        reasons = ", ".join(f"{count} {reason}" for reason, count in (total.rejected if total else {}).items())
        raise InputError(f"no report could be used{f': {reasons}' if reasons else ''}")
    return total


def _named(card: Card, data: Path, output: Path) -> Card:
    """The card with the name and the hash of the file it belongs to."""
    import hashlib

    with data.open("rb") as file:
        return card.for_file(output.name, hashlib.file_digest(file, "sha256").hexdigest())


def _said(protocol: LocalProtocol, card: Card, written: int, output: Path, *, json: bool) -> int:
    """Say what was written, and return the exit code."""
    reason = f"\n  {protocol.reason}" if protocol.reason else ""
    lines = f"{written} reports by {protocol.name} written to {output}, ε={protocol.spent:.6g} each{reason}\n"
    sys.stdout.write(card.to_json() if json else lines)
    return 0


def _on_spark(table: Path, master: str | None) -> Any:
    """The rows of a file or folder, as a Spark frame."""
    from sfumato.engines.spark.folders import read_cells
    from sfumato.engines.spark.session import spark_session

    if table == STDOUT:
        raise InputError("Spark reads files and folders; - is none")
    return read_cells(spark_session(master), table, strict=True)


def _perturb_on_spark(
    table: Path,
    output: Path,
    column: str,
    domain: tuple[str, ...],
    asked: tuple[str, float, Path | None, bool],
    master: str | None,
) -> int:
    """Write a folder of report files and its card, as `perturb` writes a file."""
    import msgspec

    from sfumato.engines.spark.local.reports import count_values, write_perturbed

    name, epsilon, card, json = asked
    with Staging() as staging:
        if output == STDOUT:
            raise InputError("reports on Spark are a folder of files; name one with -o")
        if output.exists():  # before all rows are counted
            raise InputError(f"output '{output}' exists; remove it or choose another name")
        card_file = staging.place(card or output.with_name(f"{output.name}.card.json"))
        rows = _on_spark(table, master)
        written = count_values(rows, column, domain)
        chosen = _protocol(name, domain, epsilon, written)
        write_perturbed(rows, column, chosen, output)
        plain = chosen.card(written)
        final = msgspec.structs.replace(plain, released=msgspec.structs.replace(plain.released, file=output.name))
        card_file.write_text(final.to_json(), encoding="utf-8")
    return _said(chosen, final, written, output, json=json)


def _means_on_spark(table: Path, column: str, protocol: MeanProtocol, master: str | None) -> MeanTally:
    from sfumato.engines.spark.local.reports import tally_numbers

    return tally_numbers(_on_spark(table, master), column, protocol)


def _tally_on_spark(paths: tuple[Path, ...], master: str | None) -> Tally:
    from sfumato.engines.spark.local.tally import tally_files
    from sfumato.engines.spark.session import spark_session

    if STDOUT in paths:
        raise InputError("Spark reads files and folders; - is none")
    return tally_files(spark_session(master), paths)
