"""Clusters are counted alike in one place and by ranges of their hashes."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from posted import opened

from assay.tasks.ordering import sorting
from assay.tasks.ordering.clusters import clusters_in_range, hashes_dealt
from assay.tasks.ordering.task import find_clusters
from tests.tasks.ordering.test_task import N, given_samples, given_votes

HASHES = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1]))


@given(st.lists(HASHES, min_size=1, max_size=4), st.integers(1, 5))
def test_every_hash_is_counted_once(parts, ranges):
    sent = [hashes_dealt(pa.table({"cluster": np.array(part, dtype=np.int64)}), ranges) for part in parts]
    counted = [
        clusters_in_range(sorting.Range(at), {place: opened(one, at) for place, one in enumerate(sent)})
        for at in range(ranges)
    ]
    assert sum(counted) == len({one for part in parts for one in part})


def test_the_line_is_the_same_either_way(make_run, tmp_path, monkeypatch):
    def line(store: str) -> str:
        with make_run(store=str(tmp_path / store)) as run:
            cuts = [0, 7, 150, N]
            find_clusters(given_votes(cuts), given_samples(cuts, 1), None)
            return run.record.stages[-1].summary

    in_one_range = line("one range")
    monkeypatch.setattr(sorting, "RANGE_ROWS", 60)
    assert line("ranges") == in_one_range
    assert in_one_range.endswith(f"of {N} samples differ")
