"""Addresses of brokers at the command line: what is refused in one sentence, and no password shown or kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from flips import say

NOWHERE = "127.0.0.1:1"  # nobody listens there
SECRET = [
    f"redis://ana:geheim@{NOWHERE}/rides",
    f"rediss://ana:geheim@{NOWHERE}/rides",
    f"redis://{NOWHERE}/rides?password=geheim",
    f"redis://{NOWHERE}/rides?pass%77ord=geheim",
    f"redis://{NOWHERE}/rides#password=geheim",
    f"postgresql://ana:geheim@{NOWHERE}/city#rides",
    f"postgresql://{NOWHERE}/city?sslpassword=geheim#rides",
]
REFUSED = {
    f"redis://{NOWHERE}/rides": "cannot be reached",
    f"rediis://{NOWHERE}/rides": "there is no connector 'rediis'; did you mean 'redis'?",
    f"redis://{NOWHERE}": "names no Redis stream; give redis://",
    f"redis://{NOWHERE}/rides?fromat=csv": "did you mean 'format'?",
    f"redis://{NOWHERE}/rides?records=many": "give an integer from 1 to 100000",
    f"redis://{NOWHERE}/rides?columns=hours": "columns are named for csv",
    f"redis://{NOWHERE}/rides?password-file=none": "password file 'none' cannot be read",
    f"rediss://{NOWHERE}/rides?ca=none": "there is no file 'none' for ca",
    f"postgresql://{NOWHERE}/city": "names no table",
    f"postgresql://{NOWHERE}/city#rides": "cannot be reached",
}
OPTIONS = ["--column", "hours", "--bounds", "0", "9"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in.csv").write_text("hours\n1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(folder: Path, *arguments: str) -> str:
    """Return the one sentence of a stream that is refused and leaves no row, card or checkpoint."""
    said = say("stream", *arguments, *OPTIONS)
    assert said.code == (75 if "cannot be reached" in said.err else 2)  # somebody may answer there later
    assert said.err.count("\n") == 1
    left = [file for file in folder.rglob("*") if file.is_file() and file.name not in {"in.csv", ".lock"}]
    assert left == []
    return said.err


@pytest.mark.parametrize("address", SECRET)
def test_a_password_in_an_address_is_refused_without_being_shown(folder: Path, address: str) -> None:
    kept = ["--checkpoint", "kept", "--card", "card.json"]
    for places in ([address, "-o", "out.csv"], ["in.csv", "-o", address]):
        sentence = refusal(folder, *places, *kept)
        assert "geheim" not in sentence
        assert "PASSWORD" in sentence


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_wrong_is_refused_in_one_sentence(folder: Path, address: str) -> None:
    kept = ["--checkpoint", "kept", "--card", "card.json"]
    assert REFUSED[address] in refusal(folder, address, "-o", "out.csv", *kept)
    if "columns" not in address:
        assert REFUSED[address] in refusal(folder, "in.csv", "-o", address, *kept)


def test_a_stream_with_a_broker_needs_a_checkpoint_and_a_place_for_its_card(folder: Path) -> None:
    address, other = f"redis://{NOWHERE}/rides", f"redis://{NOWHERE}/out"
    assert "give --checkpoint DIR" in refusal(folder, address, "-o", "out.csv")
    assert "give --checkpoint DIR" in refusal(folder, "in.csv", "-o", address, "--card", "card.json")
    assert "say with --card where it goes" in refusal(folder, "in.csv", "-o", address, "--checkpoint", "kept")
    kept = ["--checkpoint", "kept", "--card", "card.json"]
    assert "is read and written" in refusal(folder, address, "-o", address, *kept)
    assert "leave --follow out" in refusal(folder, address, "-o", other, "--follow", *kept)
    spark = ["--engine", "spark", "--key", "stop", *kept]
    assert "a stream on Spark writes a folder; leave --engine spark out" in refusal(
        folder, address, "-o", other, *spark
    )
    assert "Spark reads topics of Kafka alone; leave" in refusal(folder, address, "-o", "out", *spark)
    topic = f"kafka://{NOWHERE}/rides"
    assert "give --checkpoint DIR" in refusal(folder, topic, "-o", "out", *spark[:-4])
    for option, why in {"group=lag": "commits no offsets", "cert=c.pem": "own certificate's key"}.items():
        assert why in refusal(folder, f"{topic}?{option}", "-o", "out", *spark)


def test_a_password_file_is_for_its_owner_alone(folder: Path) -> None:
    (folder / "word").write_text("geheim\n", encoding="utf-8")
    (folder / "word").chmod(0o644)
    address = f"redis://{NOWHERE}/rides?password-file=word"
    said = say("stream", address, "-o", "out.csv", "--checkpoint", "kept", *OPTIONS)
    assert said.code == 2
    assert "can be read by others; chmod 600 it" in said.err
