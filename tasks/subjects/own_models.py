"""A model of the user's own: a function or object that gives probabilities, or a Torch module with its weights.

Samples go in as blocks of one fixed size, the last one filled up with repeats of its last sample, so that what a model
says of a sample does not depend on how the samples were cut; an endpoint is asked for those that there are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError, faults_in_words
from assay.infra.user_code.references import CodeReference, content_at
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.predictions import ROUNDING, Matrix, checked_probabilities, feature_matrix, predictions_table

if TYPE_CHECKING:
    import torch


Asked = CodeReference | GivenModel
"""Whatever answers for a subject that Assay did not build: a person's own code, or a model at an address."""

T = TypeVar("T")


def asked_at_once(block: Sequence[T], size: int, code: Asked) -> list[T]:
    """What a function is asked at a time: filled up to `size` with repeats of the last, so that the cut never shows.

    An endpoint is asked for what there is, and for nothing twice.
    """
    return [*block, *([] if code.asks_elsewhere else [block[-1]] * (size - len(block)))]


def answers_in_blocks(
    code: Asked, what: str, items: Sequence[T], masked: bool, of: str
) -> Iterator[tuple[int, list[T], int, object]]:
    """What a function answers for a list, block by block: the place of the first item, the block, how many were asked
    about, and the answer. What it raises becomes a sentence; `masked` without its words."""
    function = answering_function(code, what)
    size = max(1, len(items)) if isinstance(code, GivenModel) and code.asks_elsewhere else LISTED  # it cuts its batches
    for start in range(0, len(items), size):
        block = list(items[start : start + size])
        asked = asked_at_once(block, size, code)
        who, where = f'The {what} "{code.written}"', of.format(len(asked))

        def sentence(fault: Exception, who: str = who, where: str = where) -> str:
            return f"{who} raised {code.raised(fault, masked)} on {where}."

        with faults_in_words(sentence, masked), code.at_work(what):
            answer = function(asked)
        yield start, block, len(asked), answer


def answering_function(code: Asked, what: str) -> Callable[[list[Any]], object]:
    """The function behind the reference of a classifier (or its `predict_proba`), a tagger or a scorer; an error in
    words otherwise."""
    function = code.load()
    who, is_class = f'The {what} "{code.written}" is', isinstance(function, type)
    if what == "classifier" and is_class:
        raise InputError(f"{who} a class: name an object or a function.")
    method: object = getattr(function, "predict_proba", None)
    if what == "classifier" and callable(method):
        return method
    if what == "classifier" and not callable(function):
        raise InputError(
            f"{who} a {type(function).__name__}, expected a function that gives probabilities for a list of texts, or "
            "an object with predict_proba."
        )
    if is_class or not callable(function):
        raise InputError(f"{who} no function: name one that answers for a list.")
    return function


def require_class_order(code: CodeReference, classes: Sequence[str]) -> None:
    """Raises where a person's model says in `classes_`, as those of scikit-learn do, that its columns are the audit's
    classes in another order: each would be read as another class."""
    listed = getattr(code.load(), "classes_", ())
    named = [str(name) for name in listed] if isinstance(listed, Sequence | np.ndarray) else []
    if named != list(classes) and sorted(named) == sorted(classes):
        raise InputError(
            f'The columns of the model "{code.written}" are {", ".join(named)} (its `classes_`), and the audit reads '
            f"{', '.join(classes)}: write `classes: [{', '.join(named)}]` under `source`, or name a function that puts "
            "the columns in the audit's order."
        )


BLOCK, LISTED = 1024, 16
"""Samples that a model of tables sees at a time, and texts or sentences that a function sees."""

Predictor = Callable[[pa.Table], object]


def read_weights(path: Path) -> bytes:
    """The bytes of a safetensors file; anything else is refused, since unpickling a file can run what is in it."""
    if path.suffix == ".pt2":
        raise InputError(
            f'Assay does not open the exported program "{path}": torch.export.load unpickles what is in it and so can '
            "run code hidden there; name the function that builds the network, and save its state_dict with "
            "safetensors.torch.save_file."
        )
    if path.suffix != ".safetensors":
        raise InputError(
            f'The weights "{path}" are no .safetensors file, and Assay opens no other: a pickle (.pt, .bin) can run '
            "code hidden in it when it is loaded; convert them with safetensors.torch.save_file(model.state_dict(), …)."
        )
    return content_at(path, Path(), "The file of weights")


def predict_with_own(
    table: pa.Table, *, code: Asked, weights: bytes | None, features: tuple[str, ...] | None, classes: Sequence[str]
) -> pa.Table:
    """Predictions for a partition of the samples; the model never sees their gold labels."""
    predict, checked = predictor(code, weights, features), partial(checked_probabilities, classes=classes)
    answers = answers_by_row(table, predict, code, features if weights is None else None, ("gold",), checked)
    chances = not isinstance(code, GivenModel) or code.gives_chances
    return predictions_table(table["id"], answers if table.num_rows else np.zeros((0, len(classes))), chances=chances)


