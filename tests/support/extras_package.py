"""A package as another team writes it: an attack, a perturbation, a labeler and a kind of audit, offered to Assay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PYPROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "assay-extras"
version = "1.2"

[project.entry-points."assay.attacks"]
ripples = "assay_extras.images:RIPPLES"
[project.entry-points."assay.corruptions"]
fade = "assay_extras.images:FADE"
[project.entry-points."assay.labelers"]
cautious = "assay_extras.labels:CAUTIOUS"
[project.entry-points."assay.audits"]
tally = "assay_extras.tally:TALLY"

[tool.setuptools]
packages = ["assay_extras"]
"""
IMAGES = '''
"""Ripples and fading."""
from typing import Literal
from pydantic import Field
from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.corruptions.table import Corruption
from assay.tasks.corruptions.table import shares

class Ripples(ImageAttack):
    """Stripes that rise and fall across the image."""
    attack: Literal["ripples"] = "ripples"
    """Which attack it is."""
    periods: float = Field(default=2.0, gt=0)
    """How many ripples there are."""

def ripples(settings, batch):
    import torch
    from assay.tasks.attacks.batch import Ledger
    ledger, width = Ledger(batch, steps=1, last=True), batch.images.shape[-1]
    places = torch.arange(width, device=batch.images.device)
    x = batch.ball.clip(batch.images + batch.eps * torch.sin(places / width * 6.2832 * settings.periods))
    ledger.look(x, batch.criterion.harm(batch.ask(x)), 1)
    ledger.settle()
    return ledger

def fading(at, images, draws, strengths):
    from assay.tasks.corruptions.table import each
    return each(images, strengths, lambda share: images * (1 - share * at["share"]))

RIPPLES = ImageAttackChoice(Ripples, ripples)
FADE = Corruption("fade", "ramp", fading, shares("share", 0.5, 0.5))
'''
LABELS = '''
"""A labeler that is never sure."""
from assay.tasks.weak_labels.labelers import LabelerChoice

def smoothed(votes, classes):
    import numpy as np
    counts = (votes[:, :, None] == np.arange(classes)).sum(axis=1) + 1.0
    return counts / counts.sum(axis=1, keepdims=True)

CAUTIOUS = LabelerChoice("cautious", probabilities=smoothed)
'''
TALLY = '''
"""How many samples there are."""
from dataclasses import dataclass
from pydantic import Field
from assay.data.schemas import Findings, Samples
from assay.flows.audits.data import Data
from assay.flows.kind import AuditKind, Key, Measured
from assay.infra.storage.artifacts import Artifact
from assay.infra.settings import Settings
from assay.infra.stages.stage import stage, write_table
from assay.tasks.reporting.report import Headline
from assay.tasks.reporting.parts import Part, Verdict
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.metrics import metric

class Tally(Settings):
    """How many samples there are."""
    factor: int = Field(default=1, ge=1)
    """What every sample counts."""

@dataclass(frozen=True)
class Tallied:
    findings: tuple[Artifact[Findings], ...]

@stage(version=1, title="tally")
def count_samples(samples: Artifact[Samples], factor: int) -> Artifact[Findings]:
    return write_table(findings_table([Finding("tally.samples", value=float(samples.rows * factor))]), into=Findings)

def run(ground, tally):
    return Tallied((count_samples(ground.of(Data).samples, tally.factor),))

def page(ground, result, findings):
    yield Part("Tally", "So many samples were tallied.", [], "tally")

def verdict(findings):
    return [Verdict(f"Tallied {one.value:.0f} samples") for one in findings.select("tally.samples")]

TALLY = AuditKind(
    "tally", lambda pipeline: pipeline.asked(Tally) is not None, run,
    keys=(Key("tally", Tally, "{factor: 2}"),), stands_on=("data",),
    measures=(Measured("tally", (metric("tally.samples"),), ("tally",)),), page=page, verdict=verdict,
)
'''


def write_extras(folder: Path) -> Path:
    """The package's source in a folder."""
    (folder / "assay_extras").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "assay_extras" / "__init__.py").write_text('"""What another team brings."""\n')
    for name, text in (("images", IMAGES), ("labels", LABELS), ("tally", TALLY)):
        (folder / "assay_extras" / f"{name}.py").write_text(text)
    return folder


def install_extras(folder: Path) -> Path:
    """Where pip has put the package, without a network."""
    source, site = write_extras(folder / "source"), folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, "--target", str(site), str(source)], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return site
