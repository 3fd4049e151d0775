"""The gate beside anonymeter: the risks of the bundled demo's release, and of the same release with exact costs."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from measure import Part, Row, best, data_folder, within
from peers import ask

import sfumato as sf
from sfumato.audit.gate import WP216, gate
from sfumato.audit.gate.view import Numbers, View, Words
from sfumato.random import SeededSource

EXAMPLES = Path(__file__).parent.parent / "examples"
MODELS = [sf.KAnonymity(10), sf.LDiversity(3, "disease"), sf.TCloseness(0.35, "cost")]
SECRETS = ("disease", "cost")
OTHERS = 7  # the seed of made-up people who are not in the sample
MOST = 0.05
LEAST = 0.9
SECONDS = 10


@cache
def people(*, control: bool = False) -> sf.Table:
    """Return the bundled sample, or as many people drawn in the same way who are not in it."""
    sample = sf.read(EXAMPLES / "patients.csv")
    return sf.Table(sf.samples.patients(sample.rows, seed=OTHERS)) if control else sample


def schema(*, exact: bool) -> sf.Schema:
    """Return the demo's schema; `exact` passes costs on to the cent."""
    declared = sf.Schema.from_toml(EXAMPLES / "patients.toml")
    cost = sf.Attribute("cost", sf.Role.SENSITIVE, sf.Kind.NUMBER, bounds=(0, 20000))
    return sf.Schema({**declared.columns, "cost": cost}, other=declared.other) if exact else declared


@cache
def released(*, exact: bool) -> sf.Release:
    """Return the demo's release, its rows in an order that repeats: anonymeter takes the first of equal rows."""
    return sf.Mondrian().anonymize(people(), schema(exact=exact), MODELS, rng=SeededSource(1))


def plain(table: sf.Table, declared: sf.Schema, draw: np.random.Generator) -> pl.DataFrame:
    """Return rows with one value in each cell, as anonymeter needs them, codes for words and days by their number.

    A range of numbers or days becomes its middle; a set, a label or `*` one of the words that it covers, at random. The
    original rows pass through the same door and stay what they are.
    """
    view = View.of(table, people(), declared, people(control=True))
    return pl.DataFrame({column.facts.name: _values(column, draw) for column in view.columns})


def _values(column: Numbers | Words, draw: np.random.Generator) -> npt.NDArray[Any]:
    if isinstance(column, Numbers):
        known = np.nanmedian(column.guesses[column.facts.rows])
        return np.where(np.isfinite(column.guesses), column.guesses, known)[column.facts.rows]
    choices = [
        np.concatenate([np.arange(low, high + 1) for low, high in column.fits.runs(text)] or [np.zeros(1, np.int64)])
        for text in range(len(column.facts.texts))
    ]
    return np.array([f"v{draw.choice(choices[text])}" for text in column.facts.rows.tolist()])


@cache
def theirs(*, exact: bool) -> dict[str, dict[str, float]]:
    """Return what anonymeter finds."""
    declared, draw = schema(exact=exact).settled(people()), np.random.default_rng(1)
    release = released(exact=exact).table
    tables = [sf.Table(table.frame.select(release.names)) for table in (people(), release, people(control=True))]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{name}.parquet" for name in ("original", "released", "control")]
        for table, file in zip(tables, files, strict=True):
            plain(table, declared, draw).write_parquet(file)
        found: dict[str, Any] = ask("anonymeter", "peer_anonymeter.py", *files, *SECRETS)
    risks: dict[str, dict[str, float]] = found["risks"]
    return risks


def ours(*, exact: bool) -> dict[str, float]:
    """Return what the gate finds, with the same control group."""
    release = released(exact=exact)
    found = gate(release.table, people(), schema(exact=exact), release.card, control=people(control=True))
    return {str(one.evidence["attack"]): float(one.evidence["risk"]) for one in found if "risk" in one.evidence}


def beside_anonymeter() -> list[Row]:
    """Return the three risks of the demo's release by anonymeter, ours beside them, and of the one with exact costs."""
    peer, mine = theirs(exact=False), ours(exact=False)
    rows = []
    for attack in WP216:
        worst = max(told["risk"] for name, told in peer.items() if name.startswith(attack))
        name = f"{attack}, risk of the demo's release by anonymeter (ours beside it)"
        rows.append(Row(name, f"{mine[attack]:.3f}", f"{worst:.3f}", worst, MOST, at_most=True))
    found, told = ours(exact=True)["singling out"], theirs(exact=True)["singling out, univariate"]["risk"]
    name = "singling out, risk of the demo's release with exact costs by the gate (anonymeter beside it)"
    return [*rows, Row(name, f"{found:.3f}", f"{told:.3f}", found, LEAST, at_most=False)]


def adult() -> list[Row]:
    """Return the seconds of the gate on a 10-anonymous Adult."""
    table = sf.read(data_folder() / "adult_train.csv.gz")
    roles = sf.Schema.from_roles(
        quasi=["age", "workclass", "education", "marital-status", "race", "sex", "native-country"],
        sensitive=["occupation", "income"],
        identifier=["fnlwgt"],
        other="drop",
    )
    release = sf.Mondrian().anonymize(table, roles, [sf.KAnonymity(10)])
    seconds = best(lambda: gate(release.table, table, roles, release.card), 1)
    return [within("gate on Adult, 32,561 rows, 500 attacks of each kind", seconds, SECONDS)]


PARTS = (Part("gate beside anonymeter", beside_anonymeter), Part("gate on Adult", adult))
