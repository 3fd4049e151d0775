"""The systemd unit of the examples: what it never retries, what it lets nobody see, and that its command starts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato.errors import BudgetExceeded, InputError, UnavailableError

UNIT = Path(__file__).parents[2] / "examples" / "systemd" / "sfumato-stream@.service"
PROGRAM = "/opt/sfumato/bin/sfumato"


def settings() -> dict[str, list[str]]:
    """Return the unit's settings by name."""
    text = re.sub(r"\\\n", " ", "\n".join(line for line in UNIT.read_text().splitlines() if not line.startswith("#")))
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found.setdefault(name, []).append(" ".join(value.split()))
    return found


def test_what_is_the_same_again_tomorrow_is_not_retried_and_what_may_pass_is() -> None:
    unit = settings()
    never = {int(code) for code in unit["RestartPreventExitStatus"][0].split()}
    assert never == {BudgetExceeded.exit_code, InputError.exit_code}
    assert UnavailableError.exit_code not in never
    assert unit["Restart"] == ["on-failure"]
    assert unit["SuccessExitStatus"] == ["130"]
    assert unit["KillSignal"] == ["SIGTERM"]


def test_the_password_and_the_records_are_seen_by_nobody_else() -> None:
    unit = settings()
    assert unit["LoadCredential"] == ["broker:/etc/sfumato/%i.password"]
    assert {unit[name][0] for name in ("StateDirectoryMode", "RuntimeDirectoryMode")} == {"0700"}
    assert unit["UMask"] == ["0077"]
    assert unit["LimitCORE"] == ["0"]
    assert unit["CapabilityBoundingSet"] == [""]


def script() -> str:
    """Return what the shell of ExecStart runs, as systemd gives it: a doubled dollar is one."""
    command = settings()["ExecStart"][0]
    found = re.fullmatch(r"/bin/sh -euc '(.*)'", command)
    assert found is not None
    return found[1].replace("$$", "$").replace(PROGRAM, f"{sys.executable} -m sfumato")


@pytest.mark.long
def test_its_command_starts_a_stream_that_a_stop_ends_well(tmp_path: Path) -> None:
    for name in ("state", "run", "creds"):
        (tmp_path / name).mkdir()
    (tmp_path / "creds" / "broker").write_text("secret")
    (tmp_path / "in.csv").write_text("minutes\n" + "5\n" * 120)
    environment = {
        **os.environ,
        "FEED": "in.csv",
        "OUTPUT": "out.csv",
        "OPTIONS": "--column minutes --bounds 0 120 --publisher rank --delay 50 --events --follow",
        "PASSWORD_VARIABLE": "SFUMATO_REDIS_PASSWORD",
        "CREDENTIALS_DIRECTORY": str(tmp_path / "creds"),
        "STATE_DIRECTORY": str(tmp_path / "state"),
        "RUNTIME_DIRECTORY": str(tmp_path / "run"),
    }
    with subprocess.Popen(["/bin/sh", "-euc", script()], cwd=tmp_path, env=environment) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "state" / "card.json").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert b"SFUMATO_REDIS_PASSWORD=secret" in Path(f"/proc/{process.pid}/environ").read_bytes()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
    assert (tmp_path / "state" / "report.html").exists()
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 101


def test_systemd_takes_the_unit_and_rates_it_well(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze on this machine")
    unit = tmp_path / "sfumato-stream@rides.service"
    unit.write_text(UNIT.read_text().replace(PROGRAM, "/bin/true"))
    done = subprocess.run([analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if unit.name in line] == []
    rated = subprocess.run(
        [analyze, "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True, check=False
    )
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", rated.stdout)
    if found is None:
        pytest.skip(f"systemd-analyze cannot rate a unit here: {rated.stderr.strip()[:200]}")
    assert float(found[1]) <= 1.5
