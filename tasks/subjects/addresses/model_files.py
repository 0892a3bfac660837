"""Models in files that are read as data: an ONNX graph, and a scikit-learn model in a skops file.

A graph is computed by ONNX Runtime on the CPU with one thread; one that keeps weights in other files is refused, since
nobody would notice when those change. Of a skops file only types that skops or the user trusts are made; any other is
refused.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError, faults_in_words, first_named
from assay.infra.storage.network import ended_after
from assay.infra.user_code.references import MOST_BYTES, content_at
from assay.tasks.subjects.addresses.given import Addressed, GivenModel
from assay.tasks.subjects.own_models import as_probabilities
from assay.tasks.subjects.predictions import LabelledAnswers, NamedAnswers, columns_of, numbers_of, require_named

if TYPE_CHECKING:
    import onnxruntime
    import pandas as pd


_ELSEWHERE = re.compile(rb"(\x0a|\x8a\x80*\x00)(\x08|\x88\x80*\x00)location")
"""The key of an entry that says in which file a tensor lies, however long its two numbers are written."""
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


def refer_to_onnx(settings: Addressed, written: str, beside: Path) -> GivenModel:
    """The model in the file; it is opened once on the way, so that what is wrong is said before anything runs."""
    return onnx_model(settings, written, content_at(written, beside, "The ONNX file"))


def onnx_model(settings: Addressed, written: str, content: bytes) -> GivenModel:
    """The model in the content of an ONNX file."""
    who = f'The ONNX file "{written}"'
    if _ELSEWHERE.search(content):
        raise InputError(
            f"{who} keeps weights in another file, of which nobody would notice a change: save it as one, with "
            "onnx.save(model, path, save_as_external_data=False)."
        )
    features = require_named(settings.features, who) if settings.kind == "model" else None
    read_by = f"onnxruntime {version('onnxruntime')}"
    given = GivenModel(written, "onnx", settings.kind, open_onnx, features, content, read_by)
    open_onnx(given)
    return given


@lru_cache(maxsize=4)
def open_onnx(given: GivenModel) -> Callable[..., object]:
    """The function that answers for a table, or for images [n, c, h, w]."""
    graph = Graph(given)
    return graph.of_images if given.looks_at == "network" else graph.of_table


MOST_SECONDS = 60.0
"""So long may a graph take for a batch of rows; images may take longer."""
_SECONDS_PER_IMAGE = 2.0


class Graph:
    """An ONNX graph as this process computes it: one input, or one per feature; one output that holds the answers."""

    def __init__(self, given: GivenModel) -> None:
        self._who, self._features = f'The ONNX file "{given.written}"', given.features or ()
        self._session = open_session(given.content, self._who)
        self._inputs = self._session.get_inputs()
        outputs = [(output.name, output.type) for output in self._session.get_outputs()]
        labels = [name for name, kind in outputs if kind == "tensor(string)" and given.looks_at == "model"]
        self._outputs = [_answering(outputs, self._who), *labels[:1]]
        self._by_feature = bool(self._features) and {given.name for given in self._inputs} == set(self._features)
        if len(self._inputs) != 1 and not self._by_feature:
            raise InputError(
                f"{self._who} has the inputs {', '.join(given.name for given in self._inputs)}: expected one, or one "
                "for each of `features` by its name."
            )
        self._require_width()

    def of_table(self, table: pa.Table) -> object:
        """The probabilities of every row [n, k], with the names of the classes where the file has them."""
        if self._by_feature:
            columns = columns_of(table, self._features)
            return self._answers({given.name: self._column(columns, given) for given in self._inputs}, 0)
        return self._answers(self._only_input(numbers_of(table, self._features, self._who)), 0)

    def of_images(self, images: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """What the graph says of images [n, c, h, w]: logits or probabilities, [n, k]."""
        size = self._inputs[0].shape[0] if self._inputs[0].shape else None
        if not isinstance(size, int) or size == len(images):
            answers = self._answers(self._only_input(images), len(images))
        else:  # made for batches of one size: the last is filled up with repeats
            blocks = [np.minimum(np.arange(at, at + size), len(images) - 1) for at in range(0, len(images), size)]
            parts = [self._answers(self._only_input(images[rows]), size) for rows in blocks]
            answers = np.concatenate(parts)[: len(images)]
        return np.asarray(answers, dtype=np.float64)

    def _only_input(self, values: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        return {self._inputs[0].name: self._cast(values, self._inputs[0])}

    def _cast(self, values: npt.NDArray[Any], taken: onnxruntime.NodeArg) -> npt.NDArray[Any]:
        """The values in the type of the input; raises where that has none for a missing one, or for a fraction."""
        with np.errstate(invalid="ignore"):
            cast: npt.NDArray[Any] = np.ascontiguousarray(values.astype(_TYPES.get(taken.type, np.float32)))
        if cast.dtype.kind in "ib" and values.dtype.kind == "f":
            for value in values[np.isnan(values) if cast.dtype.kind == "b" else cast != values][:1]:
                raise InputError(
                    f'{self._who} takes {taken.type} as "{taken.name}", and a sample has '
                    f"{'a missing value' if np.isnan(value) else f'{value:g}'} there: fill it in or round it before, "
                    "list the column under the source's `required`, or let the graph take tensor(float)."
                )
        return cast

    def _column(self, table: pa.Table, taken: onnxruntime.NodeArg) -> npt.NDArray[Any]:
        """One feature as the graph takes it, [n, 1]; texts stay texts."""
        column = table[taken.name]
        if taken.type == "tensor(string)":
            return np.asarray(column.to_numpy().astype(object).reshape(-1, 1))
        values = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
        return self._cast(values.to_numpy().reshape(-1, 1), taken)

    def _require_width(self) -> None:
        shape, named = self._inputs[0].shape, len(self._features)
        wide = shape[1] if len(shape) == 2 and isinstance(shape[1], int) else named
        if named and not self._by_feature and wide != named:
            raise InputError(
                f"{self._who} reads {wide} columns, and `features` names {named}: name those that it was trained on, "
                "in their order."
            )

    def _answers(self, given: dict[str, npt.NDArray[Any]], images: int) -> Any:
        import onnxruntime

        options, seconds = onnxruntime.RunOptions(), MOST_SECONDS + _SECONDS_PER_IMAGE * images
        with ended_after(seconds, lambda: setattr(options, "terminate", True)) as over:
            try:
                answers, *labels = self._session.run(self._outputs, given, options)
            except Exception as fault:
                if not over.is_set():
                    raise
                raise InputError(f"{self._who} has no answer after {seconds:g} s: is there a loop in it?") from fault
        if isinstance(answers, list) and answers and isinstance(answers[0], dict):  # by scikit-learn's converter
            names = list(answers[0])
            return NamedAnswers(tuple(names), np.array([[row[name] for name in names] for row in answers]))
        values = np.asarray(answers, dtype=np.float64)
        if labels and labels[0].shape == values.shape[:1]:
            return LabelledAnswers(labels[0], as_probabilities(values))
        return values if images else as_probabilities(values)


def open_session(content: bytes, who: str) -> onnxruntime.InferenceSession:
    """The graph in the content of an ONNX file, on one thread; raises in words where there is none."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as fault:  # each of its errors is a class of its own, made in C++
        said = " ".join(str(fault).split())[:200]
        raise InputError(f"{who} cannot be opened: {said}") from fault


