"""What every model must do: validate itself, behave under merging as it declares, and agree with its compiled test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.checks.base import Check, expect, parameter_checks
from sfumato.checks.tables import random_schema, random_table
from sfumato.models import Groups, Model
from sfumato.models.criteria import SLACK, flatten
from sfumato.table.coding import Column, code, only_observed


def model_checks(model: Model) -> Iterator[Check]:
    """Yield the checks for one model on the sensitive column `disease` or `income`.

    >>> import sfumato as sf
    >>> for check in model_checks(sf.LDiversity(2, "disease")):
    ...     check.run()
    """
    yield from parameter_checks(model)
    for seed in range(8):
        yield Check(f"merging classes keeps the model (seed {seed})", partial(_merging, model, seed))
        yield Check(f"suppressing a class keeps the model (seed {seed})", partial(_suppressing, model, seed))
        yield Check(f"the compiled test agrees (seed {seed})", partial(_compiled, model, seed))


def _sensitive(seed: int, rows: int) -> dict[str, Column]:
    table, schema = random_table(seed, rows), random_schema()
    return {name: only_observed(code(table.column(name), schema.columns[name])) for name in ("disease", "income")}


def _classes(seed: int, rows: int) -> npt.NDArray[np.int64]:
    labels = np.random.default_rng(seed).integers(0, 4, rows)
    return np.unique(labels, return_inverse=True)[1]


def _merging(model: Model, seed: int) -> None:
    sensitive, classes = _sensitive(seed, 60), _classes(seed, 60)
    apart = model.measure(Groups.of(classes, sensitive))
    merged = model.measure(Groups.of(np.maximum(classes - 1, 0), sensitive))
    better = merged >= apart - SLACK if model.at_least else merged <= apart + SLACK
    expect(better or not model.merge_monotone, f"{model.name} went from {apart} to {merged} when two classes merged")


def _suppressing(model: Model, seed: int) -> None:
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


def _compiled(model: Model, seed: int) -> None:
    if model.sensitive is None:
        return
    from sfumato.models.criteria_kernel import criterion_holds

    column = _sensitive(seed, 60)[model.sensitive]
    criterion = model.criterion(column)
    expect(criterion is not None, f"{model.name} has a sensitive column and no compiled test")
    groups = Groups.of(_classes(seed, 60), {model.sensitive: column})
    reference = groups.sensitive[model.sensitive].reference
    flat = flatten([(criterion, 0)] if criterion is not None else [], [reference])
    verdicts = []
    for number in range(groups.count):
        counts = np.bincount(column.codes[_classes(seed, 60) == number], minlength=column.size)
        enough = int(counts.sum()) >= model.least_units
        verdicts.append(enough and criterion_holds(flat, 0, counts, int(counts.sum()), np.zeros(column.size + 1)))
    measured = model.holds(model.measure(groups))
    expect(all(verdicts) == measured, f"{model.name}: compiled {verdicts}, measured {model.measure(groups)}")
