"""Which attacks a subject was not put under, in words: one that is only asked has no gradient to follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def without_gradient(left_out: Mapping[str, Sequence[str]]) -> str:
    """Which attacks were left out of which subjects, and what that means; nothing where none was.

    >>> without_gradient({"served": ["pgd"], "onnx": ["pgd"]})[:75]
    'served and onnx are only asked and have no gradient: pgd, which follows one'
    """
    sentences = []
    for attacks in dict.fromkeys(tuple(one) for one in left_out.values()):
        alike = [name for name, missing in left_out.items() if tuple(missing) == attacks]
        are = "is only asked and has" if len(alike) == 1 else "are only asked and have"
        which = "which follows one, was" if len(attacks) == 1 else "which follow one, were"
        sentences.append(
            f"{_joined(alike)} {are} no gradient: {_joined(attacks)}, {which} left out, so what stays right is an "
            "upper bound of what a stronger attack would leave."
        )
    return " ".join(sentences)


def _joined(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
