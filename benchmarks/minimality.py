"""Blind Mondrian beside Mondrian on Adult: what it loses more; and how long the minimality attack takes.

`python benchmarks/minimality.py` writes the table of losses into `docs/algorithms/blind-mondrian.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measure import Part, Row, data_folder, once, within

import sfumato as sf
from sfumato.evaluate.utility import utility
from sfumato.models import Model

COLUMNS = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
SENSITIVE = ("age", "occupation", "marital-status")  # the most frequent value has 3, 13 and 46 % of the rows
PAGE = Path(__file__).parent.parent / "docs" / "algorithms" / "blind-mondrian.md"
BLOCK = re.compile(r"(<!-- loss -->\n).*?(<!-- /loss -->\n)", re.DOTALL)


class Loss(NamedTuple):
    """What one algorithm loses: the share of detail, and the classes it finds."""

    share: float
    classes: int


class Case(NamedTuple):
    """A sensitive column and models on it, with what both algorithms lose."""

    column: str
    asked: str
    mondrian: Loss
    blind: Loss

    @property
    def ratio(self) -> float:
        """How many times more blind Mondrian loses."""
        return self.blind.share / self.mondrian.share


def adult(column: str) -> tuple[sf.Table, sf.Schema]:
    """Return Adult's training rows with one sensitive column; the others of the eight are quasi-identifiers."""
    quasi = [name for name in COLUMNS if name != column]
    schema = sf.Schema.from_roles(quasi=quasi, sensitive=[column], other="drop")
    return sf.read(data_folder() / "adult_train.csv.gz"), schema


def asked(column: str) -> Iterator[tuple[str, list[Model]]]:
    """Yield the models: distinct l-diversity for k of 5 and 10, and a share of at most 1/l."""
    for k in (5, 10):
        for l in (2, 3):
            yield f"k = {k}, l = {l}", [sf.KAnonymity(k), sf.LDiversity(l, column)]
    for l in (2, 3):
        yield f"k = 5, α = 1/{l}", [sf.AlphaK(1 / l, 5, column)]


def cases(column: str) -> Iterator[Case]:
    """Yield what both algorithms lose on one column; models that Adult as a whole does not satisfy are left out."""
    table, schema = adult(column)
    for words, models in asked(column):
        try:
            losses = [_loss(one, table, schema, models) for one in (sf.Mondrian(), sf.BlindMondrian())]
        except sf.errors.UnsatisfiableError:
            continue
        yield Case(column, words, *losses)


def _loss(anonymizer: sf.Mondrian | sf.BlindMondrian, table: sf.Table, schema: sf.Schema, models: list[Model]) -> Loss:
    found = utility(table, schema, anonymizer.anonymize(table, schema, models).table)
    return Loss(found.gcp, found.classes)


def markdown() -> str:
    """Return the table of losses."""
    lines = ["| sensitive | asked | Mondrian | classes | blind | classes | ratio |", "|---|---|---|---|---|---|---|"]
    for case in (one for column in SENSITIVE for one in cases(column)):
        sides = [f"{loss.share:.1%} | {loss.classes:,}" for loss in (case.mondrian, case.blind)]
        lines.append(f"| {case.column} | {case.asked} | {' | '.join(sides)} | {case.ratio:.2f} |")
    return "\n".join(lines) + "\n"


def losses() -> list[Row]:
    """Return how many times more blind Mondrian loses on occupations, for each model."""
    return [
        Row(
            f"NCP of blind Mondrian on Adult, {case.asked}, against Mondrian",
            f"{case.blind.share:.2%}",
            f"{case.mondrian.share:.2%}",
            case.ratio,
            15,
            at_most=True,
        )
        for case in cases("occupation")
    ]


def attack() -> list[Row]:
    """Return what the attack on Mondrian takes on Adult."""
    table, schema = adult("occupation")
    models = [sf.KAnonymity(5), sf.LDiversity(2, "occupation")]
    seconds = once(lambda: sf.audit.minimality(table, schema, models))
    return [within("minimality attack on Mondrian, Adult, k = 5, l = 2, 20,000 worlds", seconds, 60)]


PARTS = (
    Part("blind Mondrian beside Mondrian", losses),
    Part("the minimality attack", attack),
)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda marks: f"{marks[1]}{markdown()}{marks[2]}", text), encoding="utf-8")
