"""Which words mean nearly the same, and which say the opposite: the lists that come with Assay, a file, or
WordNet.

Word vectors put opposites close, since both stand in the same sentences, so no cosine tells them apart. The list of
opposites is hand-written and not complete: what it does not know passes.
"""

from __future__ import annotations

import functools
import gzip
import itertools
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Any

from assay.infra.errors import InputError, faults_in_words
from assay.infra.user_code.references import read_given_text
from assay.tasks.language.words import is_one_word, normalised

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
        instead = f"say `synonyms: {OPEN_WORDNET}` (catalogue), or leave trust.synonyms out to use Assay's list"
        return _sampled(_nltk_members(instead))
    if source == OPEN_WORDNET:
        from assay.data.catalog import located

        return _sampled(open_wordnet_members(located(OPEN_WORDNET).folder))
    return _read(read_given_text(Path(source), "The file of synonyms"), str(source))


def synonym_lists(source: str) -> dict[str, list[str]]:
    """Of each single word the single words that share a set of synonyms with it: of `open-english-wordnet`, `wordnet`,
    or another language of NLTK's wordnets by its code (`wordnet:fra`)."""
    if source == OPEN_WORDNET:
        from assay.data.catalog import located

        sets = open_wordnet_members(located(OPEN_WORDNET).folder)
    else:
        sets = _nltk_members(f"say `{OPEN_WORDNET}` (catalogue, English)", source.partition(":")[2] or "eng")
    lists: dict[str, set[str]] = {}
    for members in sets:
        words = {normalised(word) for word in members if is_one_word(word)}
        for word in words:
            lists.setdefault(word, set()).update(words - {word})
    return {word: sorted(others) for word, others in sorted(lists.items()) if others}


def open_wordnet_members(folder: Path) -> list[list[str]]:
    """The words of every set of synonyms in the catalogue's copy of Open English WordNet."""
    with gzip.open(folder / "oewn_synsets.tsv.gz", "rt", encoding="utf-8") as file:
        next(file)
        return [line.rstrip("\n").split("\t")[3].split("|") for line in file]


def _nltk_members(instead: str, language: str = "eng") -> list[list[str]]:
    synsets = _nltk_synsets(instead)
    with faults_in_words(  # NLTK raises what it likes where a language is not known, or not installed
        lambda _: (
            f"NLTK's wordnets have no words of the language {language!r} here; run `python -m nltk.downloader "
            "omw-1.4` and name it by its code of three letters (fra, spa, jpn)."
        )
    ):
        return [synset.lemma_names(language) for synset in synsets]


def _nltk_synsets(instead: str) -> list[Any]:
    """The sets of synonyms of NLTK's WordNet, which has to be installed: nothing is fetched."""
    try:
        from nltk.corpus import wordnet

        return list(wordnet.all_synsets())
    except (ImportError, LookupError) as fault:
        raise InputError(
            f"NLTK's WordNet is not installed here; run `python -m nltk.downloader wordnet`, or {instead}."
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
        if len(cells) < 2 or not all(map(is_one_word, cells)):
            raise InputError(
                f"{name}, line {number}: {line.strip()!r} is no pair of synonyms; two single words are expected, with "
                "a tab between them."
            )
        if cells[0] != cells[1]:
            pairs.add((min(cells), max(cells)))
    if not pairs:
        raise InputError(f"{name} has no synonym pairs; two words a line are expected, with a tab between them.")
    return sorted(pairs)


Sides = dict[str, frozenset[str]]
"""By axis (evaluation, temperature, …), the sides on which a word stands."""

_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "mis")
_SHORTEST = 3  # letters that a prefix leaves, so that `on` and `non` are no pair
_LIKE_NEGATIONS = (
    "invaluable inflammable impress impart imprint inside income intense inspire inspired indeed incite incense "
    "incoming inform invest import improve disease discover dismiss discount display distress mission unit union "
    "until "
)
"""Words that begin like a negation and are none of the rest, or do not turn it round."""
_NO_NEGATIONS = frozenset(_LIKE_NEGATIONS.split())
_ENDINGS = (("ily", "y"), ("ally", ""), ("ly", ""), ("ly", "l"), ("ly", "le"), ("iness", "y"), ("ness", ""))
_OTHER_SIDE = {"+": "-", "-": "+"}


