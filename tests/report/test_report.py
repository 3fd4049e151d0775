"""The steward's report: its parts, its numbers against independent counts, and that no value can do harm."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser

import msgspec
import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import MissingExtraError
from sfumato.evaluate.utility import Histogram
from sfumato.random import SeededSource
from sfumato.report import Chapter, Section, charts, collect, table_chapter, table_report
from sfumato.report.page.markup import element, plain
from sfumato.report.page.words import count, percent

QUASI = ["age", "sex", "zip", "schooling", "admission"]
EVIL = "<script>alert('x')</script>"
VOID = frozenset({"meta", "br", "link", "img", "input"})


class Reader(HTMLParser):
    """Reads a page as a browser would: tags in their order, tables by caption, text outside the style sheet."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.headings: list[str] = []
        self.text = ""
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        if tag == "tr":
            self._rows.append([])
        if tag in {"th", "td"}:
            self._rows[-1].append("")
        if tag in {"h1", "h2", "h3"}:
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside != "style":
            self.text += data
        if inside == "caption":
            self._caption += data
        if inside in {"th", "td"}:
            self._rows[-1][-1] += data
        if inside in {"h1", "h2", "h3"}:
            self.headings[-1] += data


@pytest.fixture(scope="module")
def people() -> sf.Table:
    return sf.Table.from_frame(sf.samples.patients(600))


@pytest.fixture(scope="module")
def schema() -> sf.Schema:
    roles = sf.Schema.from_roles(quasi=QUASI, sensitive=["disease"], identifier=["name"], other="keep")
    ordinal = sf.Attribute("schooling", sf.Role.QUASI, sf.Kind.ORDINAL, categories=sf.samples.SCHOOLING)
    return sf.Schema({**roles.columns, "schooling": ordinal}, other="keep").accepting(["cost"])


@pytest.fixture(scope="module")
def release(people: sf.Table, schema: sf.Schema) -> sf.Release:
    models = [sf.KAnonymity(10), sf.LDiversity(3, "disease")]
    return sf.Mondrian().anonymize(people, schema, models, rng=SeededSource(1))


@pytest.fixture(scope="module")
def page(people: sf.Table, schema: sf.Schema, release: sf.Release) -> str:
    return table_report(people, schema, release, title="Hospital visits")


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    return Reader(page)


def sizes(release: sf.Release) -> list[int]:
    return release.table.frame.group_by(QUASI).len()["len"].to_list()


def test_every_part_is_there(read: Reader) -> None:
    assert read.headings == [
        "Hospital visits",
        "What is promised",
        "What attacks found",
        "What is not promised",
        "Risks",
        "Loss per column",
        "Distances",
        "Rows and columns",
        "Class sizes",
        "Before and after",
        "The public card",
    ]
    assert read.open == []
    assert "Do not publish" in read.text
    assert (
        "Every combination of age, sex, zip, schooling and admission is shared by at least 10 rows. "
        "Among the rows that share a combination, disease has at least 3 different values."
    ) in read.text


def test_promises_assumptions_and_warnings_are_the_cards(read: Reader, release: sf.Release) -> None:
    card = release.card
    promises = [row[1:] for row in read.tables["Promises, and what the released table has"][1:]]
    assert promises == [[f"{entry.asked:g}", f"{entry.measured:g}"] for entry in card.released.models]
    assert all(assumption in read.text for assumption in card.assumptions)
    assert len(card.warnings) == 3
    assert "'cost' singles people out and was accepted" in card.warnings[0]
    assert all(f"{warning[:1].upper()}{warning[1:]}." in read.text for warning in card.warnings)
    assert card.to_json() in read.text


def test_rows_and_class_sizes_are_counted_from_the_release(read: Reader, release: sf.Release) -> None:
    found = sizes(release)
    assert [row[-1] for row in read.tables["Rows"]] == ["600", "600", "0", "0", "0", "0"]
    assert [row[-1] for row in read.tables["Classes, their sizes in rows"]] == [
        count(len(found)),
        count(min(found)),
        count(float(np.median(found))),
        count(sum(found) / len(found)),
        count(max(found)),
        count(sum(size * size for size in found)),
    ]


def test_loss_is_that_of_the_evaluation(read: Reader, people: sf.Table, schema: sf.Schema, release: sf.Release) -> None:
    loss = sf.evaluate.utility(people, schema, release.table)
    shown = {row[0]: row[1:] for row in read.tables["Loss, and distance of histograms"][1:]}
    assert shown == {
        name: [percent(column.ncp), percent(column.histogram_distance)] for name, column in loss.columns.items()
    }
    assert f"loses {percent(loss.gcp)} of the detail" in read.text


def test_sensitive_histogram_is_counted_from_the_original(read: Reader, people: sf.Table) -> None:
    counted = people.frame["disease"].value_counts()
    shown = {row[0]: row[1:] for row in read.tables["Rows by disease"][1:]}
    assert shown == {value: [count(number)] * 2 for value, number in counted.iter_rows()}


