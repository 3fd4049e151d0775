"""Why a value is excluded, written out so that anybody can add it up: facts with weights, checked by another module.

By duality (Farkas 1902) a combination of facts that leaves less than one person is a proof; `certificate_checker` reads
what is written here and imports nothing of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.series.bounds import Bounds, Unrolled, Weights
from sfumato.series.cells import Cells
from sfumato.series.equations import BALANCE, CELL, CLASS, LINK, TO

Certificate = dict[str, Any]


@dataclass(eq=False)
class Prover:
    """What is needed to write certificates of one system of equations: its cells, their names, its bounds and words."""

    cells: Cells
    names: Sequence[str]
    bounds: Bounds
    words: Sequence[str]
    found: Mapping[int, Weights] = field(default_factory=dict)

    @cached_property
    def unrolled(self) -> Unrolled:
        """The bounds as weights on rows."""
        return self.bounds.unroll()

    def below_one(self, unknown: int) -> Certificate:
        """Return the certificate that an unknown is below one."""
        weights = self.found.get(unknown)
        whole = self.unrolled.bound(unknown, fall=True) if weights is None else self._complete(unknown, weights)
        equations = self.bounds.equations
        owner, place = int(equations.owner[unknown]), self._where(unknown)
        return {
            **({"cell": self.names[owner]} if owner >= 0 else {}),
            "value": self.words[int(equations.value[unknown])],
            **({"in": place} if place else {}),
            "facts": [self._fact(row, amount) for row, amount in sorted(whole.items()) if amount],
        }

    def unshown(self, cell: int, value: int) -> Certificate:
        """Return the certificate that people of a cell do not have a value, since their classes do not show it."""
        for number, release in enumerate(self.cells.releases):
            places = list(self.cells.places[number][cell])
            if places and release.certain and not release.counts[places, value].any():
                claim = {"cell": self.names[cell], "value": self.words[value]}
                return {**claim, "facts": [{**claim, "release": number + 1, "unshown": places, "weight": "1"}]}
        raise ValueError("a value that every release may show is not excluded by one of them")

    def _where(self, unknown: int) -> dict[str, int] | None:
        release, place = int(self.bounds.equations.release[unknown]), int(self.bounds.equations.place[unknown])
        return {"release": release + 1, "class": place} if release >= 0 else None

    def _complete(self, unknown: int, weights: Weights) -> Weights:
        """Return weights together with the bounds that the programme took for granted."""
        factors: defaultdict[int, Fraction] = defaultdict(Fraction)
        factors[unknown] -= 1
        for row, amount in weights.items():
            for other, sign in self.unrolled.entries(row):
                factors[other] += amount * sign
        whole = defaultdict(Fraction, weights)
        for other, factor in factors.items():
            if factor < 0 or (factor > 0 and self.bounds.lower[other] > 0):
                for row, amount in self.unrolled.bound(other, fall=factor < 0).items():
                    whole[row] += abs(factor) * amount
        return whole

    def _fact(self, row: int, weight: Fraction) -> dict[str, Any]:
        """Return what a row says, with its weight."""
        equations = self.bounds.equations
        fact, right = equations.fact(row), int(equations.right[row])
        common = {"weight": str(weight), **({} if equations.equal[row] else {"at_most": True})}
        terms = np.array([unknown for unknown, _ in self.unrolled.entries(row)], dtype=np.int64)
        owner, value = equations.owner[terms], equations.value[terms]
        if fact.kind == CELL:
            return {"cell": self.names[fact.place], "size": right, "values": self._words(value), **common}
        if fact.kind == CLASS:
            part = equations.release[terms] >= 0
            told = {"release": fact.release + 1, "class": fact.place, "value": self.words[fact.value], "count": right}
            parts = {"parts": self._names(owner[part & (owner >= 0)])} if (part & (owner >= 0)).any() else {}
            changes = {"changes": True} if (owner == TO).any() else {}
            return {**told, "cells": self._names(owner[~part]), **parts, **changes, **common}
        if fact.kind == LINK:
            classes = equations.place[terms][equations.place[terms] >= 0].tolist()
            told = {"release": fact.release + 1, "cell": self.names[fact.place], "value": self.words[fact.value]}
            return {**told, "classes": classes, **common}
        where = {(int(equations.release[term]), int(equations.place[term])) for term in terms.tolist()}
        places = [{"release": release + 1, "class": place} for release, place in sorted(where)]
        told = {"changes_in": places, "values": self._words(value)}
        return {**told, **common} if fact.kind == BALANCE else {**told, "budget": right, **common}

    def _words(self, values: Any) -> list[str]:
        return [self.words[value] for value in np.unique(values).tolist()]

    def _names(self, cells: Any) -> list[str]:
        return [self.names[cell] for cell in cells.tolist()]
