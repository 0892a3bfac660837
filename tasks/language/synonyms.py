"""Pairs of words that mean nearly the same: the list that comes with Assay, a file, or WordNet."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable
from hashlib import blake2b
from importlib import resources
from pathlib import Path

from assay.infra.errors import InputError
from assay.infra.given_files import content_of
from assay.tasks.language.words import normalised, words_of

Pair = tuple[str, str]

WORDNET = "wordnet"
"""The name of NLTK's WordNet, which is used where NLTK's corpora are installed."""

OPEN_WORDNET = "open-english-wordnet"
"""The name of the catalogue's Open English WordNet."""

MOST_WORDNET_PAIRS = 32_000
"""As many pairs as TOKI uses; of more, those whose hash is lowest."""


def synonym_pairs(source: str | Path | None = None) -> list[Pair]:
    """Distinct pairs of two different single words, sorted: our own list, `wordnet`, `open-english-wordnet` or a file.

    A file is UTF-8 text with two words a line, separated by a tab; further columns, blank lines, lines that start with
    # and a header `word	synonym` are left out.

    >>> pairs = synonym_pairs()
    >>> len(pairs) >= 300, ("film", "movie") in pairs
    (True, True)
    """
    if source is None:
        text = resources.files("assay.data").joinpath("lexicons", "synonyms.tsv").read_text(encoding="utf-8")
        return _read(text, "the list of Assay")
    if source == WORDNET:
        return _sampled(_nltk_members())
    if source == OPEN_WORDNET:
        from assay.data.catalog import located

        return _sampled(open_wordnet_members(located(OPEN_WORDNET).folder))
    path = Path(source)
    try:
        return _read(content_of(path, "The file of synonyms").decode("utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise InputError(f"The synonym pairs {path} cannot be read as UTF-8 text ({why}); look at the path.") from fault


def open_wordnet_members(folder: Path) -> list[list[str]]:
    """The words of every set of synonyms in the catalogue's copy of Open English WordNet."""
    with gzip.open(folder / "oewn_synsets.tsv.gz", "rt", encoding="utf-8") as file:
        next(file)
        return [line.rstrip("\n").split("\t")[3].split("|") for line in file]


def _nltk_members() -> list[list[str]]:
    try:
        from nltk.corpus import wordnet

        return [synset.lemma_names() for synset in wordnet.all_synsets()]
    except (ImportError, LookupError) as fault:
        raise InputError(
            "NLTK's WordNet is not installed here; run `python -m nltk.downloader wordnet`, say `synonyms: "
            f"{OPEN_WORDNET}` (catalogue), or leave trust.synonyms out to use the list that comes with Assay."
        ) from fault


def _sampled(sets: Iterable[list[str]]) -> list[Pair]:
    """At most 32 000 of the pairs in these sets: single words in small letters that are no spellings of one another."""
    pairs = set()
    for members in sets:
        words = sorted({word for word in members if word.isalpha() and word.islower() and len(word) > 1})
        pairs |= {(a, b) for a, b in itertools.combinations(words, 2) if not (a.startswith(b) or b.startswith(a))}
    if len(pairs) > MOST_WORDNET_PAIRS:
        pairs = set(sorted(pairs, key=lambda pair: blake2b("\t".join(pair).encode()).digest())[:MOST_WORDNET_PAIRS])
    return sorted(pairs)


def _read(text: str, name: str) -> list[Pair]:
    pairs = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#") or line.split("\t")[:2] == ["word", "synonym"]:
            continue
        cells = [normalised(cell.strip()) for cell in line.split("\t")[:2]]
        if len(cells) < 2 or any([word.text for word in words_of(cell)] != [cell] for cell in cells):
            raise InputError(
                f"{name}, line {number}: {line.strip()!r} is no pair of synonyms; two single words are expected, with "
                "a tab between them."
            )
        if cells[0] != cells[1]:
            pairs.add((min(cells), max(cells)))
    if not pairs:
        raise InputError(f"{name} has no synonym pairs; two words a line are expected, with a tab between them.")
    return sorted(pairs)
