"""The cascade leaves what its four attacks leave when each is on every image, for less asking."""

import pytest
import torch
from all_digits import digit_classes, digit_samples
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.flows.configuration.loading import load_project
from assay.infra.stages.partitions import collect
from assay.tasks.attacks.measures import trials
from assay.tasks.attacks.page import page
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.table import AutoAttack
from assay.tasks.attacks.task import attack_subject, measure_attacks
from assay.tasks.statistics.findings import FindingIndex, findings_from
from assay.tasks.subjects.images.task import train_network
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Evaluation, Subject, Training
from assay.tasks.subjects.task import hold_out

torch.set_num_threads(1)
SHORT = AutoAttack(steps=8, queries=40)
NAMES = ["apgd-ce", "apgd-t", "fab-t", "square"]


@pytest.mark.slow
@pytest.mark.parametrize("eps", [0.01, 0.03, 0.06])
@pytest.mark.parametrize("seed", range(3))
def test_the_cascade_falls_to_the_first_that_would_have_done_it_alone(eps, seed):
    model, images = tiny_model(seed=seed), tiny_images(40, seed=seed + 1)
    truth, draws = answers(model, images), draws_for(40)
    truth[:3] = (truth[:3] + 1) % 4  # wrong before anything is done
    alone = [run_attack(member, model, images, truth, eps, draws) for member in SHORT.members]
    together = run_attack(SHORT, model, images, truth, eps, draws)
    assert together.success.equal(torch.stack([one.success for one in alone]).any(dim=0))
    for row, fell_to in enumerate(together.fell_to):
        first = next((at for at, one in enumerate(alone) if one.success[row]), None)
        assert fell_to == (None if row < 3 or first is None else NAMES[first])
        if row >= 3 and first is not None:
            assert together.images[row].equal(alone[first].images[row])
            assert together.queries[row] == 1 + sum(int(one.queries[row]) - 1 for one in alone[: first + 1])
            assert together.steps[row] == sum(int(one.steps[row]) for one in alone[: first + 1])
    assert together.queries.sum() < sum(one.queries.sum() for one in alone)
    moved = (together.images.double() - images.double()).abs()
    assert moved.max() <= eps
    assert moved[:3].max() == 0


def right_under(attack: ImageAttack, epochs: int) -> dict[float, frozenset[str]]:
    """By ε the digits that are right, and stay it, of a network trained in the current run."""
    held, classes = hold_out(digit_samples(), Evaluation(limit=60)), digit_classes()
    subject = ResolvedSubject(Subject(name="plain", network="small-cnn", train=Training(epochs=epochs)))
    files = train_network(held.training, classes, subject).files
    table = collect(attack_subject(held.evaluation, classes, files, subject, attack, "plain").attacked, None)
    return {one.eps: frozenset(one.ids[one.robust == one.truth].tolist()) for one in trials([table])}


@pytest.mark.slow
def test_on_a_trained_network_it_leaves_what_the_four_leave(run):
    grid = (0.03, 0.08)
    short = AutoAttack(eps=grid, steps=10, classes=3, queries=60, keep=0)
    apart = [member.model_copy(update={"eps": grid, "keep": 0}) for member in short.members]
    left = [right_under(attack, epochs=3) for attack in apart]
    together = right_under(short, epochs=3)
    assert together == {eps: frozenset.intersection(*(one[eps] for one in left)) for eps in together}
    assert len(together[0.0]) > len(together[0.03]) > len(together[0.08])


def test_findings_say_which_of_the_four_each_image_fell_to(run):
    held, classes = hold_out(digit_samples(), Evaluation(limit=40)), digit_classes()
    subject = ResolvedSubject(Subject(name="plain", network="small-cnn", train=Training(epochs=2)))
    files = train_network(held.training, classes, subject).files
    short = AutoAttack(eps=(0.05,), steps=4, classes=2, queries=30, keep=0)
    attacked = attack_subject(held.evaluation, classes, files, subject, short, "plain").attacked
    winners = collect(attacked, ["eps", "winner", "success", "gold", "clean"]).to_pylist()
    fell = [row["winner"] for row in winners if row["eps"] > 0 and row["winner"] is not None]
    assert len(fell) == sum(row["success"] and row["gold"] == row["clean"] for row in winners if row["eps"] > 0)
    found = findings_from(collect(measure_attacks([attacked], classes, [short], "plain", []), None))
    shares = {one.group.rpartition(", ")[2]: one.value for one in found if one.metric == "attack.winner"}
    assert shares == {name: pytest.approx(fell.count(name) / len(fell)) for name in dict.fromkeys(sorted(fell))}
    told = ", ".join(f"{share:.0%} to {name}".replace("%", "\u202f%") for name, share in shares.items())
    assert f"Of what fell: {told}." in page(FindingIndex(found)).sentence


PIPELINE = """
pipelines:
  night:
    source: {dataset: sample/digits}
    subject: {network: small-cnn, train: {epochs: 1}}
    attacks: [{autoattack: {eps: 0.1, queries: 100}}, {autoattack-apart: {eps: 0.1}}]
"""


def test_it_is_one_attack_by_its_name_and_four_apart_by_another(tmp_path):
    (tmp_path / "pipelines.yaml").write_text(PIPELINE)
    first, *apart = load_project(tmp_path / "pipelines.yaml", pipeline="night").pipelines["night"].attacks
    assert (first.called, first.queries, first.steps, first.eps) == ("autoattack", 100, 100, (0.1,))
    assert [one.called for one in apart] == NAMES
    with pytest.raises(ValueError, match="leave `goal` out"):
        AutoAttack(goal="least-likely")
