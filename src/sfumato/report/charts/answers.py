"""Pictures of the query door: answers with their intervals, the truth beside them, and the budget as a staircase.

Intervals are drawn as lines and values as dots, so that the uncertainty is what the eye sees first (Cleveland 1994).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.dp.answer import Answer, AnswerColumn
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.questions.compiled import short_words
from sfumato.promise.cost import Cost
from sfumato.report.charts import BAR_HEIGHT, short_label
from sfumato.report.charts.svg import AFTER, BAR, BEFORE, BEFORE_FILL, INK, draw, standalone
from sfumato.report.page.markup import Markup
from sfumato.report.page.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DOTS = 60
MOST_NAMED = 24
MOST_STEPS = 12


def answer_picture(answer: Answer) -> str:
    """Return an SVG file with the first aggregate's values and intervals.

    >>> from sfumato.dp.answer import StoredAnswer
    >>> column = AnswerColumn(name="n", mechanism="Laplace", values=[3, 9], low=[1, 7], high=[5, 11], scale=[1.0])
    >>> cells = [["F"], ["M"]]
    >>> stored = StoredAnswer(question="count(*)", keys=["sex"], cells=cells, columns=[column], epsilon="1")
    >>> answer_picture(Answer(stored, Cost("1"), Cost("0"))).startswith("<svg")
    True
    """
    return standalone(dots(answer, answer.stored.columns[0]))


def dots(answer: Answer, column: AnswerColumn, truth: Sequence[float] | None = None) -> Markup:
    """Return one aggregate's values with their intervals, and rings where the truth lies if it is given.

    >>> from sfumato.dp.answer import StoredAnswer
    >>> column = AnswerColumn(name="n", mechanism="Laplace", values=[3], low=[1], high=[5], scale=[1.0])
    >>> stored = StoredAnswer(question="count(*)", keys=[], cells=[[]], columns=[column], epsilon="1")
    >>> "rings: the truth" in dots(Answer(stored, Cost("1"), Cost("0")), column, [4])
    True
    """
    names = [", ".join(str(cell) for cell in cells) or column.name for cells in answer.stored.cells]
    shown = [place for place, value in enumerate(column.values) if isinstance(value, int | float)][:MOST_DOTS]
    values: list[Any] = [column.values[place] for place in shown]
    ends: list[tuple[Any, Any]] = [(column.low[place], column.high[place]) for place in shown]

    def paint(axes: Axes) -> None:
        for place, (low, high) in enumerate(ends):
            if low is not None and high is not None:
                axes.plot([place, place], [low, high], color=BAR, linewidth=2.5, solid_capstyle="round")
        axes.plot(range(len(values)), values, "D", color=AFTER, markersize=5)
        if truth is not None:
            true = [truth[place] for place in shown]
            axes.plot(range(len(true)), true, "o", markersize=9, mfc="none", mec=BEFORE, mew=1.6)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.grid(axis="y")
        axes.set_ylabel(short_label(column.name))
        _name_groups(axes, [names[place] for place in shown])
        axes.set_xlabel(", ".join(short_label(key) for key in answer.stored.keys))

    beside = "" if truth is None else "; rings: the truth"
    label = f"Diamonds with 95 % intervals{beside}: {column.name} in {count(len(shown))} groups."
    return draw(f"answer {answer.stored.question} {column.name}", 230, label, paint)


def _name_groups(axes: Axes, names: Sequence[str]) -> None:
    """Write the groups' names below, upright where they would run into each other."""
    places = range(0, len(names), max(1, -(-len(names) // MOST_NAMED)))
    labels = [short_label(names[place]) for place in places]
    turned = max((len(label) for label in labels), default=0) > 3
    axes.set_xticks(places, labels, rotation=90 if turned else 0, fontsize=8.5)


def budget_picture(ledger: Ledger) -> Markup:
    """Return the budget as a staircase: each question takes its step, and what is left ends it in a dashed bar.

    >>> import tempfile
    >>> from sfumato.promise.cost import Budget
    >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/l", Budget(epsilon=1), {})
    >>> _ = ledger.debit("count", 1, "ana", Cost(epsilon="0.25"))
    >>> "spent 0.25, left 0.75 of 1" in budget_picture(ledger)
    True
    """
    steps = _steps(ledger)
    total, spent = (float(_coin(cost)) for cost in (ledger.budget.total, ledger.spent))

    def paint(axes: Axes) -> None:
        start = 0.0
        for place, (_, cost) in enumerate(steps):
            axes.barh(place, cost, 0.62, left=start, color=BAR)
            start += cost
            _write_amount(axes, cost, start, place)
        rest = max(0.0, total - spent)
        axes.barh(len(steps), rest, 0.62, left=start, facecolor=BEFORE_FILL, edgecolor=BEFORE, linestyle="--")
        _write_amount(axes, rest, start + rest, len(steps))
        names = [short_label(name) for name, _ in steps]
        axes.set_yticks(range(len(steps) + 1), [*names, "left"], color=INK, fontsize=9.5)
        axes.set_ylim(len(steps) + 0.6, -0.6)
        axes.set_xlim(0, 1.14 * total)
        axes.set_xlabel("ρ" if ledger.budget.total.rho else "ε")
        axes.grid(axis="x")
        axes.spines["left"].set_visible(True)

    label = f"Budget: spent {spent:.4g}, left {max(0.0, total - spent):.4g} of {total:.4g}, question by question."
    return draw("budget", 60 + BAR_HEIGHT * (len(steps) + 1), label, paint)


def _write_amount(axes: Axes, cost: float, end: float, place: int) -> None:
    axes.annotate(f"{cost:.4g}", (end, place), (4, 0), textcoords="offset points", color=INK, va="center")


def _steps(ledger: Ledger) -> list[tuple[str, float]]:
    """Return what each question took from the ledger, many early ones together; answers shown again took nothing."""
    charged = [(short_words(entry.question), float(_coin(entry.cost))) for entry in ledger.entries() if not entry.again]
    early, late = charged[:-MOST_STEPS], charged[-MOST_STEPS:]
    return [(f"{len(early)} earlier", sum(cost for _, cost in early)), *late] if early else late


def _coin(cost: Cost) -> Any:
    return cost.rho or cost.epsilon