def test_histogram_of_a_quasi_identifier_tells_before_from_after(
    read: Reader, people: sf.Table, release: sf.Release
) -> None:
    before = dict(people.frame["schooling"].value_counts().iter_rows())
    shown = {row[0]: row[1:] for row in read.tables["Rows by schooling"][1:]}
    assert {name: cells[0] for name, cells in shown.items()} == {name: count(rows) for name, rows in before.items()}
    order = list(sf.samples.SCHOOLING)
    after = dict.fromkeys(order, 0.0)
    for cell in release.table.frame["schooling"]:
        low, _, high = cell.strip("[]").partition("..")
        inside = order[order.index(low) : order.index(high or low) + 1]
        for name in inside:
            after[name] += 1 / len(inside)
    assert {name: cells[1] for name, cells in shown.items()} == {name: count(after[name]) for name in shown}


def test_risks_before_and_after(read: Reader, people: sf.Table, release: sf.Release) -> None:
    before = people.frame.group_by(QUASI).len()["len"].to_list()
    after = sizes(release)
    worst = [percent(1 / min(before)), percent(1 / min(after))]
    mean = [percent(len(before) / 600), percent(len(after) / 600)]
    rows = [row[1:] for row in read.tables["Being found again"][1:]]
    assert rows == [worst, mean, worst, mean, [count(before.count(1)), count(after.count(1))]]
    classes = release.table.frame.group_by(QUASI).agg(pl.col("disease").unique_counts().max() / pl.len())
    surest = read.tables["What a class reveals about disease"][1]
    assert surest[1:] == [percent(1.0), percent(float(classes["disease"].to_numpy().max()))]


def test_page_needs_nothing_from_outside(page: str, read: Reader) -> None:
    assert not re.search(r"https?:|//|url\((?!#)|@import|/(work|home|tmp|usr|root)\b", page)
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(read.tags)
    targets = [value or "" for _, name, value in read.attributes if name in {"href", "src"}]
    assert all(target.startswith("#") for target in targets)
    identifiers = [value for _, name, value in read.attributes if name == "id"]
    assert len(set(identifiers)) == len(identifiers)
    assert {target[1:] for target in targets} <= set(identifiers)


def test_page_is_light_and_every_picture_has_words(page: str, read: Reader) -> None:
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 8
    assert max(len(picture) for picture in pictures) < 60_000
    assert len(page) < 700_000
    labels = [value for tag, name, value in read.attributes if tag == "svg" and name == "aria-label"]
    assert len(labels) == len(pictures)
    assert all(labels)
    assert all("<text" in picture and "font-family" not in picture for picture in pictures)


def test_pictures_follow_the_page_in_light_and_dark(page: str) -> None:
    pictures = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert not re.search(r"#[0-9a-f]{6}", pictures)
    used = set(re.findall(r"var\((--[a-z-]+)\)", pictures))
    light, dark = page.split("prefers-color-scheme: dark", 1)
    assert used
    assert all(f"{name}: #" in light and f"{name}: #" in dark for name in used)


def test_same_input_same_page(page: str, people: sf.Table, schema: sf.Schema, release: sf.Release) -> None:
    assert table_report(people, schema, release, title="Hospital visits") == page


def evil_table() -> tuple[sf.Table, sf.Schema]:
    frame = pl.DataFrame(
        {
            f"q{EVIL}": [EVIL, 'x" onload="y', "$\\frac{", "a\x00b\x1b\u202e"] * 5,
            "age": [None, *range(19)],
            "s": [EVIL, "]]>", "-->", "&lt;"] * 5,
        }
    )
    roles = sf.Schema.from_roles(quasi=[f"q{EVIL}", "age"], sensitive=["s"])
    return sf.Table.from_frame(frame), roles


def test_values_can_do_no_harm() -> None:
    table, schema = evil_table()
    release = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(5)])
    page = table_report(table, schema, release, title=f"</title>{EVIL}")
    read = Reader(page)
    assert read.open == []
    assert "script" not in read.tags
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    assert "a\N{REPLACEMENT CHARACTER}b" in read.text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", page)
    assert read.text.count(EVIL) > 3


def test_missing_numbers_are_shown_apart() -> None:
    table, schema = evil_table()
    read = Reader(table_report(table, schema, sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(5)])))
    assert read.tables["Rows by age"][-1][:2] == ["missing", "1"]
    assert "without a value: 1 rows before" in read.text


def test_persons_and_range_columns() -> None:
    frame = sf.samples.patients(400).with_columns(pl.Series("name", [f"P{number // 2}" for number in range(400)]))
    table = sf.Table.from_frame(frame)
    schema = sf.Schema.from_roles(quasi=["age", "sex"], person="name", other="drop")
    release = sf.Mondrian(ranges="columns").anonymize(table, schema, [sf.KAnonymity(20)])
    read = Reader(table_report(table, schema, release))
    assert "shared by at least 20 persons" in read.text
    smallest = frame.group_by("age", "sex").agg(pl.col("name").n_unique())["name"].min()
    assert isinstance(smallest, int)
    most = percent(1 / release.card.released.measures["smallest_class"])
    assert read.tables["Being found again"][1][1:] == [percent(1 / smallest), f"≤\N{NO-BREAK SPACE}{most}"]
    found = release.table.frame.group_by("age_min", "age_max", "sex").len()["len"]
    assert read.tables["Classes, their sizes in rows"][0][1] == count(len(found))