def _answering(outputs: Sequence[tuple[str, str]], who: str) -> str:
    """The output that holds the probabilities: the only one, or the only one that could.

    >>> _answering([("label", "tensor(int64)"), ("probabilities", "tensor(float)")], "It")
    'probabilities'
    """
    numbers = [name for name, kind in outputs if kind in ("tensor(float)", "tensor(double)", "tensor(float16)")]
    named = [name for name, kind in outputs if kind.startswith("seq(map(")]
    likely = [name for name in (*numbers, *named) if "prob" in name.lower()]
    for found in ([*numbers, *named], likely):
        if len(found) == 1:
            return found[0]
    raise InputError(
        f"{who} has the outputs {', '.join(f'{name} ({kind})' for name, kind in outputs)}: expected one of floating-"
        'point numbers, or one with "prob" in its name.'
    )


_SHOWN = 8
_HARMLESS = ["numpy.dtype"]
"""Types that skops does not trust by itself, made only by NumPy's reader of arrays: imputers hold that of a column."""
_MOST_PER_BYTE = 100
"""What is packed in a model's file unpacks to no more bytes for each of its own: numbers are packed by a tenth."""


def refer_to_skops(settings: Addressed, written: str, beside: Path) -> GivenModel:
    """The model in the file; it is made once on the way, so that what is wrong is said before anything runs."""
    return skops_model(settings, written, content_at(written, beside, "The skops file"))


