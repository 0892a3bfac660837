"""The text classifier in a subject's files."""

from __future__ import annotations

import json
from functools import lru_cache

from assay.tasks.subjects.built_from import BuiltFrom
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.model import TextModel


def load_text_model(
    subject: ResolvedSubject, files: dict[str, bytes], classes: int, device: str | None = None
) -> TextModel:
    """The model in a subject's files, on the device (a GPU where there is one); each process builds it once.

    Where the model is a network over tokens, what comes back is a `TokenModel`.
    """
    model: TextModel = _build(BuiltFrom.of(subject, files, classes), device)
    return model


@lru_cache(maxsize=2)
def _build(source: BuiltFrom, device: str | None) -> TextModel:
    card = json.loads(source.files["card.json"])
    if card["kind"] == "own":
        from assay.tasks.subjects.texts.own import OwnTextModel

        assert source.subject.code is not None
        return OwnTextModel(source.subject.code, source.classes, source.subject.masked)
    if card["kind"] == "minilm-linear":
        from assay.tasks.subjects.texts.linear import linear_from_files

        return linear_from_files(source.files, device)
    from assay.tasks.subjects.texts.hugging_face import network_from_files

    return network_from_files(source.files, device)
