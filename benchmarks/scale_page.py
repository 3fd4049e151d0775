"""The tables of `docs/scale.md`, written from the record between marks: goals, runs, model, predictions, limits.

A block begins with a line `<!-- scale NAME -->` and ends with `<!-- /scale -->`; what lies between comes from here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from scale_goals import goal_rows
from scale_model import (
    Cluster,
    Line,
    Way,
    asking,
    distinct,
    most_distinct,
    most_rows,
    predict,
    reading,
    single,
    streaming,
    ways,
)
from scale_record import ScaleRecord
from scale_words import cell, in_bytes, in_time, many_of, power, table_of

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
BLOCK = re.compile(r"(<!-- scale (\w+) -->\n).*?(<!-- /scale -->\n)", re.DOTALL)
CLUSTER = Cluster(executors=32, cores=8, link=10e9 / 8)
PREDICTED = (1e9, 1e12)
GIB = 2**30
WIDTH = 120
MEMORIES = (16, 64, 256)
KEYS = 1e6
OWN_LOAD = 1.5  # processes for each core that the benchmark itself may have
ALONE = "Nothing else took the cores."
OTHERS = "Other work took most of the cores, so the time on the clock says little; the model takes processor time."


def write(record: ScaleRecord) -> None:
    """Write the blocks of the page anew."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")


def filled(text: str, record: ScaleRecord) -> str:
    """Return the text of the page with every block written anew."""
    found = [name for _, name, _ in BLOCK.findall(text)]
    if sorted(found) != sorted(BLOCKS):
        raise ValueError(f"docs/scale.md has blocks {sorted(found)}; it needs each of {sorted(BLOCKS)} once")
    return BLOCK.sub(lambda marks: f"{marks[1]}{BLOCKS[marks[2]](record)}\n{marks[3]}", text)


def machine(record: ScaleRecord) -> str:
    """Return one paragraph about the machine of the runs."""
    told = record.machine
    versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items())
    return _wrapped(
        f"Machine: {told['cpu']}, {told['cores']} cores, {told['memory_bytes'] / GIB:.0f} GiB; Java {told['java']}, "
        f"Python {told['python']}, {versions}. Spark runs on `local[{record.cores}]` with a driver of 3 GiB."
    )


def goals(record: ScaleRecord) -> str:
    """Return the goals as a table."""
    lines = []
    for row in goal_rows(record):
        side = f"{'≤' if row.at_most else '≥'} {row.goal:g}"
        lines.append((row.name, row.ours, row.reference, f"{row.ratio:.3g}", side, "yes" if row.met else "no"))
    return table_of(("what", "measured", "against", "ratio", "goal", "met"), lines)


def runs(record: ScaleRecord) -> str:
    """Return every run as a table."""
    kinds = ("input_bytes", "shuffle_bytes", "spilled_bytes", "broadcast_bytes", "output_bytes")
    head = (
        "job",
        "rows",
        "seconds",
        "Java held MiB",
        "Java kept MiB",
        "Python MiB",
        *(f"{kind.split('_')[0]} MB" for kind in kinds),
    )
    lines = [
        (
            run["job"],
            f"{run['rows']:,}",
            f"{run['seconds']:.1f}",
            *(cell(run.get(name), 1) for name in ("driver_mib", "kept_mib", "python_mib")),
            *(cell(run.get(kind), 1e6) for kind in kinds),
        )
        for run in record.runs
    ]
    return table_of(head, lines)


def parts(record: ScaleRecord) -> str:
    """Return what the split into parts, and the one into blocks, cost in loss and time."""
    small = record.sizes[0]
    exact, split = record.one("wide", small), record.one("parts", small)
    blocks, together = record.all("blocks")[-1], record.all("single_blocks")[-1]
    lines = [
        (
            f"Mondrian, {many_of(small)} rows, {split['parts']:g} parts",
            f"{100 * split['certainty_lost']:.3g} % of certainty",
            f"{100 * exact['certainty_lost']:.3g} %",
            in_time(split["seconds"]),
            in_time(exact["seconds"]),
        ),
        (
            f"MDAV+ and polishing, {many_of(blocks['rows'])} rows, {blocks['blocks']:g} blocks",
            f"{blocks['loss']:.4g} % of variance",
            f"{together['loss']:.4g} %",
            in_time(blocks["seconds"]),
            in_time(together["seconds"]),
        ),
    ]
    return table_of(("what", "lost, split", "lost, whole", "time, split", "time, whole"), lines)


def model(record: ScaleRecord) -> str:
    """Return the fitted costs as a table."""
    few, many = ways(record)
    point, stream, asked, topic = distinct(record), streaming(record), asking(record), reading(record)
    logged = f"{topic.broker_seconds * 1e6:.2g} µs of a broker's core and {topic.log_bytes:.3g} bytes for a record"
    lines = [
        *_way_lines(few),
        *_way_lines(many),
        ("driver's Python", _line_words(point.driver)),
        (
            "sent to executors",
            f"{in_bytes(point.broadcast.fixed)} + {in_bytes(point.broadcast.each)} for each distinct row",
        ),
        (
            "stream",
            f"{1 / stream.core_seconds:,.0f} records a second on a core; {in_bytes(stream.state_bytes)} for a key",
        ),
        (
            "stream from Kafka",
            f"{1 / topic.core_seconds:,.0f} records a second on a core; {logged}",
        ),
        ("ledger, when made or opened", _seconds_words(asked.ledger, record.cores)),
        ("question", _seconds_words(asked.question, record.cores)),
    ]
    return table_of(("cost", "fitted"), lines)


