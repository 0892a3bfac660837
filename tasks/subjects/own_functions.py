"""A user's own functions that read: looked at before anything runs, and refused in words where nobody can ask them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from assay.infra.errors import InputError
from assay.tasks.subjects.asked import Asked

T = TypeVar("T")


def asked_at_once(block: Sequence[T], size: int, code: Asked) -> list[T]:
    """What a function is asked at a time: filled up to `size` with repeats of the last, so that the cut never shows.

    An endpoint is asked for what there is, and for nothing twice.
    """
    return [*block, *([] if code.asks_elsewhere else [block[-1]] * (size - len(block)))]


def classifier_function(code: Asked) -> Callable[[list[str]], object]:
    """The function behind the reference: the object itself, or its `predict_proba`; an error in words otherwise."""
    loaded = code.load()
    method: Callable[[list[str]], object] | None = getattr(loaded, "predict_proba", None)
    if isinstance(loaded, type):
        raise InputError(f'The classifier "{code.written}" is a class: name an object or a function.')
    if method is not None and callable(method):
        return method
    if not callable(loaded):
        raise InputError(
            f'The classifier "{code.written}" is a {type(loaded).__name__}, expected a function that gives '
            "probabilities for a list of texts, or an object with predict_proba."
        )
    return loaded


def answering_function(code: Asked, what: str) -> Callable[[list[Any]], object]:
    """The function behind the reference of a tagger or a scorer; an error in words otherwise."""
    function = code.load()
    if isinstance(function, type) or not callable(function):
        raise InputError(f'The {what} "{code.written}" is no function: name one that answers for a list.')
    return function
