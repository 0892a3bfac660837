"""How far people who labelled the same samples agree beyond chance: Krippendorff's α for names of classes, with its
options and findings.

Samples with the same labels are one pattern with its number: nothing that is measured tells them apart, so that their
numbers are all that has to leave the partitions. Where samples stand in groups, whole groups are put together by a
hash, and each pool of them has patterns of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from assay.data.arrays import Bools, Codes, Counts
from assay.data.schemas import Classes, Findings, Samples, class_names
from assay.infra.errors import InputError
from assay.infra.settings import ColumnSettings, EachOnce
from assay.infra.stages.partitions import Columns, Reuse, collect, columns_in, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics import resampling
from assay.tasks.statistics.classification import Groups, Proportion, proportion_of
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.clusters import codes_of, kish, sums_by_cluster
from assay.tasks.statistics.entities import FEWEST
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import GROUP, group_hashes


class Annotators(ColumnSettings):
    """The columns with single annotators' labels: how far they agree beyond chance (Krippendorff's alpha), and with
    gold.

    A list of columns alone is the short form.
    """

    columns: Annotated[
        tuple[str, ...], Field(min_length=2, max_length=100, examples=[["first_reader", "second_reader"]]), EachOnce
    ]
    """A column of labels per annotator; empty where one did not label."""


class Labelled(NamedTuple):
    """The labels of each annotator and gold by pattern [n], −1 where there is none, and how many samples have it."""

    labels: dict[str, Codes]
    gold: Codes
    times: Codes
    groups: Codes | None = None
    """The pools of groups whose samples stand together; None where samples are independent."""


def codes_in(column: pa.ChunkedArray, name: str, classes: Mapping[str, int]) -> Codes:
    """The class codes of a column of labels, −1 where a cell is empty.

    >>> codes_in(pa.chunked_array([["yes", None, " no ", ""]]), "first", {"no": 0, "yes": 1}).tolist()
    [1, -1, 0, -1]
    """
    words = pc.utf8_trim_whitespace(column.combine_chunks().cast(pa.string())).dictionary_encode()
    differing = words.dictionary.to_pylist()  # in the order in which they first stand there
    unknown = next((word for word in differing if word and word not in classes), None)
    if unknown is not None:
        raise InputError(
            f"The column {name!r} of an annotator holds {unknown!r}, which is no class; there are {', '.join(classes)}."
        )
    codes = np.array([*(classes[word] if word else -1 for word in differing), -1], dtype=np.int64)
    return np.asarray(codes[pc.fill_null(words.indices, -1).to_numpy()])  # the last code is that of an empty cell


def count_patterns(samples: pa.Table, columns: Sequence[str], classes: Mapping[str, int]) -> dict[str, int]:
    """How many samples of a partition have each pattern: the codes of its labels, that of gold, and the pool of its
    group, if it has one.

    >>> rows = pa.table({"gold": [0, 0, None], "a": ["no", "no", "yes"], "b": ["no", "no", None]})
    >>> count_patterns(rows, ["a", "b"], {"no": 0, "yes": 1})
    {'0 0 0': 2, '1 -1 -1': 1}
    """
    labels, hashes = [codes_in(samples[name], name, classes) for name in columns], group_hashes(samples)
    gold = pc.fill_null(samples["gold"], -1).to_numpy().astype(np.int64)
    coded = [*labels, gold, *([] if hashes is None else [hashes % resampling.BLOCKS])]
    names = [str(place) for place in range(len(coded))]
    counted = pa.table(coded, names=names).group_by(names, use_threads=False).aggregate([([], "count_all")])
    patterns = zip(*(counted[name].to_pylist() for name in names), strict=True)
    return {
        " ".join(map(str, codes)): times
        for codes, times in zip(patterns, counted["count_all"].to_pylist(), strict=True)
    }


def labelled_patterns(counted: Mapping[str, int], columns: Sequence[str], *, grouped: bool = False) -> Labelled:
    """What `count_patterns` counted, a row per pattern, in an order of its own.

    >>> found = labelled_patterns({"0 0 0": 2, "1 -1 -1": 1}, ["a", "b"])
    >>> found.labels["b"].tolist(), found.gold.tolist(), found.times.tolist()
    ([0, -1], [0, -1], [2, 1])
    """
    patterns = sorted(counted)
    codes = np.array(" ".join(patterns).split(), dtype=np.int64).reshape(len(patterns), len(columns) + 1 + grouped)
    labels = {name: codes[:, place] for place, name in enumerate(columns)}
    pools = codes_of(codes[:, -1]) if grouped else None
    times = np.array([counted[pattern] for pattern in patterns], dtype=np.int64)
    return Labelled(labels, codes[:, len(columns)], times, pools)


Times = npt.NDArray[np.int64] | None
"""How many samples each row stands for [n]; None where it is one each."""


def label_counts(labels: npt.ArrayLike, classes: int) -> Counts:
    """How many annotators gave each class, [n, k], of labels [n, annotators] with −1 where one gave none.

    >>> label_counts([[0, 0, 1], [1, -1, -1]], 2).tolist()
    [[2, 1], [0, 1]]
    """
    given = np.asarray(labels, dtype=np.int64)
    counts = np.zeros((len(given), classes), dtype=np.int64)
    for codes in given.T:  # one after the other, since there may be no room for [n, annotators, k]
        labelled = np.flatnonzero(codes >= 0)
        counts[labelled, codes[labelled]] += 1
    return counts


def krippendorff_alpha(counts: npt.ArrayLike, times: Times = None) -> float | None:
    """α = 1 − observed/expected disagreement of nominal labels, from counts per sample [n, k] (Krippendorff 2011).

    Samples with fewer than two labels say nothing. None where nothing can be said: no pair of labels, or one class
    only, since then no disagreement is expected.

    >>> krippendorff_alpha([[2, 0], [0, 2], [1, 1], [2, 0]]).__round__(3)
    0.533
    >>> krippendorff_alpha([[2, 0], [0, 2], [1, 1]], np.array([2, 1, 1])).__round__(3)
    0.533
    """
    pairable, often = _pairable(counts, times)
    given = pairable.sum(axis=1)
    differing = often * (given**2 - (pairable**2).sum(axis=1))
    apart = sum((Fraction(int(differing[given == m].sum()), m - 1) for m in np.unique(given).tolist()), Fraction(0))
    of_class = (often @ pairable).tolist()
    total = sum(of_class)
    expected = total * total - sum(count * count for count in of_class)
    return None if not expected else float(1 - (total - 1) * apart / expected)


def alpha_interval(
    counts: npt.ArrayLike, generator: np.random.Generator, times: Times = None, groups: Groups = None
) -> resampling.Interval | None:
    """α with its BCa interval over resampled samples, or over their groups [n]; None where there is no α, and without
    ends of fewer than ten samples, whose resamples know too little.

    Rows that are alike are resampled together, which is the same of as many samples as you like; `times` is how many
    samples each stands for. Those of a group stay together all the same.

    >>> counts = [[2, 0], [0, 2], [1, 1], [2, 0]] * 20
    >>> interval = alpha_interval(counts, np.random.default_rng(0))
    >>> interval.low < interval.value < interval.high
    True
    >>> patients = np.repeat(np.arange(10), 8)
    >>> alpha_interval(counts, np.random.default_rng(0), groups=patients).value == interval.value
    True
    """
    value = krippendorff_alpha(counts, times)
    if value is None:
        return None
    kinds, often = _pairable(counts, times)
    if often.sum() < FEWEST:
        return resampling.Interval(value, float("nan"), float("nan"))
    if groups is None:
        kinds, often = distinct_rows(kinds, often)
    given = kinds.sum(axis=1)
    sums = np.column_stack([kinds, (given**2 - (kinds**2).sum(axis=1)) / (given - 1)])
    if groups is None:
        ends = resampling.bca_interval_of_sums(_alpha, sums, often, generator)
    else:
        units = resampling.pooled(np.unique(groups, return_inverse=True)[1][several_labels(counts)])
        groups_there = int(units.max(initial=-1)) + 1
        whole = np.column_stack([np.bincount(units, column, groups_there) for column in (sums * often[:, None]).T])
        within = resampling.expanded(kish(np.bincount(units, often)))
        ends = resampling.bca_interval(lambda weights: _alpha(weights @ whole), len(whole), generator, within)
    return resampling.Interval(value, ends.low, ends.high)


def several_labels(counts: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which samples have two labels or more [n]: the others say nothing."""
    return np.asarray(np.asarray(counts, dtype=np.int64).sum(axis=1) > 1)


