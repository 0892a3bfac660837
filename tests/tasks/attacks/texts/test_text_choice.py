"""Attacks on texts of one's own: where replacements come from is a function of the user's, in the key of the search."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from assay.infra.errors import InputError
from assay.infra.settings import Settings
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.table import ATTACKS, TEXT_ATTACKS
from assay.tasks.attacks.texts import rewriting
from assay.tasks.attacks.texts.resolved import ResolvedWordAttack, SwapSearch, resolve_word_attack
from assay.tasks.attacks.texts.rewriting import rewrite_rows
from assay.tasks.attacks.texts.settings import A2T, Guided, TextRewrite, WordAttack
from assay.tasks.attacks.texts.swaps import Words, neighbour_piece

SLANG = """
from typing import Literal
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.texts.settings import WordAttack

class Slang(WordAttack):
    attack: Literal["slang"] = "slang"
    strong: bool = False

def replacements(words, texts, attack, seed):
    known = {"good": ["ace", "fab"], "film": ["flick"]}
    return {word: known[word][:2 if attack.strong else 1] for word in words if word in known}

SLANG = TextAttackChoice(Slang, replacements=replacements)
"""


def resolved(folder: Path, **options: object) -> ResolvedWordAttack:
    table = ATTACKS.with_plugins(folder, ["mine.py:SLANG"])
    written = {"mine.py:SLANG": {"encoder": "word-vectors", **options}}
    return resolve_word_attack(TypeAdapter(table.union).validate_python(written), folder)


def test_words_give_way_to_what_a_function_of_ones_own_says(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SLANG)
    attack = pickle.loads(pickle.dumps(resolved(tmp_path, strong=True)))
    swaps, known = neighbour_piece(Words(("film", "good", "rare")), texts=["x"], attack=attack, load=object, seed=0)
    assert [(row["word"], row["candidates"]) for row in swaps.to_pylist()] == [
        ("film", ["flick"]),
        ("good", ["ace", "fab"]),
    ]
    assert known.to_pylist() == [
        {"provider": "slang", "synonyms": None, "related": None, **dict.fromkeys(("auc", "low", "high", "pairs"))}
    ]
    choice = TEXT_ATTACKS.of(attack.settings)
    assert (choice.word, choice.swaps_words, choice.guided) == ("slang", True, False)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("1 / 0", r'The plug-in "mine.py:SLANG" raised ZeroDivisionError: division by zero \(line 12\)\.'),
        ("{'film': 'flick'}", "The attack slang offers no list of words for each word"),
        ("None", "The attack slang offers no list of words for each word"),
    ],
)
def test_one_that_raises_or_offers_no_lists_is_named(tmp_path: Path, found: str, said: str) -> None:
    lines = SLANG.splitlines()
    at = next(place for place, line in enumerate(lines) if "return" in line)
    (tmp_path / "mine.py").write_text("\n".join([*lines[:at], f"    return {found}", *lines[at + 1 :]]))
    with pytest.raises(InputError, match=said):
        neighbour_piece(Words(("film",)), texts=["x"], attack=resolved(tmp_path), load=object, seed=0)
    if "raised" in said:
        unquoted = replace(resolved(tmp_path), unquoted=True)
        with pytest.raises(InputError, match=r"raised ZeroDivisionError \(line 12\)"):
            neighbour_piece(Words(("film",)), texts=["x"], attack=unquoted, load=object, seed=0)


def test_its_options_and_its_source_are_in_the_key_of_the_search(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SLANG)
    first = resolved(tmp_path)
    assert SwapSearch(first).fingerprint == SwapSearch(resolved(tmp_path, name="other", examples=1)).fingerprint
    assert SwapSearch(first).fingerprint != SwapSearch(resolved(tmp_path, strong=True)).fingerprint
    (tmp_path / "mine.py").write_text(SLANG.replace('"ace"', '"dope"'))
    assert SwapSearch(first).fingerprint != SwapSearch(resolved(tmp_path)).fingerprint


def test_ours_are_searched_for_under_the_keys_that_they_had() -> None:
    # As a store has them that was written before there was a table.
    found = [
        SwapSearch(resolve_word_attack(one, Path())).fingerprint[:12]
        for one in (
            A2T(encoder="word-vectors", vectors="fasttext"),
            A2T(encoder="word-vectors", vectors="ppmi", min_cosine=0.5),
            Guided(encoder="word-vectors"),
            Guided(encoder="word-vectors", part_of_speech=False),
        )
    ]
    assert found == ["768e8848ce77", "bd1b25dec5e0", "f188af4e57e1", "6a9a094b750c"]


def test_its_settings_are_those_of_an_attack_on_texts() -> None:
    class Other(Settings):
        attack: Literal["other"] = "other"

    with pytest.raises(InputError, match="Other is no WordAttack"):
        TextAttackChoice(Other)


def test_word_attacks_are_told_from_noise_by_their_table() -> None:
    assert [one.word for one in TEXT_ATTACKS if one.swaps_words] == ["a2t", "guided", "bert-attack", "deepwordbug"]
    assert [one.word for one in TEXT_ATTACKS if one.guided] == ["guided"]
    assert all(issubclass(one.settings, WordAttack) == one.swaps_words for one in TEXT_ATTACKS)


SHOUT = """
from typing import Literal
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.texts.settings import TextRewrite

class Shout(TextRewrite):
    attack: Literal["shout"] = "shout"

def rewrite(text, label, ask, attack, generator):
    shouted = text.upper() + "!"
    return shouted if ask([shouted])[0].argmax() != label else text

SHOUT = TextAttackChoice(Shout, rewrite=rewrite)
"""


def test_an_attack_that_swaps_no_words_makes_texts_and_is_told_what_the_subject_says(tmp_path, monkeypatch) -> None:
    class Loud:
        def probabilities(self, texts):
            return np.array([[0.1, 0.9] if text.endswith("!") else [0.8, 0.2] for text in texts])

    (tmp_path / "mine.py").write_text(SHOUT)
    attack = TypeAdapter(ATTACKS.with_plugins(tmp_path, ["mine.py:SHOUT"]).union).validate_python("mine.py:SHOUT")
    monkeypatch.setattr(rewriting, "load_text_model", lambda *_: Loud())
    samples = pa.table({"id": ["a", "b", "c"], "text": ["so bad", "oh!", ""], "gold": [0, 0, None]})
    subject = SimpleNamespace(settings=SimpleNamespace(text="text"), gives_chances=True, masked=False)
    options = {"attack": attack, "subject": subject, "files": {}, "classes": 2, "seeds": Seeds(0, "attack")}
    first, wrong, empty = rewrite_rows(samples, **options).to_pylist()
    assert (first["status"], first["attacked_text"], first["queries"]) == ("success", "SO BAD!", 1)
    assert list(zip(first["originals"], first["replacements"], strict=True)) == [("so", "SO"), ("bad", "BAD!")]
    assert (wrong["status"], wrong["reason"]) == ("skipped", "the prediction is wrong already")
    assert (empty["status"], empty["attacked_text"]) == ("success", "!")


def test_whoever_makes_texts_says_how() -> None:
    class Other(TextRewrite):
        attack: Literal["other"] = "other"

    with pytest.raises(InputError, match="The attack other makes other texts"):
        TextAttackChoice(Other)
