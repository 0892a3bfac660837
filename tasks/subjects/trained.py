"""What every stage that trains a subject gives back: its files with their card, and its learning curve."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from assay.data.schemas import Samples, SubjectFiles, TrainingCurve
from assay.infra.stages.partitions import collect, tally_of
from assay.infra.stages.stage import write_files, write_table
from assay.infra.stages.trainings import train_on_worker
from assay.infra.storage.artifacts import Artifact


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to; shares are None where there is nothing to measure them on."""

    epoch: int
    loss: float
    train_accuracy: float | None
    validation_accuracy: float | None


def curve_table(curve: Sequence[Epoch]) -> pa.Table:
    """The curve as a table; no rows for what came trained.

    >>> curve_table([Epoch(1, 0.5, 0.9, None)]).to_pylist()
    [{'epoch': 1, 'loss': 0.5, 'train_accuracy': 0.9, 'validation_accuracy': None}]
    """
    return pa.Table.from_pylist([asdict(epoch) for epoch in curve], schema=TrainingCurve.schema)


class TrainedSubject(NamedTuple):
    """A subject's files, and how it learned (no rows where it came trained, or needed no epochs)."""

    files: Artifact[SubjectFiles]
    curve: Artifact[TrainingCurve]

    def last_epoch(self) -> dict[str, Any]:
        """The last row of the curve; empty where nothing was learned by epochs."""
        rows = collect(self.curve, None).sort_by("epoch").to_pylist()
        return dict(rows[-1]) if rows else {}


def trained_on_worker(function: Callable[..., Any], training: Artifact[Samples], **constants: Any) -> TrainedSubject:
    """The subject that `function` makes of these samples on one worker; constants are handed to it."""
    return TrainedSubject(*train_on_worker(function, training, into=SubjectFiles, curve=TrainingCurve, **constants))


def without_epochs(files: Mapping[str, bytes]) -> TrainedSubject:
    """A subject that is as it is: these files, and a curve without rows."""
    curve = write_table(TrainingCurve.schema.empty_table(), into=TrainingCurve)
    return TrainedSubject(write_files(files, into=SubjectFiles), curve)


CARD = "card.json"


def sealed_card(card: Mapping[str, Any], files: Mapping[str, bytes], made_of: str) -> dict[str, bytes]:
    """The card as a file; its fingerprint is that of `made_of` and of the files beside it.

    >>> "fingerprint" in json.loads(sealed_card({"kind": "own"}, {}, "code")[CARD])
    True
    """
    state = hashlib.sha256(made_of.encode())
    for name in sorted(files):
        state.update(f"\0{name}\0{hashlib.sha256(files[name]).hexdigest()}".encode())
    whole = dict(card) | {"fingerprint": state.hexdigest()}
    return {CARD: json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False).encode()}


def cut_in_words(artifact: Artifact[Any]) -> str:
    """The end of a stage's line, by what was counted as `cut` while `artifact` was made; empty where nothing was."""
    cut = tally_of(artifact).get("cut", 0)
    return f" · {cut} longer than it reads, and cut" if cut else ""
