"""A team's project: own patients, own rules, own model, and packages that are called as ours are inside."""

from __future__ import annotations

import random
from pathlib import Path

PIPELINES = """
compute: {workers: 2, partitions: 4}
pipelines:
  night:
    description: A team's own patients
    source: {csv: patients.csv, id: id, label: label}
    labeling: {functions: rules.py}
    pruning: {correlation: 0.9}
    weak_labels: {labelers: [majority]}
    ordering: {alpha: 0.05, datasets: 5}
    subject: {model: "model.py:predict"}
  pair:
    description: Two models that are held up at the same moment
    source: {csv: patients.csv, id: id, label: label}
    labeling: {functions: rules.py}
    pruning: {correlation: 0.9}
    weak_labels: {labelers: [majority]}
    ordering: {alpha: 0.05, datasets: 5}
    subjects:
      - {name: mild, model: "model.py:predict"}
      - {name: strict, model: "model.py:predict_strictly"}
"""

RULES = '''
import os
import signal
from pathlib import Path

import numpy as np

from assay.tasks.labeling.rules import ABSTAIN, column_rule

CLASSES = ("ill", "well")


def killed_once(samples):
    """With a file `kill` among the marks, the worker that meets patient p150 dies; once, since the file goes first."""
    mark = Path(os.environ.get("TEAM_MARKS", "/nowhere"), "kill")
    if "p150" in set(samples["id"]) and mark.exists():
        mark.rename(mark.with_name("killed"))
        os.kill(os.getpid(), signal.SIGKILL)


@column_rule
def hot(samples):
    killed_once(samples)
    return np.where(samples["temperature"] > 38.5, 0, ABSTAIN)


@column_rule
def cool(samples):
    return np.where(samples["temperature"] < 37.5, 1, ABSTAIN)


@column_rule
def fast(samples):
    return np.where(samples["pulse"] > 100, 0, np.where(samples["pulse"] < 80, 1, ABSTAIN))


@column_rule
def coughing(samples):
    return np.where(samples["cough"] == 1, 0, 1)
'''

MODEL = '''
import os
import time
from pathlib import Path

import numpy as np


def held(ids):
    """With a file `hold` among the marks, whoever meets patient p350 waits, and says so, until the file is gone."""
    marks = Path(os.environ.get("TEAM_MARKS", "/nowhere"))
    if "p350" in ids and (marks / "hold").exists():
        (marks / "held").touch()
        (marks / f"held-{os.getpid()}").touch()
        deadline = time.monotonic() + 240
        while (marks / "hold").exists() and time.monotonic() < deadline:
            time.sleep(0.02)


def predict(table):
    held(table["id"].to_pylist())
    well = 1 / (1 + np.exp(table["temperature"].to_numpy() - 38.0))
    return np.stack([1 - well, well], axis=1)


def predict_strictly(table):
    held(table["id"].to_pylist())
    well = 1 / (1 + np.exp(table["temperature"].to_numpy() - 37.4))
    return np.stack([1 - well, well], axis=1)
'''

NOT_OURS = 'raise ImportError("this package is the team\'s own: Assay has no business importing it")\n'


def patients(count: int = 400) -> str:
    """A CSV of patients, always the same, whose temperature, pulse and cough go with being ill."""
    draw = random.Random(7)
    lines = ["id,temperature,pulse,cough,label"]
    for number in range(count):
        ill = draw.random() < 0.4
        temperature = draw.gauss(38.7 if ill else 37.2, 0.8)
        pulse = draw.gauss(102 if ill else 78, 14)
        cough = int(draw.random() < (0.8 if ill else 0.15))
        lines.append(f"p{number:03d},{temperature:.2f},{pulse:.0f},{cough},{'ill' if ill else 'well'}")
    return "\n".join(lines) + "\n"


def own_packages(folder: Path) -> None:
    """Packages named as the storeys of Assay; importing one of them fails loudly."""
    for name in ("flows", "tasks", "data", "infra"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(NOT_OURS)


def team_project(folder: Path) -> Path:
    """The folder, with the project in it."""
    own_packages(folder)
    contents = {"pipelines.yaml": PIPELINES, "rules.py": RULES, "model.py": MODEL, "patients.csv": patients()}
    for name, content in contents.items():
        (folder / name).write_text(content)
    (folder / "marks").mkdir()
    return folder
