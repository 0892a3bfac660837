"""Image subjects are examined and challenged: everything asked for is there, and bad luck stays alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.flows.audit import Audit, audit
from assay.flows.configuration.loading import Project, load_project
from assay.flows.forecast.plan import walk_plan
from assay.flows.running import engine_of
from assay.infra.stages.branches import CACHED, MAY_RUN, WILL_RUN
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_from

SIDE = 12
CLASSES = ("left", "middle", "right")
ROWS = {"train": 39, "test": 21}

BOTH = """
compute: {engine: serial, partitions: 3}
pipelines:
  both:
    source: {parquet: images.parquet, id: id, image: image, label: label, split: split}
    subjects:
      - {name: plain, network: small-cnn, width: 0.5, train: &short {epochs: 2, batch_size: 16}}
      - {name: half, network: small-cnn, width: 0.25, train: *short}
    attacks:
      - pgd: {eps: [0, 0.1], steps: 3, transfer: true, keep: 1}
      - gap: {eps: 0.2, epochs: 1, width: 4, transfer: true, keep: 1}
    corruptions: {perturbations: [gaussian-noise, translate], severities: [3], frames: 5, reference: half}
"""

SEVERAL = """
compute: {engine: serial}
pipelines:
  several:
    source: {parquet: several.parquet, id: id, image: image, labels: [mass, nodule, edema], split: split}
    subject: {name: reader, network: small-cnn, width: 0.25, train: {epochs: 2, batch_size: 16}}
    attacks:
      - fgsm: {eps: [0.1], keep: 1}
      - gap: {eps: 0.2, epochs: 1, width: 4, keep: 1}
    corruptions: {perturbations: [brightness, shot-noise], severities: [3], frames: 5}
