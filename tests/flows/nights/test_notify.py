"""Messages: sent once, to real servers on loopback that answer well and badly; no night and no secret is touched."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from loopback_hooks import hook, refused_url
from nights_on_record import FIRST, night

from assay.flows.cli import answer
from assay.flows.configuration.loading import Project
from assay.flows.nights import notify as telling
from assay.flows.nights.after_run import SERVED, leave_traces
from assay.flows.nights.notify import ended_at, send_news, trial_message
from assay.flows.notifiers.choice import NotSentError
from assay.flows.notifiers.table import Notify, Services
from assay.flows.notifiers.webhook import Webhook, post
from assay.flows.pipeline import ProjectFile
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import Lease
from assay.tasks.statistics.between_runs import RunDifference

SECRET = "wh-S3CRET-abcdef"
Asking = Callable[..., tuple[int, str]]
LATER = FIRST + timedelta(days=40)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.delenv(SERVED, raising=False)
    return Store(str(tmp_path / "artifacts")).open()


@pytest.fixture
def project(store: Store, tmp_path: Path) -> Project:
    webhook = Webhook(url_from="HOOK_URL", secret_from="HOOK_SECRET", seconds=5)
    notify = Notify(webhook=webhook, report_url="https://audits.example/reports/")
    return Project(tmp_path / "pipelines.yaml", store.url, {}, ProjectFile(notify=notify, pipelines={}))


def bodies(got: list[tuple[dict[str, str], bytes]]) -> list[dict[str, object]]:
    return [json.loads(body) for _, body in got]


def test_a_message_holds_the_sentence_the_worst_changes_and_the_link(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(store, 0, accuracy=0.9)
    red = night(store, 1, accuracy=0.7, status="gate failed", worst="1 of 2 gates passed")
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        assert send_news(project, store, now=LATER) == ["Told by webhook: digits red"]
    [(headers, body)] = server.got
    message = json.loads(body)
    assert message["title"] == "Assay: digits red"
    [told] = message["nights"]
    assert (told["state"], told["status"], told["run"]) == ("red", "gate failed", red.id)
    assert told["sentence"] == "1 of 2 gates passed"
    assert told["report"] == f"https://audits.example/reports/{red.id}/index.html"
    accuracy, success = told["worst"]  # what did not move, and what has no better side, is not among them
    assert (accuracy["finding"], accuracy["subject"], success["of"]) == ("subject.accuracy", "plain", "pgd")
    assert accuracy["change"]["value"] == pytest.approx(-0.2)
    assert (accuracy["change"]["low"], accuracy["change"]["high"]) == pytest.approx((-0.2283, -0.1717), abs=1e-4)
    assert "digits red: 1 of 2 gates passed" in message["text"]
    signed = hmac.new(SECRET.encode(), headers["X-Assay-Timestamp"].encode() + b"." + body, hashlib.sha256)
    assert headers["X-Assay-Signature"] == f"sha256={signed.hexdigest()}"
    assert abs(time.time() - int(headers["X-Assay-Timestamp"])) < 60


def test_a_change_whose_interval_has_no_end_is_told(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(store, 0, accuracy=0.9)
    night(store, 1, accuracy=0.7, status="gate failed")
    endless = RunDifference(-0.2, -math.inf, math.inf, 1.0, 500, "one group")
    worst_changes = telling.worst_changes
    monkeypatch.setattr(
        telling, "worst_changes", lambda *runs: [replace(each, difference=endless) for each in worst_changes(*runs)]
    )
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        assert send_news(project, store, now=LATER) == ["Told by webhook: digits red"]
    [accuracy, _] = bodies(server.got)[0]["nights"][0]["worst"]  # type: ignore[index]
    assert (accuracy["change"]["low"], accuracy["change"]["high"]) == (None, None)


def test_only_a_change_of_state_is_told_and_only_once(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        for number, status in enumerate(("done", "gate failed", "gate failed", "broken", "done", "done")):
            night(store, number, status=status)
            send_news(project, store, now=LATER)
            send_news(project, store, now=LATER)
    titles = [body["title"] for body in bodies(server.got)]
    assert titles == ["Assay: digits red", "Assay: digits broken", "Assay: digits green again"]


def test_trials_change_no_state(store: Store, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    night(store, 0)
    night(store, 1, status="gate failed", overrides=["pruning.correlation"])
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        assert send_news(project, store, now=LATER) == []
    assert server.got == []


def test_one_night_is_one_message_for_all_pipelines(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        first = night(store, 0, "digits", status="gate failed")
        going = night(store, 0, "reviews", status="running")
        lease = Lease(store, going.id)
        lease.take()
        soon = FIRST + timedelta(minutes=10)
        assert send_news(project, store, now=soon) == []  # another run is under way
        assert send_news(project, store, now=soon, due_soon=True) == []
        lease.release()
        assert send_news(project, store, now=soon, due_soon=True) == []  # none is, but one is due
        going.status = "broken"
        store.save_run(going)
        assert send_news(project, store, now=soon) == ["Told by webhook: digits red, reviews broken"]
    assert len(server.got) == 1
    assert first.id in str(bodies(server.got))


def test_a_message_waits_no_longer_than_it_may(store: Store, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    night(store, 0, "digits", status="gate failed")
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        assert send_news(project, store, now=FIRST + timedelta(minutes=60), due_soon=True) == []  # it ended at 02:01
        assert len(send_news(project, store, now=FIRST + timedelta(minutes=61), due_soon=True)) == 1


def test_runs_that_never_pause_hold_no_message_back(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a schedule that is due every few minutes the next run is always due soon: red is red since the first."""
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        for number in range(5):
            run = night(store, number, status="gate failed")
            run.started = (FIRST + timedelta(minutes=20 * number)).isoformat()
            store.save_run(run)
            now = ended_at(run) + timedelta(minutes=1)
            assert len(send_news(project, store, now=now, due_soon=True)) == (number == 3)
    assert len(server.got) == 1


