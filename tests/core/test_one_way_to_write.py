"""One way to write: no module but `sfumato.core.files` opens a file for writing, renames or links one.

The rule reads the source. An exemption names the module, the call and its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "sfumato"
ONE_WAY = "core/files/"
WRITERS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"}
OF_FRAMES = {"write_csv", "write_parquet", "write_ipc", "write_ndjson", "write_excel", "sink_csv", "sink_parquet"}
OF_SYSTEM = {
    "os": {"link", "symlink", "rename", "replace", "truncate", "mkfifo"},
    "shutil": {"copy", "copyfile", "move"},
}
TEMPORARY = {"NamedTemporaryFile", "mkstemp", "TemporaryFile"}
CREATING = {"O_CREAT", "O_WRONLY", "O_RDWR", "O_TRUNC", "O_APPEND"}

PLACED = "writes into a place that a Staging gave, which is moved when it is complete"
SUITE = "a conformance suite in a temporary folder of its own, which goes with it"
COLUMN = "a column of a frame gets another name, no file"
EXEMPT: dict[tuple[str, str], str] = {
    ("audit/gate/file/marks.py", "rename"): COLUMN,
    ("audit/gate/file/passed.py", "rename"): COLUMN,
    ("audit/time_questions.py", "write_parquet"): "made-up people in a temporary folder, which goes with the audit",
    ("audit/twin/sandbox.py", "write_bytes"): "neighbouring inputs in a temporary folder, which goes with the audit",
    ("checks/connector_runs.py", "os.open"): SUITE,
    ("checks/connector_runs.py", "touch"): SUITE,
    ("checks/connector_runs.py", "write_text"): SUITE,
    ("checks/formats.py", "write_bytes"): SUITE,
    ("cli/streams.py", "os.open"): "opens the null device in place of a standard output that is gone or full",
    ("dp/ledger/migration.py", "replace"): "puts a migrated ledger that SQLite has flushed in the place of the old one",
    ("engines/spark/session.py", "TemporaryFile"): "keeps what Java prints while it starts, without a name",
    ("local/reports/files.py", "open"): PLACED,
    ("serve/data_sets.py", "link"): "gives the rows of a data set, already on the disk, their place in its folder",
    ("serve/database.py", "rename"): "moves the curator's new records into place once SQLite has flushed them",
    ("serve/uploads.py", "link"): "gives an upload that is complete and flushed its name, and replaces nothing",
    ("stream/connectors/file/outlet.py", "os.open"): "a stream's output grows; its own steps make it durable",
    ("stream/connectors/file/sink.py", "sink_parquet"): "turns a stream's rows into Parquet beside their place",
    ("stream/connectors/file/sink.py", "replace"): "moves that Parquet into place once it is complete and flushed",
    ("stream/connectors/rows.py", "write_ndjson"): "writes into a buffer that the outlet makes durable",
    ("stream/connectors/rows.py", "write_csv"): "writes into a buffer that the outlet makes durable",
    ("table/formats/delimited.py", "open"): PLACED,
    ("table/formats/delimited.py", "write_csv"): PLACED,
    ("table/formats/typed.py", "write_parquet"): PLACED,
    ("table/formats/typed.py", "write_ipc"): PLACED,
    ("table/formats/typed.py", "write_ndjson"): PLACED,
    ("tabular/charge.py", "write_ipc"): "packs a paid table into memory, for the ledger",
}


def calls(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each call of a module that may make or change a file, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = writing(node)
            if name is not None:
                yield name, node.lineno


def writing(call: ast.Call) -> str | None:  # noqa: PLR0911  # a line for each kind of call
    """Return the name of a call that may make or change a file."""
    function = call.func
    if isinstance(function, ast.Name):
        return "open" if function.id == "open" and mode_writes(call, 1) else None
    if not isinstance(function, ast.Attribute):
        return None
    owner, name = function.value.id if isinstance(function.value, ast.Name) else "", function.attr
    if name in WRITERS or name in TEMPORARY or name in OF_SYSTEM.get(owner, set()):
        return name
    if name in OF_FRAMES and (call.args or (call.keywords and call.keywords[0].arg in {"file", "workbook"})):
        return name
    if owner == "os" and name == "open":
        flags = {
            node.attr for argument in call.args[1:] for node in ast.walk(argument) if isinstance(node, ast.Attribute)
        }
        return "os.open" if flags & CREATING else None
    if name == "rename" and len(call.args) == 1 and not isinstance(call.args[0], ast.Dict | ast.DictComp | ast.Lambda):
        return "rename"
    if name == "replace" and len(call.args) == 1 and not call.keywords:
        return "replace"
    return name if name == "open" and (mode_writes(call, 0) or mode_writes(call, 1)) else None


def mode_writes(call: ast.Call, place: int) -> bool:
    """Return whether a mode among the arguments of `open` writes."""
    given = [*call.args[place : place + 1], *(word.value for word in call.keywords if word.arg == "mode")]
    modes = [node.value for node in given if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return any(set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in modes)


def found() -> dict[tuple[str, str], list[int]]:
    """Return the calls of all modules but the one way to write."""
    all_calls: dict[tuple[str, str], list[int]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        if not module.startswith(ONE_WAY):
            for name, line in calls(path):
                all_calls.setdefault((module, name), []).append(line)
    return all_calls


def test_nothing_else_opens_a_file_for_writing() -> None:
    offenders = {
        f"{module}:{lines[0]} {name}" for (module, name), lines in found().items() if (module, name) not in EXEMPT
    }
    assert not offenders


def test_every_exemption_is_needed_and_has_a_reason() -> None:
    assert set(EXEMPT) <= set(found())
    assert all(len(reason.split()) > 3 for reason in EXEMPT.values())


@pytest.mark.parametrize(
    "line",
    [
        "open('x', 'w')",
        "path.open('wb')",
        "path.open(mode='a')",
        "gzip.open(path, 'wb')",
        "path.write_text('x')",
        "os.open(path, os.O_RDWR | os.O_CREAT, 0o600)",
        "path.rename(other)",
        "path.replace(other)",
        "os.replace(a, b)",
        "frame.write_csv(path)",
        "tempfile.mkstemp()",
    ],
)
def test_the_rule_sees(line: str) -> None:
    node = ast.parse(line, mode="eval").body
    assert isinstance(node, ast.Call)
    assert writing(node) is not None


@pytest.mark.parametrize("line", ["open('x')", "path.open('rb')", "text.replace('a', 'b')", "frame.write_csv()"])
def test_the_rule_leaves_reading_alone(line: str) -> None:
    node = ast.parse(line, mode="eval").body
    assert isinstance(node, ast.Call)
    assert writing(node) is None
