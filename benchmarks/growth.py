"""How costs grow with rows, columns and k: seconds of every algorithm, and the exponent of the nearest power law."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import growth_cases as cases
import numpy as np
from measure import once
from record import Curve

LIMIT = 4.0  # no further point is taken once the next one would take longer than this by a linear forecast
QUICK = 0.3  # shorter runs are repeated, and the shortest counts
UPPER = 100  # over n, the exponent comes from the upper two decades, where fixed costs hardly matter
HALF_DECADES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
HUNDREDS = (500, 1_000, 2_000, 4_000, 8_000)
COLUMNS = (2, 4, 8, 16)
KS = (3, 10, 30, 100)

Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """What is timed, by whom, over which places; `seconds` tells the time at a place."""

    what: str
    who: str
    over: str
    setting: str
    places: Sequence[int]
    seconds: Callable[[int], float]

    @property
    def title(self) -> str:
        """What is shown while it runs."""
        return f"growth of {self.what} over {self.over} ({self.who})"


def fitted(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms of places and seconds."""
    places, seconds = np.log(np.array(points)).T
    return float(np.polyfit(places, seconds, 1)[0])


def curve(case: Case) -> Curve:
    """Return the measured points of a case and their exponent."""
    points: list[tuple[float, float]] = []
    case.seconds(case.places[0])  # compiles
    for place in case.places:
        if len(points) > 1 and points[-1][1] * place / points[-1][0] > LIMIT:
            break
        points.append((place, case.seconds(place)))
    least = points[-1][0] / UPPER if case.over == "n" else 0
    used = [point for point in points if point[0] >= least]
    exponent = round(fitted(used), 3)
    rounded = tuple((place, float(f"{taken:.4g}")) for place, taken in points)
    return Curve(case.what, case.who, case.over, case.setting, rounded, exponent, used[0][0], used[-1][0])


def ours(what: str, over: str, setting: str, places: Sequence[int], prepare: Callable[[int], Work]) -> Case:
    """Return a case of our own, given the function that makes the work for a place."""
    return Case(what, "sfumato", over, setting, places, partial(run_time, prepare))


def run_time(prepare: Callable[[int], Work], place: int) -> float:
    """Return the seconds of a run, or the shortest of three where it is quick."""
    work = prepare(place)
    first = once(work)
    return first if first > QUICK else min(first, once(work), once(work))


def tables() -> Iterator[Case]:
    """Yield the cases of the table door."""
    yield ours("Mondrian", "n", "d = 4, k = 10", HALF_DECADES, cases.mondrian_rows)
    yield ours("Mondrian", "d", "n = 100,000, k = 10", COLUMNS, cases.mondrian_columns)
    yield ours("Mondrian", "k", "n = 1,000,000, d = 4", KS, cases.mondrian_k)
    yield ours("Datafly", "n", "d = 4, k = 10", HALF_DECADES, cases.datafly_rows)
    yield ours("Incognito", "n", "d = 4, k = 10", HALF_DECADES, cases.incognito_rows)
    yield ours("Incognito", "d", "n = 100,000, k = 10", (2, 3, 4, 6), cases.incognito_columns)
    for name, work in (("MDAV", cases.mdav), ("MDAV+", cases.mdav_plus)):
        yield ours(name, "n", "d = 5, k = 10", HALF_DECADES, partial(work, "n"))
        yield ours(name, "d", "n = 30,000, k = 10", COLUMNS, partial(work, "d"))
        yield ours(name, "k", "n = 30,000, d = 5", KS, partial(work, "k"))
    means = cases.kanonymeans
    yield ours("kAnonyMeans", "n", "d = 5, k = 10", HUNDREDS, partial(means, "n"))
    yield ours("kAnonyMeans", "d", "n = 2,000, k = 10", COLUMNS, partial(means, "d"))
    yield ours("kAnonyMeans", "k", "n = 2,000, d = 5", KS, partial(means, "k"))
    yield Case(
        "MDAV",
        "plain NumPy",
        "n",
        "d = 5, k = 10",
        (1_000, 3_000, 10_000, 20_000),
        partial(run_time, cases.plain_mdav_rows),
    )
    yield Case("Mondrian", "anonypy", "n", "d = 4, k = 10", (1_000, 2_000, 5_000, 10_000), cases.anonypy_seconds)


def other_doors(folder: Path) -> Iterator[Case]:
    """Yield the cases of the local, query and stream doors."""
    yield ours("unary encoding", "n", "domain 24", HALF_DECADES, cases.unary_users)
    domains = (16, 64, 256, 1024, 4096)
    yield ours("unary encoding", "d", "100,000 users; d values", domains, cases.unary_domain)
    counting = partial(cases.count_rows, folder)
    yield ours("private count", "n", "24 groups", HALF_DECADES, counting)
    yield ours("DOCA", "n", "β = 50", HALF_DECADES, cases.doca_records)
    yield ours("adaptive", "n", "windows of 1000", HALF_DECADES, cases.adaptive_records)
    yield ours("CASTLE", "n", "d = 3, k = 10", HALF_DECADES, partial(cases.castle, "n"))
    yield ours("CASTLE", "d", "n = 100,000, k = 10", COLUMNS, partial(cases.castle, "d"))
    yield ours("CASTLE", "k", "n = 100,000, d = 3", KS, partial(cases.castle, "k"))
    plain = partial(run_time, cases.plain_doca_records)
    yield Case("DOCA", "plain Python", "n", "β = 50", (1_000, 3_000, 10_000, 30_000), plain)
    plain = partial(run_time, cases.plain_castle_records)
    yield Case("CASTLE", "plain Python", "n", "d = 3, k = 10", HUNDREDS, plain)


def all_cases() -> Iterator[Case]:
    """Yield every case, with a folder for what it writes."""
    with tempfile.TemporaryDirectory() as place:
        yield from tables()
        yield from other_doors(Path(place))
