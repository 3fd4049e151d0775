"""Classes are found by entry points, ours like anybody's; what cannot be used is said and stops nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sfumato import plugins
from sfumato.errors import ParameterError
from sfumato.models import Model
from sfumato.tabular import Anonymizer

Offer = Callable[[str, str, str], None]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Give a function that installs a package with one entry point in the group of anonymizers."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(package: str, name: str, value: str) -> None:
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[sfumato.anonymizers]\n{name} = {value}\n")
        forget()

    def forget() -> None:
        for cached in (plugins._offers, plugins._loaded):
            cached.cache_clear()

    yield install
    forget()


def test_every_name_that_we_offer_is_the_name_of_its_class() -> None:
    for name, kind in plugins.every("anonymizers", Anonymizer).items():
        assert kind.algorithm == name


@pytest.mark.parametrize("kind", list(plugins.KINDS))
def test_every_class_of_ours_can_be_used(kind: str) -> None:
    assert plugins.names(kind)
    assert plugins.failures(kind, object) == []


def test_a_name_is_found_without_loading_its_class(offer: Offer) -> None:
    offer("stranger", "grouping", "no_such_module_xyz:Grouping")
    assert plugins.names("anonymizers")[-1] == "grouping"
    assert "no_such_module_xyz" not in sys.modules


def test_a_class_that_cannot_be_loaded_stops_nothing_else(offer: Offer) -> None:
    offer("stranger", "grouping", "no_such_module_xyz:Grouping")
    assert "mondrian" in plugins.every("anonymizers", Anonymizer)
    (failure,) = plugins.failures("anonymizers", Anonymizer)
    assert "anonymizer 'grouping' of package 'stranger'" in str(failure)
    with pytest.raises(ParameterError, match="No module named 'no_such_module_xyz'; repair or uninstall"):
        plugins.find("anonymizers", "grouping", Anonymizer)


def test_a_class_of_another_kind_is_refused(offer: Offer) -> None:
    offer("stranger", "path", "pathlib:Path")
    with pytest.raises(ParameterError, match="pathlib:Path is no Anonymizer"):
        plugins.find("anonymizers", "path", Anonymizer)


def test_nobody_takes_a_name_of_ours_silently(offer: Offer) -> None:
    offer("stranger", "mondrian", "pathlib:Path")
    with pytest.raises(ParameterError, match="several packages offer this name \\('sfumato', 'stranger'\\)"):
        plugins.find("anonymizers", "mondrian", Anonymizer)


def test_a_wrong_name_is_answered_with_the_right_one() -> None:
    with pytest.raises(ParameterError, match="there is no model 'k-anonymty'; did you mean 'k-anonymity'"):
        plugins.find("models", "k-anonymty", Model)


def test_files_without_an_installed_package_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    plugins._offers.cache_clear()
    monkeypatch.setattr(plugins, "entry_points", lambda group: ())  # noqa: ARG005 - named as the library names it
    try:
        with pytest.raises(ParameterError, match="pip install sfumato"):
            plugins.names("models")
    finally:
        plugins._offers.cache_clear()