@functools.lru_cache(maxsize=262_144)
def reverses(word: str, replacement: str) -> bool:
    """Whether a replacement says the opposite of the word, as far as the list and the rules know.

    >>> [reverses(*pair) for pair in (("bad", "good"), ("Dreadfully", "splendidly"), ("displeased", "enthralled"))]
    [True, True, True]
    >>> [reverses(*pair) for pair in (("happy", "unhappy"), ("careful", "careless"), ("stale", "fresh"))]
    [True, True, True]
    >>> [reverses(*pair) for pair in (("bad", "awful"), ("presses", "impresses"), ("covers", "discovers"))]
    [False, False, False]
    """
    first, second = normalised(word), normalised(replacement)
    if first == second:
        return False
    negated = _is_negated(first, second) or _is_negated(second, first)
    return negated or _on_other_sides(first, second) or _ful_and_less(first, second)


@functools.lru_cache(maxsize=1)
def wordnet_opposites() -> frozenset[Pair]:
    """The antonyms of NLTK's WordNet, both ways."""
    synsets = _nltk_synsets("say `antonyms: refuse` (the attack's is wordnet) to go by Assay's own list")
    lemmas = [lemma for synset in synsets for lemma in synset.lemmas()]
    pairs = [(lemma.name().lower(), other.name().lower()) for lemma in lemmas for other in lemma.antonyms()]
    return frozenset(pair for first, other in pairs for pair in ((first, other), (other, first)))


def list_of_opposites() -> str:
    """The list that comes with Assay, as it stands in its file."""
    return resources.files("assay.data").joinpath("lexicons", "opposites.tsv").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=65_536)
def sides_of(word: str) -> Sides:
    """On which side of which axes a word stands: by itself, else by the words it is formed from, else as a negation.

    >>> sides_of("worse")["evaluation"], sides_of("uninspired")["evaluation"], sides_of("pasta")
    (frozenset({'-'}), frozenset({'-'}), {})
    """
    listed = _listed()
    if word in listed:
        return listed[word]
    merged = _merged([listed[form] for form in forms_of(word) if form in listed])
    if merged:
        return merged
    turned = _merged([listed[form] for part in sorted(_unnegated(word)) for form in forms_of(part) if form in listed])
    return {axis: frozenset(_OTHER_SIDE[side] for side in sides) for axis, sides in turned.items()}


@functools.lru_cache(maxsize=65_536)
def forms_of(word: str) -> frozenset[str]:
    """A word, its lemmas as any part of speech, and the adjective that an adverb or a noun is formed from.

    >>> "terrible" in forms_of("terribly"), sorted(forms_of("hated"))
    (True, ['hate', 'hated'])
    """
    from lemminflect import getAllLemmas

    lemmas = {lemma.lower() for some in getAllLemmas(word).values() for lemma in some}
    bare = {word[: -len(end)] + instead for end, instead in _ENDINGS if word.endswith(end)}
    return frozenset({word, *lemmas, *bare})


def _on_other_sides(first: str, second: str) -> bool:
    """Whether there is an axis on which they stand on different sides; a word that stands on both stands on none."""
    ours, theirs = sides_of(first), sides_of(second)
    return any(not ours[axis] & theirs[axis] for axis in ours.keys() & theirs.keys())


def _is_negated(word: str, negated: str) -> bool:
    return not _unnegated(negated).isdisjoint(forms_of(word))


def _unnegated(word: str) -> set[str]:
    """What a negated word, in any of its forms, negates; nothing where it only begins like a negation."""
    forms = forms_of(word)
    return set() if forms & _NO_NEGATIONS else {part for form in forms for part in _without_prefix(form)}


def _without_prefix(word: str) -> Iterator[str]:
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) >= len(prefix) + _SHORTEST:
            yield word[len(prefix) :]


def _ful_and_less(first: str, second: str) -> bool:
    def stems(word: str, ending: str) -> set[str]:
        return {form[: -len(ending)] for form in forms_of(word) if form.endswith(ending) and form != ending}

    return any(stems(a, "ful") & stems(b, "less") for a, b in ((first, second), (second, first)))


def _merged(entries: list[Sides]) -> Sides:
    axes = {axis for sides in entries for axis in sides}
    return {axis: frozenset().union(*(sides.get(axis, frozenset()) for sides in entries)) for axis in sorted(axes)}


@functools.lru_cache(maxsize=1)
def _listed() -> dict[str, Sides]:
    listed: dict[str, dict[str, set[str]]] = {}
    for line in list_of_opposites().splitlines():
        if line.startswith(("#", "axis\t")):
            continue
        axis, side, words = line.split("\t")
        for word in words.split():
            listed.setdefault(normalised(word), {}).setdefault(axis, set()).add(side)
    return {word: {axis: frozenset(sides) for axis, sides in axes.items()} for word, axes in listed.items()}
