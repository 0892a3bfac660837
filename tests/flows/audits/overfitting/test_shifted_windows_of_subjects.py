"""Shifted windows in an audit: which subjects can be tested, and what fails alone."""

from __future__ import annotations

import pytest

from assay.flows.audits.overfitting_flow import shift_one
from assay.flows.audits.subjects_flow import Examination, Examined, Model
from assay.infra.errors import InputError
from assay.tasks.overfitting.settings import Overfitting, Translations
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Subject


def test_a_subject_that_came_with_its_weights_has_no_other_seeds():
    brought = ResolvedSubject(Subject(name="theirs", network="vgg19", weights="w.safetensors", crop=64), weights=b"")
    nothing = Examination(None, None, None)
    asked = Overfitting(translations=Translations(retrain=3))
    with pytest.raises(InputError, match=r"`retrain: 3` trains theirs with other seeds, and it came with its weights"):
        shift_one(nothing, asked, Examined(Model(None, None, brought), None, None, None))
