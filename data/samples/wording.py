"""What simulated samples are drawn from: the words, clauses and chances in the YAML files of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML


def wording(sample: str) -> dict[str, Any]:
    """The lists of a sample's file by their names.

    >>> len(wording("reviews")["sentiment"])
    2
    """
    text = Path(__file__).with_name(f"{sample}.yaml").read_text(encoding="utf-8")
    lists: dict[str, Any] = YAML(typ="safe").load(text)
    return lists
