"""One self-contained page for the data steward: no network, no script, marked *do not publish*.

What a steward should be told about a release follows Hundepool et al. 2012, chapter 3: what is
protected, what is not, what was lost, and what risk remains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from sfumato.report.markup import Markup, element, joined
from sfumato.version import __version__

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
WARNING = "Do not publish"
READERS = "For the data steward only: this page is computed from the original rows."


@dataclass(frozen=True)
class Section:
    """One part of a chapter: a heading and what stands below it.

    >>> Section("Risks", element("p", "None found.")).heading
    'Risks'
    """

    heading: str
    body: Markup


@dataclass(frozen=True)
class Chapter:
    """What there is to say about one release: a summary in plain words, then section after section.

    >>> Chapter("Table", element("p", "All is well."), []).heading
    'Table'
    """

    heading: str
    summary: Markup
    sections: Sequence[Section]


def collect(title: str, chapters: Sequence[Chapter]) -> str:
    """Return one HTML text with the chapters of one or several releases, the same for the same input.

    >>> page = collect("Two doors", [Chapter(name, element("p", "…"), []) for name in ("Table", "Query")])
    >>> page.count("<h1>"), page.count("<h2"), "Do not publish" in page
    (1, 2, True)
    """
    content = [_chapter(chapter, number, alone=len(chapters) == 1) for number, chapter in enumerate(chapters, 1)]
    body = element(
        "body",
        _banner(),
        element("header", element("p", "Steward’s report", class_="eyebrow"), element("h1", title), class_="page"),
        element("main", *content, class_="page"),
        element("footer", element("p", f"{WARNING}. Written by sfumato {__version__}."), class_="page"),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(title), body, lang='en')}\n"


def _head(title: str) -> Markup:
    metas = (
        {"charset": "utf-8"},
        {"http_equiv": "Content-Security-Policy", "content": POLICY},
        {"name": "viewport", "content": "width=device-width, initial-scale=1"},
        {"name": "color-scheme", "content": "light dark"},
        {"name": "robots", "content": "noindex, nofollow"},
    )
    opened = (Markup(element("meta", **meta).removesuffix("</meta>")) for meta in metas)
    style = Markup(files(__package__).joinpath("style.css").read_text(encoding="utf-8"))
    return element("head", *opened, element("title", f"{title} · {WARNING.lower()}"), element("style", style))


def _banner() -> Markup:
    words = (element("strong", WARNING), " ", element("span", READERS))
    return element("div", element("p", *words), role="note", aria_label=WARNING, class_="banner")


def _chapter(chapter: Chapter, number: int, *, alone: bool) -> Markup:
    heading = Markup() if alone else element("h2", chapter.heading, class_="chapter")
    anchors = [f"{slug(section.heading)}-{number}" for section in chapter.sections]
    links = (
        element("a", section.heading, href=f"#{anchor}")
        for section, anchor in zip(chapter.sections, anchors, strict=True)
    )
    contents = element("nav", *links, aria_label=f"Sections of {chapter.heading}") if anchors else Markup()
    level = "h2" if alone else "h3"
    sections = (
        element("section", element(level, section.heading, id=anchor), section.body, aria_labelledby=anchor)
        for section, anchor in zip(chapter.sections, anchors, strict=True)
    )
    return element("article", heading, element("div", chapter.summary, class_="summary"), contents, joined(sections))


def slug(text: str) -> str:
    """Return a heading as an anchor: lower case, letters and digits, joined by hyphens.

    >>> slug("What is not promised")
    'what-is-not-promised'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
