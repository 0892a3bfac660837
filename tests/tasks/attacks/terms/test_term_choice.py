"""Attacks on terms of one's own: named beside ours, in the key, and held to what is relied on."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from assay.infra.errors import InputError
from assay.infra.settings import Settings
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.choice import TermAttackChoice
from assay.tasks.attacks.table import ATTACKS, TERM_ATTACKS
from assay.tasks.attacks.terms.changes import CHANGED, SPARED, Change
from assay.tasks.attacks.terms.perturbing import SentenceColumns, attacked_rows, perturb, resolve_attack
from assay.tasks.attacks.terms.settings import TermAttack

SHOUT = """
from typing import Literal
from assay.tasks.attacks.terms.changes import CHANGED, SPARED, Change
from assay.tasks.attacks.choice import TermAttackChoice
from assay.tasks.attacks.terms.settings import TermAttack

class Shout(TermAttack):
    attack: Literal["shout"] = "shout"
    '''Which attack it is.'''
    marks: int = 0
    '''How many exclamation marks follow.'''

def shout(term, attack, means, generator):
    after = tuple(word.upper() + "!" * attack.marks for word in term.words)
    return Change(term.span, term.words, after, CHANGED if after != term.words else SPARED, len(after), len(after))

SHOUT = TermAttackChoice(Shout, shout)
"""


def test_an_attack_of_ones_own_is_named_beside_ours_and_travels(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SHOUT)
    table = ATTACKS.with_plugins(tmp_path, ["mine.py:SHOUT"])
    settings = TypeAdapter(table.union).validate_python({"mine.py:SHOUT": {"marks": 2}})
    assert isinstance(settings, TermAttack)
    resolved = pickle.loads(pickle.dumps(resolve_attack(settings, tmp_path)))
    found = perturb(
        ["After", "hypertension"], ["O", "B-Disease"], resolved.settings, resolved.means, np.random.default_rng(0)
    )
    assert found.words == ["After", "HYPERTENSION!!"]
    assert TERM_ATTACKS.of(resolved.settings).word == "shout"
    assert TERM_ATTACKS.of(settings).conformance() == []
    before = resolve_attack(settings, tmp_path).fingerprint
    (tmp_path / "mine.py").write_text(SHOUT + "# louder")
    table = ATTACKS.with_plugins(tmp_path, ["mine.py:SHOUT"])
    again = TypeAdapter(table.union).validate_python({"mine.py:SHOUT": {"marks": 2}})
    assert resolve_attack(again, tmp_path).fingerprint != before


@pytest.mark.parametrize(
    ("change", "masked", "said"),
    [
        ("int(term.words[0])", False, r'The plug-in "mine.py:SHOUT" raised ValueError: invalid .*flu.* \(line 15\)\.$'),
        ("int(term.words[0])", True, r'The plug-in "mine.py:SHOUT" raised ValueError \(line 15\)\.$'),
        ("None", False, "The attack shout gave NoneType, expected a Change"),
    ],
)
def test_one_that_raises_or_gives_no_change_is_named(tmp_path: Path, change: str, masked: bool, said: str) -> None:
    lines = SHOUT.splitlines()
    at = next(place for place, line in enumerate(lines) if "return" in line)
    (tmp_path / "mine.py").write_text("\n".join([*lines[:at], f"    return {change}", *lines[at + 1 :]]))
    settings = TypeAdapter(ATTACKS.with_plugins(tmp_path, ["mine.py:SHOUT"]).union).validate_python("mine.py:SHOUT")
    attacks, words = [resolve_attack(settings, tmp_path, masked)], pa.table({"id": ["a"], "words": [["flu"]]})
    samples = words.append_column("tags", pa.array([["B-Disease"]]))
    columns = SentenceColumns(words="words", tags="tags")
    with pytest.raises(InputError, match=said):
        attacked_rows(samples, attacks=attacks, sentences=columns, seeds=Seeds(0, "terms"), reach=1.0)


def test_the_trial_goes_on_where_a_sentence_is_missing() -> None:
    class Mute(TermAttack):
        attack: Literal["mute"] = "mute"

    missing, broken = TermAttackChoice(Mute, lambda term, *_: term.words).conformance()
    assert "`attack` of Mute has no sentence" in missing
    assert "gave tuple, expected a Change" in broken


@pytest.mark.parametrize("choice", list(TERM_ATTACKS), ids=lambda choice: choice.word)
def test_ours_keep_what_is_promised(choice) -> None:
    assert choice.conformance() == []


class Mine(TermAttack):
    """An attack of a test."""

    attack: Literal["mine"] = "mine"
    """Which attack it is."""


def changed(term, after, outcome=CHANGED):
    return Change(term.span, term.words, tuple(after), outcome)


def drawn(term, attack, means, generator, own=np.random.default_rng(0)):  # noqa: B008
    return changed(term, [str(own.random()) for _ in term.words])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda term, *_: term.words, "gave tuple, expected a Change."),
        (lambda term, *_: changed(term, ["two words"]), "each a text without blanks."),
        (lambda term, *_: changed(term, []), "each a text without blanks."),
        (lambda term, *_: changed(term, term.words), "is what differs, and nothing else."),
        (lambda term, *_: changed(term, ["other"], SPARED), "is what differs, and nothing else."),
        (lambda term, *_: replace(changed(term, ["other"]), before=("x", "y", "z")), "and was asked about"),
        (lambda *_: 1 / 0, "ZeroDivisionError"),
        (drawn, "when it is asked again with the same generator"),
    ],
)
def test_a_broken_one_is_caught_in_one_sentence(function, said) -> None:
    (sentence,) = TermAttackChoice(Mine, function).conformance()
    assert said in sentence
    assert "\n" not in sentence


def test_its_settings_are_those_of_an_attack_on_terms() -> None:
    class Other(Settings):
        attack: Literal["other"] = "other"

    with pytest.raises(InputError, match="Other is no TermAttack"):
        TermAttackChoice(Other, drawn)
