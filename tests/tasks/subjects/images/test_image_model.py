"""The wrapper owns bounds and normalisation, answers the same in any batch, and says what is wrong by name."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.infra.errors import InputError
from assay.tasks.subjects.images import model as image_model
from assay.tasks.subjects.images.model import ImageModel, load_image_model, said
from assay.tasks.subjects.networks.building import build_network
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import NETWORKS, Subject, Training
from assay.tasks.subjects.trained import weights_of

SUBJECT = ResolvedSubject(Subject(name="plain", network="small-cnn", train=Training()))


class Brightness(torch.nn.Module):
    """Two logits: the mean of what it is shown, and its negative."""

    def forward(self, images):
        mean = images.mean(dim=(1, 2, 3))
        return torch.stack([mean, -mean], dim=1)


def model(network=None, **options) -> ImageModel:
    shown = {"classes": 2, "multilabel": False, "mean": (0.25,), "std": (0.5,), **options}
    return ImageModel(network or Brightness(), **shown)


def pixels(n: int, channels: int = 1, size: int = 32) -> np.ndarray:
    return np.random.default_rng(n).random((n, channels, size, size), dtype=np.float32)


def test_pixels_are_normalised_inside():
    images = torch.full((1, 1, 4, 4), 0.75)
    assert model().logits(images).tolist() == [[1.0, -1.0]]  # (0.75 − 0.25) / 0.5


def test_a_gradient_is_in_pixel_space():
    images = torch.full((1, 1, 2, 2), 0.5, requires_grad=True)
    model().logits(images)[:, 0].sum().backward()
    torch.testing.assert_close(images.grad, torch.full((1, 1, 2, 2), 1 / 4 / 0.5))


def test_a_model_that_has_predicted_still_gives_gradients():
    network = build_network("small-cnn", classes=2, channels=1, size=32).eval()
    subject = model(load_image_model(SUBJECT, files_of(network)).network)
    subject.predict(pixels(2))
    images = torch.from_numpy(pixels(2)).requires_grad_()
    subject.probabilities(images)[:, 0].sum().backward()
    assert images.grad.abs().sum() > 0


@pytest.mark.parametrize("name", ["small-cnn", "resnet50", "attnmel"])
def test_an_image_gets_the_same_bits_among_any_others(name):
    network = build_network(name, classes=3, channels=1, size=32, width=0.125).eval()
    subject, images = model(network, classes=3, block=8), pixels(19)
    whole = subject.predict(images)
    alone = np.concatenate([subject.predict(images[row : row + 1]) for row in range(19)])
    cut = np.concatenate([subject.predict(images[:5]), subject.predict(images[5:])])
    assert whole.tobytes() == alone.tobytes() == cut.tobytes()
    np.testing.assert_allclose(whole.sum(axis=1), 1)


def test_no_images_give_no_probabilities():
    assert model().predict(np.zeros((0, 0, 0, 0), np.float32)).shape == (0, 2)


@pytest.mark.parametrize(("value", "shown"), [(1.5, "1.5"), (-0.1, "-0.1"), (float("nan"), "nan")])
def test_a_value_that_is_no_pixel_is_refused_with_its_sample(value, shown):
    images = pixels(3)
    images[1, 0, 5, 5] = value
    with pytest.raises(InputError, match=f"sample 'b' holds the value {shown}, expected values from 0 to 1"):
        model().predict(images, ["a", "b", "c"])


def test_a_subject_that_answers_nan_is_refused_with_the_sample():
    class Sick(Brightness):
        def forward(self, images):
            logits = super().forward(images)
            return torch.where(images[:, :, 0, 0] > 0.2, logits, torch.nan)

    images = np.full((3, 1, 4, 4), 0.9, np.float32)
    images[2] = 0.0
    with pytest.raises(InputError, match=r"The subject subject returned \[nan, nan\] for sample 'c'"):
        model(Sick()).predict(images, ["a", "b", "c"])


def test_labels_get_a_sigmoid_each_and_a_softmaxed_network_none():
    images = torch.full((1, 1, 4, 4), 0.75)
    assert model(multilabel=True).probabilities(images)[0].tolist() == pytest.approx([0.7310586, 0.2689414])
    assert model(softmaxed=True).probabilities(images).tolist() == [[1.0, -1.0]]


def test_what_is_said():
    assert said(np.array([[0.1, 0.9], [0.5, 0.5]]), multilabel=False).tolist() == [1, 0]
    assert said(np.array([[0.1, 0.9], [0.5, 0.5]]), multilabel=True).tolist() == [[False, True], [True, True]]


CARD = {"classes": 2, "channels": 1, "size": 32, "multilabel": False, "mean": [0.5], "std": [0.25], "softmaxed": False}


def files_of(network: torch.nn.Module, **card) -> dict[str, bytes]:
    whole = {**CARD, **card}
    return {"card.json": json.dumps(whole).encode(), "model.safetensors": weights_of(network)}


def test_a_model_comes_back_from_its_files_bit_for_bit():
    network = build_network("small-cnn", classes=2, channels=1, size=32, seed=5).eval()
    loaded = load_image_model(SUBJECT, files_of(network))
    direct = ImageModel(network, 2, False, (0.5,), (0.25,))
    assert loaded.predict(pixels(9)).tobytes() == direct.predict(pixels(9)).tobytes()
    assert load_image_model(SUBJECT, files_of(network)) is loaded  # a worker builds it once
    assert not any(weights.requires_grad for weights in loaded.network.parameters())


def test_a_builder_may_give_torchscript(tmp_path: Path):
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, stride=16), torch.nn.Flatten(), torch.nn.Linear(8, 2)).eval()
    torch.jit.script(network).save(tmp_path / "net.pt")
    (tmp_path / "net.py").write_text("import torch\ndef build():\n    return torch.jit.load('net.pt')\n")
    subject = resolve_subject(Subject(network="net.py:build", train=Training()), tmp_path)
    loaded = load_image_model(subject, files_of(network))
    direct = ImageModel(network, 2, False, (0.5,), (0.25,))
    assert loaded.predict(pixels(9)) == pytest.approx(direct.predict(pixels(9)), abs=1e-6)


def test_other_weights_are_another_model():
    one, other = (build_network("small-cnn", classes=2, channels=1, size=32, seed=seed) for seed in (1, 2))
    first, second = (load_image_model(SUBJECT, files_of(network)) for network in (one, other))
    assert first.predict(pixels(2)).tolist() != second.predict(pixels(2)).tolist()


def test_six_subjects_that_take_turns_are_loaded_once_each(monkeypatch):
    loads = []
    plainly = image_model._load
    monkeypatch.setattr(image_model, "_load", lambda *given: loads.append(given) or plainly(*given))
    files = [files_of(build_network("small-cnn", classes=2, channels=1, size=32, seed=seed)) for seed in range(20, 26)]
    for _ in range(3):
        for one in files:
            load_image_model(SUBJECT, one)
    assert len(loads) == 6


def test_what_was_not_asked_for_longest_makes_room(monkeypatch):
    files = [files_of(build_network("small-cnn", classes=2, channels=1, size=32, seed=seed)) for seed in (30, 31, 32)]
    monkeypatch.setattr(image_model, "_loaded", {})
    monkeypatch.setattr(image_model, "KEPT_BYTES", 2 * len(files[0]["model.safetensors"]))
    first, second = (load_image_model(SUBJECT, one) for one in files[:2])
    assert load_image_model(SUBJECT, files[0]) is first
    third = load_image_model(SUBJECT, files[2])
    assert [model for model, _ in image_model._loaded.values()] == [first, third]
    assert second is not load_image_model(SUBJECT, files[1])


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_comes_back_with_its_own_weights_and_none_that_were_drawn(name):
    network = build_network(name, classes=2, channels=3, size=96, width=0.0625, seed=7).eval()
    subject = ResolvedSubject(Subject(name=name, network=name, width=0.0625, train=Training()))
    loaded = image_model._load(subject, {**CARD, "channels": 3, "size": 96}, weights_of(network), "cpu").network
    saved, found = network.state_dict(), loaded.state_dict()
    assert list(saved) == list(found)
    assert all(torch.equal(saved[key], found[key]) and saved[key].dtype == found[key].dtype for key in saved)
    assert not [key for key, buffer in loaded.named_buffers() if buffer.is_meta]
    images = torch.rand(2, 3, 96, 96)
    assert torch.equal(network(images), loaded(images))


def test_a_network_looks_at_as_many_images_at_a_time_as_the_subject_says():
    seen = []

    class Counting(Brightness):
        def forward(self, images):
            seen.append(len(images))
            return super().forward(images)

    subject = Subject(name="plain", network="small-cnn", train=Training(), block=8)
    network = build_network("small-cnn", classes=2, channels=1, size=32)
    loaded = load_image_model(ResolvedSubject(subject), files_of(network))
    assert loaded.block == 8
    model(Counting(), block=loaded.block).predict(pixels(20))
    assert seen == [8, 8, 8]
    plain = subject.model_copy(update={"block": 64})
    assert ResolvedSubject(subject).fingerprint != ResolvedSubject(plain).fingerprint == SUBJECT.fingerprint


def test_weights_that_do_not_fit_are_refused_in_words():
    wide = build_network("small-cnn", classes=3, channels=1, size=32)
    with pytest.raises(InputError, match=r"The weights do not fit the network of plain: .*size mismatch for head"):
        load_image_model(SUBJECT, files_of(wide))
    files = files_of(wide) | {"model.safetensors": b"\x80\x04not safetensors"}
    with pytest.raises(InputError, match="The weights of plain are no safetensors file"):
        load_image_model(SUBJECT, files)


@pytest.mark.parametrize(("file", "why"), [("model.pt", "a pickle"), ("model.pt2", "unpickles what is in it")])
def test_a_pickle_instead_of_weights_is_refused(tmp_path: Path, file, why):
    (tmp_path / file).write_bytes(b"PK")
    with pytest.raises(InputError, match=why):
        resolve_subject(Subject(network="small-cnn", weights=file), tmp_path)


def test_labels_get_the_same_bits_wherever_in_a_block_their_image_stands():
    """Torch's own sigmoid gives others to what is left of a block that fills no vector register."""
    from tiny_subjects import tiny_images, tiny_model

    labels, pixels = tiny_model(3, multilabel=True, block=64), tiny_images(60).numpy()
    whole = labels.predict(pixels)
    for cut in range(1, 60):
        parts = np.concatenate([labels.predict(pixels[:cut]), labels.predict(pixels[cut:])])
        assert np.array_equal(parts, whole), cut
