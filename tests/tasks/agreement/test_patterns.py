"""Counted by patterns, agreement is what it is sample by sample; no sample leaves its partition for it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from assay.data.schemas import Classes, Findings, Samples
from assay.infra.errors import InputError
from assay.infra.stages.exact import merge
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.agreement import alpha
from assay.tasks.agreement.alpha import (
    Annotators,
    Labelled,
    agreement_findings,
    alpha_interval,
    count_patterns,
    distinct_rows,
    label_counts,
    labelled_patterns,
    measure_agreement,
)
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import findings_from
from assay.tasks.statistics.groups import GROUP, group_hashes
from assay.tasks.statistics.resampling import BLOCKS

PEOPLE, CLASSES = ["ann", "bob", "cleo"], {"no": 0, "yes": 1, "maybe": 2}
NAMES = list(CLASSES)
ROWS = arrays.arrays(np.int64, st.tuples(st.integers(1, 40), st.just(len(PEOPLE) + 1)), elements=st.integers(-1, 2))


def samples_of(codes: np.ndarray, first: int = 0) -> pa.Table:
    """Samples whose annotators, and last gold, say these codes."""
    words = {
        name: pa.array([None if code < 0 else NAMES[code] for code in codes[:, at]], pa.string())
        for at, name in enumerate(PEOPLE)
    }
    gold = pa.array(codes[:, -1], pa.int16(), mask=codes[:, -1] < 0)
    return pa.table({"id": [f"s{first + at}" for at in range(len(codes))], "gold": gold, **words})


def by_pattern(*parts: np.ndarray, grouped: bool = False):
    counted = [count_patterns(in_groups(samples_of(part), part, grouped), PEOPLE, CLASSES) for part in parts]
    merged = functools.reduce(merge, counted)
    return agreement_findings(labelled_patterns(merged, PEOPLE, grouped=grouped), len(CLASSES))


def by_sample(codes: np.ndarray, grouped: bool = False):
    """As `by_pattern`, a pattern for each sample."""
    groups = codes_of(group_hashes(in_groups(samples_of(codes), codes, grouped)) % BLOCKS) if grouped else None
    labels = dict(zip(PEOPLE, codes.T, strict=False))
    return agreement_findings(Labelled(labels, codes[:, -1], np.ones(len(codes), np.int64), groups), len(CLASSES))


def in_groups(samples: pa.Table, codes: np.ndarray, grouped: bool) -> pa.Table:
    """In groups of those whose codes add up to the same, if so."""
    groups = pa.array([f"p{one}" for one in codes.sum(axis=1)], pa.string())
    return samples.append_column(GROUP, groups) if grouped else samples


def without_ends(findings):
    """All but the ends of α, which are drawn."""
    return [
        (one.metric, one.of, one.value, one.n, one.verdict, *([] if one.unit == "α" else [one.low, one.high]))
        for one in findings
    ]


def numbers(findings) -> np.ndarray:
    """Values and ends, those of α among them."""
    return np.array([[one.value, one.low, one.high] for one in findings], np.float64)


@given(ROWS)
@settings(max_examples=30)
def test_values_are_those_of_the_samples_to_the_last_digit(codes):
    assert without_ends(by_pattern(codes)) == without_ends(by_sample(codes))


@given(ROWS, st.integers(0, 40), st.randoms(), st.booleans())
@settings(max_examples=40)
def test_the_cut_and_the_order_do_not_matter(codes, cut, random, grouped):
    order = list(range(len(codes)))
    random.shuffle(order)
    mixed = codes[order]
    assert by_pattern(mixed[:cut], mixed[cut:], grouped=grouped) == by_pattern(codes, grouped=grouped)


@given(ROWS)
@settings(max_examples=30)
def test_whole_groups_are_resampled_by_pattern_as_by_sample(codes):
    np.testing.assert_allclose(numbers(by_pattern(codes, grouped=True)), numbers(by_sample(codes, grouped=True)))


def test_ends_are_those_of_resampled_samples():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    codes = np.where(rng.random((60, 4)) < 0.7, truth[:, None], rng.integers(-1, 3, (60, 4)))
    counts = label_counts(codes, 3)
    kinds, times = distinct_rows(counts, np.ones(60, np.int64))
    each = np.arange(60)  # a group of its own
    whole, counted = (
        np.mean([alpha_interval(rows, np.random.default_rng(seed), **how) for seed in range(30)], axis=0)
        for rows, how in ((counts, {"groups": each}), (kinds, {"times": times}))
    )
    assert counted == pytest.approx(whole, abs=0.05 * (whole[2] - whole[1]))  # groups are widened a little


def test_the_empty_partition_has_no_pattern():
    assert count_patterns(samples_of(np.zeros((0, 4), np.int64)), PEOPLE, CLASSES) == {}
    assert {one.verdict for one in by_pattern(np.zeros((0, 4), np.int64))} == {"not measured"}


N = 300
CODES = np.random.default_rng(0).integers(-1, 3, (N, 4))


@dataclass(frozen=True)
class Rows:
    """A partition: its first row, the row after its last, and whether samples have groups."""

    start: int
    stop: int
    grouped: bool


def rows(piece: Rows) -> pa.Table:
    found = samples_of(CODES[piece.start : piece.stop], piece.start)
    groups = pa.array([f"p{row // 3}" for row in range(piece.start, piece.stop)])
    return found.append_column(GROUP, groups) if piece.grouped else found


@stage(version=1)
def given_samples(cuts: list[int], grouped: bool) -> Artifact[Samples]:
    return map_pieces(rows, [Rows(a, b, grouped) for a, b in pairwise(cuts)], into=Samples)


@stage(version=1)
def given_classes(names: list[str]) -> Artifact[Classes]:
    return write_table(pa.table({"code": range(len(names)), "name": names}, schema=Classes.schema), into=Classes)


def measured(cuts: list[int], grouped: bool = False, names: list[str] = NAMES) -> Artifact[Findings]:
    return measure_agreement(given_samples(cuts, grouped), given_classes(names), Annotators(columns=tuple(PEOPLE)))


@pytest.mark.parametrize("grouped", [False, True])
def test_no_column_is_collected_and_the_cut_does_not_matter(make_run, tmp_path, monkeypatch, grouped):
    seen, digests = [], set()

    def noted(artifact, columns):
        seen.append(artifact.kind)
        return collect(artifact, columns)

    monkeypatch.setattr(alpha, "collect", noted)
    for cuts in ([0, N], [0, 7, 150, N]):
        with make_run(store=str(tmp_path / f"{len(cuts)}")):
            counted = measured(cuts, grouped)
            digests.add(counted.digest)
            if not grouped:
                assert without_ends(findings_from(collect(counted, None))) == without_ends(by_sample(CODES))
    assert set(seen) == {"Classes"}
    assert len(digests) == 1


def test_a_label_that_is_no_class_is_named(run):
    with pytest.raises(InputError, match="'ann' of an annotator holds 'maybe', which is no class; there are no, yes"):
        measured([0, 100, N], names=["no", "yes"])
