"""Models in files: ONNX by ONNX Runtime, scikit-learn through skops; nothing in them is executed or unpickled."""

from __future__ import annotations

import pickle
import sys
import zipfile
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from model_files import onnx_of_columns, onnx_of_images, skops_of

from assay.infra.errors import InputError
from assay.tasks.subjects.addresses import model_files as files
from assay.tasks.subjects.addresses.table import Address
from assay.tasks.subjects.numbers.task import predicted_numbers
from assay.tasks.subjects.own_models import predict_with_own
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.model import OwnTextModel

ROWS = 1030
LINKS = np.arange(ROWS) / (2 * ROWS)
BEGS = np.arange(ROWS) % 2


def table() -> pa.Table:
    ids = [f"s{at}" for at in range(ROWS)]
    return pa.table({"id": ids, "links": LINKS, "begs": BEGS, "who": ["a", "b"] * (ROWS // 2), "gold": [0] * ROWS})


def resolved(folder: Path, name: str, features: tuple[str, ...] | None = ("links", "begs")) -> ResolvedSubject:
    return resolve_subject(Subject(model=name, features=features), folder)


def ask(subject: ResolvedSubject, rows: pa.Table | None = None, classes: tuple[str, ...] = ("ham", "spam")) -> Any:
    assert subject.code is not None
    given = table() if rows is None else rows
    said = predict_with_own(given, code=subject.code, weights=None, features=subject.settings.features, classes=classes)
    return np.array(said["probabilities"].to_pylist())


def test_an_onnx_file_answers_alike_however_samples_are_cut(tmp_path: Path) -> None:
    onnx_of_columns(tmp_path / "spam.onnx")
    subject = resolved(tmp_path, "spam.onnx")
    whole = ask(subject)
    assert whole[:, 1] == pytest.approx(0.1 + 0.4 * LINKS + 0.4 * BEGS, abs=1e-6)
    cut = np.concatenate([ask(subject, table().slice(start, 300)) for start in range(0, ROWS, 300)])
    assert np.array_equal(whole, cut)


def test_a_changed_file_is_another_model_and_a_renamed_one_the_same(tmp_path: Path) -> None:
    onnx_of_columns(tmp_path / "spam.onnx")
    onnx_of_columns(tmp_path / "same.onnx")
    onnx_of_columns(tmp_path / "more.onnx", each=(0.1, 0.2, 0.3))
    one, same = (resolved(tmp_path, name).code for name in ("spam.onnx", "same.onnx"))
    more = resolved(tmp_path, "more.onnx", ("links", "begs", "links2")).code
    assert one is not None
    assert same is not None
    assert more is not None
    assert one.fingerprint == same.fingerprint != more.fingerprint


def test_onnx_from_scikit_learn_finds_its_classes_by_name(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("MatMul", ["rows", "w"], ["p"]),
        helper.make_node("ZipMap", ["p"], ["q"], domain="ai.onnx.ml", classlabels_strings=["spam", "ham"]),
    ]
    weights = onnx.numpy_helper.from_array(np.array([[0.25, 0.75], [0.0, 0.0]], np.float32), "w")
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 2])
    kind = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(1, None))
    )
    graph = helper.make_graph(nodes, "g", [rows], [helper.make_value_info("q", kind)], [weights])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(tmp_path / "zip.onnx"))
    rows_of_one = pa.table({"id": ["a"], "links": [1.0], "begs": [0.0], "gold": [0]})
    assert ask(resolved(tmp_path, "zip.onnx"), rows_of_one).tolist() == [[0.75, 0.25]]
    with pytest.raises(InputError, match="tells apart ham, spam, and the classes of the samples are no, yes"):
        ask(resolved(tmp_path, "zip.onnx"), rows_of_one, ("no", "yes"))


