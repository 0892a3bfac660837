"""Each perturbation does what its name says: moments of the noises, borders, centres, angles, drops and flakes."""

import math

import numpy as np
import pytest
import torch
from scipy import ndimage, stats

from assay.tasks.corruptions.camera import (
    brightened,
    gaussian_blur,
    gaussian_noise,
    motion_blur,
    poisson_quantile,
    rotation,
    scaling,
    shearing,
    speckle_noise,
    tilting,
    translated,
    warped,
    zoom_blurs,
)
from assay.tasks.corruptions.choice import constants
from assay.tasks.corruptions.table import CORRUPTIONS
from assay.tasks.corruptions.weather import outline_distance, snow_layer, snowing, spatter_layer, spattered

torch.set_num_threads(1)


def point(size=33, at=(16, 16)):
    image = torch.zeros(1, 1, size, size)
    image[0, 0, at[0], at[1]] = 1
    return image


def centre_of_mass(image):
    return ndimage.center_of_mass(np.asarray(image)[0, 0])


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.4, 1.0, 3.0, 4.99, 5.0, 7.0, 12.0, 60.0, 500.0])
def test_poisson_counts_are_the_quantiles_of_their_draws(rate):
    normals = torch.randn(2, 50_000, generator=torch.Generator().manual_seed(1))
    counts = torch.empty_like(normals)
    poisson_quantile(torch.full((50_000,), rate), normals, counts, most=1000)
    exact = stats.poisson.ppf(stats.norm.cdf(normals.numpy().astype(np.float64)), rate) if rate else np.zeros(1)
    assert (counts.numpy() != exact).mean() < 0.002
    assert np.abs(counts.numpy() - exact).max() <= 1


def test_a_draw_far_in_the_tail_counts_no_more_than_its_rate_allows():
    counts = torch.empty(1, 2)
    poisson_quantile(torch.tensor([0.01, 3.9]), torch.tensor([[9.0, 9.0]]), counts, most=1000)
    assert counts[0, 0] <= 4
    assert counts[0, 1] <= 30


def test_gaussian_and_speckle_noise_have_their_standard_deviations():
    normals = torch.randn(1, 1, 1, 200, 200, generator=torch.Generator().manual_seed(2))
    grey = torch.full((1, 1, 200, 200), 0.5)
    for function, expected in ((gaussian_noise, 0.08), (speckle_noise, 0.04)):
        out = torch.empty_like(normals)
        function(grey, normals, 0.08, out)
        assert float(out.std()) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_gaussian_blur_is_scipys_with_repeated_borders(sigma):
    image = torch.rand(1, 2, 21, 30, generator=torch.Generator().manual_seed(3))
    expected = ndimage.gaussian_filter(image.numpy(), (0, 0, sigma, sigma), mode="nearest", truncate=4.0)
    np.testing.assert_allclose(gaussian_blur(image, sigma), expected, atol=2e-6)


@pytest.mark.parametrize("angle", [-45.0, 0.0, 30.0, -110.0])
def test_motion_blur_smears_along_its_angle_and_keeps_the_light(angle):
    made = motion_blur(point(65, (32, 32)), [angle], 10, [0.0, 6.0])
    assert torch.equal(made[0], point(65, (32, 32)))
    smeared = made[1]
    assert float(smeared.sum()) == pytest.approx(1, abs=1e-5)
    down, right = np.subtract(centre_of_mass(smeared), 32)
    towards = math.degrees(math.atan2(-down, -right))  # a pixel takes what lies ahead, so the light moves back
    assert abs((towards - angle + 180) % 360 - 180) < 5
    rows, columns = np.nonzero(smeared[0, 0].numpy() > 1e-6)
    across = (rows - 32) * math.cos(math.radians(angle)) - (columns - 32) * math.sin(math.radians(angle))
    assert np.abs(across).max() <= 1


def test_zoom_blur_streaks_towards_the_centre_and_leaves_it_sharp():
    made = zoom_blurs(point(65, (32, 52)), 1.25, 31)[-1]
    rows, columns = np.nonzero(made[0, 0].numpy() > 1e-3)
    assert rows.min() >= 30
    assert rows.max() <= 34
    assert columns.min() >= 51
    assert columns.max() == pytest.approx(32 + 20 * 1.25, abs=1)
    middle = zoom_blurs(torch.rand(1, 1, 65, 65), 1.25, 31)
    assert float((middle[-1] - middle[0])[0, 0, 32, 32].abs()) < 0.2


def test_a_warp_moves_points_where_its_matrix_says():
    image = gaussian_blur(point(65, (32, 48)), 1.0)  # 16 pixels right of the centre
    assert centre_of_mass(warped(image, rotation(90))) == pytest.approx((16, 32), abs=0.1)
    assert centre_of_mass(warped(image, scaling(1.25))) == pytest.approx((32, 52), abs=0.1)
    low = gaussian_blur(point(65, (42, 32)), 1.0)
    assert centre_of_mass(warped(low, shearing(45))) == pytest.approx((42, 42), abs=0.15)
    tilted = centre_of_mass(warped(image, tilting(20, 92)))
    assert tilted[1] != pytest.approx(48, abs=0.5)


@pytest.mark.parametrize("matrix", [rotation(0), shearing(0), scaling(1), tilting(0, 50)])
def test_no_warp_is_the_identity(matrix):
    np.testing.assert_array_equal(matrix, np.eye(3))


