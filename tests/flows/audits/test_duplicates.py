"""What stands in the training is held against a subject that learned from it, and against none that came as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from direct_nights import latest, perform_night

from assay.flows.audits.table import KINDS
from assay.flows.report.sentences import sentences
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_of

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
    findings = findings_of(*latest(tmp_path, "night"))
    found = {one.metric: one.value for one in findings}
    assert found["duplicates.share"] > 0
    assert found.get("duplicates.leaked") == leaked
    (page,) = [one.read_text() for one in tmp_path.rglob("reports/*/index.html")]
    assert ("nearly the same as one that trains" in page) == (leaked is not None)
    first = sentences(KINDS, FindingIndex(findings))[0]
    assert ("nearly the same as one that trains" in first.text and first.tone == "bad") == (leaked is not None)
    head, *_ = page.split("<section")
    assert ("nearly the same as one that trains" in head) == (leaked is not None)


def test_a_leak_is_said_before_all_else_that_is_bad() -> None:
    bad = [
        Finding("subject.accuracy", "clean", subject="net", value=0.5, low=0.4, high=0.6, n=100),
        Finding("subject.constant_accuracy", "clean", subject="net", value=0.6, n=100),
        Finding("subject.worst_recall", "clean", subject="net", value=0.1, low=0.0, high=0.2, n=50, verdict="ill"),
        Finding("overfitting.p_value", subject="net", value=0.001, n=100, verdict="overfit"),
        Finding("slices.worse_p", "site = B", subject="net", value=0.001, n=50, verdict="worse"),
    ]
    leaked = Finding("duplicates.leaked", value=0.02, low=0.01, high=0.04, n=100, verdict="red flag")
    assert "nearly the same as one that trains" in sentences(KINDS, FindingIndex([*bad, leaked]))[0].text
    assert "nearly the same" not in sentences(KINDS, FindingIndex([*bad, replace(leaked, value=0.0)]))[0].text
