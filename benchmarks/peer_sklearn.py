"""Run in scikit-learn's own environment: train classifiers on a release, test them on original rows, print as JSON.

Called as `peer_sklearn.py TRAIN TEST TREES TARGET`; TREES is a JSON file with the paths of every column's hierarchy. A
cell becomes one number for each leaf of its column: an equal share for each leaf that its label covers (Inan,
Kantarcioglu & Bertino 2009), so that an original value is 1 at its own leaf. Printed are how often guessing the
majority is right, and for each classifier a text that has 1 for a test row that it predicts rightly, else 0.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression


def shares(paths: list[list[str]]) -> dict[str, Any]:
    """Return the shares of all leaves under each label of a hierarchy."""
    labels = {label for path in paths for label in path} | {"*"}
    under = {label: np.array([label == "*" or label in path for path in paths], dtype=float) for label in labels}
    return {label: found / found.sum() for label, found in under.items()}


def encoded(rows: list[dict[str, str]], trees: dict[str, list[list[str]]]) -> Any:
    """Return a row of numbers for each row of labels."""
    parts = []
    for name, paths in trees.items():
        known = shares(paths)
        parts.append(np.array([known[row[name]] for row in rows]))
    return np.concatenate(parts, axis=1)


def main(train: str, test: str, trees: str, target: str) -> None:
    """Train and test both classifiers."""
    paths = json.loads(Path(trees).read_text(encoding="utf-8"))
    with Path(train).open(encoding="utf-8") as learnt, Path(test).open(encoding="utf-8") as asked:
        rows, others = list(csv.DictReader(learnt)), list(csv.DictReader(asked))
    cells, truth = encoded(others, paths), np.array([row[target] for row in others])
    seen, known = encoded(rows, paths), np.array([row[target] for row in rows])
    values, counts = np.unique(known, return_counts=True)
    found: dict[str, Any] = {"majority": float(np.mean(truth == values[counts.argmax()]))}
    for name, model in {
        "logistic": LogisticRegression(max_iter=1000),
        "trees": HistGradientBoostingClassifier(random_state=0),
    }.items():
        right = model.fit(seen, known).predict(cells) == truth
        found[name] = "".join("1" if each else "0" for each in right)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
