"""The attacks that users know by name: of the parts of TextAttack's recipes, and under a check of meaning."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from assay.infra.errors import InputError
from assay.tasks.attacks.table import ATTACKS, TEXT_PRESETS
from assay.tasks.attacks.texts.composing import compose
from assay.tasks.attacks.texts.published import BertAttack, DeepWordBug, edited, misspellings
from assay.tasks.attacks.texts.resolved import resolve_word_attack
from assay.tasks.attacks.texts.settings import A2T
from assay.tasks.attacks.texts.similarity import CharacterEncoder
from assay.tasks.attacks.texts.textattack_import import textattack
from assay.tasks.attacks.texts.textattack_parts import MaskedSwap, SpannedText
from assay.tasks.language import synonyms

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SETS = [["film", "movie", "motion_picture"], ["film", "photograph"], ["dull", "boring"], ["pelicula"]]


class Synset:
    def __init__(self, members):
        self.members = members

    def lemma_names(self, lang="eng"):
        if lang not in ("eng", "spa"):
            raise ValueError(f"Language: '{lang}' is not supported")
        return self.members


WORDNET = SimpleNamespace(
    all_synsets=lambda: [Synset(members) for members in SETS],
    synsets=lambda word, lang="eng": [Synset(members) for members in SETS if word in members],
    langs=lambda: ["eng", "spa"],
)


@pytest.fixture
def wordnet(monkeypatch):
    import nltk
    from nltk import corpus

    monkeypatch.setattr(corpus, "wordnet", WORDNET)
    monkeypatch.setattr(nltk, "download", lambda *_: True)


def test_pwws_takes_the_synonyms_that_textattacks_recipe_takes(wordnet, tmp_path, monkeypatch):
    textattack()
    from textattack.transformations.word_swaps import word_swap_wordnet

    monkeypatch.setattr(word_swap_wordnet, "wordnet", WORDNET)
    theirs = word_swap_wordnet.WordSwapWordNet()
    settings = TEXT_PRESETS["pwws"].model_copy(update={"vectors": "wordnet", "encoder": "word-vectors"})
    ours = json.loads(resolve_word_attack(settings, tmp_path).lists.content)
    assert ours["film"] == ["movie", "photograph"]
    for word in ("film", "movie", "dull", "pelicula"):
        assert set(ours.get(word, [])) == set(theirs._get_replacement_words(word))


def test_textfooler_asks_what_the_recipe_asks():
    settings = TEXT_PRESETS["textfooler"]
    assert settings.similarity == pytest.approx(math.cos(math.pi * (1 - 0.840845057)), abs=1e-3)
    assert (settings.candidates, settings.ranking, settings.antonyms) == (50, "deletion", "refuse")
    assert ATTACKS.spelt_out("textfooler").vectors == "counterfitted-neighbors"


@pytest.mark.parametrize(
    ("vectors", "part_of_speech", "sentence"),
    [
        ("wordnet:fra", False, "no words of the language 'fra'.*omw-1.4"),
        ("wordnet:spa", True, "part_of_speech: false"),
        ("open-english-wordnet", True, "open-english-wordnet"),
    ],
)
def test_what_is_not_there_is_refused_by_name(wordnet, tmp_path, monkeypatch, vectors, part_of_speech, sentence):
    monkeypatch.setenv("ASSAY_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=sentence):
        resolve_word_attack(A2T(vectors=vectors, part_of_speech=part_of_speech, encoder="word-vectors"), tmp_path)


def test_another_language_has_the_words_of_its_wordnet(wordnet, tmp_path):
    settings = A2T(vectors="wordnet:spa", part_of_speech=False, encoder="word-vectors")
    assert "film" in json.loads(resolve_word_attack(settings, tmp_path).lists.content)


def test_without_wordnet_pwws_says_what_to_do(monkeypatch, tmp_path):
    from nltk import corpus

    def nowhere():
        raise LookupError("Resource wordnet not found")

    monkeypatch.setattr(corpus, "wordnet", SimpleNamespace(all_synsets=nowhere))
    with pytest.raises(InputError, match=r"nltk\.downloader wordnet.*open-english-wordnet"):
        resolve_word_attack(A2T(vectors="wordnet", encoder="word-vectors"), tmp_path)


def test_misspellings_are_those_of_textattacks_recipe():
    textattack()
    from textattack.transformations import WordSwapNeighboringCharacterSwap, WordSwapRandomCharacterDeletion

    swap, deletion = (
        WordSwapNeighboringCharacterSwap(random_one=False),
        WordSwapRandomCharacterDeletion(random_one=False),
    )
    for seed in range(8):
        swapped, replaced, shorter, longer = edited("wonderful", "abc", np.random.default_rng(seed))
        assert swapped in swap._get_replacement_words("wonderful")
        assert shorter in deletion._get_replacement_words("wonderful")
        assert len(replaced) == 9
        assert sum(a != b for a, b in zip(replaced, "wonderful", strict=True)) <= 1
        assert "wonderful" in {longer[:at] + longer[at + 1 :] for at in range(10)}


def test_a_misspelling_that_is_a_word_says_something_else_and_is_left_out():
    words = ["bad", "bed", "form", "from", "trial"]
    made = misspellings(words, [], DeepWordBug(), 0)
    assert made == misspellings(words, [], DeepWordBug(), 0)
    tried = [misspellings(words, [], DeepWordBug(), seed) for seed in range(20)]
    every = {new for lists in tried for some in lists.values() for new in some}
    assert every
    assert not every & {"bed", "bad", "form", "from", "trail", "farm"}


def test_deepwordbug_keeps_to_its_edits():
    class Says:
        classes = 2

        def probabilities(self, texts):
            return np.array([[0.9, 0.1] if "wonderful" in text else [0.1, 0.9] for text in texts])

    lists = {"wonderful": ["wodnerful"], "film": ["flim"]}
    for edits, status in ((1, "skipped"), (2, "success")):
        settings = DeepWordBug(edits=edits, similarity=-1.0)
        encoder = CharacterEncoder()
        attacker = compose(Says(), settings, encoder, lambda word, _: lists.get(word, ()), encoder)
        outcome = attacker.outcome("a wonderful story", 0)
        assert outcome.status == status
    assert outcome.text == "a wodnerful story"


@pytest.fixture(scope="module")
def masked_model(tmp_path_factory):
    """A masked language model of random weights, over a vocabulary of words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path_factory.mktemp("masked")
    words = [*MARKS, "a", "the", "film", "movie", "was", "dull", "boring", "good", "great", "un", "##real", "##ly"]
    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.add_special_tokens(MARKS)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertForMaskedLM(BertConfig(len(words), max_position_embeddings=32, **sizes)).save_pretrained(folder)
    return folder


