"""Compiled kernels between processes: kept where only we can write, made again where damaged, never in the way."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest

from sfumato.core import kernel, kernel_cache
from sfumato.core.compiling import Compiling
from sfumato.core.files.sealed_store import HALF, HALF_OLDEST, OLDEST, SEALED, SealedStore
from sfumato.core.private_folder import cache_place, private_folder
from sfumato.errors import InputError

FIRST = "compiling for the first use on this machine; later commands start at once"
Said = Callable[..., list[str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    """Return a function that runs a kernel as a new process would, and returns what is said of compiling."""

    def run(place: Path | str, *, listening: bool = True) -> list[str]:
        news, heard = Compiling(), list[str]()
        monkeypatch.setattr(kernel_cache, "COMPILING", news)
        monkeypatch.setattr(kernel, "COMPILING", news)
        monkeypatch.setenv("SFUMATO_CACHE", str(place))
        monkeypatch.setattr(kernel_cache, "open_store", cache(kernel_cache.open_store.__wrapped__))
        with news.told(heard.append) if listening else nullcontext():
            assert kernel.kernel(twice)(21) == 42
        return heard

    return run


def twice(number: int) -> int:
    return 2 * number


def test_what_was_compiled_is_loaded_and_a_damaged_entry_is_made_again(tmp_path: Path, said: Said) -> None:
    place = tmp_path / "deep" / "kernels"
    assert said(place) == [FIRST]
    assert said(place) == []
    (entry,) = place.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (place, entry)] == [0o700, 0o600]
    whole = entry.read_bytes()
    for length in (0, 1, len(SEALED), len(SEALED) + 31, len(whole) // 2, len(whole) - 1):
        entry.write_bytes(whole[:length])
        assert said(place) == [FIRST]
        assert said(place) == []
    for flipped in (3, len(SEALED) + 3, len(whole) // 2, len(whole) - 1):
        entry.write_bytes(whole[:flipped] + bytes([whole[flipped] ^ 4]) + whole[flipped + 1 :])
        assert said(place) == [FIRST]
        assert said(place) == []


@pytest.mark.parametrize("place", ["relative", "~/.cache", "/dev/null/kernels", "/proc/kernels"])
def test_a_place_that_cannot_be_used_is_said_once(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    (sentence,) = said(place)
    assert sentence.startswith("compiling, and the next command will compile again: ")
    assert place in sentence
    assert not list(tmp_path.iterdir())


class Plant:
    """Makes a folder when it is unpickled."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return os.mkdir, (self.sign,)


def test_a_planted_pickle_is_not_run(tmp_path: Path, said: Said) -> None:
    place, sign = tmp_path / "kernels", tmp_path / "ran"
    said(place)
    (entry,) = place.iterdir()
    entry.write_bytes(pickle.dumps(Plant(sign)))  # without a seal, even by ourselves
    assert said(place) == [FIRST]
    SealedStore(place).write(entry.stem, pickle.dumps(Plant(sign)))
    place.chmod(0o770)  # with a seal, by somebody who may write there
    assert "can be written by other users" in said(place)[0]
    assert not sign.exists()
    place.chmod(0o700)
    assert said(place) == [FIRST]
    assert sign.exists()  # so the plant would have grown


def test_an_entry_that_cannot_be_loaded_is_thrown_away(tmp_path: Path, said: Said) -> None:
    place = tmp_path / "kernels"
    said(place)
    (entry,) = place.iterdir()
    SealedStore(place).write(entry.stem, pickle.dumps(("neither", "this")))
    assert said(place) == [FIRST]
    assert said(place) == []


def test_the_place_follows_the_environment_and_then_the_password_database(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")
    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    kept = Path("sfumato", "kernels")
    assert cache_place({"SFUMATO_CACHE": "/a/b", "XDG_CACHE_HOME": "/c"}) == Path("/a/b")
    assert cache_place({"XDG_CACHE_HOME": "/c", "HOME": "/d"}) == "/c" / kept
    for elsewhere in ({}, {"HOME": "/d"}, {"HOME": "here"}, {"XDG_CACHE_HOME": "here"}):
        assert cache_place(elsewhere) == home / ".cache" / kept

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache_place({"HOME": "/d"}) == "/d/.cache" / kept
    for nowhere in ({}, {"HOME": "~"}, {"HOME": ""}):
        with pytest.raises(InputError, match="no home folder"):
            cache_place(nowhere)


def test_a_folder_that_others_could_fill_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(InputError, match=r"shared' on the way to it can be written by other users"):
        private_folder(shared / "kernels")
    assert not list(shared.iterdir())
    shared.chmod(0o1777)
    assert private_folder(shared / "kernels") == shared / "kernels"
    link = tmp_path / "link"
    link.symlink_to(shared / "kernels")
    assert private_folder(link) == shared / "kernels"
    for mode in (0o720, 0o702):
        (shared / "kernels").chmod(mode)
        with pytest.raises(InputError, match="can be written by other users"):
            private_folder(link)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder to another user")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs" / "kernels").mkdir(parents=True)
    os.chown(tmp_path / "theirs", 65534, 65534)
    with pytest.raises(InputError, match=r"theirs' on the way to it belongs to another user"):
        private_folder(tmp_path / "theirs" / "kernels")
    with pytest.raises(InputError, match="belongs to another user"):
        private_folder(tmp_path / "theirs")


def test_links_in_a_circle_and_a_file_in_the_way_are_refused(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "file").touch()
    for name in ("round", "file"):
        with pytest.raises(InputError, match="cannot be"):
            private_folder(tmp_path / name)


def test_a_store_keeps_the_last_used_and_leaves_other_files_alone(tmp_path: Path) -> None:
    store, now = SealedStore(tmp_path), 1e9
    ages = {"old": OLDEST + 1, "a": 300.0, "b": 200.0, "c": 100.0}
    for name, age in ages.items():
        store.write(name, bytes(1000))
        os.utime(store.path(name), (now - age, now - age))
    for name, age in ((f"{HALF}1", HALF_OLDEST + 1), (f"{HALF}2", 1.0), ("thesis.tex", 1e9)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - age, now - age))
    size = store.path("a").stat().st_size
    store.tidy(most=2 * size, now=now)
    assert {path.name for path in tmp_path.iterdir()} == {"b.kernel", "c.kernel", f"{HALF}2", "thesis.tex"}


def test_a_use_is_noted_so_that_what_is_used_stays(tmp_path: Path) -> None:
    store = SealedStore(tmp_path)
    store.write("a", b"x")
    os.utime(store.path("a"), (1e9, 1e9))
    assert store.read("a") == b"x"
    assert store.path("a").stat().st_mtime > 1e9


def test_a_full_disk_costs_a_sentence_and_leaves_no_half_file(tmp_path: Path, said: Said) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        first, second = said(tmp_path / "kernels")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert first == FIRST
    assert second.startswith("what was compiled is not kept, and the next command will compile again: ")
    assert not list((tmp_path / "kernels").iterdir())


def test_a_program_without_a_listener_gets_a_warning(said: Said) -> None:
    with pytest.warns(RuntimeWarning, match="^sfumato: compiling, and the next command will compile again: "):
        said("relative", listening=False)
