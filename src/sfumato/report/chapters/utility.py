"""What a release is still good for: distances of columns and of pairs, what classifiers learn, and regressions.

A steward weighs what is lost beside what is hidden (Hundepool et al. 2012, chapter 3). All of it is computed from the
original rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.evaluate.distances import ColumnDistance, column_distances
from sfumato.evaluate.learning import Learning
from sfumato.evaluate.pairs import PairDistance, pair_distances
from sfumato.evaluate.regression import Coefficient, Regression
from sfumato.evaluate.scores import Scores
from sfumato.report.chapters.evidence import Evidence
from sfumato.report.page.markup import Markup, element, grid, join
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent

TITLE = "What the release keeps"
RAW = "Distances, scores and coefficients are computed from the original rows."
SHOWN = 10  # pairs
SPREAD = (
    "A released cell spreads its row evenly over the values that it covers. 0 means that the distributions are alike, "
    "1 that they have nothing in common. “Moved” is how far a value is moved on average (Wasserstein), in the column’s "
    "own units: days for dates and times, places for ordered words."
)
TIES = (
    "The pairs of columns that changed most. Cramér’s V and the correlation say how much one column tells of the "
    "other, mutual information the same in bits."
)
DEALT = " Sensitive values lie in a second table; here each group’s values are dealt to its rows."
SCORES = ["", "Accuracy", "Balanced accuracy", "AUC", "Brier score"]
BIAS = (
    "Trained on released rows, tested on original rows, fold by fold. The release was made from the tested rows, so "
    "its scores are too good. How far “tested on rows it has seen” lies above “trained on originals” is a hint how "
    "much, and no bound. A Brier score of 0 is perfect; the other scores are best at 1."
)
OVERLAP = (
    "Overlap is the share of the 95 % confidence intervals that both have in common: 1 the same, 0 nothing. Standard "
    "errors of the release are those of an analyst who takes released rows for exact ones."
)


def utility_report(
    distances: Mapping[str, ColumnDistance],
    pairs: Sequence[PairDistance],
    learnt: Learning | None = None,
    regressions: Sequence[Regression] = (),
    *,
    about: str = "",
) -> str:
    """Return the steward's page on what a release keeps, as one self-contained HTML text.

    >>> page = utility_report({"age": ColumnDistance(0.1, 0.2)}, [])
    >>> "Do not publish" in page, "Hellinger" in page
    (True, True)
    """
    sections = [Section("Distances", distances_and_ties(distances, pairs))]
    sections += [] if learnt is None else [Section(f"What is learnt of {learnt.target}", scores_of(learnt))]
    sections += [Section(found.formula, coefficients_of(found)) for found in regressions]
    summary = element("p", f"{count(len(distances))} columns were compared with the original.", class_="lead")
    return collect(TITLE, [Chapter(TITLE, summary, sections, RAW)], about=about)


def released_distances(evidence: Evidence) -> Markup:
    """Return the distances of a release's columns and pairs."""
    sides = evidence.table, evidence.schema, evidence.released
    note = DEALT if evidence.release.companions else ""
    return distances_and_ties(column_distances(*sides), pair_distances(*sides), note)


def distances_and_ties(
    distances: Mapping[str, ColumnDistance], pairs: Sequence[PairDistance], note: str = ""
) -> Markup:
    """Return distances of columns, and the pairs that changed most.

    >>> "0.100" in distances_and_ties({"age": ColumnDistance(0.1, 0.2)}, [])
    True
    """
    rows = [
        [name, f"{each.total_variation:.3f}", f"{each.hellinger:.3f}", _moved(each)] for name, each in distances.items()
    ]
    parts = [
        element("p", SPREAD),
        grid("Distance of each column", ["Column", "Total variation", "Hellinger", "Moved"], rows),
    ]
    if pairs:
        header = ["Pair", "Cramér’s V", "Correlation", "Mutual information"]
        ties = [
            [f"{pair.first}, {pair.second}", *map(_change, (pair.cramers_v, pair.correlation, pair.information))]
            for pair in pairs[:SHOWN]
        ]
        parts += [element("p", TIES + note), grid("Ties before → after", header, ties)]
    return join(parts)


def scores_of(found: Learning) -> Markup:
    """Return the scores of classifiers, each beside those trained on originals.

    >>> same = Scores(0.8, 0.7, 0.9, 0.1)
    >>> "majority" in scores_of(Learning("income", ("a", "b"), same, {}, 5, 0, 9, 0))
    True
    """
    rows = [["always the majority", *_scores(found.majority)]]
    for name, learned in found.classifiers.items():
        rows.append([f"{name}, trained on the release", *_scores(*learned.released)])
        rows.append([f"{name}, trained on originals", *_scores(*learned.original)])
        if learned.seen is not None:
            rows.append([f"{name}, tested on rows it has seen", *_scores(learned.seen)])
    left = f" {count(found.rows_left_out)} released rows tell nothing of it." if found.rows_left_out else ""
    told = f"{found.target} has {len(found.classes)} values.{left} {found.folds} folds, seed {found.seed}."
    return join([element("p", told), element("p", BIAS), grid("Scores, mean ± spread over folds", SCORES, rows)])


def coefficients_of(found: Regression) -> Markup:
    """Return a regression's coefficients on both sides.

    >>> "Overlap" in coefficients_of(Regression("y ~ x", "least squares", (), 9, 9, {}))
    True
    """
    rows = [
        [
            each.name,
            _coefficient(each.original),
            _coefficient(each.released),
            _number(each.overlap),
            _number(each.difference),
        ]
        for each in found.coefficients
    ]
    what = f"{found.method}" + (f", probability of {found.modelled}" if found.modelled else "")
    against = "; ".join(f"{name} against {word}" for name, word in found.references.items())
    told = (
        f"Fitted by {what}, on {count(found.rows_original)} original and {count(found.rows_released)} released rows. "
        f"Mean overlap: {_number(found.mean_overlap)}.{f' Words: {against}.' if against else ''}"
    )
    header = ["Coefficient", "Original", "Release", "Overlap", "Standard errors apart"]
    return join([element("p", told), element("p", OVERLAP), grid("Coefficients ± standard errors", header, rows)])


def _moved(found: ColumnDistance) -> str:
    if found.wasserstein is None or found.wasserstein_share is None:
        return "–"
    return f"{found.wasserstein:.3g} ({percent(found.wasserstein_share)} of the scale)"


def _change(sides: tuple[float, float] | None) -> str:
    return "–" if sides is None else f"{sides[0]:.3f} → {sides[1]:.3f}"


def _scores(mean: Scores, spread: Scores | None = None) -> list[str]:
    names = ("accuracy", "balanced_accuracy", "auc", "brier")
    return [
        f"{getattr(mean, name):.3f}" + ("" if spread is None else f" ± {getattr(spread, name):.3f}") for name in names
    ]


def _coefficient(found: Coefficient | None) -> str:
    return "cannot be told" if found is None else f"{found.value:.4g} ± {found.error:.2g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
