"""An attack in a file of a user's attacks on worker processes that have never seen the file, like one of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pydantic import TypeAdapter
from tiny_subjects import SUBJECT, tiny_classes, tiny_files, tiny_samples

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.infra.user_code.choices import check_plugin
from assay.tasks.attacks.red_flags import flags_of_attacks
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.table import ATTACKS
from assay.tasks.attacks.task import attack_subject, measure_attacks
from assay.tasks.statistics.findings import findings_from

torch.set_num_threads(1)
pytestmark = pytest.mark.xdist_group("dask")

WAVES = '''
"""Stripes that rise and fall across the image."""
from typing import Literal
from pydantic import Field
from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack
from shapes import wave

class Waves(ImageAttack):
    """Stripes that rise and fall across the image."""
    attack: Literal["waves"] = "waves"
    """Which attack it is."""
    periods: float = Field(default=2.0, gt=0)
    """How many of them there are."""

def waves(settings, batch):
    from assay.tasks.attacks.batch import Ledger
    ledger = Ledger(batch, steps=1, last=True)
    x = batch.ball.clip(batch.images + batch.eps * wave(batch.images.shape[-1], settings.periods))
    ledger.look(x, batch.criterion.harm(batch.ask(x)), 1)
    ledger.settle()
    return ledger

WAVES = ImageAttackChoice(Waves, waves)
'''
SHAPES = "import torch\ndef wave(width, periods): return torch.sin(torch.arange(width) / width * 6.2832 * periods)\n"


@pytest.fixture
def waves(tmp_path: Path) -> Callable[[], ImageAttack]:
    """The attack as a pipelines file beside `waves.py` would have it."""
    (tmp_path / "waves.py").write_text(WAVES)
    (tmp_path / "shapes.py").write_text(SHAPES)

    def read() -> ImageAttack:
        table = ATTACKS.with_plugins(tmp_path, ["waves.py:WAVES"])
        return TypeAdapter(table.union).validate_python({"waves.py:WAVES": {"eps": [0.1, 0.2], "periods": 3}})

    return read


def attacked(attack: ImageAttack) -> tuple[str, str]:
    made = attack_subject(tiny_samples([20, 10]), tiny_classes(), tiny_files(), SUBJECT, attack, "tiny").attacked
    return made.key, made.digest


@pytest.mark.slow
def test_it_attacks_on_processes_that_never_saw_its_file_and_an_edit_attacks_anew(make_run, waves, tmp_path):
    with make_run("here", fresh=True):
        here = attacked(waves())
    with make_run("there", store=str(tmp_path / "elsewhere"), engine="local", workers=2, gpu_workers=0):
        assert attacked(waves()) == here
    (tmp_path / "shapes.py").write_text(SHAPES + "# an edit\n")
    with make_run("edited"):
        key, digest = attacked(waves())
    assert (key != here[0], digest == here[1]) == (True, True)


def test_it_is_measured_and_flagged_like_ours(run, waves):
    made = attack_subject(tiny_samples([30]), tiny_classes(), tiny_files(), SUBJECT, waves(), "tiny")
    found = findings_from(collect(measure_attacks([made.attacked], tiny_classes(), [waves()], "tiny", []), None))
    assert {one.group for one in found if one.metric == "attack.accuracy" and one.of == "waves"} == {
        "eps=0",
        "eps=0.1",
        "eps=0.2",
    }
    assert {flag.n for flag in flags_of_attacks([], [waves()], ["a", "b"])} == {0}


def test_an_author_can_try_it(waves, tmp_path):
    waves()
    assert check_plugin(ATTACKS.with_plugins(tmp_path, ["waves.py:WAVES"]).named("waves")) == []


STEP = "    x = batch.ball.clip(batch.images + batch.eps * wave(batch.images.shape[-1], settings.periods))"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("    x = (batch.images + 3 * batch.eps).clamp(0, 1)", "At eps=0.1 of the attack waves: a pixel moves by 0.3"),
        ("    x = batch.images.add_(1).clamp_(0, 1)", "At eps=0.1 of the attack waves: a pixel moves by "),
        ("    x = batch.images * float('nan')", r"waves: pixels leave \[0, 1\]"),
        ("    return batch.images", "The attack waves returns a Tensor"),
        ("    raise ValueError('no luck')", r'The plug-in "waves.py:WAVES" raised ValueError: no luck \(line 19\)'),
    ],
)
def test_what_is_no_attack_at_its_eps_ends_its_branch_and_is_named(run, waves, tmp_path, step, said):
    assert STEP in WAVES
    (tmp_path / "waves.py").write_text(WAVES.replace(STEP, step))
    with pytest.raises(InputError, match=said):
        attack_subject(tiny_samples([30]), tiny_classes(), tiny_files(), SUBJECT, waves(), "tiny")
