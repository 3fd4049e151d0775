"""What every mechanism must do: validate itself, say who it is, draw from the given source alone, keep its law and ε.

The test of a law has power, as the noise tests of Tumult Core have: draws must fit the law that the class states, and
must not fit the law of the same mechanism at an ε that is 30 % larger or smaller.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sfumato import plugins
from sfumato.audit.epsilon import epsilon
from sfumato.audit.epsilon.events import Event
from sfumato.audit.epsilon.trials import run, worst_pair
from sfumato.checks.base import Check, expect, parameter_checks
from sfumato.dp.mechanisms.base import Mechanism, exact
from sfumato.dp.mechanisms.trial import Pair
from sfumato.random import SeededSource

CLAIMS = ("0.3", "1", "2")
DRAWS = 6000  # on one input
MANY_DRAWS = 20_000  # enough to tell a scale from one that is 30 % off
FEW = 200
INPUTS = 4  # of those that a trial names
TRIALS = 10_000
SEARCH_TRIALS = 1000
FEWEST = 10  # draws expected in a cell of the chi-square test; rarer outputs share a cell
UNLIKELY = 5.6  # standard deviations, once in 10^8 runs
OFF = ("0.7", "1.3")


def mechanism_checks(kind: type[Mechanism]) -> Iterator[Check]:
    """Yield the checks for one class of mechanisms.

    >>> from sfumato.dp import Laplace
    >>> for check in mechanism_checks(Laplace):
    ...     check.run()
    """
    yield from parameter_checks(kind.sample())
    for name, function in CHECKS.items():
        yield Check(name, partial(function, kind))


def law_misfit(outputs: Sequence[Any], law: Mapping[Any, float]) -> float:
    """Return by how many standard deviations draws depart from a law; above 5.6 comes once in 10^8 runs.

    It is Pearson's chi-square, brought to a normal scale by the cube root of Wilson & Hilferty (1931).

    >>> law_misfit(["a", "b"] * 500, {"a": 0.5, "b": 0.5}) < 1 < UNLIKELY < law_misfit(["a", "b"] * 500, {"a": 0.7})
    True
    """
    found, total = Counter(outputs), len(outputs)
    cells = [(found[output], total * chance) for output, chance in law.items() if total * chance >= FEWEST]
    rest = (total - sum(seen for seen, _ in cells), total - math.fsum(expected for _, expected in cells))
    if rest[1] >= FEWEST:
        cells.append(rest)
    elif rest[0] > 2 * FEWEST + UNLIKELY**2:  # outputs that the law hardly knows
        return math.inf
    if len(cells) < 2:
        return 0.0 if rest[0] <= 2 * FEWEST + UNLIKELY**2 else math.inf
    statistic, freedom = math.fsum((seen - wanted) ** 2 / wanted for seen, wanted in cells), len(cells) - 1
    spread = 2 / (9 * freedom)
    return (math.cbrt(statistic / freedom) - (1 - spread)) / math.sqrt(spread)


def _outputs(kind: type[Mechanism], claim: str, value: Any, count: int, source: SeededSource) -> list[Any]:
    """Return the outputs of a run as Python's own values."""
    found: list[Any] = run(kind.sample(exact(claim)).trial().run, value, count, source).tolist()
    return found


def _inputs(kind: type[Mechanism]) -> list[Any]:
    """Return a few different inputs of the pairs that the trial names, the first and the last among them."""
    pairs = kind.sample().trial().pairs
    values = list({repr(value): value for pair in pairs for value in pair}.values())
    places = dict.fromkeys(round(place * (len(values) - 1) / (INPUTS - 1)) for place in range(INPUTS))
    return [values[place] for place in places]


