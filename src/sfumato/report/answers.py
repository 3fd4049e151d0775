"""Answers of the query door as pictures and as a chapter: values with their intervals, and the budget as a bar.

Intervals are drawn as lines and values as dots, so that the uncertainty is what the eye sees first (Cleveland 1994).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.dp.answer import Answer, Column
from sfumato.dp.compiled import short_words
from sfumato.dp.ledger import Ledger
from sfumato.report.charts import short_label
from sfumato.report.markup import Markup, element, figure, folded, grid, joined
from sfumato.report.page import Chapter, Section
from sfumato.report.svg import AFTER, BAR, INK, drawn, standalone
from sfumato.report.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DOTS = 60
MOST_NAMED = 24


def answer_picture(answer: Answer) -> str:
    """Return an SVG file with the first aggregate's values and intervals.

    >>> from sfumato.dp.answer import Stored
    >>> from sfumato.dp.amount import Cost
    >>> column = Column(name="n", mechanism="Laplace", values=[3, 9], low=[1, 7], high=[5, 11], scale=[1.0])
    >>> stored = Stored(question="count(*) by sex", keys=["sex"], cells=[["F"], ["M"]], columns=[column], epsilon="1")
    >>> answer_picture(Answer(stored, Cost("1"), Cost("0"))).startswith("<svg")
    True
    """
    return standalone(_dots(answer, answer.stored.columns[0]))


def _dots(answer: Answer, column: Column) -> Markup:
    names = [", ".join(str(cell) for cell in cells) or column.name for cells in answer.stored.cells]
    shown = [place for place, value in enumerate(column.values) if isinstance(value, int | float)][:MOST_DOTS]
    values: list[Any] = [column.values[place] for place in shown]
    ends: list[tuple[Any, Any]] = [(column.low[place], column.high[place]) for place in shown]

    def paint(axes: Axes) -> None:
        for place, (low, high) in enumerate(ends):
            if low is not None and high is not None:
                axes.plot([place, place], [low, high], color=BAR, linewidth=2.5, solid_capstyle="round")
        axes.plot(range(len(values)), values, "o", color=AFTER, markersize=4.5)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.grid(axis="y")
        axes.set_ylabel(short_label(column.name))
        every = max(1, -(-len(shown) // MOST_NAMED))
        places = range(0, len(shown), every)
        labels = [short_label(names[shown[place]]) for place in places]
        turned = max((len(label) for label in labels), default=0) > 3
        axes.set_xticks(places, labels, rotation=90 if turned else 0, fontsize=8.5)
        axes.set_xlabel(", ".join(short_label(key) for key in answer.stored.keys))

    label = f"Dots with 95 % intervals: {column.name} in {count(len(shown))} groups."
    return drawn(f"answer {answer.stored.question} {column.name}", 230, label, paint)


def answers_chapter(heading: str, answers: Sequence[Answer], ledger: Ledger) -> Chapter:
    """Return a chapter with what was asked and answered, and the ledger behind it."""
    lead = (
        "An analyst asked questions; every answer has exact noise, and its price was debited before the noise was "
        "drawn. Lines are 95 % intervals of the noise."
    )
    sections = [_answered(answer) for answer in answers]
    return Chapter(heading, element("p", lead, class_="lead"), [*sections, _budget(ledger)])


def _answered(answer: Answer) -> Section:
    stored = answer.stored
    parts: list[Markup] = []
    if len(stored.cells) > 1:
        pictures = [figure(column.name, _dots(answer, column), _numbers(answer, column)) for column in stored.columns]
        parts.append(element("div", *pictures, class_="pictures"))
    else:
        rows = [
            [column.name, _number(column.values[0]), f"{_number(column.low[0])} to {_number(column.high[0])}"]
            for column in stored.columns
        ]
        parts.append(grid("Answer", ["Question", "Answer", "95 % interval"], rows))
    price = f"Price: {answer.spent}. Protects one {stored.unit}, neighbours by {stored.neighbours}."
    return Section(stored.question, joined([element("p", price), *parts]))


def _numbers(answer: Answer, column: Column) -> Markup:
    rows = [
        [", ".join(str(cell) for cell in cells), _number(value), f"{_number(low)} to {_number(high)}"]
        for cells, value, low, high in zip(answer.stored.cells, column.values, column.low, column.high, strict=True)
    ]
    return folded(
        "Numbers", grid(column.name, ["Group", "Answer", "95 % interval"], rows[:MOST_DOTS]), class_="numbers"
    )


def _budget(ledger: Ledger) -> Section:
    rows = [
        [str(entry.number), entry.analyst, short_words(entry.question), str(entry.cost)] for entry in ledger.entries()
    ]
    words = f"Budget {ledger.budget.total}; spent {ledger.spent}; left {ledger.left}."
    table = grid("Ledger", ["Entry", "Analyst", "Question", "Price"], rows)
    return Section("The budget", joined([element("p", words), table]))


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else ("–" if value is None else str(value))
