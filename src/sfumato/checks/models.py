"""What every model must do: validate itself, behave under merging as declared, agree with its kernel and its card."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.checks.base import Check, ConformanceError, expect, parameter_checks
from sfumato.checks.tables import random_schema, random_table
from sfumato.models import Groups, Model
from sfumato.models.criteria import SLACK, flatten
from sfumato.models.groups import ClassCounts
from sfumato.release.card import MeasuredModel
from sfumato.table.coding import Column, code_sensitive, only_observed
from sfumato.tabular.mondrian.blind import worst_part


def model_checks(model: Model) -> Iterator[Check]:
    """Yield the checks for one model on the sensitive column `disease` or `income`.

    >>> import sfumato as sf
    >>> for check in model_checks(sf.LDiversity(2, "disease")):
    ...     check.run()
    """
    yield from parameter_checks(model)
    for seed in range(8):
        yield Check(f"merging classes keeps the model (seed {seed})", partial(_check_merging, model, seed))
        yield Check(f"suppressing a class keeps the model (seed {seed})", partial(_check_suppressing, model, seed))
        yield Check(f"the measure is that of the worst class (seed {seed})", partial(_obvious, model, seed))
        yield Check(f"the compiled test agrees (seed {seed})", partial(_check_kernel, model, seed))
        yield Check(f"no part is worse than the least even one (seed {seed})", partial(_check_evenness, model, seed))
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
    sensitive, classes = _sensitive(seed, 60), _classes(seed, 60)
    kept = classes > 0
    fewer = {
        name: only_observed(Column(column.attribute, column.codes[kept], column.levels, column.has_missing))
        for name, column in sensitive.items()
    }
    before = model.measure(Groups.of(classes, sensitive))
    after = model.measure(Groups.of(classes[kept] - 1, fewer))
    better = after >= before - SLACK if model.at_least else after <= before + SLACK
    expect(better or not model.suppression_monotone, f"{model.name} went from {before} to {after} when a class left")


def _check_evenness(model: Model, seed: int) -> None:
    if model.sensitive is None or not model.evenness_monotone:
        return
    column = _sensitive(seed, 60)[model.sensitive]
    counts = np.bincount(column.codes, minlength=column.size)
    draw = np.random.default_rng(seed)

    def value(part: npt.NDArray[np.int64]) -> float:
        size = int(part.sum())
        return model.class_value(ClassCounts(size, size, part, counts / len(column.codes), column))

    for size in draw.integers(max(2, model.least_units), 60, 20).tolist():
        part = np.bincount(draw.permutation(column.codes)[:size], minlength=column.size)
        worst = [value(worst_part(counts, size, first)) for first in ({None, 0} if column.has_missing else {None})]
        kept = value(part) >= min(worst) - SLACK if model.at_least else value(part) <= max(worst) + SLACK
        expect(kept, f"{model.name} is {value(part)} on a part of {size}, worse than {worst} on the least even one")


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
