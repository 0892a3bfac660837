"""Which conditions part the classes best: thresholds on numbers, values of words, and words of texts.

A condition is measured by Youden's J (1950), the share of a class on which it holds less that of all others on which it
does: 1 where it parts them without a mistake, 0 where it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.labeling.written import When

Numbers = npt.NDArray[np.float64]  # [n], NaN where missing
Codes = npt.NDArray[np.int64]  # [n], -1 where there is no gold

LEAST = 5
"""A condition holds on at least so many samples of what it was found on."""
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class Parting:
    """A condition, the class that it speaks for, and how well it parts that class from the others."""

    looks_at: str
    class_code: int
    youden: float
    when: When | None = None
    word: str = ""


def thresholds(column: str, values: Numbers, gold: Codes, classes: int, picture: bool = False) -> list[Parting]:
    """For every class the bound on a column that parts it best, above or below.

    >>> partings = thresholds("x", np.arange(12.0), np.repeat([0, 1], 6), 2)
    >>> [(one.class_code, one.when.above, one.when.below, one.youden) for one in partings]
    [(0, None, 5.5, 1.0), (1, 5.5, None, 1.0)]
    """
    known = (gold >= 0) & ~np.isnan(values)
    values, gold = values[known], gold[known]
    order = np.argsort(values, kind="stable")
    values, gold = values[order], gold[order]
    cuts = np.flatnonzero(values[1:] > values[:-1]) + 1  # how many lie below each cut
    cuts = cuts[(cuts >= LEAST) & (cuts <= len(values) - LEAST)]
    partings = []
    for code in range(classes):
        mine = gold == code
        if not len(cuts) or not 0 < mine.sum() < len(mine):
            continue
        below = np.concatenate(([0], np.cumsum(mine)))[cuts]
        youden = below / mine.sum() - (cuts - below) / (~mine).sum()  # of "below the cut"
        at = int(np.argmax(np.abs(youden)))
        bound = plain_between(float(values[cuts[at] - 1]), float(values[cuts[at]]))
        side = "below" if youden[at] > 0 else "above"
        when = When.model_validate({"picture" if picture else "column": column, side: bound})
        partings.append(Parting(column, code, round(float(abs(youden[at])), 6), when))
    return partings


def values_of_words(column: str, values: Sequence[str | None], gold: Codes, classes: int) -> list[Parting]:
    """For every class the value of a column of words that speaks for it most.

    >>> partings = values_of_words("smokes", ["yes"] * 6 + ["no"] * 6, np.repeat([1, 0], 6), 2)
    >>> [(one.class_code, one.when.equals, one.youden) for one in partings]
    [(0, 'no', 1.0), (1, 'yes', 1.0)]
    """
    cells = np.array(["" if value is None else value for value in values], object)
    partings = []
    for code in range(classes):
        scored = [(_youden(cells == value, gold, code), value) for value in sorted(set(cells) - {""})]
        best = max(scored, default=(0.0, ""))
        if best[0] > 0 and (cells == best[1]).sum() >= LEAST:
            partings.append(Parting(column, code, round(best[0], 6), When(column=column, equals=str(best[1]))))
    return partings


def telling_words(texts: Sequence[str | None], gold: Codes, classes: int, dull: Iterable[str] = ()) -> list[Parting]:
    """For every class the words that speak for it, the most telling first; `dull` ones say nothing by themselves.

    >>> partings = telling_words(["a great song"] * 6 + ["win great money"] * 6, np.repeat([0, 1], 6), 2)
    >>> [(one.class_code, one.word, one.youden) for one in partings]
    [(0, 'song', 1.0), (1, 'money', 1.0), (1, 'win', 1.0)]
    """
    partings = []
    for word, rows in sorted(rows_with_words(texts, dull).items()):
        if len(rows) >= LEAST:
            has = np.zeros(len(texts), bool)
            has[rows] = True
            scored = [(_youden(has, gold, code), code) for code in range(classes)]
            youden, code = max(scored)
            if youden > 0:
                partings.append(Parting(word, code, round(youden, 6), word=word))
    return sorted(partings, key=lambda one: (one.class_code, -one.youden, one.word))


def rows_with_words(texts: Sequence[str | None], dull: Iterable[str] = ()) -> dict[str, list[int]]:
    """In which rows every word stands, in small letters; `dull` ones are left out.

    >>> rows_with_words(["A song", "the SONG!"], ["the"])
    {'song': [0, 1]}
    """
    left_out, holds = set(dull), dict[str, list[int]]()
    for row, text in enumerate(texts):
        for word in set(_WORD.findall((text or "").lower())) - left_out:
            holds.setdefault(word, []).append(row)
    return holds


def _youden(holds: npt.NDArray[np.bool_], gold: Codes, code: int) -> float:
    mine, others = gold == code, (gold >= 0) & (gold != code)
    if not mine.any() or not others.any():
        return 0.0
    return float(holds[mine].mean() - holds[others].mean())


def best_of(partings: Iterable[Parting], wanted: int, classes: int) -> list[Parting]:
    """So many conditions, the best first: every class is spoken for before one has two, and no column is looked at
    twice while there is another that tells at least half as much.

    >>> good, fair, poor = Parting("a", 1, 0.9), Parting("b", 1, 0.8), Parting("c", 0, 0.1)
    >>> [(one.looks_at, one.class_code) for one in best_of([good, fair, Parting("a", 0, 0.9), poor], 3, 2)]
    [('a', 1), ('a', 0), ('b', 1)]
    """
    left, chosen = [one for one in partings if one.youden > 0], list[Parting]()
    most = {code: max((one.youden for one in left if one.class_code == code), default=0.0) for code in range(classes)}
    left = [one for one in left if one.youden >= most[one.class_code] / 2]
    while left and len(chosen) < wanted:
        spoken = [sum(one.class_code == code for one in chosen) for code in range(classes)]
        looked = {one.looks_at for one in chosen}
        best = min(
            left,
            key=lambda one: (
                spoken[one.class_code],
                one.looks_at in looked,
                -one.youden,
                one.looks_at,
                -one.class_code,
            ),
        )
        chosen.append(best)
        left.remove(best)
    return chosen


def plain_between(low: float, high: float) -> float:
    """The number with the fewest digits between two numbers, as near their middle as that allows.

    >>> plain_between(16.77, 16.84), plain_between(3, 4), plain_between(0, 1000)
    (16.8, 3.5, 500.0)
    """
    middle = (low + high) / 2
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if low < rounded < high:
            return rounded
    return middle


def quantile_bounds(columns: Mapping[str, Numbers], share: float = 0.2) -> list[tuple[str, float, float]]:
    """Of the columns that vary together most, the bounds of the lowest and the highest share: what can be said of
    numbers without any label. The first is what the others go with.

    >>> quantile_bounds({"a": np.arange(11.0), "b": np.arange(11.0) * 2, "c": np.zeros(11)})
    [('a', 2.0, 8.0), ('b', 4.0, 16.0)]
    """
    names = [name for name, values in columns.items() if np.nanmin(values) < np.nanmax(values)]
    if not names:
        return []
    ranks = np.array(
        [np.argsort(np.argsort(np.nan_to_num(columns[name], nan=np.nanmedian(columns[name])))) for name in names]
    )
    together = np.abs(np.atleast_2d(np.corrcoef(ranks))).mean(axis=1)
    chosen = [names[at] for at in np.argsort(-together, kind="stable")]
    ends = [(name, *np.nanquantile(columns[name], [share, 1 - share])) for name in chosen]
    return [(name, float(f"{low:.3g}"), float(f"{high:.3g}")) for name, low, high in ends if low < high]
