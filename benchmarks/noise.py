"""Exact noise in bulk: a million draws of discrete Laplace beside OpenDP's own sampler, in one run."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import opendp.prelude as dp
from measure import Row, best

from sfumato.random import discrete_laplace

DRAWS = 1_000_000
SCALES = (Fraction(2), Fraction(99618))


def opendp_time(scale: Fraction) -> float:
    """Return the seconds that OpenDP takes for as many draws; once, since it takes seconds."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    mechanism = dp.m.make_laplace(*space, float(scale))
    zeros = [0] * DRAWS
    return best(lambda: mechanism(zeros), 1)


def rows() -> list[Row]:
    """Return how many times faster than OpenDP the draws are, secure words included."""
    found = []
    for scale in SCALES:
        ours, theirs = best(partial(discrete_laplace, DRAWS, scale)), opendp_time(scale)
        times = f"{ours * 1e9 / DRAWS:.0f} ns a draw", f"OpenDP, {theirs * 1e9 / DRAWS:.0f} ns"
        found.append(Row(f"exact discrete Laplace, scale {scale}, 1M draws", *times, theirs / ours, 20, at_most=False))
    return found


if __name__ == "__main__":
    for row in rows():
        print(row)
