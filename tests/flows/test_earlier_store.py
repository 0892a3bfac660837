"""A store that an earlier version wrote is taken from without computing anything: no key has changed since."""

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
from assay.infra.progress import SilentProgress
from assay.infra.runs import Run
from assay.infra.store import Store

EARLIER = ROOT / "tests" / "fixtures" / "earlier_store"
ORDER_TEST = {"find_clusters", "measure_ordering", "judge_order", "measure_subject", "judge_subject", "conclude"}
"""What concludes from an order is another test now, and all tests of a run are corrected together."""

VOTED_AGAIN = {"apply_labeling_functions"}
"""The key of a rulebook of ours held how our errors are worded, which is left out now: it votes again, and alike."""

IMAGE_MEASURES = {
    "measure_images",
    "measure_attacks",
    "probe_subject",
    "corrupt_subjects",
    "measure_corruptions",
    "conclude",
}
"""Subjects are calibrated, attacks measured class by class, and flips by group and beside a reference; networks look at
corrupted frames in a faster layout. What is trained and attacked is as it was."""


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


@pytest.mark.parametrize(("name", "stages"), [("breast-cancer", 24), ("digits-quick", 8)])
def test_nothing_is_computed_over_a_store_that_an_earlier_version_wrote(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch, name: str, stages: int
) -> None:
    written = manifests(unpacked)
    profile = next(one["ingredients"]["profile"] for one in written.values() if "gpu" not in one["stage"])
    profile = {fact: value for fact, value in profile.items() if fact != "device"}
    # Keys hold the processor and the versions of those who wrote it; what is tested here is everything else in them.
    monkeypatch.setattr("assay.infra.runs.numeric_profile", lambda: profile)
    project, progress = project_in(unpacked, name), SilentProgress()
    with Run(name, Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute) as run:
        assert audit(project.pipeline(name), project.folder).failures == ()
    meant_to_change = ORDER_TEST if name == "breast-cancer" else IMAGE_MEASURES
    same = [one for one in run.record.stages if one.stage not in meant_to_change]
    assert {one.stage for one in same if not one.cached} <= VOTED_AGAIN
    assert len(same) == stages
    before = {one["stage"]: one["outputs"] for one in written.values() if one["stage"] in VOTED_AGAIN}
    for one in same:
        outputs = written[f"{one.stage}/{one.key}"]["outputs"] if one.cached else before[one.stage]
        digests = {output: outputs[output]["artifact"]["digest"] for output in outputs}
        assert {output: handle["digest"] for output, handle in one.outputs.items()} == digests
