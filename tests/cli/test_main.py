"""Every command is listed with its own first sentence, though none is loaded for the list."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from sfumato.cli.main import COMMANDS


@pytest.mark.parametrize("typed", list(COMMANDS))
def test_the_list_shows_the_first_sentence_of_a_command(typed: str) -> None:
    place, words = COMMANDS[typed]
    module, _, function = place.partition(":")
    documented = inspect.getdoc(getattr(import_module(f"sfumato.cli.{module}"), function))
    assert documented is not None
    assert " ".join(documented.partition("\n\n")[0].split()) == words
