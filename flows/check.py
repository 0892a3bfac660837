"""What `assay check` says: the configuration that was understood, the data sets and plug-ins that can be used, what
this machine offers, and what is wrong.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.data.catalog import MIRROR, CatalogEntry, catalog, entry_of, fetch, filled_folder, folders_of
from assay.data.samples.registry import EMBEDDED
from assay.flows.audits.services import silent
from assay.flows.audits.table import troubles_beside, troubles_in_order, troubles_of
from assay.flows.configuration.loading import EMBEDDED_FILE, Project, load_project, load_usable, readable_sources
from assay.flows.configuration.menu import GROUP, Menu, audit_named
from assay.flows.kind import AuditKind
from assay.flows.pipeline import Pipeline
from assay.flows.report.records import source_in_words
from assay.flows.report.run_page import stages_of
from assay.flows.validation import expected_of_field, tags, written
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import AssayError, InputError, first_named, reason_of, suggestion
from assay.infra.settings import Settings, documented_fields, first_paragraph
from assay.infra.storage.keys import package_version
from assay.infra.terminal import columns
from assay.infra.user_code import choices
from assay.tasks.reporting.numerals import in_bytes, plural

MOST_COLUMNS, MOST_LINES = 8, 100


def found_rows(project: Project) -> Iterator[list[object]]:
    """Each pipeline with a source of its own: what its address leads to, and the columns there. What cannot be had is
    told among the mistakes."""
    from assay.tasks.ingest.layout import layout_of
    from assay.tasks.ingest.readers import files_found_by
    from assay.tasks.ingest.sources import resolve

    for name, pipeline in project.pipelines.items():
        if pipeline.source.dataset is None and pipeline.source.images is None:
            with suppress(AssayError):
                source = resolve(pipeline.source, project.folder)
                files = files_found_by(source.files, source.settings) or source.label
                yield [name, files, columns_in_words(layout_of(source).types)]


def columns_in_words(types: pa.Schema) -> str:
    """The columns that are read, with their types.

    >>> columns_in_words(pa.schema([("id", pa.string()), ("age", pa.int64())]))
    'id (string), age (int64)'
    """
    named = {field.name: "list" if pa.types.is_nested(field.type) else field.type for field in types}
    return first_named([f"{name} ({kind})" for name, kind in named.items()], MOST_COLUMNS)


def known_data_sets() -> list[list[object]]:
    """Per data set: its name, whether it is at hand, its licence, what it is."""
    known = {entry.embedded: (entry.licence, entry.title) for entry in catalog().values() if entry.embedded}
    rows: list[list[object]] = [[name, "embedded", *known.get(name, ("", ""))] for name in EMBEDDED]
    return rows + [[name, _at_hand(name, entry), entry.licence, entry.title] for name, entry in catalog().items()]


def get_data_set(name: str) -> str:
    """Gets a data set and says where it lies now."""
    if name in EMBEDDED:
        return f"{name} is embedded: nothing to get."
    return f"{name} lies in {fetch(name)}, every file as the catalogue knows it."


def licence_of(dataset: str) -> str | None:
    """The licence of a data set by name; nothing where it is not ours to know."""
    if dataset in catalog():
        return entry_of(dataset).licence
    return next((entry.licence for entry in catalog().values() if entry.embedded == dataset), None)


def _at_hand(name: str, entry: CatalogEntry) -> str:
    if entry.embedded and not entry.files:
        return f"as {entry.embedded}"
    folder = filled_folder(name, entry)
    if folder is not None:
        return "in the mirror" if os.environ.get(MIRROR) and folder == folders_of(name, entry)[0] else "yes"
    return "no" if entry.files and all(file.url for file in entry.files) else "yours to bring"


def where_from() -> list[str]:
    """Of each data set that is neither here nor to be fetched, a line: where its original is."""
    return [
        f"{name}: {entry.page or entry.source}"
        for name, entry in catalog().items()
        if _at_hand(name, entry) == "yours to bring"
    ]


def plugin_rows(menu: Menu) -> Iterator[list[object]]:
    """Every plug-in: what it is called, what it is, and where it comes from."""
    for kind in menu.audits:
        if kind.origin is not None:
            yield [kind.name, "kind of audit", _origin_in_words(kind.origin)]
    for table in menu.tables.values():
        for word, origin in table.origins.items():
            yield [word, table.what, _origin_in_words(origin)]


def setting_rows(menu: Menu) -> Iterator[list[object]]:
    """Every setting that plug-ins have of their own: its name, its sentence, and what it expects."""
    for kind in menu.audits:
        for key in kind.keys if kind.origin is not None else ():
            yield [key.name, first_paragraph(key.settings), f"a mapping, as in {key.name}: {key.example}"]
            yield from _rows_of_settings(key.name, key.settings)
    for table in menu.tables.values():
        for choice in table:
            if choice.word in table.origins and hasattr(choice, "settings"):
                yield from _rows_of_settings(choice.word, choice.settings)


def _troubles_of_plugin(origin: choices.Origin, folder: Path, menu: Menu) -> list[str]:
    plugin = origin.reference.load()
    if isinstance(plugin, AuditKind):
        return list(_troubles_of_audit(plugin, origin, folder, menu))
    if not isinstance(plugin, choices.Named | choices.Tagged):
        kind = type(plugin).__name__
        return [f"it is of the type {kind}, and a plug-in is an AuditKind, or a choice such as an ImageAttackChoice"]
    findings = choices.check_plugin(plugin)
    for table in menu.tables.values():
        if isinstance(plugin, table.kind):
            with _collecting(findings):
                table.with_plugins(folder, [origin.name], {origin.name})
    return findings


@contextmanager
def _collecting(findings: list[str]) -> Iterator[None]:
    """Within the block, what cannot be used is a finding."""
    try:
        yield
    except InputError as error:
        findings.append(str(error))


def _troubles_of_audit(kind: AuditKind[Any], origin: choices.Origin, folder: Path, menu: Menu) -> Iterator[str]:
    for other in choices.installed(GROUP):
        if choices.object_identity(other) != choices.object_identity(origin):
            with suppress(InputError):  # of another package, and told to those who check that one
                menu = menu.with_audit(other)
    if not origin.package:
        with _collecting(named := list[str]()):
            audit_named(origin.name, folder)
        yield from named
    elif kind.name != origin.name:
        yield f'it calls itself "{kind.name}": give the entry point that name'
    of_its_own = list(troubles_of(kind))
    yield from of_its_own
    if not of_its_own:
        yield from troubles_beside(kind, menu.audits, tuple(Pipeline.model_fields))
        yield from (trouble for _, trouble in troubles_in_order((*menu.audits, kind)))


def _plugins_named(named: str, folder: Path, menu: Menu) -> Sequence[choices.Origin]:
    if ":" in named:
        return [choices.referred(named, folder)]
    groups = dict.fromkeys([GROUP, *(table.group for table in menu.tables.values())])
    meant = [origin for group in groups for origin in choices.installed(group, {named})]
    if not meant:
        names = [point.name for group in groups for point in choices.offered(group)]
        known = suggestion(named, names) if names else "no package here offers any"
        raise InputError(f'There is no plug-in "{named}" installed; {known}. One of your own is module:object.')
    return meant


def _rows_of_settings(name: str, settings: type[Settings]) -> Iterator[list[object]]:
    documented_fields(settings)
    of_tags = [id(field) for field in tags(settings)]
    for field_name, field in written(settings).items():
        if id(field) not in of_tags:
            yield [f"{name}.{field_name}", " ".join((field.description or "").split()), expected_of_field(field)]


def _origin_in_words(origin: choices.Origin) -> str:
    return f"{origin.package} {origin.version}".rstrip() or origin.name


PACKAGES = ("prefect", "dask", "distributed", "pyarrow", "numpy", "pandas", "torch", "snorkel", "great-expectations")


@dataclass(frozen=True)
class CheckResult:
    """What was found, as text; `complaint` says what is wrong, where something is."""

    text: str
    complaint: str


def check(config: str, store: str | None, overrides: Sequence[str] = ()) -> CheckResult:
    """Checks the configuration and the environment; nothing is run."""
    complaints, sections, notes, place = list[str](), list[str](), list[str](), store
    try:
        project = load_project(config, store=store, overrides=overrides)
        place = project.store
        sections.append(columns(["setting", "value"], project_rows(project)))
        rows = pipeline_rows(project)
        sections.append(columns(["pipeline", "source", "stages", "skipped", "schedule"], rows[:MOST_LINES]))
        sections += [f"{len(rows) - MOST_LINES:,} more pipelines (assay list)"] if len(rows) > MOST_LINES else []
        columns_found = list(found_rows(project))
        sections += [columns(["pipeline", "found", "columns"], columns_found)] if columns_found else []
        sections += plugin_sections(project)
        notes, wrong = named_things(project)
        complaints += [*wrong, *missing_baselines(project)]
        sections += ["\n".join(notes)] if notes else []
    except ConfigurationError as error:
        complaints += [str(error), *missing_beside_mistakes(config)]
    except AssayError as error:
        complaints.append(str(error))
    environment = environment_rows()
    if place is not None:
        state, trouble = store_state(place)
        environment.append(["store", state])
        complaints += [trouble] if trouble else []
    sections.append(columns(["environment", ""], environment))
    if not complaints:
        sections.append(f"Everything {'else ' if notes else ''}is in order.")
    if len(complaints) > MOST_LINES:
        complaints[MOST_LINES:] = [f"{len(complaints) - MOST_LINES:,} more: correct these first."]
    return CheckResult("\n\n".join(sections), "\n".join(complaints))


def missing_baselines(project: Project) -> list[str]:
    """What is wrong with the runs that gates are held against by name."""
    from assay.flows.report.gates import require_baselines
    from assay.infra.storage.store import Store

    missing = list[str]()
    for name in project.pipelines:
        with _collecting(missing):
            require_baselines(project, name, Store(project.store))
    return missing


def project_rows(project: Project) -> list[list[object]]:
    """Where things lie and run."""
    compute = project.compute.model_dump()
    file = (
        project.file if project.file.exists() else f"{EMBEDDED_FILE} (it comes with Assay: there is no {project.file})"
    )
    return [["file", str(file)], ["store", project.store]] + [
        [f"compute.{name}", value] for name, value in compute.items() if value not in ({}, None)
    ]


def pipeline_rows(project: Project) -> list[list[object]]:
    """Per pipeline: its source, the stages it configures, those it leaves out."""
    rows: list[list[object]] = []
    for name, pipeline in project.pipelines.items():
        asked = [stage for stage in stages_of(pipeline) if getattr(pipeline, stage)]
        skipped = ", ".join(stage for stage in stages_of(pipeline) if stage not in asked) or "nothing"
        stages = ", ".join(_stage_in_words(pipeline, stage) for stage in asked) or "ingest only"
        source = source_in_words(pipeline.source.model_dump()) or "nothing"
        rows.append([name, source, stages, skipped, pipeline.schedule or "–"])
    return rows


def plugin_sections(project: Project) -> list[str]:
    """The plug-ins that pipelines can name, and their settings; nothing where there are none."""
    plugins = list(plugin_rows(project.menu)) if project.menu is not None else []
    if project.menu is None or not plugins:
        return []
    settings = list(setting_rows(project.menu))
    documents = [columns(["setting of a plug-in", "what it is", "expects"], settings)] if settings else []
    return [columns(["plug-in", "what", "from"], plugins), *documents]


def check_one_plugin(named: str, config: str) -> CheckResult:
    """Whether a plug-in can be used, named as `module:object` or as it is installed: it is tried out, and nothing else
    is looked at."""
    menu, folder, findings = Menu(), Path(config).absolute().parent, list[str]()
    for origin in _plugins_named(named, folder, menu):
        with _collecting(findings):
            findings += _troubles_of_plugin(origin, folder, menu)
    findings = [f"{named}: {finding}" for finding in dict.fromkeys(findings)]
    return CheckResult("" if findings else f"{named} keeps everything that is asked of it.", "\n".join(findings))


def named_things(project: Project) -> tuple[list[str], list[str]]:
    """Whether the data, rules and models that pipelines name are there: what is only to be got, and what is wrong."""
    notes, wrong, absent = list[str](), list[str](), dict[str, None]()
    for pipeline in project.pipelines.values():
        lacking = list(pipeline.missing_things(project.folder))
        for missing in lacking:
            if missing.to_get and not project.file.exists():  # of what comes with Assay nobody has chosen any yet
                absent[str(missing.word)] = None
            else:
                (notes if missing.to_get else wrong).append(missing.in_words(project.lines, pipeline.name))
        if project.file.exists() and not lacking:  # who does not answer yet may be started before the run
            closed = silent(pipeline, project.folder, retries=0)
            notes += [missing.in_words(project.lines, pipeline.name) for missing in closed]
    if absent:
        counted = f"{plural(len(absent), 'data set')} that they name are not here ({', '.join(absent)})"
        notes.append(f"{counted}: `assay data get NAME` fetches one, and `assay data list` says where each comes from.")
    return list(dict.fromkeys(notes)), list(dict.fromkeys(wrong))  # pipelines that share lines share what is missing


def missing_beside_mistakes(config: str) -> list[str]:
    """What cannot be had although the file has mistakes: whoever mends it needs to know both."""
    from assay.flows.audits.data import missing_in_source

    try:
        project, refused = load_usable(config)
    except AssayError:  # the mistakes belong to no pipeline, and were told
        return []
    wrong = named_things(project)[1]
    for name, source in readable_sources(config).items():
        if name in refused:
            pipeline = Pipeline(name=name, source=source)
            wrong += [missing.in_words(project.lines, name) for missing in missing_in_source(pipeline, project.folder)]
    return wrong


def environment_rows() -> list[list[object]]:
    """What this machine offers."""
    from assay.infra.engines.devices import cuda_devices

    devices = cuda_devices()
    mirror = os.environ.get(MIRROR, "")
    lies = mirror if not mirror or Path(mirror).is_dir() else f"{mirror}: not there"
    versions = ", ".join(f"{name} {package_version(name, 'missing')}" for name in PACKAGES)
    return [
        ["assay", package_version("assay-audit", "missing")],
        ["python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"],
        ["packages", versions],
        ["CPU cores", len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1],
        ["memory", in_bytes(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))],
        ["GPU", ", ".join(devices) if devices else "none; work that prefers one runs on the CPU"],
        ["mirror", lies or f"none ({MIRROR} is not set)"],
        ["Prefect", os.environ.get("PREFECT_API_URL") or "a server of its own for each run, on loopback"],
    ]


def store_state(place: str) -> tuple[str, str]:
    """Whether the store can be written to, in words; and the trouble, where there is any."""
    from assay.infra.storage.store import Store

    if "://" not in place and not Path(place).exists():
        return _folder_to_be(Path(place))
    try:
        opened = Store(place).open()
        opened.folder.write("check.tmp", b"")
        opened.folder.remove("check.tmp")
    except AssayError as error:
        return f"{place}: not writable", str(error)
    except (OSError, ImportError, ValueError) as error:
        trouble = f"The store {place} cannot be reached ({reason_of(error)}); choose another with --store."
        return f"{place}: out of reach", trouble
    return f"{place}: writable", ""


def _folder_to_be(place: Path) -> tuple[str, str]:
    """Whether a folder that is not there yet can be made; looking makes nothing."""
    parent = next(folder for folder in place.absolute().parents if folder.exists())
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return f"{place}: will be made", ""
    trouble = f"Cannot make the store {place}: {parent} cannot be written to. Choose another folder with --store."
    return f"{place}: cannot be made", trouble


def _stage_in_words(pipeline: Pipeline, stage: str) -> str:
    if stage == "subjects":
        return "subjects " + "+".join(subject.name for subject in pipeline.subjects)
    return plural(len(pipeline.gates), "gate") if stage == "gates" else stage
