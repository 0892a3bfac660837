"""The kinds of address in one table, and files that are refused, each with the sentence that says how to convert it.

A new kind is a module of its own, and a value here. Nothing heavy is imported before a model is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from assay.infra.settings import StandsOn
from assay.tasks.subjects.addresses.address import Address

if TYPE_CHECKING:
    from assay.tasks.subjects.addresses.given import GivenModel
    from assay.tasks.subjects.networks.libraries import LibraryNetwork
    from assay.tasks.subjects.settings import Subject
    from assay.tasks.subjects.token_networks.sources import ModelSource


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


def _refer_to_library(settings: Subject, written: str, beside: Path) -> LibraryNetwork:
    from assay.tasks.subjects.networks.libraries import refer_to_library

    return refer_to_library(settings, written, beside)


def _refer_to_source(settings: Subject, written: str, beside: Path) -> ModelSource:
    from assay.tasks.subjects.token_networks.sources import refer_to_source

    return refer_to_source(settings, written, beside)


def _ends_in(suffix: str) -> Callable[[str], bool]:
    return lambda written: "://" not in written and PurePosixPath(written).suffix.lower() == suffix


def _named_in(library: str) -> Callable[[str], bool]:
    return lambda written: written.startswith(f"{library}:")


def _is_path_or_hub_id(written: str) -> bool:
    """A name alone is one of ours, or a mistake in one; code has a colon, and other files are known by their suffix."""
    return "/" in written and ":" not in written and refused(written) is None


_CODE = tuple(StandsOn.model_fields)
LEARNING = ("weights", "train", "train_on", "folds", "width", "revision")
"""The settings of what Assay builds or trains."""
_ASKED = (*LEARNING, "asking", *_CODE)
_NAMED = ("asking", *_CODE, "features", "folds", "width")

ADDRESSES: tuple[Address, ...] = (
    Address(
        "endpoint",
        "https://host/predict",
        lambda written: written.lower().startswith(("http://", "https://")),
        ("model", "network", "classifier"),
        _refer_to_endpoint,
        (*LEARNING, "files"),
    ),
    Address(
        "mlflow",
        "models:/name@alias",
        lambda written: written.startswith("models:/"),
        ("model", "network"),
        _refer_to_mlflow,
        _ASKED,
        "mlflow",
        "mlflow",
    ),
    Address(
        "onnx", "model.onnx", _ends_in(".onnx"), ("model", "network"), _refer_to_onnx, _ASKED, "onnx", "onnxruntime"
    ),
    Address("skops", "model.skops", _ends_in(".skops"), ("model",), _refer_to_skops, _ASKED, "skops", "skops"),
    *(
        Address(
            library,
            f"{library}:NAME",
            _named_in(library),
            ("network",),
            _refer_to_library,
            (*_NAMED, "revision"),
            "vision",
            library,
            followed=True,
        )
        for library in ("timm", "torchvision")
    ),
    Address(
        "hugging-face",
        "./folder or org/name",
        _is_path_or_hub_id,
        ("network", "classifier", "tagger", "scorer"),
        _refer_to_source,
        (*_NAMED, "weights", "mean", "std"),
        followed=True,
        brings_weights=True,
    ),
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
    """The kind of address that this is; None for a name or code.

    >>> [one and one.word for one in map(address_of, ("https://m/x", "models:/x@y", "m.ONNX", "m.py:f", "org/m"))]
    ['endpoint', 'mlflow', 'onnx', None, 'hugging-face']
    """
    return next((one for one in ADDRESSES if one.is_one(written)), None)


def is_only_asked(written: str) -> bool:
    """Whether what is so named is a model at an address that has no gradient and learns nothing.

    >>> [is_only_asked(one) for one in ("m.onnx", "https://m/x", "timm:resnet18", "./vit", "small-cnn")]
    [True, True, False, False, False]
    """
    address = address_of(written)
    return address is not None and not address.followed


def refused(written: str) -> str | None:
    """Why a file is not opened, and how to convert it; None where nothing is known against it.

    >>> str(refused("night/model.joblib"))[:60], refused("joblib_model.py:predict")
    ('a pickle can run code hidden in it when it is loaded, and As', None)
    """
    return REFUSED.get(PurePosixPath(written).suffix.lower())
