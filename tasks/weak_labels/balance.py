"""How frequent the classes are: what a label model multiplies P(votes | class) by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.infra.errors import InputError

_LEAST = 0.01  # a class that no majority names may still be there


def given_shares(given: Mapping[str, float] | Sequence[float], names: Sequence[str]) -> tuple[float, ...]:
    """P(class) in the order of the codes, adding up to 1.

    >>> given_shares({"spam": 0.2, "ham": 0.8}, ["ham", "spam"])
    (0.8, 0.2)
    """
    listed = ", ".join(names)
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise InputError(
                f"weak_labels.class_balance is about {', '.join(given)}, and the classes are {listed}: give each a "
                "share."
            )
        shares = [given[name] for name in names]
    else:
        shares = list(given)
    if len(shares) != len(names):
        raise InputError(
            f"weak_labels.class_balance has {len(shares)} shares, and there are {len(names)} classes: {listed}."
        )
    return tuple(share / sum(shares) for share in shares)


def majority_shares(labels: Sequence[int]) -> tuple[float, ...]:
    """P(class) as the shares of what majorities say, none below a hundredth.

    >>> majority_shares([8, 2]), [round(share, 2) for share in majority_shares([10, 0])]
    ((0.8, 0.2), [0.99, 0.01])
    """
    if not sum(labels):
        return tuple(1 / len(labels) for _ in labels)
    shares = [max(count / sum(labels), _LEAST) for count in labels]
    return tuple(share / sum(shares) for share in shares)
