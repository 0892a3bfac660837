"""A team's two nights for real services: patients on CPU workers, pictures on a GPU worker, both on a schedule."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from team_project import RULES, team_project

NIGHTS = """
store: {store}
compute: {{engine: "{engine}", partitions: 4}}
pipelines:
  night:
    schedule: "{cron}"
    source: {{csv: {folder}/patients.csv, id: id, label: label}}
    labeling: {{functions: rules.py}}
    pruning: {{correlation: 0.9}}
    weak_labels: {{labelers: [majority]}}
    ordering: {{alpha: 0.05, datasets: 5}}
    subject: {{model: "model.py:predict"}}
  pictures:
    schedule: "{cron}"
    source: {{dataset: sample/lesions-small}}
    evaluation: {{limit: 40}}
    subjects:
      - {{name: net, network: small-cnn, width: 0.25, crop: 26, train: {{epochs: 4, batch_size: 32}}}}
    attacks:
      - pgd: {{eps: [4/255], steps: 2, keep: 1}}
"""
GREEDY = '''

def greedy_once(samples):
    """With a file `greedy` among the marks, the worker that meets patient p050 takes memory until it is ended; once."""
    import time

    mark = Path(os.environ.get("TEAM_MARKS", "/nowhere"), "greedy")
    if "p050" in set(samples["id"]) and mark.exists():
        mark.rename(mark.with_name("greedy-was"))
        held = []
        while len(held) < 60:
            held.append(np.ones(50 << 17))  # 50 MiB, touched
            time.sleep(0.05)


@column_rule
def feverish(samples):
    greedy_once(samples)
    return np.where(samples["temperature"] > 39.5, 0, ABSTAIN)
'''


def served_team(folder: Path) -> Path:
    """The team's folder, with rules that can be made to take too much memory."""
    team_project(folder)
    (folder / "rules.py").write_text(RULES + GREEDY)
    return folder


def write_nights(folder: Path, *, store: str, engine: str, cron: str = "0 2 * * *") -> None:
    """The team's `pipelines.yaml`."""
    (folder / "pipelines.yaml").write_text(NIGHTS.format(store=store, engine=engine, cron=cron, folder=folder))


def soon() -> str:
    """A cron line for a minute that is at least one and a half away, in UTC as Prefect reads it."""
    then = datetime.now(UTC) + timedelta(seconds=150)
    return f"{then.minute} {then.hour} * * *"


def records_in(url: str) -> list[dict[str, Any]]:
    """The records of all runs of a store, oldest first."""
    from assay.infra.storage.folders import Folder

    folder = Folder(url)
    names = [name for name in folder.sizes("runs") if name.count("/") == 1 and name.endswith(".json")]
    found = [json.loads(folder.read(name)) for name in names]
    return sorted(found, key=lambda record: str(record["started"]))
