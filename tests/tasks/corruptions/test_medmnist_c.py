"""The corruptions of MedMNIST-C are those of the authors' package, computed here once more by other means."""

import colorsys

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageEnhance
from scipy import ndimage

from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import check_plugin
from assay.tasks.corruptions.camera import Draws
from assay.tasks.corruptions.choice import sequence
from assay.tasks.corruptions.medmnist_c import UNLISTED
from assay.tasks.corruptions.page import page
from assay.tasks.corruptions.table import CORRUPTIONS, MEDMNIST_C, PRESETS, Corruptions
from assay.tasks.statistics.findings import Finding, FindingIndex

torch.set_num_threads(1)
SEEDS = Seeds(0, "corrupt_subjects")


def photo(side=224, channels=3):
    """A picture of 8 bits with edges, texture, and grey places."""
    drawn = np.random.default_rng(0).random((side, side, channels))
    smooth = ndimage.gaussian_filter(drawn, (1.5, 1.5, 0))
    picture = np.rint(255 * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.uint8)
    picture[:9] = picture[:9, :, :1]
    return picture


def corrupted(word, severity, picture):
    """The last frame in levels of 255."""
    images = torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None].contiguous()
    made = sequence(CORRUPTIONS.named(word), severity, images, Draws(SEEDS, ["a"]), 3)[-1, 0]
    return made.permute(1, 2, 0).numpy() * 255


def within_a_level(ours, theirs):
    assert np.abs(ours - np.asarray(theirs, np.float64)).max() <= 1


@pytest.mark.parametrize(("severity", "up", "down"), [(1, 1.1, 0.9), (5, 1.5, 0.5)])
def test_brightness_and_contrast_are_pillows(severity, up, down):
    picture = photo()
    image = Image.fromarray(picture)
    for name, factor in (("up", up), ("down", down)):
        within_a_level(
            corrupted(f"dermamnist/brightness-{name}", severity, picture),
            ImageEnhance.Brightness(image).enhance(factor),
        )
    for name, factor in (("up", (1.1, 1.6)[severity == 5]), ("down", (0.8, 0.4)[severity == 5])):
        within_a_level(
            corrupted(f"dermamnist/contrast-{name}", severity, picture), ImageEnhance.Contrast(image).enhance(factor)
        )


def test_gamma_is_a_power_and_saturation_is_added_in_hsv():
    picture = photo(48)
    within_a_level(corrupted("chestmnist/gamma-corr-up", 5, picture), np.floor(255.999 * (picture / 255) ** 1.6))
    within_a_level(corrupted("chestmnist/gamma-corr-down", 1, picture), np.floor(255.999 * (picture / 255) ** 0.9))

    def more(pixel):
        hue, saturation, value = colorsys.rgb_to_hsv(*(pixel / 255))
        return 255 * np.array(colorsys.hsv_to_rgb(hue, min(saturation + 0.25, 1), value))

    within_a_level(corrupted("pathmnist/saturate", 5, picture), np.apply_along_axis(more, 2, picture))


def test_gaussian_blur_goes_by_the_number_of_pixels_as_torchvisions_does():
    picture, at = photo(), np.arange(-10, 11)
    weights = np.exp(-0.5 * (at / (21 * 0.15 + 0.35)) ** 2)
    blurred = picture.astype(np.float64)
    for axis in (0, 1):
        blurred = ndimage.correlate1d(blurred, weights / weights.sum(), axis, mode="mirror")
    within_a_level(corrupted("organamnist/gaussian-blur", 5, picture), blurred)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_a_black_corner_is_outside_a_disc(severity):
    picture = photo()
    radius = int(112 * (1.10, 1.05, 1.00, 0.90, 0.95)[severity - 1])
    down, across = np.mgrid[-112:112, -112:112]
    expected = picture * (down**2 + across**2 <= radius**2)[..., None]
    within_a_level(corrupted("dermamnist/black-corner", severity, picture), expected)


def test_bubbles_are_drawn_as_the_authors_draw_them():
    picture = photo()
    image = Image.fromarray(picture)
    layer = Image.new("RGBA", image.size, (255, 255, 255, 0))
    drawing, generator = ImageDraw.Draw(layer), SEEDS.generator("bubbles/a")
    for _ in range(generator.integers(7, 15, endpoint=True)):
        radius = int(generator.integers(3, 10, endpoint=True))
        x, y = (int(generator.integers(radius, 224 - radius, endpoint=True)) for _ in range(2))
        for reach, alpha in ((radius + 2, 130), (radius, 100)):
            drawing.ellipse((x - reach, y - reach, x + reach, y + reach), fill=(255, 255, 255, alpha))
    image.paste(layer, (0, 0), layer)
    within_a_level(corrupted("pathmnist/bubble", 2, picture), image)


@pytest.mark.parametrize("corruption", [*UNLISTED, *MEDMNIST_C["dermamnist"]], ids=lambda made: made.word)
def test_each_keeps_what_perturbations_promise(corruption):
    if corruption in UNLISTED:  # with constants of their own they would change nothing
        name = next(made.word for some in MEDMNIST_C.values() for made in some if made.make is corruption.make)
        corruption = CORRUPTIONS.named(name)
    assert check_plugin(corruption) == []


def test_a_preset_stands_for_the_corruptions_of_its_data_set_and_the_page_says_what_is_missing():
    assert Corruptions.model_validate("medmnist-c/dermamnist").perturbations == PRESETS["medmnist-c/dermamnist"]
    assert {name.partition("/")[2]: len(words) for name, words in PRESETS.items() if "/" in name} == {
        "pathmnist": 10,
        "bloodmnist": 10,
        "dermamnist": 14,
        "retinamnist": 8,
        "tissuemnist": 8,
        "octmnist": 6,
        **dict.fromkeys(("chestmnist", "pneumoniamnist", "organamnist", "organcmnist", "organsmnist"), 13),
        "breastmnist": 7,
    }
    tried = [Finding("corruption.accuracy", word, "all", "net", 0.5) for word in PRESETS["medmnist-c/dermamnist"]]
    said = page(FindingIndex(tried)).sentence
    assert said == (
        "These are the 15 corruptions of MedMNIST-C's dermamnist, but for characters, which are not ours to ship; a "
        "published bmCE is over severities 1 to 5."
    )


def test_a_network_that_looks_at_the_corners_falls_under_a_black_corner_alone():
    picture = photo()
    corners, middle = (np.s_[:20, :20], np.s_[100:124, 100:124])
    dark = corrupted("black-corner", 5, picture)
    assert dark[corners].max() == 0
    assert np.array_equal(dark[middle], picture[middle])
    for word in ("hair", "ruler", "bubbles"):
        changed = (np.abs(corrupted(word, 5, picture) - picture) > 1).any(axis=2)
        assert 0.01 < changed.mean() < 0.5
        assert (np.abs(corrupted(word, 1, picture) - picture) > 1).any(axis=2).mean() < changed.mean()
