"""A model behind HTTP is asked in batches and for nothing twice, and what is wrong with its answers is one sentence."""

from __future__ import annotations

import json
import pickle
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from model_server import ModelServer

from assay.infra.errors import InputError
from assay.infra.storage.store import Store
from assay.tasks.subjects.addresses.client import Answer, Client, _refusal
from assay.tasks.subjects.addresses.forms import Instances, KServe
from assay.tasks.subjects.addresses.given import Asking
from assay.tasks.subjects.own_models import predict_with_own
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.model import OwnTextModel

ROWS = 70


def read_json(answer: Answer) -> Any:
    return answer.json("It")


def table(rows: int = ROWS) -> pa.Table:
    """Rows no two of which are alike."""
    ids = [f"s{at:03d}" for at in range(rows)]
    links = [at / 1000 for at in range(rows)]
    return pa.table({"id": ids, "links": links, "begs": [at % 2 for at in range(rows)], "gold": [0] * rows})


def endpoint(url: str, features: tuple[str, ...] | None = ("links", "begs"), **asking: Any) -> ResolvedSubject:
    options = {"retries": 0, "timeout": 5.0} | asking
    return resolve_subject(Subject(model=url, features=features, asking=Asking(**options)), Path())


def ask(subject: ResolvedSubject, rows: int = ROWS) -> np.ndarray:
    assert subject.code is not None
    answered = predict_with_own(
        table(rows), code=subject.code, weights=None, features=subject.settings.features, classes=("ham", "spam")
    )
    return np.array(answered["probabilities"].to_pylist())


def ask_and_break_off(subject: ResolvedSubject) -> None:
    ask(subject)
    raise InputError("the machine goes down")


def expected(rows: int = ROWS, links: float = 0.4) -> np.ndarray:
    spam = np.array([0.1 + links * at / 1000 + 0.4 * (at % 2) for at in range(rows)])
    return np.stack([1 - spam, spam], axis=1)


@pytest.mark.parametrize(
    ("path", "asking"),
    [
        ("/ok/predict", {}),
        ("/ok/predict", {"rows": "listed"}),
        ("/alone/predict", {}),
        ("/ok/v2/models/spam", {}),
        ("/ok/v2/models/spam/infer", {}),
        ("/ok/spam", {"form": "kserve"}),
    ],
)
def test_every_form_gives_the_same_answers_in_batches(server: ModelServer, path: str, asking: dict[str, Any]) -> None:
    assert ask(endpoint(server.url + path, batch=32, **asking)) == pytest.approx(expected(), abs=1e-12)
    assert [one["samples"] for one in server.asked()] == [32, 32, 6]


def test_texts_are_asked_about_in_both_forms(server: ModelServer) -> None:
    for path in ("/ok/predict", "/ok/v2/models/reader"):
        subject = resolve_subject(Subject(classifier=server.url + path), Path())
        assert subject.code is not None
        said = OwnTextModel(subject.code, 2).probabilities(["http://win", "a song", "please subscribe http"])
        assert said[:, 1] == pytest.approx([0.5, 0.1, 0.9])


def test_what_may_help_is_asked_again_and_longer_waited_for_each_time(server: ModelServer) -> None:
    waits: list[float] = []
    client = Client(f"{server.url}/flaky/predict", Asking(retries=2), wait=waits.append)
    body = {"instances": [{"links": 0, "begs": 1}]}
    assert client.post(body, read_json) == {"predictions": [[0.5, 0.5]]}
    assert waits == [0.5, 1.0]
    waits.clear()
    with pytest.raises(InputError, match=r"answered 503 when asked 6 times: start it, or correct the address"):
        Client(f"{server.url}/down/predict", Asking(retries=5), wait=waits.append).post(body, read_json)
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize("path", ["/slow/predict", "/drip/predict"])
def test_an_answer_that_takes_too_long_is_not_waited_for(server: ModelServer, path: str) -> None:
    with pytest.raises(InputError, match=r"did not answer \(nothing within 0.5 s\)"):
        ask(endpoint(server.url + path, timeout=0.5), 3)


