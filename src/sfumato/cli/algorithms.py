"""Which algorithm makes the release, and which models hold on it: the options of every class that is offered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sfumato import plugins
from sfumato.cli.plugin_options import given, names_of, option_group, parameter_group
from sfumato.models import Model, models_from_options
from sfumato.schema import Schema
from sfumato.tabular.base import Anonymizer, PartitionAnonymizer

if TYPE_CHECKING:

    @dataclass(frozen=True)
    class AlgorithmOptions:
        """How the release is made."""

        algorithm: str = "mondrian"

    @dataclass(frozen=True)
    class ModelOptions:
        """What every class of the release must satisfy."""

    PlainAlgorithm = str
else:
    _OFFERED = plugins.every("anonymizers", Anonymizer)
    _UNUSABLE = [found.name for found in plugins.failures("anonymizers", Anonymizer)]
    _WORDS = "How classes are found."
    AlgorithmOptions = option_group("Algorithm", "algorithm", "mondrian", _WORDS, _OFFERED, _UNUSABLE)
    ModelOptions = parameter_group(
        "Models", "What every class of a release must satisfy.", plugins.every("models", Model)
    )
    PlainAlgorithm = Literal[
        names_of(
            {
                name: kind
                for name, kind in _OFFERED.items()
                if issubclass(kind, PartitionAnonymizer) and "seed" not in kind.OPTIONS
            }
        )
    ]


def chosen_anonymizer(options: AlgorithmOptions) -> Anonymizer:
    """Return the anonymizer that options ask for, or say which of them it does not take."""
    kind = plugins.find("anonymizers", options.algorithm, Anonymizer)
    return kind.from_options(given(options, "algorithm"), called=options.algorithm)


def partition_anonymizer(name: str) -> PartitionAnonymizer:
    """Return the anonymizer of a name, with its own defaults.

    >>> partition_anonymizer("mdav-plus").algorithm
    'mdav+'
    """
    return plugins.find("anonymizers", name, PartitionAnonymizer)()


def asked_models(options: ModelOptions, schema: Schema, *, needed: bool = True) -> list[Model]:
    """Return the models that options ask for, those of sensitive columns once for each."""
    found: dict[str, Any] = given(options)
    return models_from_options(found, schema, needed=needed)
