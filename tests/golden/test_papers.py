"""Worked examples from the papers, value for value."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate import check
from sfumato.hierarchy import Hierarchy
from sfumato.models import Groups, measures
from sfumato.models.t_closeness import cuts
from sfumato.schema import Kind, Role
from sfumato.table.coding import code

SALARIES = ["3", "4", "5", "6", "11", "8", "7", "9", "10"]
CLASSES = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
DISEASES = Hierarchy.from_rows(
    [
        ("flu", "respiratory infection", "respiratory", "*"),
        ("pneumonia", "respiratory infection", "respiratory", "*"),
        ("bronchitis", "respiratory infection", "respiratory", "*"),
        ("pulmonary edema", "vascular lung", "respiratory", "*"),
        ("pulmonary embolism", "vascular lung", "respiratory", "*"),
        ("gastric ulcer", "stomach", "digestive", "*"),
        ("stomach cancer", "stomach", "digestive", "*"),
        ("gastritis", "stomach", "digestive", "*"),
        ("colitis", "colon", "digestive", "*"),
        ("colon cancer", "colon", "digestive", "*"),
    ]
)


def test_t_closeness_of_salaries() -> None:
    """Li, Li & Venkatasubramanian 2007, section 4.2: {3k,4k,5k} has 0.375, {6k,8k,11k} has 0.167."""
    salary = code(pl.Series("salary", SALARIES), sf.Attribute("salary", Role.SENSITIVE, Kind.INTEGER))
    for wanted, expected in ((0, 0.375), (1, 1 / 6)):
        classes = np.where(wanted == CLASSES, 0, 1)
        groups = Groups.of(classes, {"salary": salary})
        histograms = groups.sensitive["salary"]
        flat = np.zeros(9, dtype=bool)
        flat[wanted == CLASSES] = True
        one = measures.t_distance(histograms, *cuts(histograms.column, "ordered"))
        assert one == pytest.approx(max(expected, other_class(histograms.column.size, flat)), abs=1e-9)


def other_class(size: int, inside: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """The distance of the remaining six salaries, by the definition, so that the class in question shows."""
    values = np.array([int(s) for s in SALARIES])
    ranks = np.argsort(np.argsort(values))
    share = np.zeros(size)
    share[ranks[~inside]] = 1 / 6
    return float(np.abs(np.cumsum(share - 1 / 9)).sum() / (size - 1))


def test_hierarchical_distances_of_diseases() -> None:
    """The same paper, figure 1: flu is 1/3 from bronchitis, 2/3 from pulmonary embolism, 3/3 from stomach cancer."""
    attribute = sf.Attribute("disease", Role.SENSITIVE, Kind.CATEGORY, hierarchy=DISEASES)
    for other, expected in (("bronchitis", 1 / 3), ("pulmonary embolism", 2 / 3), ("stomach cancer", 1.0)):
        column = code(pl.Series("disease", ["flu", other]), attribute)
        groups = Groups.of(np.array([0, 1]), {"disease": column})
        histograms = groups.sensitive["disease"]
        distance = measures.t_distance(histograms, *cuts(histograms.column, "hierarchical"))
        assert distance == pytest.approx(expected / 2)  # half the mass travels: each class against the mean of both


def test_mondrian_on_the_patients_of_its_paper() -> None:
    """LeFevre, DeWitt & Ramakrishnan 2006, figures 1 and 5: ages 25-28, two sexes, zips 53710-53712, k=2.

    The paper's strict multidimensional result has three classes: (25-26, M, 53711), (25-27, F, 53712),
    (27-28, M, 53710-53711). All three columns are equally wide at the start; the first one is cut, so sex stands first.
    """
    patients = pl.DataFrame(
        {
            "sex": ["M", "F", "M", "M", "F", "M"],
            "age": [25, 25, 26, 27, 27, 28],
            "zip": [53711, 53712, 53711, 53710, 53712, 53711],
            "disease": ["flu", "hepatitis", "bronchitis", "broken arm", "aids", "hang nail"],
        }
    )
    schema = sf.Schema.from_roles(quasi=["sex", "age", "zip"], sensitive=["disease"])
    release = sf.Mondrian(keep_order=True).anonymize(sf.Table.from_frame(patients), schema, [sf.KAnonymity(2)])
    rows = list(zip(release.frame["age"], release.frame["sex"], release.frame["zip"], strict=True))
    assert rows[0] == rows[2] == ("[25-26]", "M", "53711")
    assert rows[1] == rows[4] == ("[25-27]", "F", "53712")
    assert rows[3] == rows[5] == ("[27-28]", "M", "[53710-53711]")


def test_homogeneous_classes_of_the_diversity_paper() -> None:
    """Machanavajjhala et al. 2007, figures 2 and 3: the 4-anonymous table has l=1, the other one l=3."""
    four_anonymous = pl.DataFrame(
        {
            "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
            "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
            "condition": ["heart", "heart", "virus", "virus", "cancer", "heart", "virus", "virus"] + ["cancer"] * 4,
        }
    )
    three_diverse = pl.DataFrame(
        {
            "zip": ["1305*", "1305*", "1305*", "1305*"] + ["1485*"] * 4 + ["1306*"] * 4,
            "age": ["<=40"] * 4 + [">40"] * 4 + ["<=40"] * 4,
            "condition": [
                "heart",
                "virus",
                "cancer",
                "cancer",
                "cancer",
                "heart",
                "virus",
                "virus",
                "heart",
                "virus",
                "cancer",
                "cancer",
            ],
        }
    )
    before = check(sf.Table.from_frame(four_anonymous), ["zip", "age"], ["condition"])
    after = check(sf.Table.from_frame(three_diverse), ["zip", "age"], ["condition"])
    assert (before.k, before.sensitive["condition"].l_distinct) == (4, 1)
    assert (after.k, after.sensitive["condition"].l_distinct) == (4, 3)
    assert after.sensitive["condition"].l_entropy == pytest.approx(2.8284271)  # three values, one of them twice
