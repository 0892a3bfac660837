"""Real services, each a process of its own on loopback: PostgreSQL, Prefect's server, S3 (moto), Dask behind TLS.

Each can be killed and started again on the port it had, as systemd or Compose would.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
PATIENCE = 120.0
POSTGRES_USER = "postgres"


def free_port() -> int:
    """A port that nobody listens to just now."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


def wait_until(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"no sign after {seconds:.0f} s of {what}"
        time.sleep(0.1)


@dataclass
class Service:
    """A program that listens to a port (0: to none), in a process group of its own; what it prints goes to a file."""

    name: str
    command: Sequence[str]
    port: int
    log: Path
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> Service:
        """Start it, and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                list(self.command),
                env=dict(self.env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.log.parent,
                start_new_session=True,
            )
        if self.port:
            wait_until(self.answers, f"{self.name}, {self.log}")
        return self

    def answers(self) -> bool:
        """Whether somebody listens to its port."""
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} ended: {self.log.read_text()[-3000:]}"
        with socket.socket() as line:
            line.settimeout(2)
            return line.connect_ex((HOST, self.port)) == 0

    def stop(self, number: int = signal.SIGKILL) -> None:
        """End it with everything that it started: nothing of it gets to clean up, unless the signal lets it."""
        if self.process is None or self.process.poll() is not None:
            return
        os.killpg(self.process.pid, number)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(30)

    def restart(self, number: int = signal.SIGKILL, pause: float = 0.0) -> None:
        """End it and, after a pause, start it again where it was."""
        self.stop(number)
        time.sleep(pause)
        self.start()


def program(name: str) -> str:
    """Where a program is: on the PATH, or where Debian keeps the servers of PostgreSQL."""
    found = shutil.which(name) or next(iter(sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))), None)
    assert found is not None, f"there is no {name} here: run tests/services/install.sh"
    return found


def postgres(folder: Path) -> Service:
    """A database server of an own cluster; never as root, which PostgreSQL refuses."""
    data, port = folder / "data", free_port()
    data.mkdir()
    within: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam(POSTGRES_USER)
        for place in (folder, data):
            os.chown(place, user.pw_uid, user.pw_gid)
        within = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
    data.chmod(0o700)
    made = [*within, program("initdb"), "-D", str(data), "-U", "prefect", "-A", "trust", "--no-sync", "-E", "UTF8"]
    subprocess.run(made, check=True, capture_output=True, cwd=folder)
    options = ["-h", HOST, "-p", str(port), "-k", str(data), "-c", "fsync=off"]
    return Service("PostgreSQL", [*within, program("postgres"), "-D", str(data), *options], port, folder / "log.txt")


def prefect_server(folder: Path, database: Service) -> Service:
    """Prefect's server, with everything it knows in PostgreSQL."""
    port = free_port()
    url = f"postgresql+asyncpg://prefect@{HOST}:{database.port}/postgres"
    env = dict(os.environ) | {
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_API_DATABASE_CONNECTION_URL": url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]
    return Service("Prefect's server", command, port, folder / "prefect.log", env)


def s3_server(folder: Path) -> Service:
    """An S3 server over HTTP."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]
    return Service("S3", command, port, folder / "s3.log")


def s3_environment(url: str) -> dict[str, str]:
    """By what clients find an S3 server at that address."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


@dataclass(frozen=True)
class Certificates:
    """An authority of our own and one certificate, made as docs/clusters.md says."""

    ca: str
    cert: str
    key: str

    @classmethod
    def made(cls, folder: Path) -> Certificates:
        """New ones, in a folder."""
        for line in (
            "req -x509 -newkey rsa:3072 -nodes -days 2 -subj /CN=assay-ca -keyout ca-key.pem -out ca.pem",
            "req -newkey rsa:3072 -nodes -subj /CN=assay -keyout key.pem -out request.pem",
            "x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -out cert.pem",
        ):
            subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True)
        return cls(*(str(folder / name) for name in ("ca.pem", "cert.pem", "key.pem")))

    @property
    def of_client(self) -> dict[str, str]:
        """What tells a run's Dask client of them, as docs/clusters.md says."""
        tls = "DASK_DISTRIBUTED__COMM__TLS__"
        return {
            "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true",
            f"{tls}CA_FILE": self.ca,
            f"{tls}CLIENT__CERT": self.cert,
            f"{tls}CLIENT__KEY": self.key,
        }


def scheduler(folder: Path, certificates: Certificates, env: Mapping[str, str]) -> Service:
    """`dask scheduler` behind TLS, as docs/clusters.md starts it."""
    port = free_port()
    tls = ["--tls-ca-file", certificates.ca, "--tls-cert", certificates.cert, "--tls-key", certificates.key]
    command = [
        sys.executable,
        "-m",
        "dask",
        "scheduler",
        "--protocol",
        "tls",
        "--host",
        HOST,
        "--port",
        str(port),
        *tls,
    ]
    return Service("scheduler", [*command, "--no-dashboard"], port, folder / "scheduler.log", env)


def worker(
    name: str, folder: Path, address: str, certificates: Certificates, env: Mapping[str, str], memory: str
) -> Service:
    """`assay worker`, as docs/clusters.md starts it."""
    tls = ["--tls-ca", certificates.ca, "--tls-cert", certificates.cert, "--tls-key", certificates.key]
    assay = str(Path(sys.executable).parent / "assay")
    return Service(name, [assay, "worker", address, "--memory", memory, *tls], 0, folder / f"{name}.log", env)


def gpu_worker(folder: Path, address: str, certificates: Certificates, env: Mapping[str, str]) -> Service:
    """A worker that offers `GPU=1`, on a machine without one: what it computes on is not what is tested."""
    tls = ["--tls-ca-file", certificates.ca, "--tls-cert", certificates.cert, "--tls-key", certificates.key]
    offer = ["--resources", "GPU=1", "--nworkers", "1", "--nthreads", "1", "--name", "gpu", "--no-dashboard"]
    command = [sys.executable, "-m", "dask", "worker", address, "--host", HOST, *offer, *tls]
    return Service("GPU worker", command, 0, folder / "gpu.log", env)
