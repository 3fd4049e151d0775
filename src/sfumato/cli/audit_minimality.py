"""The command that asks what somebody learns who knows the algorithm, from what it did not cut."""

from __future__ import annotations

from sfumato.cli.algorithms import AlgorithmOptions, ModelOptions, asked_models, chosen_anonymizer
from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.options import Flag, Input, RoleOptions, Whole
from sfumato.cli.progress import steps
from sfumato.core.files import Staging


def minimality(
    table: Input,
    /,
    *,
    roles: RoleOptions = RoleOptions(),
    models: ModelOptions = ModelOptions(),
    algorithm: AlgorithmOptions = AlgorithmOptions(),
    reading: InputOptions = InputOptions(),
    intake: IntakeOptions = IntakeOptions(),
    worlds: Whole = 20_000,
    seed: Whole = 0,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Attack an algorithm by what it did not cut: what does somebody learn who knows it and the quasi-identifiers?

    Puts the sensitive values of each class in other orders, runs the algorithm again, and keeps those worlds that give
    the same release. Exit code 1 if a model does not hold on what these worlds tell of a person.

    Args:
        table: File to read, with the options that `anonymize` was or will be given: CSV (also .gz), Excel, Parquet,
            JSON lines or Arrow; - is standard input.
        worlds: How many worlds are tried; if there are fewer, all of them, and the finding is exact.
        seed: Draws the worlds where there are more.
        output: File for the evidence, which names rows: the steward's, never published.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    from sfumato.audit import minimality as attack
    from sfumato.core.progress import listening

    schema = intake.declared(reading.under(roles.build()))
    chosen = chosen_anonymizer(algorithm)
    asked = asked_models(models, schema)
    most, start = 0 if worlds is None else worlds, seed or 0
    with Staging(force=force, inputs=[table, *roles.files(schema)]) as staging, steps(2) as step:
        place = None if output is None else staging.place(output, secret=True)
        step("reading")
        original = chosen.take_in(read_told(table, reading, schema), schema)
        intake.stage(staging, original.intake)
        step("attacking")
        with listening(step.share):
            findings = attack(original, schema, asked, chosen, worlds=most, seed=start)
        if place is not None:
            how = {"algorithm": chosen.algorithm, "models": [f"{model.name} {model.asked:g}" for model in asked]}
            write_evidence(place, findings, "minimality", [table], {**how, "worlds": most, "seed": start})
    intake.say(original.intake, chosen.fate)
    return say(findings, json=json)
