"""The circumstances under which a subject answered samples of an order, and on which of them it was right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import OrderedAnswers
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.subjects.eps import eps_name

Codes = npt.NDArray[np.int64]
CLEAN, WEAK = "clean", "weak"


@dataclass(frozen=True)
class OrderedSamples:
    """The audited samples of an order, easiest first; one row per sample everywhere."""

    ids: pa.Array
    stratum: Codes  # 1 … N: the first data set that holds it
    scores: npt.NDArray[np.float64]  # θ_L
    label: Codes
    gold: Codes  # −1 where unknown
    clusters: Codes
    decided: npt.NDArray[np.bool_]  # False where no class won, so that nobody is confident of the label

    def places(self, ids: pa.ChunkedArray) -> Codes:
        """The row of each id, −1 where it is not among the ordered samples."""
        rows: Codes = pc.fill_null(pc.index_in(ids, value_set=self.ids), -1).to_numpy().astype(np.int64)
        return rows


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
    places = ordered.places(predictions["id"])
    predicted = predictions["predicted"].to_numpy().astype(np.int64)
    yield _under(CLEAN, "", places, predicted, ordered.gold)
    yield _under(WEAK, "", places, predicted, ordered.label)


def attacked(ordered: OrderedSamples, name: str, records: pa.Table) -> Iterator[Circumstance]:
    """The answers to attacked images, at every ε above 0."""
    eps = records["eps"].to_numpy()
    for radius in np.unique(eps[eps > 0]).tolist():
        rows = records.filter(pc.equal(records["eps"], radius))
        predicted = rows["attacked"].to_numpy().astype(np.int64)
        yield _under(name, eps_name(radius), ordered.places(rows["id"]), predicted, ordered.gold)


def reworded(ordered: OrderedSamples, name: str, records: pa.Table) -> Circumstance:
    """The answers to texts whose words were swapped; a text that could not be attacked is as it was."""
    predicted = records["attacked"].to_numpy().astype(np.int64)
    return _under(name, "", ordered.places(records["id"]), predicted, ordered.gold)


def noisy(
    ordered: OrderedSamples, name: str, answers: pa.Table, origins: pa.Table, columns: tuple[str, str]
) -> Iterator[Circumstance]:
    """The answers to noisy texts, all kinds of noise together, by severity; `columns` name whose text, and how much."""
    origin, severity = columns
    rows = origins.take(pc.index_in(answers["id"], value_set=origins["id"].combine_chunks()))
    levels, predicted = rows[severity].to_numpy(), answers["predicted"].to_numpy().astype(np.int64)
    places = ordered.places(rows[origin])
    for level in np.unique(levels).tolist():
        here = levels == level
        yield _under(name, f"severity={level}", places[here], predicted[here], ordered.gold)


def corrupted(ordered: OrderedSamples, flips: pa.Table) -> Iterator[Circumstance]:
    """The answers to images at the full strength of every perturbation, all together, by severity.

    Of a sequence several frames may be at full strength: each is an answer.
    """
    severities, judged = flips["severity"].to_numpy(), flips["judged"].to_numpy()
    places, right = ordered.places(flips["id"]), flips["correct"].to_numpy().astype(np.int64)
    for level in np.unique(severities).tolist():
        here = (severities == level) & (places >= 0)
        times = judged[here]
        frame = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        answers = (frame < np.repeat(right[here], times)).astype(np.int64)
        yield Circumstance("corruptions", f"severity={level}", np.repeat(places[here], times), answers)


def answered(ordered: OrderedSamples, circumstances: Iterable[Circumstance]) -> pa.Table:
    """Every circumstance sample by sample: how often it was answered rightly, and of how many times."""
    tables = []
    for circumstance in circumstances:
        times = np.bincount(circumstance.places, minlength=len(ordered.ids))
        right = np.bincount(circumstance.places, weights=circumstance.right, minlength=len(ordered.ids))
        here = np.flatnonzero(times)
        tables.append(
            pa.table(
                {
                    "id": ordered.ids.take(here),
                    "of": [circumstance.of] * len(here),
                    "group": [circumstance.group] * len(here),
                    "right": right[here].astype(np.int32),
                    "times": times[here].astype(np.int32),
                    "score": ordered.scores[here],
                    "stratum": ordered.stratum[here].astype(np.int32),
                    "cluster": ordered.clusters[here],
                    "decided": ordered.decided[here],
                },
                schema=OrderedAnswers.schema,
            )
        )
    return pa.concat_tables(tables) if tables else OrderedAnswers.schema.empty_table()


def ordered_samples(
    curated: pa.Table, intervals: pa.Table, clusters: pa.Table, audited: pa.ChunkedArray
) -> OrderedSamples:
    """The samples of an order that are audited, with what is known of each, easiest first."""
    rows = curated.filter(pc.is_in(curated["id"], value_set=audited.combine_chunks())).sort_by("rank")
    ids = rows["id"].combine_chunks()
    alike = clusters["cluster"].take(pc.index_in(ids, value_set=clusters["id"].combine_chunks()))
    undecided = intervals["undecided"].take(pc.index_in(ids, value_set=intervals["id"].combine_chunks()))
    return OrderedSamples(
        ids,
        rows["dataset"].to_numpy().astype(np.int64),
        rows["lower"].to_numpy(),
        rows["label"].to_numpy().astype(np.int64),
        pc.fill_null(rows["gold"], -1).to_numpy().astype(np.int64),
        codes_of(alike.to_numpy()),
        ~undecided.to_numpy(zero_copy_only=False).astype(bool),
    )


def _under(of: str, group: str, places: Codes, predicted: Codes, truth: Codes) -> Circumstance:
    """The answers to those of the samples whose truth is known; a class of −1 is no answer."""
    known = (places >= 0) & (predicted >= 0)
    known[known] = truth[places[known]] >= 0
    return Circumstance(of, group, places[known], (predicted[known] == truth[places[known]]).astype(np.int64))
