"""The page on attacked terms: the sentence says the number, words line up, and what did not help is named."""

from dataclasses import replace

from assay.tasks.attacks.terms.page import TermFindings, examples_block, scored_example, severity_text, tagged_example
from assay.tasks.attacks.terms.page import page as page_of
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.parts import BarPlot, DataTable, LinePlot, Panels
from assay.tasks.reporting.plots import line_numbers
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import Finding, FindingIndex

FIRST = "share=1, changes=1"


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def finding(metric, of, group, value, subject="mine", verdict="", spread=0.05):
    return Finding(metric, of, group, subject, value, value - spread, value + spread, 120, verdict=verdict)


def ner(subject="mine", shares=("share=1, changes=1",)):
    found = [finding(f"ner.{name}", "clean", "", 0.8, subject) for name in ("f1", "precision", "recall")]
    for group in shares:
        drop = 0.4 if group == FIRST else 0.2
        found += [finding(f"ner.{name}", "swap", group, 0.8 - drop, subject) for name in ("f1", "precision", "recall")]
        found.append(finding("ner.drop", "swap", group, drop, subject, "lower"))
    return found


def trained(gain, verdict):
    return [
        finding("ner.f1", "clean", "", 0.79, "mine+on-swap"),
        finding("ner.f1", "swap", FIRST, 0.4 + gain, "mine+on-swap"),
        finding("ner.gain", "clean", "", -0.01, "mine+on-swap", "no gain shown"),
        finding("ner.gain", "swap", FIRST, gain, "mine+on-swap", verdict),
        finding("ner.own_gain", "swap", FIRST, gain, "mine+on-swap", verdict),
        finding("ner.recovered", "swap", FIRST, gain / 0.4, "mine+on-swap"),
    ]


def tables(part):
    return {block.title: block for block in part.blocks if isinstance(block, DataTable)}


def test_the_sentence_holds_the_number_and_how_many_attacks_lower_it():
    part = page(ner(), "ner")
    assert "F1 0.800" in part.sentence
    assert "0.400" in part.sentence
    assert "lower under 1 of 1 attack." in part.sentence
    (bars,) = part.blocks
    assert isinstance(bars, BarPlot)
    assert (bars.names, bars.values, bars.high) == (["swap, 1 a word"], [0.4], [0.45])
    assert "seqeval" in bars.note


def gains(found):
    (table,) = tables(page(found, "ner")).values()
    return table


def test_training_that_does_not_help_is_said_in_words():
    helped, useless = ner() + trained(0.3, "helps"), ner() + trained(0.01, "no gain shown")
    assert "Training mine on an attack helps against it for 1 of 1." in page(helped, "ner").sentence
    assert "helps against it for 0 of 1." in page(useless, "ner").sentence
    table = gains(helped)
    assert table.title == "What training on attacked copies gains, mine"
    assert [(*row[:2], row[2].value, row[3].text, row[3].tone) for row in table.rows] == [
        ("on-swap", "original", -0.01, "no cost shown", "neutral"),
        ("on-swap", "swap", 0.3, "helps", "good"),
    ]
    assert "control: true" in table.note
    (_, hurt) = gains(ner() + trained(-0.2, "hurts")).rows
    assert (hurt[3].text, hurt[3].tone) == ("hurts", "bad")


def test_training_that_lowers_the_original_is_called_a_cost():
    found = [replace(one, verdict="hurts") if one.metric == "ner.gain" else one for one in trained(0.3, "helps")]
    over = finding("ner.gain_over_control", "clean", "", -0.04, "mine+on-swap", "hurts")
    rows = gains([*ner(), *found, over]).rows
    assert [row[3].text for row in rows] == ["costs", "hurts"]
    assert (rows[0][5].text, rows[0][5].tone) == ("costs", "bad")


def test_what_training_costs_stands_beside_what_it_helps():
    cost = finding("ner.cost", "clean", "", 0.04, "mine+on-swap", "costs")
    sentence = page([*ner(), *trained(0.3, "helps"), cost], "ner").sentence
    assert "helps against it for 1 of 1; on the samples as they are it costs for 1 of 1." in sentence


