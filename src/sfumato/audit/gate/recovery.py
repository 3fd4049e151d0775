"""A column that gives back what another one hides: a city beside a generalised postcode, a year of birth beside an age.

From everybody else with the same value in the passed-on column, the commonest value of the hidden one is guessed; the
control guess has only the released cell to go by (functional dependencies as attackers' knowledge: Wang & Fung 2006,
"Anonymizing Sequential Releases", and WP216, 2014).
"""

from __future__ import annotations

import numpy as np

from sfumato.audit.gate.nearest import NOBODY, targets
from sfumato.audit.gate.risk import THRESHOLD, Tally
from sfumato.audit.gate.singling_out import covered
from sfumato.audit.gate.view import MISSING, Booleans, Codes, View
from sfumato.schema import Role
from sfumato.table.distinct import distinct


def recovery(view: View, attacks: int, seed: int) -> dict[tuple[str, str], Tally]:
    """Return, for pairs of a passed-on and a generalised column, how often the first gives the second's exact value.

    Pairs where the first tells hardly more than the commonest value are left out.

    >>> import polars as pl
    >>> from sfumato.schema import Schema
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"zip": ["471", "472"] * 30, "city": ["Alt", "Neu"] * 30}))
    >>> release = Table(pl.DataFrame({"zip": ["47*"] * 60, "city": ["Alt", "Neu"] * 30}))
    >>> view = View.of(release, people, Schema.from_roles(quasi=["zip"], other="keep"))
    >>> {pair: round(tally.risk) for pair, tally in recovery(view, 60, 1).items()}
    {('city', 'zip'): 1}
    """
    hidden = [place for place, column in enumerate(view.columns) if _is_hidden(view, place)]
    passed = [place for place, column in enumerate(view.columns) if column.facts.role is not Role.QUASI]
    guessed = {(giving, given): _guessed(view, giving, given) for giving in passed for given in hidden}
    worth = {pair: right for pair, right in guessed.items() if right.mean() - _top_share(view, pair[1]) > THRESHOLD}
    if not worth:
        return {}
    drawn = ((target.person, target.own) for target in targets(view, attacks, np.random.default_rng(seed)))
    chosen = [(person, own) for person, own in drawn if own != NOBODY]
    found = {}
    for (giving, given), right in worth.items():
        hits = sum(bool(right[person]) for person, _ in chosen)
        control = sum(_from_cell(view, given, person, own) for person, own in chosen)
        names = view.columns[giving].facts.name, view.columns[given].facts.name
        found[names] = Tally(len(chosen), hits, len(chosen), control)
    return found


def _is_hidden(view: View, place: int) -> bool:
    facts = view.columns[place].facts
    return facts.role is Role.QUASI and bool((~facts.exact & ~facts.nothing)[facts.rows].any())


def _values(view: View, place: int) -> Codes:
    """Return the values of the people of the data in a column, missing ones as one value more."""
    return view.columns[place].facts.values[: view.people] + 1


def _top_share(view: View, place: int) -> float:
    return float(np.bincount(_values(view, place)).max() / view.people)


def _guessed(view: View, giving: int, given: int) -> Booleans:
    """Return for everybody whether the others with the same value in one column tell the value in another."""
    keys, wanted = _values(view, giving), _values(view, given)
    numbered = distinct([keys, wanted], [int(keys.max()) + 1, int(wanted.max()) + 1])
    pairs, where, counts = numbered.examples, numbered.ids, numbered.counts
    owner = keys[pairs]
    order = np.lexsort((-counts, owner))
    first = np.r_[True, np.diff(owner[order]) != 0]
    second = np.flatnonzero(first) + 1
    group = np.cumsum(first) - 1
    top, runner = counts[order][first], np.zeros(first.sum(), dtype=np.int64)
    inside = second < len(order)
    inside[inside] &= ~first[second[inside]]
    runner[inside] = counts[order][second[inside]]
    of_pair = np.empty(len(pairs), dtype=np.int64)
    of_pair[order] = group
    best_other = np.where(counts == top[of_pair], runner[of_pair], top[of_pair])
    return np.asarray((counts - 1 > best_other)[where] & (wanted > 0) & (keys > 0))


def _from_cell(view: View, given: int, person: int, own: int) -> bool:
    """Return whether the released cell alone tells a person's value: the commonest one among those it covers."""
    column = view.columns[given]
    value = int(column.facts.values[person])
    fitting = covered(column, int(column.facts.rows[own]))[: view.people]
    counts = np.bincount(column.facts.values[: view.people][fitting] + 1, minlength=value + 2)
    counts[value + 1] -= 1
    return value != MISSING and int(counts.argmax()) == value + 1
