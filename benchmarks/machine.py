"""What the machine of a run is: its processor, cores, memory, system, Python and the versions that matter."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import peers

LIBRARIES = ("numpy", "numba", "polars", "duckdb", "cryptography", "scipy")


def described() -> dict[str, Any]:
    """Return the machine as plain data."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "os": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "peers": {name: peers.version(name) for name in peers.NAMES},
    }


def in_words(machine: dict[str, Any]) -> str:
    """Return one paragraph about a machine."""
    ours, others = (
        ", ".join(f"{name} {number}" for name, number in machine[kind].items()) for kind in ("versions", "peers")
    )
    parts = (machine["cpu"], f"{machine['cores']} cores", machine["memory"], machine["os"])
    return f"{', '.join(parts)}; Python {machine['python']}; {ours}. Peers: {others}."


def _field(path: str, name: str) -> str:
    """Return the first value of a name in one of the system's files of lines, empty where there is none."""
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
