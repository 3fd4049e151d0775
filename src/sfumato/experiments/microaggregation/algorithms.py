"""The algorithms that are compared, by name: the slides', those they are measured against, and ours.

Each takes z-scored records, k and a seed; those that draw nothing leave the seed alone. kAnonyMeans and kAnonyMeans*
are those of Stoldt (slides, 2019); the modules called here cite the others' papers.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.tabular.microaggregation.loss import Labels, Records

GENERATIONS, KICKS = 30, 50_000
PLAIN, MERGED = "kAnonyMeans, one round", "kAnonyMeans, 20 rounds"
EVOLVED = "kAnonyMeans*"
POLISHED, POLISHED_PLUS, SEARCHED = "polished, from MDAV", "polished, from MDAV+", "best: polished and searched"
SCATTERED, CLUSTERED = "V-MDAV, γ = 0.2", "V-MDAV, γ = 1.1"


def grouped(algorithm: str, x: Records, k: int, seed: int) -> Labels:
    """Return the group of every record.

    >>> import numpy as np
    >>> grouped("MDAV", np.array([[0.0], [0.1], [5.0], [5.1]]), 2, 0).tolist()
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


def _polished(start: Callable[[Records, int, int], Labels]) -> Callable[[Records, int, int], Labels]:
    def group(x: Records, k: int, seed: int) -> Labels:
        from sfumato.tabular.microaggregation.search.polish import polish

        return polish(x, k, start(x, k, seed))

    return group


def _searched(x: Records, k: int, seed: int) -> Labels:
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
    POLISHED: _polished(_mdav),
    POLISHED_PLUS: _polished(_mdav_plus),
    SEARCHED: _searched,
    "univariate optimum": _univariate,
}
FIXED = ("MDAV", "MDAV+", "MDAV*", SCATTERED, CLUSTERED, POLISHED, POLISHED_PLUS)  # nothing is drawn: seed 0
