"""Auto-PGD against Algorithm 1 of its paper, one image at a time."""

import pytest
import torch
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.tasks.attacks.apgd import APGD, checkpoints
from assay.tasks.attacks.running import run_attack

torch.set_num_threads(1)


def algorithm_1(model, image, truth, eps, start, steps):
    """Croce and Hein (2020), Algorithm 1, in their words, for one image; gives every x, x_max and the step sizes."""

    def f(x):
        return -torch.log_softmax(model.logits(x), dim=1)[0, truth]

    def up(x):
        x = x.clone().requires_grad_(True)
        f(x).backward()
        return x.grad.sign()

    def project(x):
        return (image + (x - image).clamp(-eps, eps)).clamp(0, 1)

    eta, marks = 2 * eps, [0, *checkpoints(steps)]
    xs = [project(image + eps * start)]
    xs.append(project(xs[0] + eta * up(xs[0])))
    x_max = xs[0] if f(xs[0]) >= f(xs[1]) else xs[1]
    ups, etas, bests = int(f(xs[1]) > f(xs[0])), {0: eta}, {0: f(xs[0]).item()}
    current, before = xs[1], xs[0]
    sizes = [eta]
    for k in range(1, steps):
        if k in marks:
            last = marks[marks.index(k) - 1]
            stalled = ups < 0.75 * (k - last)
            stuck = etas[last] == eta and bests[last] == f(x_max).item()
            etas[k], bests[k], ups = eta, f(x_max).item(), 0
            if stalled or stuck:
                eta, current = eta / 2, x_max
        sizes.append(eta)
        z = project(current + eta * up(current))
        new = project(current + 0.75 * (z - current) + 0.25 * (current - before))
        ups += int(f(new) > f(current))
        if f(new) > f(x_max):
            x_max = new
        before, current = current, new
        xs.append(new)
    return xs, x_max, sizes


def test_the_checkpoints_are_those_of_the_paper():
    assert checkpoints(100) == [22, 41, 57, 70, 80, 87, 93, 99]
    assert checkpoints(10) == [3, 5, 6, 7, 8, 9]
    assert checkpoints(2) == [1]


@pytest.mark.parametrize("eps", [0.005, 0.02])
def test_auto_pgd_finds_what_the_papers_algorithm_finds(eps):
    model, images = tiny_model(block=1), tiny_images(8)
    truth, draws = answers(model, images), draws_for(8)
    ours = run_attack(APGD(steps=30), model, images, truth, eps, draws)
    start = torch.from_numpy(draws.uniform("apgd", (1, 16, 16)))
    halved = set()
    for row in range(8):
        xs, best, sizes = algorithm_1(model, images[row : row + 1], int(truth[row]), eps, start[row : row + 1], 30)
        halved.add(sizes[-1] < sizes[0])
        fooling = [x for x in xs if int(answers(model, x)) != int(truth[row])]
        counts = fooling[-1] if fooling and int(answers(model, best)) == int(truth[row]) else best
        assert bool(ours.success[row]) == bool(fooling)
        assert (ours.images[row] - counts[0]).abs().max().item() < 2e-6
    assert halved == {True}


def test_auto_pgd_never_ends_below_where_plain_steps_of_the_same_number_end():
    from assay.tasks.attacks.pgd import PGD

    model, images = tiny_model(), tiny_images(64)
    truth = answers(model, images)
    auto = run_attack(APGD(steps=30), model, images, truth, 0.015, draws_for(64))
    plain = run_attack(PGD(steps=30), model, images, truth, 0.015, draws_for(64))
    assert auto.success.sum() >= plain.success.sum() - 1


@pytest.mark.parametrize("classes", [2, 3])
def test_the_margin_loss_works_with_two_and_three_classes(classes):
    model, images = tiny_model(classes), tiny_images(32)
    result = run_attack(APGD(steps=30, loss="margin"), model, images, answers(model, images), 0.3, draws_for(32))
    assert result.success.all()
