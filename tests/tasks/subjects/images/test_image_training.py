"""A training goes on after any interruption as if there had been none; losses mask what is unknown; hooks take part."""

import numpy as np
import pytest
import torch
from bright_thirds import Memory, bright_thirds
from torch import nn

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.subjects.images.dataset import LabelledImages
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.images.training import Batch, Descent, loss_for, plainly, train
from assay.tasks.subjects.networks.building import build_network
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.trained import BestEpoch, learning_files, restore, weights_of

SEEDS = Seeds(0, "train")


def model(name: str = "small-cnn", labels: bool = False, size: int = 16, width: float = 1.0) -> ImageModel:
    network = build_network(name, classes=3, channels=1, size=size, width=width)
    return ImageModel(network, 3, labels, (0.3,), (0.25,))


class WithDropout(nn.Module):
    """A network that draws as it learns."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.dropout = build_network("small-cnn", classes=8, channels=1, size=16), nn.Dropout(0.3)
        self.norm, self.head = nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, images):
        return self.head(self.dropout(self.norm(self.inside(images))))


@pytest.mark.parametrize(
    "options",
    [
        Training(epochs=4, batch_size=32, augment=("flip-horizontal", "shift")),
        Training(epochs=4, batch_size=32, optimizer="sgd", schedule="step", step_epochs=2, weight_decay=1e-4),
        Training(epochs=4, batch_size=32, schedule="constant", loss="focal", validation=0),
    ],
    ids=["adam", "sgd", "focal"],
)
@pytest.mark.parametrize("end_after", [1, 2])
def test_an_interrupted_training_ends_with_the_same_bits(options, end_after):
    torch.manual_seed(3)
    start = WithDropout().state_dict()

    def fresh() -> ImageModel:
        network = WithDropout()
        network.load_state_dict(start)
        return ImageModel(network, 3, False, (0.3,), (0.25,))

    undisturbed, interrupted = fresh(), Memory(end_after)
    curve = train(undisturbed, bright_thirds(), options, seeds=SEEDS, checkpoints=Memory())
    with pytest.raises(KeyboardInterrupt):
        train(fresh(), bright_thirds(), options, seeds=SEEDS, checkpoints=interrupted)
    torch.rand(5)  # the process that goes on has drawn something else in between
    resumed = fresh()
    assert train(resumed, bright_thirds(), options, seeds=SEEDS, checkpoints=interrupted) == curve
    assert weights_of(resumed.network) == weights_of(undisturbed.network)
    assert [one.epoch for one in curve] == [1, 2, 3, 4]


def spoilt_after(epochs):
    """A hook that learns the right classes first and, after so many epochs, wrong ones."""

    def hook(batch: Batch) -> Descent:
        targets = batch.targets if batch.epoch < epochs else (batch.targets + 1) % 3
        logits = batch.model.logits(batch.images)
        return Descent(batch.loss(logits, targets), logits)

    return hook


@pytest.mark.parametrize("end_after", [0, 2, 4])
def test_a_training_that_gets_worse_stops_at_its_best_epoch_interrupted_or_not(end_after):
    """Planted: 3 epochs that learn, and 3 that learn wrong classes."""
    options = Training(epochs=6, batch_size=32, schedule="constant", learning_rate=0.01)
    start, attacked = model().network.state_dict(), []

    def fresh() -> ImageModel:
        fresh = model()
        fresh.network.load_state_dict(start)
        return fresh

    def attack(batch: Batch) -> torch.Tensor:
        attacked.append(batch.ids)
        return batch.images * 0.9

    def learn(learner: ImageModel, memory) -> list:
        memory = BestEpoch(memory, frozenset())
        curve = train(
            learner, bright_thirds(), options, seeds=SEEDS, checkpoints=memory, hook=spoilt_after(3), attack=attack
        )
        return [curve, memory.kept]

    memory = Memory(end_after)
    if end_after:
        with pytest.raises(KeyboardInterrupt):
            learn(fresh(), memory)
    curve, kept = learn(fresh(), memory)
    right = [epoch.validation_accuracy for epoch in curve]
    best = right.index(max(right))
    assert best < 3
    assert right[best] > right[-1] + 0.3
    short, lasting = fresh(), options.model_copy(update={"epochs": best + 1})
    train(short, bright_thirds(), lasting, seeds=SEEDS, checkpoints=Memory(), attack=attack)
    assert kept == {"epoch-best": weights_of(short.network)}
    assert len({tuple(ids) for ids in attacked}) == 1  # the same samples after every epoch, never a training one


def test_checkpoints_hold_no_pickle():
    memory = Memory()
    train(model(), bright_thirds(), Training(epochs=1), seeds=SEEDS, checkpoints=memory)
    assert sorted(memory.saved[0][1]) == ["curve.json", "network.safetensors", "optimizer.safetensors"]
    assert not any(content.startswith((b"\x80", b"PK")) for content in memory.saved[0][1].values())


def test_tied_weights_survive_a_checkpoint():
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(4, 4)
            self.other = nn.Linear(4, 4)
            self.other.weight = self.one.weight

    network = Tied()
    optimizer = torch.optim.Adam(network.parameters())
    network.other(network.one(torch.ones(2, 4))).sum().backward()
    optimizer.step()
    files = learning_files(network, optimizer, [1])
    again = Tied()
    other = torch.optim.Adam(again.parameters())
    assert restore(again, other, files) == [1]
    assert learning_files(again, other, [1]) == files


def test_another_seed_is_another_training():
    one, other = model(), model()
    train(one, bright_thirds(), Training(epochs=1), seeds=SEEDS, checkpoints=Memory())
    train(other, bright_thirds(), Training(epochs=1), seeds=Seeds(1, "train"), checkpoints=Memory())
    assert weights_of(one.network) != weights_of(other.network)


@pytest.mark.parametrize("labels", [False, True])
def test_a_training_learns(labels):
    curve = train(
        model(labels=labels),
        bright_thirds(200, labels=labels),
        Training(epochs=12, learning_rate=0.01),
        seeds=SEEDS,
        checkpoints=Memory(),
    )
    assert curve[-1].loss < curve[0].loss / 3
    assert curve[-1].train_accuracy > 0.95
    assert curve[-1].validation_accuracy > 0.9


def test_nothing_is_set_aside_where_nothing_is_to_be():
    curve = train(model(), bright_thirds(), Training(epochs=1, validation=0), seeds=SEEDS, checkpoints=Memory())
    assert curve[0].validation_accuracy is None


def test_one_image_left_over_does_not_stop_batch_normalisation():
    options = Training(epochs=1, batch_size=32, validation=0)
    subject = model("resnet50", size=32, width=0.125)
    some = bright_thirds(33)
    larger = LabelledImages(some.ids, np.repeat(np.repeat(some.images, 2, axis=2), 2, axis=3), some.targets)
    assert np.isfinite(train(subject, larger, options, seeds=SEEDS, checkpoints=Memory())[0].loss)


def test_a_training_that_comes_apart_says_so():
    options = Training(epochs=3, learning_rate=10, optimizer="sgd", schedule="constant", momentum=0.99)
    with pytest.raises(InputError, match=r"came apart in epoch .* Lower `train.learning_rate` \(it is 10\)"):
        train(model(), bright_thirds(), options, seeds=SEEDS, checkpoints=Memory())


def test_a_hook_replaces_the_batch_and_the_loss():
    seen: list[Batch] = []

    def darker(batch: Batch) -> Descent:
        seen.append(batch)
        logits = batch.model.logits(batch.images * 0.5)
        return Descent(2 * batch.loss(logits, batch.targets), logits)

    options = Training(epochs=2, batch_size=40, validation=0)
    with_hook, without = model(), model()
    train(with_hook, bright_thirds(), options, seeds=SEEDS, checkpoints=Memory(), hook=darker)
    train(without, bright_thirds(), options, seeds=SEEDS, checkpoints=Memory(), hook=plainly)
    assert weights_of(with_hook.network) != weights_of(without.network)
    assert [len(batch.images) for batch in seen] == [40, 40, 10] * 2
    assert sorted(name for batch in seen[:3] for name in batch.ids) == sorted(bright_thirds().ids)
    assert len({batch.seeds.integer() for batch in seen}) == len(seen)  # every batch draws for itself
    assert [batch.ids for batch in seen[:3]] != [batch.ids for batch in seen[3:]]  # and every epoch has its order


def test_a_hook_that_only_draws_changes_nothing():
    def drawing(batch: Batch) -> Descent:
        batch.seeds.generator().random(100)
        return plainly(batch)

    one, other = model(), model()
    options = Training(epochs=2, augment=("shift",))
    train(one, bright_thirds(), options, seeds=SEEDS, checkpoints=Memory(), hook=drawing)
    train(other, bright_thirds(), options, seeds=SEEDS, checkpoints=Memory())
    assert weights_of(one.network) == weights_of(other.network)


def test_cross_entropy_by_hand():
    logits, targets = torch.tensor([[0.0, 0.0], [np.log(3.0), 0.0]]), torch.tensor([0, 0])
    assert float(loss_for("cross-entropy", multilabel=False, softmaxed=False)(logits, targets)) == pytest.approx(
        (np.log(2) + np.log(4 / 3)) / 2
    )


def test_focal_loss_by_hand():
    logits, targets = torch.tensor([[0.0, 0.0], [np.log(3.0), 0.0]]), torch.tensor([0, 0])
    expected = (0.5**2 * np.log(2) + 0.25**2 * np.log(4 / 3)) / 2
    assert float(loss_for("focal", multilabel=False, softmaxed=False)(logits, targets)) == pytest.approx(expected)


def test_unknown_labels_weigh_nothing():
    loss = loss_for("cross-entropy", multilabel=True, softmaxed=False)
    logits = torch.tensor([[0.0, 5.0], [np.log(3.0), -7.0]], requires_grad=True)
    value = loss(logits, torch.tensor([[1, -1], [0, -1]]))
    assert float(value.detach()) == pytest.approx((np.log(2) + np.log(4)) / 2)
    value.backward()
    assert logits.grad[:, 1].tolist() == [0.0, 0.0]
    assert float(loss(logits.detach(), torch.full((2, 2), -1))) == 0.0


@pytest.mark.parametrize("name", ["cross-entropy", "focal"])
def test_a_loss_of_probabilities_is_that_of_their_logits(name):
    generator = torch.Generator().manual_seed(0)
    logits, targets = torch.randn(20, 4, generator=generator), torch.randint(0, 4, (20,), generator=generator)
    plain, given = (loss_for(name, multilabel=False, softmaxed=one) for one in (False, True))
    torch.testing.assert_close(given(logits.softmax(dim=1), targets), plain(logits, targets))
    labels = torch.randint(-1, 2, (20, 4), generator=generator)
    plain, given = (loss_for(name, multilabel=True, softmaxed=one) for one in (False, True))
    torch.testing.assert_close(given(logits.sigmoid(), labels), plain(logits, labels))


def test_copies_of_an_image_learn_together_or_judge_together():
    once = bright_thirds(60)
    twice = LabelledImages(
        (*once.ids, *(f"{one} (1)" for one in once.ids)), np.concatenate([once.images] * 2), np.tile(once.targets, 2)
    )
    learned = set()

    def watching(batch: Batch) -> Descent:
        learned.update(batch.ids)
        return plainly(batch)

    options = Training(epochs=1, batch_size=20, validation=0.4)
    train(model(), twice, options, seeds=SEEDS, checkpoints=Memory(), hook=watching)
    assert 40 < len(learned) < 110
    assert all((name in learned) == (f"{name} (1)" in learned) for name in once.ids)
