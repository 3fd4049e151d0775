"""Where counts contradict each other, values have changed: the fewest changes that explain what was published.

Values that change undo what an attack assumes (Bu, Fu, Wong, Chen & Li 2008). Nobody knows who changed; an attacker who
takes no more changes than the counts prove still concludes something, and the finding says on which condition.
"""

from __future__ import annotations

import numpy as np

from sfumato.series.cells import Cells
from sfumato.series.equations import BUDGET, TO, Equations

LARGEST = 20_000
SECONDS = 5.0


def fewest_changes(cells: Cells) -> int | None:
    """Return a number of changed values (each of one person in one release) that explains all counts, or None.

    It comes from a whole assignment of values to people, so there is a world with so many; mostly it is the least.

    >>> from sfumato.series.cells import ClassCounts
    >>> releases = [ClassCounts(np.array([[2, 1, 0]])), ClassCounts(np.array([[2, 0, 1]]))]
    >>> fewest_changes(Cells.of(releases, [[(0,)] * 3] * 2))
    1
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    most = int(sum(release.counts.sum() for release in cells.releases))
    equations = Equations.of(cells, most)
    if equations.unknowns > LARGEST:
        return None
    shape = (equations.rows, equations.unknowns)
    matrix = coo_array((equations.sign.astype(float), (equations.row, equations.unknown)), shape=shape)
    right = equations.right.astype(float)
    lower = np.where(equations.equal, right, -np.inf)
    budget = equations.facts[:, 0] == BUDGET
    found = milp(
        (equations.owner == TO).astype(float),
        constraints=LinearConstraint(matrix.tocsr()[np.flatnonzero(~budget)], lower[~budget], right[~budget]),
        integrality=np.ones(equations.unknowns),
        bounds=Bounds(0, np.inf),
        options={"time_limit": SECONDS},
    )
    return None if found.x is None else int(np.rint(found.x)[equations.owner == TO].sum())
