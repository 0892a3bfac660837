"""Which output of a Hugging Face classifier is which class of the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.infra.errors import InputError


def in_its_own_order(config: Mapping[str, Any]) -> bool:
    """Whether a model was saved without the names of its classes, so that only their order says which is which.

    >>> in_its_own_order({"id2label": {"0": "LABEL_0"}}), in_its_own_order({"id2label": {"0": "ham"}})
    (True, False)
    """
    named = config.get("id2label") or {}
    return all(str(name).casefold() in (f"label_{code}", str(code)) for code, name in named.items())


def columns_for(config: Any, classes: Sequence[str], who: str) -> list[int]:
    """Which of a model's outputs is which class: by name; in its own order where it was saved without names."""
    names = [str(config.id2label[code]).casefold() for code in range(config.num_labels)]
    wanted = [name.casefold() for name in classes]
    if sorted(names) == sorted(wanted):
        return [names.index(name) for name in wanted]
    if len(names) != len(wanted):
        raise InputError(
            f"{who} tells {len(names)} classes apart ({', '.join(names[:8])}), and the pipeline has {len(wanted)} "
            f"({', '.join(wanted[:8])})."
        )
    if not all(name in (f"label_{code}", str(code)) for code, name in enumerate(names)):
        raise InputError(
            f"{who} answers with {', '.join(names[:8])}, and the pipeline's classes are {', '.join(wanted[:8])}: which "
            "is which? Write the pipeline's names under id2label in the model's config.json."
        )
    return list(range(len(names)))
