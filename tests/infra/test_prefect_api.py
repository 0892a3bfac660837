"""Which Prefect server a run talks to."""

from pathlib import Path

import pytest

from assay.infra.errors import InputError
from assay.infra.prefect.server import PrefectServer, configured_api, prefect_api

PROFILES = """active = "team"

[profiles.team]
PREFECT_API_URL = "http://prefect.example/api"

[profiles.alone]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    return tmp_path


def test_without_a_word_there_is_none(home: Path):
    assert configured_api() is None


def test_the_environment_has_the_first_word(home: Path, monkeypatch: pytest.MonkeyPatch):
    (home / "profiles.toml").write_text(PROFILES)
    monkeypatch.setenv("PREFECT_API_URL", "http://here/api")
    assert configured_api() == "http://here/api"


def test_the_active_profile_counts(home: Path, monkeypatch: pytest.MonkeyPatch):
    (home / "profiles.toml").write_text(PROFILES)
    assert configured_api() == "http://prefect.example/api"
    monkeypatch.setenv("PREFECT_PROFILE", "alone")
    assert configured_api() is None


def test_damaged_profiles_are_one_sentence(home: Path):
    (home / "profiles.toml").write_text("active = ")
    with pytest.raises(InputError, match=r"profiles\.toml cannot be read"):
        configured_api()


def test_a_flow_waits_for_no_heartbeat_that_only_our_own_server_would_hear(home: Path, monkeypatch: pytest.MonkeyPatch):
    from prefect.settings import get_current_settings

    monkeypatch.setattr(PrefectServer, "wait", lambda server: "http://127.0.0.1:1/api")
    usual = get_current_settings().flows.heartbeat_frequency
    assert usual is not None
    with prefect_api(PrefectServer()):
        assert get_current_settings().flows.heartbeat_frequency is None
    with prefect_api(None):
        assert get_current_settings().flows.heartbeat_frequency == usual
