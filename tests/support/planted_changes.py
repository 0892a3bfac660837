"""A team's project in which changes can be planted, and what each of them does in the whole population."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from team_project import RULES, patients

PIPELINES = """
compute: {engine: serial, partitions: 4}
pipelines:
  night:
    source: {csv: "patients-*.csv", id: id, label: label}
    labeling: {functions: rules.py}
    pruning: {correlation: 0.9}
    weak_labels: {labelers: [majority]}
    ordering: {alpha: 0.05, datasets: 5}
    subject: {name: own, model: "model.py:predict"}
    gates:
      - {finding: subject.accuracy, of: gold, group: D5, against: last-passed, drop_at_most: 0.0}
"""
MODEL = """
import numpy as np

with open("epoch.txt") as file:
    FEVER = float(file.read())


def predict(table):
    well = 1 / (1 + np.exp(table["temperature"].to_numpy() - FEVER))
    return np.stack([1 - well, well], axis=1)
"""
PULSE = 'np.where(samples["pulse"] > 100, 0, np.where(samples["pulse"] < 80, 1, ABSTAIN))'
INVERTED = 'np.where(samples["pulse"] > 100, 1, np.where(samples["pulse"] < 80, 0, ABSTAIN))'
LATE, EARLY = 38.0, 38.8
"""What the weights of the last epoch, and of an earlier one, take for fever."""
PARTS = {"labels": "samples", "rule": "rules", "epoch": "weights"}
"""What `blame` calls each planted change."""


def plant(folder: Path, *changes: str, count: int = 400) -> Path:
    """The project with these changes in it: `labels` flipped in one file, one `rule` inverted, an earlier `epoch`."""
    rows = patients(count).splitlines()
    halves = {"patients-a.csv": rows[1::2], "patients-b.csv": rows[2::2]}
    if "labels" in changes:
        halves["patients-b.csv"] = [flipped(row, at) for at, row in enumerate(halves["patients-b.csv"])]
    contents = {
        "pipelines.yaml": PIPELINES,
        "model.py": MODEL,
        "epoch.txt": str(EARLY if "epoch" in changes else LATE),
        "rules.py": RULES.replace(PULSE, INVERTED if "rule" in changes else PULSE),
    } | {name: "\n".join([rows[0], *half]) + "\n" for name, half in halves.items()}
    for name, content in contents.items():
        (folder / name).write_text(content)
    return folder


def flipped(row: str, at: int) -> str:
    """Every fifth patient of the file has the other label."""
    patient, _, label = row.rpartition(",")
    return row if at % 5 else f"{patient},{'well' if label == 'ill' else 'ill'}"


def in_the_population(of: str, count: int = 400_000) -> Mapping[str, float]:
    """What each change is to blame for among all patients there could be: Shapley's value by its definition, written
    down apart from the code under test."""
    draw = np.random.default_rng(3)
    ill = draw.random(count) < 0.4
    temperature = np.round(draw.normal(np.where(ill, 38.7, 37.2), 0.8), 2)
    pulse = np.round(draw.normal(np.where(ill, 102, 78), 14))
    cough = draw.random(count) < np.where(ill, 0.8, 0.15)
    mistaken = draw.random(count) < 0.1  # every fifth in one of two files

    def value(changed: frozenset[str]) -> float:
        said_ill = temperature >= (EARLY if "epoch" in changed else LATE)
        if of == "gold":
            return float((said_ill == (ill ^ mistaken if "labels" in changed else ill)).mean())
        fast = np.where(pulse > 100, 1, np.where(pulse < 80, -1, 0)) * (-1 if "rule" in changed else 1)
        votes = np.where(temperature > 38.5, 1, 0) - (temperature < 37.5) + fast + np.where(cough, 1, -1)
        return float((said_ill == (votes >= 0)).mean())  # a tie is of the first class: ill

    shares = dict.fromkeys(PARTS, 0.0)
    orders = list(itertools.permutations(PARTS))
    for order in orders:
        for at, change in enumerate(order):
            shares[change] += (value(frozenset(order[: at + 1])) - value(frozenset(order[:at]))) / len(orders)
    return shares
