"""One node of the lattice beside ARX, on 8 to 15 quasi-identifiers: losses by one independent script, and CPU seconds.

ARX minimises the loss of labels, (m - 1)/(D - 1) for m of D leaves, and ours NCP, m/D. The cheapest node by one need
not be the cheapest by the other, so both are measured of both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import arx
import local_recoding
import numpy as np
from label_loss import label_loss
from lattice import MODELS, adult_whole
from measure import NotMeasuredError, Part, Row, data_folder

import sfumato as sf
from sfumato.evaluate.utility import utility
from sfumato.tabular import Optimal
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.problem import Problem

SUPPRESSED = 0.1
SHORT = 2.5  # seconds of a search that may stop before its proof
EXACT, BOUNDED = (8, 9, 10, 11), (11, 12, 13, 15)  # columns of Adult: ARX's own optimum takes minutes from 12 on


class Found(NamedTuple):
    """The loss of a released file's labels, its NCP, and the CPU seconds that it took."""

    loss: float
    ncp: float
    seconds: float

    def __str__(self) -> str:
        return f"loss {self.loss:.4f}, NCP {self.ncp:.4f}, {self.seconds:.1f} CPU s"


def adult(columns: int) -> tuple[sf.Table, sf.Schema]:
    """Return so many columns of Adult, numbers with the ladders that ours gives them written out for both tools."""
    return with_trees(*adult_whole(data_folder(), columns))


def ipums() -> tuple[sf.Table, sf.Schema]:
    """Return eight columns of the census of 1980."""
    case = local_recoding.ipums()
    return with_trees(case.table, case.schema)


def with_trees(table: sf.Table, schema: sf.Schema) -> tuple[sf.Table, sf.Schema]:
    """Return the quasi-identifiers alone, each with a hierarchy that any tool can read."""
    columns = {}
    for column in Problem.of(table, schema, MODELS).quasi:
        ladder = Ladder.of(column)
        names = zip(ladder.nodes, ladder.labels, strict=True)
        levels = [[labels[node] for node in nodes] for nodes, labels in names]
        tree = sf.Hierarchy.from_rows([list(path) for path in zip(*levels, strict=True)])
        columns[column.name] = sf.Attribute(column.name, sf.Role.QUASI, hierarchy=tree)
    return sf.Table.from_frame(table.frame.select(list(columns))), sf.Schema(columns)


def trees_of(schema: sf.Schema) -> Mapping[str, sf.Hierarchy]:
    """Return the hierarchy of every column."""
    return {name: column.hierarchy for name, column in schema.columns.items() if column.hierarchy is not None}


def ours(table: sf.Table, schema: sf.Schema, seconds: float | None) -> Found:
    """Return what our search loses."""
    start = time.process_time()
    release = Optimal(suppress=SUPPRESSED, seconds=seconds).anonymize(table, schema, MODELS)
    return measured(table, schema, release.table, time.process_time() - start)


def theirs(table: sf.Table, schema: sf.Schema, search: str) -> Found:
    """Return what ARX's search loses; its seconds are those of its whole process."""
    frame, seconds = arx.one_node(table.frame, trees_of(schema), search, SUPPRESSED, "k=5")
    return measured(table, schema, sf.Table(frame), seconds)


def measured(table: sf.Table, schema: sf.Schema, released: sf.Table, seconds: float) -> Found:
    """Return both losses of a released file."""
    return Found(label_loss(released.frame, trees_of(schema)), utility(table, schema, released).gcp, seconds)


def beside(
    name: str, make: Callable[[], tuple[sf.Table, sf.Schema]], search: str, seconds: float | None
) -> Iterator[Row]:
    """Yield loss and CPU seconds beside ARX's; a first run on few rows compiles."""
    table, schema = make()
    few = table.take(np.arange(table.rows) % 40 == 0)
    ours(few, schema, 0.1)
    found = ours(table, schema, seconds)
    title = f"{name}, k=5, 10 % suppressed, {'proven optimum' if seconds is None else f'{seconds:g} s'}"
    try:
        other = theirs(table, schema, search)
    except NotMeasuredError as problem:
        yield Row.missing(f"{title}, beside ARX ({search})", str(problem))
        return
    texts = str(found), f"ARX ({search}), {other}"
    yield Row(f"{title}, loss of labels beside ARX ({search})", *texts, found.loss / other.loss, 1.005, at_most=True)
    yield Row(f"{title}, NCP beside ARX ({search})", *texts, found.ncp / other.ncp, 1.0005, at_most=True)
    yield Row(f"{title}, CPU beside ARX ({search})", *texts, found.seconds / other.seconds, 1, at_most=True)


PARTS = (
    *(
        Part(
            f"one node beside ARX, Adult, {columns} columns",
            partial(beside, f"Adult, {columns} columns", partial(adult, columns), "optimal", None),
        )
        for columns in EXACT
    ),
    Part("one node beside ARX, IPUMS", partial(beside, "IPUMS, 8 columns", ipums, "optimal", None)),
    *(
        Part(
            f"one node in {SHORT:g} s beside ARX, Adult, {columns} columns",
            partial(beside, f"Adult, {columns} columns", partial(adult, columns), "genetic", SHORT),
        )
        for columns in BOUNDED
    ),
)
