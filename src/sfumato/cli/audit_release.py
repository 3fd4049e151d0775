"""The command that attacks a release from its card alone: everything that applies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.options import Flag, Whole, bounded
from sfumato.cli.progress import steps
from sfumato.core.files import Staging
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.audit import Original

ATTACKS = 500
TRIALS = 20_000


def release(
    card: Annotated[Path, Parameter(name="CARD")],
    path: Annotated[Path | None, Parameter(name="RELEASE")] = None,
    /,
    *,
    original: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    schema: Path | None = None,
    control: Path | None = None,
    reading: InputOptions = InputOptions(),
    attacks: Whole = ATTACKS,
    trials: Whole = TRIALS,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Attack a release from its card alone: the file, its measures, its models, its noise, its columns.

    With the original rows, all released columns of a table are attacked: singling out, linkability and inference, each
    beside a control group. Exit code 1 if a claim is refuted; a claim that cannot be attacked says so in one sentence.

    Args:
        card: The public card, as it lies beside the release.
        path: The released file; not needed for a card that stands alone, as that of a mean does.
        original: The rows that a table was made from; what is then found is the steward's.
        schema: TOML file with the roles and types of the original; without it the card tells the roles.
        control: People of the same kind who are not in the data; without it everybody is attacked once more as if
            their own row had not been released.
        attacks: How many people each attack on the columns tries.
        trials: How often a named mechanism is run on made-up inputs.
        output: File for the evidence; with the original, the steward's.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    from sfumato.audit import release as attack
    from sfumato.core.progress import listening

    runs = TRIALS if trials is None else bounded(trials, "--trials")
    with Staging(force=force, inputs=[card, path, original, schema, control]) as staging, steps(2) as step:
        place = None if output is None else staging.place(output, secret=True)
        step("reading")
        beside = _original(original, schema, control, reading, ATTACKS if attacks is None else attacks)
        step("attacking")
        with listening(step.share):
            findings = attack(card, path, original=beside, trials=runs)
        if place is not None:
            files = [file for file in (card, path, original, schema, control) if file is not None]
            write_evidence(place, findings, "release", files, {"trials": runs, "attacks": attacks})
    return say(findings, json=json)


def _original(
    original: Path | None, schema: Path | None, control: Path | None, reading: InputOptions, attacks: int
) -> Original | None:
    """Return what the steward has beside the release; a schema or a control group alone is refused."""
    if original is None:
        for name, given in (("--schema", schema), ("--control", control)):
            if given is not None:
                raise ParameterError(f"{name} tells of the original rows; name them with --original")
        return None
    from sfumato.audit import Original
    from sfumato.schema import Schema

    declared = None if schema is None else reading.under(Schema.from_toml(schema))
    group = None if control is None else read_told(control, reading, declared)
    return Original(read_told(original, reading, declared), declared, group, attacks)
