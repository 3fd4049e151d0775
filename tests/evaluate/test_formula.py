"""Regressions as they are written, and what is refused."""

from __future__ import annotations

import pytest

from sfumato.errors import ParameterError
from sfumato.evaluate.formula import Formula


@pytest.mark.parametrize(
    "text, target, terms",
    [
        ("income ~ age + sex", "income", ("age", "sex")),
        (" income~age ", "income", ("age",)),
        ("marital-status ~ hours per week+age", "marital-status", ("hours per week", "age")),
        ("`a+b` ~ `c ~ d` + e", "a+b", ("c ~ d", "e")),
    ],
)
def test_forms(text: str, target: str, terms: tuple[str, ...]) -> None:
    assert Formula.parse(text) == Formula(target, terms)
    assert Formula.parse(str(Formula.parse(text))) == Formula(target, terms)


@pytest.mark.parametrize(
    "text", ["", "income", "income ~", "~ age", "a ~ b ~ c", "a ~ b +", "a ~ + b", "a ~ `b", "a = b", "a ~ ``"]
)
def test_no_regression(text: str) -> None:
    with pytest.raises(ParameterError, match="is not a regression; write it like income ~ age"):
        Formula.parse(text)


@pytest.mark.parametrize("text", ["a ~ a", "a ~ b + b", "a ~ b + `b`"])
def test_a_column_named_twice(text: str) -> None:
    with pytest.raises(ParameterError, match="twice; name every column once"):
        Formula.parse(text)
