"""Defended models go through the audit like their originals, and pipelines say early what cannot be defended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from repository import ROOT

from assay.data.published import XU_TABLE_5
from assay.flows.audit import Audit, audit
from assay.flows.audits.images_flow import audited_eps, compared_eps, variants
from assay.flows.audits.table import KINDS
from assay.flows.configuration.loading import Project, load_project
from assay.flows.export.model_cards import export_model
from assay.flows.report.comparison import outcomes_in
from assay.flows.report.run_page import parts_of, settings_of
from assay.flows.report.sentences import sentences
from assay.flows.running import engine_of
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, read_files
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.attacks.pgd import FGSM, PGD
from assay.tasks.attacks.table import PRESETS
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_from
from assay.tasks.statistics.multiplicity import family_size

SIDE, CLASSES = 12, ("left", "middle", "right")
PIPELINE = """
compute: {engine: serial}
pipelines:
  night:
    source: {parquet: images.parquet, id: id, image: image, label: label, split: split}
    subject: {name: plain, network: small-cnn, width: 0.25, train: {epochs: 4, batch_size: 16}}
    attacks:
      - pgd: {eps: [0.1, 0.2], steps: 3, transfer: true, keep: 1}
      - fgsm: {eps: 0.1, keep: 0}
    corruptions: {perturbations: [gaussian-noise], severities: [3], frames: 5}
    defenses: [standard, maadvt: {lambda: [1, 6], steps: 2}]
    smoothing: {train: false, defended: true, draws: 20, selection: 5, limit: 4}
    gates:
      - {finding: defense.mcnemar_p, of: standard, group: "eps=0.1, worst-case", verdict: better}
      - {finding: attack.accuracy, of: pgd, subject: plain+standard, group: "eps=0.1", at_least: 0.1}
