from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import save_file

from assay.infra.errors import InputError
from assay.tasks.subjects.own_models import BLOCK, predict_with_own
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject

CLASSES = ["well", "ill"]
SAMPLES = pa.table(
    {
        "id": [f"s{i}" for i in range(3000)],
        "gold": pa.array([i % 2 for i in range(3000)], pa.int16()),
        "x": np.linspace(-1, 1, 3000),
        "y": np.cos(np.arange(3000.0)),
        "note": ["cough"] * 3000,
    }
)
OBJECT = """
import numpy as np
from scale import FACTOR

class Model:
    def predict_proba(self, table):
        assert "gold" not in table.column_names
        p = 1 / (1 + np.exp(-FACTOR * table["x"].to_numpy()))
        return np.stack([1 - p, p], axis=1)

model = Model()

def function(table):
    return model.predict_proba(table)
"""
NETWORK = """
import torch

def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 2))

def ready():
    return torch.nn.Sequential(build(), torch.nn.Softmax(dim=1))
"""


def write(folder: Path, text: str, name: str = "mine.py") -> None:
    (folder / name).write_text(text)


def subject(folder: Path, written: str, **settings: object) -> ResolvedSubject:
    return resolve_subject(Subject.model_validate({"model": written, **settings}), folder)


def predict(found: ResolvedSubject, samples: pa.Table = SAMPLES) -> pa.Table:
    assert found.code is not None
    return predict_with_own(
        samples, code=found.code, weights=found.weights, features=found.settings.features, classes=CLASSES
    )


@pytest.fixture
def network(tmp_path: Path) -> Path:
    write(tmp_path, NETWORK)
    torch.manual_seed(5)
    module = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 2))
    save_file(module.state_dict(), tmp_path / "net.safetensors")
    return tmp_path


@pytest.mark.parametrize("name", ["model", "function"])
def test_an_object_or_a_function_beside_the_pipelines_file_predicts(tmp_path: Path, name: str) -> None:
    write(tmp_path, OBJECT)
    write(tmp_path, "FACTOR = 3.0", "scale.py")
    table = predict(subject(tmp_path, f"mine.py:{name}"))
    x = SAMPLES["x"].to_numpy()
    assert (table["predicted"].to_numpy() == (x > 0)).all()
    np.testing.assert_allclose([row[1] for row in table["probabilities"].to_pylist()], 1 / (1 + np.exp(-3 * x)))


def test_a_model_sees_the_listed_features_and_only_them(tmp_path: Path) -> None:
    write(tmp_path, "def f(table):\n    assert table.column_names == ['y', 'x']\n    return [[1, 0]] * len(table)")
    assert predict(subject(tmp_path, "mine.py:f", features=["y", "x"])).num_rows == 3000


def test_a_model_sees_blocks_of_one_size(tmp_path: Path) -> None:
    write(tmp_path, f"def f(table):\n    assert table.num_rows == {BLOCK}\n    return [[1, 0]] * len(table)")
    found = subject(tmp_path, "mine.py:f")
    for rows in (0, 1, BLOCK, BLOCK + 1):
        assert predict(found, SAMPLES.slice(0, rows)).num_rows == rows


def test_a_torch_module_predicts_with_its_weights(network: Path) -> None:
    found = subject(network, "mine.py:build", weights="net.safetensors", features=["x", "y"])
    torch.manual_seed(5)
    module = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 2))
    inputs = torch.tensor(np.stack([SAMPLES["x"], SAMPLES["y"]], axis=1), dtype=torch.float32)
    expected = torch.softmax(module.eval()(inputs), dim=1).detach().numpy()
    np.testing.assert_allclose(np.array(predict(found)["probabilities"].to_pylist()), expected, atol=1e-6)


def test_a_torch_module_says_the_same_however_the_samples_are_cut(network: Path) -> None:
    found = subject(network, "mine.py:build", weights="net.safetensors", features=["x", "y"])
    whole = predict(found)
    for size in (1, 700, 1025):
        starts = range(0, 60, size) if size == 1 else range(0, 3000, size)
        pieces = pa.concat_tables([predict(found, SAMPLES.slice(start, size)) for start in starts])
        assert pieces.equals(whole.slice(0, pieces.num_rows))


