"""Files of an answer: places for its rows, card and picture are taken before anything is paid.

A price would be paid for nothing where the answer finds no place (`sfumato.core.files` writes all of them or none).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.core.files import Staging, fill
from sfumato.dp.answer import Answer
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.table.formats.formulas import Formulas


@dataclass(frozen=True)
class AnswerFiles:
    """Places for an answer's rows and card, and for its picture: taken before anything is paid.

    A file that is in the way is refused when its place is taken; files appear when the staging ends, all or none.
    """

    name: str
    data: Path | None
    card: CardFiles | None
    picture: Path | None

    @classmethod
    def place(cls, staging: Staging, output: Path | None, picture: Path | None = None) -> AnswerFiles:
        """Return temporary places for what is wanted; the card goes beside the rows, as `OUT.card.json`."""
        rows = card = None
        if output is not None:
            rows = staging.place(output)
            card = CardFiles.place(staging, output.with_name(f"{output.name}.card.json"))
        drawn = None if picture is None else staging.place(picture)
        return cls("" if output is None else output.name, rows, card, drawn)

    def write(
        self,
        answer: Answer,
        draw: Callable[[Answer], str],
        naming: Naming = UNNAMED,
        formulas: Formulas = "neutralise",
    ) -> None:
        """Write what is wanted of an answer; `draw` makes its picture."""
        if self.data is not None and self.card is not None:
            release = replace(answer.release(), formulas=formulas)
            self.card.write(naming.name(release.write(self.data, name=self.name)))
        if self.picture is not None:
            fill(self.picture, draw(answer))