@pytest.mark.parametrize("features", [("rows",), ("links", "begs")], ids=["one per feature", "one input"])
def test_onnx_without_a_zipmap_has_its_columns_in_the_order_in_which_it_names_the_likeliest(
    tmp_path: Path, features: tuple[str, ...]
) -> None:
    import onnx
    from onnx import TensorProto, helper

    # As skl2onnx writes a forest with zipmap=False: the sums of its trees in single precision, its classes sorted.
    nodes = [
        helper.make_node("MatMul", ["rows", "w"], ["probabilities"]),
        helper.make_node("ArgMax", ["probabilities"], ["at"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["names", "at"], ["listed"], domain="ai.onnx.ml"),
        helper.make_node("Reshape", ["listed", "all"], ["label"]),
    ]
    given = [
        onnx.numpy_helper.from_array(np.array([[-1.2e-7, 1.0000001], [0.75, 0.25]], np.float32)[-len(features) :], "w"),
        helper.make_tensor("names", TensorProto.STRING, [2], [b"ham", b"spam"]),
        onnx.numpy_helper.from_array(np.array([-1]), "all"),
    ]
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", len(features)])
    label = helper.make_tensor_value_info("label", TensorProto.STRING, ["n"])
    answer = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 2])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph(nodes, "g", [rows], [label, answer], given)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(tmp_path / "forest.onnx"))
    asked = pa.table({"id": ["a", "b"], "links": [1.0, 0.0], "begs": [0.0, 1.0], "rows": [1.0, 1.0], "gold": [0, 0]})
    sorted_ones = [[0.75, 0.25]] * 2 if len(features) == 1 else [[0.0, pytest.approx(1.0)], [0.75, 0.25]]
    subject = resolved(tmp_path, "forest.onnx", features)
    assert ask(subject, asked).tolist() == sorted_ones
    assert ask(subject, asked, ("spam", "ham")).tolist() == [row[::-1] for row in sorted_ones]
    assert ask(subject, asked, ("no", "yes")).tolist() == sorted_ones  # whose names tell nothing


@pytest.mark.parametrize("inputs", [["rows"], ["links", "begs"]], ids=["one input", "one per feature"])
def test_a_graph_of_whole_numbers_gets_no_others(tmp_path: Path, inputs: list[str]) -> None:
    import onnx
    from onnx import TensorProto, helper

    joined = helper.make_node("Concat", inputs, ["whole"], axis=1)
    nodes = [joined, helper.make_node("Cast", ["whole"], ["probabilities"], to=TensorProto.FLOAT)]
    taken = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", 2 // len(inputs)]) for name in inputs]
    answer = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 2])
    opsets = [helper.make_opsetid("", 17)]
    graph = helper.make_model(helper.make_graph(nodes, "g", taken, [answer]), opset_imports=opsets, ir_version=8)
    onnx.save(graph, str(tmp_path / "whole.onnx"))
    subject = resolved(tmp_path, "whole.onnx")

    def answers(*links: object) -> Any:
        ids, begs, gold = ["a", "b"], [0.0, 1.0], [0, 0]
        return ask(subject, pa.table({"id": ids, "links": list(links), "begs": begs, "gold": gold})).tolist()

    assert answers(1.0, 0.0) == answers(1, 0) == answers(True, False) == [[1.0, 0.0], [0.0, 1.0]]
    for missing in ((1, None), (True, None), (1.0, None)):
        with pytest.raises(InputError, match=r"takes tensor\(int64\) as .* a sample has a missing value there: fill"):
            answers(*missing)
    with pytest.raises(InputError, match=r"a sample has 0\.5 there: fill it in or round it before"):
        answers(1.0, 0.5)


