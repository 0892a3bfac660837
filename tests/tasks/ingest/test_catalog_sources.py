"""Catalogue data sets as sources: found in the mirror, split and voted on as their papers did."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve

Reader = Callable[..., Any]


@pytest.mark.mirror
def test_spam_hides_the_gold_of_its_training_part_as_the_tutorial_does(read: Reader) -> None:
    result = read(5, dataset="youtube-spam", gold_in=["valid", "test"])
    assert result.classes == ("ham", "spam")
    labelled = [row["split"] for row in result.samples.to_pylist() if row["gold"] is not None]
    assert Counter(labelled) == {"test": 250, "valid": 120}
    assert result.samples.num_rows == 1956
    whole = read(dataset="youtube-spam", gold_in=["valid", "test"])
    assert whole.samples.equals(result.samples)


@pytest.mark.mirror
def test_the_crowd_votes_as_int8_columns(read: Reader) -> None:
    result = read(dataset="weather-crowd")
    assert result.classes == ("Negative", "Positive")
    assert len(result.reading.layout.votes) == 102
    columns = [field.name for field in result.samples.schema if str(field.type) == "int8"]
    assert columns == list(result.reading.layout.votes)
    assert result.samples.column_names[:4] == ["id", "gold", "text", "split"]


@pytest.mark.mirror
def test_a_catalogue_source_is_its_content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = Source(dataset="weather-crowd")
    here = resolve(source, tmp_path).fingerprint
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "crowdflower_weather").symlink_to(Path(os.environ["ASSAY_MIRROR"], "crowdflower_weather"))
    monkeypatch.setenv("ASSAY_MIRROR", str(tmp_path / "mirror"))
    assert resolve(source, tmp_path).fingerprint == here


@pytest.mark.parametrize(
    "kind", ["heart-rate-low", "heart-rate-high", "respiratory-rate-low", "respiratory-rate-high", "spo2-low"]
)
def test_simulated_alarms_are_embedded_samples(read: Reader, kind: str) -> None:
    result = read(2, dataset=f"sample/alarms-{kind}")
    assert result.rejects.num_rows == 0
    assert set(result.samples.column("gold").to_pylist()) == {0, 1}
    assert len(result.classes) == 2
