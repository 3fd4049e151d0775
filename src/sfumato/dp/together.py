"""Questions declared together: one price for all, composed tightly, with less noise for each.

Only counts and sums over declared groups can stand together, since their noise is known before any answer (Koskela,
Jälkö & Honkela 2020); questions chosen in the light of answers go one by one, through the ledger's filter.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.dp.batch import Weight, allot
from sfumato.dp.ledger.amount import Cost
from sfumato.dp.mechanisms.additive import Gaussian, Laplace
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.estimators import Counting, Summing
from sfumato.errors import ParameterError


def simple_estimator(compiled: Compiled) -> Counting | Summing:
    """Return the one count or sum that a question of a batch asks for, or refuse it."""
    found = compiled.estimators[0]
    if len(compiled.estimators) == 1 and isinstance(found, Counting | Summing) and not compiled.unknown:
        return found
    raise ParameterError(
        f"'{compiled.words}' cannot be asked together with others; declare counts and sums over declared groups alone"
    )


def mechanisms_together(questions: Sequence[Compiled], cost: Cost) -> list[Laplace | Gaussian]:
    """Return a mechanism for each question, all of them together within the price.

    Questions of the same sensitivity count as one form, which keeps the composition fast.
    """
    if not questions:
        raise ParameterError("the batch has no question; give at least one")
    if not (cost.epsilon and cost.delta):
        raise ParameterError(
            "questions declared together need epsilon and a delta above 0, under pure accounting; "
            "under zCDP ask them one by one, which composes as tightly"
        )
    lengths = [_length(compiled) for compiled in questions]
    forms = sorted(set(lengths))
    weights = [Weight(sensitivity=length, times=lengths.count(length)) for length in forms]
    made = dict(zip(forms, allot(weights, cost.epsilon, cost.delta), strict=True))
    return [made[length] for length in lengths]


def _length(compiled: Compiled) -> int:
    estimator = simple_estimator(compiled)
    return estimator.norms(compiled.norms).l1(*estimator.reach)
