from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.infra.errors import InputError, RunError
from assay.tasks.subjects.tables.logistic import learn, require_teachable, survey, training_rows

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
GOLD = (X[:, 0] + 0.3 * RNG.normal(size=N) > 0).astype(np.int16)
KNOWN = np.arange(N) % 3 > 0
SAMPLES = pa.table(
    {"id": [f"s{i:03d}" for i in range(N)], "gold": pa.array(GOLD, mask=~KNOWN), "target": X[:, 0], "fold": X[:, 1]}
)
LABELS = pa.table({"id": SAMPLES["id"], "label": pa.array(GOLD, pa.int16()), "undecided": np.arange(N) % 10 == 0})


def rows(samples: pa.Table, labels: pa.Table | None = None, **options: object) -> pa.Table:
    chosen = {"features": ["target", "fold"], "folds": 5, "share": 1.0, "seed": "0"} | options
    tables = [samples] if labels is None else [samples, labels]
    return training_rows(*tables, **chosen)


def test_only_samples_with_gold_teach() -> None:
    assert rows(SAMPLES)["id"].to_pylist() == SAMPLES["id"].filter(pa.array(KNOWN)).to_pylist()
    assert survey(SAMPLES, classes=2, features=None)["targets"].sum() == KNOWN.sum()


def test_only_decided_weak_labels_teach() -> None:
    found = rows(SAMPLES, LABELS)
    assert found.num_rows == N - N // 10
    assert survey(SAMPLES, LABELS, classes=2, features=None)["targets"].sum() == N - N // 10


def test_weak_labels_of_other_rows_are_an_error() -> None:
    with pytest.raises(RunError, match="not those of these samples"):
        rows(SAMPLES, LABELS.slice(0, N).take(list(range(N))[::-1]))


def test_features_called_target_and_fold_are_features() -> None:
    found = rows(SAMPLES)
    assert found["feature:target"].to_pylist() == SAMPLES["target"].filter(pa.array(KNOWN)).to_pylist()
    assert set(found["fold"].to_pylist()) == {0, 1, 2, 3, 4}


def test_the_model_does_not_depend_on_order_or_partitions() -> None:
    shuffled = SAMPLES.take(np.random.default_rng(1).permutation(N))
    parts = [rows(shuffled.slice(start, 70)) for start in range(0, N, 70)]
    options = {"features": ["target", "fold"], "folds": 5, "classes": 2}
    assert learn(rows(SAMPLES), **options) == learn(pa.concat_tables(parts), **options)


def test_a_drawn_sample_is_the_same_in_any_partition() -> None:
    whole = rows(SAMPLES, share=0.4)["id"].to_pylist()
    parts = [name for start in range(0, N, 41) for name in rows(SAMPLES.slice(start, 41), share=0.4)["id"].to_pylist()]
    assert whole == parts
    assert 0 < len(whole) < KNOWN.sum()
    assert rows(SAMPLES, share=0.4, seed="1")["id"].to_pylist() != whole


@pytest.mark.parametrize(
    ("counts", "train_on", "said"),
    [
        ([0, 0], "gold", "no sample has a gold label: set `train_on: weak`"),
        ([0, 0], "weak", "no sample has a decided weak label: set `train_on: gold`"),
        ([0, 9], "gold", "All 9 gold labels the subject learns from say 'ill'"),
    ],
)
def test_there_must_be_something_to_learn(counts: list[int], train_on: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        require_teachable(np.array(counts), train_on, ["well", "ill"])
