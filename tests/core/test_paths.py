"""Two names of one file are found, whatever leads to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.core.files import refuse_inside, refuse_same_files
from sfumato.errors import InputError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("x")
    Path("sub").mkdir()
    Path("linked").symlink_to("sub")
    return tmp_path


def point_nowhere(name: str) -> None:
    Path(name).symlink_to("new")


WAYS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "the same name": (lambda _: None, "there", "there"),
    "a dot": (lambda _: None, "there", "./there"),
    "an absolute name": (lambda _: None, "there", "HERE/there"),
    "up and down": (lambda _: None, "there", "sub/../there"),
    "a symbolic link": (lambda _: Path("soft").symlink_to("there"), "there", "soft"),
    "a hard link": (lambda _: os.link("there", "hard"), "there", "hard"),
    "not there yet": (lambda _: None, "new", "./new"),
    "not there yet, in a linked folder": (lambda _: None, "sub/new", "linked/new"),
    "a dangling link": (lambda _: Path("soft").symlink_to("new"), "new", "soft"),
    "two dangling links": (lambda _: list(map(point_nowhere, "ab")), "a", "b"),
    "not even a folder": (lambda _: None, "none/new", "none/./new"),
}


@pytest.mark.parametrize("way", WAYS)
def test_one_file_under_two_names_is_refused(here: Path, way: str) -> None:
    make, one, other = WAYS[way]
    make(here)
    named = {
        "the input": Path("-"),
        "the output": Path(one),
        "the card": Path(other.replace("HERE", str(here))),
        "report": None,
    }
    with pytest.raises(InputError, match=r"^'.*' is both the output and the card; name two files$"):
        refuse_same_files(named)


def test_different_files_pass() -> None:
    Path("copy").write_text("x")
    refuse_same_files({"input": Path("there"), "output": Path("copy"), "card": Path("sub/there"), "a": Path("-")})
    refuse_same_files({"a": Path("-"), "b": Path("-"), "c": Path("none/x"), "d": Path("none/y")})


def test_a_loop_of_links_and_a_name_that_is_none_are_for_others_to_refuse() -> None:
    Path("a").symlink_to("b")
    Path("b").symlink_to("a")
    refuse_same_files({"input": Path("a"), "output": Path("x\0y"), "card": Path("n" * 300)})


@pytest.mark.parametrize("path", ["sub/x", "linked/x", "sub/deep/x", "sub/./checkpoint"])
def test_nothing_lies_in_a_kept_folder(path: str) -> None:
    for folder in ("sub", "linked"):
        with pytest.raises(InputError, match=r"^'.*', output, lies in checkpoint"):
            refuse_inside("checkpoint", Path(folder), {"input": Path("there"), "output": Path(path)})
    refuse_inside("checkpoint", None, {"output": Path(path)})
    refuse_inside("checkpoint", Path("other"), {"output": Path(path)})
