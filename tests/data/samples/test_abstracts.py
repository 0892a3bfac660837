"""The simulated abstracts and pairs are what they say: tagged by the lexicon, partly new, scored by what is shared."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.data.samples.abstract_pairs import EFFECTS, WEIGHTS, WHOM, Finding, abstract_pairs, similarity
from assay.data.samples.abstracts import abstracts, concepts, words_in
from assay.data.samples.registry import embedded

TABLE = abstracts(seed=0)
PAIRS = abstract_pairs(seed=0)
NAMES = {" ".join(words_in(name)).casefold(): one for one in concepts() for name in one.names}


def entities(split: str) -> list[tuple[str, str]]:
    """The entities of a part, as their words in small letters and their type."""
    found: list[tuple[str, list[str]]] = []
    for row in TABLE.to_pylist():
        for word, tag in zip(row["tokens"], row["tags"], strict=True) if row["split"] == split else ():
            if tag.startswith("B-"):
                found.append((tag[2:], [word]))
            elif tag.startswith("I-"):
                assert found[-1][0] == tag[2:]
                found[-1][1].append(word)
    return [(" ".join(words).casefold(), kind) for kind, words in found]


def test_the_lexicon_has_many_concepts_of_several_names_and_no_name_twice() -> None:
    known = concepts()
    assert len(known) >= 120
    assert all(3 <= len(one.names) <= 4 for one in known)
    assert len(NAMES) == sum(len(one.names) for one in known)
    assert {one.kind for one in known} == {"Disease", "Chemical"}


def test_every_entity_is_a_name_of_the_lexicon_and_of_its_type() -> None:
    assert all(NAMES[text].kind == kind for split in ("train", "test") for text, kind in entities(split))


def test_a_part_of_the_test_entities_is_new_and_their_concepts_too() -> None:
    trained = {NAMES[text].key for text, _ in entities("train")}
    tested = entities("test")
    new = [NAMES[text].key not in trained for text, _ in tested]
    assert 0.2 < np.mean(new) < 0.35
    assert len(entities("train")) > 2000


def test_the_last_name_of_a_concept_is_left_to_attacks_by_synonyms() -> None:
    written = {text for split in ("train", "test") for text, _ in entities(split)}
    assert not written & {" ".join(words_in(one.names[-1])).casefold() for one in concepts()}


def test_no_test_sentence_is_a_training_sentence() -> None:
    rows = TABLE.to_pylist()
    trained = {tuple(row["tokens"]) for row in rows if row["split"] == "train"}
    assert not trained & {tuple(row["tokens"]) for row in rows if row["split"] == "test"}


def test_words_of_terms_also_stand_in_another_meaning() -> None:
    lonely = [row["tokens"] for row in TABLE.to_pylist() if set(row["tags"]) == {"O"}]
    assert 0.2 < len(lonely) / TABLE.num_rows < 0.35
    assert sum(any(word.casefold() in NAMES for word in words) for words in lonely) > 30


def test_every_tag_belongs_to_a_word_and_every_sentence_begins_with_a_capital() -> None:
    for row in TABLE.to_pylist():
        assert len(row["tokens"]) == len(row["tags"])
        assert not row["tokens"][0][0].islower()


@pytest.mark.parametrize(("table", "make"), [(TABLE, abstracts), (PAIRS, abstract_pairs)])
def test_a_seed_makes_the_same_and_another_seed_another(table, make) -> None:
    assert make(seed=0).equals(table)
    assert not make(seed=1, train=5, test=5).equals(make(seed=0, train=5, test=5))


def test_scores_are_the_weight_of_what_two_findings_share() -> None:
    known = concepts()
    one = Finding(known[-1], known[0], "causes", "rats")
    other = Finding(known[-2], known[1], "prevents", "women")
    assert similarity(one, one) == 4.0
    assert similarity(one, other) == 0.0
    for kept in itertools.product((False, True), repeat=4):
        parts = {part: getattr(one if keep else other, part) for part, keep in zip(WEIGHTS, kept, strict=True)}
        weight = sum(value for value, keep in zip(WEIGHTS.values(), kept, strict=True) if keep)
        assert similarity(one, Finding(**parts)) == pytest.approx(4 * weight)
        assert similarity(one, Finding(**parts)) == similarity(Finding(**parts), one)
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_pairs_cover_the_range_and_say_the_same_in_other_words() -> None:
    scores = PAIRS["score"].to_numpy()
    assert (scores.min(), scores.max()) == (0.0, 4.0)
    assert len(np.unique(scores)) > 8
    same = [row for row in PAIRS.to_pylist() if row["score"] == 4.0]
    assert np.mean([row["first"] != row["second"] for row in same]) > 0.9
    assert all(len(ways) >= 4 for ways in EFFECTS.values())
    assert all(len(ways) >= 2 for ways in WHOM.values())


def test_the_lexicon_is_part_of_what_the_samples_are_made_of() -> None:
    assert "assay.data:lexicons/terms.tsv" in embedded("sample/abstracts").made_of
    assert embedded("sample/abstracts").fingerprint != embedded("sample/abstract-pairs").fingerprint
