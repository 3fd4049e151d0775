"""Exact noise in bulk: a million draws of discrete Laplace beside OpenDP's own sampler, in one run."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from measure import Part, Row, best
from peers import ask

from sfumato.random import discrete_laplace

DRAWS = 1_000_000
SCALES = (Fraction(2), Fraction(99618))


def against_opendp(scale: Fraction) -> list[Row]:
    """Return how many times faster than OpenDP the draws are, secure words included."""
    theirs = float(ask("opendp", "peer_opendp_noise.py", float(scale), DRAWS)["seconds"])
    ours = best(partial(discrete_laplace, DRAWS, scale))
    times = f"{ours * 1e9 / DRAWS:.0f} ns a draw", f"OpenDP, {theirs * 1e9 / DRAWS:.0f} ns"
    return [Row(_name(scale), *times, theirs / ours, 20, at_most=False)]


def _name(scale: Fraction) -> str:
    return f"exact discrete Laplace, scale {scale}, 1M draws"


PARTS = tuple(Part(_name(scale), partial(against_opendp, scale)) for scale in SCALES)
