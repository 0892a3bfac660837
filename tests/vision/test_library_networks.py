"""Networks of timm and torchvision by their name, through the whole chain: trained here, or with weights in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from image_project import image_project
from page_examples import perform
from safetensors.torch import load_file, save_file

from assay.data.images import pixels_of
from assay.flows.cli import answer
from assay.flows.starting.first_audit import Model, Wanted, proposal_for
from assay.infra.engines.devices import declare_image_operators
from assay.infra.errors import InputError
from assay.tasks.subjects.networks import libraries
from assay.tasks.subjects.networks.libraries import library_network, refer_to_library
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject

declare_image_operators()
import timm  # noqa: E402
import torchvision  # noqa: E402

NIGHT = """
pipelines:
  night:
    source: {images: scans, pixels: {size: 32, channels: 3}}
    evaluation: {holdout: 0.3, limit: 12}
    subject: {name: timm, model: "timm:test_resnet", block: 12, train: {epochs: 8, batch_size: 16, learning_rate: 0.01}}
    attacks:
      - pgd: {eps: [0.03, 0.3], steps: 5}
      - square: {eps: [0.3], queries: 20}
    corruptions: {perturbations: [gaussian-noise], severities: [1], frames: 3}
  brought:
    source: {images: scans, pixels: {size: 32, channels: 3}}
    evaluation: {holdout: 0.3, limit: 12}
    subject: {network: "timm:test_vit", weights: vit.safetensors, mean: &half [0.5, 0.5, 0.5], std: *half, block: 12}
    attacks: [fgsm]
    defenses: [{maadvt: {eps: 0.05, train: {epochs: 1}}}]
    diagnostics: {}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = image_project(tmp_path_factory.mktemp("scans"))
    torch.manual_seed(1)
    save_file(timm.create_model("test_vit", num_classes=3, img_size=32).state_dict(), place / "vit.safetensors")
    return place


def test_a_network_by_its_name_learns_and_is_attacked_by_its_gradient(folder: Path) -> None:
    _, findings = perform(folder, "night", NIGHT)
    clean = {one.subject: one.value for one in findings if one.metric == "subject.accuracy" and not one.group}
    attacked = {(one.subject, one.of, one.group): one.value for one in findings if one.metric == "attack.accuracy"}
    assert clean["timm"] is not None
    assert clean["timm"] > 0.9
    assert attacked["timm", "pgd", "eps=0.3"] == 0.0
    assert not [one for one in findings if one.metric == "attack.red_flag" and one.subject == "timm" and one.value]


@pytest.mark.parametrize("weights", [None, "vit.safetensors"])
def test_a_name_alone_is_enough_for_an_audit_and_its_weights_may_be_brought(
    folder: Path, monkeypatch: pytest.MonkeyPatch, weights: str | None
) -> None:
    monkeypatch.chdir(folder)
    model = Model("timm:test_vit", 300.0, weights=weights)
    proposal = proposal_for(Wanted("scans", Path(), "night", model=model), lambda question: question.asked)
    [subject] = next(line.value for line in proposal.lines if line.key == "subjects")
    assert subject["network"] == "timm:test_vit"
    assert ("train" in subject, subject.get("weights")) == (weights is None, weights)


def test_one_that_brings_its_weights_says_what_the_library_says_and_is_defended_and_looked_into(folder: Path) -> None:
    made, findings = perform(folder, "brought", NIGHT)
    examination = made.results["subjects"]
    samples, predictions = (
        pq.read_table(one.uri).sort_by("id") for one in (examination.evaluation, examination.predictions["subject"])
    )
    theirs = timm.create_model("test_vit", num_classes=3, img_size=32)
    theirs.load_state_dict(load_file(folder / "vit.safetensors"))
    with torch.inference_mode():
        said = theirs.eval()((torch.from_numpy(pixels_of(samples)) - 0.5) / 0.5).softmax(dim=1).numpy()
    ours = predictions["probabilities"].combine_chunks().flatten().to_numpy().reshape(-1, 3)
    np.testing.assert_allclose(ours, said, atol=1e-5)
    assert any(one.metric == "defense.accuracy" for one in findings)
    assert "diagnostics" in made.results


