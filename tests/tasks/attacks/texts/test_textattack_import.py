"""TextAttack comes up without a network, and leaves no trace: not in the environment, not at home, not in logging."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

SCRIPT = """
import json, logging, os, sys, warnings
logger = logging.getLogger("somebody.else")
before, filters, handlers = dict(os.environ), list(warnings.filters), list(logging.getLogger().handlers)
from assay.tasks.attacks.texts.textattack_import import textattack
package = textattack()
import flair, huggingface_hub.constants, nltk.corpus
print(json.dumps({
    "environment": {name: (before.get(name), os.environ.get(name)) for name in before.keys() | os.environ.keys()
                    if before.get(name) != os.environ.get(name)},
    "filters": warnings.filters[:1] == filters[:1], "handlers": handlers == logging.getLogger().handlers,
    "disabled": logger.disabled, "twice": textattack() is package, "hub": huggingface_hub.constants.HF_HOME,
    "stopwords": type(nltk.corpus.stopwords).__name__, "recipe": hasattr(package.attack_recipes, "A2TYoo2021"),
    "plots": "matplotlib" in sys.modules, "device": str(flair.device),
}))
"""


def cut_off() -> list[str]:
    """The command that runs another one without any network."""
    for unshare in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if shutil.which("unshare") and subprocess.run([*unshare, "true"], capture_output=True).returncode == 0:
            return unshare
    pytest.skip("a network namespace cannot be made here")


@pytest.fixture(scope="module")
def imported(tmp_path_factory) -> tuple[dict[str, object], Path]:
    """What a process without a network saw after the import, and the home that it had."""
    home = tmp_path_factory.mktemp("home")
    (home / "temporary").mkdir()
    own = {
        "HOME": str(home),
        "HF_HOME": str(home / "mine"),
        "TMPDIR": str(home / "temporary"),
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
    }
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        [*cut_off(), sys.executable, "-c", SCRIPT],
        env=kept | own,
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), home


@pytest.mark.slow
def test_the_environment_is_as_it_was(imported):
    seen, _ = imported
    assert seen["environment"] == {}


def test_settings_of_hugging_face_stay_the_users(imported):
    seen, home = imported
    assert seen["hub"] == str(home / "mine")


def test_nothing_is_written_at_home_and_nothing_is_left_behind(imported):
    _, home = imported
    assert [path.name for path in home.iterdir()] == ["temporary"]
    assert list((home / "temporary").glob("assay*")) == []  # Torch keeps a folder of its own there


def test_logging_warnings_and_nltk_are_as_they_were(imported):
    seen, _ = imported
    assert (seen["disabled"], seen["handlers"], seen["filters"]) == (False, True, True)
    assert seen["stopwords"] == "LazyCorpusLoader"
    assert not seen["plots"]


def test_the_package_is_whole_and_imported_once(imported):
    seen, _ = imported
    assert (seen["recipe"], seen["twice"]) == (True, True)
