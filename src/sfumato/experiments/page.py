"""The page of an experiment: the source's numbers, ours done the same way, and our best, side by side.

Markdown for the documentation, and one HTML file with figures that can be asked, for anybody with a browser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.experiments.declared import ComparedNumber, Experiment, Rows
from sfumato.experiments.figure import Figure
from sfumato.experiments.interactive import drawing, script
from sfumato.report.page.markup import Markup, element, join

HEADINGS = ("where", "what", "source", "ours, its way", "our best", "difference")
STYLE = """
:root { color-scheme: light; --ink: #1d2026; --soft: #5b6270; --line: #dfe2e8 }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff; max-width: 76rem; margin: 2rem auto;
  padding: 0 1rem }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .7rem; text-align: left; vertical-align: top }
td:nth-child(3), td:nth-child(4), td:nth-child(5) { text-align: right; white-space: nowrap }
figure { margin: 2.5rem 0; overflow-x: auto } figcaption, .soft { color: var(--soft) }
.standin { border-left: 4px solid #d55e00; padding: .5rem 1rem; background: #fff4ec }
"""


@dataclass(frozen=True)
class Page:
    """What a page says: the experiment, its rows, and which data were stand-ins.

    >>> toy = Experiment("toy", "A toy", "nobody 2019", "Nothing.", (), compare=lambda rows: [], draw=lambda rows: [])
    >>> Page(toy, {}, (), (), stand_ins=("x.csv",), quick=True).title
    'A toy (quick run, on made-up stand-ins)'
    """

    experiment: Experiment
    rows: Rows
    comparisons: Sequence[ComparedNumber]
    figures: Sequence[Figure]
    stand_ins: Sequence[str] = ()
    quick: bool = False

    @property
    def title(self) -> str:
        """The title; it says when the run was quick and when data were made up."""
        remarks = ["quick run"] * self.quick + ["on made-up stand-ins"] * bool(self.stand_ins)
        return f"{self.experiment.title} ({', '.join(remarks)})" if remarks else self.experiment.title

    @property
    def command(self) -> str:
        """The command that makes this page."""
        data = " --data DIR" if len(self.stand_ins) < len(self.experiment.files) else ""
        return f"sfumato experiment {self.experiment.name}{data}{' --quick' if self.quick else ''}"

    def markdown(self) -> str:
        """Return the page for the documentation; pictures and rows lie in a folder of the experiment's name."""
        name = self.experiment.name
        lines = [f"# {self.title}", "", f"Source: {self.experiment.source}.", "", f"Written by `{self.command}`.", ""]
        lines += [f"**Made up**: {', '.join(self.stand_ins)}; the numbers below are not the source's.", ""] * bool(
            self.stand_ins
        )
        lines += [
            self.experiment.about.strip(),
            "",
            "## Side by side",
            "",
            _line(HEADINGS),
            "|" + "---|" * len(HEADINGS),
        ]
        lines += [_line(_cells(comparison)) for comparison in self.comparisons]
        lines += ["", "## Figures", ""]
        for figure in self.figures:
            lines += [f"![{figure.title}]({name}/{figure.name}.png)", "", f"{_shows(figure)}{figure.caption}", ""]
        lines += [
            "## Rows",
            "",
            "Every row carries its parameters and its seed.",
            "",
            "| file | rows | columns |",
            "|---|---|---|",
        ]
        lines += [
            f"| [{part}.csv]({name}/{part}.csv) | {f.height:,} | {', '.join(f.columns)} |"
            for part, f in self.rows.items()
        ]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return the same as one HTML file with figures to zoom and ask, which loads nothing."""
        about = [_block(part) for part in self.experiment.about.strip().split("\n\n")]
        if self.stand_ins:
            about.insert(
                0, element("p", f"Made up: {', '.join(self.stand_ins)}. Not the source's numbers.", class_="standin")
            )
        figures = [_figure(figure) for figure in self.figures]
        head = join([
            Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
            element("title", self.title), element("style", Markup(STYLE)), element("script", Markup(script())),
        ])  # fmt: skip
        source = element("p", f"Source: {self.experiment.source}. Written by: {self.command}", class_="soft")
        body = [element("h1", self.title), source, *about, element("h2", "Side by side"), self._table(), *figures]
        page = join([element("head", head), element("body", join(body))])
        return f"<!doctype html>\n{element('html', page, lang='en')}\n"

    def _table(self) -> Markup:
        heads = element("tr", join(element("th", name) for name in HEADINGS))
        rows = [
            element("tr", join(element("td", _inline(cell)) for cell in _cells(entry))) for entry in self.comparisons
        ]
        return element("table", join([heads, *rows]))


def _figure(figure: Figure) -> Markup:
    caption = element("figcaption", _inline(_shows(figure) + figure.caption))
    return element("figure", element("h3", figure.title), Markup(drawing(figure)), caption)


def _shows(figure: Figure) -> str:
    return f"{figure.shows[0].upper()}{figure.shows[1:]}. " if figure.shows else ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cells(entry: ComparedNumber) -> tuple[str, ...]:
    verdict = {
        None: "",
        True: f"within {100 * entry.within:g} %; " if entry.within else "the same; ",
        False: f"**off by {_off(entry)}**; ",
    }
    note = (verdict[entry.same] + entry.note).strip("; ")
    fine = entry.within is not None and entry.within < 1e-3
    numbers = (_number(value, 6 if fine else 4) for value in (entry.paper, entry.ours, entry.best))
    return (entry.where, entry.what, *numbers, note)


def _off(entry: ComparedNumber) -> str:
    return f"{100 * ((entry.ours or 0) / (entry.paper or 1) - 1):+.3g} %"


def _number(value: float | None, digits: int) -> str:
    """Return a number with as many digits as a reader needs: more where the tolerance is fine."""
    if value is None:
        return ""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.{digits}g}"


def _block(text: str) -> Markup:
    r"""Return a paragraph of Markdown, or a table of it, for HTML.

    >>> print(_block("| there | here |\n|---|---|\n| figure 2 | `loss` |"))
    <table><tr><th>there</th><th>here</th></tr><tr><td>figure 2</td><td><code>loss</code></td></tr></table>
    """
    if not text.startswith("|"):
        return element("p", _inline(text))
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
    heads = element("tr", join(element("th", _inline(cell)) for cell in head))
    rows = [element("tr", join(element("td", _inline(cell)) for cell in cells)) for cells in lines]
    return element("table", join([heads, *rows]))


def _inline(text: str) -> Markup:
    """Return Markdown text for HTML: emphasis and code as such, and of a link its words, since the page stands alone.

    >>> print(_inline("**not** *a* `k` < [5](../five.md)"))
    <strong>not</strong> <em>a</em> <code>k</code> &lt; 5
    """
    worded = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    pieces = re.split(r"(\*\*[^*]+\*\*|\*[^*\s][^*]*\*|`[^`]+`)", worded)
    return join(_emphasise(piece) for piece in pieces)


def _emphasise(piece: str) -> str:
    for mark, tag in (("**", "strong"), ("*", "em"), ("`", "code")):
        if piece.startswith(mark) and piece.endswith(mark) and len(piece) > 2 * len(mark):
            return element(tag, piece[len(mark) : -len(mark)])
    return piece
