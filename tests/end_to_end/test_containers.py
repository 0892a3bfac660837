"""The image is built of its Dockerfile, and what Compose names is started of it, by buildah and podman: as no root,
on a root that cannot be written, without capabilities and without a network, until every health check is kept and a
night was run on all of it.

Wants root and Debian's `buildah podman runc debootstrap postgresql`. Where no registry answers, the base image is
Debian with its own Python, by debootstrap; the database is PostgreSQL of this machine in the containers' network. What
the build needs to reach an index of packages is given in BUILDAH_OPTIONS (`--volume /etc/pip.conf:/etc/pip.conf:ro`);
images stay in the folder that CONTAINERS names, if it names one.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT
from ruamel.yaml import YAML
from service_processes import POSTGRES_USER, Certificates, Service, program, wait_until

INFRA = ROOT / "infra"
DOCKERFILE = INFRA / "docker" / "Dockerfile"
COMPOSE = YAML(typ="safe").load((INFRA / "compose.yaml").read_text(encoding="utf-8"))
SECRETS = {"PREFECT_DATABASE_PASSWORD": "of-the-database", "PREFECT_API_AUTH_STRING": "night:of-the-api"}
IMAGE = COMPOSE["x-assay"]["image"]
LIMITS = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
"""Below what any machine allows; podman's own are above what some do."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(5400),
    pytest.mark.xdist_group("containers"),
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, ("buildah", "podman", "debootstrap"))),
        reason="wants root, and apt-get install buildah podman runc debootstrap",
    ),
]


