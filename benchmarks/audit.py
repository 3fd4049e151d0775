"""The auditor: a million trials of a mechanism, two thousand neighbours of a table, and the bound it reaches."""

from __future__ import annotations

from measure import Part, Row, best

import sfumato as sf
from sfumato.audit import composition, epsilon
from sfumato.audit.epsilon.subjects import find_trial
from sfumato.random import SeededSource

TRIALS = 1_000_000
SECONDS = 10
NEIGHBOURS = 1000
MINUTE = 60


def million_trials() -> Row:
    mechanism = find_trial("discrete-laplace", 1.0).run
    seconds = best(lambda: epsilon(mechanism, 0, 1, claim=1.0, trials=TRIALS, rng=SeededSource(1)), 3)
    return Row(
        "audit of ε, a million trials of discrete Laplace noise on each input",
        f"{seconds:.2f} s",
        f"limit, {SECONDS} s",
        seconds / SECONDS,
        1,
        at_most=True,
    )


def bound_reached() -> Row:
    finding = epsilon(find_trial("laplace", 1.0).run, 0, 1, claim=1.0, rng=SeededSource(1))
    bound = finding.bound or 0.0
    return Row("least ε shown for Laplace noise of ε = 1, 200k trials", f"{bound:.3f}", "1", bound, 0.9, at_most=False)


def two_thousand_neighbours() -> Row:
    table = sf.Table.from_frame(sf.samples.census_10k())
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])
    seconds = best(lambda: composition(table, schema, [sf.KAnonymity(10)], epsilon=0.1, trials=NEIGHBOURS), 1)
    return Row(
        "attack on census-10k, Mondrian k = 10, 1000 rows dropped and 1000 added one by one",
        f"{seconds:.1f} s",
        f"limit, {MINUTE} s",
        seconds / MINUTE,
        1,
        at_most=True,
    )


PARTS = (
    Part("audit of ε, a million trials", lambda: [million_trials()]),
    Part("audit of ε, the bound it reaches", lambda: [bound_reached()]),
    Part("attack on census-10k, 2000 neighbours", lambda: [two_thousand_neighbours()]),
)
