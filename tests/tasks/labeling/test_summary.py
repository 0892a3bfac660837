import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.data.schemas import LabelingTable
from assay.tasks.labeling.summary import count_votes, labeling_counts, labeling_findings, labeling_table
from assay.tasks.statistics.vote_counts import vote_matrix

pytestmark = pytest.mark.filterwarnings("ignore:Input has data type int64:FutureWarning")  # Snorkel's use of SciPy


def votes_table(matrix):
    ids = [str(row) for row in range(len(matrix))]
    return pa.table({"id": ids} | {f"f{j}": pa.array(matrix[:, j], pa.int8()) for j in range(matrix.shape[1])})


def counts_of(matrix, gold=None, classes=3):
    column = None if gold is None else pa.chunked_array([pa.array(gold, pa.int16())])
    merged = count_votes(votes_table(matrix), column, classes)
    return labeling_counts([f"f{j}" for j in range(matrix.shape[1])], merged)


matrices = hnp.arrays(np.int8, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(-1, 2))


@settings(max_examples=40, deadline=None)
@given(matrices, st.integers(0, 2**31))
def test_the_table_says_what_snorkels_analysis_says(matrix, seed):
    from snorkel.labeling import LFAnalysis

    gold = np.random.default_rng(seed).integers(0, 3, len(matrix))
    table = labeling_table(counts_of(matrix, gold), ("a", "b", "c"))
    peer = LFAnalysis(matrix.astype(int))
    assert table.column("coverage").to_pylist() == pytest.approx(peer.lf_coverages())
    assert table.column("overlaps").to_pylist() == pytest.approx(peer.lf_overlaps())
    assert table.column("conflicts").to_pylist() == pytest.approx(peer.lf_conflicts())
    polarities = [", ".join("abc"[label] for label in labels) for labels in peer.lf_polarities()]
    assert table.column("polarity").to_pylist() == polarities
    ours = [accuracy or 0.0 for accuracy in table.column("empirical_accuracy").to_pylist()]
    assert ours == pytest.approx(peer.lf_empirical_accuracies(gold))


@settings(max_examples=40, deadline=None)
@given(matrices)
def test_the_whole_rulebook_is_counted_as_snorkel_does(matrix):
    from snorkel.labeling import LFAnalysis

    counts, peer = counts_of(matrix), LFAnalysis(matrix.astype(int))
    n = counts.samples
    assert counts.covered / n == pytest.approx(peer.label_coverage())
    assert counts.overlapped / n == pytest.approx(peer.label_overlap())
    assert counts.conflicted / n == pytest.approx(peer.label_conflict())


@settings(max_examples=40, deadline=None)
@given(matrices, st.integers(0, 30))
def test_counts_of_partitions_add_up_to_those_of_the_whole(matrix, cut):
    gold = pa.chunked_array([pa.array(np.arange(len(matrix)) % 3, pa.int16())])
    table = votes_table(matrix)
    whole = count_votes(table, gold, 3)
    first = count_votes(table.slice(0, cut), gold.slice(0, cut), 3)
    rest = count_votes(table.slice(cut), gold.slice(cut), 3)
    for name, value in whole.items():
        np.testing.assert_array_equal(first[name] + rest[name], value)


def test_accuracy_is_of_samples_with_gold_only_and_unknown_without():
    matrix = np.array([[1, -1], [1, -1], [0, 0], [-1, -1]], np.int8)
    table = labeling_table(counts_of(matrix, [1, None, 1, 0]), ("a", "b", "c"))
    assert table.schema == LabelingTable.schema
    assert table.column("gold_votes").to_pylist() == [2, 1]
    assert table.column("empirical_accuracy").to_pylist() == [0.5, 0.0]
    unknown = labeling_table(counts_of(matrix), ("a", "b", "c"))
    assert unknown.column("empirical_accuracy").to_pylist() == [None, None]


def test_faults_stand_beside_the_function_that_raised():
    matrix = np.zeros((4, 2), np.int8)
    table = labeling_table(counts_of(matrix), ("a", "b", "c"), {"f1": (3, "s0: KeyError: 'x'")})
    assert table.column("faults").to_pylist() == [0, 3]
    assert table.column("fault_example").to_pylist() == [None, "s0: KeyError: 'x'"]


def test_no_samples_give_a_table_of_zeros():
    table = labeling_table(counts_of(np.empty((0, 2), np.int8)), ("a", "b", "c"))
    assert table.column("coverage").to_pylist() == [0.0, 0.0]
    assert table.column("polarity").to_pylist() == ["", ""]


def test_the_vote_matrix_keeps_the_order_of_the_functions():
    matrix = np.array([[0, -1, 2], [1, 1, -1]], np.int8)
    np.testing.assert_array_equal(vote_matrix(votes_table(matrix)), matrix)


def test_findings_carry_their_n_and_interval():
    matrix = np.array([[1, -1], [1, 0], [0, 0], [-1, -1]], np.int8)
    found = {(each.metric, each.of): each for each in labeling_findings(counts_of(matrix, [1, 1, 1, 1]), faults=2)}
    assert found["labeling.coverage", ""].value == 0.75
    assert found["labeling.coverage", ""].low < 0.75 < found["labeling.coverage", ""].high
    assert found["labeling.conflicts", ""].value == 0.25
    assert found["labeling.faults", ""].value == 2 / 8
    assert found["labeling.coverage", "f1"].value == 0.5
    assert (found["labeling.accuracy", "f0"].value, found["labeling.accuracy", "f0"].n) == (pytest.approx(2 / 3), 3)
