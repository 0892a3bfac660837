"""The word embeddings that vote, by name: resolved before anything runs (odd in number, files there and hashed),
built where they work; among them the subject's own input embeddings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError, blame_setting
from assay.infra.storage.folders import require_regular
from assay.infra.user_code.references import CodeReference, refer_to_code
from assay.infra.user_code.sources import digest_of
from assay.tasks.language.embeddings.corpus import fasttext_provider, ppmi_provider
from assay.tasks.language.embeddings.encoder import (
    FILES,
    PROMPT,
    EncoderProvider,
    SentenceEncoder,
    minilm_folder,
    require_network,
)
from assay.tasks.language.embeddings.keyed_vectors import format_of, read_vectors
from assay.tasks.language.embeddings.provider import Provider, Vectors

_NEVER_SEEN = ("\U00013000", "\U00013001")  # hieroglyphs: what a tokenizer makes of both is its way to say "unknown"


@runtime_checkable
class Embedding(Protocol):
    """What a subject must be able to do to vote."""

    @property
    def word_pieces(self) -> bool:
        """Whether a word's tokens never depend on its neighbours."""

    def encode(self, text: str) -> Any:
        """The tokens of a text: their `ids`, and `special`, whether the tokenizer added each."""

    def embeddings(self, ids: npt.NDArray[np.int64]) -> Vectors:
        """The input embeddings of tokens, [n, d]."""


class SubjectProvider:
    """How the subject itself sees words, before any context."""

    name = "subject"

    def __init__(self, model: Embedding) -> None:
        """The subject, loaded."""
        self._model = model
        first, second = (frozenset(self._tokens(word).tolist()) for word in _NEVER_SEEN)
        self._unknown = first & second
        self._dimensions = model.embeddings(np.zeros(1, dtype=np.int64)).shape[1]

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The mean embedding of each word's tokens, [n, d]; NaN for a word of which the vocabulary has nothing."""
        vectors = np.full((len(words), self._dimensions), np.nan, dtype=np.float32)
        for row, word in enumerate(words):
            tokens = self._tokens(word)
            if not self._unknown.issuperset(tokens.tolist()):
                vectors[row] = self._model.embeddings(tokens).mean(axis=0, dtype=np.float64)
        return vectors

    def _tokens(self, word: str) -> npt.NDArray[np.int64]:
        """The tokens of a word as it stands inside a text, where many tokenizers see a space before it."""
        encoded = self._model.encode(word if self._model.word_pieces else f" {word}")
        return np.asarray(encoded.ids[~encoded.special])


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
    def asks_subject(self) -> bool:
        """Whether one of them looks into the subject."""
        return any(provider.name == "subject" for provider in self.providers)

    @property
    def fingerprint(self) -> str:
        """The hash of the names, of the files' content and of the user's code."""
        parts = [
            f"{provider.name}\0{provider.content}\0{provider.code.fingerprint if provider.code else ''}"
            for provider in self.providers
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Voter:
    """A voter, as a piece of work: its place among the providers."""

    place: int


def default_providers(subject_has_tokens: bool = True) -> tuple[str, ...]:
    """An odd number of voters, the same whatever is installed: those of corpus and subject; where the subject has no
    tokens to look into (a function of the user's, an API), the corpus alone."""
    return NAMES[:3] if subject_has_tokens else NAMES[:1]


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
        with blame_setting(f"{setting}.{position}", name) if setting else nullcontext():
            resolved.append(_resolve(name, beside))
    return ResolvedProviders(tuple(resolved))


def build_provider(
    providers: ResolvedProviders, place: int, corpus: Sequence[str], subject: Callable[[], object], seed: int
) -> Provider:
    """One of the voters, of the corpus one that is trained on its texts: the same for the same texts in whatever order.

    The `subject` is loaded only where the voter looks into it.
    """
    resolved = providers.providers[place]
    if resolved.code is not None:
        return OwnProvider(resolved.name, resolved.code)
    if resolved.name == "fasttext":
        return fasttext_provider(corpus, seed)
    if resolved.name == "ppmi":
        return ppmi_provider(corpus, seed)
    if resolved.name == "subject":
        model = subject()
        if not isinstance(model, Embedding):
            raise InputError(
                "The word embedding `subject` needs a subject with tokens to look into, and this one only gives "
                f"probabilities; say trust.providers: [{', '.join(default_providers(subject_has_tokens=False))}]."
            )
        return SubjectProvider(model)
    assert resolved.path is not None
    path, kind = Path(resolved.path), resolved.name.partition(":")[0]
    if kind in ("encoder", "encoder-prompted"):
        return EncoderProvider(SentenceEncoder(path), resolved.name, PROMPT if kind == "encoder-prompted" else "{}")
    return read_vectors(path, resolved.name)


def _resolve(name: str, beside: Path) -> ResolvedProvider:
    kind, _, place = name.partition(":")
    if name in ("fasttext", "ppmi", "subject"):
        return ResolvedProvider(name)
    if kind in ("encoder", "encoder-prompted"):
        folder = beside / place if place else minilm_folder()
        require_network(folder, " (trust.providers)")
        return ResolvedProvider(name, str(folder), " ".join(digest_of(folder / file) for file in FILES))
    path = beside / name
    if ":" not in name:
        require_regular(path, "The file of word vectors")
    if path.is_file():
        format_of(path)
        return ResolvedProvider(path.name, str(path), digest_of(path))
    if ":" in name:
        code = refer_to_code(name, beside)
        OwnProvider(name, code)  # what is wrong with it is said before anything runs
        return ResolvedProvider(name, code=code)
    raise InputError(
        f"There is no word embedding {name!r}: neither one of {', '.join(NAMES)} nor a file ({path}) nor an object of "
        "your own (module:object)."
    )


class OwnProvider:
    """Vectors of an object of the user's: one with `encode`, or a function; it gets a list of words."""

    def __init__(self, name: str, code: CodeReference) -> None:
        """The object is made once, from its code."""
        loaded = code.load()
        encode = getattr(loaded, "encode", loaded)
        if not callable(encode):
            raise InputError(f"{name} (trust.providers) has no `encode` and is no function of a list of words.")
        self._code, self.name, self._encode = code, name, cast("Callable[[list[str]], object]", encode)

    def vectors(self, words: Sequence[str]) -> Vectors:
        """What the object gives, [n, d]; checked for its shape."""
        with self._code.at_work("word embedding"):
            vectors = np.asarray(self._encode(list(words)), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise InputError(f"{self.name} gives an array of shape {vectors.shape} for {len(words)} words, not [n, d].")
        return vectors
