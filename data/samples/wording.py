"""What the YAML files of this folder list: the data sets, and the words and chances that samples are drawn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML


def wording(file: str) -> dict[str, Any]:
    """The lists of a file by their names.

    >>> len(wording("reviews")["sentiment"])
    2
    """
    text = Path(__file__).with_name(f"{file}.yaml").read_text(encoding="utf-8")
    lists: dict[str, Any] = YAML(typ="safe").load(text)
    return lists
