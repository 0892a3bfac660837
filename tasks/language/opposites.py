"""Whether one word says the opposite of another: by a list of our own, by a prefix, by -ful and -less, or by WordNet.

Word vectors put opposites close, since both stand in the same sentences, so no cosine tells them apart. The list is
hand-written and not complete: what it does not know passes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import resources

from assay.infra.errors import InputError
from assay.tasks.language.words import normalised

Pair = tuple[str, str]
Sides = dict[str, frozenset[str]]
"""By axis (evaluation, temperature, …), the sides on which a word stands."""

_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "mis")
_SHORTEST = 3  # letters that a prefix leaves, so that `on` and `non` are no pair
_NO_NEGATIONS = frozenset(
    (
        "invaluable",
        "inflammable",
        "impress",
        "impart",
        "imprint",
        "inside",
        "income",
        "intense",
        "inspire",
        "inspired",
        "indeed",
        "incite",
        "incense",
        "incoming",
        "inform",
        "invest",
        "import",
        "improve",
        "disease",
        "discover",
        "dismiss",
        "discount",
        "display",
        "distress",
        "mission",
        "unit",
        "union",
        "until",
    )
)
"""Words that begin like a negation and are none of the rest, or do not turn it round."""
_ENDINGS = (
    ("ily", "y"),
    ("ally", ""),
    ("ly", ""),
    ("ly", "l"),
    ("ly", "le"),
    ("iness", "y"),
    ("ness", ""),
)
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
    """The antonyms of NLTK's WordNet, both ways; it has to be installed, and nothing is fetched."""
    try:
        from nltk.corpus import wordnet

        lemmas = [lemma for synset in wordnet.all_synsets() for lemma in synset.lemmas()]
    except (ImportError, LookupError) as fault:
        raise InputError(
            "NLTK's WordNet is not installed here (the attack's `antonyms` is wordnet); run `python -m nltk.downloader "
            "wordnet`, or say `antonyms: refuse` to go by Assay's own list."
        ) from fault
    pairs = [(lemma.name().lower(), other.name().lower()) for lemma in lemmas for other in lemma.antonyms()]
    return frozenset(pair for one, other in pairs for pair in ((one, other), (other, one)))


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
