"""Who gets a copy is drawn per sample, and defended classifiers are compared text by text."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import trust_case

from assay.data.schemas import AttackedTexts, Predictions, Samples
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.defenses.comparison import accuracy_findings, answers_to_texts
from assay.tasks.defenses.text_page import page as page_of
from assay.tasks.defenses.text_task import draw_samples, join_samples, measure_text_defences, put_texts
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_from
from assay.tasks.subjects.texts.rows import origins_of

NEEDED = "not shown: p ≤ 0.05 needed"

ROWS = list(range(24))
IDS = [f"test-{row:03d}" for row in ROWS]
GOLD = [trust_case.TEXTS[row % 8][1] for row in ROWS]


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def cells(part, name):
    """The cells of the table under this head."""
    table = part.blocks[0]
    return [row[[column.name for column in table.columns].index(name)] for row in table.rows]


@stage(version=1)
def says(codes: list[int]) -> Artifact[Predictions]:
    columns = {"id": IDS, "predicted": codes, "probabilities": [[0.5, 0.5]] * len(codes)}
    return write_table(pa.table(columns, schema=Predictions.schema), into=Predictions)


@stage(version=1)
def under_attack(before: list[int], after: list[int]) -> Artifact[AttackedTexts]:
    nothing = {
        "reason": "",
        "probabilities": [],
        "attacked_probabilities": [],
        "text": "",
        "positions": [],
        "starts": [],
        "ends": [],
        "originals": [],
        "replacements": [],
        "words": 3,
        "changed": 1,
        "modified": 0.1,
        "similarity": 1.0,
        "encoder": "",
        "second_similarity": 1.0,
        "second_encoder": "",
        "queries": 1,
        "refused": 2,
        "ranking": "gradient",
        "status": "success",
        "attacked_text": "made of it",
        "providers": [],
        "limits": [],
    }
    rows = [
        nothing | {"id": name, "gold": gold, "predicted": first, "attacked": second}
        for name, gold, first, second in zip(IDS, GOLD, before, after, strict=True)
    ]
    return write_table(pa.Table.from_pylist(rows, schema=AttackedTexts.schema), into=AttackedTexts)


@stage(version=1)
def put_rows(rows: str) -> Artifact[AttackedTexts]:
    return write_table(pa.Table.from_pylist(json.loads(rows), schema=AttackedTexts.schema), into=AttackedTexts)


def samples(cuts=(0, 24)) -> Artifact[Samples]:
    return trust_case.put_samples(ROWS, list(cuts), "test")


def wrong(places: set[int]) -> list[int]:
    return [gold ^ (place in places) for place, gold in enumerate(GOLD)]


def ids(artifact: Artifact[Samples]) -> set[str]:
    return set(collect(artifact, ["id"])["id"].to_pylist())


def test_a_larger_share_draws_more_of_the_same_and_parts_have_nothing_in_common(run):
    some, more = ids(draw_samples(samples(), 0.3)), ids(draw_samples(samples((0, 5, 24)), 0.8))
    assert 0 < len(some) < len(more) < 24
    assert some < more
    parts = [ids(draw_samples(samples(), 0.8, part, 3)) for part in range(3)]
    assert set.union(*parts) == more
    assert sum(map(len, parts)) == len(more)


def test_only_texts_that_were_attacked_become_copies(run):
    attacked = under_attack(GOLD, GOLD)
    copies = put_texts(samples(), "text", [attacked], [])
    assert set(collect(copies, ["text"])["text"].to_pylist()) == {"made of it"}
    joined = collect(join_samples(samples(), put_texts(samples(), "text")), None)
    assert joined.num_rows == 24


def test_only_texts_that_an_attack_changed_are_counted_as_attacked(run):
    first, *others = collect(under_attack(GOLD, GOLD), None).to_pylist()
    texts = collect(samples(), ["text"])["text"].to_pylist()
    rows = [first, *(row | {"attacked_text": text} for row, text in zip(others, texts[1:], strict=True))]
    put_texts(samples(), "text", [put_rows(json.dumps(rows))], [])
    assert run.record.stages[-1].summary == "1 of 24 texts were changed by an attack"


def test_what_comes_from_a_validation_text_is_known_by_that_text():
    table = pa.table({"id": ["a", "a+copy", "b"], "copied_from": [None, "a", None]})
    assert origins_of(table, ["good", "gpod", "bad"]) == ["good", "good", "bad"]
    assert origins_of(table.drop_columns("copied_from"), ["good", "gpod", "bad"]) == ["good", "gpod", "bad"]


def test_what_a_control_gets_right_as_well_is_no_gain_of_the_attack(run):
    right = {"none": wrong(set(range(1, 13))), "on-a2t-control": wrong(set(range(1, 12))), "on-a2t": wrong({2})}

    def audited(answers):
        tables = {model: {"a2t": under_attack(GOLD, said)} for model, said in answers.items()}
        measured = measure_text_defences(
            dict.fromkeys(answers, says(GOLD)),
            tables,
            {},
            {},
            samples(),
            trust_case.put_classes(),
            "bert",
            0.05,
            {"on-a2t": ["a2t"]},
        )
        findings = findings_from(collect(measured, None))
        return findings, {(one.metric, one.of, one.group): one for one in findings}

    findings, found = audited(right)
    assert run.record.stages[-1].summary.startswith("bert · before Holm: ")
    gain, test = (found[f"defense.{name}", "on-a2t", "a2t"] for name in ("gain_over_control", "control_mcnemar_p"))
    assert (gain.value, gain.n, test.verdict) == (10 / 24, 24, "better")
    assert found["defense.gain", "on-a2t-control", "a2t"].value == pytest.approx(1 / 24)
    tests = {(metric, of, group) for metric, of, group in found if metric.endswith("mcnemar_p")}
    assert tests == {
        ("defense.mcnemar_p", "on-a2t", "clean"),
        ("defense.mcnemar_p", "on-a2t", "a2t"),
        ("defense.control_mcnemar_p", "on-a2t", "a2t"),
    }
    part = page(findings)
    assert {row[1] for row in part.blocks[0].rows} == {"on-a2t"}  # the control is what it is held against
    assert [line.name for line in part.blocks[1].series][1] == "equal steps, unchanged copies"
    over = cells(part, "Over equal steps")[-1]
    assert (over.order, over.text, over.tone) == (10 / 24, "better", "good")
    assert "points [" in part.sentence
    assert "over equal steps on unchanged copies)" in part.sentence
    findings, found = audited(right | {"on-a2t-control": wrong({2})})
    assert found["defense.control_mcnemar_p", "on-a2t", "a2t"].verdict == NEEDED
    alike = found["defense.gain_over_control", "on-a2t", "a2t"]
    assert (alike.value, alike.low < -0.05, alike.high > 0.05) == (0.0, True, True)  # ties are no certainty
    part = page(findings)
    assert "over equal steps on unchanged copies, none shown with 24 texts" in part.sentence
    over = cells(part, "Over equal steps")[-1]
    assert (over.text, over.tone) == (NEEDED, "neutral")


def test_one_answer_to_all_noisy_texts_is_called_degenerate_and_a_worst_case_is_not():
    truth = dict(zip(IDS, GOLD, strict=True))
    typos = answers_to_texts("typos, severity=5", IDS, np.ones(24, np.int64), truth, attack="noise")
    worst = replace(typos, group="every kind, severity=5", given=False)
    found = accuracy_findings([typos, worst], "none", "bert", ["neg", "pos"], "texts")
    first, second = (one for one in found if one.metric == "defense.accuracy")
    assert first.verdict == "degenerate: 100.0% of texts are called pos"
    assert (second.verdict, second.value) == ("", first.value)
    assert "bert calls nearly all texts pos on typos, severity=5" in page([first, second]).sentence


def test_gains_are_paired_and_wrong_before_is_wrong_under_attack(run):
    original, defended = wrong({0}), wrong({0, 1})
    tables = {
        "none": {"a2t": under_attack(original, wrong(set(range(1, 12))))},  # sample 0 would be right after the attack
        "on-a2t": {"a2t": under_attack(defended, wrong({2}))},
    }
    measured = measure_text_defences(
        {"none": says(original), "on-a2t": says(defended)},
        tables,
        {},
        {},
        samples(),
        trust_case.put_classes(),
        "bert",
        0.05,
    )
    findings = findings_from(collect(measured, None))
    found = {(one.metric, one.of, one.group): one for one in findings}
    assert found["defense.accuracy", "none", "clean"].value == 23 / 24
    assert found["defense.accuracy", "none", "a2t"].value == 12 / 24
    assert found["defense.accuracy", "on-a2t", "a2t"].value == 21 / 24
    gain = found["defense.gain", "on-a2t", "a2t"]
    assert (gain.value, gain.n, gain.p_value < 0.05) == (9 / 24, 24, True)
    assert found["defense.mcnemar_p", "on-a2t", "a2t"].verdict == "better"
    assert found["defense.mcnemar_p", "on-a2t", "clean"].verdict == NEEDED
    part = page(findings)
    assert [block.title for block in part.blocks] == ["Trained with, tested on: bert", "What training changes: bert"]
    assert "On a2t bert is right for 50.0" in part.sentence
    assert "not shown" not in part.sentence
    assert [row[:2] for row in part.blocks[0].rows] == [["clean", "on-a2t"], ["a2t", "on-a2t"]]
    assert {row[2].n for row in part.blocks[0].rows} == {24}
    clean, attacked = cells(part, "Concluded")
    assert (clean.order, clean.text, clean.tone) == (pytest.approx(-1 / 24), NEEDED, "neutral")
    assert (attacked.order, attacked.text, attacked.tone) == (9 / 24, "better", "good")
    assert attacked.below.startswith("accuracy +38 points [")
    assert "of the texts under attack" in part.blocks[0].note
    lost = [replace(one, verdict=NEEDED) if one.verdict == "better" else one for one in findings]
    assert "a change not shown with 24 texts" in page(lost).sentence


def copies_of(*tests: tuple[str, float, str], clean: str = "") -> list[Finding]:
    """What a run says of a defence that was tested under some attacks: of each the gain, and what is concluded."""
    found = [
        Finding(
            "defense.accuracy", of=of, group="clean", subject="bert", value=0.5, low=0.3, high=0.7, n=33, verdict=clean
        )
        for of in ("none", "on-noise")
    ]
    for group, gain, verdict_ in tests:
        about = Finding("defense.gain", of="on-noise", group=group, subject="bert", n=33, p_value=0.031)
        found += [
            replace(about, metric="defense.accuracy", of=of, value=0.5 + (of != "none") * gain, low=0.3, high=0.9)
            for of in ("none", "on-noise")
        ]
        found += [
            replace(about, value=gain, low=0.06, high=0.52),
            replace(about, metric="defense.mcnemar_p", value=0.031, p_adjusted=0.31, verdict=verdict_),
        ]
    return found


def test_where_no_test_separates_nothing_is_named_the_best_and_the_number_of_texts_is_said():
    findings = copies_of(("a2t", 0.3, NEEDED), ("typos, severity=5", 0.2, NEEDED))
    sentence = page(findings).sentence
    assert sentence.startswith("The 2 changes that were tested are not told apart from none: the largest gain of bert")
    assert "+30 points [6, 52] with 33 texts, p = 0.310 after Holm" in sentence
    shown = page(copies_of(("a2t", 0.3, NEEDED), ("typos, severity=5", 0.2, "better"))).sentence
    assert shown.startswith("On typos, severity=5 bert is right for")  # the one that a test shows, not the largest


def test_a_model_that_answers_all_clean_texts_alike_is_named():
    part = page(copies_of(("a2t", 0.3, "better"), clean="degenerate: 100.0% of texts are called good"))
    assert (
        "bert calls nearly all texts good on clean; bert+on-noise calls nearly all texts good on clean" in part.sentence
    )


def test_a_class_that_is_lost_is_said_first_and_marks_the_part():
    about = {"of": "on-noise", "group": "a2t, good", "subject": "bert", "n": 16}
    lost = [
        Finding("defense.recall_gain", value=-0.5, low=-0.7, high=-0.2, p_value=0.001, **about),
        *(
            Finding("defense.recall", value=value, **(about | {"of": of}))
            for of, value in (("none", 0.9), ("on-noise", 0.4))
        ),
    ]
    part = page([*copies_of(("a2t", 0.3, "better")), *lost])
    assert part.sentence.startswith("on-noise loses good: 40")
    assert (part.verdict, part.judged) == ("bad", "loses a class")
    _, attacked = cells(part, "Concluded")
    assert (attacked.text, attacked.tone) == ("loses good", "bad")
    assert page(copies_of(("a2t", 0.3, "better"))).verdict == "neutral"
