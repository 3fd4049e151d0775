"""The tables that Sweeney and LeFevre worked by hand, and their results."""

from __future__ import annotations

import polars as pl

import sfumato as sf
from sfumato.tabular import Datafly, Incognito

# Sweeney 2002, "Achieving k-anonymity privacy protection using generalization and suppression", figure 3.
SWEENEY = pl.DataFrame(
    [
        ("black", "1965-09-20", "male", "02141", "short of breath"),
        ("black", "1965-02-14", "male", "02141", "chest pain"),
        ("black", "1965-10-23", "female", "02138", "painful eye"),
        ("black", "1965-08-24", "female", "02138", "wheezing"),
        ("black", "1964-11-07", "female", "02138", "obesity"),
        ("black", "1964-12-01", "female", "02138", "chest pain"),
        ("white", "1964-10-23", "male", "02138", "short of breath"),
        ("white", "1965-03-15", "female", "02139", "hypertension"),
        ("white", "1964-08-13", "male", "02139", "obesity"),
        ("white", "1964-05-05", "male", "02139", "fever"),
        ("white", "1967-02-13", "male", "02138", "vomiting"),
        ("white", "1967-03-21", "male", "02138", "back pain"),
    ],
    schema=["race", "birth", "gender", "zip", "problem"],
    orient="row",
)

# LeFevre, DeWitt & Ramakrishnan 2005, figure 1 (the Patients table) and the hierarchies of figure 2.
PATIENTS = pl.DataFrame(
    [
        ("1/21/76", "Male", "53715", "Flu"),
        ("4/13/86", "Female", "53715", "Hepatitis"),
        ("2/28/76", "Male", "53703", "Bronchitis"),
        ("1/21/76", "Male", "53703", "Broken Arm"),
        ("4/13/86", "Female", "53706", "Sprained Ankle"),
        ("2/28/76", "Female", "53706", "Hang Nail"),
    ],
    schema=["birth", "sex", "zip", "disease"],
    orient="row",
)


def _schema(trees: dict[str, list[tuple[str, ...]]], sensitive: str) -> sf.Schema:
    columns = {
        name: sf.Attribute(name, sf.Role.QUASI, hierarchy=sf.Hierarchy.from_rows(rows)) for name, rows in trees.items()
    }
    return sf.Schema({**columns, sensitive: sf.Attribute(sensitive, sf.Role.SENSITIVE)})


def test_datafly_generalises_sweeneys_birth_dates_to_years_and_suppresses_two_rows() -> None:
    schema = _schema(
        {
            "race": [("black", "*"), ("white", "*")],
            "birth": [(day, day[:4], "*") for day in SWEENEY["birth"]],
            "gender": [("male", "*"), ("female", "*")],
            "zip": [("02138", "0213*", "*"), ("02139", "0213*", "*"), ("02141", "0214*", "*")],
        },
        "problem",
    )
    release = Datafly(suppress=2 / 12, keep_order=True).anonymize(
        sf.Table.from_frame(SWEENEY), schema, [sf.KAnonymity(2)]
    )
    black, white, stars = ("black", "1965"), ("white", "1964"), ("*", "*", "*", "*")
    assert release.frame.select("race", "birth", "gender", "zip").rows() == [
        (*black, "male", "02141"),
        (*black, "male", "02141"),
        (*black, "female", "02138"),
        (*black, "female", "02138"),
        ("black", "1964", "female", "02138"),
        ("black", "1964", "female", "02138"),
        stars,  # Sweeney takes these two rows out; they are 2-anonymous as they stand here
        stars,
        (*white, "male", "02139"),
        (*white, "male", "02139"),
        ("white", "1967", "male", "02138"),
        ("white", "1967", "male", "02138"),
    ]
    assert release.card.released.measures["rows_starred"] == 2


def test_incognito_finds_the_minimal_generalisations_of_the_patients_table() -> None:
    schema = _schema(
        {
            "birth": [("1/21/76", "*"), ("2/28/76", "*"), ("4/13/86", "*")],
            "sex": [("Male", "Person"), ("Female", "Person")],
            "zip": [(code, f"{code[:4]}*", "537**") for code in ("53715", "53710", "53706", "53703")],
        },
        "disease",
    )
    nodes = Incognito().minimal_nodes(sf.Table.from_frame(PATIENTS), schema, [sf.KAnonymity(2)])
    assert {tuple(node.levels.values()) for node in nodes} == {(1, 1, 0), (1, 0, 2), (0, 1, 2)}
