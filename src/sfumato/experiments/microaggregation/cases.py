"""What the experiment computes: losses of all algorithms on seven record sets, by run, by work and by column.

CENSUS, TARRAGONA and EIA are the sets of the CASC project (Brand, Domingo-Ferrer & Mateo-Sanz 2002). SimU and SimC are
described in the literature, their rows are not at hand: ours are drawn after the description, from a seed. kAnonyMeans
and kAnonyMeans* are those of Stoldt (slides, 2019); the modules called here cite the others' papers. A loss is
L = 100 · SSE / SST in per cent (Domingo-Ferrer & Mateo-Sanz 2002). Nothing here is stopped by a clock: the seed gives
the loss, and a slower machine takes longer to find it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.tabular.microaggregation.loss import Labels, Records, information_loss, standardize

FILES = {
    "CENSUS": "census.csv",
    "TARRAGONA": "tarragona.csv",
    "EIA": "eia.csv",
    "Cloud1": "cloud1.csv",
    "Cloud2": "cloud2.csv",
}
NOT_USED = ("UTILNAME", "STATE", "YEAR", "MONTH")  # the literature leaves them out of EIA
ROWS, COLUMNS, SIDE, SPREAD = 1000, 10, 10_000.0, 500.0
DRAWN_FROM = 1
GENERATIONS, KICKS = 30, 50_000
PLAIN, MERGED = "kAnonyMeans, one round", "kAnonyMeans, 20 rounds"
EVOLVED = "kAnonyMeans*"
POLISHED, POLISHED_PLUS, SEARCHED = "polished, from MDAV", "polished, from MDAV+", "best: polished and searched"
SCATTERED, CLUSTERED = "V-MDAV, γ = 0.2", "V-MDAV, γ = 1.1"
MARKS = (1, 2, 5, 10, 20, 50, 100)  # passes after which a repetition is looked at
COURSE_GENERATIONS = 8  # with 20 at first and 15 children each: 140 passes
COURSE_KICKS = 100_000
APART = 1000  # between the first seeds of two repetitions, so that no pass is made twice


def columns(data: Data, dataset: str) -> list[str]:
    """Return the names of a real set's columns that are grouped.

    >>> len(columns(Data(None), "EIA"))
    11
    """
    return [name for name in data.frame(FILES[dataset]).columns if name not in NOT_USED]


def records(data: Data, dataset: str) -> Records:
    """Return a set's records, z-scored.

    >>> records(Data(None), "SimC").shape, records(Data(None), "TARRAGONA").shape
    ((1000, 10), (834, 13))
    """
    if dataset in DRAWN:
        return standardize(DRAWN[dataset](np.random.default_rng(DRAWN_FROM)))
    wanted = columns(data, dataset)
    return standardize(data.frame(FILES[dataset]).select(wanted).to_numpy().astype(np.float64))


def _uniform(draw: np.random.Generator) -> Records:
    return draw.uniform(-SIDE, SIDE, (ROWS, COLUMNS))


def _clustered_records(draw: np.random.Generator) -> Records:
    """Return natural groups of three to five records around uniform centres."""
    groups: list[Records] = []
    while sum(map(len, groups)) < ROWS:
        centre = draw.uniform(-SIDE, SIDE, COLUMNS)
        groups.append(centre + draw.normal(0, SPREAD, (int(draw.integers(3, 6)), COLUMNS)))
    return np.clip(np.concatenate(groups)[:ROWS], -SIDE, SIDE)


DRAWN: dict[str, Callable[[np.random.Generator], Records]] = {"SimU": _uniform, "SimC": _clustered_records}


def find_groups(algorithm: str, x: Records, k: int, seed: int) -> Labels:
    """Return the group of every record.

    >>> import numpy as np
    >>> find_groups("MDAV", np.array([[0.0], [0.1], [5.0], [5.1]]), 2, 0).tolist()
    [0, 0, 1, 1]
    """
    return ALGORITHMS[algorithm](x, k, seed)


def _mdav(x: Records, k: int, _seed: int) -> Labels:
    from sfumato.tabular.microaggregation.algorithms.mdav import mdav

    return mdav(x, k)


def _mdav_plus(x: Records, k: int, _seed: int) -> Labels:
    from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus

    return mdav_plus(x, k)


def _mdav_star(x: Records, k: int, _seed: int) -> Labels:
    from sfumato.tabular.microaggregation.algorithms.mdav_star import mdav_star

    return mdav_star(x, k)


def _vmdav(gamma: float) -> Callable[[Records, int, int], Labels]:
    def group(x: Records, k: int, _seed: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.vmdav import vmdav

        return vmdav(x, k, gamma)

    return group


def _kanonymeans(rounds: int) -> Callable[[Records, int, int], Labels]:
    def group(x: Records, k: int, seed: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.kanonymeans import kanonymeans

        return kanonymeans(x, k, rounds=rounds, seed=seed)

    return group


def _kanonymeans_star(x: Records, k: int, seed: int) -> Labels:
    from sfumato.tabular.microaggregation.algorithms.kanonymeans_star import kanonymeans_star

    return kanonymeans_star(x, k, generations=GENERATIONS, seed=seed)


def _polish_from(start: Callable[[Records, int, int], Labels]) -> Callable[[Records, int, int], Labels]:
    def group(x: Records, k: int, seed: int) -> Labels:
        from sfumato.tabular.microaggregation.search.polish import polish

        return polish(x, k, start(x, k, seed))

    return group


def _search(x: Records, k: int, seed: int) -> Labels:
    from sfumato.tabular.microaggregation.search.improve import improve

    return improve(x, k, _mdav(x, k, seed), iterations=KICKS, seed=seed)


def _univariate(x: Records, k: int, _seed: int) -> Labels:
    from sfumato.tabular.microaggregation.algorithms.univariate import univariate

    return univariate(x, k)


ALGORITHMS: dict[str, Callable[[Records, int, int], Labels]] = {
    "MDAV": _mdav,
    "MDAV+": _mdav_plus,
    "MDAV*": _mdav_star,
    SCATTERED: _vmdav(0.2),
    CLUSTERED: _vmdav(1.1),
    PLAIN: _kanonymeans(1),
    MERGED: _kanonymeans(20),
    EVOLVED: _kanonymeans_star,
    POLISHED: _polish_from(_mdav),
    POLISHED_PLUS: _polish_from(_mdav_plus),
    SEARCHED: _search,
    "univariate optimum": _univariate,
}
FIXED = ("MDAV", "MDAV+", "MDAV*", SCATTERED, CLUSTERED, POLISHED, POLISHED_PLUS)  # nothing is drawn: seed 0


def loss(data: Data, *, dataset: str, k: int, algorithm: str, seed: int) -> Iterator[Row]:
    """Give the loss of one run over all columns of a set.

    >>> [round(row["loss"], 3) for row in loss(Data(None), dataset="SimC", k=3, algorithm="MDAV", seed=0)]
    [6.015]
    """
    x = records(data, dataset)
    yield {"loss": information_loss(x, find_groups(algorithm, x, k, seed))}


def column_loss(data: Data, *, dataset: str, k: int, algorithm: str, seed: int) -> Iterator[Row]:
    """Give the loss of each column of a set that is grouped by itself."""
    x = records(data, dataset)
    for place, name in enumerate(columns(data, dataset)):
        one = x[:, place : place + 1].copy()
        yield {"column": name, "loss": information_loss(one, find_groups(algorithm, one, k, seed))}


def searched_loss(data: Data, *, dataset: str, k: int, kicks: int, seed: int) -> Iterator[Row]:
    """Give the loss of a long search from MDAV, and the seconds of processor time it took."""
    from sfumato.tabular.microaggregation.search.improve import improve

    x = records(data, dataset)
    start = find_groups("MDAV", x, k, seed)
    begun = time.process_time()
    labels = improve(x, k, start, iterations=kicks, seed=seed)
    yield {"loss": information_loss(x, labels), "seconds": time.process_time() - begun}


def course(data: Data, *, dataset: str, k: int, algorithm: str, seed: int) -> Iterator[Row]:
    """Give the lowest loss so far of one repetition after a few numbers of steps (passes, or kicks of the search).

    A pass is one κ-means with merge and split; time is processor time of the one thread, which neighbours on the
    machine lengthen by less than the clock's time.
    """
    x = records(data, dataset)
    warmed = x[: 4 * k].copy()
    find_groups(algorithm, warmed, k, seed)  # so that loading compiled kernels is not counted
    follow = {PLAIN: _follow_restarts, EVOLVED: _follow_evolution}.get(algorithm, _follow_search)
    yield from follow(x, k, seed)


def _follow_restarts(x: Records, k: int, seed: int) -> Iterator[Row]:
    least, begun = np.inf, time.process_time()
    for step in range(1, MARKS[-1] + 1):
        least = min(least, information_loss(x, find_groups(PLAIN, x, k, APART * seed + step)))
        if step in MARKS:
            yield {"step": step, "seconds": time.process_time() - begun, "loss": least}


def _follow_evolution(x: Records, k: int, seed: int) -> Iterator[Row]:
    from sfumato.tabular.microaggregation.algorithms.kanonymeans_star import Breeding, kanonymeans_star

    breeding, spread = Breeding(), float(np.square(x).sum())
    births = breeding.population - breeding.survivors
    rows: list[Row] = []
    begun = time.process_time()

    def note(generation: int, error: float) -> None:
        passes = breeding.population + births * generation
        rows.append({"step": passes, "seconds": time.process_time() - begun, "loss": 100 * error / spread})

    kanonymeans_star(x, k, breeding=breeding, generations=COURSE_GENERATIONS, seed=seed, on_generation=note)
    yield from rows


def _follow_search(x: Records, k: int, seed: int) -> Iterator[Row]:
    """Follow polishing and search from MDAV: after the first kicks, and each time their number has doubled since."""
    from sfumato.tabular.microaggregation.search.improve import SearchProgress, improve

    begun = time.process_time()
    start = find_groups("MDAV", x, k, seed)
    rows: list[Row] = [{"step": 0, "seconds": time.process_time() - begun, "loss": information_loss(x, start)}]
    next_look = 1

    def note(progress: SearchProgress) -> None:
        nonlocal next_look
        kicks = round(progress.share * COURSE_KICKS)
        if kicks >= next_look:
            rows.append({"step": kicks, "seconds": time.process_time() - begun, "loss": progress.loss})
            next_look = 2 * kicks

    improve(x, k, start, iterations=COURSE_KICKS, seed=seed, on_progress=note)
    yield from rows
