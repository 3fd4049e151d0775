"""Which candidates sent the reports of RAPPOR, and how many each: non-negative sparse regression on the bit counts.

Erlingsson, Pihur & Korolova (2014), section 4: a lasso picks the candidates, least squares on those give the counts.
Here the lasso's penalty is the score that noise alone reaches for one candidate in twenty collections (Bonferroni),
and one more column, every bit a little, stands for all values that are not picked: without it the picked ones would be
credited with theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sfumato.core.arrays import Codes, Mask, Reals
from sfumato.errors import InputError, ParameterError
from sfumato.local.collector.estimate import Estimate, interval
from sfumato.local.collector.tally import Tally
from sfumato.local.protocols.rappor import Rappor

LEVEL = 0.05
SWEEPS = 10_000
METHOD = "sparse"


@dataclass(frozen=True, eq=False)
class Equations:
    """A weighted equation for every bit of every cohort, a sparse column for every candidate, and one for the rest."""

    starts: Codes
    places: Codes
    weights: Reals
    target: Reals

    @property
    def sizes(self) -> Reals:
        """The length of each column."""
        return np.sqrt(np.add.reduceat(self.weights**2, self.starts[:-1]))

    def fit(self, penalty: Reals, only: Mask | None = None) -> Reals:
        """Return the non-negative counts that explain the target best, less the penalty; those not in `only` are 0."""
        from sfumato.local.protocols.rappor.kernel import descend

        weights = self.weights if only is None else self.weights * np.repeat(only, np.diff(self.starts))
        found = np.zeros(self.starts.size - 1)
        descend(self.starts, self.places, weights, self.target.copy(), penalty, found, SWEEPS)
        return found

    def dense(self, columns: Codes) -> Reals:
        """Return some columns as a matrix."""
        matrix = np.zeros((self.target.size, columns.size))
        for place, column in enumerate(columns):
            entries = slice(self.starts[column], self.starts[column + 1])
            matrix[self.places[entries], place] = self.weights[entries]
        return matrix


def decode(protocol: Rappor, tally: Tally, *, consistent: bool | str = True) -> Estimate:
    """Return the counts of all candidates; raw ones are by plain least squares and may be negative.

    Users whose value is no candidate are in no count, so the counts need not add up to the users.

    >>> protocol = Rappor(["cat", "dog", "horse"], 8, q=0.99, p=0.01)
    >>> values = protocol.encode_many(["cat"] * 3000 + ["dog"] * 1000)
    >>> found = protocol.estimate(protocol.aggregate(protocol.report_many(values))).counts
    >>> bool(abs(found[0] - 3000) < 600), bool(found[2] < 400)
    (True, True)
    """
    if not isinstance(consistent, bool) and consistent != METHOD:
        raise ParameterError(
            f"RAPPOR is decoded by sparse regression; found '{consistent}', and True or False is meant"
        )
    if tally.protocol != protocol:
        raise InputError(f"the tally is one of another {tally.protocol.name} protocol; estimate with tally.protocol")
    equations = _equations(protocol, tally)
    counts, variance = _sparse_counts(equations, tally.users) if consistent else _least_squares_counts(equations)
    low, high = interval(counts, variance, counts, tally.users)
    method = METHOD if consistent else None
    return Estimate(protocol, tally.users, counts, variance, low, high, method, dict(tally.rejected), counts)


def _equations(protocol: Rappor, tally: Tally) -> Equations:
    table = tally.counts.reshape(protocol.cohorts, 1 + protocol.bits).astype(np.float64)
    own, other = (float(probability) for probability in protocol.support)
    users, bits = table[:, :1], table[:, 1:]
    share = np.clip(bits / np.maximum(users, 1.0), other, own)
    deviation = np.sqrt(np.maximum(users, 1.0) * share * (1 - share)) / (own - other)
    target = (bits - other * users) / (own - other) / deviation
    columns = [_candidate_column(protocol, code) for code in range(len(protocol.domain))]
    columns.append(np.arange(protocol.cohorts * protocol.bits))
    places = np.concatenate(columns)
    part = table[:, 0] / max(tally.users, 1)  # of a value's users are in each cohort
    weights = part[places // protocol.bits] / deviation.ravel()[places]
    weights[-columns[-1].size :] *= protocol.hashes / protocol.bits
    starts = np.concatenate([[0], np.cumsum([column.size for column in columns])])
    return Equations(starts, places, weights, target.ravel())


def _candidate_column(protocol: Rappor, code: int) -> Codes:
    value = protocol.domain[code]
    return np.array(
        [
            cohort * protocol.bits + bit
            for cohort in range(protocol.cohorts)
            for bit in sorted(protocol.bloom(value, cohort))
        ],
        dtype=np.int64,
    )


def _sparse_counts(equations: Equations, users: int) -> tuple[Reals, Reals]:
    sizes = equations.sizes
    if users == 0:
        return np.zeros(sizes.size - 1), np.zeros(sizes.size - 1)
    score = NormalDist().inv_cdf(1 - LEVEL / sizes.size)
    penalty = score * sizes
    penalty[-1] = 0.0
    picked = equations.fit(penalty) > 0
    counts = equations.fit(np.zeros(sizes.size), picked)[:-1]
    variance = 1 / sizes**2
    chosen = np.flatnonzero(picked)
    if chosen.size:
        matrix = equations.dense(chosen)
        variance[chosen] = np.diag(np.linalg.pinv(matrix.T @ matrix))
    total = counts.sum()
    return (counts * (users / total) if total > users else counts), variance[:-1]


def _least_squares_counts(equations: Equations) -> tuple[Reals, Reals]:
    number = equations.starts.size - 2
    matrix = equations.dense(np.arange(number))
    gram = matrix.T @ matrix
    if np.linalg.matrix_rank(gram, hermitian=True) < number:
        raise InputError(
            f"{number} candidates cannot be told apart by least squares over {equations.target.size} bit counts; use "
            "more cohorts or bits, or decode by sparse regression"
        )
    inverse = np.linalg.inv(gram)
    return inverse @ (matrix.T @ equations.target), np.diag(inverse).copy()
