"""What CASTLE holds between two records, in few arrays that its kernels share.

The parts follow Cao, Carminati, Ferrari & Tan (2011): open clusters Γ, k-anonymised clusters kept for reuse Ω, and the
losses of the last published clusters, whose mean is τ. Records of several fields make the kernels quick to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

NONE = -1
NUMBER = -1

ARRIVED, OPEN, BORN, PUBLISHED, OLDEST, KEPT, HELD = range(7)
LOW, HIGH = range(2)

ATTRIBUTE = np.dtype([("tree", "i8"), ("leaves", "i8"), ("weight", "f8")], align=True)
SPAN = np.dtype([("first", "i8"), ("many", "i8")], align=True)
CLUSTER = np.dtype(
    [("loss", "f8"), *((name, "i8") for name in ("size", "persons", "born", "first", "last"))], align=True
)
LINK = np.dtype([("cluster", "i8"), ("following", "i8")], align=True)
MEMBER = np.dtype(
    [("value", "f8"), ("gap", "f8"), *((name, "i8") for name in ("place", "bucket", "left", "part", "near", "rest"))],
    align=True,
)
PART = np.dtype([("loss", "f8"), ("size", "i8"), ("mark", "i8")], align=True)


class TupleAttributes(NamedTuple):
    """The quasi-identifiers: where each one's hierarchy starts (or NUMBER), its leaves, and one over its domain.

    Hierarchies lie level by level, leaves first, in `spans`: for each leaf, the first leaf below its ancestor on that
    level, and how many there are. The last level of each is one root.
    """

    columns: npt.NDArray[Any]
    spans: npt.NDArray[Any]


class State(NamedTuple):
    """Everything a kernel needs.

    `clusters` has a slot for each open cluster (size 0: free), with its loss, tuples, persons, order of birth and
    chain of tuples; `bounds` their low and high values, `scan` the same by attribute, and room for losses. `rows` and
    `links` are the last delay+1 tuples in a ring: values, slot of the cluster (-1: left), next tuple of that cluster.
    `kept` is Ω, a ring of bounds. `members`, `parts` and `part_bounds` are room for a cluster that leaves. `person` is
    the column of the person, or -1; `sensitive` says how many columns are.
    """

    attributes: TupleAttributes
    clusters: Records
    bounds: Numbers
    scan: Numbers
    rows: Numbers
    links: Records
    kept: Numbers
    members: Records
    parts: Records
    part_bounds: Numbers
    losses: Numbers
    threshold: Numbers
    counts: Integers
    k: int
    l: int
    sensitive: int
    person: int

    def lasting_arrays(self) -> dict[str, Numbers | Integers]:
        """What must outlive a crash, by name, as plain arrays that share the state's memory."""
        return {
            "clusters": self.clusters.view(np.int64),
            "bounds": self.bounds,
            "scan": self.scan,
            "rows": self.rows,
            "links": self.links.view(np.int64),
            "kept": self.kept,
            "losses": self.losses,
            "threshold": self.threshold,
            "counts": self.counts,
        }


class Outgoing(NamedTuple):
    """What leaves in one call: each row's record and sensitive values, each group's size and bounds."""

    positions: Integers
    sensitive: Numbers
    sizes: Integers
    bounds: Numbers


class Limits(NamedTuple):
    """The parameters that shape the state."""

    k: int
    l: int
    delay: int
    beta: int
    mu: int


def new_state(attributes: TupleAttributes, limits: Limits, sensitive: int, *, person: bool) -> State:
    """Return the state of a stream that has not begun.

    >>> one = TupleAttributes(np.array([(-1, 0, 0.1)], dtype=ATTRIBUTE), np.zeros(1, dtype=SPAN))
    >>> new_state(one, Limits(2, 1, 5, 3, 4), 0, person=False).rows.shape
    (6, 1)
    """
    width = len(attributes.columns)
    ring = limits.delay + 1
    parts = ring // limits.k + 1
    return State(
        attributes,
        np.zeros(limits.beta, dtype=CLUSTER),
        np.zeros((limits.beta, 2, width)),
        np.zeros((2 * width + 1, limits.beta)),
        np.zeros((ring, width + sensitive + person)),
        np.full(ring, -1, dtype=LINK),
        np.zeros((limits.mu, 2, width)),
        np.zeros(ring, dtype=MEMBER),
        np.zeros(parts, dtype=PART),
        np.zeros((parts, 2, width)),
        np.zeros(limits.mu),
        np.zeros(1),
        np.zeros(7, dtype=np.int64),
        limits.k,
        limits.l,
        sensitive,
        width + sensitive if person else -1,
    )


def room_for(state: State, rows: int) -> Outgoing:
    """Return room for `rows` rows."""
    width = state.bounds.shape[2]
    return Outgoing(
        np.empty(rows, dtype=np.int64),
        np.empty((rows, state.sensitive)),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, 2, width)),
    )
