"""Every benchmark, one after the other: `python -m benchmarks [NAME …] [--quick]` prints one JSON line per claim."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = (
    "how_finely_cut",
    "house",
    "recsys_size",
    "majority",
    "intervals",
    "rules",
    "label_model",
    "label_model_memory",
    "scale",
    "whole_run",
    "many_partitions",
    "explainers",
    "word_attacks",
    "attacks",
    "autoattack",
    "attributions",
    "corruptions",
    "near_duplicates",
    "looking",
    "worker_memory",
    "forked_workers",
    "image_predictions",
    "at_once",
    "fleet",
    "simulated_night",
    "one_more_file",
    "chaos",
    "forecast",
    "chat_questions",
    "gpu",
)


def main() -> int:
    """Run the named benchmarks, or all; the exit code says whether one of them broke."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="small and once: whether they work, not how fast they are")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    broken = [name for name in options.names or NAMES if not _ran(name, options.quick)]
    if broken:
        print(f"broken: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def _ran(name: str, quick: bool) -> bool:
    command = [sys.executable, str(HERE / f"{name}.py"), *(["--quick"] if quick else [])]
    return subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
