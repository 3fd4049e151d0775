"""The command that attacks stream publishers on made-up records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sfumato import plugins
from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.options import MOST_RUNS, Flag, Whole, bounded
from sfumato.cli.progress import steps
from sfumato.core.files import Staging

if TYPE_CHECKING:
    Named = str
else:
    Named = Literal[plugins.names("publishers")]


def stream(
    *,
    publisher: Named,
    epsilon: float = 1.0,
    neighbours: Literal["replacement", "add-remove"] = "replacement",
    delay: Whole = 100,
    records: Whole = 1000,
    streams: Whole = 100,
    trials: Whole = 2000,
    confidence: float = 0.999,
    seed: Whole = None,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Attack a stream publisher: guess its records, compare equal values, watch sizes and times, weigh the values.

    Records are drawn from a declared distribution, never from real data, so the finding may be published. Exit code 1
    if a claim is refuted. Not refuted is not proven.

    Args:
        publisher: The algorithm; castle promises no ε at all and is shown for comparison.
        epsilon: The ε that the publisher is made for, and that is claimed.
        neighbours: What the claim hides: the value of one record, or that it is there at all.
        delay: The most records held back, or the window's size.
        records: Records in each stream whose records are guessed.
        streams: Streams that fix the predictor, and as many fresh ones that it is tried on.
        trials: Runs on each of two neighbouring streams for the other attacks.
        confidence: How sure each bound is.
        seed: Repeats a run exactly; without it one is drawn and kept in the evidence.
        output: File for the evidence.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    import secrets

    from sfumato.audit import stream as attack
    from sfumato.audit.stream import named_publisher
    from sfumato.core.progress import listening
    from sfumato.random import SeededSource

    start = secrets.randbits(32) if seed is None else seed
    counts = {"records": records, "streams": streams, "trials": trials}
    asked = {name: bounded(count, f"--{name}", MOST_RUNS) for name, count in counts.items()} | {
        "confidence": confidence
    }
    with Staging(force=force) as staging, steps(1) as step:
        place = None if output is None else staging.place(output, secret=True)
        step("attacking")
        with listening(step.share):
            findings = attack(
                named_publisher(publisher, epsilon, delay or 0),
                claim=epsilon,
                neighbours=neighbours,
                rng=SeededSource(start),
                **asked,  # type: ignore[arg-type]  # each is what its name asks for
            )
        if place is not None:
            how = {"publisher": publisher, "epsilon": epsilon, "neighbours": neighbours, "delay": delay, "seed": start}
            write_evidence(place, findings, "stream", [], {**how, **asked})
    return say(findings, json=json)
