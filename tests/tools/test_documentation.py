"""docs/pipelines.md is what the models say, and every example in it is one that the models accept."""

import pytest
from documentation import CONCEPTS, PAGE, _models, current_page, examples_of, with_figure, written
from pydantic import BaseModel

from assay.flows.validation import validate, writable
from assay.flows.yaml_document import Document, read_yaml

SETTINGS = [(model, name) for _, model in _models() for name in writable(model)]


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == current_page(), "run: make docs"
    concepts = CONCEPTS.read_text(encoding="utf-8")
    assert concepts == with_figure(concepts), "run: make docs"


@pytest.mark.parametrize(("model", "name"), SETTINGS, ids=[f"{model.__name__}.{name}" for model, name in SETTINGS])
def test_every_setting_has_a_sentence_and_an_example_that_is_accepted(model: type[BaseModel], name: str) -> None:
    assert (written(model)[name].description or "").strip().endswith((".", "`."))
    examples = examples_of(model, name)
    assert examples
    for example in examples:
        document = read_yaml(f"{name}: {example}", "docs")
        assert not document.mistakes
        _, mistakes = validate(model, Document("docs", document.value, document.lines))
        wrong = [
            str(mistake) for where, mistake in mistakes if where[:1] == (name,) and "missing" not in mistake.expected
        ]
        assert not wrong
