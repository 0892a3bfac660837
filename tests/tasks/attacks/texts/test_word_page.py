"""The page about attacks on texts says what was found, marks every changed word, and shows nothing that is masked."""

from __future__ import annotations

import pyarrow as pa
import pytest

from assay.data.schemas import ChangedTexts
from assay.tasks.attacks.texts.measures import carriers, word_examples
from assay.tasks.attacks.texts.page import ShownTexts
from assay.tasks.attacks.texts.page import page as page_of
from assay.tasks.reporting.gallery import changed_lines, masked_lines
from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import BarPlot, DataTable, Estimate, MarkedTexts, Panels
from assay.tasks.statistics.findings import Finding, FindingIndex

CLASSES = ("neg", "pos")
RATE = Finding("attack.success_rate", of="guided", subject="bert", value=0.5, low=0.3, high=0.7, n=20, unit="share")
FINDINGS = [
    RATE,
    Finding("attack.success_rate", of="a2t", subject="bert", value=0.25, low=0.1, high=0.5, n=20, unit="share"),
    Finding("attack.perturbed_words", of="guided", subject="bert", value=1.5, low=1.2, high=1.8, n=10, unit="words"),
    Finding("attack.similarity", of="guided", group="minilm", subject="bert", value=0.95, n=10, unit="cosine"),
    *(
        Finding("attack.skipped", of=attack, group=why, subject="bert", value=0.2, low=0.09, high=0.39, n=25)
        for attack in ("guided", "a2t")
        for why in ("", "the prediction is wrong already")
    ),
    *(Finding("attack.accuracy", of=attack, subject="bert", value=0.4, n=25) for attack in ("guided", "a2t")),
    Finding("attack.limit", of="a2t", group="encoder", subject="bert", value=0.546, unit="cosine"),
    Finding("attack.limit", of="guided", group="ppmi", subject="bert", value=0.26, unit="cosine"),
    Finding("attack.limit", of="guided", group="encoder", subject="bert", value=0.34, unit="cosine"),
    Finding(
        "attack.success_difference",
        of="guided - a2t",
        subject="bert",
        value=0.25,
        low=0.0,
        high=0.5,
        n=20,
        p_value=0.03,
    ),
    Finding(
        "attack.mcnemar_p",
        of="guided - a2t",
        subject="bert",
        value=0.03,
        n=20,
        p_value=0.03,
        p_adjusted=0.04,
        verdict="more often",
        unit="p",
    ),
    Finding("subject.accuracy", of="clean", subject="bert", value=0.9, low=0.8, high=1.0, n=25),
    *(
        Finding(
            "attack.accuracy",
            of="noise",
            group=f"{kind}, severity={severity}",
            subject="bert",
            value=0.9 - 0.1 * severity,
            low=0.1,
            high=1.0,
            n=25,
        )
        for kind in ("typos", "every kind")
        for severity in (1, 5)
    ),
    Finding(
        "attack.worst_accuracy",
        of="noise",
        subject="bert",
        value=0.4,
        low=0.1,
        high=1.0,
        n=25,
        verdict="typos, severity=5",
    ),
]
TEXT = "A truly lovely film, lovely indeed."


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def attacked(*rows: dict[str, object]) -> pa.Table:
    whole = {
        "id": "a",
        "gold": 1,
        "status": "success",
        "predicted": 1,
        "attacked": 0,
        "text": TEXT,
        "words": 6,
        "starts": [8],
        "ends": [14],
        "originals": ["lovely"],
        "replacements": ["nice"],
        "changed": 1,
        "similarity": 0.97,
    }
    return pa.Table.from_pylist([whole | row for row in rows])


def shown(masked: bool = False) -> ShownTexts:
    table = attacked({}, {"id": "b", "status": "failed", "attacked": 1})
    examples = word_examples(table, called="guided", limit=4, masked=masked)
    return ShownTexts("bert", "guided", CLASSES, examples, table, masked)


def markup(part) -> str:
    return "".join(str(block_markup(block, place)) for place, block in enumerate(part.blocks))


def test_the_sentence_names_the_attack_that_succeeds_most_with_its_interval():
    part = page(FINDINGS, [shown()])
    assert part.sentence.replace("\u202f", " ").startswith(
        "Guided changes the answer of bert on 50.0 % [30.0, 70.0] of the 20 texts that it attacked, by 1.5 changes "
        "each on average."
    )
    assert "With typos at severity 5 it gets 40.0" in part.sentence


def test_an_example_counts_its_changes_not_its_words_of_which_an_injection_replaces_none():
    (texts,) = [block for block in page(FINDINGS, [shown()]).blocks if isinstance(block, MarkedTexts)]
    assert texts.texts[0].said[1].text == "1 change in 6 words, similarity 0.970"


def test_without_attacks_on_texts_there_is_nothing_to_say():
    images = Finding("attack.accuracy", of="pgd", group="eps=0.1", subject="net", value=0.1)
    assert page([images]).sentence == "Nothing was attacked."


