"""Iterated local search over a partition with annealed acceptance.

Lourenço, Martin & Stützle, "Iterated local search" (2003); acceptance after Kirkpatrick,
Gelatt & Vecchi, "Optimization by simulated annealing" (1983).
"""

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.random_kernel import State, next_below, next_unit
from sfumato.tabular.microaggregation.search.journal import Journal
from sfumato.tabular.microaggregation.search.journal_kernel import drain, error_change, forget, roll_back
from sfumato.tabular.microaggregation.search.partition import Partition
from sfumato.tabular.microaggregation.search.polish_kernel import settle
from sfumato.tabular.microaggregation.search.rebuild_kernel import rebuild

# Visits after which polishing a single kick is given up; a few hundred are usual.
PATIENCE = 100_000
# Groups torn down by a kick; more than that rarely lead anywhere and cost the most.
FEWEST, MOST = 2, 4


@kernel
def search(
    p: Partition,
    journal: Journal,
    k: int,
    state: State,
    steps: int,
    temperature: float,
    trifle: float,
) -> float:
    """Make ``steps`` kicks, each polished and then kept or rolled back; return the change."""
    total = 0.0
    for _ in range(steps):
        rebuild(p, journal, k, state, FEWEST + next_below(state, MOST - FEWEST + 1))
        settle(p, journal, k, PATIENCE, trifle)
        drain(journal)
        change = error_change(p, journal)
        if change <= -temperature * np.log(1.0 - next_unit(state)):
            total += change
            forget(journal)
        else:
            roll_back(p, journal)
    return total
