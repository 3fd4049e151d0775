"""The command line from end to end: files in, anonymous files out, and `check` sees what was promised."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.release.card import json_schema
from sfumato.table import Table, samples

ROLES = ["--quasi", "age,sex,zip", "--sensitive", "disease", "--identifier", "name", "--other", "drop"]
CHECK = ["--quasi", "age,sex,zip", "--sensitive", "disease"]
# A test run in the background ignores Ctrl-C, and so would the command it starts.
LISTENING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\nimport sfumato.cli as c; c.main()"
)
MEASURES = {"l_distinct", "l_entropy", "l_recursive", "t_equal", "t_ordered", "alpha", "beta", "delta"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with 300 made-up patients."""
    samples.patients(300).write_csv(tmp_path / "in.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def sfumato(arguments: Sequence[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the installed command as a stranger would."""
    command = [sys.executable, "-m", "sfumato", *arguments]
    return subprocess.run(command, input=given, capture_output=True, cwd=folder, check=False, timeout=120)


def measured(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["check", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_anonymize_then_check_in_processes_of_their_own(folder: Path) -> None:
    done = sfumato(["anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "10", "--l", "3"], folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"300 rows in" in done.stdout
    made = ["out.csv", "out.csv.card.json", "out.csv.statement.html", "out.csv.statement.txt"]
    assert names(folder) == ["in.csv", *made]
    kept = sfumato(["check", "out.csv", *CHECK, "--require", "k=10,l=3"], folder)
    assert (kept.returncode, kept.stderr) == (0, b"")
    broken = sfumato(["check", "in.csv", *CHECK, "--require", "k=10,l=3,t=0.9,rows=300"], folder)
    assert broken.returncode == 1
    assert broken.stderr.decode().splitlines() == [
        "sfumato: k: found 1; required at least 10",
        "sfumato: l: found 1; required at least 3",
        "sfumato: t: found 0.946667; required at most 0.9",
    ]


def test_pipes_in_and_out(folder: Path) -> None:
    given = (folder / "in.csv").read_bytes().replace(b",", b";")
    done = sfumato(["anonymize", "-", "-o", "-", *ROLES, "--k", "10", "--card", "card.json"], folder, given)
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert (len(lines), lines[0]) == (301, "age;sex;zip;disease")
    card = json.loads((folder / "card.json").read_text())
    assert card["released"]["rows"] == 300
    checked = sfumato(["check", "-", *CHECK, "--require", "k=10"], folder, done.stdout)
    told = b"sfumato: read as (for the steward): delimiter ';' (guessed from the header)\n"
    assert (checked.returncode, checked.stderr) == (0, told)


def test_bad_input_in_a_process_of_its_own(folder: Path) -> None:
    done = sfumato(["anonymize", "none.csv", "-o", "out.csv", *ROLES, "--k", "10"], folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"sfumato: file 'none.csv' does not exist; check the name\n"
    assert names(folder) == ["in.csv"]


def test_a_reader_that_leaves_early_is_no_traceback(folder: Path) -> None:
    command = [sys.executable, "-m", "sfumato", "schema", "in.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def interrupted(folder: Path, arguments: Sequence[str], ready: Callable[[], bool]) -> tuple[int, bytes]:
    """Start a command, press Ctrl-C once it is `ready`, and return its exit code and complaints."""
    command = [sys.executable, "-c", LISTENING, *arguments]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            while not ready() and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) is not None
        finally:
            process.kill()
        assert process.stderr is not None
        return process.returncode, process.stderr.read()


def test_interrupted_while_it_waits_for_its_input(folder: Path) -> None:
    start = time.monotonic()
    arguments = ["anonymize", "-", "-o", "out.csv", *ROLES, "--k", "10"]
    code, complaints = interrupted(folder, arguments, lambda: time.monotonic() > start + 3)
    assert (code, complaints) == (130, b"sfumato: interrupted; nothing was written\n")
    assert names(folder) == ["in.csv"]


@pytest.mark.long
def test_interrupted_while_it_writes(folder: Path) -> None:
    big = pl.concat([samples.patients(100_000, seed=seed) for seed in range(20)])
    big.write_csv(folder / "big.csv")

    def writing() -> bool:
        return any(name.startswith(".sfumato-") and name.endswith(".csv") for name in names(folder))

    code, complaints = interrupted(folder, ["anonymize", "big.csv", "-o", "out.csv", *ROLES, "--k", "10"], writing)
    assert (code, complaints) == (130, b"sfumato: interrupted; nothing was written\n")
    assert names(folder) == ["big.csv", "in.csv"]


def test_interrupted_between_data_and_card(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(table: Table, path: Path, *, formulas: str) -> None:
        del formulas
        table.frame.head(3).write_csv(path)
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.release.release.write_held", half)
    assert run(["anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "10"]) == 130
    assert names(folder) == ["in.csv"]


@pytest.mark.parametrize("models", [["--k", "7"], ["--k", "5", "--l", "2", "--l-kind", "entropy"], ["--t", "0.4"]])
@pytest.mark.parametrize("ranges", ["text", "columns"])
@pytest.mark.parametrize("cut", [[], ["--relaxed"]])
def test_check_confirms_the_card(
    folder: Path, capsys: pytest.CaptureFixture[str], models: list[str], ranges: str, cut: list[str]
) -> None:
    assert run(["anonymize", "in.csv", "-o", "out.csv", *ROLES, *models, "--ranges", ranges, *cut]) == 0
    card = json.loads((folder / "out.csv.card.json").read_text())
    found = measured(["out.csv", *CHECK], capsys)
    assert (found["rows"], found["classes"]) == (300, card["released"]["classes"])
    assert found["k"] == card["released"]["measures"]["smallest_class"]
    names = {"k-anonymity": "k", "entropy l-diversity": "l_entropy", "t-closeness": "t"}
    for model in card["released"]["models"]:
        assert found[names[model["model"]]] == pytest.approx(model["measured"])


def test_check_json_has_exactly_the_promised_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    top = {"rows", "classes", "k", "uniques", "risk"}
    none = measured(["in.csv", "--quasi", "age"], capsys)
    assert set(none) - {"sensitive"} == top
    assert set(none["risk"]) == {"prosecutor_max", "prosecutor_mean", "journalist_max", "marketer"}
    one = measured(["in.csv", "--quasi", "age", "--sensitive", "disease"], capsys)
    assert set(one) == top | {"sensitive", "l_distinct", "l_entropy", "t"}
    assert set(one["sensitive"]["disease"]) == MEASURES
    two = measured(["in.csv", "--quasi", "age", "--sensitive", "disease,cost"], capsys)
    assert set(two) == top | {"sensitive"}
    assert {name: set(column) for name, column in two["sensitive"].items()} == {"disease": MEASURES, "cost": MEASURES}


def test_a_requirement_named_twice_binds_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    assert run(["check", "in.csv", *CHECK, "--require", "k=10,k=1", "--require", "uniques=0"]) == 1
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["k:", "uniques:"]


def test_json_prints_the_card(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema

    assert run(["anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "10", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.validate(printed, json_schema())
    assert printed == json.loads((folder / "out.csv.card.json").read_text())
    assert printed["released"]["sha256"] == hashlib.sha256((folder / "out.csv").read_bytes()).hexdigest()
    assert "Patient" not in (folder / "out.csv").read_text() + json.dumps(printed)


def test_keep_order_keeps_it_and_a_shuffle_does_not(folder: Path) -> None:
    assert run(["anonymize", "in.csv", "-o", "kept.csv", *ROLES, "--k", "10", "--keep-order"]) == 0
    assert run(["anonymize", "in.csv", "-o", "shuffled.csv", *ROLES, "--k", "10"]) == 0
    original = pl.read_csv(folder / "in.csv")["disease"].to_list()
    kept = pl.read_csv(folder / "kept.csv")["disease"].to_list()
    shuffled = pl.read_csv(folder / "shuffled.csv")["disease"].to_list()
    assert kept == original != shuffled
    assert sorted(shuffled) == sorted(original)
    warnings = json.loads((folder / "kept.csv.card.json").read_text())["warnings"]
    assert any("order" in warning for warning in warnings)


def test_ranges_as_columns_are_numbers_around_every_row(folder: Path) -> None:
    arguments = [*ROLES, "--k", "10", "--keep-order", "--ranges", "columns"]
    assert run(["anonymize", "in.csv", "-o", "out.parquet", *arguments]) == 0
    out, original = pl.read_parquet(folder / "out.parquet"), pl.read_csv(folder / "in.csv")
    assert out.columns == ["age_min", "age_max", "sex", "zip_min", "zip_max", "disease"]
    assert out["age_min"].dtype == pl.Int64
    assert ((out["age_min"] <= original["age"]) & (original["age"] <= out["age_max"])).all()


def test_an_input_column_called_like_a_limit_is_no_accident(folder: Path) -> None:
    (folder / "clash.csv").write_text("age,age_min\n1,9\n2,8\n3,7\n")
    arguments = ["anonymize", "clash.csv", "-o", "out.csv", "--quasi", "age", "--k", "2", "--ranges", "columns"]
    assert run([*arguments, "--other", "keep"]) == 2
    assert not (folder / "out.csv").exists()
    assert run([*arguments, "--identifier", "age_min"]) == 0
    assert (folder / "out.csv").read_text() == "age_min,age_max\n1,3\n1,3\n1,3\n"
    columns = json.loads((folder / "out.csv.card.json").read_text())["released"]["columns"]
    assert [(column["name"], column["role"]) for column in columns] == [("age_min", "quasi"), ("age_max", "quasi")]


def test_persons_count_once(folder: Path) -> None:
    rows = [f'"p {person}",{20 + person}' for person in range(8) for _ in range(3)]
    (folder / "visits.csv").write_text("id,age\n" + "\n".join(rows) + "\n")
    arguments = ["anonymize", "visits.csv", "--quasi", "age", "--k", "4", "--person", "id"]
    assert run([*arguments, "-o", "out.csv"]) == 0
    out = pl.read_csv(folder / "out.csv")
    assert out.columns == ["age"]
    assert out.group_by("age").len()["len"].min() == 12
    assert run([*arguments[:-4], "--k", "9", "--person", "id", "-o", "never.csv"]) == 2
    assert not (folder / "never.csv").exists()


@pytest.mark.parametrize("other, columns", [("drop", ["age"]), ("keep", ["age", "job"])])
def test_other_columns(folder: Path, other: str, columns: list[str]) -> None:
    (folder / "jobs.csv").write_text("age,job\n1,cook\n2,nurse\n")
    assert run(["anonymize", "jobs.csv", "-o", "out.csv", "--quasi", "age", "--k", "2", "--other", other]) == 0
    assert pl.read_csv(folder / "out.csv").columns == columns


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_is_kept(folder: Path, delimiter: str) -> None:
    (folder / "jobs.csv").write_text("age,job\n1,cook\n2,nurse\n".replace(",", delimiter))
    arguments = ["--quasi", "age", "--k", "2", "--other", "keep", "--keep-order"]
    assert run(["anonymize", "jobs.csv", "-o", "out.csv", *arguments]) == 0
    assert (folder / "out.csv").read_text() == "age,job\n[1-2],cook\n[1-2],nurse\n".replace(",", delimiter)


@pytest.mark.parametrize("name", ["o.parquet", "o.arrow", "o.jsonl", "o.csv.gz", "o.jsonl.gz", "o"])
def test_every_format_goes_out_and_comes_in_again(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(["anonymize", "in.csv", "-o", name, *ROLES, "--k", "10"]) == 0
    assert measured([name, *CHECK], capsys)["k"] >= 10
    assert run(["anonymize", name, "-o", "again.csv", *CHECK, "--k", "20"]) == 0
    assert (folder / "again.csv").exists()


def test_missing_values_are_kept_and_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["age,sex,income"] + [f"{'' if row % 5 == 0 else row},{'FM?'[row % 3]},{row % 4 or ''}" for row in range(60)]
    (folder / "gaps.csv").write_text("\n".join(rows) + "\n")
    roles = ["--quasi", "age,sex", "--sensitive", "income"]
    assert run(["anonymize", "gaps.csv", "-o", "out.csv", *roles, "--k", "5"]) == 0
    assert pl.read_csv(folder / "out.csv")["income"].null_count() == 15
    found = measured(["out.csv", "--quasi", "age,sex"], capsys)
    assert (found["rows"], found["k"] >= 5) == (60, True)


def test_a_schema_file_with_a_hierarchy(folder: Path) -> None:
    (folder / "age.csv").write_text("".join(f"{age},{age // 10 * 10}s,*\n" for age in range(16, 95)))
    (folder / "roles.toml").write_text(
        'other = "drop"\n[columns.age]\nrole = "quasi"\ntype = "integer"\nhierarchy = "age.csv"\n'
    )
    roles = ["--schema", "roles.toml", "--sensitive", "cost"]
    assert run(["anonymize", "in.csv", "-o", "out.csv", *roles, "--k", "5"]) == 0
    out = pl.read_csv(folder / "out.csv", infer_schema=False)
    assert out.columns == ["age", "cost"]
    labels = {str(age) for age in range(16, 95)} | {f"{decade}s" for decade in range(10, 100, 10)} | {"*"}
    assert set(out["age"].to_list()) <= labels


def test_a_proposed_schema_is_one_that_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "in.csv"]) == 0
    (folder / "proposed.toml").write_text(capsys.readouterr().out)
    assert run(["anonymize", "in.csv", "-o", "out.csv", "--schema", "proposed.toml", "--k", "5"]) == 0
    assert "name" not in pl.read_csv(folder / "out.csv").columns


def test_adult_keeps_its_promise(
    data: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = str(data("adult_train.csv.gz")), str(tmp_path / "out.csv")
    roles = ["--quasi", "age,workclass,education,marital-status,race,sex,native-country", "--sensitive", "occupation"]
    assert run(["anonymize", source, "-o", out, *roles, "--other", "drop", "--k", "10", "--l", "3"]) == 0
    assert run(["check", out, *roles, "--require", "k=10,l=3"]) == 0
    assert measured([out, *roles], capsys)["rows"] == pl.read_csv(source, infer_schema=False).height


def test_a_terminal_that_cannot_be_written_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder.exists()

    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Closed())
    assert run(["check", "in.csv", *CHECK]) == 2


def test_a_terminal_without_greek_letters_still_gets_its_measures(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age,d\n1,x\n1,y\n")
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "check", "in.csv", "--quasi", "age", "--sensitive", "d"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u03b1" in done.stdout


@pytest.mark.parametrize("c", ["-1", "0", "nan"])
def test_check_refuses_a_senseless_c(tmp_path: Path, capsys: pytest.CaptureFixture[str], c: str) -> None:
    (tmp_path / "in.csv").write_text("age,d\n1,x\n1,y\n")
    assert run(["check", str(tmp_path / "in.csv"), "--quasi", "age", "--sensitive", "d", f"--c={c}"]) == 2
    assert "must be a number above 0" in capsys.readouterr().err
