"""Diagnostics as stages: samples are chosen, a subject is looked into, its layers embedded, its labels counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import (
    AdversarialImages,
    Attacked,
    Classes,
    CoOccurrence,
    DiagnosticImages,
    Findings,
    LayerFeatures,
    LayerPoints,
    Samples,
    SubjectFiles,
    class_names,
)
from assay.infra.stages.partitions import collect, columns_in, map_partitions, map_pieces, read_files, reduce_partitions
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.diagnostics.inspection import (
    CLEAN,
    TRAIN,
    InspectedSubject,
    Seen,
    Truth,
    asked_about,
    draw_images,
    draw_samples,
    features_partition,
    pictures_of,
    truths_of,
)
from assay.tasks.diagnostics.measures import (
    agreement_findings,
    co_occurrence_table,
    count_answers,
    layer_points,
    pair_findings,
)
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.statistics.findings import Finding, findings_table, measured
from assay.tasks.subjects.holding_out import rows_as_they_are, rows_with_ids
from assay.tasks.subjects.images.dataset import LABELS
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.task import ROWS

Sources = Mapping[str, Artifact[Samples] | Artifact[AdversarialImages]]
"""Images by what they are seen under."""


class Embedded(NamedTuple):
    """Where the samples of every layer lie, and whether its neighbours still tell classes apart."""

    points: Artifact[LayerPoints]
    findings: Artifact[Findings]


class Counted(NamedTuple):
    """How often classes are named together, and how many are per image."""

    counts: Artifact[CoOccurrence]
    findings: Artifact[Findings]


@dataclass(frozen=True)
class _Layer:
    """What t-SNE is run over: one layer, in all circumstances."""

    name: str


@stage(version=1, title="choose samples")
def choose_samples(samples: Artifact[Samples], limit: int) -> Artifact[Samples]:
    """At most so many samples, as evenly over the classes as there are some, each by the hash of its id."""
    ids = draw_samples(_truths(samples), limit)
    some = map_partitions(rows_with_ids, samples, into=Samples, name="some", ids=ids)
    chosen = map_partitions(rows_as_they_are, some, into=Samples, rows=ROWS)
    say(f"{chosen.rows} of {samples.rows}")
    return chosen


@stage(version=1, title="look inside", gpu=True)
def look_inside(
    chosen: Artifact[Samples],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    settings: Diagnostics,
    attacked: dict[str, Artifact[Attacked]],
    images: dict[str, Artifact[AdversarialImages]],
    eps: dict[str, float],
) -> Artifact[DiagnosticImages]:
    """Feature map, saliency, integrated gradients and attention of a few images, clean and under every attack.

    Attacks go by their names; `eps` says at which ε each is looked at.
    """
    truths = _truths(chosen)
    first = next(iter(attacked), None)
    fell = None if first is None else collect(attacked[first], ["id", "eps", "gold", "clean", "success"])
    ids = draw_images(truths, fell, eps.get(first or "", 0.0), settings.images)
    inspected = InspectedSubject(subject, read_files(files), settings)
    sources: Sources = {CLEAN: chosen, **images}
    known = {sample: truths[sample] for sample in ids}
    few = _in_each(_few_of, "few", sources, eps, dict.fromkeys(sources, ids))
    seen = [Seen(shown, sample) for shown, rows in few.items() for sample in rows["id"].to_pylist()]
    parts = map_pieces(
        pictures_of, seen, into=DiagnosticImages, name="part", few=few, eps=eps, inspected=inspected, truths=known
    )
    say(f"{subject.settings.name} · {len(ids)} images, {', '.join(sources)}")
    return write_table(collect(parts, None), into=DiagnosticImages)


@stage(version=2, title="embed layers", draws=True, gpu=True)
def embed_layers(
    training: Artifact[Samples],
    chosen: Artifact[Samples],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    settings: Diagnostics,
    images: dict[str, Artifact[AdversarialImages]],
    eps: dict[str, float],
) -> Embedded:
    """The features of some layers in the plane, and per layer how often a sample's neighbours bear its class."""
    truths = {TRAIN: _truths(training), CLEAN: _truths(chosen)}
    inspected = InspectedSubject(subject, read_files(files), settings)
    sources: Sources = {TRAIN: training, CLEAN: chosen, **images}
    look = partial(map_partitions, features_partition, into=LayerFeatures, inspected=inspected)
    ids = {shown: frozenset(truths[TRAIN if shown == TRAIN else CLEAN]) for shown in sources}
    features = _in_each(look, "features", sources, eps, ids)
    layers = list(dict.fromkeys(features[TRAIN]["layer"].to_pylist()))
    points = map_pieces(
        embed_layer,
        [_Layer(layer) for layer in layers],
        into=LayerPoints,
        name="points",
        features=pa.concat_tables(features.values()),
        truths=truths,
        subject=subject.settings.name,
        eps=eps,
        settings=settings,
        seeds={layer: stage_seeds().integer(layer) for layer in layers},
    )
    several = any(truth.labels is not None for truth in truths[CLEAN].values())
    findings = agreement_findings(collect(points, None), subject.settings.name, several=several)
    say(f"{subject.settings.name} · {', '.join(layers)} · {_summary(findings)}")
    return Embedded(points, write_table(findings_table(findings), into=Findings))


@stage(version=1, title="count labels")
def count_labels(
    attacked: Artifact[Attacked], classes: Artifact[Classes], name: str, attack: str, eps: float
) -> Counted:
    """How often the subject names classes together, before and after an attack at one ε."""
    counts = reduce_partitions(count_answers, attacked, eps=eps, classes=len(class_names(collect(classes, None))))
    findings = pair_findings(counts, name, attack, eps)
    say(f"{name} · {attack} · {counts['images'][0]} images")
    table = co_occurrence_table(counts, name, attack, eps)
    return Counted(write_table(table, into=CoOccurrence), write_table(findings_table(findings), into=Findings))


def _in_each(
    look: Callable[..., Any], name: str, sources: Sources, eps: Mapping[str, float], ids: Mapping[str, frozenset[str]]
) -> dict[str, pa.Table]:
    """What a look at the images of every circumstance makes, by its name; `ids` are those that are looked at."""
    return {
        shown: collect(look(source, name=f"{name}-{at}", shown=shown, eps=eps.get(shown, 0.0), ids=ids[shown]), None)
        for at, (shown, source) in enumerate(sources.items())
    }


def _few_of(source: Artifact[Any], *, shown: str, **which: Any) -> Any:
    kind = Samples if shown == CLEAN else AdversarialImages
    return map_partitions(asked_about, source, into=kind, shown=shown, **which)


def embed_layer(
    piece: _Layer,
    *,
    features: pa.Table,
    truths: dict[str, dict[str, Truth]],
    subject: str,
    eps: dict[str, float],
    settings: Diagnostics,
    seeds: dict[str, int],
) -> pa.Table:
    """The points of one layer: all circumstances embedded together, so that they can be compared."""
    rows = features.filter(pc.equal(features["layer"], piece.name))
    return layer_points(rows, truths, subject, eps, settings, seeds[piece.name])


def _truths(samples: Artifact[Samples]) -> dict[str, Truth]:
    return truths_of(collect(samples, ["id", "gold", *{LABELS}.intersection(columns_in(samples))]))


def _summary(findings: list[Finding]) -> str:
    last = [finding for finding in measured(findings) if finding.of == findings[-1].of]
    return ", ".join(f"{finding.group} {finding.value:.0%}" for finding in last) or "no truth"
