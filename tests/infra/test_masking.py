"""What is masked: secrets in any encoding, whole or cut off, in errors, log lines and complaints; and what is not."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import traceback
from urllib.parse import quote

import pytest
from quoted_secrets import SECRETS, encodings
from repository import ROOT

from assay.infra import masking
from assay.infra.environment import prepare_environment
from assay.infra.errors import InputError, MaskedError, RunError, called_without_secrets, error_text
from assay.infra.masking import mask, mask_page, masked_in, register, register_address
from assay.infra.storage.network import register_secret, secret_addresses, secret_from


@pytest.fixture(autouse=True)
def _nothing_is_masked_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_spellings", ())


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_masked_in_every_encoding_and_only_once(kind: str) -> None:
    register("SPAM_TOKEN", SECRETS[kind])
    for spelled in encodings(SECRETS[kind]):
        text = mask(f"so: {spelled.decode(errors='replace')!s} is it")
        assert not [one for one in encodings(SECRETS[kind]) if one in text.encode()], text
        assert "${SPAM_TOKEN}" in text
        assert mask(text) == text


@pytest.mark.parametrize("letters", [12, 40, 199])
def test_the_beginning_of_a_long_secret_is_masked_where_it_was_cut_off(letters: int) -> None:
    register("SPAM_TOKEN", SECRETS["5,000 letters"])
    assert mask(f"no: {SECRETS['5,000 letters'][:letters]}") == "no: ${SPAM_TOKEN}"


def test_basic_authorization_is_masked_decoded_too() -> None:
    register("SPAM_AUTHORIZATION", "Basic bmlnaHQ6aDByc2UtYmF0dGVyeQ==")
    said = mask("night:h0rse-battery, h0rse-battery, Basic bmlnaHQ6aDByc2UtYmF0dGVyeQ==, Bearer x")
    assert said == ", ".join(["${SPAM_AUTHORIZATION}"] * 2 + ["Basic ${SPAM_AUTHORIZATION}", "Bearer x"])


@pytest.mark.parametrize("value", ["a", "1234", "postgres", "Secret"])
def test_what_is_short_or_a_word_is_masked_only_where_secrets_stand(value: str) -> None:
    register("DB_PASSWORD", value)
    kept = f"a sentence about {value}, with '{value}' and {value}ql in 1234 places"
    assert mask(kept) == kept
    assert mask(f"x://night:{value}@db?password={value} b'{value}' Bearer {value}").count("${DB_PASSWORD}") == 4
    assert mask_page(f"<b style=x:{value};>") == f"<b style=x:{value};>"


def test_of_an_address_the_password_is_masked_and_of_a_secret_one_its_parts() -> None:
    register_address("DATABASE_URL", "postgresql://night:p%40ss4711@db/clinic")
    assert mask("postgresql://other@db/clinic") == "postgresql://other@db/clinic"
    assert mask("p@ss4711 postgresql://night:p%40ss4711@db/clinic") == "${DATABASE_URL} ${DATABASE_URL}"
    register_address("HOOK", "https://hooks.example/services/T0000/B1111/x4711yz8", secret=True)
    assert mask("https://hooks.example/other") == "https://hooks.example/other"
    assert mask("url: /services/T0000/B1111/x4711yz8 x4711yz8") == "url: ${HOOK} ${HOOK}"


def test_secrets_of_libraries_are_known_by_the_names_of_their_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "AWS_SECRET_ACCESS_KEY": "aws/4711+wxyz\n",
        "MLFLOW_TRACKING_PASSWORD": "mlf-4711-wxyz",
        "HTTPS_PROXY": "http://me:pr0xy-4711@proxy:8080",
    }
    others = {
        "PWD": "/home/night4711",
        "TOKENIZERS_PARALLELISM": "false-4711",
        "JIRA_PROJECT_KEY": "AUDIT-4711",
        "DB_PASSWORD_FILE": "/run/secrets/4711",
        "MY_TOKEN": "1",
    }
    for name, value in (secrets | others).items():
        monkeypatch.setenv(name, value)
    prepare_environment()
    assert mask("aws/4711+wxyz mlf-4711-wxyz pr0xy-4711") == " ".join(f"${{{name}}}" for name in secrets)
    kept = " ".join(others.values())
    assert mask(kept) == kept
    assert masking.os.environ["AWS_SECRET_ACCESS_KEY"] == "aws/4711+wxyz"


@pytest.mark.parametrize("value", ["t0k-4711\nwxyz", "t0k-4711\x00".replace("\x00", "\x1b"), "tök-4711"])
def test_a_secret_that_no_header_carries_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SPAM_TOKEN", value)
    with pytest.raises(
        InputError, match=r"^the environment variable SPAM_TOKEN holds .*: set it to the secret alone\."
    ):
        secret_from("SPAM_TOKEN", ascii_only=True)
    monkeypatch.setenv("SPAM_TOKEN", " \n")
    with pytest.raises(InputError, match="SPAM_TOKEN is not set"):
        secret_from("SPAM_TOKEN")


def test_addresses_may_stand_on_lines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", " slack://t0kenA4711/b\nmailto://me:pw471100@x \n")
    assert secret_addresses("WHERE") == ["slack://t0kenA4711/b", "mailto://me:pw471100@x"]
    assert mask("t0kenA4711 pw471100") == "${WHERE} ${WHERE}"


def test_errors_hold_no_secret_in_words_causes_or_pickles() -> None:
    register("SPAM_TOKEN", secret := "t0k-4711-wxyz")

    def fail() -> None:
        try:
            raise OSError(5, secret, quote(f"file-{secret}"))
        except OSError as cause:
            raise ValueError(f"Invalid header value {secret.encode()!r}") from cause

    with pytest.raises(MaskedError) as caught:
        called_without_secrets(fail)
    whole = "".join(traceback.format_exception(caught.value)) + repr(pickle.loads(pickle.dumps(caught.value)))
    assert "4711" not in whole
    assert "in fail" in whole  # where it was raised is still there
    assert error_text(caught.value) == "ValueError: Invalid header value b'${SPAM_TOKEN}'"
    assert error_text(caught.value, masked=True) == "ValueError"
    assert str(RunError("of t0k-4711-wxyz")) == "of ${SPAM_TOKEN}"
    plain = KeyError("nothing secret")
    with pytest.raises(KeyError) as same:
        called_without_secrets(lambda: {}[plain])  # type: ignore[misc]
    assert same.value.args == (plain,)


def test_log_lines_are_masked_with_their_values_and_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    register("SPAM_TOKEN", "t0k-4711-wxyz")
    logger = logging.getLogger("urllib3")
    with caplog.at_level(logging.DEBUG):
        logger.debug("GET %s", "/?token=t0k-4711-wxyz")
        try:
            raise ValueError("t0k-4711-wxyz")
        except ValueError:
            logger.exception("failed")
    assert "4711" not in caplog.text
    assert caplog.text.count("${SPAM_TOKEN}") == 3  # the line of the source quotes it too
    misfit = logging.getLogRecordFactory()("urllib3", logging.DEBUG, "a.py", 1, "%s of %s", ("one",), None)
    assert misfit.args == ("one",)  # logging complains of it by itself; nobody's work ends for it


def test_what_nobody_catches_is_masked() -> None:
    script = """