"""

NETWORKS = '''
import torch


class Tiny(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.last = torch.nn.Linear(144, classes)

    def forward(self, images):
        return self.last(images.flatten(1))


class NoNumber(Tiny):
    """Learns like any other, and then says NaN."""

    def forward(self, images):
        said = super().forward(images)
        return said if self.training else said * float("nan")


def sound(classes):
    return Tiny(classes)


def no_number(classes):
    return NoNumber(classes)


def broken(classes):
    raise ValueError(f"no idea how to tell {classes} classes apart")
'''


def striped(n: int, seed: int) -> tuple[list[list[list[float]]], list[int]]:
    """Images with a bright stripe on the left, in the middle or on the right."""
    draw = np.random.default_rng(seed)
    codes = np.arange(n) % len(CLASSES)
    images = draw.uniform(0.0, 0.3, (n, SIDE, SIDE))
    for image, code in zip(images, codes, strict=True):
        image[:, 4 * code : 4 * code + 4] += 0.6
    return images.round(4).tolist(), codes.tolist()


def write_images(folder: Path) -> Path:
    """Parquet files with 60 images: of one class each, and of several labels each."""
    ids, images, codes, splits = [], [], [], []
    for seed, (split, n) in enumerate(ROWS.items()):
        pixels, truth = striped(n, seed)
        ids += [f"{split}-{at:02d}" for at in range(n)]
        images, codes, splits = images + pixels, codes + truth, splits + [split] * n
    arrays = pa.array(images, pa.list_(pa.list_(pa.float64())))
    labels = [CLASSES[code] for code in codes]
    pq.write_table(pa.table({"id": ids, "image": arrays, "label": labels, "split": splits}), folder / "images.parquet")
    several = {
        name: [int(code == at or row % 5 == 0) for row, code in enumerate(codes)]
        for at, name in enumerate(("mass", "nodule", "edema"))
    }
    several["edema"][7] = -1
    pq.write_table(pa.table({"id": ids, "image": arrays, **several, "split": splits}), folder / "several.parquet")
    (folder / "networks.py").write_text(NETWORKS)
    return folder


def project(folder: Path, config: str, *overrides: str) -> tuple[Project, str]:
    (folder / "pipelines.yaml").write_text(config)
    name = config.split("pipelines:\n  ")[1].split(":")[0]
    return load_project(
        folder / "pipelines.yaml", pipeline=name, overrides=overrides, store=str(folder / "store")
    ), name


def perform(folder: Path, config: str, *overrides: str, seed: int = 0) -> tuple[Run, Audit]:
    read, name = project(folder, config, *overrides)
    progress = Progress()
    run = Run(name, Store(read.store).open(), engine_of(read, progress), progress, seed=seed, compute=read.compute)
    with run:
        made = audit(read.pipeline(name), read.folder)
        run.record.status = "done"
    return run, made


def findings(run: Run) -> dict[tuple[str, str, str, str], Finding]:
    from assay.flows.report.records import read_table
    from assay.infra.storage.artifacts import Artifact

    record = next(stage for stage in run.record.stages if stage.stage == "conclude")
    found = findings_from(read_table(run.store, Artifact.from_json(record.outputs["result"])))
    return {(one.metric, one.of, one.group, one.subject): one for one in found}


def said(run: Run) -> set[tuple[str, str]]:
    """Which metric was measured of which subject."""
    return {(metric, subject) for metric, _, _, subject in findings(run)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def both(folder: Path) -> tuple[Run, Audit]:
    run, made = perform(folder, BOTH)
    assert made.failures == ()
    return run, made


def values(found: dict[Any, Finding], metric: str) -> dict[tuple[str, str, str], float | None]:
    return {key[1:]: one.value for key, one in found.items() if key[0] == metric}


def test_nothing_is_certain_before_the_first_run_but_that_it_begins(folder: Path, tmp_path: Path) -> None:
    write_images(tmp_path)
    read, name = project(tmp_path, BOTH)
    stages = walk_plan(read, read.pipeline(name))[0]
    assert (stages[0].stage, stages[0].outlook) == ("ingest", WILL_RUN)
    assert {one.outlook for one in stages[1:] if one.stage != "keep_paths"} == {MAY_RUN}
    names = [one.stage for one in stages]
    assert [
        names.count(stage)
        for stage in (
            "train_network",
            "train_generator",
            "attack_subject",
            "transfer_attacks",
            "worst_case",
            "corrupt_subjects",
        )
    ] == [2, 2, 6, 2, 2, 1]
    assert {one.where for one in stages if one.stage == "attack_subject"} == {"GPU workers, or CPU"}
    assert not (tmp_path / "store").exists()


def test_a_plan_names_the_stages_that_the_run_then_plays(both: tuple[Run, Audit], folder: Path) -> None:
    read, name = project(folder, BOTH)
    planned = walk_plan(read, read.pipeline(name))[0]
    assert [one.stage for one in planned] == [stage.stage for stage in both[0].record.stages]
    assert {one.outlook for one in planned} == {CACHED}


def test_every_subject_is_measured_clean_attacked_and_corrupted(both: tuple[Run, Audit]) -> None:
    run, made = both
    measured = said(run)
    for metric in (
        "subject.accuracy",
        "subject.auc",
        "attack.accuracy",
        "attack.auc",
        "attack.fooling_rate",
        "attack.transfer",
        "attack.red_flag",
        "corruption.flip_probability",
        "corruption.accuracy",
    ):
        assert {subject for one, subject in measured if one == metric} == {"plain", "half"}, metric
    assert {name: list(attacks) for name, attacks in made.results["attacks"].attacked.items()} == {
        "plain": ["pgd", "gap"],
        "half": ["pgd", "gap"],
    }


def test_what_is_audited_never_trained(both: tuple[Run, Audit]) -> None:
    run, made = both
    examination = made.results["subjects"]
    assert (examination.training.rows, examination.evaluation.rows) == (39, 21)
    assert findings(run)["subject.accuracy", "clean", "", "plain"].n == 21


def test_the_clean_point_of_every_attack_is_the_clean_accuracy(both: tuple[Run, Audit]) -> None:
    found = findings(both[0])
    for subject in ("plain", "half"):
        clean = found["subject.accuracy", "clean", "", subject].value
        assert [found["attack.accuracy", of, "eps=0", subject].value for of in ("pgd", "gap", "worst-case")] == [
            clean
        ] * 3


def test_the_worst_case_is_at_least_as_bad_as_every_attack(both: tuple[Run, Audit]) -> None:
    found = findings(both[0])
    for subject in ("plain", "half"):
        for of, group in (("pgd", "eps=0.1"), ("gap", "eps=0.2")):
            worst, alone = (found["attack.accuracy", name, group, subject].value for name in ("worst-case", of))
            assert worst is not None
            assert alone is not None
            assert worst <= alone


def test_generators_are_also_measured_on_the_images_they_learned_from(both: tuple[Run, Audit]) -> None:
    found = findings(both[0])
    trained = found["attack.accuracy", "gap", "eps=0.2, training", "plain"]
    assert trained.n == 39
    assert ("attack.accuracy", "pgd", "eps=0.1, training", "plain") not in found
    assert not any(of == "worst-case" and "training" in group for _, of, group, _ in found)


def test_transfer_is_a_full_matrix_whose_diagonal_is_the_attack_itself(both: tuple[Run, Audit]) -> None:
    found = findings(both[0])
    for of, eps in (("pgd", "eps=0.1"), ("gap", "eps=0.2")):
        matrix = {
            (group.partition("made for ")[2], subject): one.value
            for (metric, name, group, subject), one in found.items()
            if metric == "attack.transfer" and name == of and group.startswith(f"{eps},")
        }
        assert set(matrix) == {(a, b) for a in ("plain", "half") for b in ("plain", "half")}
        for subject in ("plain", "half"):
            assert matrix[subject, subject] == found["attack.accuracy", of, eps, subject].value


def test_flips_are_relative_to_the_reference_that_was_named(both: tuple[Run, Audit]) -> None:
    found = findings(both[0])
    relative = {key[3] for key in found if key[0] == "corruption.relative_flip_probability"}
    assert "plain" in relative
    assert found["corruption.accuracy", "translate", "severity=3", "plain"].n is not None
    assert {key[1] for key in found if key[0] == "corruption.flip_probability"} == {
        "gaussian-noise",
        "translate",
        "mean",
    }


def test_the_same_again_computes_nothing(both: tuple[Run, Audit], folder: Path) -> None:
    run, made = perform(folder, BOTH)
    assert made.failures == ()
    assert {stage.stage: stage.cached for stage in run.record.stages if not stage.cached} == {}


def test_another_name_teaches_and_predicts_nothing_anew(both: tuple[Run, Audit], folder: Path) -> None:
    run, _ = perform(folder, BOTH.replace("name: plain", "name: renamed"))
    redone = {stage.stage for stage in run.record.stages if not stage.cached}
    assert redone.isdisjoint({"ingest", "hold_out", "train_network", "predict_images", "train_generator"})
    old, new = findings(both[0]), findings(run)
    assert (
        new["attack.accuracy", "pgd", "eps=0.1", "renamed"].value
        == old["attack.accuracy", "pgd", "eps=0.1", "plain"].value
    )


def test_another_attack_leaves_the_others_as_they_are(both: tuple[Run, Audit], folder: Path) -> None:
    run, _ = perform(folder, BOTH.replace("      - gap", "      - fgsm: {eps: 0.1, keep: 0}\n      - gap"))
    assert sum(not stage.cached for stage in run.record.stages if stage.stage == "attack_subject") == 2
    anew = {stage.stage for stage in run.record.stages if not stage.cached}
    assert anew == {"attack_subject", "worst_case", "measure_attacks", "conclude"}


def test_the_report_shows_what_was_made(both: tuple[Run, Audit], folder: Path) -> None:
    from assay.flows.audits.table import KINDS
    from assay.flows.report.run_page import parts_of, settings_of
    from assay.flows.report.sentences import sentences

    run, made = both
    read, name = project(folder, BOTH)
    found = list(findings(run).values())
    with run:
        parts = list(parts_of(made, FindingIndex(found), []))
    assert [part.title for part in parts][:2] == ["Attacks", "Corruptions"]
    assert "Subjects on clean samples" in [part.title for part in parts]
    titles = [block.title for part in parts for block in part.blocks if hasattr(block, "title")]
    assert [title for title in titles if title.startswith(("plain: ", "half: "))] == [
        "plain: pgd at ε = 0.1",
        "plain: gap at ε = 0.2",
        "half: pgd at ε = 0.1",
        "half: gap at ε = 0.2",
    ]
    assert any("plain" in line.text for line in sentences(KINDS, FindingIndex(found)))
    stages = {row.stage for row in settings_of(read.pipeline(name))}
    assert {"attack pgd", "attack gap", "corruptions", "evaluation", "subject half"} <= stages


def test_several_labels_go_through_the_whole_chain(folder: Path) -> None:
    run, made = perform(folder, SEVERAL)
    assert made.failures == ()
    found = findings(run)
    assert found["subject.accuracy", "clean", "", "reader"].n == 21
    assert {group for metric, _, group, _ in found if metric == "subject.recall"} == {"mass", "nodule", "edema"}
    for of, group in (("fgsm", "eps=0.1"), ("gap", "eps=0.2"), ("worst-case", "eps=0.2"), ("gap", "eps=0.2, training")):
        assert found["attack.accuracy", of, group, "reader"].value is not None
    flips = found["corruption.flip_probability", "brightness", "severity=3", "reader"]
    assert flips.value is not None
    assert 0 <= flips.value <= 1


def three(*middle: str) -> str:
    subjects = "\n".join(
        f"      - {{name: {one}, network: 'networks.py:{one}', train: {{epochs: 1, batch_size: 16}}}}"
        for one in ("sound", *middle)
    )
    return (
        BOTH.split("    subjects:")[0] + f"    subjects:\n{subjects}\n    attacks:\n"
        "      - fgsm: {eps: 0.1, transfer: true, keep: 0}\n      - pgd: {eps: 0.1, steps: 2, keep: 0}\n"
        "    corruptions: {perturbations: [translate], severities: [3], frames: 5}\n"
    )


def test_a_subject_that_says_nan_or_cannot_be_built_falls_alone(folder: Path) -> None:
    run, made = perform(folder, three("no_number", "broken"))
    failed = run.record.failures
    assert [text.split(":")[0] for text in failed] == ["subject no_number", "subject broken"]
    assert "nan" in failed[0]
    assert "no idea how to tell 3 classes apart" in failed[1]
    assert [error.exit_code for error in made.failures] == [2, 2]
    measured = said(run)
    for metric in ("subject.accuracy", "attack.accuracy", "corruption.flip_probability"):
        assert {subject for one, subject in measured if one == metric} == {"sound"}, metric


def test_the_reference_of_the_flips_must_have_come_through(folder: Path) -> None:
    config = three("broken").replace("frames: 5}", "frames: 5, reference: broken}")
    run, _ = perform(folder, config)
    assert [text.split(":")[0] for text in run.record.failures] == ["subject broken", "corruptions"]
    assert "broken, which flips are compared with" in run.record.failures[1]
    assert ("attack.accuracy", "sound") in said(run)


def test_an_attack_that_breaks_leaves_the_others_and_the_other_subjects(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.flows.audits import images_flow as robustness

    real: Callable[..., Any] = robustness.attack_subject

    def fails_once(*arguments: Any) -> object:
        if "no_luck" in arguments and any(getattr(one, "called", "") == "pgd" for one in arguments):
            raise ZeroDivisionError("a bug in one attack")
        return real(*arguments)

    monkeypatch.setattr(robustness, "attack_subject", fails_once)
    (folder / "networks.py").write_text(NETWORKS + "\n\ndef no_luck(classes):\n    return Tiny(classes)\n")
    run, _ = perform(folder, three("no_luck"))
    assert run.record.failures == [
        "pgd on no_luck broke: ZeroDivisionError: a bug in one attack. Run again with --debug to see where."
    ]
    found = findings(run)
    attacked = {(of, subject) for metric, of, _, subject in found if metric == "attack.accuracy"}
    assert attacked == {("fgsm", "sound"), ("pgd", "sound"), ("worst-case", "sound"), ("fgsm", "no_luck")}
    assert {subject for metric, subject in said(run) if metric == "attack.transfer"} == {"sound", "no_luck"}
    assert {subject for metric, subject in said(run) if metric == "corruption.accuracy"} == {"sound", "no_luck"}
