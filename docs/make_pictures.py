"""Write the pictures of README and guides: the demo's report in headless Chromium, and what other scripts draw."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
IMAGES = FOLDER / "images"
DEMO = FOLDER.parent / "examples" / "demo.py"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"
HIDDEN = ".banner, header, .contents, footer, .opening, article nav, .summary > *:not(.keys), h2.chapter"


class Shot(NamedTuple):
    """A picture of the report: how wide and high, in the dark or not, of some sections of one chapter or of the top."""

    width: int
    height: int
    dark: bool = False
    chapter: int = 0
    sections: tuple[int, ...] = ()

    @property
    def style(self) -> str:
        """The rules that hide whatever is not to be seen."""
        if not self.chapter:
            return ""
        others = "".join(f":not(:nth-of-type({section}))" for section in self.sections)
        hidden = f"{HIDDEN}, article:not(:nth-of-type({self.chapter})), article section{others}"
        return (
            f"<style>{hidden} {{ display: none !important; }} .layout {{ display: block; padding-top: 1rem; }}</style>"
        )


SHOTS = {
    "report.png": Shot(1280, 1000),
    "report-dark.png": Shot(1280, 1000, dark=True),
    "report-phone.png": Shot(390, 844),
    "report-phone-dark.png": Shot(390, 844, dark=True),
    "report-table.png": Shot(1000, 1068, chapter=1, sections=(7,)),
    "report-series.png": Shot(1000, 560, chapter=2, sections=(2,)),
    "report-query.png": Shot(1000, 1240, chapter=4, sections=(2, 4)),
    "report-local.png": Shot(1000, 640, chapter=5, sections=(1,)),
    "report-stream.png": Shot(1000, 620, chapter=6, sections=(2,)),
}


def browser() -> str | None:
    """Return the Chromium of this machine, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def chromium(*arguments: str) -> str:
    """Return what headless Chromium prints, run with a profile of its own that is thrown away."""
    found = browser()
    if found is None:
        sys.exit(
            f"pictures need a browser: none of {', '.join(NAMES)} is on the path; on Debian: apt-get install chromium"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [found, *FLAGS, f"--user-data-dir={profile}", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout  # noqa: S603


def take(report: Path, shot: Shot, target: Path) -> None:
    """Write one picture of a report."""
    page = report.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "report.html"
        shown.write_text(page.replace("</head>", f"{shot.style}</head>", 1), encoding="utf-8")
        size = f"--window-size={shot.width},{shot.height}"
        chromium(DARK if shot.dark else LIGHT, size, f"--screenshot={target}", shown.as_uri())


def pictures_of(script: str) -> dict[str, str]:
    """Return the pictures that a script beside this one draws without a browser, by file name."""
    spec = importlib.util.spec_from_file_location(script, FOLDER / f"{script}.py")
    if spec is None or spec.loader is None:
        sys.exit(f"docs/{script}.py is gone")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    texts: dict[str, str] = module.pictures()
    return texts


def main() -> None:
    """Run the demo, take its report's pictures, and draw the others."""
    for script in ("make_architecture_picture", "make_audit_pictures"):
        for name, text in pictures_of(script).items():
            (IMAGES / name).write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "out"
        if not (out / "report.html").exists():
            subprocess.run([sys.executable, str(DEMO), str(out)], check=True)  # noqa: S603
        for name, shot in SHOTS.items():
            take(out / "report.html", shot, IMAGES / name)
            print(IMAGES / name)


if __name__ == "__main__":
    main()
