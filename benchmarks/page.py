"""The page `docs/benchmarks.md`, written from a record: the machine, the table of ratios, how costs grow."""

from __future__ import annotations

from collections.abc import Iterable

from machine import in_words
from measure import Row
from record import Curve, Record

INTRODUCTION = """\
# Benchmarks

Written by `make bench` from `benchmarks/record.json`; every ratio comes from one run on one machine, ours and the
reference side by side, peers in environments of their own on the same data. Single parts may have been measured later
than the rest, on the same machine with the same versions (`benchmarks/run.py --update`). Times are the best of five
after a warm-up, or of one run where it takes many seconds. `anonymize` includes coding, cuts, recoding, the check of
the output and the secure shuffle. Where a goal has ≥, more is better; where it has ≤, less is.

Data: Mondrian, Datafly, CSV and `check` rows have integer columns age 16-94, sex 1-2, education 1-17, birthplace 1-57,
uniform and independent, k = 10; microaggregation has Gaussian columns; Adult and the SMART 9 readings are read from
`SFUMATO_DATA`. A question's time includes ledger, rows, noise and the stored answer, without the delay that hides
timing (`deadline`); streams include their noise.
"""
AGREEMENT = """\
`check` and pyCANON are compared in k, distinct l, t (equal distance for words, ordered for numbers), α, basic β and δ.
Left out are entropy l, which pyCANON rounds down to an integer, and recursive (c, l)-diversity, where it looks for c.
"""
GROWTH = """\
## How costs grow

Seconds ≈ c·n^a, by least squares on logarithms; over n from the upper two decades of what was measured, where fixed
costs hardly matter, over d and k from all points. Rows, columns and k vary one at a time; no point takes more than a
few seconds. d is the number of columns, or of values for unary encoding. An exponent near 1 is linear, one below 0
means that a larger k is cheaper. Peers and plain versions, on fewer rows, stand beside ours.
"""
PICTURES = {
    "n": "Seconds over rows: tables, and the other doors, with peers dashed",
    "d": "Seconds over columns",
    "k": "Seconds over k",
}


def page(record: Record) -> str:
    """Return the whole page."""
    pictures = "\n".join(f"![{words}](images/growth-{over}.svg)\n" for over, words in PICTURES.items())
    growth = f"\n{GROWTH}\n{pictures}\n{exponents(record.curves)}" if record.curves else ""
    return f"{INTRODUCTION}\nMachine: {in_words(record.machine)}\n\n{table(record.rows)}\n{AGREEMENT}{growth}"


def table(rows: Iterable[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | ours | reference | ratio | goal | met |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(_line(row) for row in rows)]) + "\n"


def _line(row: Row) -> str:
    goal = "" if row.goal is None else f"{'≤' if row.at_most else '≥'} {row.goal:g}"
    met = "" if row.met is None else "yes" if row.met else "no"
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    return f"| {row.name} | {row.ours} | {row.reference} | {ratio} | {goal} | {met} |"


def exponents(curves: Iterable[Curve]) -> str:
    """Return the fitted exponents as a Markdown table."""
    lines = ["| what | who | over | exponent | from | to | last point | setting |", "|---|---|---|---|---|---|---|---|"]
    for curve in curves:
        cells = (curve.what, curve.who, curve.over, f"{curve.exponent:.2f}", f"{curve.low:,.0f}", f"{curve.high:,.0f}")
        lines.append(f"| {' | '.join(cells)} | {curve.points[-1][1]:.2g} s | {curve.setting} |")
    return "\n".join(lines) + "\n"
