"""A store that an earlier version wrote is taken from: only the stages named here, with a reason, are computed anew."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from direct_nights import project_in
from repository import ROOT

from assay.flows.audit import audit
from assay.flows.running import engine_of
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

EARLIER = ROOT / "tests" / "fixtures" / "earlier_store"
# The stages whose method has changed since the store was written. What stands on their results is computed anew, too,
# where the results differ, and is named here for that reason.
COMPUTED_ANEW: dict[str, str] = {
    "ingest": "palettes of DICOM give colours, and a number that is missing names no group; all else is as before",
    "apply_labeling_functions": "what a rule writes into a sample no other rule sees; all else is as before",
    "find_clusters": "samples are their own clusters unless source.group names others, beside the patterns of votes",
    "judge_order": "scores are permuted over patterns of votes; intervals are by sample",
    "judge_subject": "the same; few samples are counted by ranges as many are, which differ in the last digits",
    "follow_subject": "the same",
    "compare_along": "the same, and Tango's interval",
    "relate_hardness": "the same",
    "find_hardness": "of two classes the margin is the confidence again, and is left out",
    "measure_images": "balanced accuracy, the worst class's recall and one constant answer stand beside the accuracy",
    "measure_texts": "the same",
    "measure_subject": "the same; shares of groups count these",
    "measure_attacks": "the same",
    "attack_subject": "HopSkipJump adds its probes block by block, and few-pixel attacks measure how far they went",
    "worst_case": "stands on attacks, whose last digits differ where another processor computes them anew",
    "score_samples": "how other scores than the bound would order: a new stage",
    "measure_agreement": "few samples are counted by patterns of labels as many are: other draws for the ends of α",
    "compare_labelers": "labelers are held against each other and against gold: a new stage, by group",
    "measure_words": "the same",
    "measure_noise": "the same",
    "measure_corruptions": "the same",
    "measure_defences": "the same, and McNemar's mid-p with Tango's interval",
    "measure_text_defences": "the same",
    "rewrite_texts": "names give way in *Anna's*, and what changed is found by the fewest edits",
    "compare_words": "McNemar's mid-p with Tango's interval",
    "measure_trust": "McNemar's mid-p with Tango's interval",
    "look_for_neighbours": "the interval of an area is Student's t on its samples, as everywhere else",
    "look_into_pools": "the same",
    "train_labeler": "triplets learns nothing of rules of which no three vote together; the others learn the same",
    "predict_samples": "a frame whose columns are named after the classes is read by name; others are read as before",
    "predict_texts": "the same",
    "conclude": "findings of the above are among what it gathers",
    "perturb_terms": "s and ß are not swapped: where case does not count that is no change",
}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("earlier")
    shutil.copy(EARLIER / "pipelines.yaml", folder)
    with tarfile.open(EARLIER / "store.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder


def manifests(folder: Path) -> dict[str, dict[str, object]]:
    """What every manifest of the store says, by the stage's name and key."""
    files = (folder / "store" / "stages").glob("*/*/manifest.json")
    return {f"{file.parent.parent.name}/{file.parent.name}": json.loads(file.read_text()) for file in files}


@pytest.mark.parametrize(
    ("name", "stages"), [("breast-cancer", 48), ("digits-quick", 14), ("overfitting-synthetic-quick", 8)]
)
def test_only_what_changed_is_computed_over_a_store_that_an_earlier_version_wrote(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch, name: str, stages: int
) -> None:
    written = manifests(unpacked)
    profile = next(
        manifest["ingredients"]["profile"] for manifest in written.values() if "gpu" not in manifest["stage"]
    )
    profile = {fact: value for fact, value in profile.items() if fact != "device"}
    # Keys hold the processor and the versions of those who wrote it; what is tested here is everything else in them.
    monkeypatch.setattr("assay.infra.stages.runs.numeric_profile", lambda _: profile)
    project, progress = project_in(unpacked, name), Progress()
    with Run(name, Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute) as run:
        assert audit(project.pipeline(name), project.folder).failures == ()
    assert {stage.stage for stage in run.record.stages if not stage.cached} <= set(COMPUTED_ANEW)
    assert len(run.record.stages) == stages
    for stage in [stage for stage in run.record.stages if stage.cached]:
        outputs = written[f"{stage.stage}/{stage.key}"]["outputs"]
        digests = {output: outputs[output]["artifact"]["digest"] for output in outputs}
        assert {output: handle["digest"] for output, handle in stage.outputs.items()} == digests
