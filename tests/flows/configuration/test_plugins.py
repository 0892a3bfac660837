"""Plug-ins that a pipelines file names: kinds of audit and choices, and one sentence for each that cannot be used."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay.flows.audits.table import KINDS, troubles_of
from assay.flows.cli import answer
from assay.flows.configuration.loading import Project, load_project, load_usable
from assay.flows.kind import AuditKind, Ground
from assay.flows.report.run_page import shown_by
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import InputError
from assay.infra.stages.runs import Run
from assay.tasks.statistics.findings import FindingIndex

KIND = '''
from pydantic import Field
from assay.flows.kind import AuditKind, Key, Measured
from assay.infra.settings import Settings
from assay.tasks.statistics.metrics import metric as declared_metric

class Tally(Settings):
    """Options of the tally."""
    factor: int = Field(default=1, ge=1, description="What every sample counts.")

def asked(pipeline):
    return pipeline.asked(Tally) is not None

def run(ground, tally):
    raise NotImplementedError

def kind(
    name="tally", run=run, key="tally", stage="tally", keys=("tally",), stands_on=("data",), metric="tally", **more
):
    measured = Measured(stage, (declared_metric(f"{metric}.samples"),), keys)
    return AuditKind(name, asked, run, keys=(Key(key, Tally, "{factor: 2}"),), stands_on=stands_on,
                     measures=(measured,), **more)

def says_how_hard(_ground, _result):
    return iter(())

def breaks(_ground, _result, _findings):
    raise KeyError("nothing here")
    yield

'''
ATTACKS = '''
from typing import Literal
from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.texts.settings import WordAttack

class Waves(ImageAttack):
    """Stripes."""
    attack: Literal["waves"] = "waves"
    periods: float = 2.0

class Slang(WordAttack):
    """Other words."""
    attack: Literal["slang"] = "slang"

def nothing(*_): raise NotImplementedError
WAVES = ImageAttackChoice(Waves, nothing)
SLANG = TextAttackChoice(Slang, replacements=nothing)
'''
IMAGES = "source: {dataset: sample/digits}\n    subjects: [{name: net, network: small-cnn, train: {epochs: 1}}]\n"
_numbers = itertools.count()


def module_of(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> str:
    """The name of a module with that code, which Python finds."""
    name = f"own_audits_{next(_numbers)}"
    (folder / f"{name}.py").write_text(KIND + code)
    monkeypatch.syspath_prepend(folder)
    return name


def project(folder: Path, text: str, *overrides: str) -> Project:
    """The project of a pipelines file with that text."""
    (folder / "pipelines.yaml").write_text(text)
    (folder / "mine.py").write_text(ATTACKS)
    return load_project(folder / "pipelines.yaml", pipeline="p", overrides=overrides)


def refusal(folder: Path, text: str, *overrides: str) -> str:
    """What is wrong with a pipelines file of that text."""
    with pytest.raises(ConfigurationError) as caught:
        project(folder, text, *overrides)
    return str(caught.value)


def test_a_kind_of_audit_is_named_in_the_file_and_asked_for_by_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module_of(tmp_path, monkeypatch, "TALLY = kind(hardness=says_how_hard)")
    text = f"audits: ['{name}:TALLY']\npipelines:\n  p:\n    source: {{dataset: sample/digits}}\n"
    text += "    tally: {factor: 3}\n"
    gate = "    gates: [{finding: tally.samples, at_least: 1}]\n"
    pipeline = project(tmp_path, text + gate).pipeline("p")
    assert pipeline.parts["tally"].model_dump() == {"factor": 3}
    tally, hardness = pipeline.kinds[-2:]
    assert tally.identity is not None
    assert "tally" in hardness.stands_on  # it says how hard it found the samples
    assert "no stage measures tally.sample; did you mean" in refusal(tmp_path, text + gate.replace("samples", "sample"))
    assert ":5: tally.factor: 0 — expected a whole number of at least 1" in refusal(tmp_path, text.replace("3}", "0}"))
    assert "tally — unknown key" in refusal(tmp_path, text.partition("\n")[2])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_our_own_kinds_keep_what_is_asked_of_plugins(kind: AuditKind) -> None:
    assert list(troubles_of(kind)) == []


def test_a_page_that_breaks_costs_that_page_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    name = module_of(tmp_path, monkeypatch, "TALLY = kind(page=breaks)")
    text = f"audits: ['{name}:TALLY']\npipelines:\n  p: {{source: {{dataset: sample/digits}}, tally: {{}}}}\n"
    *_, tally, _ = project(tmp_path, text).pipeline("p").kinds
    ground = Ground(project(tmp_path, text).pipeline("p"), tmp_path)
    [part] = shown_by(tally, tally.page, ground, None, FindingIndex())
    assert part.sentence == f"The plug-in \"{name}:TALLY\" could not show what it found: KeyError: 'nothing here'."
    with pytest.raises(KeyError):
        shown_by(replace(tally, origin=None), tally.page, ground, None, FindingIndex())


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("TALLY = 3", "it is of the type int, and a "),
        ("TALLY = kind(", "is not Python: '(' was never closed in line"),
        ("TALLY = kind(nmae='tally')", "does not import: TypeError: AuditKind.__init__() got an unexpected keyword"),
        ("TALLY = kind(name='My tally')", "its name is 'My tally', and a name is small letters, digits and dashes"),
        ("TALLY = kind(name='trust')", "there is another kind of audit called trust"),
        ("TALLY = kind(key='trust')", "its key trust is a key of trust already"),
        ("TALLY = kind(key='source')", "its key source is a key of every pipeline already"),
        ("TALLY = kind(stage='trust', metric='trust')", "its findings are called trust.…, and so are those of trust"),
        ("TALLY = kind(metric='count')", "it measures count.samples under tally, and a finding is called tally.…"),
        ("TALLY = kind(keys=('tallly',))", "it measures tally where a pipeline has tallly, and there is no such key"),
        ("TALLY = kind(run=lambda: 3)", "its run does not take 2 arguments, as in run(ground, tally)"),
        ("TALLY = kind(run=3)", "its run is no function, as in run(ground, tally)"),
        ("TALLY = kind(stands_on='data')", "its stands_on is not a tuple of str"),
        ("TALLY = kind(stands_on=('subject',))", "it stands on subject, and there is no such kind of audit; did you"),
        ("TALLY = kind(stands_on=('tally',))", "audits stand on each other in a circle: tally"),
    ],
)
def test_one_that_cannot_be_used_is_one_sentence_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = module_of(tmp_path, monkeypatch, code)
    text = f"audits: ['{name}:TALLY']\npipelines:\n  p: {{source: {{dataset: sample/digits}}}}\n"
    refused = refusal(tmp_path, text)
    assert "pipelines.yaml:1: audits" in refused
    assert said in refused
    assert "\n" not in refused
    sys.modules.pop(name, None)
    assert answer(["check", "--plugin", f"{name}:TALLY", "--config", str(tmp_path / "pipelines.yaml")]) == 2
    assert said in capsys.readouterr().err


def test_two_that_stand_on_each_other_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = "A = kind('a', key='a', keys=('a',), stage='a', metric='a', stands_on=('b',))\n"
    name = module_of(
        tmp_path,
        monkeypatch,
        two + two.replace("A =", "B =").replace("'b'", "'c'").replace("'a'", "'b'").replace("'c'", "'a'"),
    )
    text = f"audits: ['{name}:A', '{name}:B']\npipelines:\n  p: {{source: {{dataset: sample/digits}}}}\n"
    assert "audits stand on each other in a circle: a, b" in refusal(tmp_path, text)


def test_an_audit_is_a_module_that_workers_can_import(tmp_path: Path) -> None:
    text = "audits: ['mine.py:TALLY']\npipelines:\n  p: {source: {dataset: sample/digits}}\n"
    assert '"mine.py:TALLY" is a file, and workers import the stages of an audit by their name' in refusal(
        tmp_path, text
    )


def test_what_a_package_breaks_is_said_to_the_project_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module_of(tmp_path, monkeypatch, "TALLY = kind(key='trust')")
    told = tmp_path / "broken-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(f"[assay.audits]\ntally = {name}:TALLY\n")
    with pytest.raises(InputError) as caught:
        project(tmp_path, "pipelines:\n  p: {source: {dataset: sample/digits}, tally: {}}\n")
    assert str(caught.value) == (
        'The plug-in "tally" of broken 1.0 is no kind of audit that can be used: its key trust is a key of trust '
        "already."
    )


def test_short_forms_and_plug_ins_from_the_command_line_are_looked_at_like_written_ones(tmp_path: Path) -> None:
    text = f"pipelines:\n  p:\n    {IMAGES}    gates: [{{finding: attack.accuracy, of: waves, at_least: 0}}]\n"
    made = project(tmp_path, text, "attacks=[pgd, {'mine.py:WAVES': {periods: 3}}]").pipeline("p")
    assert [(attack.called, getattr(attack, "periods", None)) for attack in made.attacks] == [
        ("pgd", None),
        ("waves", 3.0),
    ]
    assert project(tmp_path, text, "attacks=['mine.py:WAVES']", "attacks.0.periods=5").pipeline("p").attacks
    assert 'gates.0.of: "waves" — there is no such attack' in refusal(tmp_path, text, "attacks=[pgd, fgsm]")
    assert "another attack is called pgd as well" in refusal(tmp_path, text, "attacks=[pgd, {pgd: {steps: 3}}]")
    assert "slang needs a subject for texts: add one with classifier" in refusal(
        tmp_path, text, "attacks=[mine.py:SLANG]"
    )


def test_a_plug_in_that_one_pipeline_cannot_have_is_no_matter_of_the_others(tmp_path: Path) -> None:
    text = f"pipelines:\n  p:\n    {IMAGES}    attacks: [pgd, mine.py:WAVE]\n"
    text += f"  q:\n    {IMAGES}    attacks: [mine.py:WAVES]\n"
    refused = refusal(tmp_path, text)
    assert 'pipelines.yaml:5: attacks.1: "mine.py:WAVE" — ' in refused
    assert refused.endswith('"mine.py:WAVE" names an object that is not there; did you mean WAVES?')
    assert "\n" not in refused
    usable, wrong = load_usable(tmp_path / "pipelines.yaml")
    assert (list(usable.pipelines), list(wrong)) == (["q"], ["p"])


def test_a_choice_is_tried_by_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(ATTACKS)
    assert answer(["check", "--plugin", "mine.py:WAVES", "--config", str(tmp_path / "pipelines.yaml")]) == 2
    assert "mine.py:WAVES: " in capsys.readouterr().err
    assert answer(["check", "--plugin", "mine.py:NONE", "--config", str(tmp_path / "pipelines.yaml")]) == 2
    assert '"mine.py:NONE" names an object that is not there; known here: ' in capsys.readouterr().err


def test_an_installed_choice_is_tried_beside_ours_and_those_of_other_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    code = "from assay.tasks.weak_labels.labelers import LabelerChoice\n"
    code += "MAJORITY, EVEN = LabelerChoice('majority'), LabelerChoice('even')\n"
    for package in ("evens", "odds"):
        (tmp_path / f"{package}.py").write_text(code)
        told = tmp_path / f"{package}-1.0.dist-info"
        told.mkdir()
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        points = f"[assay.labelers]\neven = {package}:EVEN\n" + (
            "majority = odds:MAJORITY\n" if package == "odds" else ""
        )
        (told / "entry_points.txt").write_text(points)
    assert answer(["check", "--plugin", "majority", "--config", str(tmp_path / "pipelines.yaml")]) == 2
    assert 'is called "majority", and so is the labeler that comes with Assay' in capsys.readouterr().err
    assert answer(["check", "--plugin", "even", "--config", str(tmp_path / "pipelines.yaml")]) == 2
    said = 'even: Two plug-ins are called "even", even = evens:EVEN of evens 1.0 and even = odds:EVEN of odds 1.0'
    assert capsys.readouterr().err == f"{said}: rename one.\n"