def _distance(true: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    """Return the chi-square distance of one law from another, over the outputs that both name."""
    return math.fsum((true.get(output, 0.0) - chance) ** 2 / chance for output, chance in other.items() if chance)


def _says_who_it_is(kind: type[Mechanism]) -> None:
    for attribute in ("name", "words", "sentence"):
        text = getattr(kind, attribute, None)
        expect(isinstance(text, str) and text, f"{kind.__name__} has no {attribute}")
    expect(kind.sentence.endswith("."), f"the sentence of {kind.__name__} does not end with a full stop")
    if kind.name in plugins.names("mechanisms"):
        installed = plugins.find("mechanisms", kind.name, Mechanism)
        expect(installed is kind, f"{kind.__name__} is called '{kind.name}' as {installed.__name__} is")


def _is_a_value(kind: type[Mechanism]) -> None:
    sample = kind.sample()
    expect(sample == kind.sample(), f"two equal samples of {kind.__name__} are not equal")
    expect(hash(sample) == hash(kind.sample()), f"two equal samples of {kind.__name__} have different hashes")
    expect(replace(sample) == sample, f"a copy of a {kind.__name__} is another")  # type: ignore[type-var]
    expect(kind.sample(2) != sample, f"{kind.__name__}.sample takes no notice of its epsilon")


def _names_neighbours(kind: type[Mechanism]) -> None:
    for claim in CLAIMS:
        trial = kind.sample(exact(claim)).trial()
        expect(trial.pairs, f"{kind.__name__} names no neighbouring inputs to try it on")
        expect(0 <= trial.delta < 1, f"{kind.__name__} claims a delta of {trial.delta}; wanted one from 0 and below 1")
        for event in trial.events:
            Event.read(event)
        for count in (1, 3):
            run(trial.run, trial.pairs[0][0], count, SeededSource(1))


def _draws_from_its_source(kind: type[Mechanism]) -> None:
    noisy = False
    for value in _inputs(kind):
        source = SeededSource(1)
        first, second = (_outputs(kind, "1", value, FEW, source) for _ in range(2))
        again, other = (_outputs(kind, "1", value, FEW, SeededSource(seed)) for seed in (1, 2))
        expect(first == again, f"{kind.__name__} draws from something else than the given source on {value!r}")
        constant = len({*first, *second, *other}) == 1
        noisy |= not constant
        expect(constant or first != second, f"{kind.__name__} repeats its draws on {value!r}: is a seed set anew?")
        expect(constant or first != other, f"{kind.__name__} takes no notice of its source on {value!r}")
    expect(noisy, f"{kind.__name__} gives the same output on every input, whatever its source")


def _follows_its_law(kind: type[Mechanism]) -> None:
    for place, value in enumerate(_inputs(kind)):
        law = kind.sample().law(value)
        if law is None:
            continue
        total = math.fsum(law.values())
        expect(total <= 1 + 1e-9 and min(law.values()) >= 0, f"the law of {kind.__name__} is none: it sums to {total}")
        found = law_misfit(_outputs(kind, "1", value, DRAWS, SeededSource(place)), law)
        expect(found < UNLIKELY, f"draws of {kind.__name__} on {value!r} are {found:.1f} deviations off the stated law")


def _shows_another_scale(kind: type[Mechanism]) -> None:
    """The draws must not fit the law of 30 % more or less ε on some input, or the test above would show nothing."""
    values = [value for pair in kind.sample().trial().pairs for value in pair]
    for claim in OFF:
        laws = [(kind.sample().law(value), kind.sample(exact(claim)).law(value)) for value in values]
        apart = [-1.0 if true is None or other is None else _distance(true, other) for true, other in laws]
        most = apart.index(max(apart))
        if (other := laws[most][1]) is None:
            return
        found = law_misfit(_outputs(kind, "1", values[most], MANY_DRAWS, SeededSource(1)), other)
        expect(found > UNLIKELY, f"draws of {kind.__name__} at ε=1 fit the law of ε={claim}; its law has no scale")


def _is_not_refuted(kind: type[Mechanism]) -> None:
    for claim in CLAIMS:
        trial, source = kind.sample(exact(claim)).trial(), SeededSource(1)
        pair: Pair = worst_pair(trial.run, trial.pairs, delta=trial.delta, trials=SEARCH_TRIALS, rng=source)
        finding = epsilon(
            trial.run,
            *pair,
            claim=float(claim),
            delta=trial.delta,
            trials=TRIALS,
            confidence=0.99999,
            events=[Event.read(event) for event in trial.events],
            rng=source,
        )
        expect(not finding.refuted, f"{kind.__name__} claims ε={claim}; {finding.evidence['reason']}")


CHECKS = {
    "says who it is": _says_who_it_is,
    "is a value": _is_a_value,
    "names neighbours and can be run on them": _names_neighbours,
    "draws from the given source alone": _draws_from_its_source,
    "follows the law that it states": _follows_its_law,
    "does not follow a law 30 % off": _shows_another_scale,
    "is not refuted at the ε it claims": _is_not_refuted,
}
