"""A registered model is found by its alias in a real registry, and what was logged as a pickle is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from model_files import onnx_of_columns, skops_of

from assay.infra.errors import InputError
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject

mlflow = pytest.importorskip("mlflow", reason="the extra `mlflow` is not installed")


class Registry:
    """One registry for the tests, since making its tables takes longest."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.uri = folder, f"sqlite:///{folder}/registry.db"
        self.client = mlflow.MlflowClient(self.uri, self.uri)

    def register(self, name: str, flavour: str, content: Path, alias: str = "nightly") -> str:
        """A new version of a model as MLflow lays one down."""
        place = self.folder / f"{name}-{len(list(self.folder.iterdir()))}"
        place.mkdir()
        shutil.copy(content, place / content.name)
        (place / "MLmodel").write_text(f"flavors:\n  {flavour.format(file=content.name)}\n")
        if not [one for one in self.client.search_registered_models() if one.name == name]:
            self.client.create_registered_model(name)
        version = str(self.client.create_model_version(name, source=place.as_uri()).version)
        self.client.set_registered_model_alias(name, alias, version)
        return version


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return Registry(tmp_path_factory.mktemp("registry"))


@pytest.fixture(autouse=True)
def _asks_the_registry(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", registry.uri)


def resolved(address: str) -> ResolvedSubject:
    return resolve_subject(Subject(model=address, features=("links", "begs")), Path())


def test_a_moved_alias_is_another_model_and_a_version_stays_one(registry: Registry, tmp_path: Path) -> None:
    first = registry.register("spam", "onnx: {{data: {file}}}", onnx_of_columns(tmp_path / "model.onnx"))
    by_alias, by_version = resolved("models:/spam@nightly"), resolved(f"models:/spam/{first}")
    registry.register("spam", "onnx: {{data: {file}}}", onnx_of_columns(tmp_path / "model.onnx", each=(0.3, 0.3)))
    moved, stayed = resolved("models:/spam@nightly"), resolved(f"models:/spam/{first}")
    contents = [one.code.fingerprint for one in (by_alias, by_version, stayed, moved) if one.code is not None]
    assert contents[0] == contents[1] == contents[2] != contents[3]


def test_a_model_of_scikit_learn_is_read_where_it_was_logged_with_skops(registry: Registry, tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], ["ham", "spam"])
    registry.register("linear", "sklearn: {{pickled_model: {file}}}", skops_of(tmp_path / "model.skops", fitted))
    assert resolved("models:/linear@nightly").kind == "own"


def a_pickle(registry: Registry, folder: Path) -> None:
    (folder / "model.pkl").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    registry.register("pickled", "sklearn: {{pickled_model: {file}}}", folder / "model.pkl")


def another_flavour(registry: Registry, folder: Path) -> None:
    (folder / "model.ubj").write_bytes(b"?")
    registry.register("trees", "xgboost: {{data: {file}}}", folder / "model.ubj")


def a_file_elsewhere(registry: Registry, folder: Path) -> None:
    onnx_of_columns(folder / "model.onnx")
    registry.register("elsewhere", "onnx: {{data: ../registry.db}}", folder / "model.onnx")


@pytest.mark.parametrize(
    ("make", "address", "told"),
    [
        (a_pickle, "models:/pickled@nightly", r"was logged as model.pkl, and Assay opens no pickle"),
        (another_flavour, "models:/trees@nightly", r"in flavours that Assay does not read \(xgboost\)"),
        (a_file_elsewhere, "models:/elsewhere@nightly", "names the file '../registry.db', which leaves its folder"),
        (None, "models:/nobody@nightly", 'MLflow does not give "models:/nobody@nightly": '),
        (None, "models:/spam", "says no version: write models:/name@alias, or models:/name/3"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(
    registry: Registry, tmp_path: Path, make: Any, address: str, told: str
) -> None:
    if make is not None:
        make(registry, tmp_path)
    with pytest.raises(InputError, match=told) as refused:
        resolved(address)
    assert "\n" not in str(refused.value)


def test_without_a_server_nothing_is_made_in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with pytest.raises(InputError, match="set MLFLOW_TRACKING_URI to the address of its server"):
        resolved("models:/spam@nightly")