def with_weights_elsewhere(folder: Path) -> None:
    import onnx

    model = onnx.load(str(onnx_of_columns(folder / "whole.onnx")))
    onnx.save(model, str(folder / "wrong.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)


@pytest.mark.parametrize(
    ("make", "features", "told"),
    [
        (lambda _: None, ("links",), r"There is no file \".*wrong.onnx\""),
        (lambda folder: (folder / "wrong.onnx").mkdir(), ("links",), "The ONNX file is a folder, and only ordinary"),
        (lambda folder: (folder / "wrong.onnx").write_bytes(b"no graph"), ("links",), "cannot be opened: "),
        (lambda folder: onnx_of_columns(folder / "wrong.onnx"), None, "needs `features`: the columns it reads"),
        (lambda folder: onnx_of_columns(folder / "wrong.onnx"), ("links",), "reads 2 columns, and `features` names 1"),
        (with_weights_elsewhere, ("links", "begs"), "keeps weights in another file, of which nobody would notice"),
    ],
)
def test_a_wrong_onnx_file_is_refused_in_a_sentence(tmp_path: Path, make: Any, features: Any, told: str) -> None:
    make(tmp_path)
    with pytest.raises(InputError, match=told) as refused:
        resolved(tmp_path, "wrong.onnx", features)
    assert "\n" not in str(refused.value)


def fitted(frame: bool) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = pd.DataFrame({"links": LINKS, "begs": BEGS})
    spam = np.where(LINKS + BEGS > 0.7, "spam", "ham")
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(rows if frame else rows.to_numpy(), spam)


@pytest.mark.parametrize("frame", [True, False], ids=["names", "numbers"])
def test_a_skops_file_answers_as_the_model_did(tmp_path: Path, frame: bool) -> None:
    model = fitted(frame)
    skops_of(tmp_path / "spam.skops", model)
    rows = pd.DataFrame({"links": LINKS, "begs": BEGS})
    said = ask(resolved(tmp_path, "spam.skops", None if frame else ("links", "begs")))
    assert said == pytest.approx(model.predict_proba(rows if frame else rows.to_numpy()), abs=1e-12)


def test_a_skops_model_over_words_sees_its_columns_by_name(tmp_path: Path) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rows = table().to_pandas()
    chosen = make_column_transformer((OneHotEncoder(), ["who"]), remainder="passthrough")
    model = make_pipeline(chosen, LogisticRegression()).fit(rows[["who", "begs"]], BEGS == 1)
    skops_of(tmp_path / "words.skops", model)
    assert np.array_equal(ask(resolved(tmp_path, "words.skops", None)), model.predict_proba(rows[["who", "begs"]]))


def test_a_skops_model_reads_the_columns_it_was_fitted_on_in_their_order(tmp_path: Path) -> None:
    import skops.io
    from sklearn.linear_model import LogisticRegression

    known = table().to_pandas()
    model = LogisticRegression().fit(known[["links", "begs"]], np.where(known["begs"] > 0, "spam", "ham"))
    skops.io.dump(model, tmp_path / "spam.skops")
    named, turned = (resolved(tmp_path, "spam.skops", features) for features in (None, ("begs", "links")))
    assert np.array_equal(ask(named), ask(turned))
    with pytest.raises(InputError, match="was fitted on links, begs: name these columns as `features`, or none"):
        resolved(tmp_path, "spam.skops", ("begs",))


def test_a_skops_model_over_texts_is_a_classifier_of_texts(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(["a song", "win money"], ["ham", "spam"])
    skops_of(tmp_path / "texts.skops", model)
    texts = ["win a song", "money", ""]
    subject = resolve_subject(Subject(classifier="texts.skops"), tmp_path)
    assert subject.code is not None
    said = OwnTextModel(subject.code, 2, names=("spam", "ham")).probabilities(texts)
    assert np.array_equal(said[:, ::-1], model.predict_proba(texts))
    for features in (None, ("text",)):
        with pytest.raises(InputError, match="was fitted on texts: let the subject name it as its `classifier`"):
            resolved(tmp_path, "texts.skops", features)
    skops_of(tmp_path / "columns.skops", fitted(True))
    with pytest.raises(InputError, match="was fitted on columns: let the subject name it as its `model`"):
        resolve_subject(Subject(classifier="columns.skops"), tmp_path)


def test_a_forest_is_made_once_its_types_are_trusted_by_name(tmp_path: Path) -> None:
    from sklearn.ensemble import RandomForestClassifier

    rows = pd.DataFrame({"links": LINKS, "begs": BEGS})
    forest = RandomForestClassifier(5, random_state=0).fit(rows, np.where(LINKS + BEGS > 0.7, "spam", "ham"))
    skops_of(tmp_path / "forest.skops", forest)
    tree = "sklearn.tree._tree.Tree"
    for trusted in ((), ("sklearn.tree._tree.Tre",)):
        with pytest.raises(InputError, match=rf"{tree}\)\. If you trust whom it comes from, list them as"):
            resolve_subject(Subject(model="forest.skops", trusted=trusted), tmp_path)
    plain, more = (
        resolve_subject(Subject(model="forest.skops", trusted=trusted), tmp_path)
        for trusted in ((tree,), (tree, "numpy.random.mtrand.RandomState"))
    )
    assert np.array_equal(ask(plain), forest.predict_proba(rows))
    assert plain.fingerprint == more.fingerprint


def test_a_skops_model_that_fills_in_what_is_missing_is_read_and_one_that_cannot_says_so(tmp_path: Path) -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    holes = table().set_column(1, "links", pa.array([None, *LINKS[1:]]))
    rows = holes.select(["links", "begs"]).to_pandas()
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(rows, BEGS == 1)
    skops_of(tmp_path / "fills.skops", model)
    assert np.array_equal(ask(resolved(tmp_path, "fills.skops", None), holes), model.predict_proba(rows))

    skops_of(tmp_path / "bare.skops", fitted(True))
    with pytest.raises(InputError, match=r"Input X contains NaN\. .* … on the samples 's0' to"):
        ask(resolved(tmp_path, "bare.skops", None), holes)


def test_a_classifier_without_probabilities_says_classes_alone(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    rows = table().to_pandas()
    model = LinearSVC().fit(rows[["links", "begs"]], np.where(LINKS + BEGS > 0.7, "spam", "ham"))
    skops_of(tmp_path / "svc.skops", model)
    subject = resolved(tmp_path, "svc.skops", None)
    assert not subject.gives_chances
    said = predict_with_own(table(), code=subject.code, weights=None, features=None, classes=("spam", "ham"))
    assert [("spam", "ham")[code] for code in said["predicted"].to_pylist()] == model.predict(
        rows[["links", "begs"]]
    ).tolist()
    assert said["probabilities"].null_count == ROWS
    texts = make_pipeline(TfidfVectorizer(), LinearSVC()).fit(["a song", "win money"], ["ham", "spam"])
    skops_of(tmp_path / "texts.skops", texts)
    with pytest.raises(InputError, match="holds a Pipeline without predict_proba, which attacks on texts ask"):
        resolve_subject(Subject(classifier="texts.skops"), tmp_path)


class OfCategories:
    """Reads words as LightGBM does: where they are categories of pandas, those that it was fitted on."""

    feature_names_in_, n_features_in_, classes_ = np.array(["begs", "kind"]), 2, np.array(["ham", "spam"])

    def predict(self, rows: pd.DataFrame) -> Any:
        """The class of each row."""
        return self.classes_[(rows["kind"].cat.set_categories(["song", "offer"]).cat.codes == 1).astype(int)]


@pytest.mark.parametrize(
    ("library", "known"), [("lightgbm", "4.7.0"), ("xgboost", "3.2.0"), ("xgboost", "2.1.4"), ("other", "1.0")]
)
def test_words_are_categories_to_models_that_know_which_they_were_fitted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, known: str
) -> None:
    monkeypatch.setattr(OfCategories, "__module__", f"{library}.sklearn")
    monkeypatch.setitem(sys.modules, f"{library}.sklearn", SimpleNamespace(OfCategories=OfCategories))
    monkeypatch.setattr(files, "version", lambda name: known if name == library else version(name))
    skops_of(tmp_path / "words.skops", OfCategories())
    kinds = ["offer" if begs else "song" for begs in BEGS]
    subject = resolve_subject(Subject(model="words.skops", trusted=(f"{library}.sklearn.OfCategories",)), tmp_path)
    asked = partial(predict_with_own, code=subject.code, weights=None, features=None, classes=("ham", "spam"))
    rows = table().append_column("kind", pa.array(kinds))
    if known in ("2.1.4", "1.0"):
        with pytest.raises(InputError, match="accessor"):
            asked(rows)
    else:
        assert asked(rows)["predicted"].to_pylist() == [int(kind == "offer") for kind in kinds]
        assert asked(rows.slice(3, 1))["predicted"].to_pylist() == [int(kinds[3] == "offer")]


def test_a_trusted_type_whose_module_is_not_here_is_missed_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = type("Gone", (), {"__module__": "gone"})
    with monkeypatch.context() as there:
        there.setitem(sys.modules, "gone", SimpleNamespace(Gone=gone))
        skops_of(tmp_path / "gone.skops", gone())
    with pytest.raises(InputError, match=r"No module named 'gone'\): install that module here, and where workers run"):
        resolve_subject(Subject(model="gone.skops", trusted=("gone.Gone",)), tmp_path)


def test_a_regressor_gives_numbers_and_a_classifier_none(tmp_path: Path) -> None:
    from sklearn.linear_model import LinearRegression

    rows = table().to_pandas()
    model = LinearRegression().fit(rows[["begs"]], rows["links"])
    skops_of(tmp_path / "links.skops", model)
    asked = Subject(model="links.skops", predicts="links")
    said = predicted_numbers(table(), resolve_subject(asked, tmp_path))
    assert np.array_equal(said["value"].to_numpy(), model.predict(rows[["begs"]]))
    skops_of(tmp_path / "spam.skops", fitted(True))
    with pytest.raises(InputError, match="holds a Pipeline, which is no regressor that was fitted on columns"):
        resolve_subject(Subject(model="spam.skops", predicts="links"), tmp_path)
    with pytest.raises(InputError, match="say with `predicts` which column"):
        resolve_subject(Subject(model="links.skops"), tmp_path)
    skops_of(tmp_path / "bare.skops", LinearRegression())
    with pytest.raises(InputError, match="holds a LinearRegression, which is no regressor that was fitted on columns"):
        resolve_subject(Subject(model="bare.skops", predicts="links"), tmp_path)


class Evil:
    """What a stranger might put into a file."""

    def predict_proba(self, rows: Any) -> Any:
        raise AssertionError("a stranger's code ran")


def not_fitted() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def a_regressor(folder: Path) -> None:
    from sklearn.linear_model import LinearRegression

    skops_of(folder / "wrong.skops", LinearRegression().fit([[0.0], [1.0]], [0, 1]))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda _: None, r"There is no file \".*wrong.skops\""),
        (lambda folder: (folder / "wrong.skops").write_bytes(pickle.dumps({})), r"cannot be read \(BadZipFile"),
        (lambda folder: skops_of(folder / "wrong.skops", Evil()), r"skops does not trust by itself \(.*Evil\)"),
        (
            lambda folder: skops_of(folder / "wrong.skops", not_fitted()),
            "holds a LogisticRegression that knows no classes: save a fitted",
        ),
        (a_regressor, "holds a LinearRegression that knows no classes: .* say with `predicts` which column"),
        (lambda folder: skops_of(folder / "wrong.skops", fitted(False)), "was fitted on 2 columns, and `features`"),
    ],
)
def test_a_wrong_skops_file_is_refused_in_a_sentence(tmp_path: Path, make: Any, told: str) -> None:
    make(tmp_path)
    with pytest.raises(InputError, match=told) as refused:
        resolved(tmp_path, "wrong.skops", ("links",))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "named", "told"),
    [
        ("model", "m.joblib", r"Assay opens none: load it where you trust it, write it with skops.io.dump"),
        ("network", "m.pt", r"save its weights with safetensors.torch.save_file"),
        ("classifier", "m.pkl", r"Assay opens none: load it where you trust it"),
        ("model", "m.h5", "is of a format that Assay does not read: convert it to ONNX"),
        ("classifier", "m.onnx", "is no address of a classifier: take https://host/predict, model.skops, ./folder or"),
        (
            "scorer",
            "https://host/x",
            r"is no address of a scorer: take ./folder or org/name or a function of your own \(file.py:object\)",
        ),
        ("model", "s3://bucket/m.onnx", "is an address that Assay does not ask: give one with http or https"),
    ],
)
def test_what_is_no_address_is_refused_with_a_way_out(setting: str, named: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Subject.model_validate({setting: named})


@pytest.mark.parametrize(
    "option", [{"weights": "w.safetensors"}, {"train": {}}, {"version": "1"}, {"asking": {}}, {"trusted": ["a.B"]}]
)
def test_a_file_takes_no_settings_of_something_else(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(option))):
        Subject.model_validate({"network": "m.onnx", **option})