"""


def write_images(folder: Path) -> None:
    """60 images with a bright stripe on the left, in the middle or on the right."""
    draw, rows = np.random.default_rng(0), []
    for row in range(60):
        image = draw.uniform(0, 0.4, (SIDE, SIDE))
        image[:, 4 * (row % 3) : 4 * (row % 3) + 4] += 0.5
        rows.append(
            {
                "id": f"i{row:02}",
                "image": image.tolist(),
                "label": CLASSES[row % 3],
                "split": "train" if row < 40 else "test",
            }
        )
    pq.write_table(pa.Table.from_pylist(rows), folder / "images.parquet")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Audit, list[Finding], str, list[object]]:
    folder = tmp_path_factory.mktemp("night")
    write_images(folder)
    (folder / "pipelines.yaml").write_text(PIPELINE)
    project = load_project(folder / "pipelines.yaml")
    pipeline, progress = project.pipeline("night"), Progress()
    store = Store(project.store).open()
    with Run("night", store, engine_of(project, progress), progress, compute=project.compute) as run:
        made = audit(pipeline, project.folder)
        run.record.outcomes, run.record.settings = (
            list(outcomes_in(KINDS, made.ground)),
            pipeline.model_dump(mode="json"),
        )
        findings = findings_from(collect(made.findings, None))
        card = read_files(made.results["attacks"].models["plain+standard"].files)["card.json"].decode()
        parts = list(parts_of(made, FindingIndex(findings), []))
    return project, made, findings, card, parts


@pytest.mark.slow
def test_every_defended_model_is_one_more_subject(audited):
    _, made, findings, card, _ = audited
    assert made.failures == ()
    names = ["plain", "plain+standard", "plain+maadvt-lambda=1", "plain+maadvt-lambda=6"]
    assert list(made.results["attacks"].models) == names
    for metric, of in (
        ("subject.accuracy", "clean"),
        ("attack.accuracy", "worst-case"),
        ("attack.red_flag", "zero-gradients"),
        ("attack.transfer", "pgd"),
        ("corruption.flip_probability", "mean"),
    ):
        assert {one.subject for one in findings if (one.metric, one.of) == (metric, of)} == set(names), metric
    assert '"defends": "plain"' in card


@pytest.mark.slow
def test_conclusions_are_few_and_drawn_at_the_audited_eps(audited):
    _, _, findings, _, _ = audited
    tests = [(one.of, one.group) for one in findings if one.metric == "defense.mcnemar_p"]
    assert set(tests) == {
        (of, group)
        for of in ("standard", "maadvt-lambda=1", "maadvt-lambda=6")
        for group in ("clean", "eps=0.1, worst-case")
    }
    assert len(tests) == 6
    others = [one.metric for one in findings if one.metric in ("defense.kept_p", "subject.above_constant_p")]
    assert family_size(findings) == len(tests) + len(others) == 13  # three defences, and the original
    assert all(one.p_adjusted is not None for one in findings if one.metric == "defense.mcnemar_p")


def test_defence_accuracy_is_that_of_the_attacked_subject(audited):
    _, _, findings, _, _ = audited
    found = {(one.metric, one.of, one.subject, one.group): one.value for one in findings}
    for defence, subject in (("none", "plain"), ("standard", "plain+standard")):
        for eps in ("eps=0.1", "eps=0.2"):
            worst = found["attack.accuracy", "worst-case", subject, eps]
            assert found["defense.accuracy", defence, "plain", eps] == worst
        assert found["defense.accuracy", defence, "plain", "clean"] == found["subject.accuracy", "clean", subject, ""]


def test_defended_models_are_certified_where_that_is_asked(audited):
    _, made, findings, _, _ = audited
    certified = {one.subject for one in findings if one.metric == "defense.certified_accuracy"}
    assert certified == set(made.results["attacks"].models)
    assert {how for _, how in made.results["smoothing"].models} == {"as-it-is"}


def test_the_report_has_a_part_on_defences_and_their_settings(audited):
    project, _, findings, _, parts = audited
    titles = [part.title for part in parts]
    assert titles.index("Defences") == titles.index("Attacks") + 1
    rows = {(row.stage, row.option): row.value for row in settings_of(project.pipeline("night"))}
    assert rows["defence maadvt", "lambda"] == "1.0, 6.0"
    assert any("plain" in line.text for line in sentences(KINDS, FindingIndex(findings)))


def test_a_defended_model_is_handed_out_and_named_as_a_subject(audited, tmp_path, monkeypatch):
    project, made, *_ = audited
    store = Store(project.store).open()
    record = store.runs()[-1]
    folder = tmp_path / "model"
    said = export_model(store, record, "plain+standard", folder)
    assert sorted(one.name for one in folder.iterdir()) == ["card.json", "model.safetensors", "subject.yaml"]
    assert said.startswith(f"{folder}: model.safetensors, card.json")
    start, end = PIPELINE.index("    subject: "), PIPELINE.index("    attacks:")
    lines = "".join(f"    {line}\n" for line in (folder / "subject.yaml").read_text().splitlines())
    later = project.folder / "later.yaml"
    attack = PIPELINE[end : PIPELINE.index("      - fgsm")]
    later.write_text(f"{PIPELINE[:start]}{lines}{attack}    defenses: [standard: {{steps: 1}}]\n")
    again = load_project(later)
    progress = Progress()
    with Run("later", Store(again.store).open(), engine_of(again, progress), progress, compute=again.compute):
        other = audit(again.pipeline("night"), again.folder)
        assert other.failures == ()
        subjects = [one.results["attacks"].models["plain+standard"] for one in (made, other)]
        assert subjects[0].predictions.digest == subjects[1].predictions.digest
        found = findings_from(collect(other.findings, None))
        tests = {(one.subject, one.group) for one in found if one.metric == "defense.mcnemar_p"}
        assert tests == {("plain+standard", "clean"), ("plain+standard", "eps=0.2, pgd")}  # one attack, no worst case
    with pytest.raises(InputError, match=r"did you mean plain\+standard\?"):
        export_model(store, record, "plain+standart", tmp_path / "other")
    with monkeypatch.context() as patched:
        patched.setattr("assay.flows.export.model_cards.defended_models", lambda *_: {"plain+maadvt-lambda=1": None})
        with pytest.raises(InputError, match=r"of that kind it has plain\+maadvt-lambda=1"):
            export_model(store, record, "plain+maadvt", tmp_path / "other")
    with pytest.raises(InputError, match="not empty"):
        export_model(store, record, "plain+standard", folder)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("defenses: [standard, standard]", "another defence is called standard"),
        ("defenses: [madvt]", "did you mean mpadvt"),
        ("defenses: [maadvt: {lamda: 3}]", "unknown key; did you mean lambda?"),
        ("defenses: [maadvt: {lambda: [-1]}]", "defenses.0.lambda"),
        ("defenses: [standard: {start: nowhere}]", "defenses.0.start"),
    ],
)
def test_defences_that_cannot_be_are_refused_by_line(tmp_path, line, complaint):
    write_images(tmp_path)
    text = "\n".join(line.rjust(len(line) + 4) if "defenses:" in one else one for one in PIPELINE.splitlines())
    (tmp_path / "pipelines.yaml").write_text(text)
    with pytest.raises(InputError, match=complaint.replace("?", r"\?")):
        load_project(tmp_path / "pipelines.yaml")


@pytest.mark.parametrize(
    ("replaced", "by", "complaint"),
    [
        ("label: label", "labels: [a, b]", "is for one class per image"),
        (
            "{parquet: images.parquet, id: id, image: image, label: label, split: split}",
            "{dataset: sample/chest}",
            "is for one class per image",
        ),
        (
            "    defenses: [standard, maadvt: {lambda: [1, 6], steps: 2}]\n",
            "",
            "there is only one subject, and nothing to transfer to",
        ),
        ("subject: plain+standard", "subject: plane+standard", "there is no such subject"),
        (
            "network: small-cnn, width: 0.25, train: {epochs: 4, batch_size: 16}",
            "model: logistic",
            "needs a subject for images",
        ),
    ],
)
def test_what_does_not_fit_the_subjects_is_refused(tmp_path, replaced, by, complaint):
    write_images(tmp_path)
    (tmp_path / "pipelines.yaml").write_text(PIPELINE.replace(replaced, by))
    with pytest.raises(InputError, match=complaint):
        load_project(tmp_path / "pipelines.yaml")


def test_a_defence_without_an_eps_needs_attacks(tmp_path):
    write_images(tmp_path)
    start, end = PIPELINE.index("    attacks:"), PIPELINE.index("    corruptions:")
    (tmp_path / "pipelines.yaml").write_text(PIPELINE[:start] + PIPELINE[end : PIPELINE.index("    gates:")])
    with pytest.raises(InputError, match="there are no attacks to take it from"):
        load_project(tmp_path / "pipelines.yaml")


def test_the_audits_eps_is_the_largest_that_all_attacks_try():
    assert audited_eps((PGD(eps=(0.0, 0.1, 0.3)), FGSM(eps=(0.05, 0.1)))) == 0.1
    assert audited_eps((PRESETS["xu-pgd-2"], PRESETS["xu-pgd-4"])) == 2 / 255
    with pytest.raises(InputError, match="needs an ε to defend against"):
        audited_eps(())


def test_our_own_pipelines_measure_what_table_5_looks_for():
    project = load_project(ROOT / "pipelines.yaml")
    for subject in XU_TABLE_5:
        pipeline = project.pipelines[subject.pipeline]
        made = {variant.called for variant in variants(pipeline)}
        assert made == {
            f"{name}-{start}"
            for name, value in subject.defences.items()
            if value is not None
            for start in ("subject", "scratch")
        }
        assert compared_eps(pipeline) == 4 / 255
        assert subject.subject in [one.name for one in pipeline.subjects]
    assert len(variants(project.pipelines["digits-defended"])) == 8
