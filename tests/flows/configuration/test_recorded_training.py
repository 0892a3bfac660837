"""The record of a run holds how a tagger or scorer was trained, whole: it is read again by whoever computes it anew."""

import pytest

from assay.flows.configuration.short_forms import with_truth
from assay.tasks.ingest.settings import Source
from assay.tasks.subjects.settings import Subject, Training, options_of


@pytest.mark.parametrize("named", [{"tagger": "small-tagger"}, {"tagger": "./bert"}, {"scorer": "minilm"}])
def test_what_a_training_leaves_open_is_in_the_record(named: dict[str, str]) -> None:
    written = Subject(**named, train={"epochs": 1})
    run = with_truth(written, Source(csv=["rows.csv"]))
    recorded = Subject.model_validate(run.model_dump(mode="json"))
    assert options_of(recorded) == options_of(run) == options_of(written)
    assert options_of(recorded).learning_rate != Training().learning_rate
