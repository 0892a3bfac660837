"""A model that answers in words is asked with a prompt, read strictly, and what is no answer is counted as one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import ChatServer, chat_server

from assay.infra.errors import InputError
from assay.infra.storage.store import asked_in
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.subjects.addresses.chat import Reply, UnreadableReplyError, class_named, read_reply, reply_in
from assay.tasks.subjects.addresses.client import secret_headers
from assay.tasks.subjects.addresses.endpoint import counts_of, open_endpoint
from assay.tasks.subjects.addresses.given import Asking
from assay.tasks.subjects.addresses.services import answers_in_words, asked_services, service_findings, services_page
from assay.tasks.subjects.predictions import answered_classes
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.model import OwnTextModel

TEXTS = [f"{'see http://win' if at % 2 else 'a nice song'} number {at}" for at in range(40)]
SPAM = np.array([at % 2 for at in range(40)])
ASKING = {"model": "scripted", "prompt": "prompt.txt", "answers": {"spam": ("junk",), "ham": ()}, "retries": 3}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    with chat_server(tmp_path_factory.mktemp("chat")) as started:
        yield started


@pytest.fixture(autouse=True)
def prompt(tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("assay.tasks.subjects.addresses.client._FIRST_WAIT", 0.01)
    (tmp_path / "prompt.txt").write_text('Is it spam or ham? Answer with {"one": "word"}.\nText: {text}')
    server.serves()
    return tmp_path


def chat(url: str, beside: Path, **asking: Any) -> ResolvedSubject:
    return resolve_subject(Subject(classifier=url, asking=Asking(**ASKING | asking)), beside)


def ask(subject: ResolvedSubject, texts: list[str] = TEXTS) -> np.ndarray:
    assert subject.code is not None
    return OwnTextModel(subject.code, 2, names=("ham", "spam")).probabilities(texts)


@pytest.mark.parametrize("how", ["ok", "busy", "garbage", "latin", "cut"])
def test_every_text_is_answered_whatever_the_server_does_now_and_then(
    server: ChatServer, prompt: Path, how: str
) -> None:
    assert answered_classes(ask(chat(server.at(how), prompt))).tolist() == SPAM.tolist()
    asked = server.asked()[0]["asked"]
    assert asked["messages"][0]["content"].endswith("Text: a nice song number 0")
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("scripted", 0, 16)


def test_many_are_asked_at_once_and_answers_stay_with_their_texts(server: ChatServer, prompt: Path) -> None:
    server.serves(seconds=0.05)
    said = ask(chat(server.at(), prompt, at_once=20), TEXTS * 2)
    assert 1 < max(each["under_way"] for each in server.asked()) <= 20
    assert answered_classes(said).tolist() == [*SPAM, *SPAM]
    assert len(server.asked()) == 40


def test_answers_that_name_no_class_are_wrong_and_told_with_examples(
    server: ChatServer, prompt: Path, make_run: Any
) -> None:
    with make_run() as run:
        said = answered_classes(ask(chat(server.at("mixed"), prompt)))
        counts = asked_in(run.store.folder, counts_of(run.id, server.at("mixed"), Asking(**ASKING)))
    none = np.arange(40) % 10 < 3
    assert said.tolist() == np.where(none, 2, SPAM).tolist()
    findings = answers_in_words(counts, "it", masked=False)
    shares = {each.metric: (each.value, each.n, each.verdict) for each in findings[:3]}
    assert shares == {
        "services.unparsed": (0.1, 40, "such as \u201cI think it might be spam\u201d"),
        "services.refused": (0.1, 40, "such as \u201cI'm sorry, I cannot help with that.\u201d"),
        "services.truncated": (0.1, 40, "such as \u201cThe text is\u201d"),
    }
    assert (findings[3].value, findings[3].verdict) == (1, "scripted fp_1")
    assert [each.value for each in findings[4:]] == [4000, 80]
    words = [block.text for block in services_page(FindingIndex(findings), ["m"]).blocks]  # type: ignore[union-attr]
    assert words[0].startswith("m answers in words without log probabilities, so nothing is said of AUC")
    assert "of the answers of it are refusals, such as \u201cI'm sorry" in words[2]
    assert not any(each.verdict for each in answers_in_words(counts, "it", masked=True)[:3])


def test_a_text_that_the_server_will_not_read_is_a_refusal_of_that_text_alone(server: ChatServer, prompt: Path) -> None:
    said = answered_classes(ask(chat(server.at("long"), prompt)))
    assert np.flatnonzero(said == 2).tolist() == [7]
    with pytest.raises(InputError, match="refuses what it is asked"):  # of nothing but refusals the settings are wrong
        ask(chat(server.at("long"), prompt, model="another"), [TEXTS[7]])


def test_the_first_text_may_be_refused_as_any_other(server: ChatServer, prompt: Path, make_run: Any) -> None:
    with make_run():
        for time in range(2):  # each of them has not heard an answer yet
            subject = chat(server.at("screened"), prompt, at_once=1 + 3 * time)
            assert answered_classes(ask(subject, TEXTS[1:])).tolist() == [2 if spam else 0 for spam in SPAM[1:]]
        another = chat(server.at("screened"), prompt, read="first-token")  # whose server answers others in this run
        assert answered_classes(ask(another, TEXTS[1:2])).tolist() == [2]


def test_a_server_that_refuses_everything_ends_the_run_soon_and_is_believed_no_refusal(
    server: ChatServer, prompt: Path, make_run: Any
) -> None:
    with make_run():
        with pytest.raises(InputError, match=r"refuses what it is asked \(HTTP 400\), whatever the text"):
            ask(chat(server.at("closed"), prompt), [f"a song number {at}" for at in range(1000)])
        assert len(server.asked()) == 32
        with pytest.raises(InputError, match="refuses what it is asked"):
            ask(chat(server.at("closed"), prompt), ["a song number 0"])


@pytest.mark.parametrize("form", ["chat/completions", "completions"])
def test_probabilities_come_from_log_probabilities_alone(server: ChatServer, prompt: Path, form: str) -> None:
    url = server.at("ok", form)
    sure, chances = chat(url, prompt), chat(url, prompt, logprobs=True)
    assert not sure.gives_chances
    assert chances.gives_chances
    assert set(ask(sure).ravel()) == {0.0, 1.0}
    assert ask(chances)[1] == pytest.approx([2 / 9, 7 / 9])


@pytest.mark.parametrize(
    ("read", "text", "named"),
    [
        ("label", "**Spam**", "spam"),
        ("label", "spam, surely", None),
        ("label", "spam ham", None),
        ("first-token", "Ham, surely", "ham"),
        ("first-token", "It is ham", None),
        ("json", '{"label": "junk"}', "spam"),
        ("json", '```json\n{"class": "ham"}\n```', "ham"),
        ("json", "ham", None),
        ("json", '{"label": "ham", "answer": "spam"}', None),
        ("json", "[" * 50_000, None),
        ("json", '{"label": ["ham"]}', None),
    ],
)
def test_answers_are_read_strictly(read: str, text: str, named: str | None) -> None:
    assert class_named(text, Asking(form="chat", **ASKING | {"read": read})) == named


@pytest.mark.parametrize("answer", ["other (neutral)", "Other (neutral).", "**other (neutral)**", "n/a?"])
def test_a_class_may_have_marks_in_its_name(answer: str) -> None:
    asking = Asking(form="chat", **ASKING | {"answers": {"other (neutral)": ("N/A?",), "spam": ()}})
    assert class_named(answer, asking) == "other (neutral)"


def test_what_is_cut_short_is_no_answer_even_where_it_begins_like_one() -> None:
    whole = Asking(form="chat", **ASKING)
    assert read_reply(Reply("spam", "length"), whole) == {"why": "truncated", "text": "spam"}
    assert read_reply(Reply("spam", "length"), whole.model_copy(update={"read": "first-token"})) == [1.0, 0.0]
    assert read_reply(Reply("", refused=True), whole) == {"why": "refused", "text": ""}


def test_log_probabilities_are_read_in_each_server_s_form() -> None:
    logprobs = {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "A", "logprob": -0.1}]}]}
    assert reply_in({"choices": [{"text": "A", "logprobs": logprobs}]}, "It").first == {"A": -0.1}  # llama.cpp
    assert reply_in({"choices": [{"text": "A", "logprobs": {"top_logprobs": [{"A": -0.1}]}}]}, "It").first == {
        "A": -0.1
    }


def test_everything_that_changes_answers_changes_the_key(server: ChatServer, prompt: Path, make_run: Any) -> None:
    with make_run():
        first = chat(server.at(), prompt).fingerprint
        assert chat(server.at(), prompt, at_once=4, retries=1).fingerprint == first
        others = {
            chat(server.at(), prompt, **changed).fingerprint
            for changed in (
                {"model": "another"},
                {"answers": {"spam": (), "ham": ()}},
                {"read": "json"},
                {"parameters": {"seed": 1}},
                {"logprobs": True},
            )
        }
        (prompt / "prompt.txt").rename(prompt / "moved.txt")
        assert chat(server.at(), prompt, prompt="moved.txt").fingerprint == first
        (prompt / "prompt.txt").write_text("Spam? {text}")
        others.add(chat(server.at(), prompt).fingerprint)
    assert len(others - {first}) == 6


def test_examples_go_before_in_a_list_of_messages(server: ChatServer, prompt: Path) -> None:
    (prompt / "few.yaml").write_text(
        "- {role: system, content: Spam or ham}\n- {role: user, content: win}\n- {role: assistant, content: spam}\n"
        "- {role: user, content: 'Text: {text}'}\n"
    )
    assert answered_classes(ask(chat(server.at(), prompt, prompt="few.yaml"))).tolist() == SPAM.tolist()
    roles = [message["role"] for message in server.asked()[0]["asked"]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


def test_a_budget_in_tokens_ends_in_order_and_what_was_answered_is_kept(
    server: ChatServer, prompt: Path, make_run: Any
) -> None:
    price = {"input": 10, "output": 0}  # a question costs 0.001
    with make_run(), pytest.raises(InputError, match=r"has cost 0\.01 in this run, as much as `asking\.cost` allows"):
        ask(chat(server.at(), prompt, price=price, cost=0.01))
    assert len(server.asked()) == 10
    with make_run():
        assert answered_classes(ask(chat(server.at(), prompt))).tolist() == SPAM.tolist()
    assert len(server.asked()) <= 40 + 8  # those that hold what was said before against what is said now
    with pytest.raises(InputError, match="does not say how many tokens it used"):
        ask(chat(server.at("uncounted"), prompt, price=price))


def test_answers_under_way_when_the_budget_ends_are_kept_as_well(
    server: ChatServer, prompt: Path, make_run: Any
) -> None:
    server.serves(seconds=0.05)
    price = {"input": 10, "output": 0}
    with make_run(), pytest.raises(InputError, match=r"has cost 0\.01 in this run"):
        ask(chat(server.at(), prompt, price=price, cost=0.01, at_once=8))
    paid = len(server.asked())
    assert paid > 10
    with make_run():
        assert answered_classes(ask(chat(server.at(), prompt, batch=1))).tolist() == SPAM.tolist()
    assert len(server.asked()) <= 40 + 1  # the one that is held against what it said before


def test_tokens_have_a_price() -> None:
    asking = Asking(form="chat", **ASKING | {"price": {"input": 0.15, "output": 0.6}})
    assert asking.spent(Counter(tokens_in=2_000_000, tokens_out=500_000)) == pytest.approx(0.6)
    assert Asking(price=0.5).spent(Counter(requests=3)) == 1.5


@pytest.mark.parametrize(
    ("asking", "told"),
    [
        ({"model": None}, "needs `model`"),
        ({"answers": None}, "needs `answers`"),
        ({"answers": {"spam": ("ham",), "ham": ()}}, "gives 'ham' to more than one class"),
        ({"form": "kserve"}, "is about models that answer in words"),
        ({"parameters": {"temperature": math.nan}}, "`parameters` are sent as JSON, which cannot hold one of them"),
        ({"parameters": {"since": date(2026, 11, 25)}}, "which cannot hold one of them .*date is not JSON"),
        ({"answers": {"spam": ("",), "ham": ()}}, "a word of nothing but blanks and marks"),
        ({"answers": {"spam": ("?!",), "ham": ()}}, "a word of nothing but blanks and marks"),
        ({"answers": {"other (neutral)": (), "Other (neutral": ()}}, "to more than one class"),
    ],
)
def test_settings_that_cannot_be_are_refused(asking: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Asking(**{"form": "chat"} | ASKING | asking)


@pytest.mark.parametrize(
    ("written", "told"),
    [("Spam?", r"has no \{text\}"), (None, "There is no file"), (b"\xff{text}", "neither UTF-8 text nor a list")],
)
def test_a_prompt_that_asks_nothing_is_refused_before_anything_runs(
    server: ChatServer, prompt: Path, written: str | bytes | None, told: str
) -> None:
    (prompt / "prompt.txt").unlink()
    if written is not None:
        (prompt / "prompt.txt").write_bytes(written if isinstance(written, bytes) else written.encode())
    with pytest.raises(InputError, match=told):
        chat(server.at(), prompt)
    with pytest.raises(InputError, match="say under `asking` which `model` is asked"):
        resolve_subject(Subject(classifier=server.at()), prompt)


def test_the_key_of_the_service_is_nowhere(
    server: ChatServer, prompt: Path, make_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.serves(key="Bearer sk-very-secret")
    monkeypatch.setenv("CHAT_KEY", "Bearer sk-very-secret")
    with make_run():
        ask(chat(server.at(), prompt, headers={"Authorization": "CHAT_KEY"}))
    monkeypatch.setenv("CHAT_KEY", "Bearer sk-wrong-secret")
    with make_run(fresh=True), pytest.raises(InputError, match=r"does not let Assay in \(401\)") as refused:
        ask(chat(server.at(), prompt, headers={"Authorization": "CHAT_KEY"}), ["new"])
    assert "secret" not in str(refused.value)
    written = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert written
    assert not any(b"secret" in content for content in written)


def test_a_token_that_begins_several_names_goes_on_as_the_answer_did() -> None:
    asking = Asking(form="chat", **ASKING | {"answers": {"1": (), "10": ()}, "logprobs": True})
    told = read_reply(Reply("1", first={"1": math.log(0.9), "10": math.log(0.1)}), asking)
    assert told == pytest.approx([0.9, 0.1])
    assert read_reply(Reply("10", first={"1": math.log(0.9)}), asking) == [0.0, 1.0]


@pytest.mark.parametrize("value", [0.7, math.inf, 1000.0])
def test_what_is_no_log_probability_is_no_probability(value: float) -> None:
    with pytest.raises(UnreadableReplyError):
        reply_in({"choices": [{"text": "A", "logprobs": {"top_logprobs": [{"A": value}]}}]}, "It")


def test_an_endless_count_of_tokens_is_no_reply() -> None:
    with pytest.raises(UnreadableReplyError):
        reply_in({"choices": [{"text": "A"}], "usage": {"prompt_tokens": math.inf}}, "It")


def test_log_probabilities_are_refused_where_the_first_token_is_a_brace() -> None:
    with pytest.raises(ValueError, match="names no class"):
        Asking(form="chat", **ASKING | {"logprobs": True, "read": "json"})


def test_an_answer_of_blanks_takes_no_longer_than_another() -> None:
    import time

    began = time.process_time()
    assert class_named("```" + " " * 3000, Asking(form="chat", **ASKING | {"read": "json"})) is None
    assert time.process_time() - began < 5.0


def test_of_an_answer_that_is_none_no_secret_is_kept_and_no_more_than_is_read(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_AUTHORIZATION", "Bearer sk-abcdefgh12345678")
    secret_headers(Asking(headers={"Authorization": "CHAT_AUTHORIZATION"}), server.at())
    reply = reply_in({"choices": [{"text": "Bearer sk-abcdefgh12345678 \ud83d" + "x" * 100_000}]}, "It")
    told = read_reply(reply, Asking(form="chat", **ASKING))
    assert isinstance(told, dict)
    assert "sk-abcdefgh12345678" not in told["text"]
    assert len(told["text"].encode()) < 10_100


def test_two_models_at_one_address_have_their_own_prices(server: ChatServer, prompt: Path, make_run: Any) -> None:
    prices = {"small": {"input": 1.0, "output": 0.0}, "large": {"input": 10.0, "output": 0.0}}
    asking = {name: Asking(**ASKING | {"model": name, "price": price}) for name, price in prices.items()}
    with make_run() as run:
        for name, price in prices.items():
            ask(chat(server.at(), prompt, model=name, price=price), TEXTS[:10])
        subjects = [Subject(classifier=server.at(), asking=each) for each in asking.values()]
        findings = service_findings(asked_services(subjects), run.id, run.store, masked=False)
    costs = {each.of.split()[1]: each.value for each in findings if each.metric == "services.cost"}
    assert costs == {"small": pytest.approx(0.001), "large": pytest.approx(0.01)}


def test_two_models_at_one_address_may_each_be_asked_so_often(server: ChatServer, prompt: Path, make_run: Any) -> None:
    with make_run():
        for name in ("small", "large"):
            ask(chat(server.at(), prompt, model=name, requests=10), TEXTS[:10])
    assert len(server.asked()) == 20


def test_what_another_process_asked_about_in_this_run_is_no_other_question_and_was_not_stored(
    server: ChatServer, prompt: Path, make_run: Any
) -> None:
    asking = Asking(**ASKING)
    with make_run() as run:
        given = chat(server.at("mixed"), prompt)
        for texts in (TEXTS[:30], TEXTS):
            open_endpoint.cache_clear()  # as in a process that has asked nothing
            ask(given, texts)
        subjects = [Subject(classifier=server.at("mixed"), asking=asking)]
        findings = service_findings(asked_services(subjects), run.id, run.store, masked=False)
    found = {each.metric: (each.value, each.n) for each in findings}
    assert found["services.questions"] == (40, 40)
    assert found["services.stored"] == (0, 40)
    assert found["services.unparsed"] == (0.1, 40)


@pytest.mark.parametrize(
    ("label", "named"), [("1", "1"), ('"1"', "1"), ("true", "true"), ("[1]", None), ("null", None)]
)
def test_a_label_in_json_may_be_a_number(label: str, named: str | None) -> None:
    asking = Asking(form="chat", model="m", prompt="p", answers={"1": [], "true": [], "null": []}, read="json")
    assert class_named(f'{{"label": {label}}}', asking) == named


def test_two_prompts_of_a_model_are_counted_apart_and_paid_from_one_budget(
    server: ChatServer, prompt: Path, make_run: Any
) -> None:
    (prompt / "short.txt").write_text("Spam or ham? Text: {text}")
    price: dict[str, Any] = {"price": {"input": 10, "output": 0}}  # a question costs 0.001
    with make_run() as run:
        ask(chat(server.at(), prompt, **price), TEXTS[:10])
        ask(chat(server.at(), prompt, prompt="short.txt", **price), TEXTS[:4])
        subjects = [
            Subject(classifier=server.at(), asking=Asking(**ASKING | price | {"prompt": name}))
            for name in ("prompt.txt", "short.txt")
        ]
        findings = service_findings(asked_services(subjects), run.id, run.store, masked=False)
        asked = {each.of.split()[-1]: each.value for each in findings if each.metric == "services.questions"}
        assert asked == {"prompt.txt": 10, "short.txt": 4}
        with pytest.raises(InputError, match=r"has cost 0\.02 in this run"):
            ask(chat(server.at(), prompt, cost=0.02, **price))


def test_retries_are_no_more_than_asked_for_whatever_goes_wrong(
    server: ChatServer, prompt: Path, make_run: Any
) -> None:
    with make_run(), pytest.raises(InputError, match="something that is no JSON"):
        ask(chat(server.at("rubbish"), prompt, retries=3), TEXTS[:1])
    assert len(server.asked()) == 4
    with make_run(fresh=True), pytest.raises(InputError, match=r"was asked 2 times in this run"):
        ask(chat(server.at("rubbish"), prompt, retries=3, requests=2), TEXTS[:1])
    assert len(server.asked()) == 6


@pytest.mark.parametrize("fingerprint", ["fp_1", "fp_2"])
def test_stored_answers_are_believed_while_the_version_that_gave_them_answers(
    server: ChatServer, prompt: Path, make_run: Any, fingerprint: str
) -> None:
    with make_run(), pytest.raises(InputError, match="was asked 36 times in this run"):
        ask(chat(server.at(), prompt, requests=36))
    server.serves(fingerprint=fingerprint)
    with make_run():
        if fingerprint == "fp_1":
            ask(chat(server.at(), prompt))
            assert len(server.asked()) <= 8 + 8
        else:
            with pytest.raises(InputError, match="answers otherwise than it did in the run that broke off"):
                ask(chat(server.at(), prompt))
