"""Microaggregation beside a plain two-scan MDAV in NumPy: speed at one thread, growth and memory; ratios in one run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measure import Part, Row, best, data_folder, once, peak_kib

import sfumato as sf
from sfumato.table.coding import code
from sfumato.tabular.microaggregation.algorithms.mdav import mdav
from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus
from sfumato.tabular.microaggregation.algorithms.univariate import univariate
from sfumato.tabular.microaggregation.loss import Labels, Records, standardize
from sfumato.tabular.microaggregation.records import records
from sfumato.tabular.microaggregation.search.journal_kernel import forget
from sfumato.tabular.microaggregation.search.polish import CHUNK, Layout, open_bench
from sfumato.tabular.microaggregation.search.polish_kernel import settle

K = 10
HERE = Path(__file__).parent
WORDS = ("workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")


def gaussian(rows: int, columns: int = 5) -> Records:
    """Return the records of the benchmark, z-scored."""
    return standardize(np.random.default_rng(1).normal(size=(rows, columns)))


def plain_mdav(x: Records, k: int) -> Labels:
    """Return the groups of MDAV as it is usually written: two scans over what is left for every group."""
    labels = np.zeros(len(x), np.int64)
    left = np.arange(len(x))
    group = 0

    def scan(point: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        apart = x[left] - point
        return np.asarray(np.einsum("ij,ij->i", apart, apart))

    def take(seed: int) -> None:
        nonlocal left, group
        members = np.argpartition(scan(x[seed]), k - 1)[:k]
        labels[left[members]] = group
        left = np.delete(left, members)
        group += 1

    while len(left) >= 3 * k:
        first = int(left[np.argmax(scan(x[left].mean(axis=0)))])
        take(first)
        take(int(left[np.argmax(scan(x[first]))]))
    if len(left) >= 2 * k:
        take(int(left[np.argmax(scan(x[left].mean(axis=0)))]))
    labels[left] = group
    return labels


def against_plain() -> list[Row]:
    """Return how many times faster exact MDAV is than the plain one, and MDAV+ with ten times its rows."""
    few, many, wide = gaussian(100_000), gaussian(1_000_000), gaussian(100_000, 13)
    plain, plain_wide = once(lambda: plain_mdav(few, K)), once(lambda: plain_mdav(wide, K))
    exact, exact_wide = best(lambda: mdav(few, K), 3), best(lambda: mdav(wide, K), 1)
    plus = best(lambda: mdav_plus(many, K), 2)
    return [
        _faster("MDAV, 100k rows of 5 columns", exact, ("plain MDAV in NumPy", plain), 8),
        _faster("MDAV, 100k rows of 13 columns", exact_wide, ("plain MDAV in NumPy", plain_wide), 1),
        _faster("MDAV+, 1M rows of 5 columns", plus, ("plain MDAV on 100k", plain), 1),
    ]


def _faster(name: str, ours: float, reference: tuple[str, float], goal: float) -> Row:
    label, seconds = reference
    return Row(f"{name}, k=10", f"{ours:.2f} s", f"{label}, {seconds:.1f} s", seconds / ours, goal, at_most=False)


def a_million() -> list[Row]:
    """Return the time of exact MDAV on a million rows beside a hundred thousand, and its memory beside the data."""
    (small, _), (large, added) = _measured(100_000), _measured(1_000_000)
    data = 1_000_000 * 5 * 8 / 2**20
    return [
        Row(
            "MDAV, 1M rows of 5 columns, finishes; against 100k rows",
            f"{large:.1f} s",
            f"{small:.2f} s",
            large / small,
            100,
            at_most=True,
        ),
        Row(
            "MDAV, 1M rows of 5 columns, memory (linear) against the data's own size",
            f"{added:.0f} MiB",
            f"{data:.0f} MiB",
            added / data,
            12,
            at_most=True,
        ),
    ]


def _measured(rows: int) -> tuple[float, float]:
    """Return the seconds of MDAV in a process of its own, and the MiB by which its peak rose, data included."""
    code = f"import microaggregation; microaggregation.report_mdav({rows})"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True)
    seconds, mebibytes = (float(word) for word in done.stdout.split())
    return seconds, mebibytes


def report_mdav(rows: int) -> None:
    """Print the seconds and the added MiB of one run of MDAV, compiled beforehand."""
    mdav(gaussian(1_000), K)
    before = peak_kib()
    x = gaussian(rows)
    seconds = once(lambda: mdav(x, K))
    print(seconds, (peak_kib() - before) / 1024)


def settling(rows: int) -> tuple[float, float]:
    """Return the seconds until no relocation and no swap gains, from the groups of MDAV+, and the moves per row."""
    x = gaussian(rows)
    layout = Layout.of(x, mdav_plus(x, K))
    bench = open_bench(layout.x, K, layout.labels)
    moves = 0
    start = time.process_time()  # one thread, so that neighbours on the machine do not count
    while bench.journal.span[1] > 0:
        moves += settle(bench.grouping, bench.journal, bench.k, CHUNK, bench.trifle)
        forget(bench.journal)
    return time.process_time() - start, moves / rows


def growth() -> Row:
    """Return how polishing grows from 100k to 1M rows."""
    settling(1_000)
    (small, small_moves), (large, large_moves) = settling(100_000), settling(1_000_000)
    return Row(
        "polishing (relocate and swap to the end), 1M rows against 100k, for the same moves per row",
        f"{large:.2f} s, {large_moves:.2f} moves per row",
        f"{small:.2f} s, {small_moves:.2f}",
        (large / large_moves) / (small / small_moves),
        15,
        at_most=True,
    )


def adult(rows: int) -> Records:
    """Return the points of Adult's first rows, by age and seven columns of words."""
    frame = sf.read(data_folder() / "adult_train.csv.gz").frame.head(rows)
    kinds = {"age": sf.Kind.INTEGER} | dict.fromkeys(WORDS, sf.Kind.CATEGORY)
    return records([code(frame[name], sf.Attribute(name, sf.Role.QUASI, kind)) for name, kind in kinds.items()])