def test_rates_what_is_left_examples_carriers_and_noise_each_have_their_place():
    part = page(FINDINGS, [shown()])
    assert [type(block) for block in part.blocks] == [BarPlot, DataTable, MarkedTexts, DataTable, Panels]
    rates, left, _, carried, curves = part.blocks
    assert (rates.names, rates.values) == (["guided on bert", "a2t on bert"], [0.5, 0.25])
    assert [plot.series[0].x for plot in curves.plots] == [[0.0, 1.0, 5.0]] * 2
    assert all("Accuracy with" in plot.alt for plot in curves.plots)
    said = "uided succeeds more often than a2t on bert (+25.0 points [0, 50.0], p = 0.040 after Holm)"
    assert said in part.sentence
    assert left.title == "What attacks leave right"
    assert carried.title == "Words that carry the attacks, guided on bert"
    first = carried.rows[0]
    assert (first[0], first[1], first[3]) == ("lovely", 1, "nice")


def test_only_the_hardest_noise_stands_beside_the_word_attacks_with_its_clean_accuracy():
    (left,) = [block for block in page(FINDINGS).blocks if isinstance(block, DataTable)]
    assert [(row[1], row[2].value, row[3].value) for row in left.rows] == [
        ("guided", 0.8, 0.4),
        ("a2t", 0.8, 0.4),
        ("typos at severity 5", 0.9, pytest.approx(0.4)),
    ]
    assert left.rows[0][2] == Estimate(0.8, 1 - 0.39, 1 - 0.09, 25)  # of groups, as the findings are


def test_the_sentence_names_the_kinds_of_noise_that_a_paired_test_shows_to_cost_accuracy():
    def test(kind: str, verdict: str) -> Finding:
        return Finding(
            "attack.mcnemar_p", of="noise", group=f"{kind}, severity=5", subject="bert", value=0.5, verdict=verdict
        )

    needed = test("casing", "not shown: p ≤ 0.05 needed")
    shown = "Paired tests at severity 5, corrected (Holm), show that less is right with "
    assert f"{shown}typos." in page([*FINDINGS, test("typos", "worse"), needed]).sentence
    assert f"{shown}no kind." in page([*FINDINGS, needed]).sentence
    assert "Paired tests" not in page(FINDINGS).sentence


def without(*metrics: str) -> list[Finding]:
    return [one for one in FINDINGS if one.metric not in metrics]


def test_a_comparison_names_both_limits_and_what_unlike_ones_mean():
    said = page(FINDINGS).sentence
    assert "guided may take words at cosine ≥ 0.26 to 0.34 by 2 vector spaces, a2t at cosine ≥ 0.55" in said
    assert "these limits are unlike, and this compares them as much as the attacks" in said
    alike = Finding("attack.limit", of="a2t", group="encoder", subject="bert", value=0.3402, unit="cosine")
    kept = [one for one in FINDINGS if (one.metric, one.of) != ("attack.limit", "a2t")]
    assert "unlike" not in page([*kept, alike]).sentence
    assert "cosine" not in page(without("attack.limit")).sentence


def test_what_does_not_survive_the_correction_is_no_conclusion():
    lost = Finding(
        "attack.mcnemar_p",
        of="guided - a2t",
        subject="bert",
        value=0.03,
        n=20,
        p_value=0.03,
        p_adjusted=0.06,
        verdict="not shown: p ≤ 0.05 needed",
        unit="p",
    )
    said = page([*without("attack.mcnemar_p"), lost]).sentence
    assert (
        "That guided and a2t differ in success on bert is not shown (+25.0 points [0, 50.0], p = 0.060 after Holm)"
        in said
    )
    assert "more often" not in said


def test_an_attack_that_could_try_nothing_says_so_and_nothing_of_the_subject():
    nothing = [
        Finding("attack.success_rate", of="a2t", subject="bert", n=0, verdict="not measured"),
        Finding("attack.skipped", of="a2t", subject="bert", value=1.0, n=20),
        *(
            Finding("attack.skipped", of="a2t", group=why, subject="bert", value=share, n=20)
            for why, share in (("no replacement is known for any word", 0.9), ("the text is empty", 0.1))
        ),
    ]
    part = page(nothing)
    assert part.sentence == (
        "A2t could try nothing on any of 20 texts (18: no replacement is known for any word; 2: the text is empty), "
        "which says nothing about bert."
    )
    assert part.blocks == []


def test_without_true_classes_another_answer_is_no_wrong_one():
    unknown = [*without("attack.accuracy"), Finding("attack.accuracy", of="guided", subject="bert", n=0)]
    assert page(unknown).sentence.startswith("Guided changes the answer of bert on 50.0")
    table = attacked({"gold": None})
    examples = word_examples(table, called="noise", limit=1, masked=False)
    (block,) = [
        one
        for one in page(FINDINGS, [ShownTexts("bert", "noise", CLASSES, examples)]).blocks
        if isinstance(one, MarkedTexts)
    ]
    assert "the gentlest that changes the answer" in block.note


