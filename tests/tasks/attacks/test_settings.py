"""Attacks as settings: what may be written, what it is called, and the paper's own by name."""

import pytest
from pydantic import TypeAdapter, ValidationError

from assay.tasks.attacks.pgd import PGD
from assay.tasks.attacks.settings import GAP, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS, PRESETS, AnyAttack

attack = TypeAdapter(AnyAttack).validate_python


@pytest.mark.parametrize(
    ("eps", "name"),
    [
        (0.0, "eps=0"),
        (4 / 255, "eps=4/255"),
        (16 / 255, "eps=16/255"),
        (0.1, "eps=0.1"),
        (0.15, "eps=0.15"),
        (0.2, "eps=0.2"),
        (1.0, "eps=1"),
        (1 / 3, "eps=85/255"),
        (0.123, "eps=0.123"),
    ],
)
def test_an_eps_is_written_as_people_write_it(eps, name):
    assert eps_name(eps) == name


def test_no_two_levels_share_a_name():
    assert len({eps_name(level / 255) for level in range(256)}) == 256


def test_the_presets_are_the_papers_four_pgd_attacks_and_three_gap_norms():
    drawn = {
        name: (one.eps[0] * 255, one.steps, one.step_size * 255)
        for name, one in PRESETS.items()
        if isinstance(one, PGD)
    }
    assert {name: tuple(round(value) for value in one) for name, one in drawn.items()} == {
        "xu-pgd-2": (2, 1, 1),
        "xu-pgd-4": (4, 4, 1),
        "xu-pgd-5": (5, 40, 1),
        "xu-pgd-10": (10, 60, 1),
    }
    assert [round(one.eps[0] * 255) for one in PRESETS.values() if isinstance(one, GAP)] == [7, 11, 13]
    assert all(one.called == name for name, one in PRESETS.items())


def test_the_papers_attacks_end_with_their_last_image():
    assert all(one.last for one in PRESETS.values() if isinstance(one, PGD))


def test_what_happens_to_the_images_later_does_not_enter_the_key_of_what_made_them():
    plain, shown = PGD(name="p", eps=(0.1,)), PGD(name="p", eps=(0.1,), transfer=True)
    assert plain.for_attacking() == shown.for_attacking() == plain
    assert PGD(keep=7, keep_all=True, transfer=True).for_transfer() == PGD(keep=0)
    one, other = GAP(name="one", eps=(0.1, 0.2), keep=2, transfer=True), GAP(eps=(0.3, 0.1), keep_all=True)
    assert one.for_training(0.1) == other.for_training(0.1)
    assert one.for_training(0.1) != GAP(width=8).for_training(0.1)


def test_an_attack_can_be_written_short():
    assert attack("fgsm") == attack({"attack": "fgsm"})
    assert attack({"pgd": {"eps": ["4/255", 0.1], "steps": 7}}) == PGD(eps=(4 / 255, 0.1), steps=7)
    assert attack("xu-pgd-4") is PRESETS["xu-pgd-4"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"attack": "pgd", "eps": -0.1}, "greater than or equal to 0"),
        ({"attack": "pgd", "eps": 1.5}, "write a number such as 0.1 or 8/255"),
        ({"attack": "pgd", "eps": "4/0"}, "no fraction"),
        ({"attack": "pgd", "eps": []}, "at least 1 item"),
        ({"attack": "pgd", "eps": [0.1, 0.1]}, "0.1 stands twice"),
        ({"attack": "pgd", "target": 2}, "goal: targeted"),
        ({"attack": "pgd", "only_accuracy": True, "keep_all": True}, "keep_all"),
        ({"attack": "pgd", "only_accuracy": True, "last": True}, "every step"),
        ("xu-pgd-3", "there is no attack 'xu-pgd-3'"),
        ({"attack": "pgd", "step": 3}, "step"),
    ],
)
def test_what_makes_no_attack_is_refused_in_words(written, said):
    with pytest.raises(ValidationError, match=said):
        attack(written)


def test_every_kind_goes_by_its_own_name():
    assert all(one.settings().attack == one.settings().called == one.word for one in IMAGE_ATTACKS)
