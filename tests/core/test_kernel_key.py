"""The hash of a kernel: another one when anything changes that is compiled into it, the same one otherwise."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import types
from numba.core.dispatcher import Dispatcher

import sfumato
from sfumato.core.kernel_key import kernel_key

PROGRAM = """
from typing import NamedTuple
import numpy as np
from sfumato.core.kernel import inlined, kernel

STEPS = 3
ALLOWED = (1, 2.5, "x")

class Box(NamedTuple):
    low: int
    high: int

@inlined
def widen(box, by):
    return Box(box.low - by, box.high + by)

@kernel
def grown(box, times=STEPS):
    for _ in range(times):
        if times in ALLOWED or times in {4, 5}:
            box = widen(box, STEPS)
    return np.int64(box.high)
"""


def declared(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "made_up"}
    exec(program, names)  # noqa: S102 - as if the file had been edited
    return names


def key_of(program: str) -> str:
    return kernel_key(declared(program)["grown"], (), "a machine")


def test_a_comment_changes_nothing() -> None:
    assert key_of(PROGRAM) == key_of("# a comment\n\n" + PROGRAM)


@pytest.mark.parametrize(
    "before, after",
    [
        ("STEPS = 3", "STEPS = 4"),
        ("2.5", "2.25"),
        ("high: int", "top: int\n    high: int"),
        ("Box", "Room"),
        ("box.low - by", "box.low + by"),
        ("@inlined", "@kernel"),
        ("np.int64", "np.float64"),
        ("{4, 5}", "{4, 6}"),
        ("def widen(box, by)", "def widen(box, by=2)"),
    ],
)
def test_a_change_anywhere_in_what_is_compiled_changes_the_hash(before: str, after: str) -> None:
    assert key_of(PROGRAM) != key_of(PROGRAM.replace(before, after))


def test_types_of_the_arguments_the_machine_and_numba_s_settings_count(monkeypatch: pytest.MonkeyPatch) -> None:
    names = declared(PROGRAM)
    grown, boxes = names["grown"], (names["Box"], declared(PROGRAM.replace("low", "bottom"))["Box"])
    tuples: list[Any] = [types.NamedUniTuple(types.int64, 2, box) for box in boxes]  # type: ignore[no-untyped-call]
    signatures = [(kind,) for kind in (types.int64, types.int32, *tuples)]
    keys = [kernel_key(grown, signature, "a machine") for signature in signatures]
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")  # as --threads does
    assert kernel_key(grown, signatures[0], "a machine") == keys[0]  # it says nothing of how kernels are compiled
    keys.append(kernel_key(grown, signatures[0], "another machine"))
    monkeypatch.setenv("NUMBA_OPT", "1")
    keys.append(kernel_key(grown, signatures[0], "a machine"))
    assert len(set(keys)) == len(keys)


def kernels() -> Iterator[tuple[str, Dispatcher]]:
    for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
        if module.name.endswith("kernel") and module.name != "sfumato.core.kernel":
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == module.name:
                    yield f"{module.name}.{name}", value


def test_every_kernel_can_be_kept_and_no_two_share_a_hash() -> None:
    keys = {name: kernel_key(kernel, (), "a machine") for name, kernel in kernels()}
    assert len(keys) > 100
    assert len(set(keys.values())) == len(keys)


def test_another_process_finds_the_same_hash(tmp_path: Path) -> None:
    (tmp_path / "made_up.py").write_text(PROGRAM)
    program = (
        "import made_up\nfrom sfumato.core.kernel_key import kernel_key\nprint(kernel_key(made_up.grown, (), 'here'))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == kernel_key(declared(PROGRAM)["grown"], (), "here")
