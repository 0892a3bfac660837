"""Libraries to compare with that Assay does not need: installed for a benchmark only, into `build/peers`, never beside
the locked set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "build" / "peers"
ATTACKS = (
    "foolbox==3.3.4",
    "eagerpy==0.30.0",
    "GitPython==3.2.1",
    "gitdb==4.0.12",
    "smmap==5.0.3",
    "adversarial-robustness-toolbox==1.20.1",
    "torchattacks==3.5.1",
)


def provide(requirements: tuple[str, ...]) -> None:
    """Make these importable; what they need beyond the locked set must be among them."""
    missing = [one for one in requirements if not _installed(one)]
    if missing:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        if subprocess.run([*command, "--target", str(FOLDER), *missing]).returncode:
            raise SystemExit(
                f"The peers {', '.join(missing)} could not be installed into {FOLDER}: is there a network?"
            )
    sys.path.append(str(FOLDER))  # at the end: what the lock file pins is never shadowed


def _installed(requirement: str) -> bool:
    name, _, version = requirement.lower().replace("-", "_").partition("==")
    return (FOLDER / f"{name}-{version}.dist-info").is_dir()