@dataclass
class Builder:
    """buildah and podman over images and containers of their own."""

    folder: Path
    started: list[str] = field(default_factory=list)

    def run(self, tool: str, *words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """What a tool answers."""
        places = [f"--root={self.folder / 'images'}", f"--runroot={self.folder / 'running'}"]
        if tool == "podman":
            places += [f"--tmpdir={self.folder / 'podman'}", *(["--runtime=runc"] if shutil.which("runc") else [])]
        command = [tool, *places, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done

    def start(self, name: str, *words: str | Path) -> None:
        """Start a container, which is ended with the test."""
        self.run("podman", "run", "--detach", "--replace", "--name", name, *LIMITS, *words)
        self.started.append(name)

    def inside(self, name: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """What a command says inside a container."""
        return self.run("podman", "exec", name, *words, check=check)


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    kept = os.environ.get("CONTAINERS")
    builder = Builder(Path(kept) if kept else tmp_path_factory.mktemp("containers"))
    yield builder
    for name in reversed(builder.started):
        builder.run("podman", "rm", "--force", "--time=2", "--volumes", name, check=False)
    if not kept:
        builder.run("podman", "rmi", "--all", "--force", check=False)


@pytest.fixture(scope="module")
def image(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image, built of the Dockerfile as it stands."""
    [base] = set(re.findall(r"^FROM (\S+)", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE))
    known = builder.run("buildah", "images", "--quiet", f"docker.io/library/{base}", check=False).stdout
    if not known and builder.run("buildah", "pull", f"docker.io/library/{base}", check=False).returncode:
        system = tmp_path_factory.mktemp("debian")
        packages = "--include=ca-certificates,python3,python3-venv"
        subprocess.run(["debootstrap", "--variant=minbase", packages, "bookworm", system], check=True)
        (system / "usr" / "local" / "bin" / "python").symlink_to("/usr/bin/python3")
        container = builder.run("buildah", "from", "scratch").stdout.strip()
        builder.run("buildah", "add", "--quiet", container, system, "/")
        builder.run("buildah", "config", f"--env=PATH={os.defpath}:/usr/local/bin:/usr/sbin:/sbin", container)
        builder.run("buildah", "commit", "--rm", "--quiet", container, f"docker.io/library/{base}")
    # As Docker builds it: with what the ignore file lets through, and the network of this machine.
    ignored = f"--ignorefile={DOCKERFILE}.dockerignore"
    more = shlex.split(os.environ.get("BUILDAH_OPTIONS", ""))
    how = ("--pull-never", "--layers", "--isolation=chroot", "--network=host", ignored, *more)
    builder.run("buildah", "bud", *how, f"--file={DOCKERFILE}", f"--tag={IMAGE}", ROOT)
    return str(IMAGE)


def test_the_image_is_that_of_no_root_and_runs_where_nothing_can_be_written(builder: Builder, image: str) -> None:
    [seen] = json.loads(builder.run("podman", "image", "inspect", image).stdout)
    config = seen["Config"]
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("assay", ["assay"], ["serve"])
    alone = ("run", "--rm", "--network=none", "--read-only", *LIMITS)
    assert "sample/breast-cancer" in builder.run("podman", *alone, image, "data", "list").stdout
    refused = builder.run("podman", *alone, "--entrypoint=touch", image, "/opt/assay/written", check=False)
    assert refused.returncode == 1
    assert "Read-only file system" in refused.stderr


def filled(text: str) -> str:
    """What Compose reads where a variable is named."""
    return re.sub(r"\$\{(\w+)[^}]*\}", lambda match: SECRETS[match[1]], text)


def options(service: dict[str, Any], certificates: Path) -> list[str]:
    """The options of `podman run` that say what Compose's service says."""
    given = [f"--env={name}={filled(str(value))}" for name, value in service.get("environment", {}).items()]
    for volume in service["volumes"]:
        source, _, rest = volume.partition(":")
        place = certificates if source.endswith("/certs") else INFRA / source if source.startswith(".") else source
        given.append(f"--volume={place}:{rest}")
    for place in service["tmpfs"]:
        target, _, how = place.partition(":")
        given.append(f"--mount=type=tmpfs,destination={target},{'chown=true' if how else 'tmpfs-mode=1777'}")
    given += [f"--cap-drop={name}" for name in service["cap_drop"]]
    given += [f"--security-opt={words.removesuffix(':true')}" for words in service["security_opt"]]
    given += [f"--restart={service['restart']}", *(["--read-only"] if service["read_only"] else [])]
    if "entrypoint" in service:
        given.append(f"--entrypoint={json.dumps(service['entrypoint'])}")
    return given


@pytest.fixture(scope="module")
def network(builder: Builder, image: str) -> str:
    """A container that waits; the others join its network, which has loopback alone."""
    builder.start("network", "--network=none", "--entrypoint=sleep", image, "infinity")
    return "network"


@pytest.fixture(scope="module")
def database(builder: Builder, network: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """PostgreSQL at the port that Compose names, in the network of the containers."""
    folder, user = tmp_path_factory.mktemp("database"), pwd.getpwnam(POSTGRES_USER)
    for place in (folder, *folder.parents[:2]):
        place.chmod(0o755)
    os.chown(folder, user.pw_uid, user.pw_gid)
    as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
    made = [*as_user, program("initdb"), "-D", str(folder / "data"), "-U", "prefect", "-A", "trust", "--no-sync"]
    subprocess.run(made, check=True, capture_output=True, cwd=folder)
    pid = builder.run("podman", "inspect", "--format={{.State.Pid}}", network).stdout.strip()
    within = ["nsenter", f"--net=/proc/{pid}/ns/net"]
    command = [*within, *as_user, program("postgres"), "-D", str(folder / "data"), "-h", "127.0.0.1", "-k", str(folder)]
    service = Service("PostgreSQL", command, 0, folder / "log.txt").start()
    ready = [*within, program("pg_isready"), "--host=127.0.0.1", "--username=prefect"]
    wait_until(lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0, "PostgreSQL")
    subprocess.run(
        [*within, program("createdb"), "--host=127.0.0.1", "--username=prefect", "prefect"], check=True, cwd=folder
    )
    yield service
    service.stop()


def is_healthy(builder: Builder, container: str, asked: list[str]) -> bool:
    """Whether a health check is kept; a container that has ended says why."""
    state = builder.run("podman", "inspect", "--format={{.State.Running}}", container).stdout.strip()
    assert state == "true", builder.run("podman", "logs", "--tail=30", container).stderr
    return builder.inside(container, *asked, check=False).returncode == 0


@pytest.fixture(scope="module")
def services(
    builder: Builder, image: str, network: str, database: Service, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What Compose would start, each once what it depends on is healthy: the service of every container, by name."""
    certificates = tmp_path_factory.mktemp("certificates")
    Certificates.made(certificates)
    for place in (certificates, *certificates.iterdir()):
        os.chown(place, 10001, 10001)
    hosts = tmp_path_factory.mktemp("hosts") / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {' '.join(COMPOSE['services'])}\n")
    started, left = dict[str, str](), {name: one for name, one in COMPOSE["services"].items() if name != "database"}
    while left:
        name = next(name for name, one in left.items() if not left.keys() & one.get("depends_on", {}).keys())
        service = left.pop(name)
        assert service["image"] == image
        for number in range(service.get("deploy", {}).get("replicas", 1)):
            container = f"{name}-{number + 1}"
            joined = (f"--network=container:{network}", "--no-hosts", f"--volume={hosts}:/etc/hosts:ro")
            builder.start(container, *joined, *options(service, certificates), image, *service.get("command", []))
            started[container] = name
            if "healthcheck" in service:
                kind, *asked = service["healthcheck"]["test"]
                assert kind == "CMD"
                wait_until(lambda at=container, asked=asked: is_healthy(builder, at, asked), container, 600)
    return started


def test_every_service_is_no_root_may_nothing_and_cannot_write_to_its_root(
    builder: Builder, services: dict[str, str]
) -> None:
    assert sorted(services.values()) == ["prefect", "scheduler", "serve", "worker", "worker"]
    for container in services:
        status = dict(
            line.split(":\t", 1) for line in builder.inside(container, "cat", "/proc/1/status").stdout.splitlines()
        )
        assert (status["Uid"].split()[0], int(status["CapEff"], 16), status["NoNewPrivs"]) == ("10001", 0, "1")
        written = builder.inside(container, "touch", "/opt/assay/written", check=False)
        assert "Read-only file system" in written.stderr, container


def test_a_night_runs_on_all_of_it_and_is_registered_for_the_next(builder: Builder, services: dict[str, str]) -> None:
    wait_until(
        lambda: "breast-cancer" in builder.inside("serve-1", "prefect", "deployment", "ls", check=False).stdout,
        "the deployment that serve registers",
        300,
    )
    night = builder.inside("serve-1", "assay", "run", "breast-cancer", check=False)
    assert night.returncode == 0, night.stdout + night.stderr
    assert "2 CPU workers" in night.stdout
    [report] = builder.inside("worker-1", "sh", "-c", "ls /store/reports/*/index.html").stdout.split()
    assert "breast-cancer" in builder.inside("worker-2", "cat", report).stdout
    for name in services:
        said = builder.run("podman", "logs", name)
        assert "Read-only file system" not in said.stdout + said.stderr, name
