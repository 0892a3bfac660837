"""The samples that a past run audited, and what they were labelled and ordered by: handles, found in its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.data.schemas import CuratedSets, Intervals, Samples, WeakLabels
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord, StageRecord
from assay.infra.store import Store


def taken_in(record: RunRecord) -> dict[str, Artifact[Any]]:
    """What ingest made (samples, rejects, classes, contract); of samples with people's gold in them, those."""
    entered = next((one for one in record.stages if one.stage == "ingest"), None)
    if entered is None:
        raise InputError(f"Run {record.id} took no samples in (it is {record.status}): name another run.")
    settled = next((one.outputs for one in record.stages if one.stage == "settle_gold"), {})
    outputs = entered.outputs | {name: one for name, one in settled.items() if name == "samples"}
    return {name: Artifact.from_json(one) for name, one in outputs.items()}


def samples_of(record: RunRecord) -> Artifact[Samples]:
    """The samples that were audited, as the store keeps them."""
    return taken_in(record)["samples"]


@dataclass(frozen=True)
class LabelledBy:
    """What one labeler made of the votes: its labels, and where the run asked for an order, intervals and D1 … DN."""

    labels: Artifact[WeakLabels]
    intervals: Artifact[Intervals] | None = None
    curated: Artifact[CuratedSets] | None = None


def labelled_by(store: Store, record: RunRecord) -> dict[str, LabelledBy]:
    """What every labeler made, by its name, in the order of the run; labelers that others are compared with aside."""
    by_digest = {one.outputs["result"]["digest"]: one for one in record.stages if set(one.outputs) == {"result"}}
    by_labeler: dict[str, LabelledBy] = {}
    for stage in record.stages:
        given = _arguments(store, stage) if stage.stage == "order_adversarially" else {}
        bounded = by_digest.get(given["intervals"]["digest"]) if given else None
        labels = None if bounded is None else by_digest.get(_arguments(store, bounded)["labels"]["digest"])
        if bounded is not None and labels is not None:
            by_labeler[str(given["labeler"])] = LabelledBy(_result(labels), _result(bounded), _result(stage))
    return by_labeler or _never_ordered(store, record)


def _never_ordered(store: Store, record: RunRecord) -> dict[str, LabelledBy]:
    """The labels of a run without an order, by the labeler whose model gave them."""
    models = {
        stage.outputs["result"]["digest"]: str(_arguments(store, stage)["labeler"])
        for stage in record.stages
        if stage.stage == "train_labeler"
    }
    return {
        models[_arguments(store, stage)["model"]["digest"]]: LabelledBy(_result(stage))
        for stage in record.stages
        if stage.stage == "label_probabilistically"
    }


def _arguments(store: Store, stage: StageRecord) -> dict[str, Any]:
    """What a stage was called with, digests in place of handles."""
    manifest = store.standing(stage.stage, stage.key)
    if manifest is None:
        raise InputError(f"The results of stage {stage.title} are not in the store any more: run the pipeline again.")
    return dict(manifest.ingredients["arguments"])


def _result(stage: StageRecord) -> Artifact[Any]:
    return Artifact.from_json(stage.outputs["result"])
