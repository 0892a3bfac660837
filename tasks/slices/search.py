"""On which slices of the samples is a subject worse than on the rest? Found on one half, confirmed on the other,
since what a search finds is worse partly by chance, and only samples that it has not seen can tell.

A slice is a value of a column, or values of several put together: words as they are, numbers of many values in
quarters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from pydantic import Field

from assay.data.arrays import Bools, Integers
from assay.data.schemas import Findings, Predictions, Samples
from assay.infra.errors import InputError
from assay.infra.settings import ColumnSettings, EachOnce
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.classification import Groups, extreme_share, proportion
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.clusters import clustered_wilson, codes_of, from_the_others, kish
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_by_id
from assay.tasks.statistics.multiplicity import OWN_LEVEL, adjusted, not_shown


class Slices(ColumnSettings):
    """The columns (a site, a sex, a device) by whose values subjects are looked at; where they are worse is searched on
    one half and confirmed on the other.

    A list of columns alone is the short form.
    """

    columns: Annotated[tuple[str, ...], Field(min_length=1, max_length=20, examples=[["site", "sex"]]), EachOnce]
    """The columns whose values are slices; numbers of many values are cut into quarters."""

    deepest: int = Field(default=2, ge=1, le=3)
    """How many columns the search puts together: with 2, also women of one site."""

    most: int = Field(default=5, ge=1, le=50)
    """How many slices the search takes to the other half; the more, the more each has to show (Holm)."""


MANY = 12
"""Numbers of more values than that are cut into quarters."""
TOO_MANY = 100
"""Words of more values than that are no slices: nearly every sample would be one."""
_NOTHING = 1e-18


def slice_values(column: pa.ChunkedArray, name: str) -> list[str | None]:
    """The slice of each sample by one column; None where the cell is empty.

    >>> slice_values(pa.chunked_array([["a", " ", None]]), "site"), slice_values(pa.chunked_array([[1, 2]]), "ward")
    (['a', None, None], ['1', '2'])
    """
    values = column.combine_chunks()
    if kinds.is_floating(values.type):  # no number is no value
        values = pc.if_else(pc.is_null(values, nan_is_null=True), pa.scalar(None, values.type), values)
    numeric = kinds.is_integer(values.type) or kinds.is_floating(values.type) or kinds.is_decimal(values.type)
    if numeric and pc.count_distinct(values).as_py() > MANY:
        return _quarters(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
    try:
        words = pc.utf8_trim_whitespace(values.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as fault:
        raise InputError(f"The column {name!r} holds {values.type}, which are no slices: name another.") from fault
    if pc.count_distinct(words).as_py() > TOO_MANY:
        raise InputError(
            f"The column {name!r} has {pc.count_distinct(words).as_py()} values, and slices want at most {TOO_MANY}: "
            "name a column of fewer, or make one that puts them together."
        )
    return [word or None for word in words.to_pylist()]


def _quarters(numbers: np.ndarray) -> list[str | None]:
    """The quarter of each number, named by its ends, with as many digits as tell them apart; equal numbers are never
    parted.

    >>> _quarters(np.arange(1_700_000_000.0, 1_700_000_040.0))[0]
    '1700000000 to 1700000009'
    """
    known = np.isfinite(numbers)
    cuts = np.unique(np.quantile(numbers[known], [0.25, 0.5, 0.75], method="inverted_cdf"))
    places = np.searchsorted(cuts, numbers)  # a number at a cut belongs below it
    quarters = [numbers[known & (places == place)] for place in range(len(cuts) + 1)]
    ends = [(quarter.min(), quarter.max()) if len(quarter) else None for quarter in quarters]
    named = (["" if at is None else f"{at[0]:.{n}g} to {at[1]:.{n}g}" for at in ends] for n in (6, 10, 17))
    names = next(names for names in named if len(set(names)) == len(names))
    return [names[place] if there else None for place, there in zip(places.tolist(), known.tolist(), strict=True)]


FEWEST = 20
"""A slice of fewer samples in the half that is searched is not looked at."""

Columns = Mapping[str, Sequence[str | None]]
Where = tuple[tuple[str, str], ...]
"""The column and the value, or several of them, that a slice is named by."""


@dataclass(frozen=True)
class WorseSlice:
    """Samples that share values: how they fare in the half that was not searched, beside the rest of it."""

    where: Where
    n: int
    right: float
    low: float
    high: float
    rest: float
    others: int
    """The samples of the rest."""
    p_value: float

    @property
    def name(self) -> str:
        """The slice in words.

        >>> WorseSlice((("site", "B"), ("sex", "f")), 30, 0.5, 0.3, 0.7, 0.9, 200, 0.001).name
        'site = B, sex = f'
        """
        return ", ".join(f"{column} = {value}" for column, value in self.where)


@dataclass(frozen=True)
class SlicedAnswers:
    """What a subject has right of the samples of a known class [n], their values by column, and their groups."""

    right: Bools
    columns: Columns
    groups: Groups = None


def worst_slices(answers: SlicedAnswers, settings: Slices, generator: np.random.Generator) -> list[WorseSlice]:
    """The slices that one half of the samples shows to be worst, as the other half has them, the smallest p first.

    Groups are dealt to two halves. On the first, every slice of at least 20 samples is compared with the rest, and
    those that lie lowest (by their z-value) are kept; on the second they are tested, one-sided and by group. Their p is
    not yet corrected for how many were kept. Null values make no slice.

    >>> answers = SlicedAnswers(np.array([True] * 200 + [True, False] * 100), {"site": ["A"] * 200 + ["B"] * 200})
    >>> slices = worst_slices(answers, Slices(columns=("site",)), np.random.default_rng(0))
    >>> slices[0].name, slices[0].p_value < 0.001
    ('site = B', True)
    """
    hits = answers.right.astype(np.int64)
    codes = np.arange(len(hits)) if answers.groups is None else codes_of(answers.groups)
    sides = generator.permutation(int(codes.max(initial=-1)) + 1) % 2 == 0
    searched = sides[codes]
    ranked = []
    for where, inside in _candidates(answers.columns, settings.deepest):
        seen = inside & searched
        if seen.sum() < FEWEST or (searched & ~inside).sum() < FEWEST:
            continue
        ranked.append((_shortfall(hits, seen, ~inside & searched, codes)[0], where, inside))
    ranked.sort(key=lambda ranking: (-ranking[0], ranking[1]))
    kept = [(where, inside) for z, where, inside in ranked[: settings.most] if z > 0 and (inside & ~searched).sum() > 1]
    return _confirmed(hits, kept, ~searched, codes)


def _single(columns: Columns) -> dict[str, list[tuple[tuple[str, str], Bools]]]:
    """By column every value, ascending, with its samples."""
    return {
        name: [
            ((name, value), np.array([cell == value for cell in column], dtype=np.bool_))
            for value in sorted({cell for cell in column if cell is not None})
        ]
        for name, column in columns.items()
    }


def _candidates(columns: Columns, deepest: int) -> list[tuple[Where, Bools]]:
    """Every value of every column, and every pair (…) of values of different columns, with its samples."""
    single = _single(columns)
    return [
        (tuple(pair for pair, _ in cells), np.all([own for _, own in cells], 0))
        for depth in range(1, deepest + 1)
        for names in combinations(sorted(single), depth)
        for cells in product(*(single[name] for name in names))
    ]


def _confirmed(hits: Integers, kept: Sequence[tuple[Where, Bools]], half: Bools, codes: Integers) -> list[WorseSlice]:
    tested = []
    for where, inside in kept:
        members, others = inside & half, ~inside & half
        p = _lower_p(hits, members, others, codes) if others.any() else 1.0
        low, high = clustered_wilson(hits[members], codes[members])
        rest = float(hits[others].mean()) if others.any() else float("nan")
        share = float(hits[members].mean())
        tested.append(WorseSlice(where, int(members.sum()), share, low, high, rest, int(others.sum()), p))
    return sorted(tested, key=lambda found: (found.p_value, found.where))


def _lower_p(hits: Integers, members: Bools, others: Bools, codes: Integers) -> float:
    """The one-sided p-value of the slice being less often right than the others: Fisher's exact test where samples are
    independent; by group Student's t, with the degrees of freedom of Satterthwaite (1946) from the groups that count on
    either side (Kish 1965)."""
    from scipy.special import stdtr
    from scipy.stats import hypergeom

    both = members | others
    if len(np.unique(codes[both])) == int(both.sum()):
        won, n = int(hits[members].sum()), int(members.sum())
        return float(hypergeom.cdf(won, int(both.sum()), int(hits[both].sum()), n))
    z, freedom = _shortfall(hits, members, others, codes)
    return float(stdtr(freedom, -z))


def _shortfall(hits: Integers, members: Bools, others: Bools, codes: Integers) -> tuple[float, float]:
    """How far the slice lies below the others, in standard errors over groups; and its degrees of freedom.

    A side whose groups are all alike, or of a single group, shows no spread: each group is then one draw of all.
    """
    if not members.any() or not others.any():
        return 0.0, 1.0
    strayed, variances, freedoms, unseen = np.zeros(int(codes.max()) + 1), [], [], 0.0
    share = float(hits[members | others].mean())
    for side, sign in ((others, 1.0), (members, -1.0)):
        sizes = np.bincount(codes[side], minlength=len(strayed))
        apart = np.bincount(codes[side], hits[side] - hits[side].mean(), minlength=len(strayed)).astype(np.float64)
        parts = from_the_others(apart, sizes)
        strayed += sign * parts
        hidden = 0.0 if parts @ parts > _NOTHING else share * (1 - share) / kish(sizes)
        unseen += hidden
        variances.append(float(parts @ parts) + hidden)
        freedoms.append(max(kish(sizes) - 1, 1.0))
    total = sum(variances)
    freedom = total**2 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True)) if total else min(freedoms)
    spread = math.sqrt(float(strayed @ strayed) + unseen)
    apart_by = float(hits[others].mean() - hits[members].mean())
    return (apart_by / spread if spread else 0.0), freedom


def slice_findings(answers: SlicedAnswers, subject: str) -> list[Finding]:
    """`slices.accuracy` of every value (`of` the column, the value is the group), and `slices.worst_accuracy`.

    The worst is named in its verdict, and its interval holds for all of them at once.
    """
    slices = list(chain.from_iterable(_single(answers.columns).values()))
    findings = [
        About("slices", *named, subject).finding("accuracy", proportion(answers.right, inside, groups=answers.groups))
        for named, inside in slices
    ]
    worst = extreme_share([(answers.right, inside) for _, inside in slices], "lowest", answers.groups)
    if worst is None:
        return findings
    place, share = worst
    verdict = " = ".join(slices[place][0])
    return [*findings, About("slices", "", subject=subject).finding("worst_accuracy", share, verdict=verdict)]


def confirmed_findings(by_subject: Mapping[str, Sequence[WorseSlice]], significance: float) -> list[Finding]:
    """Per subject and slice `slices.worse_p` (Holm over all slices of all subjects that went to the second half), with
    `slices.confirmed_accuracy` and `slices.rest_accuracy` on that half."""
    every = [(subject, worse) for subject, slices in by_subject.items() for worse in slices]
    corrected = adjusted([worse.p_value for _, worse in every])
    findings = []
    for (subject, worse), p in zip(every, corrected, strict=True):
        about = Finding("slices.worse_p", of=worse.name, subject=subject, n=worse.n)
        verdict = "worse" if p <= significance else not_shown(significance)
        findings.append(replace(about, value=p, p_value=p, verdict=verdict, unit=OWN_LEVEL))
        share = replace(about, metric="slices.confirmed_accuracy", value=worse.right, low=worse.low, high=worse.high)
        findings.append(replace(share, unit="share"))
        findings.append(replace(about, metric="slices.rest_accuracy", value=worse.rest, n=worse.others, unit="share"))
    return findings


@stage(version=7, title="slices", draws=True)
def measure_slices(
    samples: Artifact[Samples], predictions: dict[str, Artifact[Predictions]], settings: Slices, significance: float
) -> Artifact[Findings]:
    """The findings `slices.*` of every subject, by name, on the samples that it was asked about and whose class is
    known."""
    known = collect(samples, list(dict.fromkeys(["id", "gold", *settings.columns])))
    values = {name: slice_values(known[name], name) for name in settings.columns}
    ids, of_id = known["id"].to_pylist(), groups_by_id(samples)
    gold = pc.fill_null(known["gold"], -1).to_numpy().astype(np.int64)
    findings: list[Finding] = []
    by_subject = {}
    for subject, table in predictions.items():
        said = collect(table, ["id", "predicted"])
        place = pc.index_in(known["id"], value_set=said["id"].combine_chunks())
        predicted = pc.fill_null(said["predicted"].take(place), -1).to_numpy().astype(np.int64)
        rows = np.flatnonzero((predicted >= 0) & (gold >= 0))  # with a class, and given one
        groups = None if of_id is None else np.array([of_id[ids[row]] for row in rows], dtype=np.int64)
        columns = {name: [column[row] for row in rows] for name, column in values.items()}
        answers = SlicedAnswers((predicted == gold)[rows], columns, groups)
        findings += slice_findings(answers, subject)
        by_subject[subject] = worst_slices(answers, settings, stage_seeds().generator(subject))
    confirmed = confirmed_findings(by_subject, significance)
    worse = [f"{test.subject} is worse where {test.of}" for test in confirmed if test.verdict == "worse"]
    say("; ".join(worse) or f"{plural(len(settings.columns), 'column')} · no slice is shown to be worse than the rest")
    return write_table(findings_table([*findings, *confirmed]), into=Findings)
