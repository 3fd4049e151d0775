"""What runs on a device needs the standard library only: no numpy, no polars, whatever it reports."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"polars", "numpy", "numba", "msgspec", "matplotlib", "scipy", "cryptography"}
PROGRAMS = {
    "mean": "Piecewise(0, 1, 1).perturb(0.5); local.LaplaceMean(0, 1, 1).perturb(0.5)",
    "hybrid mean": "Hybrid(0, 1, 1).perturb(0.5)",
    "rappor": "Rappor(('a', 'b'), 2).perturb(0).to_json()",
    "memory": "Memory('device.json', 1).report(local.OptimizedUnary(('a', 'b'), 1), 'a', period='May')",
    "memory of rappor": "Memory('device.json', 4).report(local.Rappor(('a', 'b'), 2), 'c', period='May')",
    "budget": "Memory('device.json', 4).spent; from sfumato.errors import BudgetExceeded",
    "duchi": "Duchi(0, 1, 1).perturb(0.5)",
    "protocol by name": "protocol_class('olh')(('a', 'b'), 1).perturb(0)",
    "protocol by alias": "protocol_class('subset')(('a', 'b'), 1).perturb(0)",
    "best protocol": "choose(('a', 'b'), 1, 100).perturb(0)",
    "best mean": "choose_mean(0, 1, 1).perturb(0.5)",
    "attributes": "Attributes.choose({'sex': ('f', 'm'), 'hour': (0, 1, 2)}, 1, 100).perturb({'sex': 'f', 'hour': 2})",
    "survey": (
        "Survey(local.Crossing([local.Axis('sex', ('f', 'm')), local.Axis('hour', ('8', '9'))]), "
        "(local.View(('sex',), 0.5), local.View(('sex', 'hour'), 0.5)), 1, 100).perturb(('f', '9'))"
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_device_loads_nothing_heavy(program: str, tmp_path: object) -> None:
    listing = "print(*{name.partition('.')[0] for name in sys.modules})"
    code = f"import sys\nfrom sfumato import local\nlocal.{PROGRAMS[program]}\n{listing}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=str(tmp_path))
    assert not set(done.stdout.split()) & HEAVY
