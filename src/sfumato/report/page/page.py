"""One self-contained page for the data steward: no network, no script, marked *do not publish* where rows were used.

What a steward should be told about a release follows Hundepool et al. 2012, chapter 3: what is
protected, what is not, what was lost, and what risk remains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from sfumato.report.charts.svg import separate_ids
from sfumato.report.page.markup import Markup, bullets, element, join
from sfumato.report.page.overview import Gist, OverviewEntry, overview
from sfumato.version import __version__

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
WARNING = "Do not publish"
RAW = "This chapter is computed from the original rows."
CALM = "Nothing here is computed from original rows."
ALONE = "For the data steward only: this page is computed from the original rows."
SOME = "For the data steward only: chapters marked ▲ are computed from the original rows."
SIGN = "\N{NO-BREAK SPACE}▲"
BEFORE_SIGNING = "Before you sign"
GLANCE = ("At a glance", "at-a-glance")


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
    """What there is to say about some releases: a summary in plain words, then section after section.

    `raw` says what in it comes from the original rows, and is empty where nothing does; `gists` are for the opening.

    >>> Chapter("Table", element("p", "All is well."), []).raw
    'This chapter is computed from the original rows.'
    """

    heading: str
    summary: Markup
    sections: Sequence[Section]
    raw: str = RAW
    gists: Sequence[Gist] = ()
    warnings: Sequence[str] = ()  # what speaks against the release, in sentences: it stands first


def collect(title: str, chapters: Sequence[Chapter], *, opening: str = "", about: str = "") -> str:
    """Return one HTML text with the chapters of one or several releases, the same for the same input.

    `about` stands under the title: which data set, which file, which day.

    >>> page = collect("Two doors", [Chapter(name, element("p", "…"), []) for name in ("Table", "Query")])
    >>> page.count("<h1>"), page.count("<h2"), "Do not publish" in page
    (1, 3, True)
    >>> "Do not publish" in collect("Reports", [Chapter("Local", element("p", "…"), [], raw="")])
    False
    """
    alone = len(chapters) == 1
    marked = any(chapter.raw for chapter in chapters)
    anchors = [f"chapter-{number}-{slug(chapter.heading)}" for number, chapter in enumerate(chapters, 1)]
    content = [
        _chapter(chapter, anchor, number, alone=alone)
        for number, (chapter, anchor) in enumerate(zip(chapters, anchors, strict=True), 1)
    ]
    if not alone:
        content.insert(0, _opening(opening, chapters, anchors))
    links = _sections(chapters[0], 1) if alone else [GLANCE, *_chapter_links(chapters, anchors)]
    body = element(
        "body",
        element("a", "Skip to the report", href="#report", class_="skip"),
        _banner() if marked else Markup(),
        element("header", *_header(title, chapters, about), class_="page"),
        element("div", _contents(links), element("main", *content, id="report"), class_="page layout"),
        element("footer", element("p", f"{_ending(marked=marked)} Written by sfumato {__version__}."), class_="page"),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(title, marked=marked), separate_ids(body), lang='en')}\n"


def _head(title: str, *, marked: bool) -> Markup:
    metas = (
        {"charset": "utf-8"},
        {"http_equiv": "Content-Security-Policy", "content": POLICY},
        {"name": "viewport", "content": "width=device-width, initial-scale=1"},
        {"name": "color-scheme", "content": "light dark"},
        {"name": "robots", "content": "noindex, nofollow"},
    )
    opened = (Markup(element("meta", **meta).removesuffix("</meta>")) for meta in metas)
    sheets = ["style.css", *(["marked.css"] if marked else [])]
    style = Markup("".join(files(__package__).joinpath(sheet).read_text(encoding="utf-8") for sheet in sheets))
    name = f"{title} · {WARNING.lower()}" if marked else title
    return element("head", *opened, element("title", name), element("style", style))


def _banner() -> Markup:
    words = (element("strong", WARNING), " ", element("span", "steward’s copy"))
    return element("div", element("p", *words), role="note", aria_label=WARNING, class_="banner")


def _header(title: str, chapters: Sequence[Chapter], about: str) -> list[Markup]:
    raw = [bool(chapter.raw) for chapter in chapters]
    words = ALONE if all(raw) else SOME if any(raw) else CALM
    return [
        element("p", "Steward’s report", class_="eyebrow"),
        element("h1", title),
        element("p", about, class_="about") if about else Markup(),
        element("p", words, class_="readers"),
    ]


def _ending(*, marked: bool) -> str:
    return f"{WARNING}." if marked else CALM


def _opening(words: str, chapters: Sequence[Chapter], anchors: Sequence[str]) -> Markup:
    heading, anchor = GLANCE
    lines = [
        OverviewEntry(chapter.heading, link, chapter.gists) for chapter, link in zip(chapters, anchors, strict=True)
    ]
    lead = element("p", words, class_="lead") if words else Markup()
    told = overview(lines) if any(line.gists for line in lines) else Markup()
    title = element("h2", heading, id=anchor, class_="chapter")
    return element("section", title, lead, told, aria_labelledby=anchor, class_="opening")


def _contents(links: Sequence[tuple[str, str]]) -> Markup:
    items = (element("li", element("a", words, href=f"#{anchor}")) for words, anchor in links)
    return element("nav", element("ol", *items), aria_label="Contents", class_="contents") if links else Markup()


def _chapter_links(chapters: Sequence[Chapter], anchors: Sequence[str]) -> list[tuple[str, str]]:
    """Return the chapters' links; chapters from original rows are marked if others are not."""
    some = not all(chapter.raw for chapter in chapters)
    pairs = zip(chapters, anchors, strict=True)
    return [(f"{chapter.heading}{SIGN * (some and bool(chapter.raw))}", anchor) for chapter, anchor in pairs]


def _sections(chapter: Chapter, number: int) -> list[tuple[str, str]]:
    return [
        (section.heading, f"section-{number}-{place}-{slug(section.heading)}")
        for place, section in enumerate(chapter.sections, 1)
    ]


def _chapter(chapter: Chapter, anchor: str, number: int, *, alone: bool) -> Markup:
    heading = Markup() if alone else element("h2", chapter.heading, id=anchor, class_="chapter")
    links = _sections(chapter, number)
    inside = (element("a", words, href=f"#{place}") for words, place in links)
    contents = Markup() if alone else element("nav", *inside, aria_label=f"Sections of {chapter.heading}")
    level = "h2" if alone else "h3"
    sections = (
        element("section", element(level, section.heading, id=place), section.body, aria_labelledby=place)
        for section, (_, place) in zip(chapter.sections, links, strict=True)
    )
    mark = Markup() if alone else _raw_mark(chapter)
    summary = element("div", _warnings(chapter), chapter.summary, class_="summary")
    return element("article", heading, mark, summary, contents if links else Markup(), join(sections))


def _warnings(chapter: Chapter) -> Markup:
    if not chapter.warnings:
        return Markup()
    title = element("p", element("strong", BEFORE_SIGNING))
    return element("div", title, bullets(chapter.warnings, class_="plain"), role="note", class_="warnings")


def _raw_mark(chapter: Chapter) -> Markup:
    if not chapter.raw:
        return element("p", f"○ {CALM}", class_="mark calm")
    return element("p", element("strong", f"▲ {WARNING}."), " ", chapter.raw, class_="mark raw")


def slug(text: str) -> str:
    """Return a heading as an anchor: lower case, letters and digits, joined by hyphens.

    >>> slug("What is not promised")
    'what-is-not-promised'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
