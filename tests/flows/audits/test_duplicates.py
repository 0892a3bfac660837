"""What stands in the training is held against a subject that learned from it, and against none that came as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from direct_nights import latest, perform_night

from assay.tasks.statistics.findings import findings_of

NIGHT = """
compute: {engine: serial}
pipelines:
  night:
    source: {csv: notes.csv, id: note, label: kind}
    evaluation: {column: part, split: test}
    subjects: [{name: theirs, %s, text: text}]
    duplicates: {}
"""


@pytest.mark.parametrize(
    ("subject", "leaked"),
    [('classifier: "mine.py:answer"', None), ("classifier: small-bert, train: {epochs: 1}", 1 / 6)],
)
def test_only_what_trains_a_subject_can_leak(tmp_path: Path, subject: str, leaked: float | None) -> None:
    words = "the of a patient scan lesion heart rate film plot drug dose pain fever lung".split()  # noqa: SIM905
    lines = [f"n{at},{'xy'[at % 2]},{'train' if at < 24 else 'test'}," for at in range(30)]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 40)) for _ in range(30)]
    texts[29] = f"{texts[3]} indeed"
    rows = [line + text for line, text in zip(lines, texts, strict=True)]
    (tmp_path / "notes.csv").write_text("\n".join(["note,kind,part,text", *rows]) + "\n")
    (tmp_path / "mine.py").write_text("def answer(texts):\n    return [[0.5, 0.5] for _ in texts]\n")
    (tmp_path / "pipelines.yaml").write_text(NIGHT % subject)
    assert perform_night(tmp_path, "night").status == "done"
    found = {one.metric: one.value for one in findings_of(*latest(tmp_path, "night"))}
    assert found["duplicates.share"] > 0
    assert found.get("duplicates.leaked") == leaked
    (page,) = [one.read_text() for one in tmp_path.rglob("reports/*/index.html")]
    assert ("nearly the same as one that trains" in page) == (leaked is not None)