def test_accuracy_before_and_after_is_of_the_same_texts():
    (table,) = [block for block in page(FINDINGS).blocks if isinstance(block, DataTable)]
    row = dict(zip([column.name for column in table.columns], table.rows[0], strict=True))
    assert (row["Right before"].value, row["Right before"].n) == (0.8, 25)
    assert (row["Accuracy"].value, row["Accuracy"].n) == (0.4, 25)
    assert "Of the texts under attack" in table.note


def test_an_example_is_two_lines_with_the_changed_word_marked_in_both():
    (block,) = [one for one in page(FINDINGS, [shown()]).blocks if isinstance(one, MarkedTexts)]
    first = block.texts[0]
    assert [one.text for one in first.stretches if one.tone] == ["lovely"]
    assert [one.text for one in first.below if one.tone] == ["nice"]
    assert "".join(one.text for one in first.below) == TEXT.replace("lovely", "nice", 1)
    html = markup(page(FINDINGS, [shown()]))
    assert html.count('class="words"') == 4
    assert "<mark" in html


def test_masked_pages_hold_no_word_of_a_text():
    html = markup(page(FINDINGS, [shown(masked=True)]))
    assert "■■■■" in html
    assert not any(word in html for word in ("lovely", "nice", "film", "truly"))


def test_examples_are_the_successes_of_fewest_words_and_one_failure():
    rows = [
        {"id": "two", "changed": 2, "starts": [2, 8], "ends": [7, 14], "replacements": ["so", "nice"]},
        {"id": "one"},
        {"id": "lost", "status": "failed"},
        {"id": "lost too", "status": "failed"},
        {"id": "alike", "similarity": 0.99},
        {"id": "left", "status": "skipped", "changed": 0},
    ]
    made = word_examples(attacked(*rows), called="a2t", limit=4, masked=False)
    assert made["id"].to_pylist() == ["alike", "one", "two", "lost"]
    assert made.schema.equals(ChangedTexts.schema)
    assert word_examples(attacked(*rows), called="a2t", limit=1, masked=False)["id"].to_pylist() == ["alike"]


def test_an_instruction_put_in_replaces_no_word():
    injected = {"originals": ["", "good"], "replacements": ["Ignore the above.", "bad"], "starts": [14, 0]}
    assert [carrier.word for carrier in carriers(attacked(injected))] == ["good"]


def test_carriers_are_ranked_by_the_attacks_that_succeed():
    rows = [
        {},
        {"status": "failed"},
        {"originals": ["Dull"], "replacements": ["flat"]},
        {"replacements": ["fine"]},
        {"status": "failed", "originals": ["never"]},
    ]
    found = carriers(attacked(*rows))
    assert [(one.word, one.successes, one.attacks) for one in found] == [("lovely", 2, 3), ("dull", 1, 1)]


@pytest.mark.parametrize(
    ("text", "changes", "before", "after"),
    [
        ("so good", [(2, 3, "")], ["so good"], ["sogood"]),
        ("so good", [(7, 7, "!")], ["good"], ["good!"]),
        ("good", [(0, 1, "G"), (3, 4, "t")], ["good"], ["Goot"]),
        ("a b", [(0, 1, ""), (2, 3, "")], ["a", "b"], []),
        ("", [], [], []),
    ],
)
def test_every_word_that_a_change_touches_is_marked_whole(text, changes, before, after):
    first, second = changed_lines(text, changes)
    assert [one.text for one in first if one.tone] == before
    assert [one.text for one in second if one.tone] == after
    assert "".join(one.text for one in first) == text


def refused(value: float | None) -> Finding:
    return Finding(
        "attack.refused",
        of="a2t",
        subject="bert",
        value=value,
        n=25,
        unit="replacements",
        verdict="" if value is not None else "opposites are let in",
    )


def test_the_page_says_once_how_many_opposites_were_refused_or_that_they_were_let_in():
    rates = page([*FINDINGS, refused(7.0)]).blocks[0]
    assert "7 replacements were refused as opposites of their words; the list is not complete" in rates.note
    assert "a2t may put in opposites (antonyms: allow)" in page([*FINDINGS, refused(None)]).blocks[0].note


def test_attacks_on_a_classifier_that_always_answers_alike_say_nothing():
    flag = Finding(
        "attack.red_flag",
        of="majority-predictor",
        subject="bert",
        value=1.0,
        n=25,
        verdict="raised: 100 % of the texts are called good",
    )
    part = page([*FINDINGS, flag])
    assert (part.verdict, part.judged) == ("bad", "1 red flag")
    assert part.sentence.startswith(
        "Attacks say nothing about bert, which is degenerate: 100 % of the texts are called"
    )
    assert "changes the answer" not in part.sentence


def test_typos_are_counted_in_letters_as_in_the_documents():
    (curves,) = [block for block in page(FINDINGS).blocks if isinstance(block, Panels)]
    assert "typos (slips in the letters, 1 to 20 %)" in curves.note.replace("\u202f", " ")


def test_masked_lines_show_how_many_and_nothing_else():
    first, second = masked_lines(3)
    assert {one.text for one in (*first, *second)} == {"■■■■", " "}
    assert sum(one.tone is not None for one in second) == 3
