"""`assay audit MODEL --data DATA`: what is recognised, what is proposed in the time allowed, and what is refused."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import huggingface_hub
import numpy as np
import pandas as pd
import pytest
import torch
from direct_nights import perform_night
from model_files import onnx_of_columns, onnx_of_images, skops_of
from PIL import Image
from safetensors.torch import save_file
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from small_architectures import IMAGE_CLASSES, IMAGES, TEXT_CLASSES, TEXTS, WORDS, save_of_images, save_of_texts

from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.flows.starting.brought_model import Brought, within
from assay.flows.starting.column_roles import Answers, Question
from assay.flows.starting.first_audit import Model, Wanted, proposal_for, write_pipeline
from assay.flows.starting.proposal import Proposal
from assay.infra.errors import AssayError, InputError
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import findings_of


class TrustedByName:
    """Something in a skops file that is no estimator."""


def refuse(question: Question) -> str:
    """Nobody can be asked."""
    raise InputError(question.refusal())


def proposed(model: str, data: str, seconds: float = 300.0, **said: str) -> Proposal:
    """What is proposed for a model and data of this folder."""
    query = said.pop("query", None)
    features = tuple(name for name in said.pop("features", "").split(",") if name)
    trusted = tuple(name for name in said.pop("trusted", "").split(",") if name)
    brought = Model(model, seconds, features=features, weights=said.pop("weights", None), trusted=trusted)
    return proposal_for(Wanted(data, Path(), "night", Answers(**said), query=query, model=brought), refuse)


def value(proposal: Proposal, key: str) -> object:
    """What a key of the pipeline says."""
    return next((line.value for line in proposal.lines if line.key == key), None)


def audited(proposal: Proposal) -> float | None:
    """The accuracy that a night of what was written measures."""
    write_pipeline(proposal, Path())
    assert perform_night(Path().absolute(), "night").status == "done"
    store = Store(str(Path("store").absolute()))
    found = findings_of(store, store.runs("night")[-1])
    right = (one for one in found if one.metric == "subject.accuracy" and one.of in ("clean", "gold"))
    return next(one.value for one in right)


@pytest.fixture
def films(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """films.csv: 60 reviews whose words say nothing of what `mood` says."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(4)
    text = [" ".join(draw.choice(WORDS.split(), 9)) for _ in range(60)]
    mood = draw.choice(TEXT_CLASSES, 60)
    pd.DataFrame({"said": text, "mood": mood, "seen": draw.choice(["a", "b"], 60)}).to_csv("films.csv", index=False)
    return tmp_path


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """visits.csv: 90 rows of two numbers that tell `state`."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(4)
    ill = draw.random(90) < 0.5
    table = pd.DataFrame({"visit": [f"v{at}" for at in range(90)], "heat": draw.normal(ill), "pain": draw.normal(ill)})
    table["state"] = np.where(ill, "ill", "well")
    table.to_csv("visits.csv", index=False)
    return table


def test_of_a_text_model_the_label_is_the_column_that_says_its_classes(films: Path) -> None:
    save_of_texts("bert", films / "bert")
    found = proposed("bert", "films.csv", seconds=1)
    assert (found.roles.kind, found.roles.label, found.roles.text) == ("texts", "mood", "said")
    assert found.seen[0].startswith("Model bert: BertForSequenceClassification")
    assert value(found, "subjects") == [{"name": "model", "classifier": "./bert", "text": "said"}]
    right = audited(found)
    assert right is not None
    assert 0 < right < 1


def test_more_time_means_more_samples_and_more_attacks() -> None:
    large = Brought("./vit", ("network",), "ViT", side=224, numbers=86_000_000)
    plans = {
        minutes: {line.key: line.value for line in within(60.0 * minutes, large, "images")} for minutes in (1, 60, 600)
    }
    assert sorted(plans[1]) == ["evaluation"]
    assert sorted(plans[600]) == ["attacks", "corruptions", "evaluation"]
    assert plans[1]["evaluation"]["limit"] < plans[600]["evaluation"]["limit"]
    small = {line.key for line in within(60, replace(large, numbers=10_000), "images")}
    assert small == {"attacks", "corruptions", "evaluation"}


@pytest.mark.parametrize("form", ["onnx", "skops", "function", "module", "sql", "sample"])
def test_a_model_of_columns_is_audited_in_every_form(visits: pd.DataFrame, form: str) -> None:
    fitted = LogisticRegression().fit(visits[["heat", "pain"]].to_numpy(), visits["state"])
    skops_of(Path("m.skops"), fitted)
    onnx_of_columns(Path("m.onnx"))
    code = "def says(t):\n    p = 1 / (1 + np.exp(-t['heat'].to_numpy()))\n    return np.stack([p, 1 - p], 1)\n"
    Path("m.py").write_text(f"import numpy as np\n{code}")
    Path("net.py").write_text("import torch\n\ndef build():\n    return torch.nn.Linear(2, 2)\n")
    save_file(
        {"weight": torch.tensor([[1.0, 1.0], [-1.0, -1.0]]), "bias": torch.tensor([-1.0, 1.0])}, "net.safetensors"
    )
    with sqlite3.connect("v.db") as database:
        visits.to_sql("visits", database, index=False)
    found = {
        "onnx": lambda: proposed("m.onnx", "visits.csv"),
        "skops": lambda: proposed("m.skops", "visits.csv", features="heat,pain"),
        "function": lambda: proposed("m.py:says", "visits.csv"),
        "module": lambda: proposed("net.py:build", "visits.csv", weights="net.safetensors"),
        "sql": lambda: proposed("m.skops", "sqlite:///v.db", query="select * from visits", id="visit"),
        "sample": lambda: proposed("m.py:says", "sample/breast-cancer"),
    }[form]()
    assert found.roles.kind == "table"
    if form == "sample":
        assert value(found, "source") == {"dataset": "sample/breast-cancer"}
        return
    (subject,) = value(found, "subjects")  # type: ignore[misc]
    assert subject.get("features") == (None if form == "function" else ["heat", "pain"])
    right = audited(found)
    assert right is not None
    assert right > 0.6 or form == "onnx"


def test_a_fitted_model_says_itself_which_columns_it_reads_and_which_is_the_label(visits: pd.DataFrame) -> None:
    """Of words, too, and of which none is named: what it was fitted on are not the columns of numbers alone."""
    table = visits.assign(sex=np.where(visits.index % 3, "f", "m"), day="2026-01-01")
    table.loc[::9, "sex"] = ""
    table.to_csv("visits.csv", index=False)
    words = ColumnTransformer([("words", OneHotEncoder(), ["sex"])], remainder="passthrough")
    fitted = make_pipeline(words, LogisticRegression()).fit(table[["sex", "heat", "pain"]], table["state"])
    skops_of(Path("m.skops"), fitted)
    found = proposed("m.skops", "visits.csv")
    assert found.roles.label == "state"
    assert value(found, "subjects") == [{"name": "model", "model": "m.skops", "features": ["sex", "heat", "pain"]}]
    visits.assign(state=[*visits["state"][:-2], "torn", "torn"]).to_csv("torn.csv", index=False)
    with pytest.raises(
        InputError, match=r"the data name 3 \(.*torn.*\): leave out the samples of classes that it does"
    ):
        proposed("m.skops", "torn.csv", label="state")
    assert found.seen[1].startswith("Empty cells of sex are empty texts to it")


def test_a_forest_of_which_types_are_trusted_and_a_classifier_of_texts_in_a_file(
    visits: pd.DataFrame, films: Path
) -> None:
    visits.to_csv("visits.csv", index=False)
    skops_of(Path("m.skops"), RandomForestClassifier(3).fit(visits[["heat", "pain"]], visits["state"]))
    with pytest.raises(InputError, match=r"sklearn\.tree\._tree\.Tree"):
        proposed("m.skops", "visits.csv")
    found = proposed("m.skops", "visits.csv", trusted="sklearn.tree._tree.Tree")
    assert value(found, "subjects") == [
        {"name": "model", "model": "m.skops", "features": ["heat", "pain"], "trusted": ["sklearn.tree._tree.Tree"]}
    ]
    skops_of(Path("odd.skops"), odd := TrustedByName())
    with pytest.raises(InputError, match=r"odd\.skops\" holds a TrustedByName that knows no classes"):
        proposed("odd.skops", "visits.csv", trusted=f"{type(odd).__module__}.TrustedByName")
    seen = pd.read_csv("films.csv")
    skops_of(Path("t.skops"), make_pipeline(CountVectorizer(), LogisticRegression()).fit(seen["said"], seen["mood"]))
    found = proposed("t.skops", "films.csv", text="said")
    assert value(found, "subjects") == [{"name": "model", "classifier": "t.skops", "text": "said"}]
    assert found.roles.label == "mood"
    right = audited(found)
    assert right is not None
    assert right > 0.5  # what it learned from, as far as that can be learned


def test_what_a_model_reads_is_no_group_and_a_class_that_no_sample_has_is_known_by_it(visits: pd.DataFrame) -> None:
    ward = visits.index // 3
    table = visits.assign(ward=ward, floor=ward // 10, state=np.where(visits.index % 9, visits["state"], "dead"))
    table.to_csv("visits.csv", index=False)
    Path("m.py").write_text("def f(table):\n    return []\n")
    assert proposed("m.py:f", "visits.csv", label="state").roles.group == "ward"
    fitted = LogisticRegression().fit(table[["ward", "heat"]], table["state"])
    skops_of(Path("m.skops"), fitted)
    table[table["state"] != "dead"].to_csv("visits.csv", index=False)
    found = proposed("m.skops", "visits.csv", label="state")
    assert found.roles.group is None
    source = value(found, "source")
    assert isinstance(source, dict)
    assert source["classes"] == ["dead", "ill", "well"]
    seen = pd.read_csv("visits.csv")
    assert audited(found) == pytest.approx((fitted.predict(seen[["ward", "heat"]]) == seen["state"]).mean())


def test_a_regressor_is_held_against_the_numbers_that_it_predicts(visits: pd.DataFrame) -> None:
    part = np.where(visits.index < 60, "train", "test")
    visits.assign(part=part, stay=visits["heat"] * 2 + (visits.index % 7) / 7).to_csv("visits.csv", index=False)
    table = pd.read_csv("visits.csv")
    skops_of(Path("m.skops"), LinearRegression().fit(table[["heat", "pain"]], table["stay"]))
    found = proposed("m.skops", "visits.csv", label="stay")
    assert value(found, "source") == {
        "csv": "visits.csv",
        "id": "visit",
        "split": "part",
        "score": "stay",
        "gold_in": ["test"],
    }
    (subject,) = cast("list[dict[str, object]]", value(found, "subjects"))
    assert subject == {
        "name": "model",
        "model": "m.skops",
        "predicts": "stay",
        "features": ["heat", "pain"],
        "noise": [0.1, 0.5],
    }
    assert value(found, "labeling") is None
    write_pipeline(found, Path())
    assert perform_night(Path().absolute(), "night").status == "done"
    store = Store(str(Path("store").absolute()))
    measured = findings_of(store, store.runs("night")[-1])
    (fit,) = (one for one in measured if (one.metric, one.of) == ("regression.r2", "clean"))
    assert 0.9 < fit.value < 1
    assert fit.n == int((part == "test").sum())
    for label in (None, "state"):
        with pytest.raises(InputError, match=r"Which column of numbers the model predicts \(.*stay\)"):
            proposed("m.skops", "visits.csv", **({} if label is None else {"label": label}))


def test_a_model_of_columns_is_judged_by_the_part_that_it_did_not_learn_from(visits: pd.DataFrame) -> None:
    part = np.where(visits.index < 60, "train", "test")
    known = visits["state"].where(visits.index < 60, "ill").eq("ill")
    visits.assign(part=part, learned=known * 0.8 + visits.index * 0.001).to_csv("parts.csv", index=False)
    code = "def says(t):\n    p = t['learned'].to_numpy()\n"
    Path("m.py").write_text(f"import numpy as np\n{code}    return np.stack([p, 1 - p], 1)\n")
    found = proposed("m.py:says", "parts.csv", label="state")
    assert value(found, "source")["gold_in"] == ["test"]  # type: ignore[index]
    assert "Parts by part: only those in test judge the model" in found.seen
    assert audited(found) == (visits["state"][60:] == "ill").mean()


def test_what_is_seen_says_nothing_that_is_not_done(visits: pd.DataFrame) -> None:
    """Of a model that comes trained dates part nothing, and parts may part a group."""
    days = pd.date_range("2026-01-01", periods=90).strftime("%Y-%m-%d")
    table = visits.assign(day=days, patient=[f"p{at % 30}" for at in range(90)])
    table.to_csv("visits.csv", index=False)
    table.assign(part=np.where(table.index < 60, "train", "test")).to_csv("parts.csv", index=False)
    Path("m.py").write_text("def says(t): ...\n")
    whole, parted = (" ".join(proposed("m.py:says", f"{data}.csv", label="state").seen) for data in ("visits", "parts"))
    assert "Dates" not in whole
    assert "No part is named train or test" in whole
    assert "No part is named" not in parted
    assert ("never parted" in whole, "never parted" in parted) == (True, False)


def test_pictures_get_the_channels_that_a_graph_takes(films: Path) -> None:
    onnx_of_images(Path("i.onnx"), bands=2)
    for name in ("dark", "light"):
        Path("scans", name).mkdir(parents=True)
        for at in range(5):
            Image.new("RGB", (16, 16), (at * 9,) * 3).save(Path("scans", name, f"{at}.png"))
    assert value(proposed("i.onnx", "scans"), "source")["pixels"] == {"channels": 1}  # type: ignore[index]


def test_of_a_model_of_the_hub_the_commit_of_now_is_written_down(films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_of_texts("bert", films / "cache")
    commit = "c0ffee" * 6 + "cafe"
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: SimpleNamespace(sha=commit))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(films / "cache"))
    found = proposed("org/films", "films.csv", seconds=1)
    (subject,) = value(found, "subjects")  # type: ignore[misc]
    assert subject == {"name": "model", "classifier": "org/films", "text": "said", "revision": commit}
    assert audited(found) is not None


def test_what_is_written_is_a_file_of_its_own_where_one_is_there(films: Path) -> None:
    save_of_texts("bert", films / "bert")
    found = proposed("bert", "films.csv")
    names = [write_pipeline(found, Path()).name for _ in range(2)]
    assert names == ["pipelines.yaml", "night.yaml"]
    assert load_project("night.yaml").pipelines["night"].budget == "300s"
    with pytest.raises(InputError, match="nothing is overwritten"):
        write_pipeline(found, Path())


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("nothing", "nothing is no model that can be found: give a folder or an id of Hugging Face"),
        ("m.joblib", "m.joblib: a pickle can run code"),
        ("./masked", "./masked is a BertForMaskedLM, which answers with no classes"),
        ("./tagger", "marks words: its tagged sentences are named by hand"),
        ("./number", "gives a number or several labels at once"),
        ("./empty", "is no Hugging Face model: it has no config.json"),
        ("m.onnx", "m.onnx reads 2 columns, and 0 of the data hold numbers (): give data with all of them"),
        ("i.onnx", "i.onnx looks at images, and the data are texts: give a folder of images"),
        ("./three", "./three tells 3 classes apart (a, b, c), and the data name 2"),
        ("./others", "./others answers with a, b, and the classes of the data are"),
        ("./masked --features seen", "./masked is a BertForMaskedLM"),
        ("./bert --features seen", "./bert looks at texts, not at columns: leave --features out"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(
    films: Path, capsys: pytest.CaptureFixture[str], model: str, says: str
) -> None:
    onnx_of_columns(Path("m.onnx"))
    onnx_of_images(Path("i.onnx"))
    Path("empty").mkdir()
    configs = {
        "masked": ("BertForMaskedLM", {}),
        "tagger": ("BertForTokenClassification", {}),
        "number": ("BertForSequenceClassification", {"id2label": {"0": "LABEL_0"}}),
        "three": ("BertForSequenceClassification", {"id2label": {"0": "a", "1": "b", "2": "c"}}),
        "others": ("BertForSequenceClassification", {"id2label": {"0": "a", "1": "b"}}),
        "bert": ("BertForSequenceClassification", {}),
    }
    for name, (made, more) in configs.items():
        save_of_texts("bert", Path(name))
        config = json.loads(Path(name, "config.json").read_text()) | {"architectures": [made], **more}
        Path(name, "config.json").write_text(json.dumps(config))
    asked = ["audit", *model.split(), "--data", "films.csv", "--label", "mood", "--text", "said", "--yes"]
    assert answer(asked) == 2
    complaint = capsys.readouterr().err.strip()
    assert says in complaint
    assert "\n" not in complaint
    assert not Path("pipelines.yaml").exists()


def test_weights_without_a_module_that_takes_them_are_refused_in_the_words_of_the_settings(films: Path) -> None:
    with pytest.raises(InputError, match=r"^read.py:read: weights says nothing about `classifier`"):
        proposed("read.py:read", "films.csv", label="mood", text="said", kind="texts", weights="net.safetensors")


def test_a_run_that_breaks_leaves_a_file_of_which_the_person_was_told(
    visits: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise InputError("The model gives no probabilities.")

    monkeypatch.setattr("assay.flows.running.run_pipeline", broken)
    onnx_of_columns(Path("m.onnx"))
    assert answer(["audit", "m.onnx", "--data", "visits.csv", "--label", "state", "--yes"]) == 2
    assert "Written   pipelines.yaml: the next night is assay run visits" in capsys.readouterr().out


def test_a_budget_that_is_no_time_is_the_fault_of_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["audit", "model.onnx", "--data", "films.csv", "--budget", "five"]) == 2
    assert "--budget: 'five': expected hours, minutes or seconds, as in 2h, 40m" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_of_forty_architectures_nearly_all_get_an_audit(films: Path) -> None:
    """From configurations alone; whatever gets none is refused in one sentence."""
    draw = np.random.default_rng(0)
    for name, level in zip(IMAGE_CLASSES, (90, 150), strict=True):
        Path("pictures", name).mkdir(parents=True)
        for at in range(15):
            noise = draw.normal(level, 60, (32, 32, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(noise).save(f"pictures/{name}/{at}.png")
    refused: dict[str, str] = {}
    for kind in (*TEXTS, *IMAGES):
        Path("pipelines.yaml").unlink(missing_ok=True)
        shutil.rmtree("store", ignore_errors=True)  # the gate on change is about nights of one model
        try:
            (save_of_texts if kind in TEXTS else save_of_images)(kind, films / kind)
            right = audited(proposed(f"./{kind}", "films.csv" if kind in TEXTS else "pictures", seconds=0.5))
            assert right is not None
        except AssayError as error:
            refused[kind] = str(error)
    print(f"{len(TEXTS) + len(IMAGES)} architectures, refused: {refused}")
    assert len(TEXTS) + len(IMAGES) >= 35
    assert len(refused) <= 3, refused
    assert all("\n" not in sentence for sentence in refused.values())
