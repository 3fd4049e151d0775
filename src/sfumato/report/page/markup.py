"""HTML in small pieces: whatever is not markup already is escaped, so no value can become a tag.

The elements and their accessible names follow the HTML living standard and WCAG 2.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already; any other text is escaped where it meets markup.

    >>> element("p", "a < b, ", Markup("<b>c</b>"))
    '<p>a &lt; b, <b>c</b></p>'
    """

    __slots__ = ()


def element(tag: str, *content: str, **attributes: str) -> Markup:
    """Return one element; a trailing underscore in an attribute's name keeps Python's own words free.

    >>> element("th", "age", class_="number", aria_label='"age"')
    '<th class="number" aria-label="&quot;age&quot;">age</th>'
    """
    written = "".join(f' {name.rstrip("_").replace("_", "-")}="{plain(value)}"' for name, value in attributes.items())
    return Markup(f"<{tag}{written}>{join(content)}</{tag}>")


def join(parts: Iterable[str]) -> Markup:
    """Return parts one after another, each escaped unless it is markup.

    >>> join(["<", Markup("<br>")])
    '&lt;<br>'
    """
    return Markup("".join(part if isinstance(part, Markup) else plain(part) for part in parts))


def plain(text: str) -> Markup:
    r"""Return text escaped, with a visible sign for characters that do not print.

    >>> plain("a<b\x1b")
    'a&lt;b�'
    """
    return Markup(escape(printable(text)))


def printable(text: str) -> str:
    r"""Return text whose control and direction-changing characters are replaced by a visible sign.

    >>> printable("flu\x00")
    'flu�'
    """
    return UNPRINTABLE.sub("\ufffd", text)


def bullets(items: Iterable[str], *, class_: str) -> Markup:
    """Return a list with one bullet per item.

    >>> bullets(["one"], class_="plain")
    '<ul class="plain"><li>one</li></ul>'
    """
    return element("ul", *(element("li", item) for item in items), class_=class_)


def tiles(figures: Mapping[str, str]) -> Markup:
    """Return a strip of figures, each under what it is.

    >>> tiles({"Rows": "3"})
    '<dl class="tiles"><div><dt>Rows</dt><dd>3</dd></div></dl>'
    """
    entries = (element("div", element("dt", name), element("dd", value)) for name, value in figures.items())
    return element("dl", *entries, class_="tiles")


def grid(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> Markup:
    """Return a table whose first column names the rows and whose others hold numbers, or `words`; no header, no head.

    >>> grid("Rows", [], [["in", "3"]]).count("<th ")
    1
    """
    titles = [element("th", title, scope="col") for title in header]
    body = (
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    )
    table = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *titles)) if titles else Markup(),
        element("tbody", *body),
        **({"class_": "words"} if words else {}),
    )
    return element("div", table, class_="scroll")


def fold(summary: str, *content: str, class_: str) -> Markup:
    """Return content that opens on a click, without a script.

    >>> fold("More", "text", class_="numbers")
    '<details class="numbers"><summary>More</summary>text</details>'
    """
    return element("details", element("summary", summary), *content, class_=class_)


def figure(title: str, picture: Markup, *below: str) -> Markup:
    """Return a picture under its title, with whatever belongs below it.

    >>> figure("age", Markup("<svg></svg>"))
    '<figure><figcaption>age</figcaption><svg></svg></figure>'
    """
    return element("figure", element("figcaption", title), picture, *below)
