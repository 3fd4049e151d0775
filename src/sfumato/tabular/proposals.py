"""Which releases are compared: every algorithm with every combination of the parameters that it takes, by name.

A grid of configurations is how a steward finds out what protection costs (Prasser et al. 2014 do so node by node).
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sfumato import plugins
from sfumato.core.parameters import Option, Validated
from sfumato.errors import ParameterError, suggestion
from sfumato.models import Model, models_from_options
from sfumato.schema import Role, Schema
from sfumato.tabular.base import Anonymizer

ALGORITHMS = ("mondrian", "optimal", "local-recoding")
SIZES = (2, 5, 10, 20)
SHARED = frozenset({"population"})  # the same file for all candidates: in no name, unless there are several
NOT_VARIED = frozenset({"ranges", "keep_order", "target"})  # how a release is written, or for whom: not what it costs


@dataclass(frozen=True)
class Proposal:
    """One candidate before it is made: its name, its algorithm, its models, and the options that make it again.

    >>> from sfumato import KAnonymity, Mondrian
    >>> Proposal("mondrian-k5", Mondrian(), [KAnonymity(5)], {"algorithm": "mondrian", "k": 5}).command
    'sfumato anonymize --algorithm mondrian --k 5'
    """

    name: str
    anonymizer: Anonymizer
    models: Sequence[Model]
    options: Mapping[str, Any]

    @property
    def command(self) -> str:
        """What a person types to make this release, the file and its columns apart."""
        words = ["sfumato", "anonymize"]
        for name, value in self.options.items():
            words += [Option("").flag(name), *([] if value is True else [shlex.quote(_text(value))])]
        return " ".join(words)


def propose(
    algorithms: Sequence[str], given: Mapping[str, Sequence[Any]], schema: Schema, target: str | None = None
) -> list[Proposal]:
    """Return the candidates of a grid: `given` has the values of each option, models' and algorithms'.

    An algorithm is tried with the options that it takes. A private or masking one goes without models that it does not
    promise. One that can spare what tells about a `target` is tried with and without it. A name tells the models and
    whatever else differs between candidates of its algorithm.

    >>> schema = Schema.from_roles(quasi=["age"])
    >>> [one.name for one in propose(["mondrian", "optimal"], {"k": [5, 10], "suppress": [0.02]}, schema)]
    ['mondrian-k5', 'mondrian-k10', 'optimal-k5', 'optimal-k10']
    >>> [one.name for one in propose(["optimal"], {"k": [5], "suppress": [0, 0.02]}, schema)]
    ['optimal-k5-suppress0', 'optimal-k5-suppress0.02']
    >>> [one.name for one in propose(["local-recoding"], {"k": [5]}, schema, target="income")]
    ['local-recoding-k5', 'local-recoding-k5-target-income']
    >>> propose(["mondrian"], {"depth": [3]}, schema)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: --depth is no option of mondrian or of a model; leave it out
    """
    kinds = {name: plugins.find("anonymizers", name, Anonymizer) for name in dict.fromkeys(algorithms)}
    if not kinds:
        raise ParameterError("no algorithm was named; give at least one, for example mondrian")
    of_models = option_names(plugins.every("models", Model))
    _refuse_unknown(given, {*of_models, *option_names(kinds)}, kinds)
    asked: Mapping[str, Sequence[Any]] = {name: values for name, values in given.items() if name in of_models}
    found: dict[str, Proposal] = {}
    for called, kind in kinds.items():
        own = {name: given[name] for name in option_names({called: kind}) if name in given}
        own |= {"target": [None, target]} if "target" in kind.OPTIONS and _is_released(target, schema) else {}
        plain = {name for name in of_models if name not in SHARED or len(given.get(name, ())) > 1}
        named = {*plain, *(name for name, values in own.items() if len(values) > 1)}
        for models, settings in product(_combinations(asked or {"k": SIZES}), _combinations(own)):
            proposal = _proposal(called, kind, models, settings, schema, named)
            found.setdefault(proposal.name, proposal)
    return list(found.values())


def option_names(kinds: Mapping[str, type[Validated]]) -> list[str]:
    """Return the options that classes take and that a comparison varies.

    >>> from sfumato import Optimal
    >>> option_names({"optimal": Optimal})
    ['metric', 'suppress', 'local', 'node', 'seconds']
    """
    names = [option.name or parameter for kind in kinds.values() for parameter, option in kind.OPTIONS.items()]
    return [name for name in dict.fromkeys(names) if name not in NOT_VARIED]


def _proposal(
    called: str,
    kind: type[Anonymizer],
    models: Mapping[str, Any],
    settings: Mapping[str, Any],
    schema: Schema,
    named: Collection[str],
) -> Proposal:
    """Return one candidate; an algorithm that needs no model goes without those that it does not promise."""
    anonymizer = kind.from_options(_set(settings), called=called)
    asked = models_from_options(models, schema, needed=False)
    if not anonymizer.needs_models:
        promised = option_names({model.name: type(model) for model in asked if anonymizer.accepts(model)})
        models = {name: value for name, value in models.items() if name in promised}
        asked = models_from_options(models, schema, needed=False)
    options = {"algorithm": called, **models, **_set(settings)}
    name = "-".join([called, *(_part(option, value) for option, value in options.items() if option in named)])
    return Proposal(name, anonymizer, asked, options)


def _set(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given: a switch that is off is not, nor a target that is not aimed at."""
    return {name: value for name, value in settings.items() if value is not False and value is not None}


def _is_released(target: str | None, schema: Schema) -> bool:
    """Return whether there is a target and a release shows it as it is, as far as the schema says."""
    declared = None if target is None else schema.columns.get(target)
    return target is not None and (declared is None or declared.role in (Role.SENSITIVE, Role.OTHER))


def _combinations(given: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*given.values()):
        yield dict(zip(given, values, strict=True))


def _part(option: str, value: Any) -> str:
    """Return an option and its value as they stand in a name: k5, suppress0.05, l-kind-entropy, local."""
    word = option.replace("_", "-")
    if value is True:
        return word
    return f"{word}-{value}" if isinstance(value, str) else f"{word}{_text(value)}"


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _refuse_unknown(given: Mapping[str, Sequence[Any]], known: set[str], kinds: Mapping[str, type[Anonymizer]]) -> None:
    for name, values in given.items():
        if name not in known:
            takers = ", ".join(kinds)
            raise ParameterError(f"{Option('').flag(name)} is no option of {takers} or of a model; leave it out")
        if not values:
            raise ParameterError(f"{Option('').flag(name)} has no values; give at least one")


def find_proposal(name: str, proposals: Sequence[Proposal]) -> Proposal:
    """Return the candidate of a name, or say which was probably meant.

    >>> find_proposal("mondrian-k6", propose(["mondrian"], {"k": [5]}, Schema()))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: there is no candidate 'mondrian-k6'; did you mean 'mondrian-k5'?
    """
    for proposal in proposals:
        if proposal.name == name:
            return proposal
    near = suggestion(name, [proposal.name for proposal in proposals])
    raise ParameterError(f"there is no candidate '{name}'{near}")
