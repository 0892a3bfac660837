"""What `assay check` says: which configuration was understood, what it skips, and what this machine offers."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.flows.commands.answers import columns
from assay.flows.configuration.loading import load_project, load_usable, readable_sources
from assay.flows.configuration.mistakes import ConfigurationError
from assay.flows.operations.found_data import found_rows
from assay.flows.operations.plugins import findings_on, plugin_rows, setting_rows
from assay.flows.pipeline import Pipeline, Project
from assay.flows.report.pages import stages_of
from assay.flows.report.records import in_bytes
from assay.infra.errors import AssayError, InputError
from assay.infra.reasons import reason_of
from assay.tasks.ingest.settings import ORIGINS, Source

PACKAGES = ("prefect", "dask", "distributed", "pyarrow", "numpy", "pandas", "torch", "snorkel", "great-expectations")


@dataclass(frozen=True)
class CheckResult:
    """What was found, as text; `complaint` says what is wrong, where something is."""

    text: str
    complaint: str


def check(config: str, store: str | None, overrides: Sequence[str] = ()) -> CheckResult:
    """Checks the configuration and the environment; nothing is run."""
    complaints: list[str] = []
    sections: list[str] = []
    place = store
    try:
        project = load_project(config, store=store, overrides=overrides)
        place = project.store
        sections.append(columns(["setting", "value"], project_rows(project)))
        sections.append(columns(["pipeline", "source", "stages", "skipped", "schedule"], pipeline_rows(project)))
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
        sections.append("Everything is in order.")
    return CheckResult("\n\n".join(sections), "\n".join(complaints))


def missing_baselines(project: Project) -> list[str]:
    """What is wrong with the runs that gates are held against by name."""
    from assay.flows.report.judgement import require_baselines
    from assay.infra.store import Store

    missing = []
    for name in project.pipelines:
        try:
            require_baselines(project, name, Store(project.store))
        except InputError as error:
            missing.append(str(error))
    return missing


def project_rows(project: Project) -> list[list[object]]:
    """Where things lie and run."""
    compute = project.compute.model_dump()
    return [["file", str(project.file)], ["store", project.store]] + [
        [f"compute.{name}", value] for name, value in compute.items() if value not in ({}, None)
    ]


def pipeline_rows(project: Project) -> list[list[object]]:
    """Per pipeline: its source, the stages it configures, those it leaves out."""
    rows: list[list[object]] = []
    for name, pipeline in project.pipelines.items():
        asked = [stage for stage in stages_of(pipeline) if getattr(pipeline, stage)]
        skipped = [stage for stage in stages_of(pipeline) if stage not in asked]
        stages = ", ".join(_stage_in_words(pipeline, stage) for stage in asked) or "ingest only"
        rows.append(
            [name, source_in_words(pipeline.source), stages, ", ".join(skipped) or "nothing", pipeline.schedule or "–"]
        )
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
    """Whether a plug-in can be used: it is tried out, and nothing else is looked at."""
    findings = findings_on(named, Path(config).absolute().parent)
    return CheckResult("" if findings else f"{named} keeps everything that is asked of it.", "\n".join(findings))


def named_things(project: Project) -> tuple[list[str], list[str]]:
    """Whether the data, rules and models that pipelines name are there: what is only to be got, and what is wrong."""
    from assay.flows.configuration.named_things import missing_things

    notes: list[str] = []
    wrong: list[str] = []
    for pipeline in project.pipelines.values():
        for missing in missing_things(pipeline, project.folder):
            (notes if missing.to_get else wrong).append(missing.said(project, pipeline))
    return list(dict.fromkeys(notes)), list(dict.fromkeys(wrong))  # pipelines that share lines share what is missing


def missing_beside_mistakes(config: str) -> list[str]:
    """What cannot be had although the file has mistakes: whoever mends it needs to know both."""
    from assay.flows.configuration.named_things import missing_in_source

    try:
        project, refused = load_usable(config)
    except AssayError:  # the mistakes belong to no pipeline, and were told
        return []
    wrong = named_things(project)[1]
    for name, source in readable_sources(config).items():
        if name in refused:
            pipeline = Pipeline(name=name, source=source)
            wrong += [one.said(project, pipeline) for one in missing_in_source(pipeline, project.folder)]
    return wrong


def source_in_words(source: Source) -> str:
    """Where samples come from, in a few words."""
    for origin in ORIGINS:
        address = getattr(source, origin)
        if address is not None:
            places = address if isinstance(address, str) else ", ".join(address)
            return places if origin == "dataset" else f"{origin}: {places}"
    return "nothing"


def environment_rows() -> list[list[object]]:
    """What this machine offers."""
    from assay.infra.engines.gpus import cuda_devices

    devices = cuda_devices()
    mirror = os.environ.get("ASSAY_MIRROR")
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    return [
        ["assay", _version("assay-audit")],
        ["python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"],
        ["packages", versions],
        ["CPU cores", cores()],
        ["memory", _memory()],
        ["GPU", ", ".join(devices) if devices else "none; work that prefers one runs on the CPU"],
        ["mirror", _mirror(mirror)],
        ["Prefect", os.environ.get("PREFECT_API_URL") or "a server of its own for each run, on loopback"],
    ]


def cores() -> int:
    """How many CPU cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def store_state(place: str) -> tuple[str, str]:
    """Whether the store can be written to, in words; and the trouble, where there is any."""
    from assay.infra.store import Store

    if "://" not in place and not Path(place).exists():
        return _folder_to_be(Path(place))
    try:
        opened = Store(place).open()
        opened.folder.write("check.tmp", b"")
        opened.folder.remove("check.tmp")
    except AssayError as error:
        return f"{place}: not writable", str(error)
    except (OSError, ImportError, ValueError) as error:
        return (
            f"{place}: out of reach",
            f"The store {place} cannot be reached ({reason_of(error)}); choose another with --store.",
        )
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
    return f"{len(pipeline.gates)} gates" if stage == "gates" else stage


def _memory() -> str:
    try:
        return in_bytes(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        return "unknown"


def _mirror(mirror: str | None) -> str:
    if not mirror:
        return "none (ASSAY_MIRROR is not set)"
    return mirror if Path(mirror).is_dir() else f"{mirror}: not there"


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
