"""How long the README's commands take on a fresh machine: `python tools/fresh_machine.py [--test]`.

The last commit is cloned into an empty folder, with an empty cache of pip; each step is one line of JSON with its
seconds by the clock, its processor seconds, and how many of them are allowed. The machine should do nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTALLATION, BOTH = 150.0, 240.0
"""Seconds that `make setup` may take, and that with the audit."""


def timed(clone: Path, target: str, env: dict[str, str]) -> float:
    """The seconds of a target of the Makefile, said aloud."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(["make", target], cwd=clone, env=env, stdout=sys.stderr, check=False)
    used, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    answer = {"command": f"make {target}", "exit": done.returncode, "seconds": round(seconds, 1), "cpu": round(cpu, 1)}
    print(json.dumps(answer), flush=True)
    if done.returncode:
        sys.exit(1)
    return seconds


def main() -> None:
    """Both commands, and whether they kept to their time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--test", action="store_true", help="then make test, too")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fresh-machine") as folder:
        clone, home = Path(folder, "assay"), Path(folder, "home")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        ours = ("ASSAY_", "PREFECT_", "DASK_", "PYTHON", "VIRTUAL_ENV")  # among Python's: to write no bytecode
        env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        env |= {
            "HOME": str(home),
            "PIP_CACHE_DIR": str(home / "pip"),
            "ASSAY_HOME": str(home / "assay"),
            "ASSAY_SERVER_IDLE": "0",
        }
        installation = timed(clone, "setup", env)
        both = installation + timed(clone, "audit", env)
        if wanted.test:
            timed(clone, "test", env)
    in_time = installation <= INSTALLATION and both <= BOTH
    print(json.dumps({"installation": round(installation, 1), "with the audit": round(both, 1), "in time": in_time}))
    sys.exit(0 if in_time else 1)


if __name__ == "__main__":
    main()
