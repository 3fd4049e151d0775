"""The command that turns a file into an anonymous file with its card and, if asked, the steward's report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from sfumato.cli.options import Columns, Flag, Whole, build_schema
from sfumato.cli.progress import steps
from sfumato.errors import ParameterError
from sfumato.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.card import Card
    from sfumato.models import Model
    from sfumato.release import Release
    from sfumato.schema import Schema
    from sfumato.tabular import Anonymizer

STDOUT = Path("-")


@dataclass(frozen=True)
class Outputs:
    """Where the three files go, refused at once if one exists; nothing appears before all are complete."""

    target: Path
    data: Path | None
    card: Path
    report: Path | None

    @classmethod
    def place(cls, staging: Staging, target: Path, card: Path | None, report: Path | None) -> Outputs:
        """Return temporary places for the outputs that were asked for."""
        data = None if target == STDOUT else staging.place(target)
        card_file = staging.place(card or target.with_name(f"{target.name}.card.json"))
        return cls(target, data, card_file, None if report is None else staging.place(report))

    def write(self, release: Release) -> Card:
        """Write data and card; return the card with the data file's name and hash."""
        final = release.card if self.data is None else release.write(self.data, name=self.target.name)
        self.card.write_text(final.to_json(), encoding="utf-8")
        return final


def anonymize(
    table: Annotated[Path, Parameter(name="IN", allow_leading_hyphen=True)],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True, metavar="OUT")],
    quasi: Columns = [],  # noqa: B006  # never changed
    sensitive: Columns = [],  # noqa: B006
    identifier: Columns = [],  # noqa: B006
    k: Whole = None,
    l: float | None = None,
    l_kind: Literal["distinct", "entropy", "recursive"] = "distinct",
    c: float = 2.0,
    t: float | None = None,
    t_distance: Literal["auto", "equal", "ordered", "hierarchical"] = "auto",
    alpha: float | None = None,
    person: str | None = None,
    other: Literal["keep", "drop"] | None = None,
    algorithm: Literal["mondrian"] = "mondrian",
    relaxed: Flag = False,
    schema: Path | None = None,
    ranges: Literal["text", "columns"] = "text",
    keep_order: Flag = False,
    card: Path | None = None,
    report: Path | None = None,
    json: Flag = False,
) -> int:
    """Write an anonymous table, its public card and, if asked, the steward's report.

    Identifiers are dropped, quasi-identifiers generalised, sensitive columns kept. Rows are shuffled.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input.
        output: File to write; its ending chooses the format; - is standard output.
        quasi: Columns an attacker may know, separated by commas.
        sensitive: Confidential columns, which the release keeps.
        identifier: Columns that name a person, which the release drops.
        k: Every class has at least k rows (k persons with --person).
        l: Every class has at least l well-represented values in each sensitive column.
        l_kind: What well-represented means.
        c: The c of recursive (c, l)-diversity.
        t: Every class is within distance t of the whole table in each sensitive column.
        t_distance: How far apart two sensitive values are; auto follows the column's type.
        alpha: No sensitive value has more than this share of a class (needs --k).
        person: Column that tells persons apart when one can have several rows.
        other: What to do with columns that have no role; without it they are refused.
        algorithm: How classes are found.
        relaxed: Let equal values fall on both sides of a cut.
        schema: TOML file with roles, types, bounds, categories and hierarchies.
        ranges: Write numeric ranges as text, or as two columns x_min and x_max.
        keep_order: Leave rows in their order, which the card reports as a risk.
        card: Where the card goes; OUT.card.json unless named.
        report: Where the steward's HTML report goes; do not publish it.
        json: Print the card.
    """
    _refuse_mixed_output(output, card, json=json)
    settled = build_schema(
        file=schema, quasi=quasi, sensitive=sensitive, identifier=identifier, person=person, other=other
    )
    models = _models(settled, k=k, l=l, l_kind=l_kind, c=c, t=t, t_distance=t_distance, alpha=alpha)
    chosen = _anonymizer(algorithm, relaxed=relaxed, ranges=ranges, keep_order=keep_order)
    with Staging() as staging, steps(4 if report else 3) as step:
        outputs = Outputs.place(staging, output, card, report)
        step("reading")
        from sfumato.io import read

        original = read(table)
        step("anonymizing")
        release = chosen.anonymize(original, settled, models)
        step("writing")
        final = outputs.write(release)
        if outputs.report is not None:
            step("reporting")
            from sfumato.report import table_report

            outputs.report.write_text(table_report(original, settled, release), encoding="utf-8")
    if output == STDOUT:
        release.write(STDOUT)
    _tell(final, output, report, json=json)
    return 0


def _refuse_mixed_output(output: Path, card: Path | None, *, json: bool) -> None:
    if output != STDOUT:
        return
    if json:
        raise ParameterError("--json and -o - both write to standard output; give the data a file")
    if card is None:
        raise ParameterError("the data go to standard output; say with --card where the card goes")


def _anonymizer(
    algorithm: Literal["mondrian"], *, relaxed: bool, ranges: Literal["text", "columns"], keep_order: bool
) -> Anonymizer:
    from sfumato.tabular import Mondrian

    return {"mondrian": Mondrian}[algorithm](relaxed=relaxed, ranges=ranges, keep_order=keep_order)


def _models(  # one argument per option
    schema: Schema,
    *,
    k: int | None,
    l: float | None,
    l_kind: Literal["distinct", "entropy", "recursive"],
    c: float,
    t: float | None,
    t_distance: Literal["auto", "equal", "ordered", "hierarchical"],
    alpha: float | None,
) -> Sequence[Model]:
    from sfumato.models import AlphaK, KAnonymity, LDiversity, TCloseness
    from sfumato.roles import Role

    columns = schema.names(Role.SENSITIVE)
    if (l, t, alpha) != (None, None, None) and not columns:
        raise ParameterError("--l, --t and --alpha speak of sensitive columns; name them with --sensitive")
    if alpha is not None and k is None:
        raise ParameterError("--alpha needs --k; give both")
    models: list[Model] = [] if k is None else [KAnonymity(k)]
    for column in columns:
        models += [] if l is None else [LDiversity(l, column, l_kind, c)]
        models += [] if t is None else [TCloseness(t, column, t_distance)]
        models += [] if alpha is None or k is None else [AlphaK(alpha, k, column)]
    if not models:
        raise ParameterError("no model was asked for; give --k, for example --k 10")
    return models


def _tell(card: Card, output: Path, report: Path | None, *, json: bool) -> None:
    if json:
        sys.stdout.write(card.to_json())
        return
    released = card.released
    place = "standard output" if output == STDOUT else str(output)
    lines = [f"{released.rows} rows in {released.classes} classes written to {place}"]
    for model in released.models:
        column = f" of {model.column}" if model.column else ""
        lines.append(f"  {model.model}{column}: asked {model.asked:g}, released table has {model.measured:g}")
    lines += [f"  warning: {warning}" for warning in card.warnings]
    if report is not None:
        lines.append(f"  steward's report (do not publish): {report}")
    stream = sys.stderr if output == STDOUT else sys.stdout
    stream.write("\n".join(lines) + "\n")
