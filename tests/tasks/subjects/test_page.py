"""The page of the subjects: agreement with weak labels and gold along the order, each with n and interval."""

from dataclasses import replace

from assay.tasks.reporting.plots import line_numbers
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.multiplicity import corrected
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.page import accuracies, clean_page, names
from assay.tasks.subjects.page import page as page_of


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


NEEDED = "not shown: p ≤ 0.001 needed"


def measured(subject="logistic", gold=True):
    found = []
    for of, hits in (("weak", (10, 18, 24)), ("gold", (10, 19, 28))) if gold else (("weak", (10, 18, 24)),):
        about = {"of": of, "subject": subject}
        found += [share("subject.accuracy", h, 10 * i, group=f"D{i}", **about) for i, h in enumerate(hits, start=1)]
        strata = (hits[0], hits[1] - hits[0], hits[2] - hits[1])
        found += [
            share("subject.accuracy", h, 10, group=f"stratum {i}", **about) for i, h in enumerate(strata, start=1)
        ]
        found += [
            Finding("subject.spearman", value=-1.0, n=30, **about),
            Finding(
                "subject.trend_p",
                value=0.004,
                p_value=0.004,
                n=30,
                unit="p",
                verdict="adverse" if of == "weak" else NEEDED,
                **about,
            ),
            Finding("subject.auc", value=0.64 if of == "weak" else 0.42, low=0.2, high=0.7, n=30, **about),
            share("subject.first_tenth", 10, 10, **about),
            share("subject.last_tenth", 6 if of == "weak" else 9, 10, **about),
        ]
    return found


def test_sentence_has_both_ends_by_true_and_by_weak_labels_and_what_is_shown():
    assert page(measured()).sentence == (
        "By true labels the subject logistic is right on 100\u202f% [72.2, 100] of the first tenth and 90.0\u202f% "
        "[59.6, 98.2] of the last: no sign that the hard end is hard for it (p = 0.004). The subject logistic agrees "
        "with the rules' labels on 100\u202f% [72.2, 100] of the first tenth and 60.0\u202f% [31.3, 83.2] of the last: "
        "its agreement falls along the order (p = 0.004)."
    )


def test_what_does_not_survive_the_correction_is_not_shown():
    tests = [*measured(gold=False), *(Finding("a.b", of=str(at), p_value=0.5, unit="p") for at in range(8))]
    sentence = page(corrected(tests, 0.01)).sentence
    assert sentence.endswith(
        "that its agreement falls along the order is not shown (p = 0.036 after Holm, level 0.01)."
    )


def test_a_hard_end_is_called_hard_only_where_that_is_shown():
    worse = [replace(one, value=0.6) if (one.metric, one.of) == ("subject.auc", "gold") else one for one in measured()]
    assert "that the hard end is hard for it is not shown (p = 0.004, level 0.001)" in page(worse).sentence
    seen = Finding("subject.auc_seen_from", value=0.74, n=30, of="gold", subject="logistic")
    would = "of 30 samples, an AUC of 74\u202f% would have been seen"
    assert f"(p = 0.004, level 0.001; {would})" in page([*worse, seen]).sentence
    shown = [replace(one, verdict="adverse") if one.metric == "subject.trend_p" else one for one in worse]
    assert "of the last: the hard end is hard for it (p = 0.004)" in page(shown).sentence


def test_plot_has_a_line_per_yardstick_with_wilson_bands():
    plot = page(measured()).blocks[0]
    assert [series.name for series in plot.series] == ["with the weak label", "with gold"]
    assert plot.series[0].y == [1.0, 0.9, 0.8]
    assert all(
        low < y <= high for y, low, high in zip(plot.series[0].y, plot.series[0].low, plot.series[0].high, strict=True)
    )


def test_page_explains_why_a_robust_model_agrees_less():
    texts = [block.text for block in page(measured()).blocks if hasattr(block, "text")]
    assert len(texts) == 1
    assert texts[0].startswith("Where the weak labels themselves get worse along the order")  # not that they do


def test_without_gold_only_the_weak_labels_are_shown():
    part = page(measured(gold=False))
    assert len(part.blocks[0].series) == 1
    assert "true labels" not in part.sentence


def test_what_the_confidence_knows_beyond_the_order_is_said():
    gain = Finding("subject.auc_gain", value=0.2, low=0.1, high=0.3, of="gold", group="confidence", subject="logistic")
    assert page([*measured(), gain]).sentence.endswith(
        "Its confidence ranks its right answers above its wrong ones 20.0 points [10.0, 30.0] better than our order "
        "does."
    )


def test_constant_predictions_raise_a_red_flag():
    flag = Finding(
        "subject.degenerate", subject="logistic", value=1.0, n=30, verdict="degenerate: every sample is called benign"
    )
    part = page([*measured(), flag])
    assert (part.verdict, part.judged) == ("bad", "red flag")
    assert "Red flag: logistic is degenerate: every sample is called benign (30 samples)." in part.sentence


def test_many_subjects_are_whole_on_the_page():
    found = [one for i in range(5) for one in measured(f"s{i}")]
    assert names(FindingIndex(found)) == ["s0", "s1", "s2", "s3", "s4"]
    assert sum(hasattr(block, "series") for block in page(found).blocks) == 5


def test_data_sets_stand_in_the_order_of_their_numbers():
    found = [Finding("subject.accuracy", of="gold", subject="s", group=f"D{i}", value=0.5) for i in (10, 9, 1)]
    assert [one.group for one in accuracies(FindingIndex(found), "s", "gold")] == ["D1", "D9", "D10"]


def test_recalls_of_several_subjects_stand_in_one_row_per_class():
    found = [
        share(metric, right, 100, of="clean", group=group, subject=name)
        for name in ("net", "other")
        for metric, right, group in (
            ("subject.accuracy", 80, ""),
            ("subject.recall", 70, "ill"),
            ("subject.recall", 90, "well"),
        )
    ]
    (plot,) = clean_page(FindingIndex(found), {}).blocks
    rows = line_numbers(plot)
    assert [row[0] for row in rows] == ["class", "ill", "well"]
    assert rows[1][1] == rows[1][2]