def test_a_service_that_is_not_there_is_told_in_a_sentence() -> None:
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        subject = endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}/predict")
        with pytest.raises(InputError, match=r"did not answer \(Connection refused\): start it, or correct the addr"):
            ask(subject, 3)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/nan/predict", r"returned \[nan, 1.0\] for sample 's000': expected probabilities, finite"),
        ("/null/predict", r"returned \[nan, 1.0\] for sample 's000': expected probabilities, finite"),
        ("/missing-row/predict", "answered with 2 rows for 3 samples"),
        ("/ragged/predict", "answered with rows of different shapes"),
        ("/three/predict", r"returned the shape \[3, 3\] for 3 samples, expected one row per sample"),
        ("/words/predict", "answered with rows of different shapes"),
        ("/beyond/predict", r"returned \[2.0, -1.0\] for sample 's000': expected probabilities"),
        ("/nothing/predict", 'answered NoneType, expected {"predictions": '),
        ("/text/predict", "answered with something that is no JSON"),
        ("/redirected/predict", "sends whoever asks it on to file://, and Assay follows nobody elsewhere"),
        ("/elsewhere/predict", "sends whoever asks it on to http://127.0.0.2, and Assay follows nobody elsewhere"),
        ("/closed/predict", r"does not let Assay in \(401\): name the environment variable"),
        ("/two-outputs/v2/models/spam", "has 2 outputs; say which holds the probabilities with `asking.output`"),
        ("/drifting/v2/models/spam", "answers as version 2 now, and the run began with 1: run again"),
    ],
)
def test_a_wrong_answer_is_refused_in_a_sentence(server: ModelServer, path: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        ask(endpoint(server.url + path), 3)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/two-tensors/v2/models/spam", r"takes 2 tensors \(a, b\), and Assay sends one"),
        ("/no-model/v2/models/spam", "does not say what it has there as KServe does"),
    ],
)
def test_what_kserve_has_there_is_asked_before_anything_runs(server: ModelServer, path: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        endpoint(server.url + path)


LONG = "x" * 800_000
HOSTILE = {
    "lists by the million": (Instances(""), b"[" + b"[]," * 200_000 + b"[]]", "more than 100,000 lists and objects"),
    "numbers of 400 digits": (Instances(""), b"[[" + b"9" * 400 + b", 0], [1, 0]]", "a number of more digits"),
    "numbers of 5000 digits": (Instances(""), b"[[" + b"9" * 5000 + b", 0], [1, 0]]", "something that is no JSON"),
    "brackets by the thousand": (Instances(""), b"[" * 50_000, "something that is no JSON"),
    "a long type": (Instances(""), b"x", "no JSON .x{80}…"),
    "an output without fields": (KServe(""), b'{"outputs": [{"name": "p"}]}', "the output 'p' without `shape`"),
    "an output without data": (KServe(""), b'{"outputs": [{"name": "p", "shape": [2, 2]}]}', "'p' without `data`"),
    "data that is a word": (
        KServe(""),
        b'{"outputs": [{"name": "p", "shape": [2, 2], "data": "word"}]}',
        "whose `data` is word and no list",
    ),
    "a long shape": (
        KServe(""),
        json.dumps({"outputs": [{"name": "p", "shape": [LONG, 2], "data": [1, 0, 1, 0]}]}).encode(),
        "with the shape .*… for 2 samples",
    ),
    "mixed data": (KServe(""), b'{"outputs": [{"name": "p", "shape": [2, 2], "data": [[1, 0], 1, 0]}]}', ""),
    "a long version": (
        KServe("", version="1"),
        json.dumps({"model_version": LONG, "outputs": []}).encode(),
        "answers as version x{80}… now",
    ),
    "long names": (
        KServe(""),
        json.dumps({"outputs": [{"name": LONG}, {"name": "p"}]}).encode(),
        "has 2 outputs; say which .*: x{80}…",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_is_quoted_within_bounds(name: str) -> None:
    form, body, sentence = HOSTILE[name]
    if not sentence:
        assert form.rows(Answer(body, {}).json("It"), 2, "It") == [[1, 0], [1, 0]]
        return
    with pytest.raises(InputError, match=sentence) as refused:
        form.rows(Answer(body, {"content-type": LONG}).json("It"), 2, "It")
    assert len(str(refused.value)) < 400


def test_a_redirection_to_no_address_is_a_sentence() -> None:
    assert _refusal(302, {"location": "http://[::1"}).startswith("sends whoever asks it on to another place")


def test_secrets_are_names_of_variables(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url, headers = f"{server.url}/closed/predict", {"Authorization": "SPAM_AUTHORIZATION"}
    monkeypatch.delenv("SPAM_AUTHORIZATION", raising=False)
    with pytest.raises(InputError, match="the environment variable SPAM_AUTHORIZATION is not set"):
        endpoint(url, headers=headers)
    monkeypatch.setenv("SPAM_AUTHORIZATION", "Bearer right")
    subject = endpoint(url, headers=headers)
    assert ask(subject, 3) == pytest.approx(expected(3))
    assert "right" not in repr(subject)
    with pytest.raises(ValueError, match=r"headers\.Authorization"):
        Asking(headers={"Authorization": "Bearer right"})
    with pytest.raises(InputError, match="has a name or password in its address"):
        endpoint("http://me:right@127.0.0.1:1/predict")
    with pytest.raises(InputError, match="has api_key in its address") as raised:
        endpoint("http://127.0.0.1:1/predict?tenant=a&api_key=right")
    assert "right" not in str(raised.value)


@pytest.mark.parametrize("token", ["Bearer right\n", "  Bearer right\r\n\n"])
def test_white_space_around_a_secret_is_left_out(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("SPAM_AUTHORIZATION", token)
    subject = endpoint(f"{server.url}/closed/predict", headers={"Authorization": "SPAM_AUTHORIZATION"})
    assert ask(subject, 3) == pytest.approx(expected(3))


def test_columns_leave_only_by_name(server: ModelServer) -> None:
    with pytest.raises(InputError, match=r"/ok/predict\" needs `features`: the columns it reads"):
        endpoint(f"{server.url}/ok/predict", features=None)
    with pytest.raises(InputError, match="The samples have no feature 'link'"):
        ask(endpoint(f"{server.url}/ok/predict", features=("link",)), 3)
    ask(endpoint(f"{server.url}/ok/predict"), 3)
    assert server.samples() == 3


def test_no_more_is_asked_than_a_run_may(server: ModelServer, make_run: Any) -> None:
    with make_run(), pytest.raises(InputError, match=r"was asked 2 times in this run, as often as `asking.requests`"):
        ask(endpoint(f"{server.url}/ok/predict", batch=10, requests=2))
    assert [one["samples"] for one in server.asked()] == [10, 10]
    with make_run(), pytest.raises(InputError, match=r"as often as `asking.cost` allows"):
        ask(endpoint(f"{server.url}/ok/v2/models/spam", batch=10, price=0.1, cost=0.3))
    # Of three requests one asked what KServe has there, when the run began to ask.
    assert [one["samples"] for one in server.asked()][2:] == [10, 10]


def test_requests_are_no_nearer_to_each_other_than_the_rate(server: ModelServer, make_run: Any) -> None:
    with make_run():
        ask(endpoint(f"{server.url}/ok/predict", batch=10, rate=10))
    sent = [one["at"] for one in server.asked()]
    assert len(sent) == 7
    assert sent[-1] - sent[0] >= 0.55


def test_a_run_that_goes_on_with_one_that_broke_asks_nothing_twice(server: ModelServer, make_run: Any) -> None:
    url = f"{server.url}/versioned/predict"
    with make_run(), pytest.raises(InputError, match="was asked 5 times"):
        ask(endpoint(url, batch=10, requests=5, version_header="X-Model-Version"))
    told = server.samples()
    with make_run():
        assert ask(endpoint(url, batch=10, version_header="X-Model-Version")) == pytest.approx(expected())
    assert told + 0 < server.samples() == ROWS
    server.serves(version="2", links=0.2)
    with make_run():
        assert ask(endpoint(url, version_header="X-Model-Version")) == pytest.approx(expected(links=0.2))
    assert server.samples() == 2 * ROWS


def test_a_version_that_changes_while_a_run_asks_is_noticed(server: ModelServer) -> None:
    for path, asking in (("/versioned/predict", {"version_header": "X-Model-Version"}), ("/ok/v2/models/spam", {})):
        server.serves()
        before = endpoint(server.url + path, **asking)
        ask(before, 3)
        server.serves(version="2")
        with pytest.raises(InputError, match="answers as version 2 now, and the run began with 1: run again"):
            ask(before)
        begun_earlier = pickle.loads(pickle.dumps(before))  # as a worker gets it that has not asked before
        object.__setattr__(begun_earlier.code, "run", "another process")
        with pytest.raises(InputError, match="answers as version 2 now, and the run began with 1: run again"):
            ask(begun_earlier)


def test_a_service_without_a_version_is_asked_anew_unless_the_run_before_broke(
    server: ModelServer, make_run: Any
) -> None:
    url = f"{server.url}/ok/predict"
    with pytest.raises(InputError, match="goes down"), make_run():
        ask_and_break_off(endpoint(url))
    with make_run() as run:
        ask(endpoint(url))
        run.record.status = "done"
    assert server.samples() == ROWS + 8  # those by which a changed model is noticed
    with make_run() as run:
        ask(endpoint(url))
        run.record.status = "done"
    assert server.samples() == 2 * ROWS + 8


def test_a_service_that_changed_since_a_run_broke_off_is_noticed(server: ModelServer, make_run: Any) -> None:
    url = f"{server.url}/ok/predict"
    with pytest.raises(InputError, match="goes down"), make_run():
        ask_and_break_off(endpoint(url))
    server.serves(begs=0.3)
    with make_run(), pytest.raises(InputError, match="answers otherwise than it did in the run that broke off"):
        ask(endpoint(url))
    with make_run(fresh=True):
        ask(endpoint(url))


def test_a_clean_up_takes_the_answers_that_no_run_stands_on(server: ModelServer, make_run: Any, tmp_path: Path) -> None:
    from assay.infra.storage.sweep import clean

    with make_run() as run:
        run.ingredients.count_from(tmp_path)
        ask(endpoint(f"{server.url}/ok/predict", requests=9))
        run.record.status = "done"
    store = Store(str(tmp_path / "store"))
    assert len(store.folder.folders("answers")) == len(store.folder.folders("turns")) == 1
    clean(store, keep=1)
    assert (len(store.folder.folders("answers")), len(store.folder.folders("turns"))) == (1, 0)
    clean(store, keep=0)
    assert store.folder.folders("answers") == []
