"""The report's chapter on answers of the query door: values with intervals, their promise, attacks, and the budget.

An interval is of the noise alone; where the steward gives the truth, it stands beside the answer (Dwork & Roth 2014).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.dp.answer import Answer
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.questions.compiled import short_words
from sfumato.dp.stored_answer import AnswerColumn
from sfumato.release import Finding
from sfumato.report.chapters.promise import guarantee, limits, shown_card
from sfumato.report.chapters.signing import card_warnings
from sfumato.report.charts.answers import MOST_DOTS, answer_picture, dots
from sfumato.report.charts.budget import budget_picture
from sfumato.report.page.markup import Markup, element, figure, grid, join, tiles
from sfumato.report.page.overview import Gist, claims_table
from sfumato.report.page.page import Chapter, Section
from sfumato.report.page.words import count

__all__ = ["answer_picture", "answers_chapter"]
RAW = "The true answers beside the released ones are counted from the original rows."
Truth = Mapping[str, Sequence[float]]


def answers_chapter(
    heading: str,
    answers: Sequence[Answer],
    ledger: Ledger,
    *,
    truths: Sequence[Truth] = (),
    findings: Sequence[Finding] = (),
) -> Chapter:
    """Return a chapter with what was asked and answered, and the ledger behind it.

    `truths` has for each answer the true values of its columns, by name, group by group; only the steward has them.
    """
    lead = (
        "An analyst asked questions; every answer has exact noise, and its price was debited before the noise was "
        "drawn. Lines are 95 % intervals of the noise."
    )
    known = truths or [{} for _ in answers]
    cards = [answer.card for answer in answers]
    promised = [*(guarantee(card) for card in cards), limits(cards)]
    folds = (shown_card(card, short_words(answer.stored.question)) for card, answer in zip(cards, answers, strict=True))
    sections = [
        *(_answer_section(answer, truth) for answer, truth in zip(answers, known, strict=True)),
        Section("The budget", _budget(ledger)),
        Section("What is promised", join(promised)),
        Section("What attacks found", claims_table(findings)),
        Section("The public cards", join(folds)),
    ]
    summary = join([element("p", lead, class_="lead"), _tiles(answers, ledger), _key() if truths else Markup()])
    gist = Gist("query", f"{count(len(answers))} answers", _pledge(answers, ledger), findings, releases=len(answers))
    return Chapter(heading, summary, sections, RAW if truths else "", [gist], card_warnings(cards, findings))


def _pledge(answers: Sequence[Answer], ledger: Ledger) -> str:
    units = ", ".join(dict.fromkeys(answer.stored.unit for answer in answers))
    return f"differential privacy, {ledger.spent} spent of {ledger.budget.total}; protects one {units}"


def _tiles(answers: Sequence[Answer], ledger: Ledger) -> Markup:
    figures = {
        "Answers": count(len(answers)),
        "Budget": ledger.budget.total,
        "Spent": ledger.spent,
        "Left": ledger.left,
    }
    return tiles({name: str(value) for name, value in figures.items()})


def _key() -> Markup:
    words = {"truth": "truth: ring", "released": "released: diamond or bar", "interval": "95 % interval: line"}
    return element("p", *(element("span", text, class_=f"key {kind}") for kind, text in words.items()), class_="keys")


def _answer_section(answer: Answer, truth: Truth) -> Section:
    stored = answer.stored
    price = f"Price: {answer.spent}. Protects one {stored.unit}, neighbours by {stored.neighbours}."
    if len(stored.cells) == 1:
        return Section(stored.question, join([element("p", price), _single(answer, truth)]))
    shown = [
        element(
            "div",
            figure(column.name, dots(answer, column, truth.get(column.name))),
            _numbers(answer, column, truth),
            class_="pictured",
        )
        for column in stored.columns
    ]
    return Section(stored.question, join([element("p", price), *shown]))


def _single(answer: Answer, truth: Truth) -> Markup:
    rows = [
        [column.name, _number(column.values[0]), _interval(column, 0), *_true(truth, column, 0)]
        for column in answer.stored.columns
    ]
    return grid("Answer", ["Question", "Answer", "95 % interval", *(["Truth"] if truth else [])], rows)


def _numbers(answer: Answer, column: AnswerColumn, truth: Truth) -> Markup:
    rows = [
        [", ".join(str(cell) for cell in cells), _number(value), _interval(column, place), *_true(truth, column, place)]
        for place, (cells, value) in enumerate(zip(answer.stored.cells, column.values, strict=True))
    ]
    header = ["Group", "Answer", "95 % interval", *(["Truth"] if truth else [])]
    return grid(column.name, header, rows[:MOST_DOTS])


def _interval(column: AnswerColumn, place: int) -> str:
    return f"{_number(column.low[place])} to {_number(column.high[place])}"


def _true(truth: Truth, column: AnswerColumn, place: int) -> list[str]:
    return [_number(_whole(truth[column.name][place]))] if column.name in truth else [] if not truth else ["–"]


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _budget(ledger: Ledger) -> Markup:
    rows = [
        [short_words(entry.question), str(entry.number), entry.analyst, str(entry.cost)] for entry in ledger.entries()
    ]
    words = f"Budget {ledger.budget.total}; spent {ledger.spent}; left {ledger.left}."
    table = grid("Ledger", ["Question", "Entry", "Analyst", "Price"], rows)
    picture = figure("Question by question", budget_picture(ledger))
    return join([element("p", words), element("div", picture, table, class_="pictured")])


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else ("–" if value is None else str(value))
