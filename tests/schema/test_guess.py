"""Roles proposed from values and names: six languages, patterns, codes, quantities, and each with its reason."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.cli.main import run
from sfumato.schema import Kind, Role, Schema
from sfumato.schema.check_digits import CHECKED, is_card, is_cpf, is_dni, is_iban, is_nhs, is_nif, is_nir
from sfumato.schema.coarser import propose_rule
from sfumato.schema.names import topic_of, words_of
from sfumato.schema.propose import propose
from sfumato.schema.separation import distinctness, separations
from sfumato.table import Table
from sfumato.tabular.coarsen import coarsen_cells

ROWS = 200
DRAW = random.Random(5)  # noqa: S311  # made-up numbers
I, Q, S = "identifier", "quasi", "sensitive"
HEADERS = {  # number, age, sex, postcode, born, city, income, disease, religion, wed
    "english": "case_no,Age,Sex,Postcode,DateOfBirth,City,Income,Diagnosis,Religion,Marital status",
    "german": "Fallnummer,Alter,Geschlecht,PLZ,Geburtsdatum,Wohnort,Einkommen,Diagnose,Konfession,Familienstand",
    "french": "n° dossier,Âge,Sexe,Code postal,Date de naissance,Ville,Salaire,Maladie,Religion,État civil",
    "spanish": "expediente,Edad,Sexo,Código postal,FechaNacimiento,Ciudad,Ingresos,Enfermedad,Religión,Estado civil",
    "portuguese": "prontuário,Idade,Sexo,CEP,Data de nascimento,Município,Renda,Doença,Religião,Estado civil",
    "italian": "pratica,Età,Sesso,CAP,Data di nascita,Città,Reddito,Malattia,Religione,Stato civile",
}
WANTED = (I, Q, Q, Q, Q, Q, S, S, S, Q)


def people(header: str) -> pl.DataFrame:
    """Made-up people: the same values under the names of a language."""
    draw = np.random.default_rng(7)
    born = [dt.date(1940, 1, 1) + dt.timedelta(days=int(day)) for day in draw.integers(0, 25_000, ROWS)]
    columns: list[list[object]] = [
        [f"A{number:06d}" for number in draw.permutation(ROWS)],
        draw.integers(18, 90, ROWS).tolist(),
        draw.choice(["1", "2"], ROWS).tolist(),
        [f"{code:05d}" for code in draw.integers(1000, 1040, ROWS)],
        list(born),
        draw.choice(["X", "Y", "Z"], ROWS).tolist(),
        (draw.lognormal(10, 0.5, ROWS).round(2)).tolist(),
        draw.choice(["flu", "gout", "cold"], ROWS).tolist(),
        draw.choice(["a", "b", "c"], ROWS).tolist(),
        draw.choice(["s", "m"], ROWS).tolist(),
    ]
    return pl.DataFrame(dict(zip(header.split(","), columns, strict=True)))


@pytest.mark.parametrize("language", HEADERS)
def test_roles_in_six_languages_through_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    people(HEADERS[language]).write_csv(tmp_path / "people.csv")
    assert run(["schema", str(tmp_path / "people.csv")]) == 0
    text = capsys.readouterr().out
    found = Schema.from_text(text).columns
    assert tuple(entry.role.value for entry in found.values()) == WANTED
    assert all("#" in line for line in text.splitlines() if line.startswith("role = "))


@pytest.mark.parametrize("name", ["wage", "usage", "mileage", "page", "manager", "sextant", "paid", "video", "surplus"])
def test_words_are_whole(name: str) -> None:
    found = topic_of(name)
    assert found is None or found.topic.value == "money"  # a wage


def test_names_are_split_and_folded() -> None:
    assert words_of("patientÂge") == ["patient", "age"]
    assert words_of("geburts-Datum") == ["geburts", "datum"]
    assert [topic_of(name).topic.value for name in ("patientAge", "AGE_YEARS", "Größe", "nº CPF")] == [  # type: ignore[union-attr]
        "age",
        "age",
        "body",
        "id",
    ]


# --- patterns -------------------------------------------------------------------------------------------------------


def digits(count: int) -> str:
    return "".join(DRAW.choice("0123456789") for _ in range(count))


def valid(test: Callable[[str], bool], make: Callable[[], list[str]], count: int = 30) -> list[str]:
    """Draw candidates until enough of them pass; `make` tries every check digit of one number."""
    found: list[str] = []
    while len(found) < count:
        found += [text for text in make() if test(text)][:1]
    return found


def endings(head: str, count: int, alphabet: str = "0123456789") -> list[str]:
    return [head + "".join(tail) for tail in itertools.product(alphabet, repeat=count)]


def iban() -> list[str]:
    body = digits(18)
    return [f"DE{check:02d}{body}" for check in range(100)]


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PATTERNS = {
    "e-mail addresses": [f"user{number}@example.org" for number in range(30)],
    "UUIDs": [str(uuid.UUID(int=DRAW.getrandbits(128))) for _ in range(30)],
    "URLs": [f"https://example.org/{number}" for number in range(30)],
    "IP addresses": [f"10.0.{number}.7" for number in range(30)],
    "telephone numbers": [f"+49 30 {digits(7)}" for _ in range(30)],
    "US social security numbers": [f"{number:03d}-12-3456" for number in range(101, 131)],
    "IBANs": valid(is_iban, iban),
    "Spanish DNI or NIE": valid(is_dni, lambda: endings(digits(8), 1, LETTERS)),
    "Portuguese NIF": valid(is_nif, lambda: endings("2" + digits(7), 1)),
    "Brazilian CPF": valid(is_cpf, lambda: endings(digits(9), 2)),
    "UK NHS numbers": valid(is_nhs, lambda: endings("94" + digits(7), 1)),
    "French social security numbers (NIR)": valid(is_nir, lambda: endings(f"1{digits(2)}08{digits(8)}", 2)),
    "German tax numbers (Steuer-ID)": valid(
        CHECKED["German tax numbers (Steuer-ID)"], lambda: endings("86" + digits(8), 1)
    ),
    "Italian codici fiscali": valid(
        CHECKED["Italian codici fiscali"], lambda: endings(f"RSSMRA85T10A{digits(3)}", 1, LETTERS)
    ),
    "payment card numbers": valid(is_card, lambda: endings("4" + digits(14), 1)),
}


def roles(columns: dict[str, object]) -> dict[str, str]:
    return {name: entry.role.value for name, entry in Schema.infer(Table(pl.DataFrame(columns))).columns.items()}


@pytest.mark.parametrize("words", PATTERNS)
def test_patterns_name_people_whatever_the_column_is_called(words: str) -> None:
    text = propose(Table(pl.DataFrame({"v1": PATTERNS[words] * 3})))
    assert f'role = "identifier"  # dropped: {words}' in text


@pytest.mark.parametrize("test", CHECKED.values(), ids=CHECKED)
@given(text=st.text(max_size=24))
def test_no_text_upsets_a_check(test: Callable[[str], bool], text: str) -> None:
    assert test(text) in {True, False}


def test_random_digits_pass_a_check_digit_seldom() -> None:
    text = propose(Table(pl.DataFrame({"v1": [digits(11) for _ in range(300)] * 2})))
    assert "CPF" not in text
    assert "Steuer-ID" not in text
    assert "dropped: codes that repeat, 300 distinct values in 600 rows" in text


def test_values_say_what_names_do_not() -> None:
    born = [dt.date(1950, 1, 1) + dt.timedelta(days=97 * number) for number in range(ROWS)]
    seen = [dt.date(2026, 1, 1) + dt.timedelta(days=number % 60) for number in range(ROWS)]
    prose = [f"The patient {number} came on a Monday with pain in the knee" for number in range(ROWS)]
    found = roles(
        {
            "v1": list(range(1000, 1000 + ROWS)),
            "v2": born,
            "v3": ["weiblich", "männlich"] * (ROWS // 2),
            "v4": [f"SW1A {number % 9}AA" for number in range(ROWS)],
            "v5": prose,
            "v6": ["A10.1", "B20.2", "C30.3", "E11.9", "I10.0"] * (ROWS // 5),
            "v7": [0, 1] * (ROWS // 2),
            "v8": seen,
        }
    )
    assert found == {"v1": I, "v2": Q, "v3": Q, "v4": Q, "v5": I, "v6": S, "v7": "other", "v8": Q}


# --- numbers --------------------------------------------------------------------------------------------------------


def test_nearly_unique_numbers_are_identifiers_and_quantities_are_sensitive_with_a_rule() -> None:
    draw = np.random.default_rng(3)
    table = Table(
        pl.DataFrame(
            {
                "fnlwgt": draw.integers(10_000, 1_400_000, 500),
                "mrn": draw.permutation(500) + 70_000,
                "cost": draw.lognormal(7, 0.6, 500).round(2),
            }
        )
    )
    found = Schema.infer(table).columns
    assert [found[name].role for name in ("fnlwgt", "mrn", "cost")] == [
        Role.IDENTIFIER,
        Role.IDENTIFIER,
        Role.SENSITIVE,
    ]
    rule = found["cost"].coarsen
    assert rule is not None
    text = propose(table)
    assert "sequential numbers, 500 distinct values in 500 rows" in text
    assert "# proposed: hardly any value then occurs once" in text
    coarse = coarsen_cells(table.column("cost"), found["cost"])[0]
    assert distinctness(coarse).alone == 0


@given(st.lists(st.floats(-1e9, 1e9), min_size=20, max_size=60), st.sampled_from([Kind.NUMBER, Kind.INTEGER]))
def test_a_proposed_rule_is_always_one(values: list[float], kind: Kind) -> None:
    numbers = np.array(values) if kind is Kind.NUMBER else np.array(values).astype(np.int64)
    assert propose_rule(numbers, kind).misfit(kind) is None


def test_repeating_ids_may_be_the_person() -> None:
    rows = [f"P{number // 4:05d}" for number in range(400)]
    text = propose(Table(pl.DataFrame({"patient_id": rows, "ward": ["a", "b"] * 200})))
    assert '# person = "patient_id"   # 100 different ids in 400 rows: uncomment if each is a person' in text
    assert Schema.from_text(text).person is None
    uncommented = Schema.from_text(text.replace("# person", "person"))
    assert uncommented.person == "patient_id"


# --- separation -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
def test_separation_is_what_counting_says(rows: list[tuple[int, int, int]]) -> None:
    columns = {name: pl.Series([row[place] for row in rows]) for place, name in enumerate("abc")}
    found = separations(columns)

    def single(names: tuple[str, ...]) -> float:
        points = [tuple(columns[name][row] for name in names) for row in range(len(rows))]
        return sum(points.count(point) == 1 for point in points) / len(rows)

    for name, one in found.items():
        assert one.alone == pytest.approx(single((name,)))
        if one.others:
            assert one.together == pytest.approx(single((name, *one.others)))
            pairs = [single((name, other)) for other in columns if other != name and columns[other].n_unique() > 1]
            assert one.together >= max(pairs) - 1e-9


def test_a_column_that_tells_rows_apart_is_quasi_and_says_so() -> None:
    draw = np.random.default_rng(2)
    text = propose(Table(pl.DataFrame({"v1": draw.integers(0, 40, 300), "v2": draw.integers(0, 40, 300)})))
    assert "generalised: alone it singles out" in text
    assert "with v2" in text
