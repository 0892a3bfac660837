"""Before a subject's stored predictions are believed, a few samples are asked again.

Code and the files it stands on are in the key of its predictions. A file that a library opened unheard, or a service
behind the function, is not; where some of the samples are answered otherwise than the store says, the subject gets
another key and everything about it is computed anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from assay.data.schemas import Classes, Samples, SubjectFiles, class_names
from assay.infra.engines.calls import Call
from assay.infra.stages.branches import Plan
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import Tallied, collect, read_files
from assay.infra.stages.runs import current_run
from assay.infra.stages.stage import Stage
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.parquet import read_part
from assay.infra.user_code.references import note_elsewhere
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.kinds import asked_by
from assay.tasks.subjects.resolved import ResolvedSubject

Learned = TypeVar("Learned", bound="Artifact[Any] | tuple[Any, ...]")

SAMPLES = 32
PARTITIONS = 4  # they are drawn from at most so many, so that asking stays cheap whatever the size of the data
_TOLERANCE = 1e-4  # the same model on another batch, or another processor, agrees to more digits
_DECIMALS = 3


def as_it_answers_now(
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    subject: ResolvedSubject,
    learn: Callable[[ResolvedSubject], Learned],
) -> tuple[ResolvedSubject, Learned]:
    """The subject and its files, which it `learn`s; under another key where it answers otherwise than the store says.

    Only a function or builder of the user's is asked, and only where the store would answer for it.
    """
    learned = learn(subject)
    if subject.is_known_whole or isinstance(current_run().conductor, Plan):
        return subject, learned
    files: Artifact[SubjectFiles] = learned[0] if isinstance(learned, tuple) else learned
    asking = asked_by(subject.settings)
    predict = asking.predict
    manifest = current_run().store.find(predict.name, predict.key(asking.given(samples, classes, files, subject), {}))
    if manifest is None:
        return subject, learned
    asked, stored = _drawn(samples, predict.handles(manifest))
    current = _compared(subject, stored, _answers(predict, asked, classes, files, _uncached(subject)))
    return (subject, learned) if current is subject else (current, learn(current))


def _uncached(subject: ResolvedSubject) -> ResolvedSubject:
    """The subject; of a service, one that takes nothing from what it was told before."""
    code = subject.code
    if not isinstance(code, GivenModel) or not code.version:
        return subject
    return replace(subject, code=replace(code, version=f"{code.version}, asked again by run {current_run().id}"))


def _compared(subject: ResolvedSubject, stored: pa.Table, answers: pa.Table) -> ResolvedSubject:
    """The subject, or, where its answers are not the stored ones, the same under another key; the run says so."""
    run, name, n = current_run(), subject.settings.name, stored.num_rows
    differ = int(np.count_nonzero(_differences(stored, answers)))
    if subject.code is None or not differ:
        run.note_asked_again(name, f"{n} samples, answered as before")
        return subject
    run.note_asked_again(name, f"{differ} of {n} samples answered otherwise than before")
    run.notice(
        f"subject {name}: of {n} samples that were asked again {differ} are answered otherwise than in the store, "
        "though its code and the files known of are the same: everything about it is computed anew (name what it reads "
        "under `files`)"
    )
    current = replace(subject.code, version=f"answers {_digest(answers)}")
    if isinstance(current, GivenModel):
        note_elsewhere(f"answers of {current.written}", f"{current.written}, changed", current.fingerprint)
    return replace(subject, code=current)


def _drawn(samples: Artifact[Any], predictions: Artifact[Any]) -> tuple[pa.Table, pa.Table]:
    """Some samples, drawn by the run's seed, and what the store holds for each."""
    run = current_run()
    inputs, outputs = (run.store.output(artifact) for artifact in (samples, predictions))
    generator = Seeds(run.seed, "asked again").generator()
    count = min(PARTITIONS, len(inputs.parts))
    chosen = sorted(generator.choice(len(inputs.parts), size=count, replace=False).tolist())
    tables: list[tuple[pa.Table, pa.Table]] = []
    for at in chosen:
        both = [read_part(run.store.folder, output.parts[at].files[output.place]) for output in (inputs, outputs)]
        size = min(-(-SAMPLES // count), both[0].num_rows)
        rows = pa.array(np.sort(generator.choice(both[0].num_rows, size=size, replace=False)))
        tables.append((both[0].take(rows), both[1].take(rows)))
    return pa.concat_tables([asked for asked, _ in tables]), pa.concat_tables([stored for _, stored in tables])


def _answers(
    predict: Stage[..., Any],
    samples: pa.Table,
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
) -> pa.Table:
    """What the subject says of the samples now, on a worker as in the stage."""
    names = tuple(class_names(collect(classes, None)))
    call = Call(0, f"{subject.settings.name}, asked again", answer, (samples, subject, read_files(files), names))
    (outcome,) = current_run().engine.run([call], gpu=predict.gpu)
    if outcome.error is not None:
        raise outcome.error
    assert isinstance(outcome.value, pa.Table)
    return outcome.value


def answer(samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], classes: tuple[str, ...]) -> pa.Table:
    """What the stage that predicts would write for these samples."""
    predicted = asked_by(subject.settings).table(samples, subject, files, classes)
    return predicted.result if isinstance(predicted, Tallied) else predicted


def _differences(stored: pa.Table, answers: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For every sample whether any column of its answer differs, numbers by more than rounding."""
    differ = np.zeros(stored.num_rows, dtype=np.bool_)
    for name in stored.column_names:
        pairs = zip(stored[name].to_pylist(), answers[name].to_pylist(), strict=True)
        differ |= np.array([not _same_answer(was, now) for was, now in pairs], dtype=np.bool_)
    return differ


def _same_answer(was: object, now: object) -> bool:
    """Whether two answers are the same.

    >>> _same_answer([0.25, 0.75], [0.250001, 0.749999]), _same_answer(["O", "B-X"], ["O", "O"])
    (True, False)
    """
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(_same_answer, was, now))
    if isinstance(was, float) and isinstance(now, float):
        return abs(was - now) <= _TOLERANCE or (was != was and now != now)
    return was == now


def _digest(answers: pa.Table) -> str:
    """The answers in a few decimals, so that tomorrow the same model has the same key."""
    coarse = json.dumps(answers.to_pylist(), default=str, sort_keys=True)
    rounded = json.loads(coarse, parse_float=lambda text: round(float(text), _DECIMALS))
    return hashlib.sha256(json.dumps(rounded).encode()).hexdigest()[:16]
