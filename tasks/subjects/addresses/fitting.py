"""Whether an address suits the setting that names it, and what stands beside it; in words where it does not."""

from __future__ import annotations

from collections.abc import Collection

from assay.tasks.subjects.addresses.table import ADDRESSES, LEARNING, address_of, refused


def examples_for(way: str, between: str = " or ") -> str:
    """The addresses that a setting may name, each as an example.

    >>> examples_for("classifier")
    'https://host/predict or ./folder or org/name'
    """
    return between.join(one.example for one in ADDRESSES if way in one.looks_at)


def wrong_address(way: str, named: str) -> str | None:
    """Why this cannot stand under the setting; None where nothing is known against it.

    >>> str(wrong_address("scorer", "https://host/x"))
    'is no address of a scorer: take ./folder or org/name or a function of your own (file.py:object)'
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
    """Which of the settings that are `given` says nothing about the model at this address; None where all do.

    >>> out_of_place("m.onnx", {"train"}), out_of_place("timm:resnet18", {"train"})
    ('`train`, but m.onnx comes as it is: leave it out', None)
    """
    address = address_of(named)
    other = None if address is None else next((name for name in address.unfit if name in given), None)
    if address is None or other is None:
        return None
    because = f"which says nothing about {named}" if address.followed or other not in LEARNING else None
    return f"`{other}`, {because or f'but {named} comes as it is'}: leave it out"