def skops_model(settings: Addressed, written: str, content: bytes) -> GivenModel:
    """The model in the content of a skops file."""
    read_by = f"skops {version('skops')}"
    opened = open_skops if settings.predicts is None else open_regressor
    features, trusted = settings.features, settings.trusted
    given = GivenModel(written, "skops", settings.kind, opened, features, content, read_by, trusted)
    answers = opened(given)
    return replace(given, chances=not isinstance(answers, Classifier) or answers.gives_chances)


@lru_cache(maxsize=4)
def open_regressor(given: GivenModel) -> Callable[..., object]:
    """The function that gives a number for every row of a table."""
    who = f'The skops file "{given.written}"'
    model = read_skops(given.content, who, given.trusted)
    if not predicts_number(model):
        raise InputError(f"{who} holds a {type(model).__name__}, which is no regressor that was fitted on columns.")
    rows = _rows_for(model, given, who)
    return lambda table: np.asarray(model.predict(rows(table)))


@dataclass(frozen=True)
class Classifier:
    """A fitted classifier, its classes, and what makes the rows that it reads; of one without probabilities the class
    that it says has all."""

    model: Any
    classes: npt.NDArray[Any]
    rows: Callable[[Any], Any]

    @property
    def gives_chances(self) -> bool:
        """Whether it has probabilities."""
        return hasattr(self.model, "predict_proba")

    def __call__(self, given: Any) -> NamedAnswers:
        """What it says of a table, or of texts."""
        rows, names = self.rows(given), tuple(self.classes.tolist())
        if self.gives_chances:
            return NamedAnswers(names, np.asarray(self.model.predict_proba(rows)))
        said = np.asarray(self.model.predict(rows))[:, None] == self.classes
        return NamedAnswers(names, said.astype(np.float64))


@lru_cache(maxsize=4)
def open_skops(given: GivenModel) -> Callable[..., object]:
    """What answers for a table, or for texts."""
    who = f'The skops file "{given.written}"'
    model = read_skops(given.content, who, given.trusted)
    name, classes = type(model).__name__, np.asarray(getattr(model, "classes_", ()))
    if classes.ndim != 1 or not len(classes) or not callable(getattr(model, "predict", None)):
        raise InputError(
            f"{who} holds a {name} that knows no classes: save a fitted classifier; of one that predicts a number say "
            "with `predicts` which column (docs/regression.md)."
        )
    if reads_texts(model) != (given.looks_at == "classifier"):
        fitted, way = ("texts", "classifier") if reads_texts(model) else ("columns", "model")
        raise InputError(f"{who} was fitted on {fitted}: let the subject name it as its `{way}`.")
    answers = Classifier(model, classes, list if reads_texts(model) else _rows_for(model, given, who))
    if reads_texts(model) and not answers.gives_chances:
        raise InputError(
            f"{who} holds a {name} without predict_proba, which attacks on texts ask: put it into a "
            "CalibratedClassifierCV."
        )
    return answers


