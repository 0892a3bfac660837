"""How right a subject is on every stratum and every D_i, untouched and attacked, and what a defence gains there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Codes
from assay.data.schemas import OrderedAnswers
from assay.infra.stages.exact import Seeds
from assay.tasks.statistics.clusters import codes_of, share_by
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED, not_shown
from assay.tasks.statistics.order_test import (
    FEWEST_CLUSTERS,
    group_trend,
    order_test,
    pattern_totals,
    permuted_trend,
    trend_findings,
)
from assay.tasks.statistics.paired import share_difference
from assay.tasks.subjects.settings import eps_name

CLEAN, WEAK = "clean", "weak"


@dataclass(frozen=True)
class OrderedSamples:
    """The audited samples of an order, easiest first; one row per sample everywhere."""

    ids: pa.Array
    stratum: Codes  # 1 … N: the first data set that holds it
    scores: npt.NDArray[np.float64]  # θ_L
    label: Codes
    gold: Codes  # −1 where unknown
    clusters: Codes  # what is independent: groups, else single samples
    patterns: Codes | None  # patterns of votes; none where samples stand in groups
    decided: npt.NDArray[np.bool_]  # False where no class won, so that nobody is confident of the label

    def places(self, ids: pa.ChunkedArray) -> Codes:
        """The row of each id, −1 where it is not among the ordered samples."""
        return np.asarray(pc.fill_null(pc.index_in(ids, value_set=self.ids), -1).to_numpy().astype(np.int64))


@dataclass(frozen=True)
class Circumstance:
    """Answers under one circumstance: of an attack, a noise or nothing, at an ε or a severity.

    A sample may be there several times, with several kinds of noise, or not at all, where the truth is unknown.
    """

    of: str
    group: str
    places: Codes  # rows of the ordered samples
    right: Codes  # 0 or 1


def clean(ordered: OrderedSamples, predictions: pa.Table) -> Iterator[Circumstance]:
    """The answers to samples as they are: by gold, and by the weak labels."""
    places, predicted = ordered.places(predictions["id"]), predictions["predicted"].to_numpy()
    yield _under(CLEAN, "", places, predicted, ordered.gold)
    yield _under(WEAK, "", places, predicted, ordered.label)


def attacked(ordered: OrderedSamples, name: str, records: pa.Table) -> Iterator[Circumstance]:
    """The answers to attacked images, at every ε above 0."""
    eps = records["eps"].to_numpy()
    for radius in np.unique(eps[eps > 0]).tolist():
        rows = records.filter(pc.equal(records["eps"], radius))
        yield _under(name, eps_name(radius), ordered.places(rows["id"]), rows["attacked"].to_numpy(), ordered.gold)


def reworded(ordered: OrderedSamples, name: str, records: pa.Table) -> Circumstance:
    """The answers to texts whose words were swapped; a text that could not be attacked is as it was."""
    return _under(name, "", ordered.places(records["id"]), records["attacked"].to_numpy(), ordered.gold)


def noisy(
    ordered: OrderedSamples, name: str, answers: pa.Table, origins: pa.Table, columns: Sequence[str]
) -> Iterator[Circumstance]:
    """The answers to noisy texts, all kinds of noise together, by severity; `columns` name whose text, and how much."""
    origin, severity = columns
    rows = origins.take(pc.index_in(answers["id"], value_set=origins["id"].combine_chunks()))
    levels, predicted = rows[severity].to_numpy(), answers["predicted"].to_numpy()
    places = ordered.places(rows[origin])
    for level in np.unique(levels).tolist():
        at_level = levels == level
        yield _under(name, f"severity={level}", places[at_level], predicted[at_level], ordered.gold)


def corrupted(ordered: OrderedSamples, flips: pa.Table) -> Iterator[Circumstance]:
    """The answers to images at the full strength of every perturbation, all together, by severity.

    Of a sequence several frames may be at full strength: each is an answer.
    """
    severities, judged = flips["severity"].to_numpy(), flips["judged"].to_numpy()
    places, right = ordered.places(flips["id"]), flips["correct"].to_numpy().astype(np.int64)
    for level in np.unique(severities).tolist():
        at_level = (severities == level) & (places >= 0)
        times = judged[at_level]
        frame = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        answers = (frame < np.repeat(right[at_level], times)).astype(np.int64)
        yield Circumstance("corruptions", f"severity={level}", np.repeat(places[at_level], times), answers)


def answered(ordered: OrderedSamples, circumstances: Iterable[Circumstance]) -> pa.Table:
    """Every circumstance sample by sample: how often it was answered rightly, and of how many times."""
    tables = []
    for circumstance in circumstances:
        times = np.bincount(circumstance.places, minlength=len(ordered.ids))
        right = np.bincount(circumstance.places, weights=circumstance.right, minlength=len(ordered.ids))
        rows = np.flatnonzero(times)
        under = [pa.repeat(word, len(rows)) for word in (circumstance.of, circumstance.group)]
        answers = [right[rows].astype(np.int32), times[rows].astype(np.int32)]
        patterns = pa.nulls(len(rows), pa.int64()) if ordered.patterns is None else ordered.patterns[rows]
        place = [ordered.scores[rows], ordered.stratum[rows].astype(np.int32), ordered.clusters[rows], patterns]
        columns = [ordered.ids.take(rows), *under, *answers, *place, ordered.decided[rows]]
        tables.append(pa.table(columns, schema=OrderedAnswers.schema))
    return pa.concat_tables(tables) if tables else OrderedAnswers.schema.empty_table()


def ordered_samples(
    curated: pa.Table, intervals: pa.Table, clusters: pa.Table, audited: pa.ChunkedArray
) -> OrderedSamples:
    """The samples of an order that are audited, with what is known of each, easiest first."""
    rows = curated.filter(pc.is_in(curated["id"], value_set=audited.combine_chunks())).sort_by("rank")
    ids = rows["id"].combine_chunks()
    alike = clusters.take(pc.index_in(ids, value_set=clusters["id"].combine_chunks()))
    undecided = intervals["undecided"].take(pc.index_in(ids, value_set=intervals["id"].combine_chunks()))
    return OrderedSamples(
        ids,
        rows["dataset"].to_numpy().astype(np.int64),
        rows["lower"].to_numpy(),
        rows["label"].to_numpy().astype(np.int64),
        pc.fill_null(rows["gold"], -1).to_numpy().astype(np.int64),
        codes_of(alike["cluster"].to_numpy()),
        None if alike["pattern"].null_count else alike["pattern"].to_numpy(),
        ~undecided.to_numpy(zero_copy_only=False).astype(bool),
    )


def _under(of: str, group: str, places: Codes, predicted: npt.NDArray[np.int16], truth: Codes) -> Circumstance:
    """The answers to those of the samples whose truth is known; a class of −1 is no answer."""
    known = (places >= 0) & (predicted >= 0)
    known[known] = truth[places[known]] >= 0
    return Circumstance(of, group, places[known], (predicted[known] == truth[places[known]]).astype(np.int64))


ACCURACY = "along.accuracy"


def along_findings(
    ordered: OrderedSamples,
    circumstances: Iterable[Circumstance],
    *,
    subject: str,
    datasets: int,
    significance: float,
    concluded: bool,
    only_decided: bool,
    seeds: Seeds,
) -> list[Finding]:
    """The findings of one model: of what (`clean`, an attack, …), with the ε or severity and the stratum as the group.

    A run concludes from the answers to clean samples (`concluded`: of a subject, not of its defended copies); what is
    done to them is compared with that, in a family of tests of its own.
    """
    findings: list[Finding] = []
    for circumstance in circumstances:
        if len(circumstance.places):
            findings += _shares(ordered, circumstance, datasets)
        unit = CONCLUDED if concluded and circumstance.of in (CLEAN, WEAK) else COMPARED
        generator = seeds.generator(f"{circumstance.of}, {circumstance.group}")
        # Whether right answers gather at the easy end: `along.auc` and `along.trend_p`.
        kept = ordered.decided[circumstance.places] if only_decided else slice(None)
        places, right = circumstance.places[kept], circumstance.right[kept]
        patterns = None if ordered.patterns is None else ordered.patterns[places]
        tested = order_test(ordered.scores[places], right, patterns, ordered.clusters[places], generator)
        for row in trend_findings("along", tested, significance, unit):
            verdict = row.verdict.replace("no label is", "no answer is")
            findings.append(replace(row, of=circumstance.of, group=circumstance.group, verdict=verdict))
    return [replace(finding, subject=subject) for finding in findings]


def group_of(circumstance: str, cut: str) -> str:
    """The group of a finding: the circumstance's own, and the stratum or data set.

    >>> group_of("eps=0.1", "stratum 2"), group_of("", "D3")
    ('eps=0.1, stratum 2', 'D3')
    """
    return ", ".join(part for part in (circumstance, cut) if part)


def _shares(ordered: OrderedSamples, circumstance: Circumstance, datasets: int) -> list[Finding]:
    """Accuracy on every D_i and on every stratum that holds audited samples of known truth."""
    stratum, clusters = ordered.stratum[circumstance.places], ordered.clusters[circumstance.places]
    cuts = [(f"D{i}", stratum <= i) for i in range(1, datasets + 1)]
    cuts += [(f"stratum {i}", stratum == i) for i in range(1, datasets + 1)]
    of, right = circumstance.of, circumstance.right
    there = [(group_of(circumstance.group, cut), chosen) for cut, chosen in cuts if chosen.any()]
    return [share_by(ACCURACY, right[chosen], clusters[chosen], of=of, group=group) for group, chosen in there]


GAIN, GAIN_TREND = "along.gain", "along.gain_trend_p"
EASY, HARD = "more where it is easy", "more where it is hard"


def gain_findings(
    before: pa.Table, after: pa.Table, *, copy: str, significance: float, only_decided: bool, seeds: Seeds
) -> list[Finding]:
    """How much oftener a defended copy is right than its original, on the same samples: `along.gain` over all and on
    every stratum, and whether that grows along the order (`along.gain_trend_p`).

    Circumstances under which a sample is answered once are compared: clean, and under each attack that both met. The
    trend of the gains −1, 0 and 1 is the interaction of defence and order, tested as the order is.
    """
    findings: list[Finding] = []
    ours, theirs = (_answered_once(table) for table in (before, after))
    for of, group in (circumstance for circumstance in ours if circumstance in theirs and circumstance[0] != WEAK):
        paired = _paired(_only(before, of, group), _only(after, of, group))
        if paired.num_rows:
            findings += _gains(paired, of, group)
            generator = seeds.generator(f"{of}, {group}")
            findings.append(_gain_trend(paired, of, group, significance, only_decided, generator))
    return [replace(finding, subject=copy) for finding in findings]


def _answered_once(answers: pa.Table) -> list[tuple[str, str]]:
    """The circumstances under which no sample was answered several times."""
    times = answers.group_by(["of", "group"], use_threads=False).aggregate([("times", "max")])
    once = times.filter(pc.equal(times["times_max"], 1))
    return list(zip(once["of"].to_pylist(), once["group"].to_pylist(), strict=True))


def _only(answers: pa.Table, of: str, group: str) -> pa.Table:
    return answers.filter(pc.and_(pc.equal(answers["of"], of), pc.equal(answers["group"], group)))


def _paired(before: pa.Table, after: pa.Table) -> pa.Table:
    """The samples that both answered, with `right` of the original and `defended` of the copy."""
    at = pc.index_in(before["id"], value_set=after["id"].combine_chunks())
    rows = before.append_column("defended", after["right"].take(at))
    return rows.filter(pc.is_valid(rows["defended"]))


def _gains(paired: pa.Table, of: str, group: str) -> list[Finding]:
    stratum, clusters = paired["stratum"].to_numpy(), codes_of(paired["cluster"].to_numpy())
    right, defended = paired["right"].to_numpy(), paired["defended"].to_numpy()
    cuts = [(group, np.ones(len(stratum), dtype=np.bool_))]
    cuts += [(group_of(group, f"stratum {number}"), stratum == number) for number in np.unique(stratum).tolist()]
    gains = [
        (name, share_difference(defended[at], right[at], clusters=codes_of(clusters[at])), int(at.sum()))
        for name, at in cuts
    ]
    return [Finding(GAIN, of, name, value=gain.value, low=gain.low, high=gain.high, n=n) for name, gain, n in gains]


def _gain_trend(
    paired: pa.Table, of: str, group: str, significance: float, only_decided: bool, generator: np.random.Generator
) -> Finding:
    rows = paired.filter(paired["decided"]) if only_decided else paired
    gains = rows["defended"].to_numpy().astype(np.int64) - rows["right"].to_numpy().astype(np.int64)
    scores, grouped = rows["score"].to_numpy(), rows["pattern"].null_count > 0
    alike = rows["cluster" if grouped else "pattern"].to_numpy()
    silent = _why_untested(scores, gains, alike)
    if silent:
        return Finding(GAIN_TREND, of=of, group=group, n=len(gains), verdict=f"not measured: {silent}")
    totals = None if grouped else pattern_totals(scores, gains, alike)
    trend = group_trend(scores, gains, alike) if totals is None else permuted_trend(totals, generator)
    p = trend.p_value
    verdict = (EASY if trend.t > 0 else HARD) if p <= significance else not_shown(significance)
    return Finding(GAIN_TREND, of, group, value=p, p_value=p, n=len(gains), verdict=verdict, unit=COMPARED)


def _why_untested(
    scores: npt.NDArray[np.float64], gains: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64]
) -> str:
    """Why the gains cannot be tested; empty where they can."""
    groups = len(np.unique(clusters))
    if groups < FEWEST_CLUSTERS:
        return f"{groups} groups or patterns of votes, fewer than {FEWEST_CLUSTERS}"
    if (gains == gains[0]).all():
        return "the defence changes every answer alike"
    return "all samples have one score" if (scores == scores[0]).all() else ""