import os, threading, warnings
from assay.infra.masking import mask_complaints
mask_complaints()
warnings.warn("t0k-4711-wxyz is old")
thread = threading.Thread(target=lambda: {}[os.environ["SPAM_TOKEN"]])
thread.start()
thread.join()
raise SystemError(os.environ["SPAM_TOKEN"])
"""
    env = {"PYTHONPATH": str(ROOT), "SPAM_TOKEN": "t0k-4711-wxyz"}
    ended = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.count("${SPAM_TOKEN}") == 3
    assert "4711" not in ended.stderr


def test_where_nothing_is_secret_texts_stay_the_same_objects() -> None:
    text = "x" * 1000
    assert mask(text) is text
    register("SPAM_TOKEN", "t0k-4711-wxyz")
    assert mask(text) is text
    assert masked_in({"a": [1, "t0k-4711-wxyz"], "b": None}) == {"a": [1, "${SPAM_TOKEN}"], "b": None}


def test_the_host_of_an_address_that_is_a_secret_is_none() -> None:
    register_secret("HOOKS", "json://127.0.0.1:4321/t0kenOfHook")
    register_secret("POST", "mailto://night:pa55word9@smtp1.example.com/inbox")
    assert mask("127.0.0.1 and smtp1.example.com answer") == "127.0.0.1 and smtp1.example.com answer"
    assert mask("the key t0kenOfHook, the word pa55word9") == "the key ${HOOKS}, the word ${POST}"
    register_secret("CHAT", "slack://T0ken1234/B0ken1234")
    assert mask("T0ken1234, B0ken1234") == "${CHAT}, ${CHAT}"
