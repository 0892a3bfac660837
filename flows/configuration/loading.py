"""From a pipelines.yaml to settings, with errors a person can act on."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path

from assay.flows.configuration.combinations import clashes
from assay.flows.configuration.menu import Menu
from assay.flows.configuration.mistakes import ConfigurationError, Mistake, Where, dotted, shown
from assay.flows.configuration.overrides import FLAG, apply_overrides, file_name
from assay.flows.configuration.plugins import with_named
from assay.flows.configuration.short_forms import name_plugins, write_out_all
from assay.flows.configuration.truth_columns import with_truth
from assay.flows.configuration.validation import validate, value_or_nothing
from assay.flows.configuration.written import WrittenPipeline
from assay.flows.configuration.written_lines import Lines
from assay.flows.configuration.yaml_source import Document, Value, read_yaml
from assay.flows.pipeline import Pipeline, Project, ProjectFile, file_model, known_pipeline
from assay.infra.credentials import has_password
from assay.infra.errors import InputError
from assay.infra.given_files import content_of
from assay.tasks.ingest.settings import Source

DEFAULT_FILE = "pipelines.yaml"
MOST_BYTES = 1 << 20
"""A larger file is no configuration that anybody wrote."""
OUTSIDE = frozenset({"store", "compute"})
Reading = tuple[ProjectFile | None, Menu, list[tuple[Where, Mistake]]]


def load_project(
    path: str | Path = DEFAULT_FILE,
    *,
    pipeline: str | None = None,
    overrides: Sequence[str] = (),
    store: str | None = None,
) -> Project:
    """The project in a pipelines.yaml; raises `ConfigurationError` with every mistake in it.

    With a `pipeline` the project has that one only, and a mistake in another one is none of its business.
    `overrides` are `key=value` texts for it (or for `store` and `compute`); `store` replaces the configured store and,
    if it is a folder, is relative to where the person stands.
    """
    file = Path(path).absolute()
    document = _read(file)
    if pipeline is not None:
        if not any(_pipeline_of(where) is None for where, _ in document.mistakes):
            known_pipeline(pipeline, _pipelines_of(document), file)
        _leave_out(document, [name for name in _pipelines_of(document) if name != pipeline])
    menu = Menu().with_installed(file.parent)
    inside: Where = ("pipelines", pipeline) if pipeline is not None else ()
    changed = set[Where]()
    for override in overrides:
        write_out_all(document, menu)  # so that `attacks.0.steps=3` finds its place, also after `attacks=[pgd]`
        changed |= apply_overrides(document, [override], inside, OUTSIDE)
    settings, menu, mistakes = _settings(document, menu, file.parent)
    if mistakes or settings is None:
        raise _error(mistakes, changed)
    return _project(file, document, settings, menu, changed, store)


def load_usable(path: str | Path = DEFAULT_FILE) -> tuple[Project, dict[str, str]]:
    """The project without the pipelines that have mistakes, and what is wrong with each of those.

    Raises `ConfigurationError` where what is wrong belongs to no pipeline.
    """
    file = Path(path).absolute()
    installed, document = Menu().with_installed(file.parent), _read(file)
    settings, menu, mistakes = _settings(document, installed, file.parent)
    if settings is not None and not mistakes:
        return _project(file, document, settings, menu, set(), None), {}
    wrong: dict[str, list[tuple[Where, Mistake]]] = {}
    for where, mistake in mistakes:
        name = _pipeline_of(where)
        if name is None:
            raise _error(mistakes, set())
        wrong.setdefault(name, []).append((where, mistake))
    usable = _read(file)
    _leave_out(usable, wrong)
    settings, menu, mistakes = _settings(usable, installed, file.parent)
    if mistakes or settings is None:
        raise _error(mistakes, set())
    refused = {name: str(_error(own, set())) for name, own in wrong.items()}
    return _project(file, document, settings, menu, set(), None), refused


def readable_sources(path: str | Path) -> dict[str, Source]:
    """The sources of all pipelines that can be read, whatever else is wrong with them."""
    document = _read(Path(path).absolute())
    sources: dict[str, Source] = {}
    for name, pipeline in _pipelines_of(document).items():
        written = value_or_nothing(pipeline).get("source")
        source = validate(Source, Document(document.file, written))[0] if isinstance(written, dict) else None
        if source is not None:
            sources[name] = source
    return sources


def _read(file: Path) -> Document:
    return read_yaml(_text_of(file), file_name(file))


def _project(
    file: Path, document: Document, settings: ProjectFile, menu: Menu, changed: set[Where], store: str | None
) -> Project:
    chosen = _place(store, Path.cwd()) if store is not None else _place(settings.store, file.parent)
    pipelines = {name: _gathered(one) for name, one in settings.pipelines.items()}
    lines, metrics = Lines(document, frozenset(changed)), settings.prometheus
    beside = None if metrics is None else (file.parent / Path(metrics).expanduser()).absolute()
    return Project(
        file,
        chosen,
        settings.compute,
        pipelines,
        lines,
        settings.notify,
        beside,
        menu,
        settings.alarms,
        settings.keep_mib,
        settings.mlflow,
        settings.openlineage,
    )


def _pipeline_of(where: Where) -> str | None:
    """The pipeline that a place lies in, if it lies in one."""
    return str(where[1]) if len(where) > 1 and where[0] == "pipelines" else None


def _leave_out(document: Document, names: Collection[str]) -> None:
    """Forget pipelines, and what was wrong with them."""
    pipelines = _pipelines_of(document)
    for name in names:
        pipelines.pop(name, None)
    document.mistakes = [(where, one) for where, one in document.mistakes if _pipeline_of(where) not in names]


def _settings(document: Document, menu: Menu, folder: Path) -> Reading:
    """The settings where they can be read, what could be named, and everything that is wrong, each with its place."""
    write_out_all(document, menu)
    menu = with_named(menu, document, folder)
    name_plugins(document, menu)
    mistakes = list(document.mistakes)
    settings = None
    if not isinstance(document.value, dict):
        if not document.mistakes:
            message = (
                "expected a mapping with pipelines:, and found nothing"
                if document.value is None
                else (f"expected a mapping with pipelines:, and found {shown(document.value)}")
            )
            mistakes.append(((), Mistake(document.file, document.line(()), "", "", message)))
    else:
        lost = {where for where, _ in mistakes if where}
        mistakes += _checked_names(document)
        settings, wrong = validate(file_model(menu.kinds, menu.types), document, menu.presets)
        mistakes += [(where, one) for where, one in wrong if not any(where[: len(place)] == place for place in lost)]
        mistakes += _clashing(document, {where for where, _ in mistakes}, menu)
    return settings, menu, mistakes


def _error(placed: Sequence[tuple[Where, Mistake]], changed: set[Where]) -> ConfigurationError:
    mistakes = dict.fromkeys(_reported(mistake, where, changed) for where, mistake in placed)
    return ConfigurationError(sorted(mistakes, key=lambda mistake: (mistake.file == FLAG, mistake.line or 0)))


def _checked_names(document: Document) -> list[tuple[Where, Mistake]]:
    """Gives each pipeline the name it stands under; a `name` of its own is a mistake."""
    mistakes: list[tuple[Where, Mistake]] = []
    for name, pipeline in _pipelines_of(document).items():
        if not isinstance(pipeline, dict):
            continue
        where: Where = ("pipelines", name, "name")
        if "name" in pipeline:
            message = "a pipeline is named by the key it stands under; remove this line"
            mistakes.append((where, Mistake(document.file, document.line(where), dotted(where), "", message)))
        pipeline["name"] = name
    return mistakes


def _clashing(document: Document, wrong: set[Where], menu: Menu) -> list[tuple[Where, Mistake]]:
    mistakes: list[tuple[Where, Mistake]] = []
    for name, written in _pipelines_of(document).items():
        pipeline = WrittenPipeline(value_or_nothing(written))
        pipeline.tables = menu.tables
        for clash in clashes(pipeline, menu.kinds):
            where: Where = ("pipelines", name, *clash.where)
            if where not in wrong:
                value = document.found(where)
                shown_value = "" if isinstance(value, dict | list | None) else shown(value)
                mistake = Mistake(document.file, document.line(where), dotted(where), shown_value, clash.why)
                mistakes.append((where, mistake))
    return mistakes


def _reported(mistake: Mistake, where: Where, changed: set[Where]) -> Mistake:
    """The mistake as a person reads it: within its pipeline, and blamed on `--set` where that brought it in."""
    path = dotted(where[2:]) if len(where) > 2 and where[0] == "pipelines" else mistake.path
    if where and where[0] in ("notify", "mlflow", "openlineage"):
        mistake = dataclasses.replace(mistake, value="")  # whoever wrote a secret there must not read it in a log
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
    if has_password(store):
        raise InputError(
            "The address of the store holds a password, which every record would repeat: leave it out, and set the "
            "variables that its library reads, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    return store if "://" in store else str((folder / Path(store).expanduser()).absolute())


def _text_of(file: Path) -> str:
    try:
        return content_of(file, file_name(file), MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no file {file_name(file)}; say which one with --config FILE.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file_name(file)} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{file_name(file)} cannot be read: {error.strerror or error}.") from None
