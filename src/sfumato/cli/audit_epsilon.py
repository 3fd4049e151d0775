"""The command that looks for the least ε a mechanism can have, ours by name or anybody's by module:function."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.options import Flag, Whole
from sfumato.cli.progress import Steps, steps
from sfumato.core.files import Staging
from sfumato.errors import InputError, ParameterError

if TYPE_CHECKING:
    from sfumato.audit.epsilon.mechanisms import Subject
    from sfumato.random import Source
    from sfumato.release import Finding

SEARCH_TRIALS = 5000  # runs on each input of each pair of neighbours that is tried

Value = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


@dataclass(frozen=True)
class Asked:
    """What is audited and how: the parameters that the evidence keeps."""

    mechanism: str
    claim: float
    delta: float | None
    trials: int
    confidence: float
    left: str | None
    right: str | None
    size: int | None
    seed: int | None


def epsilon(
    mechanism: Annotated[str, Parameter(name="MECHANISM", show_default=False)] = "",
    /,
    *,
    claim: float = 1.0,
    delta: float | None = None,
    trials: Whole = 200_000,
    confidence: float = 0.999,
    left: Value = None,
    right: Value = None,
    size: Whole = None,
    seed: Whole = None,
    secure: Flag = False,
    again: Annotated[Path | None, Parameter(metavar="EVIDENCE")] = None,
    output: EvidenceFile = None,
    json: Flag = False,
) -> int:
    """Look for the least ε that a mechanism can have, by trials on neighbouring inputs; exit code 1 if refuted.

    By name: laplace, gaussian, exponential, noisy-max, randomized-response, discrete-laplace, and the broken
    half-laplace, same-seed, float-laplace, wrong-sensitivity, exponential-without-two. A function of yours is given as
    module:function and takes (input, count, rng) or (input, rng). Not refuted is not proven.

    Args:
        mechanism: Name of a mechanism, or module:function.
        claim: The ε that is claimed.
        delta: The δ that is claimed; 0 unless the mechanism has one of its own.
        trials: Runs on each input, half to choose an event, half to measure it.
        confidence: How sure the bound is.
        left: One input, as JSON; without both inputs neighbours that differ by 1 are tried and the worst pair is kept.
        right: The other input.
        size: Try vectors of this length in place of numbers, for module:function.
        seed: Repeats a run exactly; without it one is drawn and kept in the evidence.
        secure: Draw from the secure samplers that releases use; slower, and no run is like another.
        again: Measure the event in this file of evidence on new trials.
        output: File for the evidence.
        json: Print the finding as JSON.
    """
    if secure and seed is not None:
        raise ParameterError("--secure has no seed; leave --seed out")
    if (left is None) != (right is None):
        raise ParameterError("--left and --right are neighbours; give both, or neither")
    if bool(mechanism) == (again is not None):
        raise ParameterError("name a mechanism such as laplace or mymodule:noisy_count, or evidence with --again")
    number = None if secure else _drawn(seed)
    asked = Asked(mechanism, claim, delta, trials or 0, confidence, left, right, size, number)
    with Staging() as staging, steps(2) as step:
        place = None if output is None else staging.place(output)
        finding = _tested(asked, step) if again is None else _tested_again(again, number, step)
        if place is not None:
            write_evidence(
                place, [finding], "epsilon", [], asdict(asked) | {"mechanism": finding.evidence["mechanism"]}
            )
    return say([finding], json=json)


def _tested(asked: Asked, step: Steps) -> Finding:
    from sfumato.audit import epsilon as audit
    from sfumato.audit import worst_pair
    from sfumato.core.progress import listening

    source = _source(asked.seed)
    step("searching neighbours")
    subject = _subject(asked.mechanism, asked.claim, asked.size)
    delta = subject.delta if asked.delta is None else asked.delta
    if asked.left is not None and asked.right is not None:
        pair = _read(asked.left), _read(asked.right)
    else:
        trials = max(100, min(asked.trials, SEARCH_TRIALS))
        pair = worst_pair(subject.mechanism, subject.pairs, delta=delta, trials=trials, rng=source)
    step("running trials")
    with listening(step.share):
        finding = audit(
            subject.mechanism,
            *pair,
            claim=asked.claim,
            delta=delta,
            trials=asked.trials,
            confidence=asked.confidence,
            events=subject.events,
            rng=source,
        )
    return _named(finding, asked.mechanism)


def _tested_again(evidence: Path, seed: int | None, step: Steps) -> Finding:
    import msgspec

    from sfumato.audit import repeat
    from sfumato.release import Finding

    try:
        found = msgspec.convert(json_text.loads(evidence.read_bytes())["findings"][0], Finding)
        mechanism = str(found.evidence["mechanism"])
    except (OSError, ValueError, LookupError, TypeError, msgspec.ValidationError) as error:
        raise InputError(f"evidence '{evidence}' cannot be read: {error}") from None
    step("measuring again")
    subject = _subject(mechanism, found.evidence.get("claim", 1.0), None)
    return _named(repeat(found, subject.mechanism, rng=_source(seed)), mechanism)


def _subject(mechanism: str, claim: float, size: int | None) -> Subject:
    from sfumato.audit.epsilon.mechanisms import Subject, load, named
    from sfumato.audit.epsilon.pairs import number_pairs, vector_pairs

    if ":" not in mechanism:
        return named(mechanism, claim)
    return Subject(load(mechanism), list(number_pairs() if size is None else vector_pairs(size)))


def _named(finding: Finding, mechanism: str) -> Finding:
    import msgspec

    return msgspec.structs.replace(finding, evidence={"mechanism": mechanism, **finding.evidence})


def _source(seed: int | None) -> Source:
    from sfumato.random import SecureSource, SeededSource

    return SecureSource() if seed is None else SeededSource(seed)


def _drawn(seed: int | None) -> int:
    import secrets

    return secrets.randbits(32) if seed is None else seed


def _read(text: str) -> Any:
    """Return an input written as JSON, or the word itself."""
    try:
        return json_text.loads(text)
    except json_text.JSONDecodeError:
        return text
