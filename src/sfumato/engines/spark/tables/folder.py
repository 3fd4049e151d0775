"""A folder made anonymous on Spark: rows, card and report, complete together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.core.files import Staging, fill
from sfumato.engines.spark.folders import read_folder
from sfumato.engines.spark.session import spark_session
from sfumato.engines.spark.tables import anonymize, without_rows
from sfumato.engines.spark.tables.attacks import attack_release
from sfumato.engines.spark.tables.measure import spark_report
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.release import Card, Finding
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.report.charts.svg import refuse_without_matplotlib
from sfumato.schema import Schema
from sfumato.table import ParseReport
from sfumato.tabular.base import Anonymizer

STDIO = Path("-")
Step = Callable[[str], None]


@dataclass(frozen=True)
class FolderRelease:
    """What was written: the card, with the folder's name and hash, and what only the steward may know."""

    card: Card
    steward: Mapping[str, float]
    notes: Sequence[str] = ()
    intake: ParseReport | None = None
    findings: Sequence[Finding] = ()  # of attacks on the release


def anonymize_folder(  # noqa: PLR0913  # where each file goes
    source: Path,
    output: Path,
    algorithm: Anonymizer,
    schema: Schema,
    models: Sequence[Model],
    *,
    card: Path | None = None,
    report: Path | None = None,
    master: str | None = None,
    naming: Naming = UNNAMED,
    step: Step = lambda _: None,
) -> FolderRelease:
    """Write the release of a folder (or file) as a folder, with its card and, if named, the steward's report.

    `step` is told what is being done.

    >>> import sfumato as sf
    >>> anonymize_folder(Path("-"), Path("out"), sf.Mondrian(), Schema(), [])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: Spark reads and writes folders; name one instead of -
    """
    without_rows(algorithm)
    if STDIO in {source, output}:
        raise ParameterError("Spark reads and writes folders; name one instead of -")
    with Staging() as staging:
        rows = staging.place_folder(output)
        card_files = CardFiles.place(staging, card or output.with_name(f"{output.name}.card.json"))
        report_file = _report_place(staging, report)
        step("starting Spark")
        session = spark_session(master)
        step("reading")
        frame = read_folder(session, source)
        step("anonymizing")
        release = anonymize(frame, algorithm, schema, models)
        step("writing")
        final = naming.name(release.write(rows, output.name))
        card_files.write(final)
        step("attacking")
        written = read_folder(session, rows)
        found = attack_release(frame, written, schema, final)
        if report_file is not None:
            step("reporting")
            page = spark_report(frame, schema, replace(release, card=final), released=written, findings=found)
            fill(report_file, page)
    return FolderRelease(final, release.steward, intake=release.intake, findings=found)


def _report_place(staging: Staging, report: Path | None) -> Path | None:
    """Return a place for the report, if one is wanted; refused now rather than after hours of work."""
    if report is None:
        return None
    refuse_without_matplotlib()
    return staging.place(report, secret=True)