def test_a_missing_extra_says_which(tmp_path: Path) -> None:
    absent = Address("x", "m.x", str.isalpha, ("model",), None, (), "onnx", "no_such_runtime")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r'"m.x" is read by no_such_runtime, .* `pip install \'onnxruntime>='):
        absent.require_library("m.x")


def test_images_are_answered_for_in_batches_that_the_graph_was_made_for(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((7, 1, 16, 16)).astype(np.float32)
    said = []
    for batch in (None, 1, 4):
        onnx_of_images(tmp_path / "bands.onnx", batch=batch)
        code = resolve_subject(Subject(network="bands.onnx"), tmp_path).code
        assert code is not None
        said.append(code.load()(images))  # type: ignore[operator]
    expected = np.stack([images[:, 0, :, 5 * b : 5 * b + 5].sum(axis=(1, 2)) * 0.05 for b in range(3)], axis=1)
    assert said[0] == pytest.approx(expected, rel=1e-5)
    assert said[1] == pytest.approx(said[0], rel=1e-6)
    assert said[2] == pytest.approx(said[0], rel=1e-6)


def test_a_graph_without_an_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from broken_formats import loop

    monkeypatch.setattr(files, "MOST_SECONDS", 0.3)
    (tmp_path / "loop.onnx").write_bytes(loop())
    with pytest.raises(InputError, match=r'"loop\.onnx" has no answer after 0\.3 s: is there a loop in it'):
        ask(resolved(tmp_path, "loop.onnx"))


def test_a_skops_file_that_unpacks_to_a_thousand_times_its_size_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.skops", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("schema.json", b"0" * 20_000_000)
    with pytest.raises(InputError, match=r'"bomb\.skops" unpacks to more than 2 MiB, which no model of its size does'):
        resolved(tmp_path, "bomb.skops")
