"""The kinds of address in one table, and files that are refused, each with the sentence that says how to convert it.

A new kind is a module of its own, and a value here. Nothing heavy is imported before a model is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from assay.tasks.subjects.addresses.address import Address

if TYPE_CHECKING:
    from assay.tasks.subjects.addresses.given import GivenModel
    from assay.tasks.subjects.settings import Subject


def _refer_to_endpoint(settings: Subject, written: str, beside: Path) -> GivenModel:
    from assay.tasks.subjects.addresses.endpoint import refer_to_endpoint

    return refer_to_endpoint(settings, written, beside)


def _refer_to_onnx(settings: Subject, written: str, beside: Path) -> GivenModel:
    from assay.tasks.subjects.addresses.onnx_files import refer_to_onnx

    return refer_to_onnx(settings, written, beside)


def _refer_to_skops(settings: Subject, written: str, beside: Path) -> GivenModel:
    from assay.tasks.subjects.addresses.skops_files import refer_to_skops

    return refer_to_skops(settings, written, beside)


def _refer_to_mlflow(settings: Subject, written: str, beside: Path) -> GivenModel:
    from assay.tasks.subjects.addresses.mlflow_models import refer_to_mlflow

    return refer_to_mlflow(settings, written, beside)


def _ends_in(suffix: str) -> Callable[[str], bool]:
    return lambda written: "://" not in written and PurePosixPath(written).suffix.lower() == suffix


ADDRESSES: tuple[Address, ...] = (
    Address(
        "endpoint",
        "https://host/predict",
        lambda written: written.lower().startswith(("http://", "https://")),
        ("model", "network", "classifier"),
        _refer_to_endpoint,
    ),
    Address(
        "mlflow",
        "models:/name@alias",
        lambda written: written.startswith("models:/"),
        ("model", "network"),
        _refer_to_mlflow,
        "mlflow",
        "mlflow",
    ),
    Address("onnx", "model.onnx", _ends_in(".onnx"), ("model", "network"), _refer_to_onnx, "onnx", "onnxruntime"),
    Address("skops", "model.skops", _ends_in(".skops"), ("model",), _refer_to_skops, "skops", "skops"),
)

_PICKLE = "a pickle can run code hidden in it when it is loaded, and Assay opens none: "
_TORCH = "save its weights with safetensors.torch.save_file(model.state_dict(), …) and name the function that builds it"
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (".pkl", ".pickle", ".joblib", ".dill"),
        f'{_PICKLE}load it where you trust it, write it with skops.io.dump(model, "model.skops"), and name that file',
    ),
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt", ".pt2"), f"{_PICKLE}{_TORCH}"),
    **dict.fromkeys(
        (".h5", ".keras", ".pb", ".tflite"), "is of a format that Assay does not read: convert it to ONNX (tf2onnx)"
    ),
}
"""Files that are no address, by their suffix, and what to do about each."""


def address_of(written: str) -> Address | None:
    """The kind of address that this is; None for a name, a folder or code.

    >>> [one and one.word for one in map(address_of, ("https://m/x", "models:/x@y", "m.ONNX", "m.py:f"))]
    ['endpoint', 'mlflow', 'onnx', None]
    """
    return next((one for one in ADDRESSES if one.is_one(written)), None)


def refused(written: str) -> str | None:
    """Why a file is not opened, and how to convert it; None where nothing is known against it.

    >>> str(refused("night/model.joblib"))[:60], refused("joblib_model.py:predict")
    ('a pickle can run code hidden in it when it is loaded, and As', None)
    """
    return REFUSED.get(PurePosixPath(written).suffix.lower())