def test_what_did_not_arrive_is_tried_again_and_arrives_once(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(store, 0, status="gate failed")
    monkeypatch.setenv("HOOK_URL", refused_url())
    [sentence] = send_news(project, store, now=LATER)
    assert sentence.startswith("notify.webhook: the message did not arrive: it cannot be reached (connection refused)")
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        assert send_news(project, store, now=LATER + timedelta(minutes=1)) == []
        assert send_news(project, store, now=LATER + timedelta(minutes=3)) == ["Told by webhook: digits red"]
        assert send_news(project, store, now=LATER + timedelta(minutes=9)) == []
    assert len(server.got) == 1


def test_who_sends_holds_a_lock_and_one_that_was_left_behind_runs_out(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(store, 0, status="gate failed")
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        with telling._locked(store) as mine:
            assert mine
            assert send_news(project, store, now=LATER) == []
            (said,) = send_news(project, store, now=LATER, at_once=True)
            assert said.startswith("Another process is sending just now")  # not that nothing has changed
        for until in (time.time() - 1, time.time() + 1e6):  # the latter by a clock that was ahead
            store.folder.write_json(telling._LOCK, {"owner": "somebody who was killed", "until": until})
            store.folder.write_json(telling.TOLD, {})
            assert len(send_news(project, store, now=LATER)) == 1
    assert not store.folder.exists(telling._LOCK)


def quick(seconds: float) -> None:
    """No pause between tries."""


@pytest.mark.parametrize(
    ("codes", "tries", "arrives"),
    [
        ((200,), 1, True),
        ((204,), 1, True),
        ((500, 503, 200), 3, True),
        ((500,), 4, False),
        ((429, 200), 2, True),
        ((400,), 1, False),
        ((404,), 1, False),
    ],
)
def test_a_webhook_is_tried_again_where_that_may_help(codes: tuple[int, ...], tries: int, arrives: bool) -> None:
    with hook(*codes) as server:
        if arrives:
            post(trial_message(), server.url, SECRET, 30, quick)
        else:
            with pytest.raises(NotSentError, match=f"it answered {codes[-1]}"):
                post(trial_message(), server.url, SECRET, 30, quick)
    assert len(server.got) == tries
    assert len({headers["X-Assay-Delivery"] for headers, _ in server.got}) == 1


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["file:///etc/passwd", "gopher://127.0.0.1/", "http://127.0.0.1:9/elsewhere", "/here"])
def test_a_redirect_is_followed_nowhere(code: int, to: str) -> None:
    refused = pytest.raises(NotSentError, match=rf"redirect \({code}\), and none is followed")
    with hook(code, location=to) as server, refused:
        post(trial_message(), server.url, SECRET, 5, quick)
    assert len(server.got) == 1


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/y", "https://", "no address", "http://a b/", "http://x:99999/"]
)
def test_what_is_no_address_on_the_web_is_not_opened(url: str) -> None:
    with pytest.raises(NotSentError, match="holds no address"):
        post(trial_message(), url, SECRET, 5, quick)


