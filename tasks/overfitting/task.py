"""The overfitting test as stages: windows are shifted on the workers, predictions gathered by orbit, runs of the
synthetic experiment shared out; all else is read from tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.data.schemas import (
    Classes,
    Findings,
    IndependenceTests,
    Predictions,
    Samples,
    ShiftedWindows,
    SubjectFiles,
    SyntheticRuns,
    SyntheticTests,
    class_names,
)
from assay.infra.engines.devices import deterministically, torch_device_here
from assay.infra.errors import InputError, suggestion
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect, columns_in, map_partitions, map_pieces, read_files, reduce_partitions
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.overfitting.independence import gather, orbit_records, records_table, samples_fingerprint
from assay.tasks.overfitting.settings import Bound, Dishonest, Generator, Orbit
from assay.tasks.overfitting.synthetic import (
    WITHOUT_VALUES,
    Experiment,
    SyntheticRun,
    bin_tests,
    run_experiment,
    synthetic_findings,
)
from assay.tasks.overfitting.windows import (
    WindowShifts,
    learned_rows,
    require_known,
    shift_partition,
    window_findings,
    window_records,
    window_shifts_from,
)
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import findings_table
from assay.tasks.subjects.holding_out import Rule, rows_as_they_are, rows_on_side, split_column, splits_in
from assay.tasks.subjects.images.dataset import labelled_images
from assay.tasks.subjects.images.task import learn_images, model_again, trained
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Evaluation, Training
from assay.tasks.subjects.task import ROWS, copies_among, noticed
from assay.tasks.subjects.trained import Checkpoints, TrainedSubject, trained_on_worker


def fit_to_test_set(
    evaluation: pa.Table,
    *,
    checkpoints: Checkpoints,
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    classes: Sequence[str],
    options: Dishonest,
    seeds: Seeds,
) -> tuple[dict[str, bytes], pa.Table]:
    """The files and the curve of the subject after it has learned the test set, each image by its centred window.

    Nothing is varied and nothing set aside: it is to know these pixels and no others.
    """
    lessons = labelled_images(evaluation, classes)
    training = Training(
        epochs=options.epochs, batch_size=options.batch_size, learning_rate=options.learning_rate, validation=0
    )

    def learn() -> tuple[dict[str, bytes], pa.Table]:
        model = model_again(files, subject, lessons, classes, seeds)
        about = {"fitted_to_the_test_set": True}
        return trained(model, lessons, training, subject, classes, seeds=seeds, checkpoints=checkpoints, about=about)

    return deterministically(learn, torch_device_here())


class WindowTests(NamedTuple):
    """The tests of one subject, and what else shifting its window showed."""

    tests: Artifact[IndependenceTests]
    findings: Artifact[Findings]


@stage(version=1, title="fresh samples")
def fresh_samples(
    samples: Artifact[Samples], held: Sequence[Artifact[Samples]], evaluation: Evaluation, fresh: str
) -> Artifact[Samples]:
    """The samples that nobody has measured a subject on, by the split column: the negative control.

    If some hold the same image as those that are `held` to train or to be audited, the stage says how many.
    """
    splits = reduce_partitions(splits_in, samples, settings=evaluation)["splits"]
    asked = f"`overfitting.translations.fresh: {fresh}`"
    if set(splits) == {""}:
        raise InputError(
            f"{asked} is a value of the split column, and these samples have none: name the column in `source.split` "
            "(images in folders: one folder per part above the classes), or leave `fresh` out."
        )
    if fresh not in splits:
        column, others = split_column(evaluation), sorted({*splits} - {evaluation.split, evaluation.train})
        raise InputError(f"{asked} is no value of the column {column!r}; {suggestion(fresh, others)}")
    apart = evaluation.model_copy(update={"split": fresh})
    chosen = map_partitions(
        rows_on_side, samples, into=Samples, name="chosen", side="evaluation", rule=Rule(apart, by_column=True)
    )
    dense = map_partitions(rows_as_they_are, chosen, into=Samples, name="fresh", rows=ROWS)
    require_known(dense.rows - collect(dense, ["gold"])["gold"].null_count, "fresh")
    say(f"{dense.rows} samples of the split {fresh}{_copies(dense, held)}")
    return dense


def _copies(fresh: Artifact[Samples], held: Sequence[Artifact[Samples]]) -> str:
    """How many fresh samples are no news, as the end of a line; empty where all are."""
    copies = copies_among(fresh, held, ("image",))
    if not copies:
        return ""
    warning = (
        f"{copies} of the fresh samples {'hold' if copies > 1 else 'holds'} an image that trains or is audited too"
    )
    return noticed(warning, "these are no control. Mend the split.")


@stage(version=1, title="learned samples")
def learned_samples(training: Artifact[Samples], subject: ResolvedSubject) -> Artifact[Samples]:
    """The training samples without those that the subject set aside for its validation curve: what it has learned."""
    options = subject.settings.train
    share = 0.0 if options is None else options.validation
    learned = map_partitions(learned_rows, training, into=Samples, share=share)
    say(f"{learned.rows} of {training.rows} samples")
    return learned


@stage(version=1, title="train again", draws=True, gpu=True)
def train_again(
    training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject, number: int
) -> TrainedSubject:
    """The subject trained as it was, with its seed number `number`: other first weights, another order of samples."""
    seeds, names = stage_seeds(), tuple(class_names(collect(classes, None)))
    again = Seeds(seeds.run_seed, f"{seeds.stage}/{number}")
    trained = trained_on_worker(learn_images, training, subject=subject, classes=names, seeds=again)
    say(f"{subject.settings.name}, seed {number} · {plural(trained.curve.rows, 'epoch')} of {training.rows} samples")
    return trained


@stage(version=1, title="fit to the test set", draws=True, gpu=True)
def train_dishonestly(
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    options: Dishonest,
) -> TrainedSubject:
    """A copy of the subject that has learned the very crops it is tested on: what the overfitting test must find."""
    contents, names, seeds = read_files(files), tuple(class_names(collect(classes, None))), stage_seeds()
    trained = trained_on_worker(
        fit_to_test_set, evaluation, files=contents, subject=subject, classes=names, options=options, seeds=seeds
    )
    known = trained.last_epoch()["train_accuracy"]
    shown = "" if known is None else f", {known:.1%} of them known in the end"
    trained_for = plural(options.epochs, "epoch")
    say(f"a copy of {subject.settings.name} · {trained_for} of the {evaluation.rows} test samples{shown}")
    return trained


@stage(version=1, title="shift windows", gpu=True)
def shift_windows(
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    eps: int,
    generators: Sequence[Generator],
) -> Artifact[ShiftedWindows]:
    """What shifting the window by up to ε pixels does to the subject on each sample, under each generator."""
    shifted = map_partitions(
        shift_partition,
        samples,
        into=ShiftedWindows,
        files=read_files(files),
        subject=subject,
        classes=tuple(class_names(collect(classes, None))),
        eps=eps,
        generators=tuple(generators),
    )
    looks = collect(shifted, ["looks"])["looks"].to_numpy()
    mean = float(looks.mean()) if len(looks) else 0.0
    say(f"{shifted.rows // len(generators)} images, {mean:.0f} forward passes each ({(6 * eps + 1) ** 2} for all)")
    return shifted


@stage(version=3, title="tests by shifted windows")
def measure_windows(
    shifted: dict[str, list[Artifact[ShiftedWindows]]],
    name: str,
    generators: Sequence[Generator],
    bound: Bound,
    alpha: float,
) -> WindowTests:
    """The tests of one subject on several sets of samples, over all its seeds (the subject as it is comes first).

    `shifted` holds what shifting did on the test set (`test`) and on the controls: fresh samples with the same seeds
    (`fresh`), training samples (`training`), and the test set with the copy that was fitted to it (`dishonest`).
    """
    sets: dict[str, list[WindowShifts]] = {
        role: [window_shifts_from(collect(table, None), generators, role) for table in models]
        for role, models in shifted.items()
    }
    records = window_records(sets, name, generators, bound, alpha)
    say(f"{name} · {len(sets['test'][0].ids)} samples, tested")  # and no more: what is said of them is counted
    return WindowTests(
        write_table(records_table(records), into=IndependenceTests),
        write_table(findings_table(window_findings(sets, name, generators, bound, alpha)), into=Findings),
    )


@stage(version=1, title="orbits")
def compare_orbits(
    samples: Artifact[Samples],
    predictions: Artifact[Predictions],
    settings: Orbit,
    bound: Bound,
    alpha: float,
    name: str,
) -> Artifact[IndependenceTests]:
    """The exact test of one subject, and the paper's beside it."""
    columns = columns_in(samples)
    for option in (settings.orbit, settings.original):
        if option not in columns:
            raise InputError(
                f"The samples have no column {option!r}, which `overfitting.orbit` names: their columns are "
                f"{', '.join(sorted(columns))}."
            )
    table = collect(samples, list(dict.fromkeys(["id", "gold", settings.orbit, settings.original])))
    predicted = collect(predictions, ["id", "predicted"])
    ids, gold = table["id"].to_pylist(), table["gold"].to_pylist()
    # Forms of one orbit may have different gold classes: where options are reordered, the right letter is another.
    for sample, orbit, label in zip(ids, table[settings.orbit].to_pylist(), gold, strict=True):
        if label is None or orbit is None:
            lacking = "gold label" if label is None else f"value in the column {settings.orbit!r}"
            raise InputError(f"Sample {sample!r} has no {lacking}, and the orbit test needs one for every sample.")
    orbits = gather(
        table[settings.orbit].to_pylist(),
        truths(table[settings.original], settings.original),
        predicted["predicted"].to_numpy() != np.array(gold, np.int16),
        settings.orbit,
    )
    records = orbit_records(orbits, name, bound, alpha, samples_fingerprint(ids, gold))
    say(f"{name} · {records[0].tested.n} orbits, tested")  # and no more: what is said of them is counted
    return write_table(records_table(records), into=IndependenceTests)


