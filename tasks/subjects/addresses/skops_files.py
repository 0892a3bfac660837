"""A scikit-learn model in a skops file: only types that skops trusts are made of it, any other is named and refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.given_files import MOST_BYTES
from assay.tasks.subjects.addresses.columns import columns_of, numbers_of
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.addresses.model_file import content_at
from assay.tasks.subjects.named_answers import NamedAnswers

if TYPE_CHECKING:
    from assay.tasks.subjects.settings import Subject


_SHOWN = 3


def refer_to_skops(settings: Subject, written: str, beside: Path) -> GivenModel:
    """The model in the file; it is made once on the way, so that what is wrong is said before anything runs."""
    return skops_model(settings, written, content_at(written, beside, "The skops file"))


def skops_model(settings: Subject, written: str, content: bytes) -> GivenModel:
    """The model in the content of a skops file."""
    read_by = f"skops {version('skops')}"
    given = GivenModel(written, "skops", settings.kind, open_skops, settings.features, content, read_by)
    open_skops(given)
    return given


def open_skops(given: GivenModel) -> Callable[..., object]:
    """The function that answers for a table."""
    return _fitted(given)


@lru_cache(maxsize=4)
def _fitted(given: GivenModel) -> Callable[..., object]:
    who = f'The skops file "{given.written}"'
    model = _made(given.content, who)
    classes, predict = getattr(model, "classes_", None), getattr(model, "predict_proba", None)
    if not callable(predict) or classes is None or np.ndim(classes) != 1:
        raise InputError(
            f"{who} holds a {type(model).__name__} without predict_proba: save a fitted classifier that gives "
            "probabilities."
        )
    known = getattr(model, "feature_names_in_", None)
    features = given.features or (None if known is None else tuple(map(str, known)))
    if features is None:
        raise InputError(f"{who} does not say which columns it was fitted on: list them as `features`, in their order.")
    if known is None and getattr(model, "n_features_in_", len(features)) != len(features):
        raise InputError(
            f"{who} was fitted on {model.n_features_in_} columns, and `features` names {len(features)}: name those "
            "columns, in their order."
        )

    def answers(table: pa.Table) -> NamedAnswers:
        rows: Any = numbers_of(table, features, who) if known is None else columns_of(table, features).to_pandas()
        return NamedAnswers(tuple(np.asarray(classes).tolist()), np.asarray(predict(rows)))

    return answers


def _made(content: bytes, who: str) -> Any:
    """The object in a skops file; nothing is made of it before every type in it is known to be trusted."""
    import skops.io

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(one.file_size for one in packed.infolist()) > MOST_BYTES:
                raise InputError(f"{who} unpacks to more than {MOST_BYTES >> 30} GiB; give a smaller model.")
        strangers = skops.io.get_untrusted_types(data=content)
        if strangers:
            named = ", ".join(strangers[:_SHOWN])
            more = f" and {len(strangers) - _SHOWN} more" if strangers[_SHOWN:] else ""
            raise InputError(
                f"{who} holds types that skops does not trust ({named}{more}), and Assay makes none of them: convert "
                "the model to ONNX (skl2onnx), or load it in a function of your own (file.py:object)."
            )
        return skops.io.loads(content, trusted=[])
    except InputError:
        raise
    except Exception as fault:  # what a file that is none, or of another version, makes of reading it is up to it
        said = " ".join(str(fault).split())[:200]
        raise InputError(
            f"{who} cannot be read ({type(fault).__name__}: {said}): write it with skops.io.dump."
        ) from fault
