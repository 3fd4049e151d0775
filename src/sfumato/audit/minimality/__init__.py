"""The minimality attack: what somebody learns who knows the algorithm, from what it did not cut or did not show.

Wong, Fu, Wang & Pei, "Minimality attack in privacy preserving data publishing" (VLDB 2007); where the gain comes from:
Cormode, Srivastava, Li & Li, "Minimizing minimality and maximizing utility" (VLDB 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.audit.minimality.posterior import Belief, Suspicion, suspicions
from sfumato.audit.minimality.worlds import Scene
from sfumato.core.progress import tell
from sfumato.errors import ParameterError, SchemaError, UnsatisfiableError
from sfumato.models.base import Model
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, leave_unaudited
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.base import Anonymizer, PartitionAnonymizer
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.problem import Problem

WORLDS = 20_000
FEWEST = 200  # worlds that a class gets at least; where that is too many, large classes are not attacked
RISK = 0.01  # that any of the limits of drawn worlds is wrong
MOST_SHOWN = 10
ATTACKER = (
    "knows everybody's quasi-identifiers, who shares a class, the algorithm and its parameters; before the release "
    "every order of the sensitive values is equally likely"
)
NO_MODEL = "no model reads a sensitive column, so that which rows share a class tells nothing of its values"
DRAWN = "classes are drawn at random, so that no run can be compared with another; its page says what they tell"


def minimality(  # what is attacked, and how hard
    table: Table,
    schema: Schema,
    models: Sequence[Model],
    anonymizer: Anonymizer | None = None,
    *,
    worlds: int = WORLDS,
    seed: int = 0,
) -> list[Finding]:
    """Return a finding for each model of a sensitive column: does it hold against whoever knows the algorithm?

    If at most `worlds` orders of the sensitive values agree with the release, the algorithm runs on every one of them.
    Otherwise worlds are drawn from `seed`: of each class that only its values kept whole where the algorithm cuts from
    above, else of the whole table. The evidence names people of the table: the steward's, never published.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [20, 20, 30, 30, 30], "ill": ["HIV", "HIV", "flu", "gout", "cold"]})
    >>> schema = Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> [finding] = minimality(Table(people), schema, [sf.KAnonymity(2), sf.LDiversity(2, "ill")])
    >>> finding.verdict, finding.evidence["persons"][0]["quasi"], finding.evidence["persons"][0]["share"]
    ('REFUTED', {'age': '20'}, 1.0)
    """
    chosen = _auditable(Mondrian() if anonymizer is None else anonymizer)
    if worlds < 1:
        raise ParameterError(f"the attack compares worlds with the release; found worlds={worlds}, wanted at least 1")
    problem = Problem.of(table, schema, list(models))
    asked = [model for model in models if model.sensitive is not None]
    if not asked:
        return [leave_unaudited("the models hold against whoever knows the algorithm", NO_MODEL)]
    if chosen.draws:
        return [leave_unaudited(_claim(model), f"{chosen.algorithm}: {DRAWN}") for model in asked]
    if problem.person is not None and len(np.unique(problem.person)) < problem.table.rows:
        raise SchemaError("the minimality attack needs one row for each person; gather each person's rows into one")
    whole = Scene.whole(problem, chosen)
    if not whole.members:
        raise UnsatisfiableError(f"{chosen.algorithm} leaves every row out of the release; ask for less")
    attack = Attack.on(whole, chosen, worlds, np.random.default_rng(seed))
    return [attack.finding(model) for model in asked]


def _auditable(anonymizer: Anonymizer) -> PartitionAnonymizer:
    if not isinstance(anonymizer, PartitionAnonymizer):
        raise ParameterError(
            f"{anonymizer.algorithm} promises differential privacy, which holds against whoever knows it; attack it by "
            "`sfumato audit release`"
        )
    return anonymizer


def _claim(model: Model) -> str:
    limit = f"{'at least' if model.at_least else 'at most'} {model.asked:g}"
    return f"{model.name} on '{model.sensitive}': {limit} for every person, also to whoever knows the algorithm"


@dataclass(frozen=True, eq=False)
class Attack:
    """All beliefs about a release: of the whole table, or of classes by themselves (`open_classes` tell something)."""

    whole: Scene
    algorithm: str
    beliefs: Sequence[Belief]
    open_classes: int | None = None

    @classmethod
    def on(cls, whole: Scene, chosen: PartitionAnonymizer, worlds: int, draw: np.random.Generator) -> Attack:
        """Return the attack with all its worlds tried."""
        if not chosen.top_down or whole.has_at_most(worlds):
            return cls(whole, chosen.algorithm, [_believe(whole, worlds, draw, (0.0, 1 / worlds))])
        scenes = sorted(_open_scenes(whole), key=lambda scene: scene.log_worlds)
        beliefs: list[Belief] = []
        for place, scene in enumerate(scenes):
            left = worlds - sum(one.tried for one in beliefs)
            each = max(FEWEST, left // (len(scenes) - place))
            if each > left:
                break
            beliefs.append(_believe(scene, each, draw, (1 - left / worlds, 1 / worlds)))
        return cls(whole, chosen.algorithm, beliefs, len(scenes))

    def finding(self, model: Model) -> Finding:
        """Return whether a model is refuted, with the persons on whom it is broken or the one who loses most."""
        column = self.whole.problem.sensitive[str(model.sensitive)]
        drawn = sum(len(one.scene.rows) * column.size for one in self.beliefs if not one.complete)
        found = [one for belief in self.beliefs for one in suspicions(belief, model, RISK / (2 * max(1, drawn)))]
        broken = sorted((one for one in found if one.broken), key=lambda one: (-one.gain, one.row))
        most = max(found, key=lambda one: one.gain, default=None)
        named = broken[:MOST_SHOWN] or ([most] if most is not None else [])
        sure = [one.measured for one in found if one.low == one.high]
        worst = (min if model.at_least else max)(sure) if sure and (broken or not drawn) else None
        told = [self._person(one, model) for one in named]
        return Finding(
            claim=_claim(model),
            verdict=REFUTED if broken else NOT_REFUTED,
            bound=worst,
            evidence={
                "reason": self._reason(model, broken, most),
                **self._facts(),
                **({"limits wrong with probability at most": RISK} if drawn else {}),
                "persons broken": len(broken),
                "persons": told,
            },
        )

    def _facts(self) -> dict[str, Any]:
        return {
            "attacker": ATTACKER,
            "algorithm": self.algorithm,
            "scope": "the whole table" if self.open_classes is None else "each class by itself",
            "rows": len(self.whole.rows),
            "classes": len(self.whole.members),
            **({} if self.open_classes is None else {"classes kept whole by values": self.open_classes}),
            "attacked": len(self.beliefs),
            "complete": all(one.complete for one in self.beliefs) and self.open_classes in {None, len(self.beliefs)},
            "worlds": sum(one.tried for one in self.beliefs),
            "worlds that give this release": sum(one.agreeing for one in self.beliefs),
        }

    def _person(self, one: Suspicion, model: Model) -> dict[str, Any]:
        problem = self.whole.problem
        return {
            "row": one.row + 1,
            "quasi": {column.name: column.text(int(column.codes[one.row])) for column in problem.quasi},
            "value": problem.sensitive[str(model.sensitive)].text(one.code),
            "share": one.share,
            "between": [one.low, one.high],
            "share in the class": one.shown,
        }

    def _reason(self, model: Model, broken: Sequence[Suspicion], most: Suspicion | None) -> str:
        facts = self._facts()
        tried = f"{facts['worlds']} worlds tried, {facts['worlds that give this release']} give this release"
        if most is None:
            return f"{tried}; nothing can be said" if self.beliefs else "no class was kept whole by its values"
        one = broken[0] if broken else most
        person = self._person(one, model)
        who = ", ".join(f"{name} {text}" for name, text in person["quasi"].items())
        sure = "for certain" if math.isclose(one.low, 1.0) else _percent(one)
        told = f"row {one.row + 1} ({who}) has {person['value']} {sure}, the class shows {one.shown:.1%}"
        if broken:
            return f"{len(broken)} of {facts['rows']} persons (for the steward): {told}; {tried}"
        gained = f"largest gain (for the steward): {told}" if one.gain > 1 + 1e-9 else "nobody's value gains"
        return f"{tried}; {gained}"


def _percent(one: Suspicion) -> str:
    between = "" if one.low == one.high else f" (between {one.low:.1%} and {one.high:.1%})"
    return f"with {one.share:.1%}{between}"


def _believe(scene: Scene, worlds: int, draw: np.random.Generator, work: tuple[float, float]) -> Belief:
    complete = scene.has_at_most(worlds)
    tried = scene.every_world() if complete else scene.drawn_worlds(worlds, draw)
    return Belief.after(scene, tried, complete=complete, work=work)


def _open_scenes(whole: Scene) -> list[Scene]:
    """Return the classes that only their values kept whole; of others, their being whole tells nothing."""
    scenes = []
    for place, rows in enumerate(whole.members):
        if place % 64 == 0:
            tell(place / len(whole.members), f"{place} of {len(whole.members)} classes looked at")
        scene = whole.of_rows(rows)
        if scene.stopped_by_values:
            scenes.append(scene)
    return scenes
