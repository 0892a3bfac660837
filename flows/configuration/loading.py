"""From a pipelines.yaml to a project, or to every mistake in it, settings that are impossible together among them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from toolz import groupby

import assay
from assay.flows.configuration.menu import Menu, with_named
from assay.flows.configuration.short_forms import name_plugins, with_truth, write_out_all
from assay.flows.kind import AuditKind, Clash, Measured, WrittenPipeline, as_dict, as_list, each_subject, name_of
from assay.flows.pipeline import Pipeline, ProjectFile, file_model
from assay.flows.validation import replaced, validate
from assay.flows.yaml_document import (
    FLAG,
    ConfigurationError,
    Document,
    Lines,
    Mistake,
    Value,
    Where,
    apply_overrides,
    dotted,
    file_name,
    nearest,
    read_yaml,
    shown,
    suggestion,
    text_of,
    value_at,
)
from assay.infra.errors import InputError
from assay.infra.settings import Compute
from assay.infra.storage.network import has_password
from assay.tasks.ingest.settings import Source


def stages_of(kinds: Sequence[AuditKind[Any]]) -> dict[str, Measured]:
    """The stages whose findings gates may name."""
    return {measured.stage: measured for kind in kinds for measured in kind.measures}


def unknown_metric(finding: str, kinds: Sequence[AuditKind[Any]]) -> str:
    """What is wrong with the `stage.metric` that a gate names, and what was probably meant; empty where it exists.

    >>> from assay.flows.audits.table import KINDS
    >>> unknown_metric("attack.acuracy", KINDS), unknown_metric("attack.accuracy", KINDS)
    ('no stage measures attack.acuracy; did you mean attack.accuracy?', '')
    """
    stage, stages = finding.partition(".")[0], stages_of(kinds)
    wrong, known = (finding, stages[stage].names) if stage in stages else (stage, list(stages))
    return "" if wrong in known else f"no stage measures {wrong}; {suggestion(wrong, known)}"


def clashes(pipeline: dict[str, Value], kinds: Sequence[AuditKind[Any]]) -> Iterator[Clash]:
    """Everything in a pipeline that cannot be together."""
    for kind in kinds:
        yield from kind.clashes(pipeline)
    for position, gate in enumerate(as_list(pipeline.get("gates"))):
        if isinstance(gate, dict):
            yield from _gate(pipeline, gate, ("gates", position), kinds)


def _gate(
    pipeline: dict[str, Value], gate: dict[str, Value], where: Where, kinds: Sequence[AuditKind[Any]]
) -> Iterator[Clash]:
    finding = gate.get("finding")
    stage = finding.partition(".")[0] if isinstance(finding, str) else ""
    if not stage:
        return
    if unknown := unknown_metric(str(finding), kinds):
        yield Clash((*where, "finding"), unknown)
        return
    measured = stages_of(kinds)[stage]
    if all(pipeline.get(name) is None for name in measured.keys) and not measured.also(pipeline):
        yield Clash((*where, "finding"), f"nothing will measure it: the pipeline has no {' or '.join(measured.keys)}")
    better, unit = next(((at.better, at.unit) for at in measured.metrics if at.name == finding), (None, ""))
    for key, worse, other in (("drop_at_most", "less", "rise_at_most"), ("rise_at_most", "more", "drop_at_most")):
        if gate.get(key) is not None and better == worse:
            yield Clash((*where, key), f"of {finding} {worse} is better, so that is no loss; write {other}")
    for key in ("at_least", "at_most", "drop_at_most", "rise_at_most"):
        bound = gate.get(key)
        if unit == "share" and isinstance(bound, int | float) and abs(bound) > 1:
            yield Clash((*where, key), f"{finding} is a share, at most 1: write {bound / 100:g} for {bound:g} %")
    if measured.gate is not None:
        yield from measured.gate(pipeline, gate, where)
    subjects = [name_of(subject) for _, subject in each_subject(pipeline)]
    name = gate.get("subject")
    defended = pipeline.get("defenses") and str(name).partition("+")[0] in subjects  # plain+maadvt
    if isinstance(name, str) and name not in subjects and not defended:
        hint = suggestion(name, subjects) if subjects else "the pipeline has no subject"
        yield Clash((*where, "subject"), f"there is no such subject; {hint}")


DEFAULT_FILE = "pipelines.yaml"
EMBEDDED_FILE = Path(assay.__file__).with_name(DEFAULT_FILE)
"""The pipelines that come with Assay: they run anywhere, and a file of one's own adds to them or replaces them."""
OUTSIDE = frozenset({"store", "compute"})
Reading = tuple[ProjectFile | None, Menu, list[tuple[Where, Mistake]]]


