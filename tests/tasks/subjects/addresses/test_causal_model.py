"""A real causal model behind a server of the protocol: what is read of its answers is what it computes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from causal_server import causal_server
from direct_nights import latest, perform_night

from assay.tasks.statistics.findings import FindingIndex, findings_of
from assay.tasks.subjects.addresses.given import Asking
from assay.tasks.subjects.predictions import answered_classes
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.model import OwnTextModel

TEXTS = [f"{'win' * (at % 3)} song number {at}" for at in range(20)]


@pytest.mark.slow
def test_probabilities_are_the_model_s_own_and_words_that_are_no_class_are_no_answers(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("spam or ham: {text}")

    def model(**more: object) -> OwnTextModel:
        asking = {"model": "tiny", "prompt": "prompt.txt", "answers": {"ham": (), "spam": ()}, "at_once": 4}
        subject = resolve_subject(Subject(classifier=url, asking=Asking.model_validate(asking | more)), tmp_path)
        assert subject.code is not None
        return OwnTextModel(subject.code, 2, names=("ham", "spam"))

    with causal_server() as (url, served):
        guided = {"guided_choice": ["ham", "spam"]}
        chances = model(logprobs=True, parameters=guided).probabilities(TEXTS)
        first = np.array([served.log_probabilities(f"spam or ham: {text}\n")[-1].numpy() for text in TEXTS])
        pair = np.exp(first[:, [ord("h"), ord("s")]].astype(np.float64))
        assert chances == pytest.approx(pair / pair.sum(axis=1, keepdims=True), abs=1e-6)
        assert np.ptp(chances[:, 0]) > 0.01  # it reads the text
        once, again = (model(parameters=guided, retries=at).probabilities(TEXTS) for at in (0, 1))
        assert (once == again).all()
        assert (answered_classes(once) < 2).all()
        assert (answered_classes(model().probabilities(TEXTS)) == 2).all()  # it has learned no words


@pytest.mark.slow
def test_a_night_on_reviews_ends_with_a_page(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("{options}? {text}")
    with causal_server() as (url, _):
        asking = (
            "{model: tiny, prompt: prompt.txt, answers: {negative: [], positive: []}, at_once: 4, repeats: 2, "
            "parameters: {guided_choice: [negative, positive]}, price: {input: 1, output: 1}}"
        )
        (tmp_path / "pipelines.yaml").write_text(
            "compute: {engine: serial}\npipelines:\n  night:\n    source: {dataset: sample/reviews}\n"
            "    evaluation: {limit: 60}\n"
            f"    subject: {{name: tiny, model: '{url}', text: text, asking: {asking}}}\n"
            "    attacks: [{attack: noise, kinds: [typos], severities: [3]}, injection, orbit]\n"
        )
        began = time.monotonic()
        perform_night(tmp_path, "night")
        assert time.monotonic() - began < 300
    store, record = latest(tmp_path, "night")
    findings = FindingIndex(findings_of(store, record))
    accuracy = findings.get("subject.accuracy", "tiny", "clean")
    assert accuracy is not None
    assert (accuracy.n, findings.select("attack.flips_by_chance")[0].value) == (60, 0)
    assert findings.select("attack.depends", of="orbit")[0].n == 60
    assert findings.select("services.unparsed")[0].value == 0
    page = Path(str(record.report)).read_text()
    assert "How the question is put (orbit) decides" in page
    assert "of its answers" in page
