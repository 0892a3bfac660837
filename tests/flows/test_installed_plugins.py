"""What an installed package offers is asked for in pipelines.yaml like what comes with Assay, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from extras_package import install_extras
from repository import ROOT

PIPELINES = """
compute: {engine: serial, gpu: never}
pipelines:
  night:
    source: {dataset: sample/digits}
    labeling: {functions: rules.py}
    weak_labels: {labelers: [majority, cautious]}
    evaluation: {limit: 20, split: train, train: test}
    subjects: [{name: net, network: small-cnn, width: 0.25, train: {epochs: 1}}]
    attacks: [ripples, ripples: {periods: 5, name: fine}]
    corruptions: {perturbations: [fade], severities: [1], frames: 3}
    tally: {factor: 2}
    gates: [{finding: tally.samples, at_least: 3594}, {finding: attack.red_flag, of: nobody, at_most: 0}]
"""
RULES = """
CLASSES = tuple("0123456789")

def odd(x):
    return 1 if ord(x.id[-1]) % 2 else 0

RULES = [odd]
"""
NIGHT = """
import json, sys
from pathlib import Path
from direct_nights import findings_of, latest, perform_night
from assay.flows.cli import main
folder = Path(sys.argv[1])
result = perform_night(folder, "night")
store, record = latest(folder, "night")
keys = {one.stage: one.key for one in record.stages}
told = {
    "code": result.exit_code, "page": Path(result.report).read_text(), "verdicts": record.verdicts,
    "findings": [(one.metric, one.of, one.value) for one in findings_of(store, record)],
    "manifests": {stage: store.find(stage, key).ingredients for stage, key in keys.items()},
}
(folder / "told.json").write_text(json.dumps(told))
"""


def python(folder: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder, with the package installed at a site."""
    path = os.pathsep.join([str(ROOT), str(site), str(ROOT / "tests" / "support")])
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments], env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A team's folder, and where the package is installed."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "pipelines.yaml").write_text(PIPELINES)
    (folder / "rules.py").write_text(RULES)
    return folder, install_extras(tmp_path_factory.mktemp("extras"))


@pytest.fixture(scope="module")
def told(team: tuple[Path, Path]) -> dict[str, Any]:
    """What a night with the plug-ins has come to."""
    folder, site = team
    done = python(folder, site, "-c", NIGHT, str(folder))
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads((folder / "told.json").read_text())
    return answer


@pytest.mark.slow
def test_what_the_package_offers_is_run_measured_shown_and_gated(told: dict[str, Any]) -> None:
    found = {(metric, of): value for metric, of, value in told["findings"]}
    assert found["tally.samples", ""] == 2 * 1797
    assert {("attack.accuracy", "ripples"), ("attack.accuracy", "fine")} <= set(found)
    assert ("corruption.flip_probability", "fade") in found
    assert "So many samples were tallied." in told["page"]
    assert "Cautious makes probabilities of the votes of 1 labelling function" in told["page"]
    assert any("Tallied 3594 samples" in verdict for verdict in told["verdicts"])
    assert "1 of 2 gates" in " ".join(told["verdicts"])
    assert told["code"] == 1


def test_name_version_and_source_stand_in_the_keys_of_its_stages_and_of_no_other(told: dict[str, Any]) -> None:
    own = {stage: one["plugin"] for stage, one in told["manifests"].items() if "plugin" in one}
    assert set(own) == {"count_samples"}
    known = own["count_samples"]
    assert (known["name"], known["package"], known["version"]) == ("tally", "assay-extras", "1.2")
    assert len(known["source"]) == 64
    ripples = told["manifests"]["attack_subject"]["arguments"]["attack"]["settings"]["plugins"]["ripples"]
    assert (ripples["name"], ripples["package"], ripples["version"]) == ("ripples", "assay-extras", "1.2")
    assert "plugins" not in json.dumps(told["manifests"]["ingest"])


def test_check_lists_plug_ins_with_their_settings(team: tuple[Path, Path]) -> None:
    checked = python(*team, "-m", "assay.flows.cli", "check")
    said = " ".join(checked.stdout.split())
    for line in (
        "tally kind of audit assay-extras 1.2",
        "ripples attack assay-extras 1.2",
        "fade perturbation assay-extras",
        "cautious labeler assay-extras 1.2",
        "tally How many samples there are.",
        "tally.factor What every sample counts. a whole number of at least 1",
        "ripples.periods How many ripples there are. a number above 0",
    ):
        assert line in said
    assert checked.returncode == 0, checked.stderr


def test_one_plug_in_is_tried_by_its_installed_name(team: tuple[Path, Path]) -> None:
    good = python(*team, "-m", "assay.flows.cli", "check", "--plugin", "tally")
    assert (good.returncode, good.stdout.strip()) == (0, "tally keeps everything that is asked of it.")
    unknown = python(*team, "-m", "assay.flows.cli", "check", "--plugin", "tallie")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith('There is no plug-in "tallie" installed; did you mean tally?')
