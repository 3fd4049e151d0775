"""The command that shows what one row does to noisy answers on an anonymised table."""

from __future__ import annotations

from typing import Literal

from sfumato.cli.algorithms import ModelOptions, PlainAlgorithm, asked_models, partition_anonymizer
from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.options import MOST_RUNS, Flag, Input, RoleOptions, Whole, bounded
from sfumato.cli.progress import steps
from sfumato.core.files import Staging


def composition(
    table: Input,
    /,
    *,
    epsilon: float,
    roles: RoleOptions = RoleOptions(),
    models: ModelOptions = ModelOptions(),
    algorithm: PlainAlgorithm = "mondrian",
    reading: InputOptions = InputOptions(),
    query: Literal["inclusion", "overlap", "expected"] = "inclusion",
    answer: Literal["count", "sum", "mean"] = "count",
    trials: Whole = 1000,
    seed: Whole = 0,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Attack noisy answers on an anonymised table: drop one row, anonymise again, ask for what vanished.

    Finds a class of exactly k rows by itself, then drops and adds random rows, and reports the query that changes most,
    the ratio of densities and the least ε that the answers have. Exit code 1 if the claim is refuted.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input.
        epsilon: The ε that the noise is drawn for, and that is claimed.
        algorithm: How the table is anonymised.
        query: How generalised rows are counted: inside the query, touching it, or by the share inside.
        answer: What is asked for; sum and mean are of the first sensitive column of numbers.
        trials: How many random rows are dropped, and how many added.
        seed: Draws the rows that are dropped and added.
        output: File for the evidence, which names rows: the steward's, never published.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the finding as JSON.
    """
    from sfumato.audit import composition as attack
    from sfumato.core.progress import listening

    schema = reading.under(roles.build())
    asked, chosen = asked_models(models, schema), partition_anonymizer(algorithm)
    times, start = bounded(trials, "--trials", MOST_RUNS), seed or 0
    with Staging(force=force, inputs=[table, *roles.files(schema)]) as staging, steps(2) as step:
        place = None if output is None else staging.place(output, secret=True)
        step("reading")
        original = read_told(table, reading, schema)
        step("attacking")
        with listening(step.share):
            finding = attack(
                original, schema, asked, chosen, epsilon=epsilon, query=query, answer=answer, trials=times, seed=start
            )
        if place is not None:
            how = {"algorithm": algorithm, "models": [f"{model.name} {model.asked:g}" for model in asked]}
            write_evidence(place, [finding], "composition", [table], {**how, **finding.evidence["claim"]})
    return say([finding], json=json)
