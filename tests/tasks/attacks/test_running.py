"""What holds for every attack: within ε, inside the bounds, the same for any batch, honest about what it did."""

from dataclasses import replace

import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.data.images import image_columns
from assay.infra.errors import InputError, RunError
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks import batch
from assay.tasks.attacks.apgd import APGD
from assay.tasks.attacks.batch import Draws
from assay.tasks.attacks.pgd import FGSM, PGD, MomentumPGD
from assay.tasks.attacks.random_search import Square
from assay.tasks.attacks.running import TargetedImages, run_attack
from assay.tasks.attacks.settings import GAP

torch.set_num_threads(1)

ATTACKS = [
    PGD(steps=8),
    PGD(steps=5, restarts=3),
    PGD(steps=8, last=True),
    PGD(steps=8, random_start=False),
    PGD(steps=8, goal="least-likely"),
    PGD(steps=8, goal="targeted", target=1),
    FGSM(),
    MomentumPGD(steps=8),
    APGD(steps=12),
    APGD(steps=12, loss="margin"),
    APGD(steps=12, goal="targeted", target=1, loss="margin"),
    Square(queries=40),
    Square(queries=40, goal="least-likely"),
]
every_attack = pytest.mark.parametrize("attack", ATTACKS, ids=str)
N = 21


@every_attack
@pytest.mark.parametrize(
    "model",
    [tiny_model(4), tiny_model(2), tiny_model(3), tiny_model(3, multilabel=True)],
    ids=["four", "two", "three", "labels"],
)
@pytest.mark.parametrize("eps", [2 / 255])
def test_images_are_within_eps_and_the_bounds_and_success_is_what_the_model_says_of_them(attack, model, eps):
    images = tiny_images(N)
    truth = answers(model, images)
    result = run_attack(attack, model, images, truth, eps, draws_for(N))
    assert (result.images - images).abs().max().item() <= eps
    assert result.images.min() >= 0
    assert result.images.max() <= 1
    if attack.goal == "untargeted":
        now = answers(model, result.images)
        changed = (now != truth).any(dim=1) if model.multilabel else now != truth
        assert torch.equal(result.success, changed)
    assert (result.queries >= 1).all()


@settings(max_examples=20)
@given(
    st.sampled_from([a for a in ATTACKS if a.attack != "square"]),
    st.floats(0, 1),
    st.floats(-3, 3),
    st.floats(0.01, 5),
    st.integers(0, 10**6),
)
def test_eps_is_never_exceeded_in_pixel_space_for_any_normalisation(attack, eps, mean, std, seed):
    model = tiny_model(3, mean=mean, std=std, seed=seed, block=4)
    images = tiny_images(4, seed=seed)
    moved = run_attack(attack, model, images, answers(model, images), eps, draws_for(4, seed)).images
    assert (moved - images).abs().max().item() <= eps
    assert (moved.double() - images.double()).abs().max().item() <= eps
    assert moved.min() >= 0
    assert moved.max() <= 1


@every_attack
def test_an_eps_of_zero_gives_the_clean_image_bit_for_bit(attack):
    model, images = tiny_model(), tiny_images(N)
    truth = answers(model, images)
    truth[4] = (truth[4] + 1) % 4
    result = run_attack(attack, model, images, truth, 0.0, draws_for(N))
    assert torch.equal(result.images, images)
    assert result.steps.max() == 0
    if attack.goal == "untargeted":
        assert result.success.nonzero().flatten().tolist() == [4]


@every_attack
def test_a_sample_gets_the_same_bits_alone_in_another_order_and_beside_others(attack):
    model, images = tiny_model(), tiny_images(N)
    truth, draws = answers(model, images), draws_for(N)
    whole = run_attack(attack, model, images, truth, 0.03, draws)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(5))
    for rows in (order, torch.tensor([7]), torch.arange(3, 20)):
        part = run_attack(attack, model, images[rows], truth[rows], 0.03, draws.of(rows.tolist()))
        assert torch.equal(part.images, whole.images[rows])
        assert torch.equal(part.success, whole.success[rows])
        assert torch.equal(part.steps, whole.steps[rows])


