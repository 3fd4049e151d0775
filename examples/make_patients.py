"""Write the bundled sample again: `python examples/make_patients.py`; nothing in it stems from a real person."""

from __future__ import annotations

from pathlib import Path

from sfumato.table import samples

FOLDER = Path(__file__).parent
SCHEMA = """\
# The bundled sample: made-up hospital visits. Bounds are public knowledge, not read from the rows.
[columns.name]
role = "identifier"

[columns.age]
role = "quasi"
type = "integer"
bounds = [16, 94]

[columns.sex]
role = "quasi"
type = "category"
categories = ["F", "M"]

[columns.zip]
role = "quasi"
type = "category"
hierarchy = "zip.csv"

[columns.schooling]
role = "quasi"
type = "ordinal"
categories = ["primary", "lower secondary", "upper secondary", "bachelor", "master", "doctorate"]

[columns.admission]
role = "quasi"
type = "date"
bounds = [2025-01-01, 2025-12-31]

[columns.disease]
role = "sensitive"
type = "category"

[columns.cost]
role = "sensitive"
type = "number"
bounds = [0, 20000]
coarsen = {round = 500, top = 4000}  # to the cent, nearly every cost would occur once
"""


def sample_files() -> dict[str, str]:
    """Return the text of every bundled file by name."""
    people = samples.patients()
    zips = sorted({f"{area:02d}{street * 5:03d}" for area in (10, 22, 47, 80) for street in range(40)})
    rows = [f"{code},{code[:4]}*,{code[:3]}**,{code[:2]}***,*" for code in zips]
    hierarchy = "\n".join(["level0,level1,level2,level3,level4", *rows]) + "\n"
    return {"patients.csv": people.write_csv(), "patients.toml": SCHEMA, "zip.csv": hierarchy}


if __name__ == "__main__":
    for name, text in sample_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
