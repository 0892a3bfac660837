"""The adversarial order and its cuts depend on scores and ids only."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.ordering.datasets import cut_points, dataset_of_rank, tie_breaks
from tests.tasks.ordering.in_one_place import adversarial_order, counted_at_once, largest_tie, tie_starts

scores = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5000000000000001, 1.0]), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(scores, st.randoms(use_true_random=False))
def test_the_order_ignores_how_the_samples_came(values, random):
    ids = [f"sample {i}" for i in range(len(values))]
    shuffle = random.sample(range(len(ids)), len(ids))

    def ordered(positions):
        hashes = tie_breaks(pa.array([ids[p] for p in positions]))
        order = adversarial_order(np.array([values[p] for p in positions]), hashes)
        return [ids[positions[o]] for o in order]

    assert ordered(shuffle) == ordered(list(range(len(ids))))


@settings(max_examples=60, deadline=None)
@given(scores)
def test_scores_fall_along_the_order_and_equal_ones_follow_the_hash(values):
    hashes = tie_breaks(pa.array([str(i) for i in range(len(values))]))
    order = adversarial_order(np.array(values), hashes)
    assert sorted(order) == list(range(len(values)))
    keys = [(-values[o], hashes[o]) for o in order]
    assert keys == sorted(keys)


def test_the_hash_of_an_id_never_changes_and_reads_unicode():
    assert tie_breaks(pa.array(["a", "b"])).tolist() == [4681665781835383343, -8902839231844102283]
    assert len(set(tie_breaks(pa.array(["ü", "u", "🙂", ""])).tolist())) == 4
    assert tie_breaks(pa.array([], pa.string())).tolist() == []


@given(st.integers(3, 3000), st.integers(3, 60))
def test_cuts_grow_up_to_all_samples_and_differ_by_one_at_most(n, datasets):
    if n < datasets:
        with pytest.raises(InputError, match=f"{n} samples cannot be cut into {datasets} data sets"):
            cut_points(n, datasets)
        return
    cuts = cut_points(n, datasets)
    assert len(cuts) == datasets
    assert cuts[-1] == n
    sizes = np.diff(cuts, prepend=0)
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(cuts, [round(Fraction(i * n, datasets)) for i in range(1, datasets + 1)])


def test_too_few_samples_to_order_say_how_many_are_needed():
    with pytest.raises(InputError, match="2 samples are too few to order; bring at least 10"):
        cut_points(2, 10)


@given(st.integers(10, 500), st.integers(3, 10))
def test_a_sample_is_in_every_data_set_from_its_own_on(n, datasets):
    cuts = cut_points(n, datasets)
    first = dataset_of_rank(np.arange(n), cuts)
    for d in range(1, datasets + 1):
        assert (first <= d).sum() == cuts[d - 1]


@settings(max_examples=60)
@given(scores)
def test_the_largest_tie_is_the_most_frequent_score(values):
    ordered = np.sort(np.array(values))[::-1]
    assert largest_tie(ordered) == max(values.count(value) for value in values)
    assert len(tie_starts(ordered)) - 1 == len(set(values))


def test_the_order_at_once_is_that_of_scores_and_tie_breaks():
    order = adversarial_order(np.array([0.1, 0.9, 0.1]), np.array([7, 8, 3]))
    assert order.tolist() == [1, 2, 0]
    assert tie_starts(np.array([0.9, 0.5, 0.5, 0.1])).tolist() == [0, 1, 3, 4]
    counted = counted_at_once(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 0, 1, -1], np.int8), np.array([2, 4]))
    assert (counted.hits.tolist(), counted.known.tolist()) == ([1, 1], [2, 1])
    assert (counted.first.tolist(), counted.last.tolist()) == ([1, 3], [3, 4])