def controlled(over, verdict):
    control = "mine+on-swap-control"
    return [
        finding("ner.f1", "clean", "", 0.82, control),
        finding("ner.f1", "swap", FIRST, 0.5, control),
        finding("ner.gain", "swap", FIRST, 0.1, control, "helps"),
        finding("ner.gain_over_control", "swap", FIRST, over, "mine+on-swap", verdict),
        finding("ner.own_gain_over_control", "swap", FIRST, over, "mine+on-swap", verdict),
    ]


def test_gains_are_told_beside_those_of_equal_steps():
    found = ner() + controlled(0.2, "helps") + trained(0.3, "helps")
    beyond = "helps against it for 1 of 1, and for 1 of 1 more than equal steps on unchanged copies do."
    assert beyond in page(found, "ner").sentence
    table = gains(found)
    assert [column.name for column in table.columns][-2:] == ["Over equal steps", ""]
    assert {row[0] for row in table.rows} == {"on-swap"}
    cost, gain = table.rows
    assert (cost[4], gain[4].value, gain[5].text) == (None, 0.2, "helps")
    steps = ner() + controlled(0.02, "no gain shown") + trained(0.12, "helps")
    assert "for 0 of 1 more than equal steps" in page(steps, "ner").sentence


def test_several_severities_are_a_line_and_several_subjects_stand_side_by_side():
    shares = (FIRST, "share=0.5, changes=1")
    (alone,) = page(ner(shares=shares), "ner").blocks
    assert isinstance(alone, LinePlot)
    assert (list(alone.series[0].x), list(alone.series[0].y)) == ([0.5, 1.0], [0.2, 0.4])
    (both,) = page(ner(shares=shares) + ner("theirs", shares), "ner").blocks
    assert isinstance(both, Panels)
    assert [plot.title for plot in both.plots] == ["mine", "theirs"]
    assert all(plot.alt for plot in both.plots)


def test_a_degenerate_tagger_is_a_red_flag():
    said = "degenerate: it names no entity"
    dead = [replace(one, value=0.0, low=0.0, verdict=said) if one.metric == "ner.f1" else one for one in ner()]
    part = page(dead, "ner")
    assert (part.verdict, part.judged) == ("bad", "red flag")


def sts(subject="mine", under=None, drop=None, verdict=""):
    found = [finding("sts.pearson", "clean", "", 0.8, subject)]
    for attack, said, lost in (("swap", under, drop), ("keyboard", 0.8, 0.0)):
        word = verdict if attack == "swap" else ""
        lost_word = ("lower" if (lost or 0) > 0.1 else "no drop shown") if lost is not None else "not measured"
        found += [
            Finding("sts.pearson", attack, FIRST, subject, said, None, None, 120, verdict=word),
            Finding("sts.drop", attack, FIRST, subject, lost, None, None, 120, verdict=lost_word),
        ]
    return found


def test_a_scorer_that_collapses_under_an_attack_is_named_and_not_called_untouched():
    part = page(sts(verdict="degenerate: every pair has the same score"), "sts")
    assert (
        "Under swap (every term, 1 change a word), mine is degenerate: every pair has the same score." in part.sentence
    )
    assert "No drop is shown under keyboard." in part.sentence
    assert (part.verdict, part.judged) == ("bad", "red flag")
    assert [block.names for block in part.blocks] == [["keyboard, 1 a word"]]  # of swap there is no drop


def test_a_worst_drop_below_nought_is_no_loss():
    risen = [one for one in sts(under=0.9, drop=-0.1) if one.of != "keyboard"]
    part = page(risen, "sts")
    assert "loses nothing: even under swap (every term, 1 change a word) it gains 0.100" in part.sentence
    assert "loses nothing even under keyboard" in page(sts(under=0.9, drop=-0.1), "sts").sentence


def test_cut_samples_other_ranges_and_missing_entities_are_said():
    cut = Finding("ner.cut", "clean", "", "mine", 3.0, n=90, verdict="cut, 4 entities lie beyond what is read")
    none = Finding("ner.cut", "swap", FIRST, "mine", 0.0, n=90, verdict="all are read whole")
    said = page([*ner(), cut, none], "ner").sentence
    assert "mine does not read to their end sentences that are longer than its limit (3 of original)" in said
    error = Finding("sts.mae", "clean", "", "mine", n=120, verdict="on another range: it scores 0 to 1, people 0 to 4")
    assert (
        "mine is on another range: it scores 0 to 1, people 0 to 4"
        in page([*sts(under=0.8, drop=0.0), error], "sts").sentence
    )
    nothing = [Finding("ner.f1", "clean", "", "mine", n=0, verdict="not measured")]
    assert page(nothing, "ner").sentence == "F1 of mine is not measured: no sentence has an entity."
    assert page(nothing, "ner").judged == ""


