"""Requirements that a measured table must keep, as they are written at the command line: k=10, highest-risk=0.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato import plugins
from sfumato.errors import ParameterError
from sfumato.evaluate.check import AT_LEAST, BY_COLUMN, SIMPLE, Measures
from sfumato.models import Model, models_from_options
from sfumato.models.criteria import SLACK
from sfumato.schema import Attribute, Role, Schema


@dataclass(frozen=True)
class Requirement:
    """A limit that a measure must keep: the least where more is safer, otherwise the most.

    >>> Requirement.parse("k=10")
    Requirement(name='k', limit=10.0, at_least=True)
    >>> Requirement.parse("ten")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: requirement 'ten' is not of the form k=10
    """

    name: str
    limit: float
    at_least: bool

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Return the requirement that was written; a model's measure goes by the option that asks for the model."""
        name, _, limit = text.partition("=")
        try:
            number = float(limit)
        except ValueError as error:
            raise ParameterError(f"requirement '{text}' is not of the form k=10") from error
        name = name.strip().replace("-", "_")
        kind = None if name in {*SIMPLE, *BY_COLUMN} else _models_by_option().get(name)
        return cls(name, number, name in AT_LEAST if kind is None else kind.at_least)

    def models(
        self, sensitive: Sequence[str], others: Sequence[Requirement] = (), population: Path | None = None
    ) -> list[Model]:
        """Return the models to measure for it, none where every table is measured so anyway.

        A model may need a second parameter, which is that of another requirement, or a file with the population.

        >>> Requirement.parse("e=100").models(["income"], [Requirement.parse("k=5")])
        [KEAnonymity(e=100, k=5, column='income')]
        """
        kind = _models_by_option().get(self.name)
        if kind is None or self.name in {*SIMPLE, *BY_COLUMN}:
            return []
        columns = {name: Attribute(name, Role.SENSITIVE) for name in sensitive}
        taken = {option.name or parameter for parameter, option in kind.OPTIONS.items()}
        given = {one.name: _plain(one.limit) for one in (*others, self) if one.name in taken}
        people = {"population": str(population)} if population is not None and "population" in taken else {}
        return [model for model in models_from_options({**given, **people}, Schema(columns)) if isinstance(model, kind)]

    def breach(self, found: Measures) -> str | None:
        """Return how a table breaks the requirement, or None.

        >>> from sfumato.evaluate.check import Risk
        >>> Requirement.parse("k=10").breach(Measures(3, 1, 3, 0, Risk(0, 0, 0, 0), {}))
        'k: found 3; required at least 10'
        """
        value = found.value(self.name)
        kept = value >= self.limit * (1 - SLACK) if self.at_least else value <= self.limit + SLACK
        side = "at least" if self.at_least else "at most"
        return None if kept else f"{self.name}: found {value:g}; required {side} {self.limit:g}"


def _plain(limit: float) -> float:
    return int(limit) if limit == int(limit) else limit


def _models_by_option() -> dict[str, type[Model]]:
    """Return every model that is offered, by the option that asks for it."""
    every = plugins.every("models", Model).values()
    return {kind.OPTIONS[kind.asks].name or kind.asks: kind for kind in every if kind.asks in kind.OPTIONS}
