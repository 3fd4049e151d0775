"""What the scale benchmark aims at, and what it reached: ratios of two runs of one record."""

from __future__ import annotations

from measure import Row
from scale_record import ScaleRecord
from scale_words import in_time, many_of


def goal_rows(record: ScaleRecord) -> list[Row]:
    """Return every goal with what was measured."""
    return [
        cost(record),
        memory(record, "the driver's Java, most in use after a collection", "kept_mib"),
        memory(record, "the driver's Python, most held", "python_mib"),
        *(overhead(record, rows) for rows in record.sizes),
        loss(record),
        faster(record),
    ]


def goal_lines(record: ScaleRecord) -> list[str]:
    """Return a line for each goal, for a terminal."""
    return [f"{'met' if row.met else 'NOT met'}: {row.name}: {row.ratio:.3g}" for row in goal_rows(record)]


def cost(record: ScaleRecord) -> Row:
    """Return what a row costs in the large table against the small one."""
    small, large = (record.one("table", rows)["seconds"] / rows * 1e6 for rows in record.sizes)
    name = f"cost per row, {_sizes(record)}"
    return Row(name, f"{large:.2f} µs", f"{small:.2f} µs", large / small, 1.3, at_most=True)


def memory(record: ScaleRecord, name: str, kind: str) -> Row:
    """Return the most memory of a part of the driver with the large table against the small one."""
    small, large = (record.one("table", rows)[kind] for rows in record.sizes)
    return Row(f"{name}, {_sizes(record)}", f"{large:,} MiB", f"{small:,} MiB", large / small, 1.2, at_most=True)


def overhead(record: ScaleRecord, rows: int) -> Row:
    """Return how much longer a release takes than the least that such a job does."""
    ours, bare = (record.one(job, rows)["seconds"] for job in ("table", "bare"))
    name = f"table over bare count, join and write, {many_of(rows)} rows"
    return Row(name, in_time(ours), in_time(bare), ours / bare, 1.5, at_most=True)


def loss(record: ScaleRecord) -> Row:
    """Return what microaggregation loses by blocks against all rows together."""
    blocks, together = (record.all(job)[-1] for job in ("blocks", "single_blocks"))
    name = f"microaggregation of {many_of(blocks['rows'])} rows by blocks, loss against one machine"
    ours, whole = blocks["loss"], together["loss"]
    return Row(name, f"{ours:.4g} %", f"{whole:.4g} %", ours / whole, 1.03, at_most=True)


def faster(record: ScaleRecord) -> Row:
    """Return how many times faster the single machine is where the rows fit in its memory."""
    small = record.sizes[0]
    alone, spark = (record.one(job, small)["seconds"] for job in ("single", "table"))
    name = f"single machine, times faster at {many_of(small)} rows"
    return Row(name, in_time(alone), f"Spark, {in_time(spark)}", spark / alone, 1, at_most=False)


def _sizes(record: ScaleRecord) -> str:
    small, large = record.sizes
    return f"{many_of(large)} against {many_of(small)} rows"
