"""How a stage says that some of what a subject was given is longer than it reads."""

from __future__ import annotations

from typing import Any

from assay.infra.artifacts import Artifact
from assay.infra.partitions import tally_of


def cut_in_words(artifact: Artifact[Any]) -> str:
    """The end of a stage's line, by what was counted as `cut` while `artifact` was made; empty where nothing was."""
    cut = tally_of(artifact).get("cut", 0)
    return f" · {cut} longer than it reads, and cut" if cut else ""
