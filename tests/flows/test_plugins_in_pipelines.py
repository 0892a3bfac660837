"""What plug-ins bring is written in a pipeline like what comes with Assay, and refused with its line like the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.flows.audits.table import KINDS
from assay.flows.configuration.short_forms import write_out
from assay.flows.pipeline import Pipeline, pipeline_model
from assay.flows.validation import validate
from assay.flows.yaml_document import read_yaml
from assay.infra.user_code.choices import with_types
from assay.tasks.attacks.table import ATTACKS
from assay.tasks.corruptions.table import CORRUPTIONS, Corruptions
from assay.tasks.defenses.table import DEFENCES

PLUGINS = '''
from typing import Literal
from pydantic import Field
from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.corruptions.table import Corruption
from assay.tasks.corruptions.table import shares
from assay.tasks.defenses.settings import Defence
from assay.tasks.defenses.table import ImageDefenceChoice

class Waves(ImageAttack):
    """Stripes."""
    attack: Literal["waves"] = "waves"
    periods: float = Field(default=2.0, gt=0)

class Calm(Defence):
    """None at all."""
    defense: Literal["calm"] = "calm"

def nothing(*_): raise NotImplementedError
WAVES = ImageAttackChoice(Waves, nothing)
FADE = Corruption("fade", "ramp", nothing, shares("share", 0.5, 0.5))
CALM = ImageDefenceChoice(Calm, nothing)
'''
WRITTEN = """\
name: night
source: {dataset: sample/digits}
attacks:
  - mine.py:WAVES: {periods: PERIODS}
  - mine.py:WAVES
  - fgsm
corruptions: {perturbations: [snow, "mine.py:FADE"]}
defenses: [{defense: mine.py:CALM, eps: 0.1}, standard]
"""


def read(folder: Path, text: str) -> tuple[Pipeline | None, list[str]]:
    """The pipeline in a text beside which the plug-ins lie, or what is wrong with it."""
    (folder / "mine.py").write_text(PLUGINS)
    document = read_yaml(text, "pipelines.yaml")
    write_out(document, ("attacks",), "attack", ATTACKS.fields)
    write_out(document, ("defenses",), "defense", DEFENCES.fields)
    attacks = ATTACKS.with_plugins(folder, ["mine.py:WAVES"])
    defenses = DEFENCES.with_plugins(folder, ["mine.py:CALM"])
    listed = ["mine.py:FADE"]
    corruptions = CORRUPTIONS.with_plugins(folder, listed).settings_with(Corruptions, "perturbations")
    types = {
        "attacks": tuple[attacks.union, ...],
        "corruptions": corruptions | None,  # type: ignore[name-defined]
        "defenses": tuple[defenses.union, ...],  # type: ignore[name-defined]
    }
    model: type[Pipeline] = with_types(pipeline_model(KINDS), types)
    settings, wrong = validate(model, document)
    return settings, [str(mistake) for _, mistake in wrong]


def test_plug_ins_stand_in_a_pipeline_wherever_ours_do(tmp_path: Path) -> None:
    pipeline, wrong = read(tmp_path, WRITTEN.replace("PERIODS", "5"))
    assert wrong == []
    assert isinstance(pipeline, Pipeline)
    assert [(one.called, getattr(one, "periods", None)) for one in pipeline.attacks] == [
        ("waves", 5.0),
        ("waves", 2.0),
        ("fgsm", None),
    ]
    asked = pipeline.asked(Corruptions)
    assert asked is not None
    assert asked.perturbations == ("snow", "fade")
    assert [one.called for one in pipeline.defenses] == ["calm", "standard"]


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("PERIODS", "-1", "pipelines.yaml:4: attacks.0.periods: -1 — expected a number above 0"),
        ("periods: PERIODS", "perods: 3", "pipelines.yaml:4: attacks.0.perods — unknown key; did you mean periods?"),
        (
            "- fgsm",
            "- wavs",
            'pipelines.yaml:6: attacks.2.attack: "wavs" — there is no such attack; did you mean waves?',
        ),
    ],
)
def test_mistakes_in_them_are_said_like_others(tmp_path: Path, written: str, instead: str, said: str) -> None:
    _, wrong = read(tmp_path, WRITTEN.replace(written, instead).replace("PERIODS", "5"))
    assert wrong == [said]
