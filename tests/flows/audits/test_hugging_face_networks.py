"""Image classifiers of Hugging Face through the whole chain: as they came, or trained further, under every attack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hugging_face_images import saved
from image_project import image_project
from page_examples import perform

from assay.flows.cli import answer
from assay.tasks.attacks.table import IMAGE_ATTACKS

ATTACKS = """
      - pgd: {eps: [0.03, 0.3], steps: 5}
      - fgsm: {eps: [0.3]}
      - square: {eps: [0.3], queries: 20}
      - gap: {eps: 0.3, epochs: 1, width: 8}
      - momentum-pgd: {eps: [0.3], steps: 3}
      - apgd: {eps: [0.3], steps: 5}
      - apgd-t: {eps: [0.3], steps: 5}
      - fab-t: {eps: [0.3], steps: 5}
      - autoattack: {eps: [0.3], steps: 2, classes: 1, queries: 10}
      - ddn: {eps: [2], steps: 5}
      - fmn: {eps: [0.3], steps: 5}
      - sparse-rs: {eps: [20], queries: 20}
      - hopskipjump: {eps: [0.3], queries: 60}
"""
NIGHT = f"""
pipelines:
  tuned:
    source: {{images: scans}}
    evaluation: {{holdout: 0.3, limit: 9}}
    subject: {{name: tuned, model: ./vit, block: 9, train: {{epochs: 8, batch_size: 16, learning_rate: 0.003}}}}
    attacks:{ATTACKS}
    corruptions: {{perturbations: [gaussian-noise], severities: [1], frames: 3}}
    diagnostics: {{}}
  came:
    source: {{images: scans}}
    evaluation: {{holdout: 0.3, limit: 9}}
    subject: {{name: came, model: ./resnet, block: 9}}
    attacks:
      - fgsm: {{eps: [0.1]}}
    defenses: [{{maadvt: {{eps: 0.05, train: {{epochs: 1}}}}}}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = image_project(tmp_path)
    for kind in ("vit", "resnet"):
        saved(place / kind, kind)
    return place


@pytest.mark.slow
def test_one_that_is_trained_further_learns_and_every_attack_follows_its_gradient(folder: Path) -> None:
    _, findings = perform(folder, "tuned", NIGHT)
    clean = next(one.value for one in findings if one.metric == "subject.accuracy" and not one.group)
    attacked = {(one.of, one.group): one.value for one in findings if one.metric == "attack.accuracy"}
    assert clean is not None
    assert clean > 0.9
    assert attacked["pgd", "eps=0.3"] == 0.0
    assert {of for of, _ in attacked} >= set(IMAGE_ATTACKS.words)
    assert any(one.metric == "corruption.flip_probability" for one in findings)


def test_one_that_comes_as_it_is_is_built_again_without_its_folder_and_defended(folder: Path) -> None:
    made, findings = perform(folder, "came", NIGHT)
    card = json.loads((Path(made.results["subjects"].subjects["came"].files.uri) / "card.json").read_text())
    assert card["normalisation"] == "as its preprocessor_config.json says"
    assert card["hugging_face"]["columns"] == [1, 2, 0]  # left, middle, right among right, left, middle
    assert card["hugging_face"]["shown"]["crop"] == [32, 32]
    assert any(one.metric == "attack.accuracy" and one.value is not None for one in findings)
    assert any(one.metric == "defense.accuracy" and one.value is not None for one in findings)


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("model: ./nowhere, revision: a1", 'There is no folder "'),
        (
            "model: org/name",
            "from the Hugging Face hub a network is fetched at one commit only: write it whole as `revision`",
        ),
        ("network: vit", "there is no such network; "),
        ("model: ./pickled", "are in pytorch_model.bin, which Assay does not open: a pickle can run code"),
        ("model: ./unprepared", '"./unprepared" has no preprocessor_config.json, which says how large its images are'),
        ("model: ./deep", "config.json says 100,001 layers, and at most 1,000 are built"),
        ("model: ./vit, weights: x.safetensors", "`weights`, which says nothing about ./vit: leave it out"),
        ("model: ./vit, mean: [0.5]", "`mean`, which says nothing about ./vit: leave it out"),
    ],
)
def test_a_wrong_folder_is_refused_with_its_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], subject: str, told: str
) -> None:
    saved(folder / "pickled", "vit")
    (folder / "pickled" / "model.safetensors").rename(folder / "pickled" / "pytorch_model.bin")
    saved(folder / "unprepared", "vit")
    (folder / "unprepared" / "preprocessor_config.json").unlink()
    config = saved(folder / "deep", "resnet") / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"depths": [1, 100_000]}))
    monkeypatch.chdir(folder)
    text = f"pipelines:\n  night:\n    source: {{images: scans}}\n    subject: {{{subject}}}\n"
    (folder / "pipelines.yaml").write_text(text)
    assert answer(["check"]) == 2
    heard = capsys.readouterr().err
    assert "pipelines.yaml:4:" in heard
    assert told in heard
