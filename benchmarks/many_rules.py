"""Curation with a thousand rules and more: 1,800 rules on 1.7 million samples, and 1,200 rules for 56 classes.

    python benchmarks/many_rules.py [--quick] [--case 0] [--rows 170000]

Pruning, Snorkel's label model and weak labels, on two workers that Dask restarts beyond 1 GiB; votes are made on the
workers. Snorkel itself needs the one-hot votes [n, m·k] as integers: 49 GB for the first, and for the second a matrix
[m·k, m·k] of 18 GB.
"""

from __future__ import annotations

import argparse
from typing import Any

from claims import claim, tell
from planted_curation import curation

CASES = (
    ("1,800 rules, 2 classes", 1_700_000, 1800, 2, ("0.04", "0.06")),
    ("1,200 rules, 56 classes", 200_000, 1200, 56, ("0.005", "0.02")),
)
_ROWS_PER_PARTITION = 20_000


def main() -> None:
    """Each case once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows: whether it works")
    parser.add_argument("--case", type=int, choices=(0, 1), help="only this one")
    parser.add_argument("--rows", type=int, help="other numbers of samples: memory of the flow goes by the rules")
    options = parser.parse_args()
    for number, (name, rows, functions, classes, coverage) in enumerate(CASES):
        if options.case not in (None, number):
            continue
        rows = options.rows or (rows // 100 if options.quick else rows)
        found: dict[str, Any] = curation(
            rows,
            max(2, rows // _ROWS_PER_PARTITION),
            2,
            "1GiB",
            *("--functions", str(functions), "--classes", str(classes), "--coverage", *coverage),
            *("--labelers", "snorkel", "--to", "labels"),
        )
        tell(
            claim(
                f"{name}, {rows:,} samples",
                [found["seconds"]],
                unit="s",
                worker_peak_mb=max(found["worker_peaks_mb"]),
                flow_peak_mb=found["flow_peak_mb"],
                stages={title: seconds for title, _, seconds in found["stages"]},
            )
        )


if __name__ == "__main__":
    main()
