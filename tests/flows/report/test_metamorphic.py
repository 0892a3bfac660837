"""What must not change a sentence of the head does not, and what must does: classes renamed, samples shuffled, repeated
or put into groups, errors moved to another class, the order turned round."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from assay.flows.audits.table import KINDS
from assay.flows.report.sentences import sentences
from assay.tasks.ordering.datasets import keys_of
from assay.tasks.ordering.order_test import order_test_findings, share_finding
from assay.tasks.ordering.ranges import LabelledSamples, Pools
from assay.tasks.statistics.class_scores import ClassCounts, above_constant
from assay.tasks.statistics.classification_findings import About, class_findings, constant_findings, recall_findings
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import FindingIndex
from tests.tasks.ordering.in_one_place import order_counts_at_once

N, NAMES = 400, ("benign", "malignant")
RNG = np.random.default_rng(5)
GOLD = (RNG.random(N) < 0.3).astype(np.int64)
SCORE = RNG.permutation(np.arange(1.0, N + 1)) / N
LABEL = np.where(RNG.random(N) < 0.4 + 0.6 * SCORE, GOLD, 1 - GOLD)
PREDICTED = np.where(RNG.random(N) < np.where(GOLD == 1, 0.7, 0.97), GOLD, 1 - GOLD)
TIES = RNG.permutation(N)
NIGHT = (GOLD, LABEL, PREDICTED, SCORE, TIES)


def said(gold, label, predicted, score, ties, names=NAMES, groups=None) -> list[str]:
    """The sentences of a night."""
    at, every = np.arange(len(gold)), np.ones(len(gold), bool)
    clusters = at if groups is None else groups
    pools = Pools(tuple(np.unique(clusters).tolist()), groups is not None)
    patterns = np.unique(score, return_inverse=True)[1]
    order, subject = (
        order_counts_at_once(LabelledSamples(keys_of(score, ties), clusters, right, every, patterns), pools)
        for right in (label == gold, predicted == gold)
    )
    right = predicted == gold
    counts = ClassCounts(*(np.bincount(gold[rows], minlength=len(names))[None] for rows in (right, every)))
    about = About("subject", "gold", "D10", "net")
    findings = [
        *order_test_findings(order, order, 0.01, "ours", "majority", np.random.default_rng(0)),
        share_by("subject.accuracy", right, groups, of="gold", group="D10", subject="net"),
        replace(share_finding("subject", subject, "last"), of="gold", subject="net"),
        *class_findings(about, counts, names),
        *recall_findings(about, counts, names),
        *constant_findings(about, above_constant(counts)),
    ]
    return [line.text.replace("\N{NARROW NO-BREAK SPACE}", " ") for line in sentences(KINDS, FindingIndex(findings))]


def values(lines: list[str]) -> list[str]:
    """The sentences without intervals and numbers of samples."""
    return [re.sub(r" of [\d\s]+ samples", "", re.sub(r"\[[^]]*\]", "[]", line)) for line in lines]


def widths(lines: list[str]) -> list[int]:
    return [int(high) - int(low) for line in lines for low, high in re.findall(r"\[(\d+), (\d+)\]", line)]


USUAL = said(*NIGHT)


def test_a_night_says_what_it_is_about():
    text = " ".join(USUAL)
    assert "get worse along the order" in text
    assert "malignant, its worst class" in text
    assert "net is right on" in text
    assert len(widths(USUAL)) >= 4


def test_the_order_of_samples_does_not_matter():
    moved = RNG.permutation(N)
    assert said(*(column[moved] for column in NIGHT)) == USUAL


@pytest.mark.parametrize("extra", [(), ("rare",)])
def test_the_order_of_classes_does_not_matter(extra):
    names = (*extra, *NAMES[::-1])
    code = np.array([len(names) - 1, len(names) - 2])
    gold, label, predicted = (code[column] for column in NIGHT[:3])
    assert said(gold, label, predicted, SCORE, TIES, names) == USUAL


def test_flipped_classes_change_places_in_every_sentence():
    flipped = said(*NIGHT, names=NAMES[::-1])
    assert [re.sub("benign|malignant", lambda name: NAMES[name[0] == NAMES[0]], line) for line in flipped] == USUAL
    assert flipped != USUAL


def test_repeated_samples_say_the_same_with_more_certainty_unless_they_are_a_group():
    repeated = tuple(np.repeat(column, 4) for column in NIGHT[:4])
    ties = np.arange(4 * N)
    more = said(*repeated, ties)
    assert values(more) == values(USUAL)
    assert all(now < before for now, before in zip(widths(more), widths(USUAL), strict=True) if before > 2)
    grouped = said(*repeated, ties, groups=np.repeat(np.arange(N), 4))
    clustered = [line for line in grouped if "worst class" not in line]  # recall is counted by sample here
    assert values(grouped) == values(USUAL)
    before = widths([line for line in USUAL if "worst class" not in line])
    assert widths(clustered) == pytest.approx(before, abs=1)


def test_a_group_that_is_split_makes_intervals_narrower_and_moves_no_value():
    whole = np.argsort(np.argsort(PREDICTED == GOLD, kind="stable")) // 8  # groups that are alike
    together, apart = said(*NIGHT, groups=whole), said(*NIGHT, groups=np.arange(N))
    assert values(together) == values(apart)
    right = [next(line for line in lines if "net is right on" in line) for lines in (together, apart)]
    assert widths(right)[0] > widths(right[1:])[0]


def test_errors_that_move_to_another_class_change_who_is_named():
    draws = RNG.random(N)
    moved = np.where(draws < np.where(GOLD == 0, 0.6, 0.97), GOLD, 1 - GOLD)
    lines = " ".join(said(GOLD, LABEL, moved, SCORE, TIES))
    assert "of benign, its worst class" in lines
    assert "malignant, its worst class" not in lines


def test_an_order_that_is_turned_round_is_said_to_be():
    lines = " ".join(said(GOLD, LABEL, PREDICTED, 1 + 1 / N - SCORE, TIES))
    assert "get better, not worse," in lines
    assert "get worse along" not in lines


def test_a_subject_that_gives_one_answer_comes_first():
    lines = said(GOLD, LABEL, np.zeros_like(GOLD), SCORE, TIES)
    assert lines[0].startswith("net is not shown to be right more often")
    assert "not shown to be right" not in " ".join(USUAL)


def test_a_subject_that_is_worse_than_one_answer_is_said_to_be():
    lines = said(GOLD, LABEL, np.where(RNG.random(N) < 0.9, 1 - GOLD, GOLD), SCORE, TIES)
    assert lines[0].startswith("net is right less often (")
    assert "not shown to be right" not in " ".join(lines)