@dataclass(frozen=True)
class Project:
    """A pipelines.yaml that has been read and found right; relative paths in it start from its `folder`."""

    file: Path
    store: str
    pipelines: Mapping[str, Pipeline]
    settings: ProjectFile = field(default_factory=lambda: ProjectFile(pipelines={}))
    """What the file says, as it is written there."""
    lines: Lines = field(default_factory=Lines)
    menu: Menu | None = None
    """What its pipelines can name, plug-ins among it."""

    @property
    def folder(self) -> Path:
        """The folder that pipelines.yaml lies in."""
        return self.file.parent

    @property
    def compute(self) -> Compute:
        """Where the work runs."""
        return self.settings.compute

    def pipeline(self, name: str) -> Pipeline:
        """The pipeline of that name, or an error that says which one was probably meant."""
        return self.pipelines[known_pipeline(name, self.pipelines, self.file)]

    def origin(self, name: str) -> str:
        """The file that a pipeline comes from, where that is not the one in the folder; empty else."""
        file = self.lines.document.file_of(("pipelines", name))
        return "" if file == file_name(self.file) else file


def known_pipeline(name: str, names: Iterable[str], file: Path) -> str:
    """The name, if there is a pipeline of that name; else an error with the nearest one."""
    if name in names:
        return name
    match = nearest(name, names)
    meant = f" Did you mean {match}?" if match else ""
    where = f"in {file_name(file)}" if file.exists() else f"among those of Assay, and no {file_name(file)} here"
    raise InputError(f'There is no pipeline "{name}" {where}.{meant}  (assay list shows all)')


def embedded_pipelines() -> Document:
    """The pipelines that come with Assay."""
    name = file_name(EMBEDDED_FILE)
    return read_yaml(text_of(EMBEDDED_FILE, name, f"There is no file {name}: install Assay again."), name, pure=False)


def _take_embedded(document: Document, name: str, file: Path) -> None:
    """Puts the pipeline that comes with Assay into a file of one's own that has none of that name."""
    embedded = embedded_pipelines()
    known_pipeline(name, [*document.pipelines, *embedded.pipelines], file)
    if not isinstance(document.value, dict):
        document.value = {}
    document.value["pipelines"] = {**document.pipelines, name: embedded.pipelines[name]}
    document.lines |= {where: line for where, line in embedded.lines.items() if where[:2] == ("pipelines", name)}
    document.origins[name] = embedded.file


