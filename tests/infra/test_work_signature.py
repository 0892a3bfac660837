"""What makes more of the same work, and what makes other work."""

from __future__ import annotations

import pytest
from pydantic import Field

from assay.infra.settings import Settings
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.keys import Work, work_signature


class Attack(Settings):
    """An attack as its settings say."""

    name: str = "pgd"
    """Which one."""
    steps: int = 10
    """How often."""
    eps: tuple[float, ...] = (0.1,)
    """How far."""
    epochs: int = 2
    """How long its generator learns."""


class Files(Settings):
    """Where samples come from."""

    places = ("files",)
    files: tuple[str, ...] = Field(default=())
    """Which files."""
    reader: str = "csv"
    """Who reads them."""


def handle(digest: str, rows: int = 100) -> Artifact[object]:
    return Artifact("Samples", "", digest, "", rows, 1)


def work(settings: Settings, digest: str = "a", made_by: str = "ingest", *, learns: bool = False) -> Work:
    return work_signature(
        "attack", {"samples": handle(digest), "settings": settings}, {digest: made_by}, device="cpu", learns=learns
    )


def test_steps_and_eps_are_more_of_the_same() -> None:
    short, long = work(Attack()), work(Attack(steps=40, eps=(0.1, 0.2, 0.3)))
    assert short.like == long.like
    assert (short.effort, long.effort) == (10, 120)


def test_only_a_training_grows_with_epochs() -> None:
    assert work(Attack(epochs=9)).effort == work(Attack()).effort
    assert work(Attack(epochs=9), learns=True).effort == pytest.approx(4.5 * work(Attack(), learns=True).effort)


def test_other_samples_of_the_same_work_are_the_same_work_and_another_attack_is_not() -> None:
    one = work(Attack())
    assert work(Attack(), digest="b").like == one.like
    assert work(Attack(name="fgsm")).own != one.own


def test_the_same_settings_above_other_work_are_alike_only_by_themselves() -> None:
    one, other = work(Attack()), work(Attack(), made_by="another ingest")
    assert one.own == other.own
    assert one.like != other.like


def test_one_more_file_is_the_same_work_and_another_reader_is_not() -> None:
    assert work(Files(files=("a", "b"))).own == work(Files(files=("a",))).own
    assert work(Files(reader="jsonl")).own != work(Files()).own


def test_a_share_of_samples_is_made_by_what_made_all_of_them() -> None:
    drawn = work_signature("draw", {"samples": handle("a"), "share": 0.1}, {"a": "ingest"}, device="cpu", learns=False)
    assert (drawn.like, drawn.effort) == ("ingest", 0.1)


@pytest.mark.parametrize("draw", ["number", "repeat", "seed"])
def test_another_draw_is_the_same_work(draw: str) -> None:
    one, other = (
        work_signature("train", {"samples": handle("a"), draw: at}, {"a": "ingest"}, device="cpu", learns=True)
        for at in (1, 2)
    )
    assert (one.like, one.own, one.effort) == (other.like, other.own, other.effort)


def test_a_training_weighs_more_than_any_attack_and_the_longer_of_two_more_than_the_shorter() -> None:
    attack, training = work(Attack(steps=1000)), work(Attack(epochs=1), learns=True)
    assert training.weight > attack.weight > work(Attack()).weight
    assert work(Attack(epochs=2), learns=True).weight > training.weight
