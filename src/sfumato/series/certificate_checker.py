"""A small checker of what an audit of a series claims: that a value is impossible for the people of a cell.

Weights on facts (sizes of cells, published counts) that leave less than one person are a proof by linear duality
(Farkas 1902). It adds up fractions of whole numbers, and imports nothing of the auditor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

Unknown = tuple[object, ...]
Fact = Mapping[str, Any]


def holds(certificate: Mapping[str, Any]) -> bool:
    """Return whether the facts of a certificate exclude its value for its cell.

    Every fact is an equation over counts of people, or (`at_most`) a bound. Their weighted sum must hold every unknown
    at least 0 times and the claimed one at least once, and its right side must be less than one person.

    >>> facts = [{"class": 1, "release": 1, "value": "flu", "count": 3, "cells": ["a", "b"], "weight": "1"},
    ...          {"class": 4, "release": 2, "value": "flu", "count": 3, "cells": ["b"], "weight": "-1"}]
    >>> holds({"cell": "a", "value": "flu", "facts": facts}), holds({"cell": "b", "value": "flu", "facts": facts})
    (True, False)
    """
    factors: defaultdict[Unknown, Fraction] = defaultdict(Fraction)
    factors[_claimed(certificate)] = Fraction(-1)
    right = Fraction(0)
    for fact in certificate["facts"]:
        weight = Fraction(fact["weight"])
        if weight < 0 and (fact.get("at_most") or "budget" in fact):
            return False
        right += weight * _amount(fact)
        for unknown, sign in _terms(fact):
            factors[unknown] += weight * sign
    return right < 1 and all(factor >= 0 for factor in factors.values())


def _claimed(certificate: Mapping[str, Any]) -> Unknown:
    """Return the unknown that the claim is about: a cell's count of a value, or its part in one class, or a change."""
    where = certificate.get("in")
    if where is None:
        return "cell", certificate["cell"], certificate["value"]
    if "cell" in certificate:
        return "part", where["release"], where["class"], certificate["cell"], certificate["value"]
    return "changed to", where["release"], where["class"], certificate["value"]


def _amount(fact: Fact) -> int:
    """Return the right side of a fact, which is a whole number of people."""
    amount = fact.get("size", fact.get("count", fact.get("budget", 0)))
    if not isinstance(amount, int) or amount < 0:
        raise ValueError(f"a fact counts whole people; found {amount!r}")
    return amount


def _terms(fact: Fact) -> Iterator[tuple[Unknown, int]]:
    """Yield the unknowns of a fact with their signs."""
    if "size" in fact:  # the people of a cell have one value each
        yield from ((("cell", fact["cell"], value), 1) for value in fact["values"])
    elif "count" in fact:  # a class shows a value as often as people in it have it
        yield from _class_terms(fact)
    elif "unshown" in fact:  # nobody in these classes has the value
        yield ("cell", fact["cell"], fact["value"]), 1
    elif "classes" in fact:  # people are in one of several classes
        yield ("cell", fact["cell"], fact["value"]), -1
        yield from ((("part", fact["release"], place, fact["cell"], fact["value"]), 1) for place in fact["classes"])
    else:  # values that are not usual: as many are shown as are not, or few altogether
        for place in fact["changes_in"]:
            for value in fact["values"]:
                yield ("changed to", place["release"], place["class"], value), 1
                if "budget" not in fact:
                    yield ("changed from", place["release"], place["class"], value), -1


def _class_terms(fact: Fact) -> Iterator[tuple[Unknown, int]]:
    where, value = (fact["release"], fact["class"]), fact["value"]
    yield from ((("cell", cell, value), 1) for cell in fact["cells"])
    yield from ((("part", *where, cell, value), 1) for cell in fact.get("parts", ()))
    if fact.get("changes"):
        yield ("changed to", *where, value), 1
        yield ("changed from", *where, value), -1


def stands(
    certificate: Mapping[str, Any],
    counts: Sequence[Sequence[Mapping[str, int]]],
    cells: Mapping[str, tuple[int, Sequence[Sequence[int]]]],
) -> bool:
    """Return whether a certificate holds and its facts are those of a series in which no value changes.

    `counts[r][c]` are the published counts of class c in release r+1; a cell is its size and, for each release, the one
    class its people are in, or none. People have only values that all their classes show.

    >>> counts = [[{"flu": 1, "gout": 1}], [{"gout": 1}]]
    >>> cells = {"a": (1, [[0], []]), "b": (1, [[0], [0]])}
    >>> fact = {"release": 2, "class": 0, "value": "gout", "count": 1, "cells": ["b"], "weight": "-1"}
    >>> whole = {"release": 1, "class": 0, "value": "gout", "count": 1, "cells": ["a", "b"], "weight": "1"}
    >>> claim = {"cell": "a", "value": "gout"}
    >>> stands({**claim, "facts": [whole, fact]}, counts, cells)
    True
    >>> stands({**claim, "facts": [{**whole, "count": 0}, fact]}, counts, cells)
    False
    """

    def may_have(cell: str, value: str) -> bool:
        places = enumerate(cells[cell][1])
        return all(counts[release][place].get(value, 0) for release, found in places for place in found)

    def is_so(fact: Fact) -> bool:
        if "size" in fact:
            size, places = cells[fact["cell"]]
            shown = {
                value for release, found in enumerate(places) for place in found for value in counts[release][place]
            }
            return fact["size"] == size and {v for v in shown if may_have(fact["cell"], v)} <= set(fact["values"])
        release = fact["release"] - 1
        if "unshown" in fact:
            own = cells[fact["cell"]][1][release]
            return bool(own) and not any(counts[release][place].get(fact["value"], 0) for place in own)
        inside = {name for name, (_, found) in cells.items() if fact["class"] in found[release]}
        wanted = {name for name in inside if may_have(name, fact["value"])}
        count = counts[release][fact["class"]].get(fact["value"], 0)
        return count == fact["count"] and set(fact["cells"]) == wanted and len(fact["cells"]) == len(wanted)

    return holds(certificate) and all(is_so(fact) for fact in certificate["facts"])
