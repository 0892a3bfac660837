"""A night on comments, a third of which have gold, and what Label Studio exports of tasks on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N = 120
PIPELINES = """
pipelines:
  night:
    source: {csv: comments.csv, id: comment, label: answer, classes: [ham, spam]%s}
    labeling: {functions: rules.py}
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 4}
"""
RULES = """
CLASSES = ("ham", "spam")
def has_link(x): return 1 if "http" in x.text else -1
def begs(x): return 1 if "subscribe" in x.text else -1
def likes(x): return 0 if "love" in x.text else -1
RULES = [has_link, begs, likes]
"""


def comments_in(tmp_path: Path) -> Path:
    """Comments, a third of which have gold; what is truly spam says `truth`."""
    draw = np.random.default_rng(3)
    spam = draw.random(N) < 0.4
    says = [("http://win", 0.7, 0.1), ("please subscribe", 0.6, 0.2), ("love it", 0.2, 0.7)]
    heard = {word: draw.random(N) < np.where(spam, if_spam, if_ham) for word, if_spam, if_ham in says}
    texts = ["nice video " + " ".join(word for word, here in heard.items() if here[at]) for at in range(N)]
    truth = np.where(spam, "spam", "ham")
    table = pd.DataFrame({"comment": [f"c{at:03d}" for at in range(N)], "text": texts, "answer": truth})
    table.to_csv(tmp_path / "truth.csv", index=False)
    table["answer"] = table["answer"].where(np.arange(N) % 3 == 0, "")
    table.to_csv(tmp_path / "comments.csv", index=False)
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "pipelines.yaml").write_text(PIPELINES % "")
    return tmp_path


def tasks_in(folder: Path) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = json.loads((folder / "tasks.json").read_text())
    return tasks


def answered(tasks: list[dict[str, Any]], said: dict[str, list[str | None]]) -> list[dict[str, Any]]:
    """What Label Studio exports: each task with an annotation per person; None is a task that they skipped."""
    found = []
    for number, task in enumerate(tasks, start=1):
        given = [
            {
                "id": 1000 * number + person,
                "completed_by": person,
                "was_cancelled": word is None,
                "ground_truth": False,
                "result": []
                if word is None
                else [{"from_name": "label", "to_name": "shown", "type": "choices", "value": {"choices": [word]}}],
            }
            for person, word in enumerate(said.get(task["data"]["sample"], []), start=1)
        ]
        found.append({"id": number, **task, "annotations": given})
    return found
