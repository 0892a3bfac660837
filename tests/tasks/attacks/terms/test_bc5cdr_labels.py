"""On every sentence of BC5CDR: labels stay one for one, and what is unchanged never counts as attacked."""

import numpy as np
import pytest

from assay.data.catalog import located
from assay.tasks.attacks.terms.changes import CHANGED, GoldFinder, TermMeans
from assay.tasks.attacks.terms.perturbing import perturb
from assay.tasks.attacks.terms.synonymy import Synonymy
from assay.tasks.attacks.terms.typos import Keyboard, Swap
from assay.tasks.language.lexicons import catalogue_lexicon
from assay.tasks.statistics.entities import entities_of

pytestmark = pytest.mark.mirror

CORPORA = {"bc5cdr-chemical": ("bc5cdr_chemical", 15935), "bc5cdr-disease": ("bc5cdr_disease", 12852)}


@pytest.fixture(scope="module")
def lexicon():
    return catalogue_lexicon()


def sentences(name):
    from assay.data import biomedical_loaders

    table = getattr(biomedical_loaders, CORPORA[name][0])(located(name).folder)
    return zip(table["tokens"].to_pylist(), table["tags"].to_pylist(), strict=True)


@pytest.mark.parametrize("attack", [Swap(), Keyboard()], ids=["swap", "keyboard"])
@pytest.mark.parametrize("name", list(CORPORA))
def test_typos_keep_every_label_of_every_sentence(name, attack):
    terms = changed = 0
    for seed, (words, tags) in enumerate(sentences(name)):
        made = perturb(words, tags, attack, TermMeans(GoldFinder()), np.random.default_rng(seed))
        assert made.tags == tags
        assert len(made.words) == len(words)
        assert all(one == other for one, other, tag in zip(made.words, words, tags, strict=True) if tag == "O")
        for change in made.changes:
            terms += 1
            changed += change.outcome == CHANGED
            assert (change.after != change.before) == (change.outcome == CHANGED)
    assert terms == CORPORA[name][1]
    assert changed > 0.8 * terms  # the others have words of fewer than four letters


@pytest.mark.parametrize("name", [pytest.param("bc5cdr-chemical", marks=pytest.mark.slow), "bc5cdr-disease"])
def test_synonyms_keep_every_entity_of_every_sentence(name, lexicon):
    terms = changed = 0
    means = TermMeans(GoldFinder(), lexicon)
    for seed, (words, tags) in enumerate(sentences(name)):
        made = perturb(words, tags, Synonymy(), means, np.random.default_rng(seed))
        assert [one.kind for one in entities_of(made.tags)] == [one.kind for one in entities_of(tags)]
        assert len(made.words) == len(made.tags)
        for change in made.changes:
            terms += 1
            changed += change.outcome == CHANGED
            if change.outcome == CHANGED:
                assert " ".join(change.after).casefold() != " ".join(change.before).casefold()
                assert change.concept in {one.concept for one in lexicon.names_of(" ".join(change.before))}
                assert change.concept in {one.concept for one in lexicon.names_of(" ".join(change.after))}
    assert changed > 0.3 * terms
