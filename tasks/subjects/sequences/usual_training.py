"""How taggers and scorers are trained where the pipeline does not say otherwise."""

from __future__ import annotations

from assay.tasks.subjects.settings import Subject, Training

TAGGING = {
    "small-tagger": Training(epochs=15, batch_size=16, learning_rate=3e-3, validation=0),
    "minilm": Training(epochs=3, batch_size=16, learning_rate=2e-4, validation=0),
}
"""What suits the taggers that Assay knows."""

SCORING = {
    "small-scorer": Training(epochs=12, batch_size=32, learning_rate=3e-3, validation=0),
    "minilm": Training(epochs=8, batch_size=8, learning_rate=5e-5, validation=0),
}
"""What suits the scorers that Assay knows."""

FURTHER = Training(epochs=5, batch_size=16, learning_rate=5e-5, validation=0)
"""What suits a Hugging Face model that is trained further; the paper's are, as it describes in its section 4."""


def options_of(subject: Subject) -> Training | None:
    """How the tagger or scorer is trained: as `train` says, and what it leaves open as suits; None: as it came.

    >>> options_of(Subject(tagger="minilm", train={"epochs": 1})).learning_rate
    0.0002
    >>> options_of(Subject(tagger="some/folder")) is None
    True
    """
    suits = (TAGGING if subject.kind == "tagger" else SCORING).get(subject.named)
    if subject.train is None:
        return suits
    given = {name: getattr(subject.train, name) for name in subject.train.model_fields_set}
    return (suits or FURTHER).model_copy(update=given)
