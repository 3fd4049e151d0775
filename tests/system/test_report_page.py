"""The demo's report as browsers and readers get it: sound HTML, promise and findings in every chapter, no overflow."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
WIDTHS = (360, 390, 768, 1280)
VOID = frozenset({"meta", "br", "link", "img", "input"})
MEASURE = """<!DOCTYPE html><body>{frames}<script>
addEventListener("load", () => {{
  for (const frame of document.querySelectorAll("iframe")) {{
    const root = frame.contentDocument.documentElement;
    const line = document.createElement("p");
    line.textContent = [frame.dataset.width, root.scrollWidth, root.clientHeight && root.scrollHeight].join(" ");
    document.body.append(line);
  }}
}});
</script>"""


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Outline(HTMLParser):
    """Tags with their attributes, in order; refuses what is not closed as it was opened."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]


@dataclass(frozen=True)
class Demo:
    """What the demo wrote, and what it said."""

    folder: Path
    said: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo as `make demo` runs it."""
    out = tmp_path_factory.mktemp("demo") / "out"
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Demo(out, done.stdout)


@pytest.fixture(scope="module")
def report(demo: Demo) -> Path:
    return demo.folder / "report.html"


@pytest.fixture(scope="module")
def page(report: Path) -> str:
    return report.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    return Outline(page)


def test_the_demo_writes_releases_and_a_report(demo: Demo) -> None:
    assert {file.name for file in demo.folder.iterdir()} >= {"patients.csv", "patients.csv.card.json", "report.html"}
    card = json.loads((demo.folder / "series-2.csv.card.json").read_text())
    assert card["guarantee"]["parameters"]["series"] == "exact"  # BPG leaves people to an attacker who adds up
    assert "two by republish in 0" in demo.said


def test_names_are_unique_and_links_lead_somewhere(outline: Outline) -> None:
    names = outline.values("id")
    assert len(set(names)) == len(names)
    assert {target.removeprefix("#") for target in outline.values("href")} <= set(names)
    assert all(target.startswith("#") for target in outline.values("href"))
    assert set(outline.values("aria-labelledby")) <= set(names)


def test_nothing_is_loaded_from_outside(page: str, outline: Outline) -> None:
    assert not re.search(r"https?:|//|url\((?!#)|@import|@font-face", page)
    assert {"script", "link", "img", "iframe", "object", "embed"}.isdisjoint(tag for tag, _ in outline.tags)
    assert not outline.values("src")
    assert len(page) < 2_000_000


def test_head_says_language_viewport_and_schemes(page: str, outline: Outline) -> None:
    metas = {attributes.get("name"): attributes.get("content") for tag, attributes in outline.tags if tag == "meta"}
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    assert metas["color-scheme"] == "light dark"
    assert outline.tags[0] == ("html", {"lang": "en"})
    for rule in ("prefers-color-scheme: dark", "@media print", "@page"):
        assert rule in page


def test_headings_go_down_one_step_at_a_time(outline: Outline) -> None:
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_every_picture_and_table_is_named(page: str, outline: Outline) -> None:
    pictures = re.findall(r"<svg[^>]*>(<title>[^<]+</title>)?", page)
    assert len(pictures) > 20
    assert all(pictures)
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("table") == tags.count("caption")
    assert all(attributes.get("role") == "img" for tag, attributes in outline.tags if tag == "svg")


def test_every_chapter_has_its_promise_its_findings_and_its_mark(page: str) -> None:
    chapters = page.split("<article>")[1:]
    assert len(chapters) == 7
    for chapter in chapters:
        assert re.search(r"<h3[^>]*>What is (promised|claimed)", chapter)
        assert re.search(r'class="badge (stood|fell)"', chapter)
        assert 'class="mark raw"' in chapter


def test_the_opening_tells_of_every_door_and_nothing_that_left_was_refuted(page: str) -> None:
    opening = page[page.index('class="opening"') : page.index("<article>")]
    for door in ("table", "query", "local", "stream"):
        assert f"Published by the {door} door" in opening
    left = re.findall(r'<dl class="gist">(.*?)</dl>', opening)
    kept = re.findall(r'<dl class="gist kept">(.*?)</dl>', opening)
    assert len(left) == 6
    assert all("✓ NOT REFUTED" in gist for gist in left)
    assert sum("✗ REFUTED" in gist for gist in kept) == 3


def test_no_page_is_wider_than_its_window(report: Path, tmp_path: Path) -> None:
    pictures = load(ROOT / "docs" / "make_pictures.py")
    if pictures.browser() is None:
        pytest.skip("no Chromium on this machine")
    frames = "".join(
        f'<iframe src="{report.as_uri()}" data-width="{width}" style="width:{width}px;height:800px;border:0"></iframe>'
        for width in WIDTHS
    )
    harness = tmp_path / "measure.html"
    harness.write_text(MEASURE.format(frames=frames), encoding="utf-8")
    try:
        told = pictures.chromium("--allow-file-access-from-files", "--dump-dom", harness.as_uri())
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"Chromium does not run here: {error}")
    measured = {int(width): int(found) for width, found in re.findall(r"<p>(\d+) (\d+) \d+</p>", told)}
    assert measured == {width: width for width in WIDTHS}