def load_project(
    path: str | Path = DEFAULT_FILE,
    *,
    pipeline: str | None = None,
    overrides: Sequence[str] = (),
    store: str | None = None,
) -> Project:
    """The project in a pipelines.yaml, or of what comes with Assay where there is none; raises `ConfigurationError`
    with every mistake in it.

    With a `pipeline` the project has that one only, and a mistake in another one is none of its business.
    `overrides` are `key=value` texts for it (or for `store` and `compute`); `store` replaces the configured store and,
    if it is a folder, is relative to where the person stands.
    """
    file = Path(path).absolute()
    document = read_document(file)
    if pipeline is not None:
        unreadable = any(_pipeline_of(where) is None for where, _ in document.mistakes)
        if pipeline not in document.pipelines and not unreadable:
            _take_embedded(document, pipeline, file)
        _leave_out(document, [name for name in document.pipelines if name != pipeline])
    menu = Menu().with_installed(file.parent, document, overrides)
    inside: Where = ("pipelines", pipeline) if pipeline is not None else ()
    changed = set[Where]()
    for override in overrides:
        write_out_all(document, menu)  # so that `attacks.0.steps=3` finds its place, also after `attacks=[pgd]`
        changed |= apply_overrides(document, [override], inside, OUTSIDE)
    settings, menu, mistakes = _settings(document, menu, file.parent)
    if mistakes or settings is None:
        raise _error(mistakes, changed)
    return _project(file, document, settings, menu, changed, store)


def load_usable(path: str | Path = DEFAULT_FILE, *, own: bool = False) -> tuple[Project, dict[str, str]]:
    """The project without the pipelines that have mistakes, and what is wrong with each of those.

    Raises `ConfigurationError` where what is wrong belongs to no pipeline; with `own`, also where there is no file.
    """
    file = Path(path).absolute()
    document = read_document(file, own)
    installed = Menu().with_installed(file.parent, document)
    settings, menu, mistakes = _settings(document, installed, file.parent)
    if settings is not None and not mistakes:
        return _project(file, document, settings, menu, set(), None), {}
    wrong = groupby(lambda placed: _pipeline_of(placed[0]), mistakes)
    if None in wrong:
        raise _error(mistakes, set())
    usable = read_document(file)
    _leave_out(usable, wrong)
    settings, menu, mistakes = _settings(usable, installed, file.parent)
    if mistakes or settings is None:
        raise _error(mistakes, set())
    refused = {name: str(_error(own, set())) for name, own in wrong.items()}
    return _project(file, document, settings, menu, set(), None), refused


def readable_sources(path: str | Path) -> dict[str, Source]:
    """The sources of all pipelines that can be read, whatever else is wrong with them."""
    document = read_document(Path(path).absolute())
    sources: dict[str, Source] = {}
    for name, pipeline in document.pipelines.items():
        written = as_dict(pipeline).get("source")
        source = validate(Source, Document(document.file, written))[0] if isinstance(written, dict) else None
        if source is not None:
            sources[name] = source
    return sources


def read_document(file: Path, own: bool = False) -> Document:
    """What a file says; where the usual one is not there and need not be one's own, what comes with Assay."""
    if not own and file == Path(DEFAULT_FILE).absolute() and not os.path.lexists(file):
        return embedded_pipelines()
    name = file_name(file)
    return read_yaml(text_of(file, name, f"There is no file {name}; say which one with --config FILE."), name)


def _project(
    file: Path, document: Document, settings: ProjectFile, menu: Menu, changed: set[Where], store: str | None
) -> Project:
    chosen = _place(store, Path.cwd()) if store is not None else _place(settings.store, file.parent)
    pipelines = {name: _with_all_subjects(pipeline) for name, pipeline in settings.pipelines.items()}
    return Project(file, chosen, pipelines, settings, Lines(document, frozenset(changed)), menu)


def _pipeline_of(where: Where) -> str | None:
    """The pipeline that a place lies in, if it lies in one."""
    return str(where[1]) if len(where) > 1 and where[0] == "pipelines" else None


def _leave_out(document: Document, names: Collection[str]) -> None:
    """Forget pipelines, and what was wrong with them."""
    pipelines = document.pipelines
    for name in names:
        pipelines.pop(name, None)
    document.mistakes = [(where, mistake) for where, mistake in document.mistakes if _pipeline_of(where) not in names]


