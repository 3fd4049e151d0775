"""What a column's name says it holds, in English, German, French, Spanish, Portuguese and Italian.

Names are split at separators and capitals, accents are folded, and whole words are compared, so that `age` is found in
`patientAge` and not in `wage`. Topics are those of HIPAA's Safe Harbor (45 CFR 164.514) and of GDPR article 9; their
words lie in topics.toml.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources


class Topic(StrEnum):
    """What a column is about.

    >>> topic_of("Geburtsdatum").topic
    <Topic.BIRTH: 'birth'>
    """

    NAME = "name"
    ID = "id"
    CONTACT = "contact"
    ACCOUNT = "account"
    PLACE = "place"
    POSTCODE = "postcode"
    COORDINATE = "coordinate"
    AGE = "age"
    BIRTH = "birth"
    SEX = "sex"
    ORIGIN = "origin"
    FAMILY = "family"
    EDUCATION = "education"
    WORK = "work"
    DATE = "date"
    BODY = "body"
    HEALTH = "health"
    MONEY = "money"
    BELIEF = "belief"
    CRIME = "crime"
    SCORE = "score"


@dataclass(frozen=True)
class Named:
    """A topic, and the words of the name that say it."""

    topic: Topic
    word: str


def words_of(name: str) -> list[str]:
    """Return the words of a name: split at separators, capitals and digits, accents folded.

    >>> words_of("startStation_ID"), words_of("Straße Nr. 2"), words_of("IDNumber")
    (['start', 'station', 'id'], ['strasse', 'nr'], ['id', 'number'])
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss").replace("ẞ", "SS"))
    folded = "".join(letter for letter in plain if not unicodedata.combining(letter))
    cut = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", folded)
    return [word.casefold() for word in re.findall(r"[^\W\d_]+", cut)]


def topic_of(name: str) -> Named | None:
    """Return what a name says; the more specific topic wins where it says several things, None for nothing known.

    >>> topic_of("PLZ"), topic_of("mileage"), topic_of("wage").topic.value, topic_of("date de naissance").topic.value
    (Named(topic=<Topic.POSTCODE: 'postcode'>, word='plz'), None, 'money', 'birth')
    """
    words = words_of(name)
    runs = [words[start : start + length] for length in (3, 2, 1) for start in range(len(words) - length + 1)]
    found = [(topic, " ".join(run)) for run in runs for topic in _topics().get("".join(run), ())]
    if not found:
        return None
    order = list(SPECIFIC)
    topic, word = min(found, key=lambda entry: order.index(entry[0]))
    return Named(topic, word)


SPECIFIC = (  # of several topics in one name, the first counts: "station id" is a place, "patient name" a name
    Topic.BIRTH,
    Topic.POSTCODE,
    Topic.COORDINATE,
    Topic.HEALTH,
    Topic.BELIEF,
    Topic.CRIME,
    Topic.CONTACT,
    Topic.ACCOUNT,
    Topic.ORIGIN,
    Topic.AGE,
    Topic.SEX,
    Topic.FAMILY,
    Topic.PLACE,
    Topic.NAME,
    Topic.ID,
    Topic.MONEY,
    Topic.EDUCATION,
    Topic.WORK,
    Topic.BODY,
    Topic.SCORE,
    Topic.DATE,
)


@cache
def _topics() -> dict[str, tuple[Topic, ...]]:
    """Return the topics of each word, in all languages."""
    listed = tomllib.loads(resources.files(__package__).joinpath("topics.toml").read_text(encoding="utf-8"))
    found: dict[str, tuple[Topic, ...]] = {}
    for topic, languages in listed.items():
        for word in " ".join(languages.values()).split():
            found[word] = (*found.get(word, ()), Topic(topic))
    return found
