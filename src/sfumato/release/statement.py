"""The statement: one page in plain words beside a card, for whoever has to sign for a release.

It is a pure function of the card, so it tells nothing that the card does not. Its questions are those that a data sheet
(Gebru et al. 2021) and a release checklist (Hundepool et al. 2012, chapter 3) ask.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.files import Staging, fill, write_durably
from sfumato.errors import InputError, ParameterError
from sfumato.release.card import Card
from sfumato.release.plain_words import attacked, changed, not_promised, promised, published
from sfumato.release.statement_page import page

WIDTH = 78
UNTITLED = "Statement on a release of data"
TO_SIGN = ("Name", "Place", "Date", "Signature")
FORMS = (".txt", ".html")


@dataclass(frozen=True)
class Answered:
    """A question of the statement with its answers, a sentence each."""

    question: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """What a card says, in plain words, with lines to sign; `facts` are the lines under its title.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=9, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 3}, unit="row"), assumptions=[])
    >>> [part.question for part in Statement.of(card).parts][1:3]
    ['What can nobody learn, and how sure is that?', 'What is not promised?']
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Answered, ...]
    signed_by: str | None = None

    @classmethod
    def of(cls, card: Card) -> Statement:
        """Return the statement of a card."""
        facts = {
            "Data set": card.dataset or "not named",
            "Date of release": card.date or "not stated",
            "Method": f"{card.algorithm}: {card.guarantee.model}",
            "Made with": f"{card.tool} {card.version}",
        }
        questions = {
            "What was published, and about whom?": published(card),
            "What can nobody learn, and how sure is that?": promised(card),
            "What is not promised?": not_promised(card),
            "What was changed?": changed(card),
            "How was it attacked, and what was found?": attacked(card.audits),
            "What is assumed? The promise holds only if all of it is so.": card.assumptions or ["Nothing."],
        }
        parts = (Answered(question, tuple(map(_one_line, sentences))) for question, sentences in questions.items())
        told = tuple((name, _one_line(value)) for name, value in facts.items())
        return cls(_one_line(card.title or UNTITLED), told, tuple(parts), card.signed_by)

    def text(self) -> str:
        """The statement as plain text.

        >>> Statement("Visits", (("Data set", "Clinic"),), (Answered("What?", ("A table.",)),)).text().splitlines()[:4]
        ['Visits', '======', '', 'Data set: Clinic']
        """
        lines = [*textwrap.wrap(self.title, WIDTH), "=" * min(WIDTH, len(self.title)), ""]
        for name, value in self.facts:
            lines += textwrap.wrap(f"{name}: {value}", WIDTH, subsequent_indent="  ")
        for part in self.parts:
            lines += ["", part.question, "-" * len(part.question)]
            for sentence in part.sentences:
                lines += textwrap.wrap(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ")
        lines += ["", "Signed", "------"]
        lines += [f"{name + ':':<11}{self.signed_by if name == 'Name' and self.signed_by else '_' * 40}"
                  for name in TO_SIGN]  # fmt: skip
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """The statement as one HTML page that needs no network.

        >>> "<script" in Statement("Visits", (), ()).html()
        False
        """
        parts = [(part.question, part.sentences) for part in self.parts]
        return page(self.title, self.facts, parts, [(name, self.signed_by or "") if name == "Name" else (name, "")
                                                    for name in TO_SIGN])  # fmt: skip

    def in_form(self, form: str) -> str:
        """The statement in a form that a file's ending names.

        >>> Statement("Visits", (), ()).in_form(".pdf")
        Traceback (most recent call last):
        sfumato.errors.ParameterError: a statement is .txt or .html; found '.pdf'
        """
        if form not in FORMS:
            raise ParameterError(f"a statement is {' or '.join(FORMS)}; found '{form}'")
        return self.html() if form == ".html" else self.text()


def _one_line(text: str) -> str:
    """Return text without line breaks and control characters, whatever a column was called."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def statement_path(card: Path, form: str) -> Path:
    """Return where the statement of a card lies: beside it, under its name.

    >>> statement_path(Path("out.csv.card.json"), ".txt").name, statement_path(Path("card.json"), ".html").name
    ('out.csv.statement.txt', 'card.statement.html')
    """
    stem = card.name.removesuffix(".json")
    return card.with_name(f"{stem.removesuffix('.card') or stem}.statement{form}")


def beside_card(card: Path) -> tuple[Path, ...]:
    """Return where the forms of a card's statement lie.

    >>> [file.name for file in beside_card(Path("out.csv.card.json"))]
    ['out.csv.statement.txt', 'out.csv.statement.html']
    """
    return tuple(statement_path(card, form) for form in FORMS)


@dataclass(frozen=True)
class CardFiles:
    """Places for a card and the two forms of its statement, which appear together or not at all.

    >>> import tempfile
    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=9, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 3}, unit="row"), assumptions=[])
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Staging() as staging:
    ...     CardFiles.place(staging, folder / "out.csv.card.json").write(card)
    >>> sorted(file.name for file in folder.iterdir())
    ['out.csv.card.json', 'out.csv.statement.html', 'out.csv.statement.txt']
    """

    card: Path
    statements: tuple[Path, ...]

    @classmethod
    def place(cls, staging: Staging, card: str | Path) -> CardFiles:
        """Return temporary places beside `card`; a file that is in the way is refused."""
        target = Path(card)
        return cls(staging.place(target), tuple(staging.place(file) for file in beside_card(target)))

    def write(self, card: Card) -> None:
        """Write the card and its statement."""
        fill(self.card, card.to_json())
        for place, content in zip(self.statements, _forms(card), strict=True):
            fill(place, content)


def write_statement(card_file: str | Path, card: Card) -> None:
    """Write the statement of a card that lies in `card_file`, each form replaced in one step, as a stream renews it.

    >>> import tempfile
    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=9, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 3}, unit="row"), assumptions=[])
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_statement(folder / "out.csv.card.json", card)
    >>> sorted(file.name for file in folder.iterdir())
    ['out.csv.statement.html', 'out.csv.statement.txt']
    """
    for path, content in zip(beside_card(Path(card_file)), _forms(card), strict=True):
        try:
            write_durably(path, content.encode(), public=True)
        except OSError as error:
            raise InputError(f"statement '{path}' cannot be written: {error.strerror}") from error


def _forms(card: Card) -> tuple[str, ...]:
    """Return the statement in each of its forms."""
    made = Statement.of(card)
    return tuple(made.in_form(form) for form in FORMS)