def _line_words(line: Line) -> str:
    return f"{in_bytes(line.fixed)} + {in_bytes(line.each)} for each distinct row"


def _seconds_words(line: Line, cores: int) -> str:
    return f"{in_time(line.fixed)} + {line.each * cores * 1e6:.3g} µs of a core for each row"


def _way_lines(way: Way) -> list[tuple[str, str]]:
    read = f"{way.input_bytes:.3g} bytes read {'twice' if way.scans == 2 else 'once'}"
    moved = f"{read}, {way.shuffle_bytes:.3g} shuffled, {way.output_bytes:.3g} written"
    return [
        (f"table, {way.name}, fixed", in_time(way.seconds.fixed)),
        (f"table, {way.name}, a row", f"{way.core_seconds * 1e6:.3g} µs of a core, {moved}"),
    ]


def predictions(record: ScaleRecord) -> str:
    """Return what the model says about the cluster, and about streams on it."""
    lines = []
    for way in ways(record):
        for rows in PREDICTED:
            found = predict(way, rows, CLUSTER)
            spent = (in_time(part) for part in (found.compute, found.network, found.driver, found.total))
            lines.append((way.name, power(rows), *spent, in_bytes(found.disk)))
    head = ("table", "rows", "compute", "network", "driver", "together", "disk of an executor")
    stream, cores = streaming(record), CLUSTER.executors * CLUSTER.cores
    topic = reading(record)
    said = _wrapped(
        f"A stream there: {cores / stream.core_seconds / 1e6:.3g} million records a second; a million keys keep "
        f"{in_bytes(KEYS * stream.state_bytes)} of state. A stream from Kafka there, a record to a message: "
        f"{topic.speed(CLUSTER) / 1e6:.3g} million records a second from a topic of at least {cores} partitions, since "
        f"one core reads a partition; brokers with the cores and the link of an executor that send as much: "
        f"{topic.brokers(CLUSTER)}."
    )
    return f"Predicted, not measured, for {CLUSTER.words}:\n\n{table_of(head, lines)}\n\n{said}"


def topics(record: ScaleRecord) -> str:
    """Return under which conditions streams from Kafka were measured."""
    runs = record.all("topic")
    told = " and ".join(
        f"{many_of(run['rows'])} records ({run['cpu_seconds']:.1f} s of a core for Spark, {run['broker_seconds']:.1f} "
        f"s for the broker, {run['seconds']:.1f} s on the clock)"
        for run in runs
    )
    most = max(run["runs"] for run in runs)
    often = "a run each" if most == 1 else f"means of {most:g} runs each"
    loads = " and ".join(f"{run['load']:.1f}" for run in runs)
    busy = max(run["load"] for run in runs) > OWN_LOAD * record.cores
    return _wrapped(
        f"Streams from Kafka, {often}: {told}. The broker ran on the same {record.cores} cores. Load of the machine "
        f"when the runs began (mean of a minute, the benchmark itself included): {loads}. {OTHERS if busy else ALONE}"
    )


def limits(record: ScaleRecord) -> str:
    """Return what breaks first, and where."""
    (_, every), point = ways(record), distinct(record)
    driver, split = most_distinct()
    shuffled = predict(every, PREDICTED[-1], CLUSTER).disk
    lines = [
        (
            "distinct rows come to the driver",
            f"{driver:,.0f} distinct rows",
            f"{in_bytes(point.driver.at(driver))} of the driver's Python; Mondrian goes on by parts, the others refuse",
        ),
        (
            "a sample tells where to split into parts",
            f"{power(split)} distinct rows",
            "parts get uneven, and one may not fit on its executor",
        ),
        (
            "the driver lists who shuffled what to whom",
            f"{power(most_rows(every))} rows",
            "the list fills 3 GiB; a larger driver (`SPARK_DRIVER_MEMORY`) moves it with its square root",
        ),
        (
            "executors have room for what they shuffle",
            f"{in_bytes(shuffled)} on each of {CLUSTER.executors} at {power(PREDICTED[-1])} rows",
            "more executors, or larger disks",
        ),
    ]
    return table_of(("assumption, in the order in which they break", "holds up to", "then"), lines)


def pays(record: ScaleRecord) -> str:
    """Return the single machine's costs and the size from which Spark pays."""
    alone, (few, _) = single(record), ways(record)
    small = record.sizes[0]
    faster = record.one("table", small)["seconds"] / record.one("single", small)["seconds"]
    room = ", ".join(f"{power(alone.most_rows(memory * GIB))} rows fit in {memory} GiB" for memory in MEMORIES)
    tried = "measured" if any(run["rows"] == record.sizes[1] for run in record.all("single")) else "extrapolated"
    needed = alone.bytes.at(record.sizes[1]) / GIB
    cores = few.core_seconds / alone.seconds.each
    return _wrapped(
        f"The single machine takes {in_bytes(alone.bytes.each)} for each row of these five columns, so that {room}; "
        f"{many_of(record.sizes[1])} rows need {needed:.3g} GiB ({tried}). Where the rows fit, it wins: "
        f"{faster:.2g} times faster at {many_of(small)} rows on the same cores, and a cluster needs about {cores:.0f} "
        "cores to catch up with it. So Spark pays from the size on that no longer fits in one memory, or where the "
        "rows lie on a cluster already."
    )


def _wrapped(text: str) -> str:
    """Return a paragraph in lines of the page's width."""
    return "\n".join(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))


BLOCKS: dict[str, Callable[[ScaleRecord], str]] = {
    block.__name__: block for block in (machine, goals, runs, parts, topics, model, predictions, limits, pays)
}
