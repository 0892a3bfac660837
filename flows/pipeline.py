"""Pipelines: the settings of each audit, loaded from pipelines.yaml, with errors a person can act on."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import Field, field_validator

from assay.data.catalog import is_masked
from assay.flows.configuration.combinations import clashes
from assay.flows.configuration.cron import trouble_with
from assay.flows.configuration.expectations import GIVEN, writable
from assay.flows.configuration.mistakes import ConfigurationError, Mistake, Where, dotted, nearest, shown
from assay.flows.configuration.overrides import FLAG, apply_overrides, file_name
from assay.flows.configuration.short_forms import write_out, write_out_presets
from assay.flows.configuration.truth_columns import with_truth
from assay.flows.configuration.validation import validate, value_or_nothing
from assay.flows.configuration.written_lines import Lines
from assay.flows.configuration.yaml_source import Document, Value, read_yaml
from assay.infra.errors import InputError
from assay.infra.settings import Compute, Settings
from assay.tasks.attacks.menu import AnyAttack, AnyTermAttack, AnyTextAttack
from assay.tasks.attacks.settings import PRESETS, AnyImageAttack
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.defenses.menu import AnyDefence
from assay.tasks.defenses.settings import AnyImageDefence
from assay.tasks.defenses.smoothing_settings import Smoothing
from assay.tasks.defenses.text_settings import AttackedCopies
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.ingest.settings import Source
from assay.tasks.labeling.settings import Labeling
from assay.tasks.ordering.settings import Ordering
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.gates import Gate
from assay.tasks.statistics.settings import Statistics
from assay.tasks.subjects.settings import Evaluation, Subject
from assay.tasks.trust.settings import Trust
from assay.tasks.weak_labels.settings import WeakLabelling

DEFAULT_FILE = "pipelines.yaml"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
OUTSIDE = frozenset({"store", "compute"})
ATTACK_FIELDS = frozenset(name for attack in get_args(get_args(AnyAttack)[0]) for name in attack.model_fields)
DEFENCE_FIELDS = frozenset(name for kind in get_args(get_args(AnyDefence)[0]) for name in writable(kind))
SHORT_FORMS: Mapping[str, tuple[str, frozenset[str]]] = {
    "subjects": ("model", frozenset(Subject.model_fields)),
    "attacks": ("attack", ATTACK_FIELDS),
    "defenses": ("defense", DEFENCE_FIELDS),
}
"""Lists whose items may be written `- name: {options}`: the setting that the name stands for, and all settings."""


class Pipeline(Settings):
    """One audit: its data, rules, models, stages, gates and schedule. A stage that is left out is skipped."""

    name: str = Field(json_schema_extra=GIVEN)
    """The key it stands under in pipelines.yaml: letters, digits, dots, dashes and underscores."""

    description: str = ""
    """One sentence for those who read `assay list` or the report."""

    schedule: str | None = Field(default=None, examples=["0 2 * * *"])
    """When `assay serve` runs it, as a cron line (minute, hour, day, month, weekday); left out, only on request."""

    source: Source = Field(examples=["{dataset: sample/breast-cancer}", "{parquet: data/*.parquet, label: gold}"])
    """Where the samples come from."""

    labeling: Labeling | None = Field(default=None, examples=["{functions: breast-cancer}"])
    """Which labelling functions vote on the samples."""

    pruning: Pruning | None = Field(default=None, examples=["{correlation: 0.5}"])
    """Which labelling functions are kept; left out, all of them are."""

    weak_labels: WeakLabelling | None = Field(default=None, examples=["{labelers: [majority, snorkel]}"])
    """How votes become a label and a confidence."""

    ordering: Ordering | None = Field(default=None, examples=["{alpha: 0.05, datasets: 10, compare: true}"])
    """How the samples are ordered into data sets D1 … DN, ever more adversarial."""

    subject: Subject | None = Field(default=None, examples=["{model: logistic}"])
    """The model under audit, where there is one; several go into `subjects`."""

    subjects: tuple[Subject, ...] = ()
    """The models under audit, each with a name of its own."""

    evaluation: Evaluation = Evaluation()
    """Which samples images and texts are audited on, and which may train."""

    attacks: tuple[AnyAttack, ...] = Field(default=(), examples=["[{attack: pgd, eps: [0, 4/255, 0.1], steps: 20}]"])
    """What is done to images, texts or terms to make the subjects wrong."""

    corruptions: Corruptions | None = Field(default=None, examples=["{severities: [1, 3, 5]}"])
    """Sequences of perturbed images along which a prediction should not flip."""

    defenses: tuple[AnyDefence, ...] = Field(default=(), examples=["[{defense: maadvt, eps: 0.1, lambda: 6}]"])
    """How subjects are trained to withstand attacks; each defended model is audited like the original."""

    diagnostics: Diagnostics | None = Field(default=None, examples=["{images: 6}", "{attacks: [pgd], eps: 0.1}"])
    """What is looked at inside image subjects: maps, layers, labels named together; `{}` takes every default."""

    smoothing: Smoothing | None = Field(default=None, examples=["{sigma: 0.25}"])
    """How far image subjects can be certified in L2, by randomised smoothing; `{}` takes every default."""

    trust: Trust | None = Field(default=None, examples=["{explainers: [lime], top_words: 10}"])
    """Whether correct predictions on texts are right for the right reasons."""

    overfitting: Overfitting | None = Field(default=None, examples=["{translations: {eps: 2}}"])
    """Whether the test score can be believed, or the subject has been fitted to the samples it is measured on."""

    statistics: Statistics = Statistics()
    """How the findings are judged together."""

    gates: tuple[Gate, ...] = Field(
        default=(), examples=["[{finding: ordering.permutation_p, of: ours, group: majority, at_most: 0.01}]"]
    )
    """Bounds on findings; `assay run` and `assay gate` return 1 when one is not kept."""

    @property
    def masked(self) -> bool:
        """Whether no word of the texts may be shown, in reports or errors: as the source says, or its data set does in
        the catalogue, or `trust`."""
        if self.source.masked is not None:
            return self.source.masked
        return is_masked(self.source.dataset) or (self.trust is not None and self.trust.masked)

    @property
    def image_attacks(self) -> tuple[AnyImageAttack, ...]:
        """The attacks on images."""
        return tuple(one for one in self.attacks if isinstance(one, AnyImageAttack))

    @property
    def text_attacks(self) -> tuple[AnyTextAttack, ...]:
        """The attacks on whole texts."""
        return tuple(one for one in self.attacks if isinstance(one, AnyTextAttack))

    @property
    def term_attacks(self) -> tuple[AnyTermAttack, ...]:
        """The attacks on the terms in tagged sentences and in pairs of them."""
        return tuple(one for one in self.attacks if isinstance(one, AnyTermAttack))

    @property
    def image_defenses(self) -> tuple[AnyImageDefence, ...]:
        """The defences of subjects for images."""
        return tuple(one for one in self.defenses if isinstance(one, AnyImageDefence))

    @property
    def text_defenses(self) -> tuple[AttackedCopies, ...]:
        """The defences of subjects for texts, tags and pairs."""
        return tuple(one for one in self.defenses if isinstance(one, AttackedCopies))

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not re.fullmatch(NAME, name):
            raise ValueError(
                "a pipeline is named by up to 80 letters, digits, dots, dashes and underscores, as in night-1"
            )
        return name

    @field_validator("schedule")
    @classmethod
    def _readable_cron(cls, schedule: str | None) -> str | None:
        trouble = None if schedule is None else trouble_with(schedule)
        if trouble is not None:
            raise ValueError(f'expected a cron line such as "0 2 * * *": {trouble}')
        return schedule


class ProjectFile(Settings):
    """What pipelines.yaml may say."""

    store: str = Field(default="artifacts", min_length=1, examples=["artifacts", "s3://bucket/prefix"])
    """Where artifacts, runs and reports lie: a folder beside pipelines.yaml, or any fsspec URL."""

    compute: Compute = Field(default=Compute(), examples=["{engine: local, workers: auto, gpu: preferred}"])
    """Where the work runs; it changes no result."""

    pipelines: dict[str, Pipeline]
    """The audits, by name."""


@dataclass(frozen=True)
class Project:
    """A pipelines.yaml that has been read and found right; relative paths in it start from its `folder`."""

    file: Path
    store: str
    compute: Compute
    pipelines: Mapping[str, Pipeline]
    lines: Lines = dataclasses.field(default_factory=Lines)

    @property
    def folder(self) -> Path:
        """The folder that pipelines.yaml lies in."""
        return self.file.parent

    def pipeline(self, name: str) -> Pipeline:
        """The pipeline of that name, or an error that says which one was probably meant."""
        return self.pipelines[known_pipeline(name, self.pipelines, self.file)]


def known_pipeline(name: str, names: Mapping[str, object], file: Path) -> str:
    """The name, if there is a pipeline of that name; else an error with the nearest one."""
    if name in names:
        return name
    match = nearest(name, names)
    meant = f" Did you mean {match}?" if match else ""
    raise InputError(f'There is no pipeline "{name}" in {file_name(file)}.{meant}  (assay list shows all)')


def load_project(
    path: str | Path = DEFAULT_FILE,
    *,
    pipeline: str | None = None,
    overrides: Sequence[str] = (),
    store: str | None = None,
) -> Project:
    """The project in a pipelines.yaml; raises `ConfigurationError` with every mistake in it.

    `overrides` are `key=value` texts for the one `pipeline` (or for `store` and `compute`); `store` replaces the
    configured store and, if it is a folder, is relative to where the person stands.
    """
    file = Path(path).absolute()
    document = read_yaml(_text_of(file), file_name(file))
    names = _pipelines_of(document)
    if pipeline is not None and not document.mistakes:
        known_pipeline(pipeline, names, file)
    for name in names:
        for field, (key, fields) in SHORT_FORMS.items():
            write_out(document, ("pipelines", name, field), key, fields)
        write_out_presets(document, ("pipelines", name, "attacks"), "attack", attack_presets())
    inside: Where = ("pipelines", pipeline) if pipeline is not None else ()
    changed = apply_overrides(document, overrides, inside, OUTSIDE)
    settings = _settings(document, changed)
    chosen = _place(store, Path.cwd()) if store is not None else _place(settings.store, file.parent)
    pipelines = {name: _gathered(one) for name, one in settings.pipelines.items()}
    return Project(file, chosen, settings.compute, pipelines, Lines(document, frozenset(changed)))


def attack_presets() -> dict[str, dict[str, Value]]:
    """The attacks that go by a name, as they would be written out."""
    written = {name: attack.model_dump(mode="json", exclude_unset=True) for name, attack in PRESETS.items()}
    return {name: {"attack": str(getattr(PRESETS[name], "attack", "")), **one} for name, one in written.items()}


def _settings(document: Document, changed: set[Where]) -> ProjectFile:
    found = list(document.mistakes)
    settings = None
    if not isinstance(document.value, dict):
        if not document.mistakes:
            said = (
                "expected a mapping with pipelines:, and found nothing"
                if document.value is None
                else (f"expected a mapping with pipelines:, and found {shown(document.value)}")
            )
            found.append(((), Mistake(document.file, document.line(()), "", "", said)))
    else:
        found += _checked_names(document)
        settings, wrong = validate(ProjectFile, document, {"attack": PRESETS})
        found += wrong + _clashing(document, {where for where, _ in wrong})
    if found or settings is None:
        mistakes = dict.fromkeys(_told(mistake, where, changed) for where, mistake in found)
        raise ConfigurationError(sorted(mistakes, key=lambda mistake: (mistake.file == FLAG, mistake.line or 0)))
    return settings


def _checked_names(document: Document) -> list[tuple[Where, Mistake]]:
    """Gives each pipeline the name it stands under; a `name` of its own is a mistake."""
    found: list[tuple[Where, Mistake]] = []
    for name, pipeline in _pipelines_of(document).items():
        if not isinstance(pipeline, dict):
            continue
        where: Where = ("pipelines", name, "name")
        if "name" in pipeline:
            said = "a pipeline is named by the key it stands under; remove this line"
            found.append((where, Mistake(document.file, document.line(where), dotted(where), "", said)))
        pipeline["name"] = name
    return found


def _clashing(document: Document, wrong: set[Where]) -> list[tuple[Where, Mistake]]:
    found: list[tuple[Where, Mistake]] = []
    for name, pipeline in _pipelines_of(document).items():
        for clash in clashes(value_or_nothing(pipeline)):
            where: Where = ("pipelines", name, *clash.where)
            if where not in wrong:
                value = document.found(where)
                written = "" if isinstance(value, dict | list | None) else shown(value)
                found.append((where, Mistake(document.file, document.line(where), dotted(where), written, clash.why)))
    return found


def _told(mistake: Mistake, where: Where, changed: set[Where]) -> Mistake:
    """The mistake as a person reads it: within its pipeline, and blamed on `--set` where that brought it in."""
    path = dotted(where[2:]) if len(where) > 2 and where[0] == "pipelines" else mistake.path
    if any(where[: len(set_here)] == set_here for set_here in changed):
        return dataclasses.replace(mistake, file=FLAG, line=None, path=path)
    return dataclasses.replace(mistake, path=path)


def _gathered(pipeline: Pipeline) -> Pipeline:
    """The pipeline with its one `subject`, if it has one, among its `subjects`, each with its columns of truth."""
    subjects = pipeline.subjects if pipeline.subject is None else (pipeline.subject,)
    return pipeline.model_copy(update={"subjects": tuple(with_truth(one, pipeline.source) for one in subjects)})


def _pipelines_of(document: Document) -> dict[str, Value]:
    return value_or_nothing(value_or_nothing(document.value).get("pipelines"))


def _place(store: str, folder: Path) -> str:
    return store if "://" in store else str((folder / Path(store).expanduser()).absolute())


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no file {file_name(file)}; say which one with --config FILE.") from None
    except IsADirectoryError:
        raise InputError(f"{file_name(file)} is a folder; name the file in it with --config FILE.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file_name(file)} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{file_name(file)} cannot be read: {error.strerror or error}.") from None
