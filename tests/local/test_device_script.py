"""The JavaScript module as it is shipped: one source in the checkout, in the wheel and in the npm package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.local import javascript

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"
INSIDE = f"sfumato/local/{javascript.NAME}"


def build(kind: str, folder: Path) -> zipfile.ZipFile:
    """A wheel of this checkout."""
    code = f"import sys, hatchling.build; print(hatchling.build.build_{kind}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return zipfile.ZipFile(folder / done.stdout.split()[-1])


def test_the_wheel_holds_the_package_and_the_module(tmp_path: Path) -> None:
    with build("wheel", tmp_path) as wheel:
        assert wheel.read(INSIDE) == (CLIENT / javascript.NAME).read_bytes()
        held = {name for name in wheel.namelist() if name.startswith("sfumato/")} - {INSIDE}
    told = subprocess.run(["git", "ls-files", "src/sfumato"], cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode == 0:  # a checkout
        assert {name.removeprefix("src/") for name in told.stdout.splitlines()} <= held


def test_an_editable_install_has_no_copy_that_grows_old(tmp_path: Path) -> None:
    with build("editable", tmp_path) as wheel:
        assert [name for name in wheel.namelist() if name.startswith("sfumato/")] == []


def test_the_module_beside_the_package_is_read_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sf.local.device_script() == (CLIENT / javascript.NAME).read_bytes()
    (tmp_path / javascript.NAME).write_bytes(b"// installed")
    monkeypatch.setattr(javascript, "__file__", str(tmp_path / "javascript.py"))
    assert sf.local.device_script() == b"// installed"


def test_the_npm_package_has_the_module_alone_and_our_version() -> None:
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))
    assert package["version"] == sf.__version__
    assert {"dependencies", "devDependencies", "peerDependencies"}.isdisjoint(package)
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm, which lists the package's files, is not on this machine")
    told = subprocess.run([npm, "pack", "--dry-run", "--json"], cwd=CLIENT, capture_output=True, text=True, check=True)
    files = {file["path"] for file in json.loads(told.stdout)[0]["files"]}
    assert files == {"README.md", "package.json", javascript.NAME}
    source = (CLIENT / javascript.NAME).read_text("utf-8")
    assert (
        re.search(r"^import\b|\b(import|require|eval|Function|fetch)\(|Math\.random", source, flags=re.MULTILINE)
        is None
    )