def nanoseconds_per_distance(x: Records, k: int) -> float:
    """Return MDAV's time over n²/k distances: the least of three runs, on a clock that neighbours do not touch."""
    mdav(x, k)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        mdav(x, k)
        seconds.append(time.process_time() - start)
    return min(seconds) * 1e9 / (len(x) ** 2 / k)


def with_words() -> Row:
    """Return what a distance of MDAV costs per column where most columns are words, beside numbers alone."""
    rows, k, numbers, columns = 30_000, 5, 6, 1 + len(WORDS)
    words = adult(rows)
    ours, reference = nanoseconds_per_distance(words, k), nanoseconds_per_distance(gaussian(rows, numbers), k)
    return Row(
        "MDAV with categories (Adult, 30k rows, k=5), time per distance and column against numbers alone",
        f"{ours:.2f} ns, {columns} columns ({words.shape[1]} coordinates)",
        f"{reference:.2f} ns, {numbers} columns",
        (ours / columns) / (reference / numbers),
        1.5,
        at_most=True,
    )


def one_column() -> Row:
    """Return what the univariate optimum costs beside sorting alone."""
    x = gaussian(1_000_000, 1)
    ours, sorting = best(lambda: univariate(x, K), 3), best(lambda: np.argsort(x[:, 0], kind="stable"), 3)
    seconds = f"{ours:.2f} s", f"{sorting:.2f} s"
    return Row("univariate optimum, 1M rows, against numpy.argsort", *seconds, ours / sorting, 5, at_most=True)


PARTS = (
    Part("MDAV and MDAV+ beside a plain MDAV", against_plain),
    Part("MDAV on a million rows", a_million),
    Part("MDAV with words beside numbers alone", lambda: [with_words()]),
    Part("polishing, from 100k to 1M rows", lambda: [growth()]),
    Part("univariate optimum beside numpy.argsort", lambda: [one_column()]),
)
