"""Attacks on texts of one's own: where replacements come from is a function of the user's, in the key of the search."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Literal

import pytest
from pydantic import TypeAdapter

from assay.infra.errors import InputError
from assay.infra.settings import Settings
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.table import ATTACKS, TEXT_ATTACKS
from assay.tasks.attacks.texts.resolved import ResolvedWordAttack, Sought, resolve_word_attack
from assay.tasks.attacks.texts.settings import A2T, Guided, WordAttack
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
    swaps, known = neighbour_piece(Words(("film", "good", "rare")), texts=["x"], attack=attack, inside=None, seed=0)
    assert [(row["word"], row["candidates"]) for row in swaps.to_pylist()] == [
        ("film", ["flick"]),
        ("good", ["ace", "fab"]),
    ]
    assert known.to_pylist() == [
        {"provider": "slang", "synonyms": None, "related": None, **dict.fromkeys(("auc", "low", "high", "pairs"))}
    ]
    choice = TEXT_ATTACKS.of(attack.settings)
    assert (choice.word, choice.swaps_words, choice.guided) == ("slang", True, False)


def test_its_options_and_its_source_are_in_the_key_of_the_search(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SLANG)
    first = resolved(tmp_path)
    assert Sought(first).fingerprint == Sought(resolved(tmp_path, name="other", examples=1)).fingerprint
    assert Sought(first).fingerprint != Sought(resolved(tmp_path, strong=True)).fingerprint
    (tmp_path / "mine.py").write_text(SLANG.replace('"ace"', '"dope"'))
    assert Sought(first).fingerprint != Sought(resolved(tmp_path)).fingerprint


def test_ours_are_searched_for_under_the_keys_that_they_had() -> None:
    # As a store has them that was written before there was a table.
    found = [
        Sought(resolve_word_attack(one, Path())).fingerprint[:12]
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
    assert [one.word for one in TEXT_ATTACKS if one.swaps_words] == ["a2t", "guided"]
    assert [one.word for one in TEXT_ATTACKS if one.guided] == ["guided"]
    assert all(issubclass(one.settings, WordAttack) == one.swaps_words for one in TEXT_ATTACKS)
