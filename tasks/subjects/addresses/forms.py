"""How samples are sent to a service and its numbers read: `instances`, the prediction API of TensorFlow Serving,
Vertex AI, MLflow and KServe v1, and `kserve`, the Open Inference Protocol, version 2 (one tensor in, one out).

What is asked in words stands in chat.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from assay.infra.errors import InputError
from assay.tasks.subjects.addresses.client import Client, quoted
from assay.tasks.subjects.addresses.given import Asking

Item = Any
"""A sample as it is asked about: a mapping of features, a text, or an image as an array [c, h, w]."""
Rows = list[list[float]]
_ANSWERS = ("predictions", "probabilities", "outputs")
_NUMBERS = {"FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"}


@dataclass(frozen=True)
class Instances:
    """`{"instances": […]}` → `{"predictions": [[…]]}`, or the rows alone."""

    url: str
    listed: bool = False
    version: str = ""

    def body(self, items: Sequence[Item]) -> Any:
        """Rows as mappings or lists, texts as they are, images as lists of channels of rows of pixels."""
        rows = [list(item.values()) if self.listed and isinstance(item, Mapping) else item for item in items]
        return {"instances": [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]}

    def rows(self, answer: Any, count: int, who: str) -> Rows:
        """Lists of numbers, under one of the usual names or alone."""
        if isinstance(answer, dict):
            answer = next((answer[name] for name in _ANSWERS if name in answer), None)
        return checked_rows(answer, count, who, 'expected {"predictions": […]} with a list of probabilities per sample')


@dataclass(frozen=True)
class KServe:
    """One tensor of all samples → one tensor of all answers."""

    address: str
    tensor: str = "input-0"
    datatype: str = ""
    output: str | None = None
    version: str = ""

    @property
    def url(self) -> str:
        """Where samples are sent."""
        parts = urlsplit(self.address)
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/infer"))

    def body(self, items: Sequence[Item]) -> Any:
        """The samples as one tensor: texts as BYTES, rows and images as numbers."""
        if isinstance(items[0], str):
            shape, kind, data = [len(items)], "BYTES", list(items)
        else:
            stacked = np.stack([item if isinstance(item, np.ndarray) else _numbers(item) for item in items])
            kind = self.datatype if self.datatype in _NUMBERS else "FP32"
            whole = kind[:2] != "FP"
            shape, data = list(stacked.shape), (stacked.astype(np.int64) if whole else stacked).ravel().tolist()
        return {"inputs": [{"name": self.tensor, "shape": shape, "datatype": kind, "data": data}]}

    def rows(self, answer: Any, count: int, who: str) -> Rows:
        """The output of that name, or the only one, as [samples, classes]."""
        outputs = answer.get("outputs") if isinstance(answer, dict) else None
        if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
            raise InputError(f"{who} answered without outputs, expected those of the Open Inference Protocol.")
        if self.version and (answered := str(answer.get("model_version", ""))):
            require_version(answered, self.version.split(","), who)
        chosen = _chosen(outputs, self.output, who)
        shape, data = (_list_in(chosen, field, who) for field in ("shape", "data"))
        if len(shape) != 2 or shape[0] != count:
            raise InputError(
                f"{who} answered with the shape {quoted(shape)} for {count} samples, expected [{count}, classes]."
            )
        flat = [cell for row in data for cell in (row if isinstance(row, list) else [row])]
        width = shape[1]
        if not isinstance(width, int) or width < 1 or len(flat) != count * width:
            raise InputError(f"{who} answered with {len(flat)} numbers for the shape {quoted(shape)}.")
        cut = [flat[at : at + width] for at in range(0, len(flat), width)]
        return checked_rows(cut, count, who, "expected the probabilities of every sample")


Form = Instances | KServe
"""How samples are sent and answers are read."""


def form_of(asking: Asking, client: Client) -> Form:
    """The form that the settings say or the address shows; KServe is asked what it has there."""
    word = asking.form if asking.form != "auto" else "kserve" if "/v2/models/" in client.url else "instances"
    return _kserve(asking, client) if word == "kserve" else _instances(asking, client)


def _instances(asking: Asking, client: Client) -> Form:
    version = ""
    if asking.version_header is not None:
        version = client.head().get(asking.version_header.lower(), "")
        if not version:
            raise InputError(
                f"{client.who} answers HEAD without the header {asking.version_header} that `asking.version_header` "
                "names: correct the name, let the service answer HEAD with it as it does POST, or leave it out."
            )
    return Instances(client.url, asking.rows == "listed", version)


def _kserve(asking: Asking, client: Client) -> Form:
    address = client.url.removesuffix("/").removesuffix("/infer")
    about = client.get(address)
    inputs = about.get("inputs") if isinstance(about, dict) else None
    if not isinstance(inputs, list) or not all(isinstance(tensor, dict) for tensor in inputs):
        raise InputError(f"{client.who} does not say what it has there as KServe does: set `asking.form: instances`.")
    if len(inputs) > 1:
        named = quoted(", ".join(str(tensor.get("name")) for tensor in inputs))
        raise InputError(
            f"{client.who} takes {len(inputs)} tensors ({named}), and Assay sends one: serve it behind one."
        )
    tensor = inputs[0] if inputs else {}
    versions = about.get("versions")
    version = ",".join(map(str, versions)) if isinstance(versions, list) else ""
    return KServe(address, str(tensor.get("name", "input-0")), str(tensor.get("datatype", "")), asking.output, version)


def _numbers(row: Mapping[str, Any]) -> Any:
    """A row of a table as numbers; raises where one is missing."""
    for name, value in row.items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(
                f"The feature {name!r} is {value!r} for a sample, and a tensor takes finite numbers: list it under the "
                "source's `required`, or fill it in before."
            )
    return np.array([float(value) for value in row.values()])


def _chosen(outputs: Sequence[Mapping[str, Any]], wanted: str | None, who: str) -> Mapping[str, Any]:
    meant = [output for output in outputs if wanted in (None, output.get("name"))]
    if len(meant) == 1:
        return meant[0]
    why = f"has no output {wanted!r}" if wanted is not None and not meant else f"has {len(outputs)} outputs"
    listed = quoted(", ".join(str(output.get("name")) for output in outputs))
    raise InputError(f"{who} {why}; say which holds the probabilities with `asking.output`: {listed}.")


def _list_in(output: Mapping[str, Any], field: str, who: str) -> list[Any]:
    value = output.get(field)
    if not isinstance(value, list):
        what = f"without `{field}`" if field not in output else f"whose `{field}` is {quoted(value)} and no list"
        raise InputError(f"{who} answered with the output {quoted(output.get('name'))!r} {what}.")
    return value


def checked_rows(answer: Any, count: int, who: str, expected: str) -> Rows:
    """The rows of numbers, as many as samples; null is no number (NaN), for whoever checks the values to complain."""
    if not isinstance(answer, list):
        raise InputError(f"{who} answered {type(answer).__name__}, {expected}.")
    if len(answer) != count:
        raise InputError(f"{who} answered with {len(answer)} rows for {count} samples, {expected}.")
    for row in answer:
        if not isinstance(row, list) or not row or len(row) != len(answer[0]):
            raise InputError(f"{who} answered with rows of different shapes, {expected}.")
        if not all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in row):
            raise InputError(f"{who} answered with something else than numbers, {expected}.")
    try:
        return [[math.nan if cell is None else float(cell) for cell in row] for row in answer]
    except OverflowError as fault:
        raise InputError(f"{who} answered with a number of more digits than numbers have, {expected}.") from fault


def require_version(answered: str, begun: Sequence[str], who: str) -> None:
    """Raises where another version answers than those that the run began with."""
    if answered not in begun:
        raise InputError(
            f"{who} answers as version {quoted(answered or 'none')} now, and the run began with "
            f"{quoted(','.join(begun))}: run again."
        )
