"""The Square attack: stripes, then squares on the paper's schedule, and never a gradient."""

import pytest
import torch
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.tasks.attacks.batch import pose
from assay.tasks.attacks.random_search import Square, _with_square, share_covered, side_of_square, squares
from assay.tasks.attacks.running import run_attack

torch.set_num_threads(1)


def test_the_squares_shrink_on_the_papers_schedule():
    marks = [10, 11, 50, 51, 200, 201, 500, 501, 1000, 1001, 2000, 2001, 4000, 4001, 6000, 6001, 8000, 8001]
    halvings = [round(0.8 / share_covered(mark, 10_000, 0.8)) for mark in marks]
    assert halvings == [1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 256, 512]
    assert share_covered(51, 1000, 0.8) == share_covered(510, 10_000, 0.8)
    assert side_of_square(0.3, 32, 32) == 18


def test_it_asks_no_gradient_and_only_as_often_as_it_may():
    class Blind(torch.nn.Module):
        asked = 0

        def forward(self, images):
            assert not torch.is_grad_enabled()
            Blind.asked += 1
            return torch.stack([torch.ones(len(images)), torch.zeros(len(images))], dim=1)

    model = type(tiny_model())(Blind(), 2, False, (0.0,), (1.0,), block=4)
    truth = torch.zeros(4, dtype=torch.int64)
    result = run_attack(Square(queries=25), model, tiny_images(4), truth, 0.1, draws_for(4))
    assert not result.success.any()
    assert result.queries.tolist() == [26] * 4  # the clean image as well
    assert Blind.asked == 26


def test_it_begins_with_stripes_of_eps_and_moves_by_whole_eps():
    class Stubborn(torch.nn.Module):
        def forward(self, images):
            mean = images.flatten(1).mean(dim=1)
            return torch.stack([mean + 1, mean * 0], dim=1)

    model = type(tiny_model())(Stubborn(), 2, False, (0.0,), (1.0,), block=4)
    images, truth = torch.full((3, 2, 16, 16), 0.5), torch.zeros(3, dtype=torch.int64)
    stripes = run_attack(Square(queries=1), model, images, truth, 0.25, draws_for(3)).images - images
    assert torch.equal(stripes.abs(), torch.full_like(stripes, 0.25))
    assert torch.equal(stripes, stripes[:, :, :1].expand_as(stripes))
    assert not torch.equal(stripes[0], stripes[1])
    assert not torch.equal(stripes[0, 0], stripes[0, 1])
    later = run_attack(Square(queries=60), model, images, truth, 0.25, draws_for(3)).images
    assert (later.flatten(1).mean(dim=1) < (images + stripes).flatten(1).mean(dim=1)).all()  # nearer to the goal


@pytest.mark.parametrize("goal", ["untargeted", "least-likely"])
def test_a_sample_is_left_alone_once_it_has_fallen(goal):
    model, images = tiny_model(), tiny_images(40)
    truth = answers(model, images)
    result = run_attack(Square(queries=100, goal=goal), model, images, truth, 0.1, draws_for(40))
    assert result.success.any()
    assert torch.equal(result.queries, torch.where(result.success, result.steps, 100) + 1)


@pytest.mark.parametrize("side", [1, 3, 8])
def test_a_square_is_moved_inside_the_ball_and_nothing_else_is_touched(side):
    images, draws = tiny_images(5, channels=3), draws_for(5)
    batch = pose(Square(), tiny_model(channels=3), images, torch.zeros(5, dtype=torch.int64), 0.1, draws)
    corner = torch.rand((5, 2), generator=torch.Generator().manual_seed(side))
    signs = torch.tensor([[1, -1, 1]] * 5, dtype=torch.int8)
    inside = squares(corner, side, images)
    assert (inside.flatten(1).sum(dim=1) == side**2).all()
    everywhere = batch.ball.clip(torch.where(inside, images + 2 * batch.eps * signs[:, :, None, None], images))
    assert torch.equal(_with_square(batch, images, corner, signs, side), everywhere)
