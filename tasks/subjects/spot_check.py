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
from functools import partial
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
from assay.infra.user_code.references import CodeReference, UnknownSourceError, note_elsewhere
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.kinds import asked_by
from assay.tasks.subjects.own_models import require_class_order
from assay.tasks.subjects.resolved import ResolvedSubject

Learned = TypeVar("Learned", bound="Artifact[Any] | tuple[Any, ...]")

SAMPLES = 32
PARTITIONS = 4  # they are drawn from at most so many, so that asking stays cheap whatever the size of the data
CHANGED = 0.02
MOST_CHANGES = 8
"""So many changes of a model behind one key are told apart; what changes more often is never taken from the store."""
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
    run, current, differed = current_run(), subject, ""
    if isinstance(subject.code, CodeReference) and not isinstance(run.conductor, Plan):
        require_class_order(subject.code, class_names(collect(classes, None)))
    for further in range(MOST_CHANGES):
        learned = learn(current)
        if subject.is_known_whole or isinstance(run.conductor, Plan):
            return current, learned
        files: Artifact[SubjectFiles] = learned[0] if isinstance(learned, tuple) else learned
        asking = asked_by(subject.settings)
        predict = asking.predict
        manifest = run.store.find(predict.name, predict.key(asking.given(samples, classes, files, current), {}))
        if manifest is None:
            if differed:
                _say_changed(subject, differed)
            return current, learned
        ask = partial(_answers, predict, classes=classes, files=files, subject=_uncached(current))
        asked, stored = _drawn(samples, predict.handles(manifest), f"asked again in {run.id}")
        differ, n = int(np.count_nonzero(_differences(stored, ask(asked)))), stored.num_rows
        if subject.code is None or not differ:
            run.note_asked_again(
                subject.settings.name, f"{n} samples, drawn anew tonight, answered as before; {escaping(n)}"
            )
            return current, learned
        differed = f"{differ} of {n} samples"
        if not further:  # what the changed model is known by: its answers to samples that are the same every night
            version = f"answers {_digest(ask(_drawn(samples, predict.handles(manifest), 'asked again')[0]))}"
        current = _versioned(subject, version if not further else f"{version}, changed {further} times since")
    current = _versioned(subject, f"answers of run {run.id}")
    _say_changed(subject, differed)
    return current, learn(current)


def look_before(samples: Artifact[Any], classes: Artifact[Classes], subject: ResolvedSubject) -> None:
    """Asks a user's own model of columns about one sample, and refuses it where it then reads what its key does not
    know of: before the rules, the labels and the order are computed. Whatever else is wrong is said in its turn."""
    run = current_run()
    if subject.kind != "own" or subject.is_known_whole or isinstance(run.conductor, Plan) or not samples.rows:
        return
    output = run.store.output(samples)
    file = next(part.files[output.place] for part in output.parts if part.files[output.place].rows)
    few = read_part(run.store.folder, file).slice(0, 1)
    names = tuple(class_names(collect(classes, None)))
    (outcome,) = run.engine.run([Call(0, f"{subject.settings.name}, asked once", answer, (few, subject, {}, names))])
    if isinstance(outcome.error, UnknownSourceError):
        raise outcome.error


def _uncached(subject: ResolvedSubject) -> ResolvedSubject:
    """The subject; of a service, one that takes nothing from what it was told before."""
    code = subject.code
    if not isinstance(code, GivenModel) or not code.version:
        return subject
    return replace(subject, code=replace(code, version=f"{code.version}, asked again by run {current_run().id}"))


def _say_changed(subject: ResolvedSubject, differed: str) -> None:
    run, name = current_run(), subject.settings.name
    run.note_asked_again(name, f"{differed} answered otherwise than before")
    run.notice(
        f"subject {name}: {differed} that were asked again are answered otherwise than in the store, though its code "
        "and the files known of are the same: everything about it is computed anew (name what it reads under `files`)"
    )


def _versioned(subject: ResolvedSubject, version: str) -> ResolvedSubject:
    """The subject under another key."""
    assert subject.code is not None
    current = replace(subject.code, version=version)
    if isinstance(current, GivenModel):
        note_elsewhere(f"answers of {current.written}", f"{current.written}, changed", current.fingerprint)
    return replace(subject, code=current)


def escaping(n: int) -> str:
    """What so many samples would miss of a change that shows in few answers.

    >>> escaping(32)
    'a change of 2 % of its answers escapes so many on 52 of 100 nights, and in a week of nights on 1'
    """
    night = (1 - CHANGED) ** n
    return (
        f"a change of {CHANGED * 100:g} % of its answers escapes so many on {night * 100:.0f} of 100 nights, and in a "
        f"week of nights on {night**7 * 100:.0f}"
    )


def spread(stored: pa.Table, size: int, generator: np.random.Generator) -> list[int]:
    """So many rows, spread evenly over answers and, within an answer, over how sure it is: a change that spares most
    answers is in one stratum. Where the first of them lies is drawn.

    >>> rows = pa.table({"id": ["a", "b", "c", "d"], "predicted": [1, 0, 1, 0]})
    >>> sorted(rows["predicted"][at].as_py() for at in spread(rows, 2, np.random.default_rng(0)))
    [0, 1]
    """
    answers = stored.drop_columns(["id"]).to_pylist()
    ordered = sorted(generator.permutation(len(answers)).tolist(), key=lambda at: _answer_and_rank(answers[at]))
    strata = np.array_split(np.array(ordered, np.int64), max(1, min(size, len(ordered))))
    return sorted(int(generator.choice(stratum)) for stratum in strata if len(stratum))


def _answer_and_rank(answer: dict[str, Any]) -> tuple[str, float]:
    lists = [value for value in answer.values() if isinstance(value, list)]
    sure = [max(chances) for chances in lists if chances and isinstance(chances[0], float)]
    plain = [value for value in answer.values() if not isinstance(value, list | float)]
    return json.dumps(plain, default=str), max(sure, default=0.0)


def _drawn(samples: Artifact[Any], predictions: Artifact[Any], draw: str) -> tuple[pa.Table, pa.Table]:
    """Some samples, and what the store holds for each; nobody knows them before where the `draw` names the run."""
    run = current_run()
    inputs, outputs = (run.store.output(artifact) for artifact in (samples, predictions))
    generator = Seeds(run.seed, draw).generator()
    parts = min(PARTITIONS, len(inputs.parts))
    chosen = sorted(generator.choice(len(inputs.parts), size=parts, replace=False).tolist())
    tables: list[tuple[pa.Table, pa.Table]] = []
    for at in chosen:
        both = [read_part(run.store.folder, output.parts[at].files[output.place]) for output in (inputs, outputs)]
        rows = pa.array(spread(both[1], -(-SAMPLES // parts), generator))
        tables.append((both[0].take(rows), both[1].take(rows)))
    return pa.concat_tables([asked for asked, _ in tables]), pa.concat_tables([stored for _, stored in tables])


def _answers(
    predict: Stage[..., Any],
    samples: pa.Table,
    *,
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
