"""The peak memory of training and applying the label model from counts, from a hundred thousand rows to ten million."""

from __future__ import annotations

import argparse
import json

from claims import claim, tell
from processes import python

SIZES = (100_000, 1_000_000, 10_000_000)
_CLAIM = "label model, 60 functions"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small sizes: whether it works, not how much it needs")
    options = parser.parse_args()
    for rows in (10_000, 20_000) if options.quick else SIZES:
        done = python("label_model.py", "--only", _CLAIM, "--side", "ours", "--rows", str(rows))
        found = json.loads(done.output.splitlines()[-1])
        seconds = round(found["cpu"], 2)
        tell(claim(f"{_CLAIM}, peak at {rows:,} rows", [found["peak_mb"]], unit="MB", digits=0, cpu_seconds=seconds))


if __name__ == "__main__":
    main()