def answers_by_row(
    table: pa.Table,
    predict: Predictor,
    code: Asked,
    features: tuple[str, ...] | None,
    hidden: Sequence[str],
    checked: Callable[..., Matrix],
) -> Matrix:
    """What a model answers for a partition of the samples, [n, k], each block checked as `checked(output, ids, who=…)`;
    it sees the `features`, or all columns but those `hidden`."""
    who, ids = f'The model "{code.written}"', table["id"].to_pylist()
    chosen = features is not None and isinstance(code, CodeReference)  # others choose themselves
    seen = table.select(features) if chosen else table.drop_columns(hidden)

    def block(rows: range) -> Matrix:
        asked = asked_at_once(rows, BLOCK, code)
        where = f"on the samples {ids[rows[0]]!r} to {ids[rows[-1]]!r}"
        with faults_in_words(lambda fault: f"{who} raised {code.raised(fault)} {where}."), code.at_work("model"):
            output = predict(seen.take(pa.array(asked)))
        return checked(output, [ids[row] for row in asked], who=who)[: len(rows)]

    blocks = [block(range(table.num_rows)[start : start + BLOCK]) for start in range(0, table.num_rows, BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros((0, 0))


@lru_cache(maxsize=4)
def predictor(
    code: Asked, weights: bytes | None, features: tuple[str, ...] | None, method_name: str = "predict_proba"
) -> Predictor:
    """What a model of the user's predicts with; raises in words where it cannot be built. One that predicts a number
    has the method `predict`."""
    model = code.load()
    method = getattr(model, method_name, None)
    if isinstance(model, type) and (method is not None or weights is None):
        raise InputError(f'The model "{code.written}" is a class: name an object of it, or a function that makes one.')
    if callable(method):
        return _without_weights(method, code, weights)
    if not callable(model):
        raise InputError(
            f'The model "{code.written}" is a {type(model).__name__}, expected an object with {method_name}(table), a '
            "function of a table, or a function without arguments that builds a Torch module."
        )
    if _wanted_arguments(model) > 0:
        return _without_weights(model, code, weights)
    predict = _torch_predictor(model, code, weights, features)
    return predict if method_name == "predict" else lambda table: as_probabilities(predict(table))


def _without_weights(function: Predictor, code: Asked, weights: bytes | None) -> Predictor:
    if weights is not None:
        raise InputError(
            f'The model "{code.written}" predicts by itself, so the subject\'s `weights` would go nowhere: leave them '
            "out, or name a function without arguments that builds the Torch module they belong to."
        )
    return function


def _torch_predictor(
    build: Callable[[], object], code: Asked, weights: bytes | None, features: tuple[str, ...] | None
) -> Callable[[pa.Table], Matrix]:
    import torch

    if weights is None:
        raise InputError(
            f'The model "{code.written}" takes no arguments, so it builds a Torch module, and that needs `weights: '
            "file.safetensors` (of assay audit --weights FILE); a function that predicts takes the table."
        )
    if features is None:
        raise InputError(f'The Torch module of "{code.written}" needs `features`: the columns it reads, in its order.')
    module = built_module(code, "model", build)
    load_weights(module, weights, f'for "{code.written}"', f'the module that "{code.written}" builds')
    module.eval()

    def predict(table: pa.Table) -> Matrix:
        matrix = feature_matrix(table, features)
        missing = np.argwhere(np.isnan(matrix))
        if len(missing):
            sample, feature = table["id"][int(missing[0][0])].as_py(), features[missing[0][1]]
            raise InputError(
                f'The feature {feature!r} of sample {sample!r} is missing, and the Torch module of "{code.written}" '
                "takes numbers only: list it under the source's `required`, or fill it in before."
            )
        with torch.inference_mode():
            output = module(torch.from_numpy(matrix).to(torch.float32))
        if not isinstance(output, torch.Tensor):
            raise InputError(
                f'The Torch module of "{code.written}" returned {type(output).__name__}, expected a tensor.'
            )
        return np.asarray(output.to(torch.float64).numpy())

    return predict


def built_module(code: Asked, what: str, build: Callable[[], object]) -> torch.nn.Module:
    """The Torch module that a user's function builds, or the sentence for what it did instead."""
    import torch

    with faults_in_words(lambda fault: f'"{code.written}" raised {code.raised(fault)}.'), code.at_work(what):
        module = build()
    if not isinstance(module, torch.nn.Module):
        raise InputError(f'"{code.written}" built a {type(module).__name__}, expected a torch.nn.Module.')
    return module


def load_weights(module: torch.nn.Module, weights: bytes, whose: str, fit: str, *, assign: bool = False) -> None:
    """Fills a module with the weights of a safetensors file; raises in words where they do not fit it.

    With `assign` they take the place of the module's own, which then need no memory (device `meta`).
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        module.load_state_dict(load(weights), strict=True, assign=assign)
    except SafetensorError as fault:
        raise InputError(f"The weights {whose} are no safetensors file: {fault}.") from fault
    except RuntimeError as fault:
        raise InputError(f"The weights do not fit {fit}: {' '.join(str(fault).split())}") from fault


def as_probabilities(output: Matrix) -> Matrix:
    """Probabilities from what a Torch module returned: rows that are none yet are logits, and get their softmax.

    >>> as_probabilities(np.array([[0.25, 0.75], [0.0, 0.0], [-1e-7, 1.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]]
    """
    if output.ndim != 2 or output.shape[1] == 0:
        return output
    ready = (output >= -ROUNDING).all(axis=1) & (np.abs(output.sum(axis=1) - 1) < ROUNDING)
    powers = np.exp(output - output.max(axis=1, keepdims=True))
    return np.where(ready[:, None], np.maximum(output, 0), powers / powers.sum(axis=1, keepdims=True))


def _wanted_arguments(function: Callable[..., object]) -> int:
    """How many arguments a call must give; 1 where Python cannot tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)
