"""The page of weak labels says what votes weigh and whether the training settled."""

import pyarrow as pa

from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.proportions import share
from assay.tasks.weak_labels.page import page as page_of

MAJORITY = pa.table({"function": ["a", "b"], "weight": [1.0, 1.0]})


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def snorkel(settled, weights=(0.5, 0.75)):
    m = len(weights)
    return pa.table(
        {
            "function": [f"f{i}" for i in range(m)],
            "weight": list(weights),
            "epochs": [500.0] * m,
            "first_loss": [2.0] * m,
            "last_loss": [0.25] * m,
            "settled_after": [settled] * m,
            "mu_0_0": [0.5] * m,
        }
    )


def test_majority_is_said_to_count():
    part = page([], {"majority": MAJORITY})
    assert part.sentence == "Majority counts the votes of 2 labelling functions, each with the same weight."


def test_converged_training_says_when():
    part = page([], {"majority": MAJORITY, "snorkel": snorkel(412.0)})
    assert "the training converged after 412 epochs of 500: its loss fell from 2 to 0.250" in part.sentence
    assert part.verdict == "neutral"


def test_training_that_did_not_converge_is_marked():
    part = page([], {"snorkel": snorkel(float("nan"))})
    assert "had not converged" in part.sentence
    assert (part.verdict, part.judged) == ("bad", "not converged")


def test_learned_weights_are_drawn_heaviest_first_and_equal_ones_are_not():
    part = page([], {"majority": MAJORITY, "snorkel": snorkel(10.0)})
    plot, table = part.blocks
    assert (plot.names, plot.values) == (["f1", "f0"], [0.75, 0.5])
    assert table.rows == [["a", 1.0, None], ["b", 1.0, None], ["f0", None, 0.5], ["f1", None, 0.75]]


def test_many_weights_are_cut_in_the_plot_and_whole_in_the_table():
    plot, table = page([], {"snorkel": snorkel(10.0, [i / 100 for i in range(60)])}).blocks
    assert (len(plot.names), len(table.rows)) == (40, 60)
    assert "20 lighter ones" in plot.note


def test_undecided_samples_are_counted_with_their_interval():
    sentence = page([share("weak_labels.undecided", 5, 100, group="majority")], {"majority": MAJORITY}).sentence
    assert "Majority leaves 5.0\u202f% [2.2, 11.2] of 100 samples undecided" in sentence
    assert (
        "Majority decides all of 100 samples."
        in page([share("weak_labels.undecided", 0, 100, group="majority")], {}).sentence
    )
