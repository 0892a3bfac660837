"""Which part of a run a file belongs to: whose weights it holds, whose model it describes, or whose settings."""

import pytest

from assay.flows.blame.changes import MODEL, SETTINGS, WEIGHTS, Side
from assay.infra.storage.artifacts import RunRecord
from assay.infra.user_code.references import Ingredient


def side(**subject: str) -> Side:
    return Side(RunRecord("a", "night", "2026-11-22T02:00:00", 0, "host", 1, settings={"subject": subject}))


@pytest.mark.parametrize(
    ("subject", "file", "part"),
    [
        ({"network": "./vit"}, "vit/model.safetensors", WEIGHTS),
        ({"network": "./vit"}, "vit/config.json", MODEL),
        ({"network": "/models/vit"}, "/models/vit/model.safetensors", WEIGHTS),
        ({"network": "../models/vit/"}, "/home/night/models/vit/preprocessor_config.json", MODEL),
        ({"model": "./spam.onnx"}, "spam.onnx", WEIGHTS),
        ({"model": "../spam.skops"}, "/home/spam.skops", MODEL),
        ({"model": "net.py:build", "weights": "./net.safetensors"}, "net.safetensors", WEIGHTS),
        ({"model": "net.py:build", "weights": "../net.safetensors"}, "/home/net.safetensors", WEIGHTS),
        ({"network": "./vit"}, "vit2/config.json", SETTINGS),
        ({"network": "org/vit"}, "/home/.cache/models--org--vit/snapshots/1/config.json", None),
    ],
)
def test_a_file_belongs_to_whoever_names_it_or_its_folder(subject: dict[str, str], file: str, part: str | None) -> None:
    assert side(**subject).part_of(Ingredient(file, "1", 1, True, "file", "")) == part
