"""The options of a command that come from classes: every parameter that a class of a kind lists in its `OPTIONS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, make_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from sfumato.cli.options import Flag, Whole, names
from sfumato.core.parameters import Option, Validated
from sfumato.errors import ParameterError

Classes = Mapping[str, type[Validated]]
SWITCH = {"yes": True, "no": False}
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


def list_group(title: str, words: str, classes: Classes, only: Sequence[str]) -> type[Any]:
    """Return a group of those of the options that classes take that are named, each as a list of values.

    >>> from sfumato.models import KAnonymity
    >>> list_group("Models", "What holds.", {"k-anonymity": KAnonymity}, ["k"])(k=("3,5",)).k
    ('3,5',)
    """
    listed: Any = {"negative": (), "show_default": False}
    entries = []
    for name, (hint, sentences) in _gathered(classes).items():
        shown = "no,yes" if _plain_hint(hint) is bool else "TEXT" if _is_free(hint) else "VALUES"
        annotation = Annotated[tuple[str, ...], Parameter(help=_sentences(sentences), metavar=shown, **listed)]
        entries += [(name, annotation, ())] if name in only else []
    return _group(title, title, words, entries)


def given_lists(options: Any, classes: Classes) -> dict[str, list[Any]]:
    """Return the values of each option of a list group that a person gave, of the type that the classes take.

    >>> from sfumato.models import KAnonymity
    >>> classes = {"k-anonymity": KAnonymity}
    >>> given_lists(list_group("Models", "What holds.", classes, ["k"])(k=("3,5", "9")), classes)
    {'k': [3, 5, 9]}

    The commas of a free text are its own, so that such an option is repeated.

    >>> from sfumato.tabular import Optimal
    >>> classes = {"optimal": Optimal}
    >>> given_lists(list_group("Nodes", "Which.", classes, ["node"])(node=("2,0", "1,1")), classes)
    {'node': ['2,0', '1,1']}
    """
    hints = {name: hint for name, (hint, _) in _gathered(classes).items()}
    asked = {name: texts if _is_free(hints[name]) else names(texts) for name, texts in given(options).items() if texts}
    return {name: [_value(name, hints[name], text) for text in texts] for name, texts in asked.items()}


def _is_free(hint: Any) -> bool:
    """Return whether an option takes any text."""
    return _plain_hint(hint) is str


def _value(name: str, hint: Any, text: str) -> Any:
    """Return one value of a list as its option takes it."""
    kind = _plain_hint(hint)
    if kind is bool and text in SWITCH:
        return SWITCH[text]
    try:
        if kind in {int, float}:
            return kind(text)
    except ValueError:
        pass
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if kind is str or text in choices:
        return text
    wanted = {int: "integers", float: "numbers", bool: "yes and no"}.get(kind, ", ".join(map(str, choices)))
    raise ParameterError(f"{Option('').flag(name)} takes {wanted}, by commas; found '{text}'")


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
    for name, (hint, sentences) in _gathered(classes).items():
        annotation, default = _as_option(hint, _sentences(sentences))
        yield name, annotation, default


def _gathered(classes: Classes) -> dict[str, tuple[Any, dict[str, dict[str, str]]]]:
    """Return each option's type, and its sentences with the classes that take it so and their defaults."""
    entries: dict[str, tuple[Any, dict[str, dict[str, str]]]] = {}
    for called, kind in classes.items():
        hints = get_type_hints(kind)
        for parameter, option in kind.OPTIONS.items():
            _, sentences = entries.setdefault(option.name or parameter, (hints[parameter], {}))
            sentences.setdefault(option.words, {})[called] = _default(kind, parameter)
    return entries


def _sentences(sentences: Mapping[str, Mapping[str, str]]) -> str:
    return " ".join(_sentence(text, takers) for text, takers in sentences.items())


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
    hint = _plain_hint(hint)
    if hint is bool:
        return Annotated[Flag, Parameter(help=words)], False
    if hint is int:
        return Annotated[Whole, Parameter(help=words)], None
    shape = PAIR if get_origin(hint) is tuple else {}
    return Annotated[hint | None, Parameter(help=words, show_default=False, **shape)], None


def _plain_hint(hint: Any) -> Any:
    """Return a type without the None that it may also be."""
    if get_origin(hint) in {Union, UnionType}:
        return next(part for part in get_args(hint) if part is not type(None))
    return hint