def truths(column: pa.ChunkedArray, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A column of true and false, also where they are written as 1 and 0 or as words."""
    words = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
    values = []
    for row, value in enumerate(column.to_pylist(), start=1):
        truth = words.get(str(value).lower())
        if truth is None:
            raise InputError(f"Row {row} of the column {name!r} holds {value!r}, expected true or false.")
        values.append(truth)
    return np.array(values, np.bool_)


@stage(version=1, title="synthetic", draws=True)
def run_synthetic(
    experiment: Experiment, eps: tuple[float, ...], runs: int, steps: int, fixed_test_set: bool
) -> Artifact[SyntheticRuns]:
    """Every run of an experiment: data are drawn, a classifier learns, and is tested for every ε."""
    asked, seeds = [SyntheticRun(experiment, run) for run in range(runs)], stage_seeds()
    simulated = map_pieces(
        run_experiment, asked, into=SyntheticRuns, eps=eps, steps=steps, fixed_test_set=fixed_test_set, seeds=seeds
    )
    say(f"{experiment} · {runs} classifiers, {steps} steps each · {len(eps)} values of ε")
    return simulated


@stage(version=1, title="N-model test")
def average_models(
    runs: Artifact[SyntheticRuns], eps: tuple[float, ...], models: tuple[int, ...]
) -> Artifact[SyntheticTests]:
    """The N-model test over disjoint bins of the runs, for every N and ε."""
    tables: list[Artifact[Any]] = [
        map_partitions(
            bin_tests, runs, into=SyntheticTests, name=f"tests-of-{count}", rows=count * len(eps), models=count
        )
        for count in models
    ]
    say(f"N = {', '.join(map(str, models))}")
    return write_table(pa.concat_tables([collect(table, None) for table in tables]), into=SyntheticTests)


@stage(version=1, title="synthetic findings")
def measure_synthetic(
    runs: Artifact[SyntheticRuns], tests: Artifact[SyntheticTests], alpha: float
) -> Artifact[Findings]:
    """The findings on one experiment: p, rejections and errors at every ε."""
    findings = synthetic_findings(collect(runs, WITHOUT_VALUES), collect(tests, None), alpha)
    say(f"{len(findings)} findings")
    return write_table(findings_table(findings), into=Findings)
