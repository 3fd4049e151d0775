"""The options of a command that come from classes: every parameter that a class of a kind lists in its `OPTIONS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, make_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from sfumato.cli.options import Flag, Whole
from sfumato.core.parameters import Validated

Classes = Mapping[str, type[Validated]]
PAIR: dict[str, Any] = {"metavar": "LOW HIGH", "allow_leading_hyphen": True, "negative": ()}


def option_group(title: str, choice: str, default: str, words: str, classes: Classes) -> type[Any]:
    """Return a group of options: `choice` names one of the classes, the others are what the classes take.

    An option that was not given is None, so that the class's own default stands.

    >>> from sfumato.models import KAnonymity
    >>> group = option_group("Model", "model", "k", "What holds.", {"k": KAnonymity})
    >>> group().model
    'k'
    """
    called = tuple(name for name, kind in classes.items() for name in (name, *getattr(kind, "aliases", ())))
    first = (choice, Annotated[Literal[called], Parameter(help=words)], default)
    made = make_dataclass(f"{choice.title()}Options", [first, *_fields(classes)], frozen=True, kw_only=True)
    made.__module__ = __name__  # cyclopts takes a class of the standard library for a plain value
    made.__doc__ = f"{title}: {words}"
    return Parameter(name="*", group=title)(made)


def given(options: Any, choice: str) -> dict[str, Any]:
    """Return the options that a person gave, by name, without the choice itself."""
    return {
        name: value
        for name, value in vars(options).items()
        if name != choice and value is not None and value is not False
    }


def _fields(classes: Classes) -> Iterator[tuple[str, Any, Any]]:
    """Yield each option once, with the type of the first class that takes it and the sentences of all."""
    entries: dict[str, tuple[Any, dict[str, list[str]]]] = {}
    for called, kind in classes.items():
        hints = get_type_hints(kind)
        for parameter, option in kind.OPTIONS.items():
            name = option.name or parameter
            _, sentences = entries.setdefault(name, (hints[parameter], {}))
            sentences.setdefault(_sentence(kind, parameter, option.words), []).append(called)
    for name, (hint, sentences) in entries.items():
        words = " ".join(f"{text.removesuffix('.')} ({', '.join(takers)})." for text, takers in sentences.items())
        annotation, default = _annotated(hint, words)
        yield name, annotation, default


def _sentence(kind: type[Validated], parameter: str, words: str) -> str:
    """Return what an option does, and what stands where it is not given."""
    default = next((entry.default for entry in fields(kind) if entry.name == parameter), MISSING)  # type: ignore[arg-type]
    plain = default is MISSING or default is None or isinstance(default, bool | tuple)
    return words if plain else f"{words.removesuffix('.')}; {default} unless given."


def _annotated(hint: Any, words: str) -> tuple[Any, Any]:
    """Return a parameter's type as an option that may be left out, with its default."""
    if get_origin(hint) in {Union, UnionType}:
        hint = next(part for part in get_args(hint) if part is not type(None))
    if hint is bool:
        return Annotated[Flag, Parameter(help=words)], False
    if hint is int:
        return Annotated[Whole, Parameter(help=words)], None
    shape = PAIR if get_origin(hint) is tuple else {}
    return Annotated[hint | None, Parameter(help=words, show_default=False, **shape)], None
