"""Leal, Vidal & Machado 2018 done again: DOCA, its table and figure on the same kind of data, and ours.

"Anonimização de Streaming de Dados em DOCA".
"""

from __future__ import annotations

from sfumato.experiments.declared import Case, Experiment, Part, Scalar, grid
from sfumato.experiments.doca.cases import LINKED, PUBLISHERS, STREAMS, describe, guesses, histograms, measure
from sfumato.experiments.doca.comparison import compare
from sfumato.experiments.doca.figures import draw

ORDERS = range(5)
MANY, FEW = 300_000, 100_000  # readings of a sweep's case
FEEDS = range(3000, 3030)  # seeds of nothing else: no constant was chosen on them
OWN_SENSITIVITY = 1.5 * (63_848 - 1)  # the source's rule, applied to our month
TITLE = "DOCA: streams of numbers, released in groups"
SOURCE = 'Leal, Vidal & Machado 2018, "Anonimização de Streaming de Dados em DOCA", SBBD (in Portuguese)'
ABOUT = """
DOCA groups near values of a stream and publishes each group as its mean plus one draw of noise. The source measures
the squared error (EQM) against noise on every reading alone, and how much of the histogram survives, over five random
orders. Here the same is measured, with the source's parameters (delay 1000, β 50, m 100, ε 1, Δf 99,618), beside the
releases of this library that have a proof; all of them are given public bounds as wide as Δf.

**DOCA is not ε-differentially private, for any ε**: equal values show who was grouped with whom, and
[an audit refutes the claim by itself](../algorithms/audit-streams.md).

Rank windows and adaptive histograms release the distribution of each window and tie no row to a record, so they have
no EQM; the distance W₂² compares sorted values, within windows of as many records as may wait (here 1000) or over the
whole stream. The window mean gives every record of a window the same noisy mean; like linked response and naive noise
it is ε-private, one record being protected.

Our readings are from September 2016, rebuilt from the first and last readings of each disk; the source's are from
January 2017. With the source's Δf the errors can be compared all the same, and so can what is left of them in per cent.
The household's power has public bounds of 0 to 12 kW (a missing minute is taken as the one before), trips of Jersey
City's bicycles 0 to 7200 seconds; longer ones count as 7200 for every release.
"""


def _each(axis: str, values: list[Scalar], publishers: tuple[str, ...], readings: int, orders: range) -> list[Case]:
    """Return a sweep over one parameter, all others being the source's."""
    return [*grid(readings=[readings], publisher=publishers, **{axis: values}, seed=orders)]


def _sweep(name: str, publishers: tuple[str, ...], full: list[Scalar], quick: list[Scalar]) -> Part:
    return Part(
        name, measure, _each(name, full, publishers, MANY, ORDERS), _each(name, quick, publishers, FEW, range(1))
    )


def _both_orders(readings: int, orders: range, publishers: tuple[str, ...], **axes: list[Scalar]) -> list[Case]:
    return [*grid(readings=[readings], order=["random", "arrival"], publisher=publishers, **axes, seed=orders)]


WAITING = tuple(name for name in PUBLISHERS if name != "laplace")
OWN = grid(publisher=("doca", "laplace"), sensitivity=[OWN_SENSITIVITY], seed=ORDERS)
FINENESS = (
    *_both_orders(MANY, ORDERS, ("adaptive",), bins=[40, 80, 160, 320, 640]),
    *_both_orders(MANY, ORDERS, ("rank",), block=[10, 20, 50, 100, 200]),
)
FEW_FINE = (
    *_both_orders(FEW, range(1), ("adaptive",), bins=[80, 160]),
    *_both_orders(FEW, range(1), ("rank",), block=[20, 50]),
)
PARTS = (
    Part("readings", describe, grid(stream=[*STREAMS], seed=[0]), grid(stream=[*STREAMS], seed=[0])),
    Part(
        "table1", measure, (*grid(publisher=PUBLISHERS, seed=ORDERS), *OWN), grid(publisher=PUBLISHERS, seed=range(1))
    ),
    Part("figure2", histograms, grid(publisher=PUBLISHERS, seed=[0]), grid(publisher=("doca", "adaptive"), seed=[0])),
    _sweep("beta", ("doca",), [1, 2, 5, 10, 20, 50, 100, 200, 500], [5, 50, 200]),
    _sweep("m", ("doca",), [1, 10, 100, 1000, 10_000], [10, 100]),
    _sweep("delay", WAITING, [100, 200, 500, 1000, 2000, 5000, 10_000], [200, 1000]),
    _sweep("epsilon", PUBLISHERS, [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0], [0.5, 2.0]),
    Part("fineness", measure, FINENESS, FEW_FINE),
    Part(
        "streams",
        measure,
        [{"stream": stream, **case} for stream in STREAMS for case in _both_orders(MANY, ORDERS, PUBLISHERS)],
        [{"stream": stream, **case} for stream in STREAMS for case in _both_orders(FEW, range(1), PUBLISHERS)],
    ),
    Part(
        "feeds",
        measure,
        grid(stream=[*STREAMS], order=["random", "arrival"], publisher=["adaptive"], seed=FEEDS),
        grid(stream=[*STREAMS], order=["random", "arrival"], publisher=["adaptive"], readings=[FEW], seed=FEEDS[:2]),
    ),
    Part(
        "guesses",
        guesses,
        grid(order=["drawn"], readings=[MANY], publisher=LINKED, epsilon=[0.1, 0.2, 0.5, 1.0, 2.0, 5.0], seed=ORDERS),
        grid(order=["drawn"], readings=[FEW], publisher=LINKED, epsilon=[0.5, 1.0, 2.0], seed=range(1)),
    ),
)
EXPERIMENT = Experiment(
    "doca", TITLE, SOURCE, ABOUT, PARTS, compare, draw, tuple(stream.file for stream in STREAMS.values())
)