@pytest.mark.slow
@pytest.mark.parametrize("attack", [a for a in ATTACKS if not getattr(a, "last", False)], ids=str)
@pytest.mark.parametrize("eps", [0.01, 0.06])
@pytest.mark.parametrize("block", [8, 64])
def test_robust_accuracy_with_active_sets_equals_the_one_without(attack, eps, block):
    model, images = tiny_model(block=block), tiny_images(150)
    truth = answers(model, images)
    truth[::10] = (truth[::10] + 1) % 4  # wrong from the start
    full = run_attack(attack, model, images, truth, eps, draws_for(150))
    fast = run_attack(attack.model_copy(update={"only_accuracy": True}), model, images, truth, eps, draws_for(150))
    assert torch.equal(full.success, fast.success)
    assert torch.equal(full.steps, fast.steps)
    right = [(answers(model, images) == truth) & (answers(model, one.images) == truth) for one in (full, fast)]
    assert torch.equal(*right)
    assert (fast.queries <= full.queries).all()
    lost = (answers(model, images) != truth) & (truth != 1 if attack.goal == "targeted" else True)
    if attack.goal == "least-likely":
        lost &= truth != model.logits(images).argmin(dim=1)
    assert torch.equal(fast.images[lost & fast.success], images[lost & fast.success]) or attack.goal != "untargeted"
    moved = (full.images != images).flatten(1).any(dim=1)
    assert moved[lost].all()  # what was lost before is attacked all the same, unless only accuracy counts


def test_active_sets_save_rows_that_the_network_sees():
    class Counted(torch.nn.Module):
        def __init__(self, network):
            super().__init__()
            self.network, self.rows = network, 0

        def forward(self, images):
            self.rows += len(images)
            return self.network(images)

    plain, images = tiny_model(block=64), tiny_images(1024)
    counted = Counted(plain.network)
    model = type(plain)(counted, 4, False, plain.mean, plain.std, block=64)
    truth, seen = answers(plain, images), {}
    for fast in (False, True):
        counted.rows = 0
        found = run_attack(PGD(steps=20, only_accuracy=fast), model, images, truth, 0.06, draws_for(1024))
        seen[fast] = counted.rows
    assert found.success.float().mean() > 0.9
    assert seen[False] == 1024 * 22  # the clean image, and every step with the start
    assert seen[True] < 0.4 * seen[False]
    assert seen[True] <= int(found.queries.sum()) + 63 * 22  # at most one block is filled up per step


def test_labels_are_attacked_until_all_are_wrong_and_the_image_with_most_wrong_ones_counts():
    model, images = tiny_model(3, multilabel=True), tiny_images(60)
    said = answers(model, images)
    truth = torch.where(torch.rand(60, 3, generator=torch.Generator().manual_seed(0)) < 0.2, 1 - said, said)
    before = (said != truth).sum(dim=1)
    for attack in (PGD(steps=8), PGD(steps=8, restarts=2), APGD(steps=12), Square(queries=60)):
        found = run_attack(attack, model, images, truth, 0.1, draws_for(60))
        wrong = (answers(model, found.images) != truth).sum(dim=1)
        assert torch.equal(found.success, wrong > before)
        assert wrong.float().mean() > before.float().mean() + 0.5
        assert (wrong == 3).any()


def test_only_accuracy_is_refused_where_every_label_has_its_own():
    model, images = tiny_model(3, multilabel=True), tiny_images(2)
    with pytest.raises(InputError, match="knows several labels per image, each with its own: leave `only_accuracy`"):
        run_attack(PGD(only_accuracy=True), model, images, answers(model, images), 0.1, draws_for(2))


def test_other_seeds_and_other_names_draw_other_starts():
    model, images = tiny_model(), tiny_images(4)
    truth = answers(model, images)
    one = PGD(steps=1, step_size=1 / 255, last=True)
    first = run_attack(one, model, images, truth, 0.1, draws_for(4))
    for draws in (draws_for(4, seed=1), Draws(Seeds(0, "attack"), ("a", "b", "c", "d"))):
        assert not torch.equal(run_attack(one, model, images, truth, 0.1, draws).images, first.images)


def test_stronger_attacks_of_one_kind_fool_at_least_as_many():
    model, images = tiny_model(), tiny_images(60)
    truth = answers(model, images)

    def fooled(attack, eps=0.02):
        return int(run_attack(attack, model, images, truth, eps, draws_for(60)).success.sum())

    assert fooled(FGSM()) <= fooled(PGD(steps=20)) <= fooled(PGD(steps=20, restarts=4))
    assert fooled(Square(queries=10)) <= fooled(Square(queries=200)) <= fooled(PGD(steps=20, restarts=4))
    assert fooled(PGD(steps=20), 0.01) <= fooled(PGD(steps=20), 0.03) <= fooled(PGD(steps=20), 0.3) == 60


def test_an_empty_batch_is_no_work():
    empty = torch.zeros((0, 1, 16, 16))
    result = run_attack(PGD(), tiny_model(), empty, torch.zeros(0, dtype=torch.int64), 0.1, draws_for(0))
    assert len(result.images) == len(result.success) == 0


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([2, 0, 1], r"Sample 's1' has the labels \[2, 0, 1\], expected 1, 0, or -1 where unknown"),
        ([1, 0], "Sample 's1' has 2 labels, expected one for each of 0, 1, 2"),
    ],
)
def test_labels_that_cannot_be_attacked_are_named(labels, said):
    samples = {"id": ["s0", "s1"], **image_columns(tiny_images(2).numpy()), "labels": [[1, 0, 0], labels]}
    with pytest.raises(InputError, match=said):
        TargetedImages.of(pa.table(samples), tiny_model(3, multilabel=True))


