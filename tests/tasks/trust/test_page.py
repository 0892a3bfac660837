"""The trust page says what was found: in the sentence, the verdict, the plots and the tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

from assay.data.schemas import Keywords, Thresholds, TrustExamples, TrustLabels, TrustSettings, TrustTruth
from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import BarPlot, DataTable, LinePlot, MarkedTexts, Panels
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.trust.page import Explained, best_provider, clusters_table, confidence_plot, thresholds_panels
from assay.tasks.trust.page import page as page_of

CLASSES = ("neg", "pos")
SAID = [("a", 0.95, "untrustworthy"), ("b", 0.99, "trustworthy"), ("c", 0.6, "trustworthy"), ("d", 0.85, "undecided")]


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def labels():
    about = {"explainer": "lime", "gold": 1, "predicted": 1, "reason": "", "related_mass": 0.0, "unrelated_mass": 0.0}
    nothing = {"words": [], "importance": [], "related": []}
    rows = [
        about
        | nothing
        | {
            "id": name,
            "oracle": oracle,
            "confidence": confidence,
            "label": label if oracle != "naive" else "trustworthy",
        }
        for name, confidence, label in SAID
        for oracle in ("toki", "naive", "toki-ki")
    ]
    return pa.Table.from_pylist(rows, schema=TrustLabels.schema)


def keywords():
    about = {"explainer": "lime", "code": 1, "explanations": 1, "relatedness": 0.5}
    words = ("good", 0, True, 0.5), ("great", 0, True, 0.7), ("friday", 1, False, 0.9)
    rows = [
        about
        | {
            "provider": provider,
            "word": word,
            "cluster": cluster,
            "elected": yes,
            "keyword": yes,
            "importance": importance,
        }
        for provider in ("weak", "strong")
        for word, cluster, yes, importance in words
    ]
    return pa.Table.from_pylist(rows, schema=Keywords.schema)


def thresholds():
    row = {"theta": 0.4, "pairs": 100, "unknown": 3, "words": 5, "words_unknown": 1}
    rows = [row | {"provider": "weak", "balance": 0.52}, row | {"provider": "strong", "balance": 0.9}]
    return pa.Table.from_pylist(rows, schema=Thresholds.schema)


def settings():
    rows = [
        {
            "explainer": "lime",
            "setting": name,
            "value": value,
            "used": value == 0.5,
            "n": 4,
            "trustworthy": 2,
            "undecided": 1,
            "known": 3,
            "g_mean": 0.7,
        }
        for name in ("theta_dist", "theta_relate", "vote")
        for value in (0.9, 0.1, 0.5)
    ]
    return pa.Table.from_pylist(rows, schema=TrustSettings.schema)


def shown(truth=True, **more):
    rows = [{"id": name, "explainer": "", "truth": label, "precision": None} for name, _, label in SAID[:3]]
    known = pa.Table.from_pylist(rows, schema=TrustTruth.schema) if truth else None
    return Explained(
        "bert",
        "lime",
        CLASSES,
        labels(),
        keywords(),
        thresholds(),
        settings(),
        TrustExamples.schema.empty_table(),
        known,
        **more,
    )


def findings():
    def about(metric, value, of="lime", group="all"):
        return Finding(f"trust.{metric}", of, group, "bert", value, max(0, value - 0.1), min(1, value + 0.1), 40)

    shares = {"trustworthy": 0.5, "untrustworthy": 0.3, "undecided": 0.2, "out_of_scope": 0.1}
    measures = {"g_mean": 0.9, "sensitivity": 0.8, "specificity": 0.7}
    return [
        *(about(name, value, group=group) for group in ("all", *CLASSES) for name, value in shares.items()),
        *(about(name, value, "toki", "lime") for name, value in measures.items()),
        about("g_mean", 0.2, "naive", "lime"),
        about("confidence_auc", 0.51, "naive", "lime"),
        Finding("trust.g_mean_difference", "toki - naive", "lime", "bert", -0.05, -0.15, 0.05, 40),
        about("keyword_seconds", 12.5, group=""),
    ]


def test_the_sentence_has_the_share_its_interval_and_the_measure_against_the_truth():
    said = page(findings(), [shown()]).sentence
    assert "30.0" in said
    assert "n = 40" in said
    assert "G-mean of 0.900" in said
    assert said.endswith("confidence 0.200: a difference of −0.050 [−0.150, 0.050].")


def test_a_share_whose_oracle_was_not_measured_is_no_statement_about_the_model():
    assert page(findings()).sentence.startswith(
        "TOKI calls 30.0\u202f% [20.0, 40.0] of the predictions that bert gets right untrustworthy, since they rest on "
        "words that it does not relate to the class, by lime (n = 40; keywords of only 40 training texts): how often "
        "it is right here was not measured, so that is no statement about the model. "
    )
    assert page([]).sentence == "No prediction was explained."


def test_where_the_oracle_was_measured_its_share_is_corrected():
    corrected = Finding("trust.untrustworthy_corrected", "lime", "all", "bert", 0.12, 0.0, 0.3, 40)
    said = "training texts); corrected by how often it is right, 12.0\u202f% [0, 30.0] are. "
    assert said in page([*findings(), corrected]).sentence


def test_an_oracle_that_guesses_says_nothing_and_the_truth_itself_is_told():
    guess = Finding(
        "trust.untrustworthy_corrected",
        "lime",
        "all",
        "bert",
        n=40,
        verdict="not measured: TOKI is not known to be better than guessing",
    )
    truth = [
        Finding("trust.truth", "lime", group, "bert", share, n=40)
        for group, share in (("untrustworthy", 0.55), ("trustworthy", 0.2), ("unknown", 0.25))
    ]
    assert (
        "training texts): TOKI is not known to be better than guessing, where the truth is known (n = 40), so that "
        "says nothing of the model; by the truth itself 73.3\u202f% [55.6, 85.8] of 30 are. "
    ) in page([*findings(), guess, *truth]).sentence


def test_what_always_answers_alike_has_no_reasons():
    constant = Finding("subject.degenerate", "clean", subject="bert", value=1.0, n=40, verdict="degenerate: every …")
    said = page([*findings(), constant], [shown()]).sentence
    assert said == "bert (almost) always answers alike: there are no reasons of its own to judge."


def test_every_block_of_the_page_can_be_drawn():
    part = page(findings(), [shown()])
    kinds = {type(block) for block in part.blocks}
    assert kinds >= {BarPlot, DataTable, LinePlot, Panels}
    html = "".join(block_markup(block, f"b{place}") for place, block in enumerate(part.blocks))
    for words in ("(Eq. 6)", "Other thresholds", "great, good", "friday"):
        assert words in html


def test_what_is_moved_is_named_as_it_is_counted():
    titles = [plot.title for plot in thresholds_panels(shown()).plots]
    assert any(title.startswith("Shift of θ relate") for title in titles)  # not "θ relate: 0 is used"


def test_confidence_is_drawn_by_the_bins_of_figure_six():
    (plot,) = confidence_plot(shown())
    assert isinstance(plot, LinePlot)
    assert (plot.series[0].x, plot.series[0].y) == ([0.6, 0.95], [0.0, 0.5])
    assert [line.name for line in plot.series] == ["untrustworthy by the oracle", "untrustworthy in truth"]


def test_clusters_are_those_of_the_best_provider_heaviest_first():
    assert best_provider(shown()) == "strong"
    (table,) = clusters_table(shown())
    assert [(row[1].text, row[2]) for row in table.rows] == [("keywords", "great, good"), ("no keywords", "friday")]
    assert [row[3] for row in table.rows] == pytest.approx([1.2, 0.9])


def test_an_embedding_that_guesses_is_named():
    (table,) = clusters_table(shown())
    assert table.note.endswith(
        "Little better than guessing at what is a synonym, and yet with a vote: weak (52.0\u202f%)."
    )


def test_no_word_of_a_masked_audit_is_shown():
    blocks = page(findings(), [shown(masked=True)]).blocks
    html = "".join(str(block_markup(block, f"b{place}")) for place, block in enumerate(blocks))
    assert not any(word in html for word in ("great", "friday"))


def test_there_is_no_examples_block_without_examples():
    assert not any(isinstance(block, MarkedTexts) for block in page(findings(), [shown()]).blocks)


def test_labels_by_words_that_weigh_nothing_and_few_texts_are_said_with_the_share():
    faint = Finding("trust.faint", "lime", "all", "bert", 0.25, 0.1, 0.4, 36)
    learned = Finding("trust.keyword_seconds", "lime", "", "bert", 12.5, n=27)
    found = [one for one in findings() if one.metric != "trust.keyword_seconds"] + [faint, learned]
    assert "in 9 of them the words weigh next to nothing; keywords of only 27 training texts)" in page(found).sentence
    assert "weigh next to nothing" not in page(findings()).sentence
