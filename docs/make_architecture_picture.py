"""Write the picture of the architecture: from raw rows to a release, its audit and the steward's report."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

FILE = Path(__file__).parent / "images" / "architecture.svg"
WIDTH, HEIGHT = 990, 484
LABEL = (
    "Raw rows are read under a schema of public declarations. One of four doors (table, query, stream, local) makes a "
    "release: public data and a public card. Evaluation and audits attack the release. The steward's report, which is "
    "not published, shows raw rows beside it. Ledger, randomness and engines serve every door."
)
STYLE = """
:root { color-scheme: light dark; --paper: #fcfbf9; --sheet: #ffffff; --ink: #1d1c1a; --soft: #5d5a55; --line: #8d887f;
  --public: #0072b2; --public-fill: #e3f0f8; --secret: #a92f00; --secret-fill: #fff1e8; }
@media (prefers-color-scheme: dark) { :root { --paper: #15171a; --sheet: #1d2024; --ink: #eceae6; --soft: #b0aca5;
  --line: #7d828a; --public: #56b4e9; --public-fill: #17303f; --secret: #f0a500; --secret-fill: #33241a; } }
svg { background: var(--paper); font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
rect { fill: var(--sheet); stroke: var(--line); stroke-width: 1.2; }
.public rect { fill: var(--public-fill); stroke: var(--public); stroke-width: 2; }
.secret rect { fill: var(--secret-fill); stroke: var(--secret); stroke-width: 2; stroke-dasharray: 6 4; }
text { fill: var(--soft); }
.title { fill: var(--ink); font-weight: 600; font-size: 15px; }
path { fill: none; stroke: var(--soft); stroke-width: 1.6; }
.hidden { stroke: var(--secret); stroke-dasharray: 6 4; }
marker path { fill: var(--soft); stroke: none; }
.room { fill: var(--soft); font: 12px ui-monospace, Menlo, Consolas, monospace; }
"""


class Box(NamedTuple):
    """A box of the picture: where it stands, what it says, its packages, and who may see what is in it."""

    left: int
    top: int
    width: int
    height: int
    title: str
    lines: tuple[str, ...]
    rooms: str
    seen: Literal["", "public", "secret"] = ""

    def draw(self) -> str:
        """Return the box as SVG."""
        middle = self.left + self.width / 2
        texts = [
            ("title", self.title),
            *(("", line) for line in self.lines),
            ("room", self.rooms),
        ]
        first = self.top + self.height / 2 - 9 * (len(texts) - 1) + 5
        shown = "".join(
            f'<text x="{middle:g}" y="{first + 18 * row:g}" text-anchor="middle" class="{kind}">{escape(text)}</text>'
            for row, (kind, text) in enumerate(texts)
        )
        frame = f'<rect x="{self.left}" y="{self.top}" width="{self.width}" height="{self.height}" rx="7"/>'
        return f'<g class="{self.seen}">{frame}{shown}</g>'


BOXES = (
    Box(20, 130, 118, 128, "raw rows", ("a file, a table,", "a feed,", "a device"), "table", "secret"),
    Box(176, 130, 140, 128, "schema", ("declared bounds,", "categories, keys"), "schema, hierarchy", "public"),
    Box(360, 22, 196, 76, "table door", ("anonymizers, models",), "tabular, models, series"),
    Box(360, 110, 196, 76, "query door", ("questions, mechanisms",), "dp"),
    Box(360, 198, 196, 76, "stream door", ("publishers",), "stream"),
    Box(360, 286, 196, 76, "local door", ("protocols, collector",), "local"),
    Box(600, 130, 134, 128, "release", ("public data", "and its card"), "release", "public"),
    Box(774, 110, 196, 76, "evaluate and audit", ("measure it, attack it",), "evaluate, audit, checks"),
    Box(774, 234, 196, 76, "steward’s report", ("do not publish",), "report", "secret"),
    Box(774, 22, 196, 56, "commands", (), "cli, experiments"),
    Box(176, 396, 164, 56, "randomness", (), "random, core"),
    Box(376, 396, 164, 56, "budget", (), "dp/ledger"),
    Box(576, 396, 158, 56, "more machines", (), "engines"),
)
DOORS = (60, 148, 236, 324)
ARROWS = (
    "M138 194H172",
    *(f"M316 194C338 194 324 {door} 346 {door}H356" for door in DOORS),
    *(f"M556 {door}C578 {door} 564 194 586 194H596" for door in DOORS),
    "M734 180C754 180 740 148 760 148H770",
    "M872 186V230",
)
SERVED = "M258 396V380H655V396M458 396V362"
HIDDEN = "M79 258V468H872V314"


def picture() -> str:
    """Return the picture as the text of an SVG file, readable on light and dark pages."""
    arrows = "".join(f'<path d="{line}" marker-end="url(#tip)"/>' for line in ARROWS)
    others = f'<path d="{SERVED}"/><path class="hidden" d="{HIDDEN}" marker-end="url(#tip)"/>'
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    boxes = "".join(box.draw() for box in BOXES)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(LABEL)}</title><style>{STYLE}</style>{tip}{others}{arrows}{boxes}{legend()}</svg>\n"
    )


def legend() -> str:
    """Return what the two frames mean."""
    rows = (("public", 40, "may be published"), ("secret", 64, "is never published"))
    return "".join(
        f'<g class="{kind}"><rect x="20" y="{top - 13}" width="22" height="16" rx="3"/></g>'
        f'<text x="50" y="{top}">{words}</text>'
        for kind, top, words in rows
    )


def pictures() -> dict[str, str]:
    """Return the text of the picture by file name."""
    return {FILE.name: picture()}


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
