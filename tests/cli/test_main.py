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


def test_a_search_of_a_lattice_tells_how_far_it_is() -> None:
    import sfumato as sf
    from sfumato.core.progress import listening

    heard: list[tuple[float, str]] = []
    schema = sf.Schema.from_roles(quasi=["age", "sex"], other="drop")
    people = sf.Table.from_frame(sf.samples.patients(60))
    with listening(lambda share, note: heard.append((share, note))):
        sf.Incognito().anonymize(people, schema, [sf.KAnonymity(5)])
        sf.Optimal().anonymize(people, schema, [sf.KAnonymity(5)])
    assert (0.0, "0 of 3 sets of columns") in heard
    assert any(note.endswith("nodes") for _, note in heard)
    assert all(0 <= share <= 1 for share, _ in heard)
