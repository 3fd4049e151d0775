"""What every model must do: validate itself, behave under merging as declared, agree with its kernel and its card."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.checks.base import Check, ConformanceError, expect, parameter_checks
from sfumato.checks.tables import random_schema, random_table
from sfumato.models import Groups, Model
from sfumato.models.criteria import SLACK, flatten
from sfumato.models.groups import ClassCounts
from sfumato.release.card import MeasuredModel
from sfumato.table.coding import Column, code_sensitive, only_observed


def model_checks(model: Model) -> Iterator[Check]:
    """Yield the checks for one model on the sensitive column `disease` or `income`.

    >>> import sfumato as sf
    >>> for check in model_checks(sf.LDiversity(2, "disease")):
    ...     check.run()
    """
    yield from parameter_checks(model)
    for seed in range(8):
        yield Check(f"merging classes keeps the model (seed {seed})", partial(_check_merging, model, seed))
        yield Check(f"suppressing classes keeps the model (seed {seed})", partial(_check_suppressing, model, seed))
        yield Check(f"the measure is that of the worst class (seed {seed})", partial(_obvious, model, seed))
        yield Check(f"the compiled test agrees (seed {seed})", partial(_check_kernel, model, seed))
        yield Check(f"no part breaks what holds in all parts (seed {seed})", partial(_check_parts, model, seed))
    yield Check("a card's entry gives the model back", partial(_on_card, model))
    yield Check("its sentence can be said", partial(_speaks, model))


def _sensitive(seed: int, rows: int) -> dict[str, Column]:
    table, schema = random_table(seed, rows), random_schema()
    return {
        name: only_observed(code_sensitive(table.column(name), schema.columns[name])) for name in ("disease", "income")
    }


def _classes(seed: int, rows: int) -> npt.NDArray[np.int64]:
    labels = np.random.default_rng(seed).integers(0, 4, rows)
    return np.unique(labels, return_inverse=True)[1]


def _check_merging(model: Model, seed: int) -> None:
    sensitive, classes = _sensitive(seed, 60), _classes(seed, 60)
    apart = model.measure(Groups.of(classes, sensitive))
    merged = model.measure(Groups.of(np.maximum(classes - 1, 0), sensitive))
    better = merged >= apart - SLACK if model.at_least else merged <= apart + SLACK
    expect(better or not model.merge_monotone, f"{model.name} went from {apart} to {merged} when two classes merged")


def _check_suppressing(model: Model, seed: int) -> None:
    """Check that no set of classes that leaves makes the value of the others worse."""
    if not model.suppression_monotone:
        return
    sensitive, classes = _sensitive(seed, 60), _classes(seed, 60)
    before, every = model.measure(Groups.of(classes, sensitive)), range(int(classes.max()) + 1)
    for staying in (set(chosen) for size in every[1:] for chosen in combinations(every, size)):
        kept = np.isin(classes, list(staying))
        fewer = {
            name: only_observed(Column(column.attribute, column.codes[kept], column.levels, column.has_missing))
            for name, column in sensitive.items()
        }
        after = model.measure(Groups.of(np.unique(classes[kept], return_inverse=True)[1], fewer))
        better = after >= before - SLACK if model.at_least else after <= before + SLACK
        gone = sorted(set(every) - staying)
        expect(better, f"{model.name} went from {before} to {after} when the classes {gone} left")


def _check_parts(model: Model, seed: int) -> None:
    """Check that no part breaks a model which says that it holds in all of them."""
    if model.sensitive is None or not model.knows_parts:
        return
    column = _sensitive(seed, 60)[model.sensitive]
    draw = np.random.default_rng(seed)
    reference = np.bincount(column.codes, minlength=column.size) / len(column.codes)
    for share in (0.2, 0.5, 1.0):
        members = column.codes[draw.random(len(column.codes)) < share]
        counts = np.bincount(members, minlength=column.size)
        whole = ClassCounts(len(members), len(members), counts, reference, column)
        for size in draw.integers(1, len(members), 12, endpoint=True).tolist():
            parts = [np.bincount(draw.permutation(members)[:size], minlength=column.size) for _ in range(20)]
            broken = [part for part in parts if not model.satisfied(ClassCounts(size, size, part, reference, column))]
            expect(
                not (broken and model.holds_in_parts(whole, size)),
                f"{model.name} says that it holds in all parts of {size}, and does not in {[*map(list, broken[:1])]}",
            )


def _obvious(model: Model, seed: int) -> None:
    groups = Groups.of(_classes(seed, 60), _sensitive(seed, 60))
    worst = min if model.at_least else max
    slow, found = worst(model.class_value(one) for one in groups.each(model.sensitive)), model.measure(groups)
    if model.of_table:
        kept = found >= slow - SLACK if model.at_least else found <= slow + SLACK
        expect(kept, f"{model.name} has {found} in the table, which is worse than {slow}, that of its worst class")
        return
    expect(math.isclose(slow, found, rel_tol=1e-9, abs_tol=1e-9), f"{model.name}: classes say {slow}, measured {found}")


def _check_kernel(model: Model, seed: int) -> None:
    if model.sensitive is None or not model.compiled:
        return
    from sfumato.models.criteria_kernel import criterion_holds

    column = _sensitive(seed, 60)[model.sensitive]
    criterion = model.criterion(column)
    if criterion is None:
        raise ConformanceError(f"{model.name} speaks of a sensitive column and its compiled test does not")
    groups = Groups.of(_classes(seed, 60), {model.sensitive: column})
    flat = flatten([(criterion, 0)], [groups.sensitive[model.sensitive].reference])
    for one in groups.each(model.sensitive):
        enough = one.units >= model.least_units
        flow = np.zeros(column.size + 1)
        fast = enough and criterion_holds(flat, 0, one.counts.copy(), one.units, one.known_units, flow)
        expect(
            bool(fast) == model.satisfied(one), f"{model.name}: compiled {fast} for the counts {one.counts.tolist()}"
        )


def _on_card(model: Model) -> None:
    entry = MeasuredModel(model=model.name, column=model.sensitive, asked=model.asked, measured=0)
    expect(
        model.name in type(model).card_names, f"{type(model).__name__} does not declare its card's name {model.name}"
    )
    again = type(model).from_card(entry, model.parameters())
    expect(again == model, f"{type(model).__name__} read from its card is {again}")


def _speaks(model: Model) -> None:
    parts = {name: name for name in ("units", "quasi", "one", "column", "asked", "asked_percent", *model.parameters())}
    try:
        said = model.sentence.format(**parts)
    except (KeyError, IndexError) as error:
        raise ConformanceError(f"the sentence of {model.name} names {error}, which no report knows") from error
    expect(said.strip().endswith("."), f"the sentence of {model.name} does not end: {said!r}")
