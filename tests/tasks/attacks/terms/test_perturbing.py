"""One sentence under attack: labels stay one for one, synonyms carry theirs along, and nothing is changed by chance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.attacks.terms.changes import (
    CHANGED,
    CROSSES,
    SHORT,
    SPARED,
    STUCK,
    GoldFinder,
    LexiconFinder,
    TermMeans,
)
from assay.tasks.attacks.terms.perturbing import perturb
from assay.tasks.attacks.terms.synonymy import Synonymy, choose_synonym
from assay.tasks.attacks.terms.typos import Keyboard, Swap
from assay.tasks.language.lexicons import Lexicon, Name
from assay.tasks.statistics.entities import entities_of

LEXICON = Lexicon(
    tuple(
        Name(concept, kind, text)
        for concept, kind, texts in (
            ("mi", "Disease", ("myocardial infarction", "heart attack", "MI", "cardiac infarct of the heart")),
            ("warfarin", "Chemical", ("warfarin", "potassium warfarin", "Coumadin")),
            ("prosthesis", "Device", ("heart valve prosthesis", "prosthetic heart valve")),
            ("valve", "Device", ("valve",)),
            ("other", "Chemical", ("Coumadin",)),
            ("lone", "Disease", ("rash",)),
        )
        for text in texts
    )
)
SENTENCE = [
    "Two",
    "mothers",
    "with",
    "heart",
    "valve",
    "prosthesis",
    "were",
    "treated",
    "with",
    "warfarin",
    "during",
    "pregnancy",
    ".",
]
MEDICAL = {"heart", "valve", "prosthesis", "warfarin"}
TAGS = ["B-Disease", "I-Disease", "B-Chemical", "I-Chemical", "O", "O"]

GOLD, FOUND = TermMeans(GoldFinder(), LEXICON), TermMeans(LexiconFinder(LEXICON), LEXICON)
some_words = st.sampled_from(
    ["heart", "attack", "warfarin", "rash", "MI", "of", "valve", "ss", "5-HT", "prosthesis", "("]
)


@st.composite
def sentences(draw):
    """A sentence with tags, also such as no convention allows."""
    size = draw(st.integers(0, 9))
    return draw(st.lists(some_words, min_size=size, max_size=size)), draw(
        st.lists(st.sampled_from(TAGS), min_size=size, max_size=size)
    )


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("attack", [Swap(), Keyboard()])
def test_the_papers_sentence_keeps_its_words_and_only_medical_ones_change(attack):
    made = perturb(SENTENCE, None, attack, FOUND, rng())
    changed = [before for before, after in zip(SENTENCE, made.words, strict=True) if before != after]
    assert set(changed) == MEDICAL
    assert [change.words for change in made.changes] == [3, 1]


def test_the_papers_synonym_is_one_of_those_that_can_be_drawn():
    made = {" ".join(perturb(SENTENCE, None, Synonymy(), FOUND, rng(seed)).words) for seed in range(40)}
    paper = "Two mothers with prosthetic heart valve were treated with potassium warfarin during pregnancy ."
    assert made == {paper}  # Coumadin is a name of another concept as well, so nobody may take it for a synonym


@pytest.mark.parametrize("means", [GOLD, FOUND])
@pytest.mark.parametrize("attack", [Swap(share=0.6, changes=2), Keyboard()])
@settings(max_examples=60)
@given(sentences(), st.integers(0, 1000))
def test_typos_keep_every_tag_at_its_word(attack, means, sentence, seed):
    words, tags = sentence
    made = perturb(words, tags, attack, means, rng(seed))
    assert made.tags == tags
    assert len(made.words) == len(words)
    terms = [range(change.span.first, change.span.last) for change in made.changes]
    untouched = set(range(len(words))) - {at for term in terms for at in term}
    assert all(made.words[at] == words[at] for at in untouched)


@pytest.mark.parametrize("means", [GOLD, FOUND])
@settings(max_examples=80)
@given(sentences(), st.integers(0, 1000))
def test_synonyms_keep_every_entity_with_its_kind_in_its_order(means, sentence, seed):
    words, tags = sentence
    made = perturb(words, tags, Synonymy(), means, rng(seed))
    assert len(made.words) == len(made.tags)
    assert [one.kind for one in entities_of(made.tags)] == [one.kind for one in entities_of(tags)]
    outside = sum(tag == "O" for tag in tags)
    grown = sum(len(one.after) - len(one.before) for one in made.changes if tags[one.span.first] == "O")
    assert sum(tag == "O" for tag in made.tags) == outside + grown


@pytest.mark.parametrize("attack", [Swap(), Keyboard(), Synonymy()])
@pytest.mark.parametrize("means", [GOLD, FOUND])
@settings(max_examples=60)
@given(sentences(), st.integers(0, 1000))
def test_what_is_called_changed_never_is_the_term_itself(attack, means, sentence, seed):
    words, tags = sentence
    for change in perturb(words, tags, attack, means, rng(seed)).changes:
        assert (change.outcome == CHANGED) == (change.after != change.before)
        assert (change.outcome == CHANGED) == (" ".join(change.after).casefold() != " ".join(change.before).casefold())
        assert (change.outcome == CHANGED) == (change.changed > 0)


def test_a_synonym_is_of_the_same_concept_and_carries_the_tags_along():
    words = ["A", "heart", "attack", "."]
    drawn = {
        (tuple(made.words), tuple(made.tags))
        for seed in range(60)
        for made in [perturb(words, ["O", "B-Disease", "I-Disease", "O"], Synonymy(), GOLD, rng(seed))]
    }
    assert drawn == {
        (("A", "myocardial", "infarction", "."), ("O", "B-Disease", "I-Disease", "O")),
        (("A", "MI", "."), ("O", "B-Disease", "O")),
        (("A", "cardiac", "infarct", "of", "the", "heart", "."), ("O", "B-Disease", *["I-Disease"] * 4, "O")),
    }


def test_a_term_that_reaches_beyond_an_entity_is_left_alone():
    made = perturb(["heart", "attack"], ["O", "B-Disease"], Synonymy(), FOUND, rng())
    assert [change.outcome for change in made.changes] == [CROSSES]
    inside = perturb(["severe", "heart", "attack"], ["B-Disease", "I-Disease", "I-Disease"], Synonymy(), FOUND, rng(3))
    assert inside.changes[0].outcome == CHANGED
    assert set(inside.tags[1:]) == {"I-Disease"}


def test_why_nothing_changed_is_said():
    tags = ["B-Chemical", "B-Chemical", "B-Chemical"]
    outcomes = [one.outcome for one in perturb(["ss", "aaaa", "warfarin"], tags, Swap(), GOLD, rng()).changes]
    assert outcomes == [SHORT, STUCK, CHANGED]
    names = [one.outcome for one in perturb(["rash", "unheard", "Coumadin"], tags, Synonymy(), GOLD, rng()).changes]
    assert names == ["no synonym", "no synonym", "several concepts"]


def test_severities_of_one_attack_are_nested():
    words, tags = ["warfarin"] * 40, ["B-Chemical"] * 40
    made = {share: perturb(words, tags, Swap(share=share), GOLD, rng(5)) for share in (0.25, 0.5, 1.0)}
    hit = {
        share: {at for at, one in enumerate(found.changes) if one.outcome != SPARED} for share, found in made.items()
    }
    assert hit[0.25] < hit[0.5] < hit[1.0] == set(range(40))
    assert all(made[0.25].words[at] == made[1.0].words[at] for at in hit[0.25])
    assert 4 <= len(hit[0.25]) <= 16
    assert 12 <= len(hit[0.5]) <= 28


def test_a_term_gets_no_synonym_of_another_kind():
    lexicon = Lexicon(
        (
            Name("ra", "Disease", "RA"),
            Name("ra", "Disease", "rheumatoid arthritis"),
            Name("gold", "Chemical", "gold"),
            Name("gold", "Chemical", "aurum"),
        )
    )
    draw = np.random.default_rng(0)
    assert choose_synonym("RA", "Chemical", lexicon, draw).outcome == "no synonym"
    assert choose_synonym("RA", "disease", lexicon, draw).name == "rheumatoid arthritis"
    assert choose_synonym("RA", "Entity", lexicon, draw).name is not None  # a finder may have kinds of its own
