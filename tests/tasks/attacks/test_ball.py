"""The ε ball: no image of it is further away than ε or outside of [0, 1], however the numbers round."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.tasks.attacks.batch import ball_around
from assay.tasks.attacks.settings import step_size_for

pixels = arrays(np.float32, (1, 1, 4, 4), elements=st.floats(0, 1, width=32, allow_subnormal=False))
radii = st.one_of(st.floats(0, 1), st.integers(0, 255).map(lambda levels: levels / 255))


@settings(max_examples=200)
@given(pixels, radii)
def test_the_bounds_are_within_eps_in_float32_and_in_exact_arithmetic(values, eps):
    x = torch.from_numpy(values)
    ball = ball_around(x, eps)
    for bound in (ball.lower, ball.upper):
        assert (bound - x).abs().max().item() <= eps
        assert (bound.double() - x.double()).abs().max().item() <= eps
        assert bound.min() >= 0
        assert bound.max() <= 1
    assert (ball.lower <= x).all()
    assert (x <= ball.upper).all()


@settings(max_examples=100)
@given(pixels, radii)
def test_the_bounds_waste_less_than_a_ten_thousandth_of_a_level(values, eps):
    x = torch.from_numpy(values)
    ball = ball_around(x, eps)
    widest = np.minimum(1.0, values.astype(np.float64) + eps)
    assert np.abs(ball.upper.double().numpy() - widest).max() < 1e-4 / 255


def test_a_radius_of_zero_leaves_the_image_itself():
    x = torch.rand(2, 3, 4, 4)
    ball = ball_around(x, 0.0)
    assert torch.equal(ball.clip(torch.rand(2, 3, 4, 4)), x)


def test_the_step_is_two_and_a_half_radii_over_all_steps_but_at_least_a_level():
    assert step_size_for(0.1, 20, None) == 0.0125
    assert step_size_for(0.01, 40, None) == 1 / 255
    assert step_size_for(0.1, 20, 0.5) == 0.5
