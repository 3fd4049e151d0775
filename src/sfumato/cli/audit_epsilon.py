"""The command that looks for the least ε a mechanism can have, an installed one by name or anybody's by function."""

from __future__ import annotations

import json as json_text
import secrets
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sfumato import plugins
from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.options import Flag, Whole, bounded
from sfumato.cli.progress import steps
from sfumato.core.files import Staging
from sfumato.core.progress import listening
from sfumato.errors import ParameterError

Value = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
NAMES = ", ".join(plugins.names("mechanisms"))
NAMED = f"Name of a mechanism ({NAMES}; known failures such as half-laplace), or module:function."


def epsilon(
    mechanism: Annotated[str, Parameter(name="MECHANISM", show_default=False, help=NAMED)] = "",
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
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Measure a lower bound of a mechanism's ε by trials on neighbouring inputs; exit code 1 if refuted.

    By name: any installed mechanism, the bare sampler discrete-laplace, and the broken half-laplace, same-seed,
    float-laplace, wrong-sensitivity, exponential-without-two. A function of yours is given as module:function and takes
    (input, count, rng) or (input, rng). Not refuted is not proven.

    Args:
        claim: The ε that is claimed.
        delta: The δ that is claimed; 0 unless the mechanism has one of its own.
        trials: Runs on each input, half to choose an event, half to measure it.
        confidence: How sure the bound is.
        left: One input, as JSON; without both inputs neighbours that differ by 1 are tried and the worst pair is kept.
        right: The other input.
        size: Try vectors of this length in place of numbers, for module:function.
        seed: Repeats a run exactly; without it one is drawn and kept in the evidence.
        secure: Draw from the secure samplers that releases use; slower, and no run is like another.
        again: Measure the event in this file of evidence on new trials. Evidence about a function of yours runs only
            if you name the same module:function, too.
        output: File for the evidence.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the finding as JSON.
    """
    if secure and seed is not None:
        raise ParameterError("--secure has no seed; leave --seed out")
    if (left is None) != (right is None):
        raise ParameterError("--left and --right are neighbours; give both, or neither")
    if not mechanism and again is None:
        raise ParameterError("name a mechanism such as laplace or mymodule:noisy_count, or evidence with --again")
    number = None if secure else secrets.randbits(32) if seed is None else seed
    how: dict[str, Any] = {
        "claim": claim,
        "delta": delta,
        "trials": bounded(trials, "--trials"),
        "confidence": confidence,
    }
    asked = {**how, "left": left, "right": right, "size": size, "seed": number}
    with Staging(force=force, inputs=[again]) as staging, steps(1) as step, listening(step.share):
        place = None if output is None else staging.place(output, secret=True)
        step("audit:")
        from sfumato.audit.epsilon.subjects import audit_mechanism, repeat_evidence
        from sfumato.random import SeededSource

        rng = None if number is None else SeededSource(number)
        if again is None:
            pair = None if left is None or right is None else (_parse_input(left), _parse_input(right))
            finding = audit_mechanism(mechanism, **how, pair=pair, size=size, rng=rng)
        else:
            finding = repeat_evidence(again, mechanism or None, rng=rng)
        if place is not None:
            write_evidence(place, [finding], "epsilon", [], {"mechanism": finding.evidence["mechanism"], **asked})
    return say([finding], json=json)


def _parse_input(text: str) -> Any:
    """Return an input written as JSON, or the word itself."""
    try:
        return json_text.loads(text)
    except json_text.JSONDecodeError:
        return text
