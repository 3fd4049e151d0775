"""Errors: one base, three exit codes, and hints that name only what exists."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import errors
from sfumato.errors import (
    BrokenPromiseError,
    BudgetExceeded,
    ParameterError,
    SfumatoError,
    UnavailableError,
    suggestion,
)

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, SfumatoError)]


def test_there_are_errors_to_test() -> None:
    assert len(KINDS) >= 7


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_leaves_with_two_and_a_broken_promise_with_one(kind: type[SfumatoError]) -> None:
    later = 75 if issubclass(kind, UnavailableError) else 2
    assert kind.exit_code == (1 if issubclass(kind, BrokenPromiseError | BudgetExceeded) else later)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not BudgetExceeded])
def test_the_sentence_is_what_a_person_reads(kind: type[SfumatoError]) -> None:
    assert str(kind("column 'age' is gone")) == "column 'age' is gone"


def test_a_parameter_error_can_be_caught_as_a_value_error() -> None:
    with pytest.raises(ValueError, match="k must be"):
        raise ParameterError("k must be at least 2")


@pytest.mark.parametrize(
    "name, known, hint",
    [
        ("Age", ["age", "sex"], "; did you mean 'age'?"),
        ("DISEASE", ["zip", "Disease"], "; did you mean 'Disease'?"),
        ("aeg", ["age", "sex"], "; did you mean 'age'?"),
        ("x", ["age", "sex"], "; there are 'age', 'sex'"),
        ("x", [], ""),
    ],
)
def test_hint(name: str, known: list[str], hint: str) -> None:
    assert suggestion(name, known) == hint


def test_a_long_list_of_names_is_cut_and_says_so() -> None:
    hint = suggestion("zzz", [f"q{number}" for number in range(40)])
    assert hint.count("'q") == 12
    assert hint.endswith(", …")


def test_two_names_that_differ_in_case_only_hint_at_the_first() -> None:
    assert suggestion("agee", ["age", "AGE"]) == "; did you mean 'age'?"


@given(name=st.text(max_size=12), known=st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=20))
def test_a_hint_names_a_known_name_or_all_of_them(name: str, known: list[str]) -> None:
    hint = suggestion(name, known)
    if hint.startswith("; did you mean"):
        assert any(hint == f"; did you mean '{candidate}'?" for candidate in known)
    elif known:
        assert hint.startswith("; there are ")
        assert all(f"'{candidate}'" in hint for candidate in known[:12])
    else:
        assert hint == ""