def test_a_label_that_is_null_is_unknown():
    samples = pa.table({"id": ["s0"], **image_columns(tiny_images(1).numpy()), "labels": [[1, None, 0]]})
    assert TargetedImages.of(samples, tiny_model(3, multilabel=True)).targets.tolist() == [[1, -1, 0]]


def test_a_subject_that_returns_nan_is_refused_by_sample():
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 2))
    torch.nn.init.constant_(network[1].weight, float("nan"))
    broken = type(tiny_model())(network, 2, False, (0.0,), (1.0,), block=4)
    with pytest.raises(InputError, match=r"no finite number for the sample 's0'"):
        run_attack(PGD(), broken, tiny_images(2), torch.tensor([0, 1]), 0.1, draws_for(2))


def test_a_gradient_that_is_nan_is_refused_by_sample():
    class Root(torch.nn.Module):
        def forward(self, images):
            mean = images.flatten(1).mean(dim=1)
            return torch.stack([mean, (mean - mean.detach()).sqrt() + 0.5], dim=1)  # 0 here, without a slope

    broken = type(tiny_model())(Root(), 2, False, (0.0,), (1.0,), block=4)
    with pytest.raises(InputError, match=r"no finite number for the sample 's0'"):
        run_attack(PGD(), broken, tiny_images(2), torch.tensor([0, 1]), 0.1, draws_for(2))


def test_a_generator_that_is_missing_is_said_and_one_that_overreaches_is_clipped():
    model, images = tiny_model(), tiny_images(5)
    truth = answers(model, images)
    with pytest.raises(RunError, match="needs a trained generator"):
        run_attack(GAP(), model, images, truth, 0.1, draws_for(5))
    moved = run_attack(GAP(), model, images, truth, 0.1, draws_for(5), perturb=lambda x, eps: x + 7 * eps).images
    assert (moved - images).abs().max().item() <= 0.1
    assert moved.max() <= 1


class Asked(torch.nn.Module):
    """A network that notes how many images it is asked about at a time; with `leans` it answers by their number."""

    def __init__(self, network: torch.nn.Module, *, leans: bool = False) -> None:
        super().__init__()
        self.network, self.leans, self.sizes = network, leans, set[int]()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.sizes.add(len(images))
        return self.network(images) * (1 + len(images) * 1e-3 * self.leans)


@pytest.mark.parametrize("attack", [PGD(steps=10), Square(queries=40), APGD(steps=12)], ids=str)
@pytest.mark.parametrize("n", [5, 16, 21, 70])
def test_what_is_left_over_is_asked_in_a_small_block_with_the_same_bits(monkeypatch, attack, n):
    images = tiny_images(n)

    def attacked(often: int, *, leans: bool = False):
        monkeypatch.setattr(batch, "_WORTH_A_TRIAL", often)
        network = Asked(tiny_model(4).network, leans=leans)
        model = replace(tiny_model(4), network=network, block=64)
        return run_attack(attack, model, images, answers(model, images), 2 / 255, draws_for(n)), network.sizes

    (usual, whole), (same, small) = attacked(10**9), attacked(1)
    assert {size for size in whole if size != n} == {64}  # n itself: `answers` of this test
    assert -(-(n % 64) // 16) * 16 in small
    assert torch.equal(usual.images, same.images)
    assert torch.equal(usual.queries, same.queries)
    (leaning, _), (held, asked) = attacked(10**9, leans=True), attacked(1, leans=True)
    assert torch.equal(leaning.images, held.images)  # tried, found to differ, and left alone
    assert 64 in asked


def test_a_network_without_a_gradient_is_tried_by_its_answers_alone(monkeypatch):
    class Blind(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = tiny_model(4).network

        @torch.no_grad()
        def forward(self, images):
            return self.network(images)

    monkeypatch.setattr(batch, "_WORTH_A_TRIAL", 1)
    images, attack = tiny_images(21), Square(queries=40)
    blind = replace(tiny_model(4), network=Blind(), block=64)
    truth = answers(blind, images)
    seeing = run_attack(attack, replace(tiny_model(4), block=64), images, truth, 2 / 255, draws_for(21))
    assert torch.equal(run_attack(attack, blind, images, truth, 2 / 255, draws_for(21)).images, seeing.images)
    assert list(blind.same_bits.values()) == [True] * len(blind.same_bits) != []