def test_a_module_that_ends_in_softmax_is_left_alone(network: Path) -> None:
    torch.manual_seed(5)
    inner = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 2))
    save_file(torch.nn.Sequential(inner, torch.nn.Softmax(dim=1)).state_dict(), network / "ready.safetensors")
    logits = predict(subject(network, "mine.py:build", weights="net.safetensors", features=["x", "y"]))
    ready = predict(subject(network, "mine.py:ready", weights="ready.safetensors", features=["x", "y"]))
    np.testing.assert_allclose(
        np.array(ready["probabilities"].to_pylist()), np.array(logits["probabilities"].to_pylist()), atol=1e-6
    )


@pytest.mark.parametrize("suffix", [".pt", ".bin", ".pkl", ""])
def test_pickled_weights_are_refused_unopened(network: Path, suffix: str) -> None:
    (network / f"evil{suffix}").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(InputError, match=r"no \.safetensors file, .* pickle"):
        subject(network, "mine.py:build", weights=f"evil{suffix}", features=["x", "y"])


def test_a_pickle_under_a_false_name_is_no_safetensors_file(network: Path) -> None:
    (network / "evil.safetensors").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(InputError, match="are no safetensors file"):
        subject(network, "mine.py:build", weights="evil.safetensors", features=["x", "y"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"features": ["x", "y"]}, "needs `weights"),
        ({"weights": "net.safetensors"}, "needs `features`"),
        ({"weights": "other.safetensors", "features": ["x"]}, "There is no file"),
    ],
)
def test_a_torch_builder_needs_weights_and_features(network: Path, settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        subject(network, "mine.py:build", **settings)


def test_weights_of_another_network_are_refused(network: Path) -> None:
    save_file({"other": torch.zeros(3)}, network / "other.safetensors")
    with pytest.raises(InputError, match=r"do not fit the module .* Missing key"):
        subject(network, "mine.py:build", weights="other.safetensors", features=["x", "y"])


def test_a_missing_feature_of_a_torch_module_is_named(network: Path) -> None:
    found = subject(network, "mine.py:build", weights="net.safetensors", features=["x", "y"])
    samples = pa.table({"id": ["a", "b"], "gold": pa.array([0, 1], pa.int16()), "x": [1.0, 2.0], "y": [0.0, None]})
    with pytest.raises(InputError, match="feature 'y' of sample 'b' is missing"):
        predict(found, samples)


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (
            "def f(table):\n    raise KeyError('age')",
            "f",
            r"raised KeyError: 'age' \(line 2\) on the samples 's0' to 's1023'",
        ),
        (
            "def f(table):\n    return [[float('nan'), 1]] * len(table)",
            "f",
            "for sample 's0': expected probabilities, finite",
        ),
        (
            "def f(table):\n    return [[1, 0, 0]] * len(table)",
            "f",
            r"shape \[1024, 3\] for 1024 samples, .* 2 classes \(well, ill\)",
        ),
        ("def f(table):\n    return [0.5] * len(table)", "f", r"shape \[1024\]"),
        ("def f(table):\n    return [[3, 4]] * len(table)", "f", "expected probabilities"),
        ("def f(table):\n    return 'no'", "f", "returned str"),
    ],
)
def test_a_faulty_model_is_told_in_one_sentence(tmp_path: Path, text: str, name: str, said: str) -> None:
    write(tmp_path, text)
    with pytest.raises(InputError, match=said):
        predict(subject(tmp_path, f"mine.py:{name}"))


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("f = 3", "f", "is a int, expected an object"),
        ("class M:\n    def predict_proba(self, table): ...", "M", "is a class: name an object"),
        ("def f():\n    return 3", "f", "needs `weights"),
        ("def ff(table): ...", "f", r"names an object that is not there; did you mean ff\?"),
        ("import nosuchmodule", "f", r"does not import: ModuleNotFoundError: .* \(line 1\)"),
        ("def f(:", "f", r"is not Python: .* in line 1"),
    ],
)
def test_what_is_no_model_is_refused_before_anything_runs(tmp_path: Path, text: str, name: str, said: str) -> None:
    write(tmp_path, text)
    with pytest.raises(InputError, match=said):
        subject(tmp_path, f"mine.py:{name}")


def test_a_builder_that_builds_something_else_is_refused(network: Path) -> None:
    write(network, "def build():\n    return 3", "other.py")
    with pytest.raises(InputError, match=r"built a int, expected a torch\.nn\.Module"):
        subject(network, "other.py:build", weights="net.safetensors", features=["x"])


def test_weights_for_a_model_that_predicts_by_itself_go_nowhere(network: Path) -> None:
    write(network, "def f(table): ...", "other.py")
    with pytest.raises(InputError, match="would go nowhere"):
        subject(network, "other.py:f", weights="net.safetensors")
