"""Where a command's files go: placed at once, complete together or not at all, and what is said about them."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sfumato.cli.terminal import single_line
from sfumato.core.files import Staging
from sfumato.errors import ParameterError
from sfumato.release.row_counts import WITHHELD, RowCounts

if TYPE_CHECKING:
    from sfumato.release import Card, Naming, Release
    from sfumato.release.statement import CardFiles
    from sfumato.tabular.explanation import Explanation

STDOUT = Path("-")


class ReleasedTable(Protocol):
    """What a command has to say about a release beside its card: numbers and sentences for the steward alone."""

    @property
    def steward(self) -> Mapping[str, float]: ...
    @property
    def notes(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class Outputs:
    """Where the three files go, refused at once if one exists; nothing appears before all are complete."""

    target: Path
    data: Path | None
    card: CardFiles
    report: Path | None
    staging: Staging
    naming: Naming

    @classmethod
    def place(
        cls, staging: Staging, target: Path, card: Path | None, report: Path | None, naming: Naming | None = None
    ) -> Outputs:
        """Return temporary places for the outputs that were asked for."""
        from sfumato.release.naming import Naming
        from sfumato.release.statement import CardFiles
        from sfumato.table.formats import find_format

        if target != STDOUT:
            find_format(target)  # an unknown ending is refused before the work
        data = None if target == STDOUT else staging.place(target)
        card_files = CardFiles.place(staging, card or target.with_name(f"{target.name}.card.json"))
        place = None if report is None else staging.place(report, secret=True)
        return cls(target, data, card_files, place, staging, naming or Naming())

    def write(self, release: Release) -> Card:
        """Write data, card and statement; return the card with its names and the data file's name and hash."""
        if self.data is None and release.companions:
            raise ParameterError("this algorithm releases several tables; give the data a file, not standard output")
        if self.data is None:
            final = release.printed_card
        else:
            final = release.stage_companions(self.staging, self.target, release.write(self.data, name=self.target.name))
        final = self.naming.name(final)
        self.card.write(final)
        return final


def refuse_mixed_output(output: Path, card: Path | None, *, json: bool) -> None:
    """Refuse two things on standard output, and data on it without a place for the card."""
    if not output.name:
        raise ParameterError(f"the output '{output}' is no file; name one with -o")
    if output != STDOUT:
        return
    if json:
        raise ParameterError("--json and -o - both write to standard output; give the data a file")
    if card is None:
        raise ParameterError("the data go to standard output; say with --card where the card goes")


def say_what_left(
    release: ReleasedTable,
    output: Path,
    report: Path | None,
    *,
    json: bool,
    card: Card,
    read: int | None = None,
    further: Mapping[str, object] | None = None,
) -> None:
    """Print the card, or a few lines about the release for a person; `read` is how many rows came in.

    `further` is printed beside the card too, where that is printed as JSON.

    What was measured against the original is printed beside the card and is not part of it. Of a differentially
    private release it goes to standard error, since standard output may be public.
    """
    stream = sys.stderr if output == STDOUT else sys.stdout
    measured = {name: round(value, 6) for name, value in release.steward.items() if value}
    if card.private:
        sys.stderr.writelines(f"{single_line(line)}\n" for line in _steward_lines(measured, release.notes))
        measured = {}
    if json:
        stream.write(
            json_text.dumps({**json_text.loads(card.to_json()), **measured, **(further or {})}, indent=2) + "\n"
        )
        return
    place = "standard output" if output == STDOUT else str(output)
    lines = [f"{card.released.rows} rows in {card.released.classes} classes written to {place}"]
    for model in card.released.models:
        column = f" of {model.column}" if model.column else ""
        lines.append(f"  {model.model}{column}: asked {model.asked:g}, released table has {model.measured:g}")
    if not card.private:
        counts = RowCounts.of(card, release.steward, read).words
        others = {name: value for name, value in measured.items() if name != WITHHELD}
        lines += [f"  rows (for the steward): {counts}", *_steward_lines(others, release.notes)]
    lines += [f"  changed: {change}" for change in card.changes]
    lines += [f"  warning: {warning}" for warning in card.warnings]
    if report is not None:
        lines.append(f"  steward's report (do not publish): {report}")
    stream.write("\n".join(map(single_line, lines)) + "\n")


def say_explained(explained: Explanation, *, json: bool) -> dict[str, object]:
    """Print what a release was chosen among, or return it for the JSON that a command prints: for the steward."""
    if json:
        return {"solutions": dict(explained.facts)}
    sys.stderr.write(f"sfumato: {single_line(explained.words)} (for the steward)\n")
    sys.stderr.writelines(f"{single_line(line)}\n" for line in explained.lines)
    return {}


def _steward_lines(measured: Mapping[str, float], notes: Sequence[str]) -> list[str]:
    """Return what only the steward may know, a line each."""
    lines = []
    for name, value in measured.items():
        unit = " %" if name == "information_loss" else ""
        lines.append(f"  {name.replace('_', ' ')} (for the steward): {value:g}{unit}")
    return [*lines, *(f"  {note} (for the steward)" for note in notes)]