def distinct_rows(counts: Counts, times: npt.NDArray[np.int64]) -> tuple[Counts, npt.NDArray[np.int64]]:
    """The differing rows in ascending order, and how many samples have each.

    >>> rows, times = distinct_rows(np.array([[2, 0], [1, 1], [2, 0]]), np.array([5, 1, 2]))
    >>> rows.tolist(), times.tolist()
    ([[1, 1], [2, 0]], [1, 7])
    """
    rows, kind = np.unique(counts, axis=0, return_inverse=True)
    return rows, sums_by_cluster(kind.reshape(-1), times, len(rows))


def _alpha(sums: resampling.Array) -> resampling.Array:
    """α of resamples [b] from their sums [b, k + 1]: labels of each class, and how far those of a sample differ."""
    of_class, apart = sums[:, :-1], sums[:, -1]
    total = of_class.sum(axis=1)
    expected = total**2 - (of_class**2).sum(axis=1)
    inside = np.divide((total - 1) * apart, expected, out=np.full(len(apart), np.nan), where=expected > 0)
    return np.asarray(1 - inside)


def _pairable(counts: npt.ArrayLike, times: Times) -> tuple[Counts, npt.NDArray[np.int64]]:
    """The rows with two labels or more, and how many samples each stands for."""
    rows = np.asarray(counts, dtype=np.int64)
    often = np.ones(len(rows), dtype=np.int64) if times is None else times
    kept = several_labels(rows)
    return rows[kept], often[kept]