@pytest.mark.parametrize("matrix", [rotation(15), shearing(-15), scaling(0.625), tilting(15, 45)])
def test_what_lies_beyond_the_border_is_a_mirror_image_and_never_black(matrix):
    white = torch.ones(1, 3, 32, 32)
    torch.testing.assert_close(warped(white, matrix), white)
    assert torch.equal(translated(white, 7), white)


def test_translation_moves_whole_pixels_and_mirrors_the_border():
    image = torch.rand(2, 3, 9, 12)
    for pixels in (-5, -1, 0, 3):
        padded = np.pad(image.numpy(), ((0, 0), (0, 0), (0, 0), (12, 12)), mode="symmetric")
        np.testing.assert_array_equal(translated(image, pixels), padded[..., 12 - pixels : 24 - pixels])


def test_brightness_is_the_value_of_hsv_with_hue_and_saturation_kept():
    import colorsys

    image = torch.rand(1, 3, 4, 4, generator=torch.Generator().manual_seed(5))
    image[0, :, 0, 0] = 0
    for amount in (-0.3, 0.25):
        made = brightened(image, amount)
        for row in range(4):
            for column in range(4):
                hue, saturation, value = colorsys.rgb_to_hsv(*image[0, :, row, column].tolist())
                wanted = colorsys.hsv_to_rgb(hue, saturation, min(1.0, max(0.0, value + amount)))
                assert made[0, :, row, column].tolist() == pytest.approx(wanted, abs=1e-6)


def test_distance_from_the_outline_of_drops_is_euclidean_up_to_twenty():
    drops = torch.zeros(1, 70, 60, dtype=torch.bool)
    drops[0, 5:12, 8:20] = True
    drops[0, 30:33, 2:5] = True
    eroded = ndimage.binary_erosion(drops[0].numpy(), border_value=1)
    outline = drops[0].numpy() & ~eroded
    expected = np.minimum(ndimage.distance_transform_edt(~outline), 20)
    np.testing.assert_allclose(outline_distance(drops)[0], expected, atol=1e-5)


def test_an_image_without_drops_stays_as_it_is():
    images = torch.rand(1, 3, 32, 32)
    at = constants(CORRUPTIONS.named("spatter").levels, 1, 32, 32) | {"mean": 0.1}
    layer = spatter_layer(torch.zeros(1, 32, 32), at)
    assert torch.equal(spattered(images, layer, False, 1.0), images)


def test_water_lightens_and_mud_browns():
    normals = torch.randn(1, 64, 64, generator=torch.Generator().manual_seed(6))
    grey = torch.full((1, 3, 64, 64), 0.6)
    water = (
        spattered(grey, spatter_layer(normals, constants(CORRUPTIONS.named("spatter").levels, 3, 64, 64)), False, 1.0)
        - grey
    )
    assert float(water.min()) >= 0
    assert 0.02 < float((water > 0.05).float().mean()) < 0.6
    mud = spattered(grey, spatter_layer(normals, constants(CORRUPTIONS.named("spatter").levels, 5, 64, 64)), True, 1.0)
    hidden = (mud[0, 0] < 0.5).numpy()
    assert 0.01 < hidden.mean() < 0.5
    brown = mud[0, :, hidden].mean(dim=1)
    assert brown[0] > brown[1] > brown[2]


def test_snow_falls_in_streaks_and_only_lightens():
    normals = torch.randn(1, 128, 128, generator=torch.Generator().manual_seed(7))
    layer = snow_layer(normals, [-90.0], constants(CORRUPTIONS.named("snow").levels, 2, 128, 128))
    down, across = (float((layer.diff(dim=dim)).abs().mean()) for dim in (-2, -1))
    assert across > 2 * down
    grey = torch.full((1, 3, 128, 128), 0.4)
    snowy = snowing(grey, layer, 0.8)(1.0)
    assert float((snowy - grey).min()) >= 0
    assert float(snowy.std()) > 0.02


def test_constants_are_the_published_ones_at_their_sizes_and_between_them_elsewhere():
    for name, levels in ((one.word, one.levels) for one in CORRUPTIONS):
        for severity in range(1, 6):
            small, large = (
                tuple(constants(CORRUPTIONS.named(name).levels, severity, side, side).values()) for side in (32, 224)
            )
            assert small == pytest.approx(levels.small[severity - 1])
            assert large == pytest.approx(levels.large[severity - 1])
            for low, between, high in zip(
                small, constants(CORRUPTIONS.named(name).levels, severity, 64, 80).values(), large, strict=True
            ):
                assert between == pytest.approx(low + (high - low) / 6)


def test_beyond_the_published_sizes_lengths_go_with_the_side_and_strengths_stay():
    assert constants(CORRUPTIONS.named("motion-blur").levels, 5, 448, 600) == {"radius": 40, "sigma": 30}
    assert constants(CORRUPTIONS.named("gaussian-blur").levels, 5, 8, 90) == {"sigma": 0.25}
    assert constants(CORRUPTIONS.named("brightness").levels, 2, 8, 8) == constants(
        CORRUPTIONS.named("brightness").levels, 2, 32, 32
    )
    assert constants(CORRUPTIONS.named("rotate").levels, 5, 512, 512) == {"degrees": 15}
