"""Values that mark a row by themselves: nearly unique columns, a number far from all others, a pattern of gaps.

A passed-on value that occurs once isolates one row of the release and so one person (WP216, 2014: singling out);
extreme values are the ones that sdcMicro and mu-Argus code at the top (Hundepool et al. 2012, section 3.2).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.audit.gate.file.passed import Passed, PassedColumn, told
from sfumato.audit.gate.remedy import shared_step
from sfumato.audit.gate.risk import THRESHOLD, wilson
from sfumato.core.cells import MISSING_MARKS
from sfumato.release import Finding
from sfumato.schema import Role

FEWEST_NUMBERS = 20


def mark_findings(passed: Passed) -> list[Finding]:
    """Return whether passed-on values mark rows."""
    return [_unique_finding(passed), _extreme_finding(passed), _gaps_finding(passed)]


def _unique_finding(passed: Passed) -> Finding:
    """Return whether a column has so many values that occur once that its rows are singled out."""
    once = {column.name: int(column.once.sum()) for column in passed.columns}
    blamed = [column for column in passed.columns if wilson(once[column.name], passed.rows)[0] > THRESHOLD]
    blamed.sort(key=lambda column: -once[column.name])
    evidence = {"rows whose value occurs once": once, "threshold": THRESHOLD}
    claim = f"no passed-on column marks its rows (values that occur once: at most {THRESHOLD:.0%} of rows)"
    if not blamed:
        return told(claim, None, evidence, "")
    shares = ", ".join(f"'{column.name}' {once[column.name] / passed.rows:.0%}" for column in blamed)
    evidence["columns to blame"] = [column.name for column in blamed]
    return told(claim, f"rows marked by a value that occurs once: {shares}", evidence, _remedy(blamed[0]))


def _remedy(column: PassedColumn) -> str:
    step = shared_step(column.numbers) if len(column.numbers) else None
    if len(column.numbers) and column.role == Role.SENSITIVE:
        how = "" if step is None else f" to multiples of {step:g}"
        return f"round '{column.name}'{how}, band or microaggregate it, or drop it"
    return f"drop '{column.name}' (declare it an identifier), declare it quasi, or put its values into groups"


def _extreme_finding(passed: Passed) -> Finding:
    """Return whether a number that occurs once lies farther from all others than nearly all of them from each other."""
    claim = "no passed-on number stands far from all others"
    for column in passed.columns:
        numbers = np.sort(column.numbers)
        if len(numbers) < FEWEST_NUMBERS:
            continue
        span = float(np.diff(np.quantile(numbers, [0.01, 0.99]))[0])
        gaps = {"highest": numbers[-1] - numbers[-2], "lowest": numbers[1] - numbers[0]}
        for side, gap in gaps.items():
            if gap > span > 0:
                reason = f"the {side} value of '{column.name}' is farther from the next than most are from each other"
                words = f"code '{column.name}' at the {'top' if side == 'highest' else 'bottom'}, or band it"
                return told(claim, reason, {"column": column.name, "columns to blame": [column.name]}, words)
    return told(claim, None, {"columns": [column.name for column in passed.columns if len(column.numbers)]}, "")


def _gaps_finding(passed: Passed) -> Finding:
    """Return whether rows are marked by which of their cells are missing."""
    claim = "which cells are missing marks no rows"
    gaps = [column.texts.is_null() | column.texts.is_in(MISSING_MARKS) for column in passed.columns]
    some = [gap for gap in gaps if gap.any()]
    if not some:
        return told(claim, None, {"columns with missing cells": 0}, "")
    frame = pl.DataFrame([gap.rename(str(place)) for place, gap in enumerate(some)])
    once = int(frame.is_unique().sum())
    reason = None
    if wilson(once, passed.rows)[0] > THRESHOLD:
        reason = f"{once} of {passed.rows} rows have a pattern of missing cells that no other row has"
    return told(claim, reason, {"rows alone with their pattern": once}, "fill missing cells in, or drop such columns")
