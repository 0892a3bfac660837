"""The kinds of address in one table, the files that are refused, and whether an address suits the setting naming it.

Each refusal says how to convert the file. Nothing heavy is imported before a model is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from assay.infra.errors import InputError, install_command
from assay.infra.settings import StandsOn
from assay.infra.user_code.choices import Named

if TYPE_CHECKING:
    from assay.tasks.subjects.addresses.given import Addressed, GivenModel, KindName
    from assay.tasks.subjects.networks.libraries import LibraryNetwork
    from assay.tasks.subjects.token_networks.sources import ModelSource


@dataclass(frozen=True)
class Address(Named):
    """One kind of address (`word`), shown to people as `example`; functions import what they need when called."""

    example: str
    is_one: Callable[[str], bool]
    looks_at: tuple[KindName, ...]
    """The settings that may name it."""
    opener: str
    """The function that opens the model, as "module:function": imported when it is called."""
    unfit: tuple[str, ...]
    """The settings of a subject that say nothing about such a model."""
    extra: str = ""
    """The extra that brings the library, and `library` its module, where the base installation has none."""
    library: str = ""
    followed: bool = False
    """Whether it is a Torch network, which can learn and whose gradient attacks can follow; others are only asked."""
    brings_weights: bool = False
    """Whether its weights lie at the address."""
    predicts: bool = False
    """Whether it may predict a number, and no class."""

    def refer(self, settings: Addressed, written: str, beside: Path) -> GivenModel | LibraryNetwork | ModelSource:
        """The model in hand; paths count from the folder. Raises in words where it cannot be had."""
        module, _, name = self.opener.partition(":")
        opened: Callable[..., GivenModel | LibraryNetwork | ModelSource] = getattr(import_module(module), name)
        return opened(settings, written, beside)

    def require_library(self, written: str) -> None:
        """Raises unless what reads it is installed.

        >>> Address("x", "m.x", str, (), "", (), "x", "json").require_library("m.x")
        """
        if self.library and find_spec(self.library) is None:
            raise InputError(
                f'"{written}" is read by {self.library}, which is not installed: run `{install_command(self.extra)}`.'
            )


def _ends_in(suffix: str) -> Callable[[str], bool]:
    return lambda written: "://" not in written and PurePosixPath(written).suffix.lower() == suffix


def _is_path_or_hub_id(written: str) -> bool:
    """A name alone is one of ours, or a mistake in one; code has a colon, and other files are known by their suffix."""
    return "/" in written and ":" not in written and refused(written) is None


_CODE = tuple(StandsOn.model_fields)
LEARNING = ("weights", "train", "train_on", "folds", "width", "revision")
"""The settings of what Assay builds or trains."""
_ASKED = (*LEARNING, "asking", *_CODE)
_NAMED = ("asking", *_CODE, "features", "folds", "width", "trusted")

ADDRESSES: tuple[Address, ...] = (
    Address(
        "endpoint",
        "https://host/predict",
        lambda written: written.lower().startswith(("http://", "https://")),
        ("model", "network", "classifier"),
        "assay.tasks.subjects.addresses.endpoint:refer_to_endpoint",
        (*LEARNING, "files", "trusted"),
    ),
    Address(
        "mlflow",
        "models:/name@alias",
        lambda written: written.startswith("models:/"),
        ("model", "network"),
        "assay.tasks.subjects.addresses.mlflow_models:refer_to_mlflow",
        _ASKED,
        "mlflow",
        "mlflow",
    ),
    Address(
        "onnx",
        "model.onnx",
        _ends_in(".onnx"),
        ("model", "network"),
        "assay.tasks.subjects.addresses.model_files:refer_to_onnx",
        (*_ASKED, "trusted"),
        "onnx",
        "onnxruntime",
    ),
    Address(
        "skops",
        "model.skops",
        _ends_in(".skops"),
        ("model", "classifier"),
        "assay.tasks.subjects.addresses.model_files:refer_to_skops",
        _ASKED,
        "skops",
        "skops",
        predicts=True,
    ),
    *(
        Address(
            library,
            f"{library}:NAME",
            lambda written, library=library: written.startswith(f"{library}:"),  # type: ignore[misc]
            ("network",),
            "assay.tasks.subjects.networks.libraries:refer_to_library",
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
        "assay.tasks.subjects.token_networks.sources:refer_to_source",
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

    >>> [kind and kind.word for kind in map(address_of, ("https://m/x", "models:/x@y", "m.ONNX", "m.py:f", "org/m"))]
    ['endpoint', 'mlflow', 'onnx', None, 'hugging-face']
    """
    return next((address for address in ADDRESSES if address.is_one(written)), None)


def is_only_asked(written: str) -> bool:
    """Whether what is so named is a model at an address that has no gradient and learns nothing.

    >>> [is_only_asked(written) for written in ("m.onnx", "https://m/x", "timm:resnet18", "./vit", "small-cnn")]
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


def examples_for(way: str, between: str = " or ") -> str:
    """The addresses that a setting may name, each as an example.

    >>> examples_for("classifier")
    'https://host/predict or model.skops or ./folder or org/name'
    """
    return between.join(address.example for address in ADDRESSES if way in address.looks_at)


def wrong_address(way: str, named: str) -> str | None:
    """Why this cannot stand under the setting; None where nothing is known against it.

    >>> str(wrong_address("scorer", "https://host/x"))
    'is no address of a scorer: take ./folder or org/name or a function of your own (file.py:object)'
    """
    address, why = address_of(named), refused(named)
    if address is not None and way not in address.looks_at:
        return f"is no address of a {way}: take {examples_for(way, ', ')} or a function of your own (file.py:object)"
    if why is not None and ":" not in named:
        return why
    if address is None and "://" in named:
        return (
            "is an address that Assay does not ask: give one with http or https, or write a function of your own that "
            "asks it and gives its answers, as module:object or file.py:object"
        )
    return None


def out_of_place(named: str, given: Collection[str]) -> str | None:
    """Which of the settings that are `given` says nothing about the model at this address; None where all do.

    >>> out_of_place("m.onnx", {"train"}), out_of_place("timm:resnet18", {"train"})
    ('`train`, but m.onnx comes as it is: leave it out', None)
    """
    address = address_of(named)
    other = None if address is None else next((name for name in address.unfit if name in given), None)
    if address is None or other is None:
        return None
    because = f"which says nothing about {named}" if address.followed or other not in LEARNING else None
    return f"`{other}`, {because or f'but {named} comes as it is'}: leave it out"
