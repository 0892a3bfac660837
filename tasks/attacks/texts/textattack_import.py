"""TextAttack, imported so that nothing is fetched and nothing of the user's is changed.

Importing TextAttack 0.3.11 downloads NLTK and stanza data, reads NLTK's stop words, replaces the logging set-up of the
process, sets the caches of Hugging Face and TensorFlow and the device of flair, and has matplotlib make a folder. Here
it finds a cache folder that says "installed already", a stop-word list of ours, and stand-ins for what it never needs;
afterwards the environment, flair's device, NLTK and the warning filters are as they were, and the folder is gone.
"""

from __future__ import annotations

import importlib
import logging
import logging.config
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from assay.tasks.language.words import stop_words

_INSTALLED = "post_install_check_3"  # the file by which TextAttack knows that it need not download anything
# They read the user's settings as they are imported, so they go first, while those settings are still there.
_READ_THE_ENVIRONMENT = ("huggingface_hub.constants", "transformers.utils.hub", "flair")
_lock = threading.Lock()


def textattack() -> ModuleType:
    """The package, imported once per process (it takes seconds)."""
    with _lock:
        if "textattack" not in sys.modules:
            _import_quietly()
        return sys.modules["textattack"]


def _import_quietly() -> None:
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(_environment_kept())
        from assay.infra.engines.devices import declare_image_operators  # brings NumPy, which adds filters of warnings

        declare_image_operators()
        for name in _READ_THE_ENVIRONMENT:
            importlib.import_module(name)
        flair = sys.modules["flair"]
        stack.enter_context(patch.object(flair, "device", flair.device))  # what it is set to is put back
        corpora = importlib.import_module("nltk.corpus")  # `nltk.corpus` itself is a stand-in until it is used
        stack.enter_context(patch.object(corpora, "stopwords", _StopWords()))
        if "bert_score" not in sys.modules:  # a score that nobody uses; it brings matplotlib, which makes a folder
            sys.modules["bert_score"] = ModuleType("bert_score")
            stack.callback(sys.modules.pop, "bert_score")
        stack.enter_context(patch.object(logging.config, "dictConfig", lambda *_, **__: None))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-textattack-")))
        (folder / _INSTALLED).touch()
        os.environ["TA_CACHE_DIR"] = str(folder)
        importlib.import_module("textattack").shared.logger.setLevel(logging.ERROR)


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Every variable has the value afterwards that it had before."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        for name, value in before.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


class _StopWords:
    """What TextAttack asks NLTK's corpus for, to make a constraint that nobody here uses as it is imported."""

    def words(self, _: str) -> list[str]:
        return sorted(stop_words())
