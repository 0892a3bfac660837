"""The overfitting test for images as stages: windows are shifted on the workers; all else is read from a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from assay.data.classes import class_names
from assay.data.overfitting_schemas import IndependenceTests, ShiftedWindows
from assay.data.schemas import Classes, Findings, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, map_partitions, read_files, reduce_partitions
from assay.infra.runs import current_run
from assay.infra.seeds import Seeds
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.infra.suggestions import nearest
from assay.tasks.overfitting.records import records_table
from assay.tasks.overfitting.retraining import fit_to_test_set
from assay.tasks.overfitting.settings import Bound, Dishonest, Generator
from assay.tasks.overfitting.shifting import learned_rows, shift_partition
from assay.tasks.overfitting.window_tests import Looked, looked_from, require_known, window_findings, window_records
from assay.tasks.statistics.findings import findings_table
from assay.tasks.subjects.holding_out import (
    rows_as_they_are,
    rows_on_side,
    split_column,
    splits_in,
)
from assay.tasks.subjects.holding_out_task import ROWS, copies_among
from assay.tasks.subjects.images.learning import learn_images
from assay.tasks.subjects.images.task import require_classes
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Evaluation
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker


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
    require_fresh(reduce_partitions(splits_in, samples, settings=evaluation)["splits"], evaluation, fresh)
    apart = evaluation.model_copy(update={"split": fresh})
    chosen: Artifact[Samples] = map_partitions(
        rows_on_side, samples, into=Samples, name="chosen", side="evaluation", settings=apart, by_column=True
    )
    dense: Artifact[Samples] = map_partitions(rows_as_they_are, chosen, into=Samples, name="fresh", rows=ROWS)
    require_known(dense.rows - collect(dense, ["gold"])["gold"].null_count, "fresh")
    say(f"{dense.rows} samples of the split {fresh}{_copies(dense, held)}")
    return dense


def require_fresh(splits: Collection[str], evaluation: Evaluation, fresh: str) -> None:
    """Nothing, or why no samples of the split column's values can be the fresh ones."""
    asked = f"`overfitting.translations.fresh: {fresh}`"
    if set(splits) == {""}:
        raise InputError(
            f"{asked} is a value of the split column, and these samples have none: name the column in `source.split` "
            "(images in folders: one folder per part above the classes), or leave `fresh` out."
        )
    if fresh in (evaluation.split, evaluation.train):
        raise InputError(f"{asked} is a split that trains or is audited: fresh samples must be neither.")
    if fresh not in splits:
        column, others = split_column(evaluation), sorted({*splits} - {evaluation.split, evaluation.train})
        meant = nearest(fresh, others)
        hint = f"did you mean {meant}?" if meant else f"its values are {', '.join(sorted(splits))}."
        raise InputError(f"{asked} is no value of the column {column!r}; {hint}")


def _copies(fresh: Artifact[Samples], held: Sequence[Artifact[Samples]]) -> str:
    """How many fresh samples are no news, as the end of a line; empty where all are."""
    copies = copies_among(fresh, held, ("image",))
    if not copies:
        return ""
    warning = (
        f"{copies} of the fresh samples {'hold' if copies > 1 else 'holds'} an image that trains or is audited too"
    )
    current_run().notice(f"{warning}: these are no control. Mend the split.")
    return f" · {warning}"


@stage(version=1, title="learned samples")
def learned_samples(training: Artifact[Samples], subject: ResolvedSubject) -> Artifact[Samples]:
    """The training samples without those that the subject set aside for its validation curve: what it has learned."""
    options = subject.settings.train
    share = 0.0 if options is None else options.validation
    learned: Artifact[Samples] = map_partitions(learned_rows, training, into=Samples, share=share)
    say(f"{learned.rows} of {training.rows} samples")
    return learned


@stage(version=1, title="train again", draws=True, gpu=True)
def train_again(
    training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject, number: int
) -> TrainedSubject:
    """The subject trained as it was, with its seed number `number`: other first weights, another order of samples."""
    seeds = stage_seeds()
    trained = trained_on_worker(
        learn_images,
        training,
        subject=subject,
        classes=tuple(class_names(collect(classes, None))),
        seeds=Seeds(seeds.run_seed, f"{seeds.stage}/{number}"),
    )
    say(f"{subject.settings.name}, seed {number} · {trained.curve.rows} epochs of {training.rows} samples")
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
    contents = read_files(files)
    require_classes(contents, classes.rows, subject.settings.name)
    trained = trained_on_worker(
        fit_to_test_set,
        evaluation,
        files=contents,
        subject=subject,
        classes=tuple(class_names(collect(classes, None))),
        options=options,
        seeds=stage_seeds(),
    )
    known = trained.last_epoch()["train_accuracy"]
    shown = "" if known is None else f", {known:.1%} of them known in the end"
    say(f"a copy of {subject.settings.name} · {options.epochs} epochs of the {evaluation.rows} test samples{shown}")
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
    contents = read_files(files)
    require_classes(contents, classes.rows, subject.settings.name)
    shifted: Artifact[ShiftedWindows] = map_partitions(
        shift_partition,
        samples,
        into=ShiftedWindows,
        files=contents,
        subject=subject,
        classes=tuple(class_names(collect(classes, None))),
        eps=eps,
        generators=tuple(generators),
    )
    looks = collect(shifted, ["looks"])["looks"].to_numpy()
    mean = float(looks.mean()) if len(looks) else 0.0
    say(f"{shifted.rows // len(generators)} images, {mean:.0f} forward passes each ({(6 * eps + 1) ** 2} for all)")
    return shifted


@stage(version=1, title="tests by shifted windows")
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
    sets: dict[str, list[Looked]] = {
        role: [looked_from(collect(one, None), generators, role) for one in models] for role, models in shifted.items()
    }
    records = window_records(sets, name, generators, bound, alpha)
    findings = window_findings(sets, name, generators, bound, alpha)
    say(f"{name} · {len(sets['test'][0].ids)} samples, tested")  # and no more: what is said of them is counted
    return WindowTests(
        write_table(records_table(records), into=IndependenceTests),
        write_table(findings_table(findings), into=Findings),
    )
