"""Pages that hold together: the index lists all of them, links and anchors lead somewhere, names in the text exist."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sfumato import plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "sfumato"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
CODE = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", flags=re.MULTILINE)
NAME = re.compile(r"(?<![\w./-])(?:sfumato|sf)(?:\.[A-Za-z_]\w*)+(?![\w/-])")
FILES = ("toml", "csv", "json", "md", "py")
WRITTEN = [page for page in PAGES if page.name != "cli.md" and page.parent.name != "experiments"]  # not generated
RIDDLES = re.compile(
    r"Certain\*? is|on the way on|say it better|lose together|alone with their combination|beat on which|"
    r"when it is not left|source 00\d",
    flags=re.IGNORECASE,
)
SCRIPT = re.compile(r"`((?:[\w-]+/)+[\w-]+\.py)`")


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and the anchor of every link that stays within the repository."""
    for first, second in LINK.findall(prose(page)):
        target = first or second
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page: lower case, no punctuation, hyphens for spaces."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        base = anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = 0
        while anchor in found:
            number += 1
            anchor = f"{base}-{number}"
        found.add(anchor)
    return found


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page_name(page)} links to {path}"
        assert not anchor or anchor in anchors(target), f"{page_name(page)} links to {path}#{anchor}"


def test_the_index_lists_every_page_once() -> None:
    index = DOCS / "README.md"
    listed = [(DOCS / path).resolve() for path, _ in links(index) if not path.startswith("..")]
    assert sorted(listed) == sorted({*DOCS.rglob("*.md"), DOCS / "card.schema.json"} - {index})
    assert "docs/README.md" in [path for path, _ in links(ROOT / "README.md")]


def test_every_link_of_the_index_says_in_a_line_what_it_leads_to() -> None:
    entries = [line for line in prose(DOCS / "README.md").splitlines() if line.startswith("- ")]
    assert [line for line in entries if not re.fullmatch(r"- \[[^\]]+\]\([^)]+\): \S.*", line)] == []


def resolve(name: str) -> object:
    """Return what a dotted name stands for, modules imported as needed."""
    first, *rest = name.split(".")
    path = "sfumato" if first == "sf" else first
    found: object = importlib.import_module(path)
    for part in rest:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(path)
    return found


def names(page: Path) -> set[str]:
    """Return the dotted names of this package in a page, code included, without entry point groups and file names."""
    found = set(NAME.findall(page.read_text(encoding="utf-8")))
    groups = {f"sfumato.{kind}" for kind in plugins.KINDS}
    return {name for name in found - groups if name.rsplit(".", 1)[-1] not in FILES}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_name_in_a_page_exists(page: Path) -> None:
    missing = []
    for name in sorted(names(page)):
        try:
            resolve(name)
        except (ImportError, AttributeError):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("page", WRITTEN, ids=page_name)
def test_a_page_has_no_sentence_that_must_be_read_twice(page: Path) -> None:
    assert RIDDLES.findall(" ".join(prose(page).split())) == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_script_in_a_page_exists(page: Path) -> None:
    paths = SCRIPT.findall(prose(page))
    assert [path for path in paths if not any((folder / path).exists() for folder in (ROOT, ROOT / "src"))] == []


def rooms() -> list[tuple[list[str], set[str]]]:
    """Return the rows of the table of rooms: the names in its first column, and the folders in its third."""
    lines = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## The rooms")[2].splitlines()
    cells = [line.strip("|").split("|") for line in lines if line.startswith("| `") and line.count("|") == 5]
    return [(re.findall(r"`(\w+)`", first), set(re.findall(r"`([\w/]+)`", third))) for first, _, third, _ in cells]


def test_the_table_of_rooms_has_every_package() -> None:
    packages = {folder.parent.relative_to(SOURCE).as_posix() for folder in SOURCE.rglob("__init__.py")} - {"."}
    named = {name for row, _ in rooms() for name in row}
    modules = {module.stem for module in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert named == {package for package in packages if "/" not in package} | modules
    folders = {f"{row[0]}/{folder}" for row, inside in rooms() for folder in inside}
    assert folders == {package for package in packages if "/" in package}


def test_the_table_of_rooms_goes_from_the_lowest_layer_to_the_highest() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(found for found in settings["tool"]["importlinter"]["contracts"] if found["id"] == "layers")
    layers = [set(re.findall(r"\w+", layer)) for layer in reversed(contract["layers"])]
    shown = [name for row, _ in rooms() for name in row]
    for layer in layers:
        if layer != {"__main__"}:
            assert set(shown[: len(layer)]) == layer
            shown = shown[len(layer) :]
    assert shown == []
