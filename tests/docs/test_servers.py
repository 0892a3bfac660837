"""Docker, Compose and Kubernetes files: they parse, name what exists, and open nothing to a network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from markdown_pages import ROOT
from ruamel.yaml import YAML

from assay import __version__
from assay.flows.cli import assay
from assay.flows.configuration.loading import load_project

INFRA = ROOT / "infra"
MANIFESTS = sorted((INFRA / "k8s").glob("*.yaml"))
COMPOSE = YAML(typ="safe").load((INFRA / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (INFRA / "docker" / "Dockerfile").read_text(encoding="utf-8")


def documents() -> list[dict[str, Any]]:
    found = [
        YAML(typ="safe").load_all(path.read_text(encoding="utf-8"))
        for path in MANIFESTS
        if path.name != "pipelines.yaml"
    ]
    return [document for group in found for document in group]


def containers() -> list[tuple[str, dict[str, Any]]]:
    """Every container with the name of what it belongs to."""
    return [
        (one["metadata"]["name"], container)
        for one in documents()
        if one["kind"] == "Deployment"
        for container in one["spec"]["template"]["spec"]["containers"]
    ]


def started() -> list[tuple[str, list[str]]]:
    """What every container runs: program and arguments."""
    entry = json.loads(re.findall(r"^ENTRYPOINT (.+)$", DOCKERFILE, re.MULTILINE)[0])
    default = json.loads(re.findall(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)[0])
    found = [("image", [*entry, *default])]
    for name, service in COMPOSE["services"].items():
        if service["image"].startswith("assay"):
            found.append((f"compose {name}", [*service.get("entrypoint", entry), *service.get("command", default)]))
    return found + [(f"k8s {n}", [*c.get("command", entry), *c.get("args", default)]) for n, c in containers()]


@pytest.mark.parametrize(("where", "words"), started(), ids=[where for where, _ in started()])
def test_what_a_container_runs_is_a_command_with_these_options(where: str, words: list[str]) -> None:
    program, *rest = words
    command, options = _commands(program), [word.partition("=")[0] for word in rest if word.startswith("--")]
    plain = [word for word in rest if not word.startswith("--")]
    while isinstance(command, click.Group):
        name = plain.pop(0)
        chosen = command.get_command(click.Context(command), name)
        assert chosen is not None, f"{where}: {program} has no command {name}"
        command = chosen
    known = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
    assert set(options) <= known, f"{where}: {set(options) - known}"


def _commands(program: str) -> click.Command:
    if program == "assay":
        return assay
    if program == "dask":
        from distributed.cli import dask_scheduler

        group = click.Group()
        group.add_command(dask_scheduler.main, "scheduler")
        return group
    assert program == "prefect"
    from prefect.cli.server import start  # the only command of Prefect's that is used here

    group, server = click.Group(), click.Group()
    server.add_command(
        click.Command("start", params=[click.Option([f"--{name}"]) for name in start.__annotations__]), "start"
    )
    group.add_command(server, "server")
    return group


@pytest.mark.parametrize("path", [INFRA / "docker" / "pipelines.yaml", INFRA / "k8s" / "pipelines.yaml"])
def test_the_pipelines_files_that_come_with_them_load_and_name_the_scheduler(path: Path) -> None:
    project = load_project(path)
    host = project.compute.engine.removeprefix("tls://").partition(":")[0]
    services = {one["metadata"]["name"] for one in documents() if one["kind"] == "Service"}
    assert host in (services if path.parent.name == "k8s" else COMPOSE["services"])
    assert any(pipeline.schedule for pipeline in project.pipelines.values())


def test_compose_publishes_ports_on_loopback_only() -> None:
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_every_dask_process_is_started_with_certificates() -> None:
    for where, words in started():
        if words[:2] == ["dask", "scheduler"] or words[:2] == ["assay", "worker"]:
            given = {word.partition("=")[0] for word in words}
            assert {"--tls-cert", "--tls-key"} <= given, where
            assert {"--tls-ca", "--tls-ca-file"} & given, where
        assert not any(word.startswith("tcp://") for word in words), where


def test_kustomize_lists_files_that_are_there_and_mounts_what_is_declared() -> None:
    kustomization = next(one for one in documents() if one["kind"] == "Kustomization")
    for name in kustomization["resources"]:
        assert (INFRA / "k8s" / name).is_file()
    for one in documents():
        if one["kind"] == "Deployment":
            pod = one["spec"]["template"]["spec"]
            volumes = {volume["name"] for volume in pod["volumes"]}
            assert {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]} <= volumes
            assert (
                one["spec"]["selector"]["matchLabels"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
            )
            assert pod["securityContext"]["runAsNonRoot"] is True


def test_no_container_of_ours_can_write_to_its_root() -> None:
    scratch = {"/tmp", "/home/assay"}
    for name, container in containers():
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
        assert scratch <= {mount["mountPath"] for mount in container["volumeMounts"]}, name
    for name, service in COMPOSE["services"].items():
        if service["image"].startswith("assay"):
            assert service["read_only"] is True, name
            assert {place.partition(":")[0] for place in service["tmpfs"]} == scratch, name
            assert service["cap_drop"] == ["ALL"], name


def test_workers_wait_for_a_scheduler_that_answers() -> None:
    assert COMPOSE["services"]["scheduler"]["healthcheck"]["test"][0] == "CMD"
    for name in ("worker", "serve"):
        assert COMPOSE["services"][name]["depends_on"]["scheduler"] == {"condition": "service_healthy"}
    [scheduler] = [container for name, container in containers() if name == "assay-scheduler"]
    assert {"readinessProbe", "livenessProbe"} <= scheduler.keys()


def test_only_the_gpu_workers_claim_a_gpu() -> None:
    claiming = {name for name, container in containers() if "nvidia.com/gpu" in container["resources"]["limits"]}
    assert (
        claiming
        == {name for name, container in containers() if "--gpu" in container.get("args", [])}
        == {"assay-gpu-worker"}
    )


def test_images_are_ours_in_this_version_or_pinned() -> None:
    kustomization = next(one for one in documents() if one["kind"] == "Kustomization")
    assert [image["newTag"] for image in kustomization["images"]] == [__version__]
    assert {container["image"] for _, container in containers()} == {"assay"}
    images = {service["image"] for service in COMPOSE["services"].values()}
    assert images == {f"assay:{__version__}", "postgres:16-alpine"}


def test_the_image_copies_what_the_build_needs() -> None:
    copied = {
        word for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]
    }
    assert {
        "pyproject.toml",
        "requirements.lock",
        "README.md",
        "LICENSE",
        "assay",
        "flows",
        "tasks",
        "data",
        "infra",
    } <= copied
    allowed = (INFRA / "docker" / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in allowed
