"""Help is fast because nothing heavy is loaded, and it leaves no option unexplained."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.cli.main import run

HEAVY = {"polars", "numpy", "numba", "narwhals", "matplotlib", "pandas", "pyarrow", "scipy", "llvmlite"}
LIGHT = {"polars", "numpy"}  # what classes need to be looked at; compilers, plots and foreign frames wait
FROM_CLASSES = {"anonymize", "republish", "stream"}  # their options are those of the classes that are offered
LIST_MODULES = "import sys; sys.argv[0] = 'sfumato'\nfrom sfumato.cli.main import run\ncode = run({arguments!r})\n"
REPORT = "print('CODE', code); print('MODULES', *sorted({name.partition('.')[0] for name in sys.modules}))"
COMMANDS = ["anonymize", "check", "schema", "stream"]


def loaded(tmp_path: Path, program: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "CODE 0" in done.stdout
    return set(done.stdout.partition("MODULES ")[2].split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([command, "--help"] for command in COMMANDS)])
def test_help_loads_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    modules = loaded(tmp_path, LIST_MODULES.format(arguments=arguments) + REPORT)
    assert "sfumato" in modules
    allowed = LIGHT if arguments[0] in FROM_CLASSES else set()
    assert not modules & (HEAVY - allowed)


def test_help_from_classes_loads_no_compiler(tmp_path: Path) -> None:
    modules = loaded(tmp_path, LIST_MODULES.format(arguments=["republish", "--help"]) + REPORT)
    assert not modules & (HEAVY - LIGHT)


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "import sys, sfumato\ncode = 0\n" + REPORT)
    assert not modules & HEAVY


def test_anonymizing_does_not_load_what_only_reports_and_foreign_frames_need(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age\n1\n2\n3\n4\n")
    arguments = ["anonymize", "in.csv", "-o", "out.csv", "--quasi", "age", "--k", "2"]
    modules = loaded(tmp_path, LIST_MODULES.format(arguments=arguments) + REPORT)
    assert {"polars", "numpy"} <= modules
    assert not modules & {"matplotlib", "narwhals", "pandas", "pyarrow"}


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run([command, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = re.findall(
        r"^│ (?:\*  |   |)((?:-|IN\b)\S*(?: \S+)*)(.*)│$", help_of(command, capsys), flags=re.MULTILINE
    )
    assert "IN" in dict(options)
    for option, words in options:
        assert re.match(r" {2,}[A-Z]\w* ", words), f"{command}: no words for {option}"


@pytest.mark.parametrize(
    "command, options",
    [
        (
            "anonymize",
            """-o --quasi --sensitive --identifier --k --l --l-kind --c --t --person --other --algorithm --relaxed
            --schema --ranges --keep-order --card --report --json""",
        ),
        ("check", "--quasi --sensitive --require --json"),
    ],
)
def test_the_promised_options_are_there(command: str, options: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", help_of(command, capsys)))
    assert set(options.split()) <= shown


def test_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"\b{command}\b", out) for command in COMMANDS)
