"""What every stream publisher must do: batches change nothing, delays hold, no record is lost, states go on exactly.

The suite follows river's `check_estimator` (Montiel et al. 2021); noise is compared under one seeded source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import fields, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.checks.base import Check, expect, parameter_checks
from sfumato.errors import InputError
from sfumato.random import KEYED, KeyedSource, SeededSource, Source
from sfumato.release.card import Guarantee
from sfumato.stream.base import Published, Publisher, SampleStream, whole_numbers

ROWS = 400
Together = tuple[Any, ...]


def publisher_checks(
    publisher: Publisher, stream: SampleStream = whole_numbers, *, keeps_rows: bool = True
) -> Iterator[Check]:
    """Yield the checks for one publisher on streams that `stream(seed, rows)` gives, as `push_many` takes them.

    `keeps_rows` says that as many rows leave as came in; where a noisy count decides, it is False, a window of which no
    row leaves keeps its number, and an empty stream has windows too.

    >>> from sfumato.stream import NaiveLaplace
    >>> for check in publisher_checks(NaiveLaplace(bounds=(0, 1000))):
    ...     check.run()
    """
    yield from parameter_checks(publisher)
    for seed in (1, 2, 3):
        batch = stream(seed, ROWS)
        for name, function in CHECKS.items():
            yield Check(f"{name} (seed {seed})", partial(function, publisher, batch, seed))
        if keeps_rows:
            yield Check(f"no record is lost (seed {seed})", partial(_keeps_rows, publisher, batch, seed))
            yield Check(f"groups have no gaps (seed {seed})", partial(_groups_have_no_gaps, publisher, batch, seed))
    if keeps_rows:
        yield Check("an empty stream gives nothing", lambda: _empty_stream(publisher))
    if not publisher.waits:
        yield Check("memory is bounded", lambda: _memory_is_bounded(publisher, stream))
    yield Check("an empty batch gives nothing", lambda: _empty_batch(publisher, stream))
    yield Check("a state of other parameters is refused", lambda: _refuses_other(publisher))
    yield Check("the card names the columns", lambda: _card(publisher))


def fresh(publisher: Publisher, source: Source) -> Publisher:
    """Return a publisher with the same parameters, no records, and its own source.

    >>> from sfumato.stream import NaiveLaplace
    >>> fresh(NaiveLaplace(bounds=(0, 9)), SeededSource(1)).bounds
    (0, 9)
    """
    return replace(publisher, rng=source)  # type: ignore[type-var]


def join_rows(parts: Sequence[Published]) -> Together:
    """Return the rows of several calls one after the other: values, group, size, seq, position.

    >>> join_rows([Published.empty(), Published.empty()])[3].tolist()
    []
    """
    some = [part for part in parts if len(part)] or [parts[0]]
    columns = [np.concatenate([getattr(part, name) for part in some]) for name in ("values", "group", "size", "seq")]
    linked = some[0].position is not None
    return (*columns, np.concatenate([part.position for part in some]) if linked else None)


def run(publisher: Publisher, batch: Any, cuts: Sequence[int] = ()) -> list[Published]:
    """Return what leaves when the stream comes in batches cut at `cuts`, the flush included.

    >>> from sfumato.stream import NaiveLaplace
    >>> [len(part) for part in run(NaiveLaplace(bounds=(0, 9)), np.arange(5.0), [2])]
    [2, 3, 0]
    """
    ends = [0, *sorted(cuts), len(batch)]
    parts = [publisher.push_many(batch[start:end]) for start, end in pairwise(ends)]
    return [*parts, publisher.flush()]


def same(first: Together, second: Together) -> bool:
    """Return whether two runs published the same rows.

    >>> nothing = join_rows([Published.empty()])
    >>> same(nothing, nothing)
    True
    """
    return all(
        (one is None and other is None) or (one is not None and np.array_equal(one, other, equal_nan=True))
        for one, other in zip(first, second, strict=True)
    )


def _batches_agree(publisher: Publisher, batch: Any, seed: int) -> None:
    whole = join_rows(run(fresh(publisher, SeededSource(seed)), batch))
    single = fresh(publisher, SeededSource(seed))
    one_by_one = join_rows([*(single.push(record) for record in batch), single.flush()])
    expect(same(whole, one_by_one), "a loop of push gives other rows than push_many")
    draw = np.random.default_rng(seed)
    for count in (1, 7, 50):
        cuts = draw.integers(0, len(batch) + 1, count)
        parts = join_rows(run(fresh(publisher, SeededSource(seed)), batch, cuts.tolist()))
        expect(same(whole, parts), f"{count} cuts of the stream into batches change what is published")


def _rows_are_numbered(publisher: Publisher, batch: Any, seed: int) -> None:
    values, group, size, seq, position = join_rows(run(fresh(publisher, SeededSource(seed)), batch))
    expect(len(values) == len(group) == len(size) == len(seq), "the published columns differ in length")
    expect(np.array_equal(seq, np.arange(len(seq))), "seq has gaps")
    _, counts = np.unique(group, return_counts=True)
    expect(np.all(np.diff(group) >= 0), "group decreases")
    expect(np.array_equal(size, np.repeat(counts, counts)), "size is not the number of the group's rows")
    expect((position is not None) == publisher.linked, "position does not fit what 'linked' says")
    if position is not None:
        expect(len(np.unique(position)) == len(position), "a record left twice")


def _groups_have_no_gaps(publisher: Publisher, batch: Any, seed: int) -> None:
    numbers = np.unique(join_rows(run(fresh(publisher, SeededSource(seed)), batch))[1])
    expect(np.array_equal(numbers, np.arange(len(numbers))), "group numbers have gaps")


def _keeps_rows(publisher: Publisher, batch: Any, seed: int) -> None:
    subject = fresh(publisher, SeededSource(seed))
    out = join_rows(run(subject, batch))
    expect(len(out[3]) == len(batch), f"{len(batch)} records came, {len(out[3])} rows left")
    expect(subject.held == 0, f"{subject.held} records are held after the flush")
    if out[4] is not None:
        expect(np.array_equal(np.sort(out[4]), np.arange(len(batch))), "a position is missing")


def _delay_holds(publisher: Publisher, batch: Any, seed: int) -> None:
    subject = fresh(publisher, SeededSource(seed))
    out: list[Published] = []
    for number, record in enumerate(batch):
        out.append(subject.push(record))
        expect(subject.held <= subject.delay, f"{subject.held} records are held, {subject.delay} is the delay")
        beta = getattr(subject, "beta", None)
        if beta is not None:
            clusters = subject.clusters  # type: ignore[attr-defined]
            expect(clusters <= beta, f"{clusters} clusters are held, {beta} is the most")
        positions = out[-1].position
        if positions is not None and len(positions):
            expect(positions.max() <= number, "a record left before it came")
            expect(positions.min() >= number - subject.delay, f"a record waited more than {subject.delay} others")


def _state_goes_on(publisher: Publisher, batch: Any, seed: int) -> None:
    draw = np.random.default_rng(seed)
    for cut in [0, 1, len(batch), *draw.integers(0, len(batch), 12).tolist()]:
        source = SeededSource(seed)
        first = fresh(publisher, source)
        first.push_many(batch[:cut])
        state = first.state()
        second = fresh(publisher, deepcopy(source))
        second.restore(state)
        expect(second.held == first.held, f"{first.held} records were saved, {second.held} restored")
        expect(second.state() == state, "a restored publisher gives another state")
        on, again = join_rows(run(first, batch[cut:])), join_rows(run(second, batch[cut:], [(len(batch) - cut) // 2]))
        expect(same(on, again), f"a publisher restored after {cut} records goes on otherwise")


def _keyed_repeats(publisher: Publisher, batch: Any, seed: int) -> None:
    """Expect rows to be a function of key and records, through any cuts, and other noise under another key."""
    draw, key = np.random.default_rng(seed), bytes([seed] * 32)
    whole = join_rows(run(fresh(publisher, KeyedSource(key)), batch))
    cuts = sorted({0, len(batch), *draw.integers(0, len(batch), 6).tolist()})
    parts, state = [], fresh(publisher, KeyedSource(key)).state()
    for start, end in pairwise(cuts):
        task = fresh(publisher, KeyedSource(key))
        task.restore(state)
        parts.append(task.push_many(batch[start:end]))
        state = task.state()
    last = fresh(publisher, KeyedSource(key))
    last.restore(state)
    expect(same(whole, join_rows([*parts, last.flush()])), "keyed rows change with where the stream was cut and saved")
    one = fresh(publisher, KeyedSource(key))
    single = join_rows([*(one.push(record) for record in batch), one.flush()])
    expect(same(whole, single), "keyed rows change with batches")
    other = join_rows(run(fresh(publisher, KeyedSource(bytes(32))), batch))
    expect(not same(whole, other), "another key gives the same rows")
    expect(KEYED in fresh(publisher, KeyedSource(key)).card("reading").assumptions, "the card does not tell of a key")


CHECKS: dict[str, Callable[[Publisher, Any, int], None]] = {
    "batches change nothing": _batches_agree,
    "rows are numbered": _rows_are_numbered,
    "the delay is kept": _delay_holds,
    "a restored state goes on": _state_goes_on,
    "keyed noise repeats": _keyed_repeats,
}


def _memory_is_bounded(publisher: Publisher, stream: SampleStream) -> None:
    subject = fresh(publisher, SeededSource(1))
    sizes = []
    batch = stream(1, 40 * ROWS)
    for start in range(0, len(batch), ROWS // 4):
        subject.push_many(batch[start : start + ROWS // 4])
        sizes.append(len(subject.state()))
    early, late = max(sizes[: len(sizes) // 2]), max(sizes[len(sizes) // 2 :])
    expect(late <= 1.25 * early + 256, f"the state grew from {early} to {late} bytes")


def _empty_batch(publisher: Publisher, stream: SampleStream) -> None:
    subject = fresh(publisher, SeededSource(1))
    expect(len(subject.push_many(stream(1, ROWS)[:0])) == 0, "rows leave though none came")


def _empty_stream(publisher: Publisher) -> None:
    expect(len(fresh(publisher, SeededSource(1)).flush()) == 0, "an empty stream ends with rows")


def _refuses_other(publisher: Publisher) -> None:
    subject = fresh(publisher, SeededSource(1))
    state = subject.state()
    names = {entry.name for entry in fields(publisher)}  # type: ignore[arg-type]
    if "epsilon" in names or "k" in names:
        name = "epsilon" if "epsilon" in names else "k"
        other = replace(publisher, **{name: getattr(publisher, name) + 1})  # type: ignore[type-var]
        _expect_refused(other, state, "a state of other parameters")
    _expect_refused(subject, state[: len(state) // 2], "half a state")
    _expect_refused(subject, b"nonsense", "nonsense")


def _expect_refused(publisher: Publisher, state: bytes, what: str) -> None:
    try:
        publisher.restore(state)
    except InputError:
        return
    expect(condition=False, sentence=f"{what} was restored")


def _card(publisher: Publisher) -> None:
    card = fresh(publisher, SeededSource(1)).card("reading")
    expect(card.door == "stream", "the card names another door")
    expect(card.algorithm == publisher.name, "the card names another algorithm")
    expect(any("seed" in warning for warning in card.warnings), "a seeded release does not say so")
    promise = publisher.promise()
    if promise is None:
        expect("epsilon" not in card.guarantee.parameters, "the card names an epsilon that no promise gives")
        return
    further = {name: card.guarantee.parameters[name] for name in card.guarantee.parameters if name == "per_record"}
    expect(card.guarantee == Guarantee.of(promise, **further), "the card says something else than the promise")
