"""Run in the peers' own environment: time ANJANA's k-anonymity on a CSV file with hierarchies and print it as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pandas as pd
from anjana.anonymity import k_anonymity

if __name__ == "__main__":
    frame = pd.read_csv(sys.argv[1])
    described = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    hierarchies = {name: {int(level): words for level, words in levels.items()} for name, levels in described.items()}
    start = time.perf_counter()
    rows = k_anonymity(frame, [], list(frame.columns), 10, 0, hierarchies)
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": len(rows)}))
