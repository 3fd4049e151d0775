"""Pictures of the query door: answers with their intervals, and the truth beside them where it is known.

Written as SVG without a drawing library, so that `Answer.plot` needs none. Groups are sorted and all are named, or the
picture says how many are not there.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.dp.answer import Answer
from sfumato.dp.stored_answer import AnswerColumn
from sfumato.report.charts.answer_groups import MOST_COLUMNS, Mark, in_columns, largest, marks_of
from sfumato.report.charts.answer_panels import (
    MARGIN,
    SOFT,
    WIDTH,
    Panel,
    columns_panel,
    rows_panel,
    write_title,
)
from sfumato.report.charts.axis import are_times
from sfumato.report.charts.svg import standalone
from sfumato.report.page.markup import Markup, element, join
from sfumato.report.page.words import count

MOST_DOTS = 60  # groups in the table beside a picture
MOST_PANELS = 12
LINE = 16


def answer_picture(answer: Answer) -> str:
    """Return an SVG file with every aggregate's values and intervals.

    >>> from sfumato.dp.stored_answer import StoredAnswer
    >>> from sfumato.promise.cost import Cost
    >>> column = AnswerColumn(name="n", mechanism="Laplace", values=[3, 9], low=[1, 7], high=[5, 11], scale=[1.0])
    >>> cells = [["F"], ["M"]]
    >>> stored = StoredAnswer(question="count(*)", keys=["sex"], cells=cells, columns=[column], epsilon="1")
    >>> answer_picture(Answer(stored, Cost("1"), Cost("0"))).startswith("<svg")
    True
    """
    shown = answer.stored.columns[:MOST_PANELS]
    panels = [_stack([_title(answer, column), _body(answer, column, None)]) for column in shown]
    more = len(answer.stored.columns) - len(shown)
    if more:
        panels.append(_sentences([f"{more} more aggregates are not shown"]))
    label = f"Values with 95 % intervals: {', '.join(column.name for column in shown)}."
    return standalone(_svg(panels, label))


def dots(answer: Answer, column: AnswerColumn, truth: Sequence[float] | None = None) -> Markup:
    """Return one aggregate's values with their intervals, and rings where the truth lies if it is given.

    >>> from sfumato.dp.stored_answer import StoredAnswer
    >>> from sfumato.promise.cost import Cost
    >>> column = AnswerColumn(name="n", mechanism="Laplace", values=[3], low=[1], high=[5], scale=[1.0])
    >>> stored = StoredAnswer(question="count(*)", keys=[], cells=[[]], columns=[column], epsilon="1")
    >>> "rings: the truth" in dots(Answer(stored, Cost("1"), Cost("0")), column, [4])
    True
    """
    beside = "" if truth is None else "; rings: the truth"
    groups = count(len(answer.stored.cells))
    label = f"Values with 95 % intervals{beside}: {column.name} in {groups} groups."
    return _svg([_body(answer, column, truth)], label)


def _title(answer: Answer, column: AnswerColumn) -> Panel:
    by = f" by {', '.join(answer.stored.keys)}" if answer.stored.keys else ""
    return Panel(write_title(column.name + by), 28)


def _body(answer: Answer, column: AnswerColumn, truth: Sequence[float] | None) -> Panel:
    """Return one aggregate drawn, and below it what the picture does not show."""
    marks = marks_of(answer.stored, column, truth)
    if not marks:
        return _sentences(["no group is there to show"])
    drawn, hidden = _drawn(answer, column, marks)
    said = [hidden] if hidden else []
    if column.rank_error is not None:
        said.append(f"no interval: within ±{column.rank_error:,.0f} rows of its rank (95 %)")
    return _stack([drawn, _sentences(said)])


def _drawn(answer: Answer, column: AnswerColumn, marks: Sequence[Mark]) -> tuple[Panel, str]:
    """Return the groups drawn, and which of them are not."""
    times = are_times(column.values)
    if in_columns(answer.stored, marks):
        rest = len(marks) - MOST_COLUMNS
        told = f"the first {MOST_COLUMNS} of {len(marks):,} groups; {rest:,} are not shown" if rest > 0 else ""
        return columns_panel(marks, times=times), told
    shown = largest(marks)
    rest = len(marks) - len(shown)
    told = f"the {len(shown)} largest of {len(marks):,} groups; {rest:,} are not shown" if rest else ""
    return rows_panel(shown, times=times), told


def _sentences(lines: Sequence[str]) -> Panel:
    texts = [
        element("text", line, x=str(MARGIN), y=str(LINE * place + 12), style=SOFT) for place, line in enumerate(lines)
    ]
    return Panel(join(texts), LINE * len(lines) + (6.0 if lines else 0.0))


def _stack(panels: Sequence[Panel]) -> Panel:
    shapes, y = [], 0.0
    for panel in panels:
        shapes.append(element("g", panel.shapes, transform=f"translate(0 {y:g})"))
        y += panel.height
    return Panel(join(shapes), y)


def _svg(panels: Sequence[Panel], label: str) -> Markup:
    whole = _stack(panels)
    view = f"0 0 {WIDTH} {whole.height + 4:g}"
    return element("svg", element("title", label), whole.shapes, viewBox=view, role="img", aria_label=label)
