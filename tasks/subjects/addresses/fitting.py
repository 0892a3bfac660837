"""Whether an address suits the setting that names it, and what stands beside it; in words where it does not."""

from __future__ import annotations

from collections.abc import Collection

from assay.infra.settings import StandsOn
from assay.tasks.subjects.addresses.table import ADDRESSES, address_of, refused

_OF_TRAINING = ("weights", "train", "train_on", "folds", "width", "revision")


def examples_for(way: str, between: str = " or ") -> str:
    """The addresses that a setting may name, each as an example.

    >>> examples_for("classifier")
    'https://host/predict'
    """
    return between.join(one.example for one in ADDRESSES if way in one.looks_at)


def wrong_address(way: str, named: str) -> str | None:
    """Why this cannot stand under the setting; None where nothing is known against it.

    >>> str(wrong_address("scorer", "https://host/x"))
    'is no address of a scorer: take a function of your own (file.py:object)'
    """
    address, why = address_of(named), refused(named)
    if address is not None and way not in address.looks_at:
        taken = examples_for(way, ", ")
        return (
            f"is no address of a {way}: take {f'{taken} or ' if taken else ''}a function of your own (file.py:object)"
        )
    if why is not None and ":" not in named:
        return why
    if address is None and "://" in named:
        return (
            "is an address that Assay does not ask: give one with http or https, or write a function of your own that "
            "asks it and gives its answers, as module:object or file.py:object"
        )
    return None


def out_of_place(named: str, given: Collection[str]) -> str | None:
    """Which of the settings that are `given` says nothing about a model at this address; None where all do.

    It learns nothing, and brings its weights; only a service is asked in some way, and has a version.
    """
    address = address_of(named)
    learning = next((name for name in _OF_TRAINING if name in given), None)
    if learning is not None:
        return f"`{learning}`, but {named} comes as it is: leave it out"
    is_asked = address is not None and address.word == "endpoint"
    about = ("files",) if is_asked else ("asking", *StandsOn.model_fields)
    other = next((name for name in about if name in given), None)
    return None if other is None else f"`{other}`, which says nothing about {named}: leave it out"
