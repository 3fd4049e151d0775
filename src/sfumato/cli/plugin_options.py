"""The options of a command that come from classes: every parameter that a class of a kind lists in its `OPTIONS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, make_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from sfumato.cli.options import Flag, Whole
from sfumato.core.parameters import Validated

Classes = Mapping[str, type[Validated]]
PAIR: dict[str, Any] = {"metavar": "LOW HIGH", "allow_leading_hyphen": True, "negative": ()}


def option_group(
    title: str, choice: str, default: str, words: str, classes: Classes, unusable: Sequence[str] = ()
) -> type[Any]:
    """Return a group of options: `choice` names one of the classes, the others are what the classes take.

    An option that was not given is None, so that the class's own default stands. Names of classes that cannot be used
    can be chosen too, so that the sentence that says why is heard.

    >>> from sfumato.models import KAnonymity
    >>> group = option_group("Model", "model", "k", "What holds.", {"k": KAnonymity})
    >>> group().model
    'k'
    """
    first = (choice, Annotated[Literal[(*names_of(classes), *unusable)], Parameter(help=words)], default)
    return _group(title, choice, words, [first, *_fields(classes)])


def parameter_group(title: str, words: str, classes: Classes) -> type[Any]:
    """Return a group of all options that the classes take, none of them chosen by name.

    >>> from sfumato.models import KAnonymity
    >>> parameter_group("Models", "What holds.", {"k-anonymity": KAnonymity})(k=3).k
    3
    """
    return _group(title, title, words, list(_fields(classes)))


def names_of(classes: Classes) -> tuple[str, ...]:
    """Return the names and aliases of classes.

    >>> from sfumato.tabular import MDAVPlus
    >>> names_of({"mdav+": MDAVPlus})
    ('mdav+', 'mdav-plus')
    """
    return tuple(name for name, kind in classes.items() for name in (name, *getattr(kind, "aliases", ())))


def given(options: Any, choice: str | None = None) -> dict[str, Any]:
    """Return the options that a person gave, by name, without the choice itself.

    >>> from sfumato.models import KAnonymity
    >>> given(option_group("Model", "model", "k", "What holds.", {"k": KAnonymity})(k=3), "model")
    {'k': 3}
    """
    return {
        name: value
        for name, value in vars(options).items()
        if name != choice and value is not None and value is not False
    }


def _group(title: str, name: str, words: str, entries: Sequence[tuple[str, Any, Any]]) -> type[Any]:
    made = make_dataclass(f"{name.title()}Options", entries, frozen=True, kw_only=True)
    made.__doc__ = f"{title}: {words}"
    made.__module__ = __name__  # cyclopts looks into no class of the standard library, where this one is made
    return Parameter(name="*", group=title)(made)


def _fields(classes: Classes) -> Iterator[tuple[str, Any, Any]]:
    """Yield each option once, with the type of the first class that takes it and the sentences of all."""
    entries: dict[str, tuple[Any, dict[str, dict[str, str]]]] = {}
    for called, kind in classes.items():
        hints = get_type_hints(kind)
        for parameter, option in kind.OPTIONS.items():
            _, sentences = entries.setdefault(option.name or parameter, (hints[parameter], {}))
            sentences.setdefault(option.words, {})[called] = _default(kind, parameter)
    for name, (hint, sentences) in entries.items():
        words = " ".join(_sentence(text, takers) for text, takers in sentences.items())
        annotation, default = _as_option(hint, words)
        yield name, annotation, default


def _default(kind: type[Validated], parameter: str) -> str:
    """Return what stands where an option is not given, as words; nothing where that is nothing to speak of."""
    default = next((entry.default for entry in fields(kind) if entry.name == parameter), MISSING)  # type: ignore[arg-type]
    unspoken = default is MISSING or default is None or isinstance(default, bool | tuple)
    return "" if unspoken else f"{default:g} unless given" if isinstance(default, float) else f"{default} unless given"


def _sentence(text: str, takers: Mapping[str, str]) -> str:
    """Return what an option does, who takes it, and what stands where it is not given.

    >>> _sentence("How long to search.", {"best": "60 unless given", "kanonymeans*": ""})
    'How long to search (best: 60 unless given; kanonymeans*).'
    """
    plain = text.removesuffix(".")
    defaults = set(takers.values())
    if len(defaults) == 1:
        default = defaults.pop()
        return f"{plain}{f'; {default}' if default else ''} ({', '.join(takers)})."
    return f"{plain} ({'; '.join(f'{name}: {default}' if default else name for name, default in takers.items())})."


def _as_option(hint: Any, words: str) -> tuple[Any, Any]:
    """Return a parameter's type as an option that may be left out, with its default."""
    if get_origin(hint) in {Union, UnionType}:
        hint = next(part for part in get_args(hint) if part is not type(None))
    if hint is bool:
        return Annotated[Flag, Parameter(help=words)], False
    if hint is int:
        return Annotated[Whole, Parameter(help=words)], None
    shape = PAIR if get_origin(hint) is tuple else {}
    return Annotated[hint | None, Parameter(help=words, show_default=False, **shape)], None
