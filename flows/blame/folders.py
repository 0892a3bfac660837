"""A folder as it was on another night: the team's, with the files of that night in place of today's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.infra.contained_paths import contained


def lay_out(place: Path, today: Path, files: Mapping[str, bytes]) -> Path:
    """The folder `place`, in which everything is as in `today` (by symbolic link) but for these files.

    Files that code opens beside itself are found there under the names that their keys know.
    """
    files = {contained(None, name, "The record of a run"): content for name, content in files.items()}
    place.mkdir(parents=True)
    above = {name.split("/", 1)[0] for name in files if "/" in name}
    for entry in sorted(today.iterdir()) if today.is_dir() else ():
        if entry.name not in above and entry.name not in files and entry.name != "__pycache__":
            (place / entry.name).symlink_to(entry.absolute())
    for folder in sorted(above):
        below = {name.split("/", 1)[1]: content for name, content in files.items() if name.startswith(f"{folder}/")}
        lay_out(place / folder, today / folder, below)
    for name, content in files.items():
        if "/" not in name:
            (place / name).write_bytes(content)
    return place