def test_too_few_samples_are_neither_lowered_nor_untouched():
    few = [
        replace(one, verdict="too few samples", low=None, high=None) if one.metric == "ner.drop" else one
        for one in ner()
    ]
    part = page(few, "ner")
    assert "too few sentences to tell a drop from chance" in part.sentence
    assert "No drop is shown" not in part.sentence
    cut = Finding("ner.cut", "clean", "", "mine", 0.0, n=6, verdict="all are read whole")
    told = page([*few, cut], "ner").sentence
    assert "on 120 entities in 6 sentences" in told
    assert "lower under" not in told + part.sentence
    (plot,) = [block for block in part.blocks if isinstance(block, BarPlot)]
    assert "95 %" not in plot.note
    some = [
        *few,
        finding("ner.f1", "keyboard", FIRST, 0.3),
        finding("ner.drop", "keyboard", FIRST, 0.5, verdict="lower"),
    ]
    assert (
        "lower under 1 of 1 attack, too few sentences to tell a drop from chance under 1 more"
        in page(some, "ner").sentence
    )


def test_findings_of_taggers_are_none_of_scorers_and_a_severity_is_told_in_words():
    assert TermFindings("sts", FindingIndex(ner())).subjects == []
    assert severity_text("share=0.25, changes=2") == "25% of the terms, 2 changes a word"


def tagged(sample, tokens, gold, predicted):
    return {"id": sample, "tokens": tokens, "gold": gold, "predicted": predicted}


def test_an_example_marks_what_changed_and_names_the_entities_that_are_no_longer_found():
    before = tagged(
        "s", ["An", "MI", "came", "of", "flu"], ["O", "B-D", "O", "O", "B-D"], ["O", "B-D", "O", "O", "B-D"]
    )
    after_words = ["An", "heart", "attack", "came", "of", "flu"]
    after = tagged("s", after_words, ["O", "B-D", "I-D", "O", "O", "B-D"], ["O", "B-D", "O", "O", "O", "B-D"])
    example = tagged_example("synonymy", before, after)
    assert example.title == "synonymy · s"
    assert [mark.text for mark in example.said] == ["no more: D heart attack"]
    assert [piece.text for piece in example.stretches if piece.tone] == ["MI"]
    assert "".join(piece.text for piece in example.below if piece.tone) == "heart attack"


def test_an_entity_that_was_never_found_is_not_told_as_lost():
    before = tagged("s", ["MI", "came"], ["B-D", "O"], ["O", "O"])
    assert tagged_example("swap", before, tagged("s", ["IM", "came"], ["B-D", "O"], ["O", "O"])).said == []


def test_long_sentences_show_what_is_around_the_change_and_everything_is_escaped():
    before = {"id": "s", "gold": 1.0, "predicted": 1.25}
    words = ["<b>"] * 400
    example = scored_example(
        "swap",
        " ".join(words),
        " ".join([*words[:300], "<i>", *words[301:]]),
        "<u>y",
        before,
        before | {"predicted": 2.5},
    )
    assert [mark.text for mark in example.said] == ["1.250 → 2.500, people 1", "beside: <u>y"]
    assert sum(len(piece.text) for piece in example.stretches) < 800
    part = page(ner(), "ner", examples_block("mine", [example]))
    html = render_report(Report("r", "p", "2026-01-01T00:00:00", 1.0, 0, "done", (), [part]))
    assert "<u>y" not in html
    assert "&lt;u&gt;y" in html
    assert examples_block("mine", []) == []


def test_attacks_at_one_share_stand_in_one_row_of_numbers():
    found = ner(shares=("share=0.5, changes=1", FIRST))
    found += [replace(each, of="keyboard") for each in found if each.of == "swap"]
    (plot,) = [block for block in page(found, "ner").blocks if isinstance(block, LinePlot)]
    assert [row[0] for row in line_numbers(plot)] == ["Share of the terms attacked", "0.5", "1"]
