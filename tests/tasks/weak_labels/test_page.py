"""The page of weak labels says what votes weigh and whether the training settled."""

import numpy as np
import pyarrow as pa
import pytest

from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.proportions import share
from assay.tasks.weak_labels.labelers import comparison_findings, count_comparison
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
    (plot,) = part.blocks
    assert (plot.names, plot.values) == (["f1", "f0"], [0.75, 0.5])


def test_of_many_weights_the_heaviest_are_drawn():
    (plot,) = page([], {"snorkel": snorkel(10.0, [i / 100 for i in range(60)])}).blocks
    assert (len(plot.names), plot.values[-1]) == (40, 0.2)
    assert "20 lighter ones" in plot.note


def test_undecided_samples_are_counted_with_their_interval():
    sentence = page([share("weak_labels.undecided", 5, 100, group="majority")], {"majority": MAJORITY}).sentence
    assert "Majority leaves 5.0\u202f% [2.2, 11.2] of 100 samples undecided" in sentence
    assert (
        "Majority leaves none of 100 samples undecided: on none are all classes equal."
        in page([share("weak_labels.undecided", 0, 100, group="majority")], {}).sentence
    )


def learned(**columns):
    return pa.table({"function": ["a", "b"], "weight": [0.6, 0.9], "mu_0_0": [0.5, 0.5]} | columns)


def test_how_frequent_the_classes_are_taken_to_be_is_said_with_how_that_is_known():
    told = learned(balance_0=[0.7, 0.7], balance_1=[0.3, 0.3], equal_p=[0.0001, 0.0001])
    assert "; the classes count as 70 to 30 in frequency, as the votes tell." in page([], {"triplets": told}).sentence
    given = learned(balance_0=[0.7, 0.7], balance_1=[0.3, 0.3])
    assert "70 to 30 in frequency, as given." in page([], {"triplets": given}).sentence
    untold = page([], {"triplets": learned(equal_p=[0.25, 0.25])}).sentence
    assert "the votes do not tell how frequent the classes are (p = 0.250): all count as equally frequent" in untold
    assert "frequent" not in page([], {"triplets": learned()}).sentence


def counted(right_of_the_first: int, right_of_the_second: int, right_of_both: int, n: int) -> list[Finding]:
    right = np.array([[right_of_the_first], [right_of_the_second]])
    as_first = np.array([[right_of_the_first], [right_of_both]])
    pair = {"both": np.array([[n]]), "alike": np.array([[80]])}
    counts = {**pair, "known": np.array([[n]]), "right": right, "as_first": as_first}
    return comparison_findings(counts, ["snorkel", "majority"], grouped=False)


def test_labelers_are_held_against_each_other_by_group():
    """Each of 40 samples five times, as one patient's, says what the 40 say; by row "better" would be shown."""
    rng = np.random.default_rng(1)
    gold, patients = rng.integers(0, 2, 40), [f"p{at}" for at in range(40)]
    labels = [np.where(rng.random(40) < rate, gold, 1 - gold) for rate in (0.7, 0.8)]
    told = []
    for times in (1, 5):
        rows = {"id": [f"s{at}" for at in range(40 * times)], "gold": np.repeat(gold, times)}
        samples = pa.table(rows | {GROUP: np.repeat(patients, times)})
        tables = [pa.table({"label": np.repeat(each, times), "undecided": [False] * 40 * times}) for each in labels]
        found = comparison_findings(count_comparison(samples, *tables), ["snorkel", "majority"], grouped=True)
        told.append([(each.metric, each.value, each.p_value, each.verdict, each.low, each.high) for each in found])
    assert [each[:4] for each in told[0]] == [each[:4] for each in told[1]]
    assert [end for each in told[0] for end in each[4:]] == pytest.approx(
        [e for each in told[1] for e in each[4:]], abs=0.02
    )
    assert told[0][-1][3] == "not shown"


def test_a_first_labeler_that_majority_beats_is_said_to_be_beaten():
    part = page(counted(70, 88, 65, 100), {"majority": MAJORITY})
    assert "labels are right for snorkel 70.0 %, majority 88.0 % of 100 samples" in part.sentence
    assert "more often than snorkel, which comes first, majority by 18.0 %" in part.sentence
    assert (part.verdict, part.judged) == ("bad", "majority is better")


def test_labelers_as_good_as_each_other_are_not_ranked():
    part = page(counted(80, 81, 79, 100), {"majority": MAJORITY})
    assert "that any is right oftener than snorkel, which comes first, is not shown" in part.sentence
    assert part.judged == ""


def test_without_gold_labelers_are_compared_with_each_other():
    part = page([share("weak_labels.agreement", 80, 100, of="snorkel", group="majority")], {})
    assert "Snorkel and majority say the same of 80.0 %" in part.sentence


def test_a_function_that_never_votes_has_no_weight():
    covered = [share("labeling.coverage", votes, 20, of=name) for name, votes in (("", 12), ("f0", 12), ("f1", 0))]
    (plot,) = page(covered, {"snorkel": snorkel(10.0, [0.5, 1.0, 0.75])}).blocks
    assert (plot.names, plot.values) == (["f2", "f0"], [0.75, 0.5])
    assert plot.note == "Without a vote, and so without a weight: f1."
