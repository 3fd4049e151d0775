"""Run every benchmark, write the record and all that is written from it, and say what fell since the last record.

`python benchmarks/run.py NAME...` runs only the modules named, such as `mondrian` or `growth`, and writes nothing;
`--update NAME...` puts what they measured into the last record.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

import arx_lattice
import audit
import check
import classifier
import compare
import gate
import growth
import growth_plot
import lattice
import ledger
import ledger_postgres
import local
import local_recoding
import machine
import memory
import microaggregation
import minimality
import mondrian
import mondrian_peers
import noise
import page
import perturbation
import population
import promise
import prose
import query
import query_language
import record
import republish
import stream_brokers
import stream_keyed
import stream_paper
import stream_private
import stream_runner
import totals
from measure import NotMeasuredError, Part, Row

DOORS: dict[str, tuple[Part, ...]] = {
    module.__name__: module.PARTS
    for module in (
        mondrian,
        mondrian_peers,
        memory,
        check,
        classifier,
        compare,
        lattice,
        arx_lattice,
        local_recoding,
        republish,
        microaggregation,
        perturbation,
        minimality,
        population,
        query,
        query_language,
        promise,
        ledger,
        ledger_postgres,
        local,
        noise,
        stream_paper,
        stream_private,
        stream_keyed,
        stream_runner,
        stream_brokers,
        totals,
        audit,
        gate,
    )
}
GROWTH = "growth"
UPDATE = "--update"
DOCS = prose.ROOT / "docs"


def say(text: str) -> None:
    """Show progress, and what is wrong, beside the output."""
    print(text, file=sys.stderr, flush=True)


def measured(parts: Iterable[Part]) -> Iterator[Row]:
    """Yield the rows of all parts; a part that cannot be measured is one row that says why."""
    listed = list(parts)
    for number, part in enumerate(listed, start=1):
        say(f"[{number}/{len(listed)}] {part.title} …")
        start = time.perf_counter()
        try:
            rows = list(part.rows())
        except NotMeasuredError as problem:
            rows = [Row.missing(part.title, str(problem))]
        for row in rows:
            say(f"    {row.name}: {row.reference if row.ratio is None else f'{row.ratio:.3g}'}")
        say(f"    {time.perf_counter() - start:.0f} s")
        yield from rows


def grown() -> Iterator[record.Curve]:
    """Yield how the cost of every case grows; a peer that is not there has no curve."""
    for case in growth.all_cases():
        say(f"{case.title} …")
        try:
            found = growth.curve(case)
        except NotMeasuredError as problem:
            say(f"    not measured: {problem}")
        else:
            say(f"    {growth_plot.over_power(found)}, {len(found.points)} points")
            yield found


def write(now: record.Record) -> None:
    """Write the record, its page and pictures, and the sentences of other pages."""
    record.FILE.write_text(record.as_text(now), encoding="utf-8")
    (DOCS / "benchmarks.md").write_text(page.page(now), encoding="utf-8")
    for over in page.PICTURES:
        picture = growth_plot.picture(now.curves, over)
        (DOCS / "images" / f"growth-{over}.svg").write_text(picture, encoding="utf-8")
    prose.write(now)


def compared(last: record.Record | None, now: record.Record) -> int:
    """Say what was missed, left out or fell, and return the exit status: 1 where a ratio fell by more than a third."""
    for row in now.rows:
        if row.met is False:
            say(f"goal not met: {row.name}")
        if row.ratio is None:
            say(f"not measured: {row.name}: {row.reference}")
    if last is None:
        return 0
    for name in record.unmeasured(last, now):
        say(f"in the last record and not in this one: {name}")
    if last.machine != now.machine:
        say("the last record comes from another machine, or from other versions")
    fell = record.fallen(last, now)
    for line in fell:
        say(f"fell by more than a third: {line}")
    if fell:
        say("The record is written; `git checkout` gives the last one back, to compare with once more.")
    return 1 if fell else 0


def main(arguments: list[str]) -> int:
    """Run, print, write, compare."""
    names = [name for name in arguments if name != UPDATE]
    wanted = names or [*DOORS, GROWTH]
    rows = tuple(measured(part for name in wanted if name != GROWTH for part in DOORS[name]))
    now = record.Record(machine.described(), rows, tuple(grown()) if GROWTH in wanted else ())
    print(page.table(now.rows))
    print(page.exponents(now.curves))
    if names and UPDATE not in arguments:
        return 0
    last = record.from_text(record.FILE.read_text(encoding="utf-8")) if record.FILE.exists() else None
    if names and last is not None:
        now = record.updated(last, now)
    write(now)
    return compared(last, now)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
