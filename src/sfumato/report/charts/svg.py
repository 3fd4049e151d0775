"""Matplotlib figures as small inline SVG whose colours follow the page, light or dark.

Figures are drawn with marker colours that become CSS variables; text stays text. The palette behind
the variables is that of Okabe & Ito (2008), which readers with colour blindness can tell apart.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from sfumato.errors import MissingExtraError
from sfumato.report.page.markup import Markup, element, join

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, LINE, BAR, BEFORE, BEFORE_FILL, AFTER = (f"#0{number}0f0{number}" for number in range(1, 8))
VARIABLES = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    BAR: "var(--bar)",
    BEFORE: "var(--before)",
    BEFORE_FILL: "var(--before-fill)",
    AFTER: "var(--after)",
}
WIDTH = 312
NUMBER = re.compile(r"-?\d+\.\d+")
REFERENCE = re.compile(r"[mp][0-9a-f]{10}")
INNER = re.compile(rf'(\bid="|href="#|url\(#)({REFERENCE.pattern})\b')
NAMESPACE = "http://www.w3.org/2000/svg"
LINKS = "http://www.w3.org/1999/xlink"
OWN = "svg.sfumato"  # the style of a file shown inside a page, as in a notebook, stays its own
WRAPPING = frozenset({"metadata", "style"})
SETTINGS: dict[Any, Any] = {  # matplotlib types the keys one by one
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 10.5,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
}


def refuse_without_matplotlib() -> None:
    """Refuse to draw where matplotlib is missing; before long work, so that it is not lost for want of a picture.

    >>> refuse_without_matplotlib()
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home it works, and says so in four lines
    try:
        import matplotlib  # noqa: F401, ICN001
    except ImportError as error:
        raise MissingExtraError("reports need matplotlib; pip install 'sfumato[report]'") from error


def draw(name: str, height: int, label: str, paint: Callable[[Axes], None], *, width: int = WIDTH) -> Markup:
    """Return what `paint` draws as inline SVG of `height` and `width` pixels; `label` says it in words.

    `name` keeps the picture's inner references apart from those of other pictures on the page.

    >>> picture = draw("line", 80, "A line going up", lambda axes: axes.plot([0, 1], color=AFTER))
    >>> picture.startswith('<svg viewBox="0 0 312 80" role="img" aria-label="A line going up"')
    True
    >>> "var(--after)" in picture, "http" in picture
    (True, False)
    """
    refuse_without_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    file = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the reader's browser has it
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS | {"svg.hashsalt": name})
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.subplots()
        axes.patch.set_visible(False)
        paint(axes)
        figure.savefig(file, format="svg", metadata={"Date": None})
    return _inline_svg(file.getvalue(), width, height, label)


def _inline_svg(text: str, width: int, height: int, label: str) -> Markup:
    root = ET.fromstring(text)  # noqa: S314  # written a moment ago by matplotlib, every label escaped
    shapes = join(_shape(child) for child in root)
    title = element("title", label)
    return element("svg", title, shapes, viewBox=f"0 0 {width} {height}", role="img", aria_label=label)


def _shape(node: ET.Element) -> Markup:
    """Return a node without what only a file of its own needs: metadata, names, fonts, groups of one style."""
    tag = _local(node.tag)
    if tag in WRAPPING:
        return Markup()
    content = (node.text or "").strip() if tag == "text" else join(_shape(child) for child in node)
    attributes = {_local(name): value for name, value in node.attrib.items()}
    attributes = {name: _shorten_attribute(name, value) for name, value in attributes.items()}
    kept = {name: value for name, value in attributes.items() if value}
    if tag in {"g", "defs"} and (not content or (tag == "g" and not kept)):
        return Markup(content)
    return element(tag, content, **kept)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _shorten_attribute(name: str, value: str) -> str:
    if name == "id" and not REFERENCE.fullmatch(value):
        return ""
    if name == "transform" and value.startswith("rotate(-0 "):
        return ""
    if name == "style":
        for marker, variable in VARIABLES.items():
            value = value.replace(marker, variable)
        return "; ".join(part for part in value.split("; ") if not part.startswith("font-family"))
    return " ".join(NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value).split())


def separate_ids(page: Markup) -> Markup:
    """Return a page whose pictures share no inner names: two that are drawn alike would otherwise have the same.

    >>> twice = Markup('<svg><path id="m0123456789"/><use href="#m0123456789"/></svg>' * 2)
    >>> separate_ids(twice).count('id="p2-m0123456789"'), separate_ids(twice).count("#p2-m0123456789")
    (1, 1)
    """
    opening, *pictures = re.split(r"(?=<svg\b)", page)
    named = (INNER.sub(rf"\g<1>p{number}-\g<2>", picture) for number, picture in enumerate(pictures, 1))
    return Markup(opening + "".join(named))


def standalone(picture: Markup) -> str:
    """Return an inline picture as a file of its own, with the page's colours for light and dark.

    >>> text = standalone(draw("line", 80, "A line", lambda axes: axes.plot([0, 1], color=AFTER)))
    >>> text.startswith("<svg xmlns="), "prefers-color-scheme" in text
    (True, True)
    """
    style = resources.files("sfumato.report.page").joinpath("style.css").read_text(encoding="utf-8")
    colours = style[: style.index("* {")].replace(":root", OWN)
    opening, _, rest = picture.partition(">")
    head = opening.replace("<svg", f'<svg xmlns="{NAMESPACE}" xmlns:xlink="{LINKS}" class="sfumato"', 1)
    look = f"{OWN} {{ background: var(--paper); font-family: system-ui, sans-serif; max-width: 44rem; }}"
    return f"{head}><style>{colours}{look}</style>{rest}"
