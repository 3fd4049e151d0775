"""Run in anonymeter's own environment: attack released rows and print the three risks, with their intervals, as JSON.

Called as `peer_anonymeter.py ORIGINAL RELEASED CONTROL SECRET...`: three Parquet files with the same columns and plain
values, and the columns that the inference attack guesses, each from all others.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

ATTACKS = 500
SEED = 1


def told(evaluator: Any, **how: str) -> dict[str, float]:
    """Return the risk beyond the control group, its interval, and the rates it comes from."""
    evaluator.evaluate(**how)
    found, risk = evaluator.results(), evaluator.risk()
    return {
        "risk": float(risk.value),
        "low": float(risk.ci[0]),
        "high": float(risk.ci[1]),
        "attack": float(found.attack_rate.value),
        "control": float(found.control_rate.value),
    }


def attacks(ori: pd.DataFrame, syn: pd.DataFrame, control: pd.DataFrame, secrets: list[str]) -> dict[str, Any]:
    """Return what each attack found; without a predicate that isolates a released row there is nothing to try."""
    names, count = list(ori.columns), min(len(ori), len(control))
    tables = {"ori": ori, "syn": syn, "control": control}
    found: dict[str, Any] = {}
    for mode in ("univariate", "multivariate"):
        evaluator = SinglingOutEvaluator(**tables, n_attacks=ATTACKS, n_cols=3, max_attempts=200_000, seed=SEED)
        try:
            found[f"singling out, {mode}"] = told(evaluator, mode=mode)
        except RuntimeError as nothing:
            found[f"singling out, {mode}"] = {"risk": 0.0, "why": str(nothing)}
    halves = (names[::2], names[1::2])
    found["linkability"] = told(LinkabilityEvaluator(**tables, aux_cols=halves, n_attacks=count))
    for secret in secrets:
        others = [name for name in names if name != secret]
        numeric = pd.api.types.is_numeric_dtype(ori[secret])
        evaluator = InferenceEvaluator(**tables, aux_cols=others, secret=secret, regression=numeric, n_attacks=count)
        found[f"inference of {secret}"] = told(evaluator)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.random.seed(SEED)  # noqa: NPY002  # pandas draws anonymeter's targets from the global generator
    original, released, outside = (pd.read_parquet(file) for file in sys.argv[1:4])
    start = time.perf_counter()
    risks = attacks(original, released, outside, sys.argv[4:])
    print(json.dumps({"seconds": time.perf_counter() - start, "risks": risks}))
