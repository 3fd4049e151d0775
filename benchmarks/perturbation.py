"""Masking 100,000 made-up patients: seconds of each method, all steps but reading and writing."""

from __future__ import annotations

from collections.abc import Iterator

from measure import Part, Row, best, within

import sfumato as sf
from sfumato.models.base import Model
from sfumato.tabular.base import Anonymizer

ROWS = 100_000
SCHEMA = sf.Schema(
    {
        "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(15, 95)),
        "sex": sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M")),
        "zip": sf.Attribute("zip", sf.Role.QUASI),
        "schooling": sf.Attribute("schooling", sf.Role.QUASI),
        "disease": sf.Attribute("disease", sf.Role.SENSITIVE),
        "cost": sf.Attribute("cost", sf.Role.SENSITIVE, sf.Kind.NUMBER, bounds=(0, 20_000)),
    },
    other="drop",
)
METHODS: tuple[tuple[str, Anonymizer, list[Model], float], ...] = (
    ("PRAM of two columns", sf.PRAM(keep=0.8, columns="sex,schooling"), [], 1),
    ("rank swapping of ages", sf.RankSwapping(columns="age"), [], 1),
    ("record swapping between zips", sf.RecordSwapping(geography="zip"), [], 1),
    ("local suppression, k=3", sf.LocalSuppression(), [sf.KAnonymity(3)], 1),
    ("top codes of ages", sf.TopBottomCoding(top="age=85"), [], 1),
    ("random rounding of costs", sf.Rounding(base="cost=100", at_random=True), [], 1),
    ("correlated noise on ages", sf.CorrelatedNoise(columns="age"), [], 1),
)


def seconds_of_each() -> Iterator[Row]:
    """Yield what each method takes."""
    people = sf.Table.from_frame(sf.samples.patients(ROWS))
    for name, method, models, limit in METHODS:
        seconds = best(lambda method=method, models=models: method.anonymize(people, SCHEMA, models), 2)  # type: ignore[misc]
        yield within(f"{name}, {ROWS:,} rows", seconds, limit)


PARTS = (Part("masking methods", seconds_of_each),)
