"""A bundle is verified, and a part of it computed anew, by another user in another folder who has the wheel alone."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Command, environment
from direct_nights import latest, perform_night
from installed_wheel import install
from tampered_bundles import new_keys

from assay.flows.evidence.bundle import write_bundle
from assay.flows.evidence.statements import attest

NIGHT = """
pipelines:
  night:
    source: {csv: patients.csv, id: id, label: ill, split: part}
    labeling:
      rules: [{name: high, when: {column: x, above: 0.5}, vote: 1}, {name: low, when: {column: x, below: 0.6}, vote: 0}]
    weak_labels: {labelers: [majority]}
    subject: {model: logistic}
    gates: [{finding: subject.accuracy, of: clean, at_least: 0.5}]
"""
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("first-audit"),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root becomes somebody else"),
]


@pytest.fixture
def anybody() -> Iterator[Path]:
    """A folder that every user may look into, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="stranger-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        yield folder


def test_the_wheel_the_bundle_and_the_key_are_enough_for_another_user(
    installed: Path, anybody: Path, tmp_path: Path
) -> None:
    draw = random.Random(0)
    xs = [draw.random() for _ in range(200)]
    rows = [f"{n},{x:.3f},{int(x + draw.gauss(0, 0.2) > 0.5)},{'train' if n % 2 else 'test'}" for n, x in enumerate(xs)]
    (tmp_path / "patients.csv").write_text("\n".join(["id,x,ill,part", *rows]))
    (tmp_path / "pipelines.yaml").write_text(NIGHT)
    perform_night(tmp_path, "night")
    store, record = latest(tmp_path, "night")
    _, private, public = new_keys(tmp_path, "signer")
    attest(store, record, private)
    (wheel,) = installed.parents[2].glob("*.whl")
    theirs = install(wheel, anybody / "environment")
    home = anybody / "home"
    home.mkdir()
    write_bundle(store, record, home / "night.zip", results=True)
    shutil.copy(public, home / "key.pub")
    os.chown(home, NOBODY, NOBODY)
    env = environment(home / "state", HOME=str(home), TMPDIR=str(home), PYTHONDONTWRITEBYTECODE="1")
    os.chown(home / "state", NOBODY, NOBODY)

    def ended(program: str, *arguments: str) -> Command:
        command = Command.start(arguments, folder=home, env=env, within=AS_NOBODY, program=str(theirs / program))
        command.wait()
        return command

    asked = "import assay, os; print(os.getuid(), assay.__file__, os.access(os.environ['SIGNER'], os.R_OK))"
    env["SIGNER"] = str(tmp_path / "store" / "runs")
    who = ended("python", "-c", asked).out.split()
    assert (who[0], who[2]) == (str(NOBODY), "False")
    assert Path(who[1]).is_relative_to(anybody / "environment")
    checked = ended("assay", "verify", "night.zip", "--key", "key.pub")
    assert checked.process.returncode == 0, checked.err
    assert "Gates     passed: " in checked.out
    data = home / "data"
    data.mkdir()
    shutil.copy(tmp_path / "patients.csv", data)
    anew = ("--recompute", "30%", "--seed", "3", "--data", "data")
    computed = ended("assay", "verify", "night.zip", "--key", "key.pub", *anew)
    assert computed.process.returncode == 0, computed.out + computed.err
    assert "Verdict   reproduced: bit by bit" in computed.out
