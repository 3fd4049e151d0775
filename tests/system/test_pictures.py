"""Pictures of README and docs are there, and each is named by the script that makes it: none is pasted or left over."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
MAKERS = [*(ROOT / "docs").glob("make_*.py"), *(ROOT / "benchmarks").glob("*.py")]
SHOWN = re.compile(r"!\[[^\]]*\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"")
NAMED = re.compile(r"[\w{}.-]+\.(?:png|svg)")


def shown(page: Path) -> list[Path]:
    """Return the pictures that a page shows."""
    found = [first or second for first, second in SHOWN.findall(page.read_text(encoding="utf-8"))]
    return [(page.parent / target).resolve() for target in found]


def patterns() -> list[str]:
    """Return what the scripts call their pictures; a name's part in braces stands for any word."""
    names = {name for maker in MAKERS for name in NAMED.findall(maker.read_text(encoding="utf-8"))}
    return [re.sub(r"\\{.*?\\}", r"[\\w-]+", re.escape(name)) for name in names]


def test_every_picture_on_a_page_is_there() -> None:
    missing = [f"{page.name}: {image.name}" for page in PAGES for image in shown(page) if not image.exists()]
    assert missing == []


@pytest.mark.parametrize("image", sorted(IMAGES.iterdir()), ids=lambda image: str(image.name))
def test_every_picture_has_its_maker_and_its_page(image: Path) -> None:
    assert any(re.fullmatch(pattern, image.name) for pattern in patterns()), f"no script makes {image.name}"
    assert any(image.resolve() in shown(page) for page in PAGES), f"no page shows {image.name}"


def test_the_picture_of_the_architecture_is_what_its_script_draws() -> None:
    namespace = runpy.run_path(str(ROOT / "docs" / "make_architecture_picture.py"))
    for name, text in namespace["pictures"]().items():
        assert (IMAGES / name).read_text(encoding="utf-8") == text, f"docs/images/{name} is stale; run `make pictures`"


def test_the_command_is_in_the_makefile() -> None:
    assert "docs/make_pictures.py" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_readme_shows_the_report_in_light_and_dark() -> None:
    names = [image.name for image in shown(ROOT / "README.md")]
    assert names == ["report-dark.png", "report.png", "report-phone-dark.png", "report-phone.png"]
