"""The budget as a staircase: what each question took of it, and what is left (Dwork & Roth 2014, theorem 3.16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.questions.compiled import short_words
from sfumato.promise.cost import Cost
from sfumato.report.charts import BAR_HEIGHT, short_label
from sfumato.report.charts.svg import BAR, BEFORE, BEFORE_FILL, INK, draw
from sfumato.report.page.markup import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STEPS = 12


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