_SEED = 0  # the same resamples for the same labels


def agreement_findings(labelled: Labelled, classes: int) -> list[Finding]:
    """`annotators.alpha` of all and (`of`) of every pair, `.labelled` and `.with_gold` of each annotator.

    >>> labels = {"a": np.array([0, 1, 0]), "b": np.array([0, 1, -1])}
    >>> findings = agreement_findings(Labelled(labels, np.array([0, 1, 1]), np.array([1, 1, 1])), 2)
    >>> [(one.metric, one.of, one.value and round(one.value, 2)) for one in findings][:3]
    [('annotators.alpha', '', 1.0), ('annotators.labelled', 'a', 1.0), ('annotators.with_gold', 'a', 0.67)]
    """
    labels, gold = labelled.labels, labelled.gold
    findings = [_alpha_finding(list(labels.values()), labelled, "", classes)]
    for name, codes in labels.items():
        about, given = About("annotators", name), codes >= 0
        findings.append(about.finding("labelled", _share(given, np.ones_like(given), labelled)))
        findings.append(about.finding("with_gold", _share(codes == gold, given & (gold >= 0), labelled)))
    pairs = combinations(labels, 2) if len(labels) > 2 else ()
    findings += [_alpha_finding([labels[name] for name in pair], labelled, " - ".join(pair), classes) for pair in pairs]
    return findings


def _share(hits: Bools, known: Bools, of: Labelled) -> Proportion:
    return proportion_of((hits & known) * of.times, known * of.times, groups=of.groups)


def _alpha_finding(labels: list[Codes], labelled: Labelled, of: str, classes: int) -> Finding:
    counts, times = label_counts(np.column_stack(labels), classes), labelled.times
    n = int(times[several_labels(counts)].sum())
    alpha = alpha_interval(counts, np.random.default_rng(_SEED), times=times, groups=labelled.groups)
    return Finding("annotators.alpha", of=of, n=n, unit="α").estimated(alpha)


@stage(version=8, title="annotators")
def measure_agreement(
    samples: Artifact[Samples], classes: Artifact[Classes], settings: Annotators
) -> Artifact[Findings]:
    """The findings `annotators.*` on the columns of labels."""
    names = class_names(collect(classes, None))
    columns, grouped = list(settings.columns), GROUP in columns_in(samples)
    read = Columns(samples, tuple(dict.fromkeys(["gold", *columns, *(["id", GROUP] if grouped else [])])))
    codes = {name: code for code, name in enumerate(names)}
    counted = reduce_partitions(count_patterns, read, reuse=Reuse(), columns=columns, classes=codes)
    labelled = labelled_patterns(counted, columns, grouped=grouped)
    findings = agreement_findings(labelled, len(names))
    value = findings[0].value
    outcome = "not measured: no sample has two labels of theirs" if value is None else f"α = {value:.2f}"
    say(f"{len(labelled.labels)} annotators · {outcome}")
    return write_table(findings_table(findings), into=Findings)
