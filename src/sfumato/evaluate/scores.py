"""How good predicted probabilities of classes are, on rows whose class is known.

Balanced accuracy follows Brodersen et al. 2010, the area under the ROC curve Hanley & McNeil 1982 (over classes, one
against the rest, their mean), the Brier score Brier 1950, halved so that it lies between 0 and 1 for any classes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Four scores of one classifier; a Brier score of 0 is perfect, the others are best at 1.

    >>> Scores(accuracy=0.8, balanced_accuracy=0.7, auc=0.9, brier=0.1).auc
    0.9
    """

    accuracy: float
    balanced_accuracy: float
    auc: float
    brier: float

    @classmethod
    def of(cls, truth: Index, probabilities: Floats) -> Scores:
        """Return the scores of each row's probabilities of all classes; classes that do not occur are left out.

        >>> Scores.of(np.array([0, 1]), np.array([[0.9, 0.1], [0.6, 0.4]]))
        Scores(accuracy=0.5, balanced_accuracy=0.5, auc=1.0, brier=0.185)
        """
        guesses, known = probabilities.argmax(axis=1), np.unique(truth)
        right = guesses == truth
        exact = np.zeros(probabilities.shape)
        exact[np.arange(len(truth)), truth] = 1.0
        areas = [_area(truth == each, probabilities[:, each]) for each in known] if len(known) > 1 else [0.5]
        return cls(
            accuracy=float(right.mean()),
            balanced_accuracy=float(np.mean([right[truth == each].mean() for each in known])),
            auc=float(np.mean(areas)),
            brier=float(((probabilities - exact) ** 2).sum(axis=1).mean() / 2),
        )

    @classmethod
    def over(cls, parts: list[Scores]) -> tuple[Scores, Scores]:
        """Return the mean of scores over parts of the rows, and their standard deviation (0 for a single part).

        >>> Scores.over([Scores(0.5, 0.5, 0.5, 0.2), Scores(0.7, 0.5, 0.5, 0.4)])[0].accuracy
        0.6
        """
        columns = [[getattr(part, each.name) for part in parts] for each in fields(cls)]
        spread = [float(np.std(column, ddof=1)) if len(parts) > 1 else 0.0 for column in columns]
        return cls(*(float(np.mean(column)) for column in columns)), cls(*spread)


def _area(positive: npt.NDArray[np.bool_], score: Floats) -> float:
    """Return how often a row of the class has a higher score than another row; equal ones count half."""
    _, places, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    ours, others = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - ours * (ours + 1) / 2) / (ours * others))
