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
from assay.tasks.corruptions.imagenet_c import IMAGENET_C
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


def drawing(purpose):
    """The generator that the sample of `corrupted` draws from."""
    return Draws(SEEDS, ["a"]).generators(purpose)[0]


@pytest.mark.parametrize("side", [32, 224])
@pytest.mark.parametrize("severity", [1, 3, 4, 5])
def test_out_of_focus_every_point_is_the_authors_disc(side, severity):
    picture = photo(side, side)
    seen, at = corrupted("defocus-blur", severity, picture)
    radius, alias = at["radius"], at["alias"]
    half, taps = (8, 1) if radius <= 8 else (int(radius), 2)
    x, y = np.meshgrid(np.arange(-half, half + 1), np.arange(-half, half + 1))
    disc = (x**2 + y**2 <= radius**2).astype(float)
    weights = np.exp(-(np.arange(-taps, taps + 1) ** 2) / (2 * alias**2))
    weights /= weights.sum()
    disc = ndimage.correlate(disc / disc.sum(), np.outer(weights, weights), mode="mirror")
    expected = ndimage.correlate(picture / 255, disc[..., None], mode="mirror")
    np.testing.assert_allclose(seen, 255 * expected.clip(0, 1), atol=0.01)


@pytest.mark.parametrize("severity", [1, 4, 5])
def test_behind_glass_pixels_are_shuffled_as_the_authors_code_does(severity):
    picture = photo(40, 36)
    seen, at = corrupted("glass-blur", severity, picture)
    reach, rounds = max(1, round(at["reach"])), round(at["rounds"])
    x = np.uint8(ndimage.gaussian_filter(picture / 255, (at["sigma"], at["sigma"], 0), mode="nearest") * 255 + 1e-4)
    generator = drawing("glass")
    for _ in range(rounds):
        for h in range(40 - reach, reach, -1):
            for w in range(36 - reach, reach, -1):
                dx, dy = generator.integers(-reach, reach, size=(2,))
                x[h, w], x[h + dy, w + dx] = x[h + dy, w + dx], x[h, w]
    expected = ndimage.gaussian_filter(x / 255, (at["sigma"], at["sigma"], 0), mode="nearest")
    assert (np.abs(seen - 255 * expected) < 1).mean() > 0.995  # but where rounding to 8 bits falls the other way
    assert np.abs(seen - picture).mean() > 3


def published_plasma(generator, size, decay):
    """The authors' diamond-square algorithm, written out point by point."""
    points, step, wobble = np.zeros((size, size)), size, 100.0
    while step >= 2:
        half = step // 2
        for rows, columns, around in (
            (range(half, size, step), range(half, size, step), ((-1, -1), (-1, 1), (1, -1), (1, 1))),
            (range(0, size, step), range(half, size, step), ((-1, 0), (1, 0), (0, -1), (0, 1))),
            (range(half, size, step), range(0, size, step), ((-1, 0), (1, 0), (0, -1), (0, 1))),
        ):
            drawn = iter(generator.uniform(-wobble, wobble, (len(rows), len(columns))).ravel())
            for r in rows:
                for c in columns:
                    four = sum(points[(r + half * dr) % size, (c + half * dc) % size] for dr, dc in around)
                    points[r, c] = four / 4 + wobble * next(drawn)
        step, wobble = half, wobble / decay
    return (points - points.min()) / np.ptp(points)


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_fog_is_the_authors_fractal(severity):
    picture = photo(32, 27)
    seen, at = corrupted("fog", severity, picture)
    x = picture / 255
    x = x + at["amount"] * published_plasma(drawing("fog"), 32, at["decay"])[:, :27, None]
    brightest = picture.max() / 255
    np.testing.assert_allclose(seen, 255 * (x * brightest / (brightest + at["amount"])).clip(0, 1), atol=0.01)


@pytest.mark.parametrize("side", [32, 224])
@pytest.mark.parametrize("severity", [1, 3, 5])
def test_zoomed_by_steps_is_the_authors_sum(side, severity):
    picture = photo(side, side)
    seen, at = corrupted("zoom-blur-steps", severity, picture)
    x, factors = picture / 255, np.arange(1, at["stop"], at["step"])
    total = x.copy()
    for factor in factors:
        some = int(np.ceil(side / factor))
        top = (side - some) // 2
        larger = ndimage.zoom(x[top : top + some, top : top + some], (factor, factor, 1), order=1)
        trim = (larger.shape[0] - side) // 2
        total += larger[trim : trim + side, trim : trim + side]
    np.testing.assert_allclose(seen, 255 * total / (len(factors) + 1), atol=0.05)


