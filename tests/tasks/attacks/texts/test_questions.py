"""The same question put otherwise: every variant of a prompt, and how far answers depend on them."""

from __future__ import annotations

import numpy as np
import pytest

from assay.tasks.attacks.chance.flips import self_agreement, variant_findings
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts.questions import (
    Distractors,
    ExampleOrder,
    Orbit,
    Paraphrases,
    QuestionAttack,
    orders_of_examples,
    other_orders,
)
from assay.tasks.statistics.findings import Finding
from assay.tasks.subjects.addresses.chat import Message, Prompt, read_prompt, with_prompt
from assay.tasks.subjects.addresses.given import Asking, GivenModel

ASKING = Asking(form="chat", model="m", prompt="p.yaml", answers={"a": (), "b": (), "c": ()})
FEW = b"""
- {role: system, content: "One of {options}"}
- {role: user, content: first}
- {role: assistant, content: a}
- {role: user, content: second}
- {role: assistant, content: b}
- {role: user, content: "{text}"}
"""


def variants(attack: QuestionAttack) -> dict[str, tuple[Message, ...]]:
    choice = TEXT_ATTACKS.of(attack).variants
    assert choice is not None
    return dict(choice(attack, read_prompt(ASKING, FEW), lambda _: Prompt(ASKING, (Message("user", "Well? {text}"),))))


def test_all_orders_of_few_options_are_tried_and_so_many_drawn_of_more() -> None:
    orders = variants(Orbit())
    assert set(orders) == {"a, c, b", "b, a, c", "b, c, a", "c, a, b", "c, b, a"}
    assert orders["c, b, a"][0].content == "One of c, b, a"
    drawn = other_orders(8, 20)
    assert len(set(drawn)) == 20
    assert drawn == other_orders(8, 20)
    assert tuple(range(8)) not in drawn


def test_examples_change_places_with_their_answers() -> None:
    ((messages),) = variants(ExampleOrder()).values()
    assert [message.content for message in messages] == ["One of {options}", "second", "b", "first", "a", "{text}"]


def test_the_question_and_what_the_answer_begins_with_are_no_example() -> None:
    prompt = read_prompt(ASKING, FEW + b'- {role: assistant, content: "The class is"}')
    ((messages),) = dict(orders_of_examples(ExampleOrder(), prompt, lambda _: prompt)).values()
    assert [message.content for message in messages[-2:]] == ["{text}", "The class is"]


@pytest.mark.parametrize("sign", ["\N{GRINNING FACE}", "\u2028", "\x7f", '"', "\u00e9"])
def test_a_variant_says_what_the_prompt_says_whatever_signs_it_has(sign: str) -> None:
    given = GivenModel("m", "endpoint", "classifier", lambda _: len, asking=ASKING)
    messages = (Message("system", f"{sign} a, b"), Message("user", f"{sign} {{text}}"))
    variant = with_prompt(given, messages)
    assert read_prompt(variant.asking, variant.content).messages == messages


def test_other_wordings_and_sentences_behind_the_text() -> None:
    assert variants(Paraphrases(prompts=("other.txt",)))["other.txt"][0].content == "Well? {text}"
    ((messages),) = variants(Distractors(distractors=("It rains.",))).values()
    assert messages[-1].content == "{text} It rains."


def test_options_stand_in_the_order_of_the_answers_in_what_is_sent() -> None:
    body = read_prompt(ASKING, FEW).body(["a text with {options}"])
    assert body["messages"][0]["content"] == "One of a, b, c"
    assert body["messages"][-1]["content"] == "a text with {options}"


def test_what_depends_is_a_share_of_texts_and_what_chance_does_is_taken_off() -> None:
    draw = np.random.default_rng(0)
    first = draw.integers(0, 2, 4000)

    def again(share: float) -> np.ndarray:
        return np.where(draw.random(4000) < share, 1 - first, first)

    varied, about = [again(0.2), again(0.2)], Finding("", of="orbit", subject="m")
    depends, above = variant_findings(first, [again(0.05)], varied, None, about, 0.05)
    assert depends.low <= 1 - 0.8**2 <= depends.high
    assert above.low <= 0.15 <= above.high
    assert above.verdict == "more than chance"
    assert list(variant_findings(first, [], varied, None, about, 0.05)) == [depends]


def test_agreement_with_itself_is_cohens_kappa_which_chance_alone_does_not_raise() -> None:
    draw = np.random.default_rng(1)
    first = (draw.random(4000) < 0.1).astype(np.int64)
    second = (draw.random(4000) < 0.1).astype(np.int64)  # agree on 82 % of the texts
    alone = self_agreement(first, second, None, "m")
    assert alone.low < 0 < alone.high
    kept = self_agreement(first, np.where(draw.random(4000) < 0.5, first, second), None, "m")
    assert kept.low < 0.5 < kept.high
    grouped = self_agreement(first, second, np.arange(4000) // 4, "m")
    assert (grouped.value, grouped.low) == (alone.value, None)


def test_where_all_answers_are_one_chance_agrees_as_much() -> None:
    always = np.zeros(9, dtype=np.int64)
    assert self_agreement(always, always, None, "m").value is None
