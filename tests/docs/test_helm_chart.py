"""The Helm chart makes what `kubectl apply --kustomize infra/k8s` makes.

What `helm template` renders stands in `tests/fixtures/helm.yaml`, with the hash of the chart it was rendered of. After
a change of the chart, with helm on the PATH: `python tests/docs/test_helm_chart.py`.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

INFRA = Path(__file__).parents[2] / "infra"
CHART, K8S = INFRA / "helm", INFRA / "k8s"
RENDERED = Path(__file__).parents[1] / "fixtures" / "helm.yaml"
GPU = "--set=gpuWorker.replicas=1"
LABEL = {"app.kubernetes.io/name": "assay"}

Manifest = dict[str, Any]


def chart_hash() -> str:
    files = sorted(file for file in CHART.rglob("*") if file.is_file())
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def helm(*options: str) -> str:
    command = ["helm", "template", "assay", str(CHART), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def parsed(text: str) -> dict[tuple[str, str], Manifest]:
    every = [one for one in YAML(typ="safe").load_all(text) if one is not None]
    return {(one["kind"], one["metadata"]["name"]): one for one in every}


def kustomized() -> dict[tuple[str, str], Manifest]:
    """What infra/k8s makes, GPU workers included: with the label, the image and the configuration it is given."""
    yaml = YAML(typ="safe")
    by = yaml.load((K8S / "kustomization.yaml").read_text())
    assert by["labels"] == [{"pairs": LABEL, "includeSelectors": True}]
    [image] = by["images"]
    found = {}
    for name in (*by["resources"], "gpu-worker.yaml"):
        found |= parsed((K8S / name).read_text())
    for (kind, _), one in found.items():
        one["metadata"]["labels"] = dict(LABEL)
        if kind == "Deployment":
            one["spec"]["selector"]["matchLabels"] |= LABEL
            one["spec"]["template"]["metadata"]["labels"] |= LABEL
            for container in one["spec"]["template"]["spec"]["containers"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"
        elif kind == "Service":
            one["spec"]["selector"] |= LABEL
    [config] = by["configMapGenerator"]
    data = {name: (K8S / name).read_text() for name in config["files"]}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": config["name"], "labels": LABEL}}
    return found | {("ConfigMap", config["name"]): made | {"data": data}}


def comparable(found: dict[tuple[str, str], Manifest]) -> dict[tuple[str, str], Manifest]:
    """Without what has no meaning: in which order volumes stand, how the text of a file ends, what it hashes to."""
    for (kind, _), one in found.items():
        if kind == "Deployment":
            pod = one["spec"]["template"]["spec"]
            one["spec"]["template"]["metadata"].pop("annotations", None)
            pod["volumes"].sort(key=lambda volume: volume["name"])
            for container in pod["containers"]:
                container["volumeMounts"].sort(key=lambda mount: mount["mountPath"])
        if kind == "ConfigMap":
            one["data"] = {name: "\n".join(map(str.rstrip, text.splitlines())) for name, text in one["data"].items()}
    return found


def test_the_chart_makes_what_the_manifests_make() -> None:
    text = RENDERED.read_text()
    assert text.startswith(f"# {chart_hash()}\n"), "the chart was changed: python tests/docs/test_helm_chart.py"
    rendered, plain = comparable(parsed(text)), comparable(kustomized())
    kept = rendered["PersistentVolumeClaim", "assay-store"]["metadata"].pop("annotations")
    assert kept == {"helm.sh/resource-policy": "keep"}  # what all nights left is not deleted with the chart
    assert rendered.keys() == plain.keys()
    for name, manifest in plain.items():
        assert rendered[name] == manifest, name


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not on the PATH")
def test_helm_renders_what_is_kept_and_takes_values() -> None:
    assert helm(GPU) == RENDERED.read_text().partition("\n")[2]
    assert ("Deployment", "assay-gpu-worker") not in parsed(helm())
    other = parsed(
        helm("--set=store.create=false", "--set=image.tag=2", "--set=serve.env[0].name=A", "--set=worker.replicas=9")
    )
    assert ("PersistentVolumeClaim", "assay-store") not in other
    assert other["Deployment", "assay-worker"]["spec"]["replicas"] == 9
    [serve] = other["Deployment", "assay-serve"]["spec"]["template"]["spec"]["containers"]
    assert serve["image"] == "assay:2"
    assert serve["env"][-1] == {"name": "A"}


if __name__ == "__main__":
    RENDERED.write_text(f"# {chart_hash()}\n{helm(GPU)}")
