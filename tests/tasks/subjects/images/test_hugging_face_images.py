"""Hugging Face's image classifiers say here what they say in transformers, and gradients reach the image."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hugging_face_images import makes, saved
from PIL import Image

from assay.infra.errors import InputError
from assay.tasks.subjects.images.given_networks import (
    ABOUT,
    FILTERS,
    network_as_it_came,
    network_of_card,
    preprocessing_of,
    resampling_matrix,
)
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject

CLASSES = ("left", "middle", "right")
OURS = (1, 2, 0)  # where these stand among the network's own
KINDS = ("vit", "deit", "dinov2", "resnet", "convnext")


def pictures(height: int = 41, width: int = 37, channels: int = 3) -> np.ndarray:
    """Smooth pictures of 8 bits, [n, c, h, w]."""
    draw = np.random.default_rng(0).uniform(0, 255, (4, channels, 6, 6))
    down, across = (resampling_matrix(6, side, 3) for side in (height, width))
    return np.asarray(np.clip(down @ draw @ across.T, 0, 255).astype(np.uint8))


@pytest.mark.parametrize("number", FILTERS)
@pytest.mark.parametrize(("before", "after"), [(17, 41), (41, 17), (32, 224), (30, 30), (5, 4)])
def test_images_are_drawn_as_pillow_draws_them(number: int, before: int, after: int) -> None:
    picture = np.random.default_rng(0).random((before, before + 3), dtype=np.float32)
    theirs = np.asarray(Image.fromarray(picture, mode="F").resize((after + 2, after), resample=number))
    ours = resampling_matrix(before, after, number) @ picture @ resampling_matrix(before + 3, after + 2, number).T
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(41, 37), (32, 32), (20, 50)])
def test_a_network_is_shown_what_its_processor_would_show_it(kind: str, shape: tuple[int, int]) -> None:
    _, processor = makes(kind)
    images = pictures(*shape)
    theirs = processor(images=[Image.fromarray(one.transpose(1, 2, 0)) for one in images], return_tensors="np")
    ours = preprocessing_of(processor, 3, "it")(torch.from_numpy(images / np.float32(255))).numpy()
    assert ours.shape == theirs["pixel_values"].shape
    levels = np.abs(ours - theirs["pixel_values"]) * 255 * np.array(processor.image_std).reshape(1, 3, 1, 1)
    assert levels.max() < 2.1  # Pillow rounds to whole levels twice, of which bicubic overshoots make more
    assert levels.mean() < 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_its_logits_are_those_of_transformers_class_by_name_and_a_gradient_reaches_the_image(
    tmp_path: Path, kind: str
) -> None:
    saved(tmp_path / "net", kind)
    network, processor = makes(kind)
    subject = resolve_subject(Subject(network="./net"), tmp_path)
    ours = network_as_it_came(subject, CLASSES, 0).eval()
    images = pictures(32, 32)
    shown = processor(images=[Image.fromarray(one.transpose(1, 2, 0)) for one in images], return_tensors="pt")
    pixels = torch.from_numpy(images / np.float32(255)).requires_grad_()
    said = ours(pixels)
    theirs = network.eval()(**shown).logits[:, list(OURS)].detach()
    torch.testing.assert_close(said.detach(), theirs, atol=0.02 * float(theirs.std()) + 1e-5, rtol=0)
    said.sum().backward()
    assert pixels.grad is not None
    assert bool((pixels.grad.abs().amax(dim=(1, 2, 3)) > 0).all())
    again = network_of_card(json.loads(json.dumps(ours.about))[ABOUT]).eval()
    again.load_state_dict(ours.state_dict())
    assert torch.equal(again(pixels), said)


def test_grey_images_are_shown_in_three_channels(tmp_path: Path) -> None:
    saved(tmp_path / "net", "vit")
    network = network_as_it_came(resolve_subject(Subject(network="./net"), tmp_path), CLASSES, 0).eval()
    grey = torch.rand(2, 1, 24, 24, generator=torch.Generator().manual_seed(0))
    assert torch.equal(network(grey), network(grey.repeat(1, 3, 1, 1)))


def test_a_hub_id_is_read_at_its_commit_out_of_the_cache_and_never_at_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789" * 4
    saved(tmp_path / "hub" / "models--org--net" / "snapshots" / commit, "vit")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    subject = resolve_subject(Subject(network="org/net", revision=commit), tmp_path)
    assert subject.source is not None
    assert subject.source.commit == commit
    saved(tmp_path / "net", "vit")
    here = network_as_it_came(resolve_subject(Subject(network="./net"), tmp_path), CLASSES, 0)
    fetched = network_as_it_came(subject, CLASSES, 0)
    assert all(torch.equal(value, here.state_dict()[name]) for name, value in fetched.state_dict().items())
    with pytest.raises(InputError, match="fetched at one commit only: write it whole as `revision`"):
        resolve_subject(Subject(network="org/net", revision="main"), tmp_path)


def test_a_processor_nobody_knows_is_refused_by_name() -> None:
    from transformers import LevitImageProcessor

    with pytest.raises(InputError, match=r"It has the image processor LevitImageProcessor, of which .* known are ViT"):
        preprocessing_of(LevitImageProcessor(), 3, "It")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"image_mean": [0.5]}, r"looks at 3 channels, and its preprocessor_config.json has the image_mean \[0.5\]"),
        ({"image_std": [0.0, 1.0, 1.0]}, r"the latter above 0"),
        ({"size": {"height": 10**6, "width": 8}}, r"wants images of \(1000000, 8\) pixels, and 1 to 4096 are shown"),
        ({"resample": 0}, r"resampled by filter 0; known are 1 \(lanczos\)"),
    ],
)
def test_numbers_that_no_processor_has_are_refused(tmp_path: Path, changed: dict[str, object], told: str) -> None:
    place = saved(tmp_path / "net", "vit") / "preprocessor_config.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | changed))
    with pytest.raises(InputError, match=told):
        network_as_it_came(resolve_subject(Subject(network="./net"), tmp_path), CLASSES, 0)


def test_a_changed_processor_is_another_subject(tmp_path: Path) -> None:
    place = saved(tmp_path / "net", "vit") / "preprocessor_config.json"
    settings = Subject(network="./net")
    before = resolve_subject(settings, tmp_path).fingerprint
    assert resolve_subject(settings, tmp_path).fingerprint == before
    place.write_text(place.read_text().replace("0.5", "0.4"))
    assert resolve_subject(settings, tmp_path).fingerprint != before


def test_classes_of_other_names_are_refused_and_code_in_a_folder_is_never_run(tmp_path: Path) -> None:
    saved(tmp_path / "cats", "vit", ("cat", "dog", "cow"))
    config = saved(tmp_path / "coded", "vit") / "config.json"
    theirs = {"AutoConfig": "x.C", "AutoModelForImageClassification": "x.M"}
    config.write_text(json.dumps({"model_type": "theirs", "auto_map": theirs}))
    place = saved(tmp_path / "processed", "vit") / "preprocessor_config.json"
    place.write_text(json.dumps({"image_processor_type": "Theirs", "auto_map": {"AutoImageProcessor": "x.P"}}))
    for name in ("coded", "processed"):
        (tmp_path / name / "x.py").write_text("raise SystemExit('executed')\n")
    unread = "cannot be read as a classifier of images"
    for name, told in (("cats", "answers with cat, dog, cow, and"), ("coded", unread), ("processed", unread)):
        subject = resolve_subject(Subject(network=f"./{name}"), tmp_path)
        with pytest.raises(InputError, match=told):
            network_as_it_came(subject, CLASSES, 0)