def _settings(document: Document, menu: Menu, folder: Path) -> Reading:
    """The settings where they can be read, what could be named, and everything that is wrong, each with its place."""
    write_out_all(document, menu)
    menu = with_named(menu, document, folder)
    name_plugins(document, menu)
    mistakes = list(document.mistakes)
    if not isinstance(document.value, dict):
        there = "nothing" if document.value is None else shown(document.value)
        unlike = document.mistake((), "", f"expected a mapping with pipelines:, and found {there}")
        return None, menu, mistakes or [unlike]
    lost = {where for where, _ in mistakes if where}
    mistakes += _checked_names(document)
    settings, wrong = validate(file_model(menu.kinds, menu.types, menu.notify), document, menu.presets)
    mistakes += [(where, mistake) for where, mistake in wrong if not any(where[: len(each)] == each for each in lost)]
    mistakes += _clashing(document, {where for where, _ in mistakes}, menu)
    return settings, menu, mistakes


def _error(placed: Sequence[tuple[Where, Mistake]], changed: set[Where]) -> ConfigurationError:
    mistakes = dict.fromkeys(_reported(mistake, where, changed) for where, mistake in placed)
    return ConfigurationError(sorted(mistakes, key=lambda mistake: (mistake.file == FLAG, mistake.line or 0)))


def _checked_names(document: Document) -> list[tuple[Where, Mistake]]:
    """Gives each pipeline the name it stands under; a `name` of its own is a mistake."""
    mistakes: list[tuple[Where, Mistake]] = []
    for name, pipeline in document.pipelines.items():
        if not isinstance(pipeline, dict):
            continue
        where: Where = ("pipelines", name, "name")
        if "name" in pipeline:
            message = "a pipeline is named by the key it stands under; remove this line"
            mistakes.append(document.mistake(where, "", message))
        pipeline["name"] = name
    return mistakes


def _clashing(document: Document, wrong: set[Where], menu: Menu) -> list[tuple[Where, Mistake]]:
    """What cannot be together, of what can be read: a value that is wrong by itself counts as left out."""
    mistakes: list[tuple[Where, Mistake]] = []
    readable: object = document.value
    for place in wrong:
        if len(place) > 3 and document.at(place) is not None:
            readable = replaced(readable, place, None)
    for name in document.pipelines:
        pipeline = WrittenPipeline(as_dict(cast(Value, value_at(readable, ("pipelines", name)))))
        pipeline.tables = menu.tables
        for clash in clashes(pipeline, menu.kinds):
            where: Where = ("pipelines", name, *clash.where)
            if where not in wrong:
                value = document.at(where)
                shown_value = "" if isinstance(value, dict | list | None) else shown(value)
                mistakes.append(document.mistake(where, shown_value, clash.why))
    return mistakes


def _reported(mistake: Mistake, where: Where, changed: set[Where]) -> Mistake:
    """The mistake as a person reads it: within its pipeline, and blamed on `--set` where that brought it in."""
    path = dotted(where[2:]) if len(where) > 2 and where[0] == "pipelines" else mistake.path
    if where and where[0] in ("notify", "mlflow", "openlineage"):
        mistake = replace(mistake, value="")  # whoever wrote a secret there must not read it in a log
    if any(where[: len(set_here)] == set_here for set_here in changed):
        return replace(mistake, file=FLAG, line=None, path=path)
    return replace(mistake, path=path)


def _with_all_subjects(pipeline: Pipeline) -> Pipeline:
    """The pipeline with its one `subject`, if it has one, among its `subjects`, each with its columns of truth."""
    subjects = pipeline.subjects if pipeline.subject is None else (pipeline.subject,)
    return pipeline.model_copy(update={"subjects": tuple(with_truth(subject, pipeline.source) for subject in subjects)})


def _place(store: str, folder: Path) -> str:
    if has_password(store):
        raise InputError(
            "The address of the store holds a password, which every record would repeat: leave it out, and set the "
            "variables that its library reads, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    return store if "://" in store else str((folder / Path(store).expanduser()).absolute())