@pytest.mark.parametrize("name", ["timm:test_vit", "timm:test_convnext", "torchvision:shufflenet_v2_x0_5"])
def test_a_name_stands_for_the_librarys_own_network_seeded(name: str) -> None:
    network = refer_to_library(Subject(network=name, train={}), name, Path())
    built = [library_network(network, classes=3, channels=3, size=64, seed=seed).eval() for seed in (1, 1, 2)]
    states = [one.state_dict() for one in built]
    assert all(torch.equal(value, states[1][key]) for key, value in states[0].items())
    assert not all(torch.equal(value, states[2][key]) for key, value in states[0].items())
    library, _, short = name.partition(":")
    if library == "timm":
        theirs = timm.create_model(short, num_classes=3, **({"img_size": 64} if short == "test_vit" else {}))
    else:
        theirs = torchvision.models.get_model(short, weights=None, num_classes=3)
    theirs.load_state_dict(states[0])
    images = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.equal(built[0](images), theirs.eval()(images))


@pytest.mark.parametrize("name", ["torchvision:vit_b_32", "torchvision:maxvit_t", "torchvision:googlenet"])
def test_what_is_built_for_one_size_gets_this_one_and_what_answers_twice_answers_once(name: str) -> None:
    named = refer_to_library(Subject(network=name, train={}), name, Path())
    with torch.device("meta"):
        network = library_network(named, classes=3, channels=3, size=224, seed=0).train()
        assert network(torch.zeros(2, 3, 224, 224)).shape == (2, 3)


def test_another_version_of_the_library_is_another_network_and_no_worker_may_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Subject(network="timm:test_resnet", train={})
    now, again = resolve_subject(settings, Path()), resolve_subject(settings, Path())
    assert now.fingerprint == again.fingerprint
    assert now.library is not None
    monkeypatch.setattr(libraries, "version", lambda _: "0.9")
    assert resolve_subject(settings, Path()).fingerprint != now.fingerprint
    with pytest.raises(InputError, match=r"The run began with timm 1\..*, and this worker has 0\.9: install the same"):
        library_network(now.library, classes=3, channels=3, size=32, seed=0)


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("model: 'timm:resnet81', train: {}", 'has no network "resnet81" for classes; did you mean'),
        ("network: 'timm:hf-hub:org/x', train: {}", 'has no network "hf-hub:org/x" for classes'),
        ("network: 'timm:resnet18.a1_in1k', train: {}", "names pretrained weights (a1_in1k), and Assay fetches none"),
        ("network: 'torchvision:fasterrcnn_resnet50_fpn', train: {}", 'no network "fasterrcnn_resnet50_fpn" for'),
        ("network: 'timm:resnet18', weights: x.pth", "convert them with safetensors.torch.save_file"),
        ("network: 'timm:resnet18'", "needs either `train` (Assay trains the network) or `weights`"),
        ("network: 'timm:resnet18', train: {}, revision: a1", "`revision`, which says nothing about timm:resnet18"),
        ("classifier: 'timm:resnet18'", "is no address of a classifier"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], subject: str, told: str
) -> None:
    monkeypatch.chdir(folder)
    text = f"pipelines:\n  night:\n    source: {{images: scans}}\n    subject: {{{subject}}}\n"
    (folder / "pipelines.yaml").write_text(text)
    assert answer(["check"]) == 2
    heard = capsys.readouterr().err
    assert "pipelines.yaml:4:" in heard
    assert told in heard


@pytest.mark.parametrize(
    ("network", "told"),
    [
        ("torchvision:squeezenet1_1", "look at 3 channels, and these images have 1: let the source make them coloured"),
        ("timm:test_byobnet", None),
    ],
)
def test_torchvision_wants_colours_and_timm_takes_any(network: str, told: str | None) -> None:
    named = refer_to_library(Subject(network=network, train={}), network, Path())
    if told is None:
        built = library_network(named, classes=2, channels=1, size=32, seed=0)
        assert built.eval()(torch.zeros(2, 1, 32, 32)).shape == (2, 2)
        return
    with pytest.raises(InputError, match=told):
        library_network(named, classes=2, channels=1, size=32, seed=0)


def test_transformers_is_there_beside_a_torchvision_that_was_built_for_another_torch() -> None:
    import transformers

    assert transformers.BertForSequenceClassification.__name__ == "BertForSequenceClassification"
    assert transformers.ViTImageProcessor.__name__ == "ViTImageProcessor"
