"""A word attack with everything it names in hand: where its neighbours come from, and which encoder compares
sentences.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from assay.infra.errors import InputError, SettingError, blame_setting
from assay.infra.storage.folders import contained
from assay.infra.user_code.references import content_at, read_given_file, read_given_text
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts.published import BertAttack
from assay.tasks.attacks.texts.settings import A2T, RELATED, WordAttack
from assay.tasks.language.embeddings.encoder import FILES, minilm_folder, require_network
from assay.tasks.language.embeddings.ensemble import NAMES, ResolvedProviders, resolve_providers
from assay.tasks.language.synonyms import (
    OPEN_WORDNET,
    WORDNET,
    Pair,
    list_of_opposites,
    reverses,
    synonym_lists,
    wordnet_opposites,
)
from assay.tasks.language.words import is_one_word, normalised
from assay.tasks.subjects.token_networks.sources import require_own_files

COUNTERFITTED = "counterfitted-neighbors"
_LISTS_IN_CATALOGUE = "counterfitted_neighbors.json.gz"
MINILM, WORD_VECTORS = "minilm", "word-vectors"
IN_A_FILE = 0.8  # the least cosine of A2T, for vectors in which only synonyms are this close
_SHOWN = {"name", "examples", "texts", "keep"}  # what changes no attacked text, and what is hashed by its content
_LONGEST_SHOWN = 40  # letters of a word in a sentence
# By what replacements are chosen; parts of speech only by the guided attack, before it takes the nearest ones.
_CHOOSE = {"attack", "candidates", "min_cosine", "similar", "part_of_speech"}


@dataclass(frozen=True)
class ResolvedEncoder:
    """Who says how similar two texts are: its name, and the folder it lies in with the hash of what is in there."""

    name: str
    folder: str | None = None
    content: str = ""


@dataclass(frozen=True)
class NeighbourFile:
    """A file of neighbour lists: its name and its bytes."""

    name: str
    content: bytes


@dataclass(frozen=True)
class ResolvedWordAttack:
    """A word attack ready to travel: picklable, with the same fingerprint exactly when it attacks the same."""

    settings: WordAttack
    encoder: ResolvedEncoder
    providers: ResolvedProviders | None = None
    lists: NeighbourFile | None = None
    keep: frozenset[str] = frozenset()
    antonyms: frozenset[Pair] = frozenset()
    masked: ResolvedEncoder | None = None
    """The masked language model that offers replacements."""
    unquoted: bool = False
    """Whether no text may be quoted, not even in an error; it changes no attack."""

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the settings that matter, of the encoder, of the source of neighbours, and of the words that stay
        or may not be put in."""
        parts = [
            self.settings.model_dump_json(exclude=_SHOWN),
            self.encoder.name,
            self.encoder.content,
            self.providers.fingerprint if self.providers else "",
            hashlib.sha256(self.lists.content).hexdigest() if self.lists else "",
            " ".join(sorted(self.keep)),
            repr(sorted(self.antonyms)),
            "" if self.settings.antonyms == "allow" else list_of_opposites(),
            *([self.masked.content] if self.masked else []),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def refuses(self, word: str, replacement: str) -> bool:
        """Whether a replacement says the opposite of the word, where that is not allowed."""
        if self.settings.antonyms == "allow":
            return False
        return reverses(word, replacement) or (word, replacement) in self.antonyms

    @property
    def given_cosine(self) -> float | None:
        """The least cosine of a replacement; None where it is to be found from pairs of synonyms."""
        least = self.settings.least_cosine
        if least == RELATED or self.providers is None:
            return None
        if isinstance(least, float):
            return least
        made_here = self.providers.providers[0].name.partition(":")[0] in NAMES
        return None if made_here else IN_A_FILE


@dataclass(frozen=True)
class SwapSearch:
    """A word attack as far as it matters to what may replace a word: whatever else it is, the same words are found.

    How near a neighbour has to be is not looked at in the search: A2T takes the nearest, and leaves out those that are
    too far afterwards. Only whether the limit is given or has to be found from pairs of synonyms matters here.
    """

    attack: ResolvedWordAttack

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the source of words, and of the options by which they are chosen."""
        attack, choice = self.attack, TEXT_ATTACKS.of(self.attack.settings)
        if choice.replacements is not None:  # nobody knows what its function looks at
            return attack.fingerprint
        chosen = _CHOOSE if choice.guided else _CHOOSE - {"part_of_speech", "min_cosine"}
        parts = [
            attack.settings.model_dump_json(include=chosen),
            "" if choice.guided else str(attack.given_cosine is None),
            attack.providers.fingerprint if attack.providers else "",
            hashlib.sha256(attack.lists.content).hexdigest() if attack.lists else "",
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def of_subject(self) -> bool:
        """Whether the subject's own vectors are asked."""
        return self.attack.providers is not None and self.attack.providers.asks_subject


def resolve_word_attack(settings: WordAttack, beside: Path) -> ResolvedWordAttack:
    """Everything the options name, found before anything runs; paths count from the folder `beside`.

    >>> from assay.tasks.attacks.texts.settings import Guided
    >>> resolve_word_attack(Guided(encoder="word-vectors"), Path()).encoder.name
    'word-vectors'
    """
    with blame_setting("encoder", settings.encoder):
        encoder = _encoder(settings.encoder, beside)
    with blame_setting("keep", settings.keep if isinstance(settings.keep, str) else None):
        keep = _kept_words(settings.keep, beside)
    with blame_setting("antonyms", settings.antonyms):
        antonyms: frozenset[Pair] = wordnet_opposites() if settings.antonyms == "wordnet" else frozenset()
    resolved = ResolvedWordAttack(settings, encoder, keep=keep, antonyms=antonyms)
    if isinstance(settings, BertAttack):
        with blame_setting("masked_model", settings.masked_model):
            folder = beside / settings.masked_model
            return replace(resolved, masked=_network(settings.masked_model, folder, "masked_model", "masked model"))
    if not isinstance(settings, A2T):
        return resolved
    with blame_setting("vectors", settings.vectors):
        lists = _lists(settings.vectors, beside)
        if settings.part_of_speech and lists and lists.name.startswith(f"{WORDNET}:") and lists.name != "wordnet:eng":
            raise InputError(
                f"The words of {lists.name} are of no English dictionary, by which parts of speech are told: set "
                "part_of_speech: false, and list the stop words of the language in `keep`."
            )
        if lists is None:
            return replace(resolved, providers=resolve_providers([settings.vectors or "fasttext"], beside))
    if settings.min_cosine is not None:
        raise SettingError(
            f"The attack's `min_cosine` is {settings.min_cosine}, and lists of neighbours ({settings.vectors}) "
            "have no cosines: leave it out, or name word vectors.",
            "min_cosine",
            "",
        )
    return replace(resolved, lists=lists)


def _kept_words(named: str | tuple[str, ...] | None, beside: Path) -> frozenset[str]:
    """The words that stay, in the form in which words compare."""
    listed: Sequence[str] = named or ()
    if isinstance(named, str):
        listed = read_given_text(beside / named, "The list of words to keep").split()
    for position, word in enumerate(listed):
        if not is_one_word(word):
            shown = repr(word) if len(word) <= _LONGEST_SHOWN else f"{word[:_LONGEST_SHOWN]!r} and so on"
            where = f" in the file {named}" if isinstance(named, str) else ""
            message = f"{shown}{where} (the attack's `keep`) is not one word; write each word of it by itself."
            raise SettingError(message, f"keep.{position}" if isinstance(named, tuple) else "keep", word)
    return frozenset(map(normalised, listed))


def _encoder(named: str | None, beside: Path) -> ResolvedEncoder:
    named = named or WORD_VECTORS
    if named == WORD_VECTORS:
        return ResolvedEncoder(named)
    folder = minilm_folder() if named == MINILM else beside / named
    return _network(named, folder, "encoder", "sentence encoder", f", `{MINILM}` or `{WORD_VECTORS}`")


def _network(named: str, folder: Path, setting: str, what: str, instead: str = "") -> ResolvedEncoder:
    """The network in a folder, with the hash of what is in there."""
    require_network(folder, f" (the attack's `{setting}`)", what, instead)
    files = {file: read_given_file(Path(contained(folder, file, f"The {what} {named}"))) for file in FILES}
    require_own_files(files, f"The {what} {named}")
    content = " ".join(hashlib.sha256(content).hexdigest() for content in files.values())
    return ResolvedEncoder(named, str(folder), content)


def _lists(named: str | None, beside: Path) -> NeighbourFile | None:
    if named == COUNTERFITTED:
        from assay.data.catalog import located

        path = located(COUNTERFITTED).folder / _LISTS_IN_CATALOGUE
    elif named is not None and named.partition(":")[0] in (WORDNET, OPEN_WORDNET):
        return NeighbourFile(named, json.dumps(synonym_lists(named)).encode())
    elif named is not None and named.endswith((".json", ".json.gz")):
        path = beside / named
    else:
        return None
    return NeighbourFile(path.name, content_at(path, Path(), "The file of neighbour lists"))
