"""What functions make of texts, by code points: letters of other case, stretches, and how long a result can be.

An engine's own LOWER goes by the locale of its server; here a fixed list of letters has pairs, which are the same
everywhere: Latin (with Latin-1 and Extended-A), Greek and Cyrillic (Unicode 15, section 5.18, on case mappings).
"""

from __future__ import annotations

from sfumato.dp.questions.expression import Call, Case, ColumnReference, Literal, Value

BLOCKS = (
    (0x41, 0x5A),
    (0xC0, 0x17F),
    (0x370, 0x376),
    (0x386, 0x3AB),
    (0x400, 0x42F),
    (0x460, 0x481),
    (0x48A, 0x4BF),
    (0x4C1, 0x4FF),
)


def _pairs() -> tuple[str, str]:
    """Return all large letters of the blocks that have one small letter which has them, and those small ones."""
    letters = (chr(code) for first, last in BLOCKS for code in range(first, last + 1))
    pairs = [(large, large.lower()) for large in letters if large.lower() != large]
    kept = [(large, small) for large, small in pairs if len(small) == 1 and small.upper() == large]
    return "".join(large for large, _ in kept), "".join(small for _, small in kept)


LARGE, SMALL = _pairs()
TO_SMALL, TO_LARGE = str.maketrans(LARGE, SMALL), str.maketrans(SMALL, LARGE)


def apply(function: str, text: str, options: tuple[str | int, ...]) -> str:
    """Return what a function of one text makes of it.

    >>> apply("LOWER", "ÉTÉ", ()), apply("SUBSTRING", "abcd", (2, 2)), apply("RIGHT", "abc", (2,))
    ('été', 'bc', 'bc')
    """
    if function == "LOWER":
        return text.translate(TO_SMALL)
    if function == "UPPER":
        return text.translate(TO_LARGE)
    if function == "TRIM":
        return text.strip(" ")
    first, *count = (int(option) for option in options)
    if function == "RIGHT":
        return text[max(len(text) - first, 0) :]
    return text[first - 1 : first - 1 + count[0]] if count else text[first - 1 :]


def length_of(value: Value) -> int | None:  # noqa: PLR0911  # one for each kind of text
    """Return the most characters that a text can have, or None where nothing says.

    >>> from sfumato.dp.questions.expression import Domain
    >>> length_of(Call("RIGHT", (ColumnReference("name", Domain.TEXT),), Domain.TEXT, (3,)))
    3
    """
    match value:
        case Literal(str() as text):
            return len(text)
        case ColumnReference():
            return value.longest
        case Case():
            return _longest([length_of(result) for result in value.results])
        case Call("COALESCE", arguments):
            return _longest([length_of(argument) for argument in arguments])
        case Call("CONCAT", arguments):
            lengths = [length_of(argument) for argument in arguments]
            return None if None in lengths else sum(length or 0 for length in lengths)
        case Call("SUBSTRING" | "RIGHT" as function, (argument, *_), _, options):
            count = int(options[-1]) if function == "RIGHT" or len(options) > 1 else None
            return min((length for length in (length_of(argument), count) if length is not None), default=None)
        case Call("LOWER" | "UPPER" | "TRIM" | "NULLIF", (argument, *_)):
            return length_of(argument)
    return None


def _longest(lengths: list[int | None]) -> int | None:
    return None if None in lengths else max((length or 0 for length in lengths), default=0)