def test_bert_attack_offers_what_textattacks_transformation_offers(masked_model):
    textattack()
    from textattack.shared import AttackedText
    from textattack.transformations import WordSwapMaskedLM
    from transformers import AutoModelForMaskedLM, PreTrainedTokenizerFast

    marks = {"pad_token": "[PAD]", "mask_token": "[MASK]", "unk_token": "[UNK]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(masked_model / "tokenizer.json"), **marks)
    model = AutoModelForMaskedLM.from_pretrained(masked_model)
    theirs = WordSwapMaskedLM("bert-attack", model, tokenizer, 32, max_candidates=6)
    ours = MaskedSwap(str(masked_model), 6, lambda *_: True)
    text = "the film was dull"
    expected = {new.text for new in theirs._get_transformations(AttackedText(text), {1, 3})}
    made = {new.text for new in ours._get_transformations(SpannedText(text), {1, 3})}
    assert expected
    assert made == {new for new in expected if "[" not in new and "#" not in new}
    no_opposites = MaskedSwap(str(masked_model), 6, lambda word, new: (word, new) not in {("dull", "good")})
    assert all("good" not in new.text for new in no_opposites._get_transformations(SpannedText(text), {3}))


def test_a_masked_model_is_part_of_the_key_and_refused_where_there_is_none(masked_model, tmp_path):
    settings = BertAttack(masked_model=str(masked_model), encoder="word-vectors")
    resolved = resolve_word_attack(settings, tmp_path)
    assert resolved.masked.content
    with pytest.raises(InputError, match=r"masked_model.*no config.json"):
        resolve_word_attack(BertAttack(masked_model="nowhere", encoder="word-vectors"), tmp_path)


def test_synonyms_of_the_catalogues_wordnet_are_single_words(tmp_path):
    import gzip

    folder = tmp_path / "open_english_wordnet_synonyms"
    folder.mkdir()
    with gzip.open(folder / "oewn_synsets.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("id\tpos\tdef\tmembers\n1\tn\t-\tfilm|movie|motion picture\n")
    assert synonyms.open_wordnet_members(folder) == [["film", "movie", "motion picture"]]
