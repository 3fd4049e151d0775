"""Made-up tables for demos and experiments, drawn from a fixed seed; no row stems from a real person.

`census_10k` follows section 4.3 of Pereira 2014 (age, sex, zip, salary of 10,000 people).
"""

from __future__ import annotations

import numpy as np
import polars as pl

DISEASES = ("asthma", "bronchitis", "cancer", "diabetes", "flu", "gastritis", "heart disease", "hypertension")
BY_AGE = (
    np.array([6.0, 4.0, 0.5, 1.0, 9.0, 4.0, 0.3, 0.7]),
    np.array([2.0, 3.0, 5.0, 6.0, 5.0, 3.0, 6.0, 9.0]),
)
SCHOOLING = ("primary", "lower secondary", "upper secondary", "bachelor", "master", "doctorate")


def patients(rows: int = 2000, seed: int = 20181) -> pl.DataFrame:
    """Return made-up hospital visits: name, age, sex, zip, schooling, admission, disease, cost.

    >>> patients(3).columns
    ['name', 'age', 'sex', 'zip', 'schooling', 'admission', 'disease', 'cost']
    """
    draw = np.random.default_rng(seed)
    age = np.clip(draw.gamma(5.0, 9.5, rows), 16, 94).astype(int)
    older = (age - 16)[:, None] / 78
    chances = (1 - older) * BY_AGE[0] / BY_AGE[0].sum() + older * BY_AGE[1] / BY_AGE[1].sum()
    disease = (draw.random(rows)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1).clip(0, len(DISEASES) - 1)
    town = draw.choice([10, 22, 47, 80], p=[0.4, 0.25, 0.2, 0.15], size=rows)
    schooling = np.clip(draw.normal(2.4, 1.2, rows).round(), 0, 5).astype(int)
    schooling = np.minimum(schooling, np.where(age < 22, 2, 5))
    day = draw.integers(0, 365, rows)
    cost = np.round(draw.lognormal(6.8 + 0.15 * (disease % 4), 0.6, rows), 2)
    sex = draw.choice(["F", "M"], p=[0.52, 0.48], size=rows)
    return pl.DataFrame(
        {
            "name": [f"Patient {number:05d}" for number in draw.permutation(rows)],
            "age": age,
            "sex": sex,
            "zip": [
                f"{area:02d}{street:03d}" for area, street in zip(town, draw.integers(0, 40, rows) * 5, strict=True)
            ],
            "schooling": [SCHOOLING[level] for level in schooling],
            "admission": (np.datetime64("2025-01-01") + day).astype("datetime64[D]"),
            "disease": [DISEASES[code] for code in disease],
            "cost": cost,
        }
    )


def census_10k(rows: int = 10_000, seed: int = 2014) -> pl.DataFrame:
    """Return a made-up census: age 20-69, sex 1-2, zip 20000-69000 by 1000, salary lognormal and clipped.

    >>> census_10k().height
    10000
    """
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(20, 70, rows),
            "sex": draw.integers(1, 3, rows),
            "zip": draw.integers(20, 70, rows) * 1000,
            "salary": np.clip(draw.lognormal(11.3, 0.55, rows), 10009, 300057).astype(int),
        }
    )
