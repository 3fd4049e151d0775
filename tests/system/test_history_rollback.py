"""A history that was rolled back, changed or added to is refused in one sentence, and nothing is published."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sfumato.cli.main import run
from sfumato.core.files import state_folder
from sfumato.tabular.republication.index import Index, sha256

ROLES = ["--quasi", "age", "--sensitive", "ill", "--k", "2", "--l", "2"]
Change = Callable[[Path, Path], object]


def publish(name: str, history: str = "series") -> int:
    return run(["republish", "in.csv", "--history", history, "-o", name, *ROLES])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a history of two releases, and a copy of it as it was after the first."""
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("age,ill\n" + "".join(f"{20 + row},{'ab'[row % 2]}\n" for row in range(8)))
    assert publish("one.csv") == 0
    shutil.copytree("series", "backup")
    assert publish("two.csv") == 0
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], history: str = "series") -> str:
    """Publish once more, which must be refused without a trace; return the sentence."""
    capsys.readouterr()
    kept = {path: path.read_bytes() for path in Path(history).iterdir() if not path.name.startswith(".")}
    code = publish("three.csv", history)
    out, err = capsys.readouterr()
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert "internal error" not in err
    assert not Path("three.csv").exists()
    assert {path: path.read_bytes() for path in Path(history).iterdir() if not path.name.startswith(".")} == kept
    return err


def edited(series: Path, **changes: object) -> None:
    """Change the newest release in an index and compute every hash anew, as somebody with care would."""
    index = msgspec.json.decode((series / "index.json").read_bytes(), type=Index)
    last = msgspec.structs.replace(index.releases[-1], **changes)
    forged = msgspec.structs.replace(index, releases=(*index.releases[:-1], last)).sealed()
    (series / "index.json").write_bytes(msgspec.json.encode(forged))


def rolled_back(series: Path, backup: Path) -> None:
    """Put the older index into the folder of two releases."""
    shutil.copy(backup / "index.json", series / "index.json")


def cut_back(series: Path, backup: Path) -> None:
    """Put the older index in and take the files of the newer release away."""
    rolled_back(series, backup)
    for file in series.glob("*-0002*"):
        file.unlink()


def restored(series: Path, backup: Path) -> None:
    """Put the whole folder back to what it was after the first release."""
    shutil.rmtree(series)
    shutil.copytree(backup, series)


def emptied(series: Path, backup: Path) -> None:
    """Begin anew in a folder of the same name."""
    del backup
    shutil.rmtree(series)
    series.mkdir()


def replaced(series: Path, backup: Path) -> None:
    """Replace a release and its hash in the index, and seal it."""
    del backup
    content = (series / "release-0002.csv").read_bytes().replace(b",a\n", b",b\n")
    (series / "release-0002.csv").write_bytes(content)
    index = json.loads((series / "index.json").read_text())
    edited(series, files={**index["releases"][-1]["files"], "release-0002.csv": sha256(content)})


CHANGES: dict[str, tuple[Change, str]] = {
    "index rolled back": (rolled_back, "has 1 releases and had 2 when it was last used: it was rolled back; restore"),
    "index and files rolled back": (cut_back, "has 1 releases and had 2 when it was last used"),
    "folder restored from a backup": (restored, "has 1 releases and had 2 when it was last used"),
    "folder emptied": (emptied, "is not the series of 2 releases that this folder had when it was last used"),
    "release replaced": (
        lambda series, _: (series / "release-0001.csv").write_text("age,ill\n1,a\n1,b\n"),
        "'release-0001.csv' is not what was recorded",
    ),
    "release replaced, index sealed": (replaced, "has other releases than it had when it was last used"),
    "release removed": (
        lambda series, _: (series / "release-0001.statement.txt").unlink(),
        "'release-0001.statement.txt' cannot be read: No such file or directory; restore it from a backup",
    ),
    "release added": (
        lambda series, _: shutil.copy(series / "release-0001.csv", series / "release-0003.csv"),
        "has 'release-0003.csv', which its index.json does not name",
    ),
    "promise edited": (
        lambda series, _: (series / "index.json").write_text(
            (series / "index.json").read_text().replace('"ill": 2', '"ill": 1')
        ),
        "index.json is not what was recorded",
    ),
    "promise edited, index sealed": (
        lambda series, _: edited(series, least={"ill": 1}),
        "has other releases than it had when it was last used",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_history_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], change: str) -> None:
    act, said = CHANGES[change]
    act(folder / "series", folder / "backup")
    found = refused(capsys)
    assert said in found
    assert "restore" in found


def test_an_index_rolled_back_by_one_is_noticed_without_the_users_state(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another machine, or for another user, nothing is kept outside; the files of the newer release are there."""
    rolled_back(folder / "series", folder / "backup")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "elsewhere"))
    assert "has 'release-0002.card.json', which its index.json does not name" in refused(capsys)


def test_a_copy_that_went_on_by_itself_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(folder / "series", folder / "copy")
    assert publish("copied.csv", "copy") == 0
    assert "has 2 releases and had 3 when it was last used" in refused(capsys)


def test_a_folder_may_be_moved_and_two_series_lie_beside_each_other(folder: Path) -> None:
    (folder / "series").rename(folder / "moved")
    assert publish("three.csv", "moved") == 0
    assert publish("other.csv", "others") == 0
    assert publish("four.csv", "moved") == 0


def test_what_is_kept_outside_is_the_owners_and_names_nobody(folder: Path) -> None:
    [kept] = (state_folder() / "histories").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    said = json.loads(kept.read_text())
    index = json.loads((folder / "series" / "index.json").read_text())
    assert said["head"] == f"2:{index['releases'][1]['link']}"
    assert index["series"] not in kept.name + kept.read_text()


def test_a_damaged_standing_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    [kept] = (state_folder() / "histories").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b'"2:', b'"1:'))
    assert "which says where a series stood when it was last used, is damaged" in refused(capsys)


def test_where_nothing_can_be_kept_outside_the_steward_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder.exists()
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    capsys.readouterr()
    assert publish("three.csv") == 0
    assert "nobody will notice if history 'series' is replaced by an older copy" in capsys.readouterr().out


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_index_goes_on_and_is_chained(folder: Path, version: int) -> None:
    """Histories of earlier versions have no chain; they get one with the next release."""
    file = folder / "backup" / "index.json"
    index = json.loads(file.read_text())
    for entry in index["releases"]:
        del entry["link"]
    old: dict[str, object] = {"version": version, "releases": index["releases"]}
    if version == 2:
        old["sha256"] = sha256(msgspec.json.encode(index["releases"]))
    file.write_text(json.dumps(old))
    assert publish("three.csv", "backup") == 0
    found = json.loads(file.read_text())
    assert (found["version"], len(found["releases"])) == (3, 2)
    assert all(entry["link"] for entry in found["releases"])
    assert publish("four.csv", "backup") == 0


def test_an_older_index_in_the_place_of_a_newer_one_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index from before there were chains names no series, but the folder is known."""
    (folder / "series" / "index.json").write_text('{"version": 1, "releases": []}')
    assert "is not the series of 2 releases" in refused(capsys)
