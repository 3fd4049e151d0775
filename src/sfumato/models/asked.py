"""Models by what people write: options of a command, and entries of a card; ours and anybody's, found as plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from sfumato import plugins
from sfumato.core.parameters import Option
from sfumato.errors import ParameterError, SfumatoError
from sfumato.models.base import Model
from sfumato.release.card import MeasuredModel
from sfumato.schema import Attribute, Role, Schema

ModelClass = type[Model]


def models_from_options(given: Mapping[str, Any], schema: Schema, *, needed: bool = True) -> list[Model]:
    """Return the models that options ask for, those that speak of a column once for every sensitive column.

    A model is asked for when its limit is given (k, l, t, α, …).

    >>> schema = Schema.from_roles(quasi=["age"], sensitive=["disease"])
    >>> models_from_options({"k": 5, "l": 3}, schema)
    [KAnonymity(k=5), LDiversity(l=3, column='disease', kind='distinct', c=2.0)]
    >>> models_from_options({}, schema)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: no model was asked for; give --k, for example --k 10
    """
    asked = [kind for kind in _kinds() if _option_names(kind)[kind.asks] in given]
    columns = schema.names(Role.SENSITIVE)
    if any(map(_has_column, asked)) and not columns:
        flags = [_flag(kind, kind.asks) for kind in _kinds() if _has_column(kind)]
        listed = f"{', '.join(flags[:-1])} and {flags[-1]}"
        raise ParameterError(f"{listed} speak of sensitive columns; name them with --sensitive")
    _refuse_idle(asked, given)
    for kind in asked:
        _refuse_incomplete(kind, given)
    models = [_build(kind, given) for kind in asked if not _has_column(kind)]
    for column in columns:
        fitting = (kind for kind in asked if _has_column(kind) and kind.suits(schema.columns[column]))
        models += [_build(kind, given, column=column) for kind in fitting]
    for kind in asked:
        _refuse_unsuited(kind, [schema.columns[column] for column in columns])
    if not models and needed:
        raise ParameterError("no model was asked for; give --k, for example --k 10")
    return models


def model_on_card(entry: MeasuredModel, parameters: Mapping[str, Any]) -> Model | None:
    """Return the model that an entry of a card speaks of, or None where no installed class would make such a one.

    >>> entry = MeasuredModel(model="entropy l-diversity", column="disease", asked=2.5, measured=3.1)
    >>> model_on_card(entry, {"l": 2.5, "l_kind": "entropy"})
    LDiversity(l=2.5, column='disease', kind='entropy', c=2.0)
    """
    for kind in plugins.every("models", Model).values():
        if entry.model in kind.card_names:
            try:
                return kind.from_card(entry, parameters)
            except (SfumatoError, TypeError):
                return None
    return None


def _kinds() -> list[ModelClass]:
    """Return every model that is offered: those of sizes first, then those that need fewer options."""
    every = plugins.every("models", Model).values()
    return sorted(every, key=lambda kind: (_has_column(kind), len(_required_parameters(kind)), kind.called))


def _has_column(kind: ModelClass) -> bool:
    return any(field.name == "column" for field in fields(kind))  # type: ignore[arg-type]  # models are dataclasses


def _required_parameters(kind: ModelClass) -> Sequence[str]:
    """Return the parameters that a model cannot do without, its column apart."""
    plain = [field.name for field in fields(kind) if field.default is MISSING]  # type: ignore[arg-type]
    return [name for name in plain if name != "column"]


def _option_names(kind: ModelClass) -> dict[str, str]:
    return {parameter: option.name or parameter for parameter, option in kind.OPTIONS.items()}


def _flag(kind: ModelClass, parameter: str) -> str:
    return kind.OPTIONS.get(parameter, Option("")).flag(parameter)


def _refuse_idle(asked: Sequence[ModelClass], given: Mapping[str, Any]) -> None:
    """Refuse an option of a model that nobody asked for: it would do nothing."""
    used = {name for kind in asked for name in _option_names(kind).values()}
    for kind in _kinds():
        for parameter, name in _option_names(kind).items():
            if name in given and name not in used:
                raise ParameterError(
                    f"{_flag(kind, parameter)} says more about {kind.called}, which nobody asked for; give "
                    f"{_flag(kind, kind.asks)} too, or leave it out"
                )


def _refuse_incomplete(kind: ModelClass, given: Mapping[str, Any]) -> None:
    names = _option_names(kind)
    for parameter in _required_parameters(kind):
        if names.get(parameter, parameter) not in given:
            raise ParameterError(f"{_flag(kind, kind.asks)} needs {_flag(kind, parameter)}; give both")


def _refuse_unsuited(kind: ModelClass, columns: Sequence[Attribute]) -> None:
    if _has_column(kind) and not any(map(kind.suits, columns)):
        named = ", ".join(f"'{column.name}'" for column in columns)
        raise ParameterError(
            f"{_flag(kind, kind.asks)} suits no sensitive column; found {named} of other types; leave it out"
        )


def _build(kind: ModelClass, given: Mapping[str, Any], **column: str) -> Model:
    names = _option_names(kind)
    return kind(**{parameter: given[name] for parameter, name in names.items() if name in given}, **column)