def test_withheld_rows_are_told(people: sf.Table, schema: sf.Schema, release: sf.Release) -> None:
    card = msgspec.structs.replace(release.card, released=msgspec.structs.replace(release.card.released, rows=590))
    fewer = sf.Release(sf.Table(release.table.frame.head(590)), card, steward={"rows_suppressed": 10})
    read = Reader(table_report(people, schema, fewer))
    assert [row[-1] for row in read.tables["Rows"]][:3] == ["600", "590", "10"]
    assert "590 of 600 rows were released." in read.text


@pytest.mark.parametrize(
    "model, sentence",
    [
        (sf.LDiversity(2, "disease", kind="entropy"), "as varied as at least 2 equally frequent values"),
        (sf.LDiversity(2, "disease", kind="recursive", c=3), "less frequent than 3 times all values from number 2 on"),
        (sf.TCloseness(0.4, "disease"), "the distance is at most 0.4"),
        (sf.AlphaK(0.8, 10, "disease"), "at least 10 rows, and no value of disease makes up more than 80.0% of them"),
    ],
)
def test_each_model_has_its_sentence(people: sf.Table, model: sf.models.Model, sentence: str) -> None:
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    chapter = table_chapter(people, schema, sf.Mondrian().anonymize(people, schema, [model]))
    assert "combination of age" in chapter.summary
    assert sentence in chapter.summary


def test_several_chapters_make_one_page() -> None:
    sections = [Section("Risks", element("p", "none"))]
    read = Reader(collect("Doors", [Chapter(name, element("p", name), sections) for name in ("Table", "Stream")]))
    assert read.headings == ["Doors", "At a glance", "Table", "Risks", "Stream", "Risks"]
    anchors = [value for _, name, value in read.attributes if name == "id"]
    assert anchors == [
        *("report", "at-a-glance", "chapter-1-table", "section-1-1-risks", "chapter-2-stream", "section-2-1-risks"),
    ]


def test_many_categories_leave_the_rest_out_of_the_picture() -> None:
    counts = np.array([*range(40, 20, -1), 400.0])
    labels = (*(f"z{number}" for number in range(20)), "other")
    picture = charts.categories(Histogram("zip", labels, counts, counts))
    assert ">z9<" in picture
    assert ">z10<" not in picture
    assert ">other<" not in picture
    assert "10 most frequent" in picture


def test_what_speaks_against_a_release_stands_first() -> None:
    people = sf.Table.from_frame(
        pl.DataFrame({"age": [30, 31, 60, 61], "sex": ["F", "M"] * 2, "ill": ["flu"] * 4, "note": ["a", "b"] * 2})
    )
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["ill"], other="keep")
    release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(4)])
    broken = [
        sf.audit.Finding(claim="k-anonymity with k=4", verdict="REFUTED", evidence={"reason": "2 rows are alike"})
    ]
    text = Reader(collect("Visits", [table_chapter(people, schema, release, findings=broken)])).text
    begun = text.index("Before you sign")
    assert (
        begun < text.index("REFUTED: k-anonymity with k=4; 2 rows are alike.") < text.index("is shared by at least 4")
    )
    assert "have the same ill" in text
    assert "No model protects note" in text
    assert "Nothing is left of age and sex" in text
    calm = Chapter("Visits", element("p", "…"), [])
    assert "Before you sign" not in Reader(collect("Visits", [calm])).text


def test_a_wide_range_of_class_sizes_is_shown_in_steps_with_shares_of_rows() -> None:
    sizes, classes = np.array([10, 15, 40, 900]), np.array([20, 4, 5, 1])
    picture = charts.class_sizes(sizes, classes, 10)
    assert all(f">{words}<" in picture for words in ("10 to 19", "20 to 49", "500 to 999"))
    rows = sizes * classes
    assert f">{100 * rows[:2].sum() / rows.sum():.1f}% in 24<" in picture


def test_bars_under_a_hierarchy_say_their_level() -> None:
    counts = np.array([3.0, 1.0])
    assert "by level 2 of the hierarchy" in charts.categories(Histogram("zip", ("1**", "2**"), counts, counts, level=2))


def test_settings_of_matplotlib_stay_as_they_were() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    charts.losses({"age": 0.5})
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'sfumato[report]'")):
        charts.losses({"age": 0.5})


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = "import sys, sfumato.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_escaping_covers_attributes_and_content() -> None:
    assert element("a", "<b>", title='"<') == '<a title="&quot;&lt;">&lt;b&gt;</a>'
    assert plain("a\nb") == "a\nb"