def everything_below(folder: Path) -> bytes:
    return b"\0".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


@pytest.mark.parametrize("how", ["refused", "slow", "dripping", "errors", "redirect", "not set", "good"])
def test_the_night_is_untouched_and_no_secret_is_written(
    how: str,
    store: Store,
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("DEBUG")
    record = night(store, 0, status="gate failed")
    before = (Path(store.url) / "runs" / f"{record.id}.json").read_bytes()
    heard: list[str] = []
    webhook = replace_seconds(project, 2.0)
    code, elsewhere = {"errors": 500, "redirect": 302}.get(how, 200), "file:///etc/passwd" if how == "redirect" else ""
    with hook(code, slow=how == "slow", dripping=how == "dripping", location=elsewhere) as server:
        url = {"refused": refused_url(), "not set": ""}.get(how, server.url)
        monkeypatch.setenv("HOOK_URL", url)
        monkeypatch.setenv("APPRISE_URLS", url.replace("http://", "json://user:T0PSECRET@"))
        began = time.monotonic()
        leave_traces(webhook, store, record, heard.append)
        assert time.monotonic() - began < 12
    assert (Path(store.url) / "runs" / f"{record.id}.json").read_bytes() == before
    assert len(heard) == 2
    assert [sentence.startswith("Told by") for sentence in heard] == [how == "good"] * 2
    shown = [*heard, caplog.text, *capfd.readouterr()]
    written = everything_below(tmp_path) + "".join(shown).encode()
    for secret in (SECRET, "T0PSECRET", "/in/"):
        assert secret.encode() not in written


def replace_seconds(project: Project, seconds: float) -> Project:
    """The project with a short patience, and with Apprise."""
    notify = Notify(
        webhook=Webhook(url_from="HOOK_URL", secret_from="HOOK_SECRET", seconds=seconds),
        apprise=Services(url_from="APPRISE_URLS", seconds=seconds),
    )
    return replace(project, settings=ProjectFile(notify=notify, pipelines={}))


def test_apprise_gets_the_same_text(store: Store, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    night(store, 0, status="broken", accuracy=None, worst="the disk is full")
    with hook() as server:
        monkeypatch.setenv("APPRISE_URLS", server.url.replace("http://", "json://"))
        notify = Notify(apprise=Services(url_from="APPRISE_URLS"))
        services = replace(project, settings=ProjectFile(notify=notify, pipelines={}))
        assert send_news(services, store, now=LATER) == ["Told by apprise: digits broken"]
    [body] = bodies(server.got)
    assert (body["title"], body["message"]) == ("Assay: digits broken", "digits broken: the disk is full")


def test_of_two_notifiers_only_the_one_that_failed_is_tried_again(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(store, 0, status="gate failed")
    both = replace_seconds(project, 5.0)
    with hook() as good, hook(500) as bad:
        monkeypatch.setenv("HOOK_URL", good.url)
        monkeypatch.setenv("APPRISE_URLS", bad.url.replace("http://", "json://"))
        send_news(both, store, now=LATER)
        failed = len(bad.got)
        send_news(both, store, now=LATER + timedelta(hours=2))
    assert len(good.got) == 1
    assert len(bad.got) > failed


def test_runs_that_are_served_or_stopped_leave_messages_to_others(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = night(store, 0, status="gate failed")
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        leave_traces(project, store, record, print, stopped=True)
        monkeypatch.setenv(SERVED, "1")
        leave_traces(project, store, record, print)
    assert server.got == []


CONFIG = "pipelines: {digits: {source: {dataset: sample/digits}}}\n"


@pytest.fixture
def asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    monkeypatch.chdir(tmp_path)

    def ask(notify: str, *arguments: str) -> tuple[int, str]:
        Path("pipelines.yaml").write_text(f"{notify}{CONFIG}")
        code = answer(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return ask


def test_a_test_message_says_whether_it_arrived(store: Store, asked: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    notify = "notify: {webhook: {url_from: HOOK_URL, secret_from: HOOK_SECRET}}\n"
    with hook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        assert asked(notify, "notify", "--test") == (0, "webhook: delivered\n")
        [body] = bodies(server.got)
        assert body["test"] is True
        night(store, 0, status="gate failed")
        assert asked(notify, "notify") == (0, "Told by webhook: digits red\n")
        assert asked(notify, "notify") == (0, "Nothing has changed since the last message.\n")
    monkeypatch.delenv("HOOK_URL")
    code, complaint = asked(notify, "notify", "--test")
    assert code == 3
    assert "the environment variable HOOK_URL is not set" in complaint
    assert asked("", "notify", "--test")[0] == 2


@pytest.mark.parametrize(
    ("notify", "expected"),
    [
        ("notify: {webhok: {url_from: A, secret_from: B}}\n", "notify.webhok — unknown key; did you mean webhook?"),
        ("notify: {}\n", "nobody would hear"),
        ("notify:\n  webhook: {url_from: https://x/T0PSECRET, secret_from: B}\n", "yaml:2: notify.webhook.url_from"),
        ("notify: {webhook: {url_from: A}}\n", "notify.webhook.secret_from"),
        ("notify: {apprise: mailto://me:T0PSECRET@x.example}\n", "notify.apprise"),
        ("prometheus: metrics.txt\n", "pipelines.yaml:1: prometheus"),
    ],
)
def test_wrong_settings_are_a_sentence_with_a_line_and_without_the_secret(
    notify: str, expected: str, asked: Asking
) -> None:
    code, complaint = asked(notify, "check")
    assert code == 2
    assert expected in complaint
    assert "T0PSECRET" not in complaint


SMS = """
from pydantic import Field

from assay.flows.notifiers.choice import NotifierChoice, NotifierSettings, NotSentError


class Sms(NotifierSettings):
    \"\"\"A file in place of a telephone.\"\"\"

    file: str = Field(examples=["sms.txt"])
    \"\"\"Where messages go.\"\"\"


def send(message, sms):
    if message.test and sms.file == "nowhere":
        raise NotSentError("there is no such number")
    with open(sms.file, "a") as file:
        file.write(message.title)


SMS = NotifierChoice("sms", Sms, send, "{file: sms.txt}")
"""


@pytest.mark.parametrize(("file", "becomes"), [("sms.txt", "sms: delivered"), ("nowhere", "there is no such number")])
def test_a_notifier_of_ones_own_is_named_as_module_and_object(
    file: str, becomes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sms.py").write_text(SMS)
    notify = f'notify: {{"sms.py:SMS": {{file: {file}}}}}'
    (tmp_path / "pipelines.yaml").write_text(f"{notify}\npipelines: {{}}\n")
    assert answer(["notify", "--test"]) == (0 if "delivered" in becomes else 3)
    heard = capsys.readouterr()
    assert becomes in heard.out + heard.err
    assert answer(["check", "--plugin", "sms.py:SMS"]) == 0
    (tmp_path / "pipelines.yaml").write_text(f"{notify.replace('file', 'fiel')}\npipelines: {{}}\n")
    assert answer(["check"]) == 2
    assert "fiel — unknown key; did you mean file?" in capsys.readouterr().err