def _rows_for(model: Any, given: GivenModel, who: str) -> Callable[[pa.Table], Any]:
    """What makes of a table the rows that a fitted model reads: by the names of its columns, where it knows them."""
    known = tuple(map(str, getattr(model, "feature_names_in_", ())))
    features = known or given.features
    if features is None:
        raise InputError(f"{who} does not say which columns it was fitted on: list them as `features`, in their order.")
    if known and given.features and sorted(known) != sorted(given.features):
        raise InputError(f"{who} was fitted on {first_named(known, 20)}: name these columns as `features`, or none.")
    if not known and model.n_features_in_ != len(features):
        raise InputError(
            f"{who} was fitted on {model.n_features_in_} columns, and `features` names {len(features)}: name those "
            "columns, in their order."
        )

    if not known:
        return lambda table: numbers_of(table, features, who)
    as_categories = _takes_categories(type(model).__module__.partition(".")[0])
    return lambda table: as_read(columns_of(table, features).to_pandas(), as_categories)


def _takes_categories(library: str) -> bool:
    """Whether models of the library take words as categories of pandas alone, and know those that they were fitted on:
    before 3.1 XGBoost went by their numbers, which differ from one frame to another."""
    if library == "xgboost":
        return tuple(map(int, version(library).split(".")[:2])) >= (3, 1)
    return library == "lightgbm"


def as_read(rows: pd.DataFrame, as_categories: bool) -> pd.DataFrame:
    """The rows, with columns of words as categories where a model takes them so."""
    words = rows.select_dtypes(["object", "string"]).columns if as_categories else ()
    return rows.astype(dict.fromkeys(words, "category"))


def reads_texts(model: object) -> bool:
    """Whether a fitted model of scikit-learn reads texts: its vectorizer counts no columns."""
    return not hasattr(model, "n_features_in_")


def predicts_number(model: object) -> bool:
    """Whether it is a model of scikit-learn that was fitted to predict a number from columns."""
    fitted_on_columns = not reads_texts(model) and not hasattr(model, "classes_")
    return fitted_on_columns and callable(getattr(model, "predict", None))


def untrusted_types(content: bytes) -> list[str]:
    """The types in a skops file that skops does not trust by itself."""
    import skops.io

    return [kind for kind in skops.io.get_untrusted_types(data=content) if kind not in _HARMLESS]


def read_skops(content: bytes, who: str, trusted: Collection[str] = ()) -> Any:
    """The object in a skops file; nothing is made of it before every type in it is known to be trusted."""
    import skops.io

    def unread(fault: Exception) -> str:
        said = " ".join(str(fault).split())[:200]
        missing = isinstance(fault, ImportError)
        way = "install that module here, and where workers run" if missing else "write it with skops.io.dump"
        return f"{who} cannot be read ({type(fault).__name__}: {said}): {way}."

    with faults_in_words(unread):  # what a file that is none, or of another version, makes of reading it is up to it
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            most = min(MOST_BYTES, _MOST_PER_BYTE * len(content) + (1 << 20))
            if sum(packed_file.file_size for packed_file in packed.infolist()) > most:
                raise InputError(f"{who} unpacks to more than {most >> 20} MiB, which no model of its size does.")
        untrusted = [kind for kind in untrusted_types(content) if kind not in trusted]
        if untrusted:
            raise InputError(
                f"{who} holds types that skops does not trust by itself ({first_named(untrusted, _SHOWN)}). If you "
                "trust whom it comes from, list them as `trusted` of the subject (assay audit --trusted A,B); else "
                "have the model as ONNX (skl2onnx)."
            )
        return skops.io.loads(content, trusted=[*_HARMLESS, *trusted])
