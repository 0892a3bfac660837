"""What an attack may call a success or a failure, how long texts are compared, and what it all costs."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.attacks.texts import textattack_parts
from assay.tasks.attacks.texts.composing import (
    FICKLE,
    MOST_WORDS,
    NOT_LISTED,
    REFUSED,
    STANDS_IN_THE_HEAD,
    STANDS_SO_FAR,
    compose,
)
from assay.tasks.attacks.texts.resolved import SwapSearch, resolve_word_attack
from assay.tasks.attacks.texts.settings import A2T, Guided, WordAttack
from assay.tasks.attacks.texts.similarity import PASSAGE, CharacterEncoder, Compared
from assay.tasks.attacks.texts.swaps import Words, neighbour_piece, synonym_cosine
from assay.tasks.attacks.texts.textattack_parts import MOST_RANKED, SpannedText
from assay.tasks.language.relatedness import theta_relate
from assay.tasks.language.synonyms import synonym_pairs
from assay.tasks.language.words import words_of
from assay.tasks.trust.explainers.table import ExplainerName

LOOSE = WordAttack(part_of_speech=False, similarity=-1.0)
GERMAN = "der film ist schlecht und langweilig"


class Says:
    """A classifier that says what a function says of each text."""

    def __init__(self, function, classes=2):
        self.function, self.classes = function, classes

    def probabilities(self, texts):
        return np.array([self.function(text) for text in texts])


def attack(function, candidates, options=LOOSE, classes=2, encoder=None):
    return compose(
        Says(function, classes),
        options,
        encoder or CharacterEncoder(),
        lambda word, _: candidates(word),
        CharacterEncoder(),
    )


def unmoved(_text):
    return [0.9, 0.1]


# What is tried, and what is not


@pytest.mark.parametrize(
    ("text", "candidates", "options", "reason"),
    [
        ("a film about boats", [], LOOSE, NOT_LISTED),
        (GERMAN, ["mies", "furchtbar"], WordAttack(similarity=-1.0), REFUSED),
        ("a film about boats", ["ships"], WordAttack(part_of_speech=False, similarity=1.0), REFUSED),
        ("iPhone", ["iphone"], LOOSE, NOT_LISTED),  # another case of a word is no other word
    ],
)
def test_where_nothing_could_be_tried_the_text_is_skipped(text, candidates, options, reason):
    found = attack(unmoved, lambda word: candidates, options).outcome(text, 0)
    assert (found.status, found.reason, found.text, found.changes) == ("skipped", reason, text, ())


def test_a_subject_that_answers_the_same_text_differently_is_not_fooled():
    answers = iter([[0.49, 0.51]] + [[0.9, 0.1]] * 100)
    found = attack(lambda _: next(answers), lambda word: ["movie"]).outcome("a film about boats", 0)
    assert (found.status, found.reason, found.changes) == ("skipped", FICKLE, ())


def test_of_three_classes_a_candidate_that_fools_goes_before_one_that_only_weakens():
    def says(text):
        if "aaa" in text:
            return [0.36, 0.35, 0.29]  # the lowest probability of the class, which is still said
        return [0.40, 0.60, 0.0] if "bbb" in text else [0.9, 0.05, 0.05]

    found = attack(says, lambda word: ["aaa", "bbb"] if word == "film" else [], classes=3).outcome("a film", 0)
    assert (found.status, found.text) == ("success", "a bbb")


def test_a_failed_attack_says_what_of_a_long_text_it_did_not_try():
    many = " ".join(f"word{number}" for number in range(MOST_RANKED + 1))
    assert attack(unmoved, lambda word: ["other"]).outcome(many, 0).reason == STANDS_SO_FAR
    long = "film " + "the " * MOST_WORDS
    assert attack(unmoved, lambda word: ["other"]).outcome(long, 0).reason == STANDS_IN_THE_HEAD


# Long texts


class Nearsighted(CharacterEncoder):
    """An encoder that reads the first 512 characters, and makes vectors of those alone."""

    def reads(self, text):
        return len(text) <= 512

    def encode(self, texts):
        return super().encode([text[:512] for text in texts])


def similarity(encoder, text, other):
    pairs = zip(words_of(text), words_of(other), strict=True)
    changes = {index: after.text for index, (before, after) in enumerate(pairs) if before.text != after.text}
    return float(Compared(encoder, text).similarities([changes])[0])


FILLED = " ".join(["the plot of this film is about boats and people on the sea"] * 60)


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_change_that_the_encoder_would_not_read_is_compared_where_it_is(place):
    text = f"wonderful {FILLED}" if place == "first" else f"{FILLED} wonderful"
    changed = text.replace("wonderful", "xxxxxxxxxxxxxxxxxxxxxxxx")
    alike = similarity(Nearsighted(), text, changed)
    assert alike < 0.995  # of the whole text nothing would be seen at its end, and 0.9999 at its beginning

    options = WordAttack(part_of_speech=False, similarity=(alike + 1) / 2)
    sways = attack(
        lambda one: [0.9, 0.1] if "wonderful" in one else [0.1, 0.9],
        lambda word: ["xxxxxxxxxxxxxxxxxxxxxxxx"] if word == "wonderful" else [],
        options,
        encoder=Nearsighted(),
    )
    assert sways.outcome(text, 0).reason == REFUSED


def test_a_short_text_is_compared_whole():
    encoder, text = CharacterEncoder(), "a good film about boats"
    one, two = encoder.encode([text, text.replace("boats", "ships")]).astype(np.float64)
    expected = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    assert similarity(encoder, text, text.replace("boats", "ships")) == pytest.approx(expected, abs=1e-12)


def test_a_long_text_is_as_similar_as_its_least_similar_passage():
    compared, words = Compared(Nearsighted(), FILLED), words_of(FILLED)
    first, last = {3: "qqqq"}, {len(words) - 2: "zzzzzzzz"}
    one, two, both, none = compared.similarities([first, last, first | last, {}])
    assert both == min(one, two) < max(one, two) < none == 1.0
    assert PASSAGE < 512


def test_of_a_long_text_only_the_surroundings_of_a_word_are_cut_anew(monkeypatch):
    cut = []
    monkeypatch.setattr(textattack_parts, "words_of", lambda text: cut.append(len(text)) or words_of(text))
    text = " ".join(f"word{number}" for number in range(400))
    found = attack(
        unmoved,
        lambda word: ["one", "two", "three"],
        WordAttack(part_of_speech=False, similarity=-1.0, ranking="deletion"),
    ).outcome(text, 0)
    assert found.queries > 1200
    assert sum(cut) < 40 * len(text)  # three candidates of each of 400 words; cut whole it would be 1600 times


PIECES = st.sampled_from(["a", "Bc", "3", "12", "345", ".", ",", "'", "-", " ", "  ", "!", "\u4e2d", "U.S", "\u0301"])


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=12), st.lists(PIECES, min_size=1, max_size=3), st.integers(0, 20))
def test_a_swap_leaves_the_spans_that_the_tokenizer_finds(pieces, new, place):
    text, replacement = SpannedText("".join(pieces)), "".join(new)
    if not text.spans:
        return
    index = place % len(text.spans)
    made = text.swapped(index, replacement)
    wanted = [word.text for word in text.spans]
    wanted[index] = replacement
    found = words_of(text.replace_word_at_index(index, replacement).text)
    assert (made is not None) == ([word.text for word in found] == wanted)
    if made is not None:
        assert (made.spans, made.word(index)) == (found, replacement)


# What is looked for, and under which limit


def test_only_what_changes_the_replacements_has_them_found_again(tmp_path):
    def key(**options):
        return SwapSearch(resolve_word_attack(A2T(vectors="fasttext", encoder="word-vectors", **options), tmp_path))

    same = [
        {},
        {"similarity": 0.5},
        {"modified": 0.3},
        {"ranking": "deletion"},
        {"part_of_speech": False},
        {"name": "x"},
        {"min_cosine": "related"},
    ]
    given = [{"min_cosine": 0.5}, {"min_cosine": 0.6}]  # without a look at synonyms
    assert len({key(**options).fingerprint for options in same}) == 1
    assert len({key(**options).fingerprint for options in given}) == 1
    assert len({key(**options).fingerprint for options in [{}, given[0], {"candidates": 5}]}) == 3


def test_related_is_theta_relate_of_the_attacks_own_vectors(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import zlib\nimport numpy as np\n"
        "def vectors(words):\n"
        "    return np.array([np.random.default_rng(zlib.crc32(w.encode())).normal(size=4) for w in words])\n"
    )
    known = {}
    for named in (None, "related", 0.25):
        settled = resolve_word_attack(
            A2T(vectors="mine.py:vectors", min_cosine=named, encoder="word-vectors"), tmp_path
        )
        _, table = neighbour_piece(Words(("film",)), texts=["a film"], attack=settled, load=object, seed=3)
        (known[named],) = table.to_pylist()
    from assay.tasks.language.embeddings.ensemble import build_provider

    provider = build_provider(settled.providers, 0, [], lambda: None, 0)
    pairs = synonym_pairs()
    found = {"synonyms": synonym_cosine(provider, pairs), "related": theta_relate(provider, pairs, 3).value}
    assert known["related"].items() >= {"provider": "mine.py:vectors", **found}.items()
    nobody_asks = {"provider": "mine.py:vectors", "synonyms": None, "related": None}
    assert known[None] == known[0.25]
    assert known[None].items() >= nobody_asks.items()  # own vectors have a limit of their own


def test_lists_without_cosines_and_a_least_cosine_exclude_each_other(tmp_path):
    (tmp_path / "near.json").write_text('{"film": ["movie"]}')
    with pytest.raises(InputError, match="have no cosines"):
        resolve_word_attack(A2T(vectors="near.json", min_cosine="related", encoder="word-vectors"), tmp_path)


def test_the_guided_attack_goes_by_any_explainer_that_the_oracle_has():
    for explainer in get_args(ExplainerName):
        assert Guided(explainer=explainer).explainer == explainer