@pytest.mark.parametrize(("side", "severity"), [(32, 1), (32, 2), (32, 5), (224, 2), (224, 3)])
def test_elastic_is_the_authors_map_and_waves(side, severity):
    picture = photo(side, side)
    seen, at = corrupted("elastic", severity, picture)
    generator, x = drawing("elastic"), picture / 255
    third, middle = side // 3, np.array([side // 2, side // 2])
    corners = np.array([middle + third, [middle[0] + third, middle[1] - third], middle - third], float)
    moved = corners + generator.uniform(-at["corner"], at["corner"], (3, 2))
    forth = np.vstack([np.linalg.solve(np.c_[corners, np.ones(3)], moved).T, [0, 0, 1]])
    back = np.linalg.inv(forth)[:2]
    down, across = np.mgrid[:side, :side].astype(float)
    source = np.einsum("ij,jhw->ihw", back, np.stack([across, down, np.ones_like(down)]))
    planes = [ndimage.map_coordinates(x[..., c], source[::-1], order=1, mode="mirror") for c in range(3)]
    sigma = max(at["sigma"], 1e-3)
    dx, dy = (
        at["amount"] * ndimage.gaussian_filter(generator.uniform(-1, 1, (side, side)), sigma, truncate=3)
        for _ in range(2)
    )
    places = [down + dy, across + dx]
    expected = [ndimage.map_coordinates(plane, places, order=1, mode="reflect") for plane in planes]
    np.testing.assert_allclose(seen, 255 * np.stack(expected, -1), atol=0.05)


@pytest.mark.parametrize("severity", [1, 5])
def test_brightness_of_imagenet_c_goes_up_alone(severity):
    picture = photo()
    seen, at = corrupted("brightness-up", severity, picture)
    value = picture.max(axis=2) / 255
    np.testing.assert_allclose(seen.max(axis=2), 255 * (value + at["amount"]).clip(0, 1), atol=0.01)
    with_both_ends = sequence(CORRUPTIONS.named("brightness"), severity, tensor_of(picture), Draws(SEEDS, ["a"]), 3)
    assert with_both_ends[0].mean() < tensor_of(picture).mean() < seen.mean() / 255


def test_the_default_stays_xu_et_al():
    assert Corruptions().perturbations == tuple(one.word for one in XU_ET_AL)


def test_the_preset_stands_for_fourteen_perturbations_wherever_it_is_written():
    written = Corruptions.model_validate("imagenet-c")
    assert len(written.perturbations) == 14
    assert "brightness" not in written.perturbations
    assert written == Corruptions(perturbations=IMAGENET_C) == Corruptions(perturbations="imagenet-c")
    assert Corruptions(perturbations=("imagenet-c", "rotate")).perturbations == (*IMAGENET_C, "rotate")
    with pytest.raises(ValueError, match="snow stands twice"):
        Corruptions(perturbations=("snow", "imagenet-c"))
    with pytest.raises(ValueError, match="'imagenet-c'"):
        Corruptions(perturbations="imagenet-d")


class Texture(torch.nn.Module):
    """Looks at nothing but how much neighbours differ: class 1 where they do."""

    def forward(self, images):
        rough = (images[..., 1:] - images[..., :-1]).abs().mean(dim=(1, 2, 3))
        return torch.stack([0.1 - rough, rough - 0.1], dim=1)


def test_who_sees_only_fine_texture_falls_by_larger_pixels_and_not_by_light():
    checks = np.tile(np.array([[0.3, 0.7], [0.7, 0.3]], np.float32), (112, 112))[None, None]
    shaded = checks + np.linspace(-0.1, 0.1, 8, dtype=np.float32)[:, None, None, None]
    model = ImageModel(Texture(), 2, False, (0.0,), (1.0,), block=8)
    words = ("pixelate", "brightness", "impulse-noise", "defocus-blur", "zoom-blur-steps", "brightness-up")
    settings = Corruptions(perturbations=words, severities=(3,), frames=3)
    ids = [str(row) for row in range(8)]
    right = {
        seen.corruption.word: seen.answers["texture"][-1].mean()
        for seen in answers_to_frames({"texture": model}, shaded, ids, np.zeros(8, bool), settings, SEEDS)
    }
    blurred = {"pixelate": 0, "defocus-blur": 0, "zoom-blur-steps": 0}
    assert right == {**blurred, "brightness": 1, "impulse-noise": 1, "brightness-up": 1}
