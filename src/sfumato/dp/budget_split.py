"""What a price buys: its split among aggregates, and the keys that may leave.

Aggregates share the price evenly. Where keys are unknown, half of it finds the keys that enough persons have (Korolova,
Kenthapadi, Mishra & Ntoulas 2009; Wilson et al. 2020), and only those get further answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.dp.mechanisms.threshold import Threshold
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.estimators import Choosing, Counting, count_column
from sfumato.dp.questions.private_bounds import BoundChoice
from sfumato.dp.questions.request import Cells, Count, Persons, Tallies
from sfumato.dp.share import Share
from sfumato.dp.stored_answer import CONFIDENCE, AnswerColumn
from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Cost
from sfumato.promise.unit import ProtectRows
from sfumato.random import Noise


def whole_share(compiled: Compiled, cost: Cost) -> Share:
    """Return the whole price of a question as a share of noise.

    The accountant is told by what the cost is counted in.
    """
    if cost.rho:
        return Share(Accountant.ZCDP, Fraction(cost.rho), compiled.norms)
    return Share(Accountant.PURE, Fraction(cost.epsilon), compiled.norms)


def check_noise(compiled: Compiled, cost: Cost) -> None:
    """Refuse a price for which there is no noise, before it is paid."""
    share = whole_share(compiled, cost)
    if compiled.unknown:
        _ = threshold_of(compiled, cost, share).least
    for estimator in compiled.estimators:
        estimator.error(share.part(Fraction(1, 2 * len(compiled.estimators))), CONFIDENCE, None)


def check_ranks(compiled: Compiled, cost: Cost, rows: int | None) -> None:
    """Refuse a minimum, maximum or quantile that would be the median in a group of `rows` rows, before it is paid.

    How many rows there are is secret, so that only a public guess can refuse; without one the answer says how many
    rows it needs.
    """
    if rows is None:
        return
    check_guess(rows)
    share = share_of_each(compiled, whole_share(compiled, cost))
    for entry, estimator in zip(compiled.query.aggregates, compiled.estimators, strict=True):
        if isinstance(estimator, Choosing | BoundChoice) and estimator.least_rows(share) > rows:
            raise ParameterError(
                f"{entry.text} at this price needs {estimator.least_rows(share)} rows in a group to be more than the "
                f"median, and you expect {rows}; give a larger epsilon, or ask for fewer aggregates at once"
            )


def answer_columns(
    compiled: Compiled, tallies: Tallies, cost: Cost, noise: Noise
) -> tuple[list[Cells], list[AnswerColumn]]:
    """Return the groups that leave and their noisy answers."""
    share = whole_share(compiled, cost)
    if not compiled.unknown:
        return tallies.cells, _columns(compiled, tallies.columns, share, noise)
    threshold = threshold_of(compiled, cost, share)
    passing = threshold.keep([int(units) for units in tallies.columns[0]], noise, tallies.cells)
    order = sorted(passing, key=lambda place: _order(tallies.cells[place]))
    kept = [tallies.cells[place] for place in order]
    if only_counts_units(compiled):
        name = compiled.query.aggregates[0].label
        return kept, [count_column(name, [passing[place] for place in order], threshold.mechanism)]
    columns = [[column[place] for place in order] for column in tallies.columns[1:]]
    return kept, _columns(compiled, columns, share.part(Fraction(1, 2)), noise)


def threshold_of(compiled: Compiled, cost: Cost, share: Share) -> Threshold:
    """Return what lets unknown keys out, for half of the price, or all of it where it answers the question itself."""
    price = share.amount if only_counts_units(compiled) else share.amount / 2
    unit = compiled.counted
    rows, groups = (compiled.norms.rows, 1) if isinstance(unit, ProtectRows) else (1, unit.groups)
    return Threshold(price, Fraction(cost.delta), rows, groups, compiled.neighbours, share.accountant)


def only_counts_units(compiled: Compiled) -> bool:
    """Return whether the threshold's own noisy counts already answer the question."""
    if len(compiled.estimators) != 1 or not isinstance(compiled.estimators[0], Counting):
        return False
    measure = compiled.estimators[0].measure
    one_row = isinstance(compiled.unit, ProtectRows) or compiled.per_person
    return isinstance(measure, Persons) or (isinstance(measure, Count) and one_row)


def _columns(compiled: Compiled, columns: Sequence[Any], share: Share, noise: Noise) -> list[AnswerColumn]:
    part = share.part(Fraction(1, len(compiled.estimators)))
    made, place = [], 0
    for estimator in compiled.estimators:
        after = place + len(estimator.measures)
        made.append(estimator.answer(columns[place:after], part, noise))
        place = after
    return made


def _order(cells: Cells) -> tuple[str, ...]:
    return tuple(str(cell) for cell in cells)


def check_guess(rows: int) -> None:
    """Refuse a guess that is no number of rows."""
    if rows < 1:
        raise ParameterError(f"the guess of the rows is {rows}; give a whole number of at least 1")


def share_of_each(compiled: Compiled, share: Share) -> Share:
    """The share of the whole price that each aggregate gets, where keys are found first after that."""
    finding = Fraction(1, 2) if compiled.unknown and not only_counts_units(compiled) else Fraction(1)
    return share.part(finding / len(compiled.estimators))
