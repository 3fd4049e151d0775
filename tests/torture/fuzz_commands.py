"""Many broken commands: prints cases, commands, refusals and internal errors as JSON; exit code 1 if any is left.

`python tests/torture/fuzz_commands.py [CASES] [SEED]`; 20,000 cases unless named.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))

from fuzzing import fuzz, printed

CASES, SEED = 20_000, 3


def main() -> int:
    """Run the cases in a folder that is removed afterwards."""
    warnings.simplefilter("ignore")
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_STATE_HOME": f"{folder}/state", "SFUMATO_QUIET": "1"}  # nothing of the user's is touched
        found = fuzz(Path(folder), cases, seed)
    sys.stdout.write(printed(found) + "\n")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
