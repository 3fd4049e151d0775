"""Documentation that is run: the README's and the guides' commands, the generated pages, the public names."""

from __future__ import annotations

import importlib.util
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from servers import RedisServer, free_port, program

import sfumato as sf
from sfumato.hierarchy.file import read_hierarchy

ROOT = Path(__file__).parents[2]
GUIDES = (
    "table",
    "compare",
    "coming-from",
    "reading",
    "hierarchies",
    "series",
    "queries",
    "serving",
    "local",
    "streams",
    "operating-streams",
    "audit",
    "utility",
    "spark",
)
PAGES = ("README.md", *(f"docs/guides/{guide}.md" for guide in GUIDES))
SLOW = tuple(
    f"docs/guides/{guide}.md"
    for guide in (
        "spark",
        "audit",
        "utility",
        "coming-from",
        "queries",
        "serving",
        "streams",
        "operating-streams",
        "series",
        "reading",
        "table",
        "local",
    )
)
GOING_ON = ("README.md", "docs/guides/queries.md")  # their Python goes on with what their commands have made
ON_SPARK = "docs/guides/spark.md"
WITH_REDIS = "docs/guides/operating-streams.md"
ON_A_PORT = "docs/guides/serving.md"
ALGORITHMS = sorted((ROOT / "docs" / "algorithms").glob("*.md"))
CODE = (*PAGES, *(f"docs/algorithms/{page.name}" for page in ALGORITHMS if "```python" in page.read_text("utf-8")))
LAST = {
    "docs/guides/coming-from.md": "pram.csv.card.json",
    "docs/guides/reading.md": "clinic.xlsx.card.json",
    "docs/guides/series.md": "summer-m.csv.card.json",
    "docs/guides/queries.md": "cost.csv.card.json",
    "docs/guides/serving.md": "answer.csv.card.json",
    "docs/guides/local.md": "counts.csv.card.json",
    "docs/guides/streams.md": "kept.csv.card.json",
    WITH_REDIS: "card.json",
    "docs/guides/audit.md": "reports.bin.card.json",
    ON_SPARK: "costs.card.json",
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the examples in it, where commands of a page may write."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def skip_without_spark(page: str, request: pytest.FixtureRequest) -> None:
    """Skip the guide to Spark where there is none."""
    if page == ON_SPARK:
        request.getfixturevalue("spark")


@pytest.fixture
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis server of our own; without one the test is skipped."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    program("redis-cli")
    server.start()
    yield server.port
    server.stop()


def run_commands(page: str, clone: Path) -> subprocess.CompletedProcess[str]:
    """Run a page's commands one after the other; none of them may fail."""
    commands = [block for block in blocks(page, "sh") if "make " not in block]
    assert commands
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    script = "\n".join(commands).replace(".venv/bin/sfumato", "sfumato")
    done = subprocess.run(
        ["bash", "-euc", script], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.long) if page in SLOW else page for page in PAGES]
)
def test_commands_of_a_page_run(
    page: str, clone: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    skip_without_spark(page, request)
    if page == WITH_REDIS:
        monkeypatch.setenv("PORT", str(request.getfixturevalue("redis_port")))
        monkeypatch.setenv("METRICS", str(free_port()))
    if page == ON_A_PORT:
        monkeypatch.setenv("PORT", str(free_port()))
    done = run_commands(page, clone)
    assert (clone / LAST.get(page, "anonymous.csv.card.json")).exists()
    for line in "".join(blocks(page, "text")).splitlines():  # what a page says its commands print
        assert line in done.stdout
    if page in GOING_ON:
        monkeypatch.chdir(clone)
        run_python(page)


@pytest.mark.parametrize("language", ["csv", "toml"])
def test_hierarchies_of_the_guide_can_be_read(language: str, tmp_path: Path) -> None:
    examples = blocks("docs/guides/hierarchies.md", language)
    assert examples
    for content in examples:
        (tmp_path / f"example.{language}").write_text(content, encoding="utf-8")
        found = read_hierarchy(tmp_path / f"example.{language}")
        assert found.label(*(found.leaves.index(leaf) for leaf in ("Bachelors", "Masters"))) == "Higher education"


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long) if page == ON_SPARK else page for page in CODE if page not in GOING_ON],
)
def test_python_of_a_page_runs(
    page: str, clone: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    skip_without_spark(page, request)
    monkeypatch.chdir(clone)
    run_python(page)


def run_python(page: str) -> None:
    """Run a page's blocks of Python one after the other."""
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), {})  # noqa: S102


def test_javascript_of_the_guide_runs(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node on this machine")
    page = "docs/guides/local.md"
    monkeypatch.chdir(clone)
    (header,) = (block for block in blocks(page, "python") if "stations.header.json" in block)
    exec(compile(header, page, "exec"), {})  # noqa: S102
    program, in_browser = blocks(page, "js")
    assert in_browser in (ROOT / "clients" / "js" / "README.md").read_text(
        encoding="utf-8"
    )  # a page in Chromium runs it
    (clone / "sfumato-device.js").write_bytes(sf.local.device_script())
    (clone / "page.mjs").write_text(program, encoding="utf-8")
    (clone / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    subprocess.run([node, "page.mjs"], check=True)
    tally = sf.local.tally_report_files(["stations.jsonl"])
    assert (tally.users, tally.rejected) == (3, {})
    first, second, third = Path("stations.jsonl").read_text("ascii").splitlines()[1:]
    assert second == third
    assert first.rpartition(",")[0] == second.rpartition(",")[0]


def test_generated_pages_are_current() -> None:
    for name, text in load(ROOT / "docs" / "make_reference.py").pages().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, f"docs/{name} is stale; run `make docs`"


def test_the_sample_is_what_its_generator_makes() -> None:
    for name, text in load(ROOT / "examples" / "make_patients.py").sample_files().items():
        assert (ROOT / "examples" / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", [name for name in dir(sf) if name != "__version__"])
def test_every_public_name_is_documented_with_an_example(name: str) -> None:
    value = getattr(sf, name)
    assert inspect.getdoc(value)
    if not inspect.ismodule(value):
        assert ">>>" in (inspect.getdoc(value) or "") or any(
            ">>>" in (inspect.getdoc(member) or "") for _, member in inspect.getmembers(value)
        )


def test_every_module_says_what_it_is_for() -> None:
    for module in pkgutil.walk_packages(sf.__path__, "sfumato."):
        if module.name == "sfumato.__main__":
            continue
        spec = importlib.util.find_spec(module.name)
        assert spec is not None
        assert spec.origin is not None
        assert Path(spec.origin).read_text(encoding="utf-8").startswith(('"""', 'r"""')), module.name
