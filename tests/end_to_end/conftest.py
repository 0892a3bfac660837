"""Whole runs that several tests look at: made once, by the real command, in processes of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import Command, environment
from installed_wheel import build_sdist, build_wheel, install
from team_project import own_packages

# Brings the loopback interface up (Linux's SIOCGIFFLAGS and SIOCSIFFLAGS), then becomes the command after it.
LOOPBACK_ONLY = """
import fcntl, os, socket, struct, sys
UP, GET, SET = 0x1, 0x8913, 0x8914
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    request = struct.pack("16sH14s", b"lo", 0, b"")
    flags = struct.unpack("16sH14s", fcntl.ioctl(any_socket, GET, request))[1]
    fcntl.ioctl(any_socket, SET, struct.pack("16sH14s", b"lo", flags | UP, b""))
os.execvp(sys.argv[1], sys.argv[1:])
"""


# Nothing but the folders before `--` can be written, as in a container with a read-only root.
READ_ONLY = """
while [ "$1" != -- ]; do mount --bind "$1" "$1"; shift; done
shift
mount --options remount,bind,ro /
if touch /usr/written 2>/dev/null; then echo "the root can be written" >&2; exit 99; fi
exec "$@"
"""
_ON_A_READ_ONLY_ROOT = ("unshare", "--mount", "sh", "-euc", READ_ONLY, "read-only")


@pytest.fixture(scope="session")
def without_network() -> Sequence[str]:
    """The command that runs another one with nothing but loopback, or a skip where the system does not let us."""
    said = ""
    for unshare in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if shutil.which("unshare") is None:
            break
        within = [*unshare, sys.executable, "-c", LOOPBACK_ONLY]
        tried = subprocess.run([*within, "true"], capture_output=True, text=True, timeout=60)
        if tried.returncode == 0:
            return within
        said = tried.stderr.strip()
    pytest.skip(f"a network namespace cannot be made here: {said or 'there is no unshare'}")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """State folders that the runs of a session share: Prefect's database is made once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment that the wheel was installed into; the wheel is made of the sdist."""
    folder = tmp_path_factory.mktemp("installed")
    return install(build_wheel(build_sdist(folder)), folder / "environment") / "assay"


@pytest.fixture(scope="session")
def newcomer(
    tmp_path_factory: pytest.TempPathFactory, home: Path, installed: Path, without_network: Sequence[str]
) -> Command:
    """`assay run breast-cancer --json`, installed and ended: offline, on a read-only root, in a folder with nothing but
    packages called as ours are inside."""
    folder = tmp_path_factory.mktemp("newcomer")
    own_packages(folder)
    arguments, program = ["run", "breast-cancer", "--json"], str(installed)
    env = environment(home, HOME=str(home), TMPDIR=str(home), PYTHONDONTWRITEBYTECODE="1", ASSAY_SERVER_IDLE="5")
    within = [*without_network, *_ON_A_READ_ONLY_ROOT, str(folder), str(home), "--"]
    command = Command.start(arguments, folder=folder, env=env, within=within, program=program)
    command.wait()
    return command
