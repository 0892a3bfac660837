"""A whole night by the command line, with somebody to tell who does not answer: its result is what it was without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Command, digests, environment, records
from loopback_hooks import hook
from team_project import team_project

pytestmark = [pytest.mark.xdist_group("prefect"), pytest.mark.timeout(600)]

CONFIG = """
compute: {engine: serial}
NOTIFY
pipelines:
  night:
    source: {csv: patients.csv, id: id, label: label}
    labeling: {functions: rules.py}
    gates: [{finding: labeling.functions, at_least: 1000}]
"""
NOTIFY = """
notify:
  webhook: {url_from: HOOK_URL, secret_from: HOOK_SECRET, seconds: 2}
  apprise: {url_from: APPRISE_URLS, seconds: 2}
"""


def ran(folder: Path, config: str, **more: str) -> Command:
    team_project(folder)
    (folder / "pipelines.yaml").write_text(config)
    done = Command.start(["run", "night"], folder=folder, env=environment(folder / "home", **more))
    assert done.wait() == 1
    return done


@pytest.mark.slow
def test_a_night_with_a_silent_webhook_ends_as_without_one(tmp_path: Path) -> None:
    quiet = ran(tmp_path / "quiet", CONFIG.replace("NOTIFY", ""))
    with hook(slow=True) as server:
        secrets = {
            "HOOK_URL": server.url,
            "HOOK_SECRET": "wh-S3CRET-abcdef",
            "APPRISE_URLS": server.url.replace("http://", "json://user:T0PSECRET@"),
        }
        told = ran(tmp_path / "told", CONFIG.replace("NOTIFY", NOTIFY), **secrets)
    assert len(server.got) >= 1
    assert told.out.count("the message did not arrive") == 2
    [before], [after] = (records(tmp_path / name / "artifacts") for name in ("quiet", "told"))
    assert digests(before) == digests(after)
    for field in ("status", "verdicts", "worst", "judged", "failures"):
        assert before[field] == after[field]
    judged = {outcome: count for outcome, count in after["judged"].items() if count}
    assert (after["status"], judged) == ("gate failed", {"failed": 1})
    assert "the message" not in quiet.out
    state = json.loads((tmp_path / "told" / "artifacts" / "notify" / "told.json").read_text())
    assert (state["webhook"]["told"], state["webhook"]["failures"]) == ({}, 1)
    everything = b"\0".join(file.read_bytes() for file in (tmp_path / "told").rglob("*") if file.is_file())
    for secret in (b"T0PSECRET", b"wh-S3CRET-abcdef"):
        assert secret not in everything
