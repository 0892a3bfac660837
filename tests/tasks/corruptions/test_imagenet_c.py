"""The corruptions of ImageNet-C are those of the authors' formulas, computed here once more by other means."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage

from assay.infra.stages.exact import Seeds
from assay.tasks.corruptions.camera import Draws
from assay.tasks.corruptions.choice import constants, sequence
from assay.tasks.corruptions.table import CORRUPTIONS, XU_ET_AL, Corruptions
from assay.tasks.corruptions.task import answers_to_frames
from assay.tasks.subjects.images.model import ImageModel

torch.set_num_threads(1)
SEEDS = Seeds(0, "corrupt_subjects")


def photo(height=32, width=32, channels=3, seed=0):
    """A picture of 8 bits with edges and texture, [h, w, c]."""
    drawn = np.random.default_rng(seed).random((height, width, channels))
    smooth = ndimage.gaussian_filter(drawn, (1.5, 1.5, 0))
    return np.rint(255 * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.uint8)


def tensor_of(picture):
    return torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None].contiguous()


def corrupted(word, severity, picture):
    """The last frame, in levels of 255, and the constants."""
    made = sequence(CORRUPTIONS.named(word), severity, tensor_of(picture), Draws(SEEDS, ["a"]), 3)[-1, 0]
    levels = constants(CORRUPTIONS.named(word).levels, severity, *picture.shape[:2])
    return made.permute(1, 2, 0).numpy() * 255, levels


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_contrast_is_the_formula(severity):
    picture, x = photo(), photo() / 255
    flat, at = corrupted("contrast", severity, picture)
    mean = x.mean(axis=(0, 1))
    np.testing.assert_allclose(flat, 255 * ((x - mean) * at["share"] + mean), atol=1e-3)


@pytest.mark.parametrize("size", [(32, 32), (224, 224), (20, 33)])
@pytest.mark.parametrize("severity", [1, 5])
def test_pixelate_and_jpeg_are_what_pillow_makes(size, severity):
    picture = photo(*size)
    seen, at = corrupted("pixelate", severity, picture)
    small = Image.fromarray(picture).resize([int(side * at["share"]) for side in size[::-1]], Image.Resampling.BOX)
    np.testing.assert_allclose(seen, np.asarray(small.resize(size[::-1], Image.Resampling.BOX)), atol=1e-3)
    assert corrupted("pixelate", severity, photo(1, 40))[0].shape == (1, 40, 3)  # a line stays one
    seen, at = corrupted("jpeg", severity, picture)
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=round(at["quality"]))
    np.testing.assert_allclose(seen, np.asarray(Image.open(file)), atol=1e-3)


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_impulses_are_black_or_white_and_as_many_as_the_amount_says(severity):
    picture = np.full((100, 100, 3), 128, np.uint8)
    seen, at = corrupted("impulse-noise", severity, picture)
    black, white = (seen == 0).mean(), (seen == 255).mean()
    np.testing.assert_allclose([black, white], at["amount"] / 2, atol=0.01)
    assert (seen == 0).sum() + (seen == 255).sum() + np.isclose(seen, 128).sum() == seen.size


def test_the_default_stays_xu_et_al():
    assert Corruptions().perturbations == tuple(one.word for one in XU_ET_AL)


class Texture(torch.nn.Module):
    """Looks at nothing but how much neighbours differ: class 1 where they do."""

    def forward(self, images):
        rough = (images[..., 1:] - images[..., :-1]).abs().mean(dim=(1, 2, 3))
        return torch.stack([0.1 - rough, rough - 0.1], dim=1)


def test_who_sees_only_fine_texture_falls_by_larger_pixels_and_not_by_light():
    checks = np.tile(np.array([[0.3, 0.7], [0.7, 0.3]], np.float32), (112, 112))[None, None]
    shaded = checks + np.linspace(-0.1, 0.1, 8, dtype=np.float32)[:, None, None, None]
    model = ImageModel(Texture(), 2, False, (0.0,), (1.0,), block=8)
    words = ("pixelate", "brightness", "impulse-noise")
    settings = Corruptions(perturbations=words, severities=(3,), frames=3)
    ids = [str(row) for row in range(8)]
    right = {
        seen.corruption.word: seen.answers["texture"][-1].mean()
        for seen in answers_to_frames({"texture": model}, shaded, ids, np.zeros(8, bool), settings, SEEDS)
    }
    assert right == {"pixelate": 0, "brightness": 1, "impulse-noise": 1}
