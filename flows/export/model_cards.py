"""`assay export RUN --model-card FORM`: what a run measured of its models, as cards that others read; and
`--model NAME`: a defended model of a run as a folder that any pipeline can name as its subject.

CycloneDX 1.7: one ML-BOM with a component per model with the sha256 of its files, in whose `modelCard` every finding
is a performance metric with its slice and interval. Hugging Face: a README.md per model, with a `model-index` of how
often it is right.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from toolz import groupby

from assay import __version__
from assay.flows.audits.table import KINDS
from assay.flows.export.curated_sets import appearing_whole, escaped_markdown, front_matter, require_new
from assay.flows.kind import Outcomes
from assay.flows.report.records import artifacts_of, source_in_words, subjects_in
from assay.flows.yaml_document import suggestion
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.store import Store
from assay.tasks.reporting import numerals
from assay.tasks.statistics.findings import Finding, findings_of
from assay.tasks.subjects.trained import CARD, WEIGHTS

_TASKS = {
    "network": "image-classification",
    "classifier": "text-classification",
    "tagger": "token-classification",
    "scorer": "sentence-similarity",
    "model": "tabular-classification",
}
"""What a model does, in the words of Hugging Face, by the setting that names it."""
_RIGHT = ("subject.", "attack.", "defense.", "ner.", "sts.")
_TITLES = {metric.name: metric.title for kind in KINDS for metric in kind.metrics if metric.name.startswith(_RIGHT)}
"""What the card of Hugging Face has: how right a model is, without the many slices along orders and columns."""


def export_model_cards(store: Store, record: RunRecord, form: str, target: Path) -> str:
    """Writes the cards, whole or not at all; returns a sentence on them."""
    require_new(target)
    given = {str(subject["name"]): subject for subject in subjects_in(record.settings)}
    known = [each for each in findings_of(store, record) if numerals.measured(each.value)]
    of_models = [finding for finding in known if _made_of(finding.subject, given)]
    measured: dict[str, list[Finding]] = groupby(attrgetter("subject"), of_models)
    if not measured:
        raise InputError(f"Run {record.id} measured no model: its pipeline has no subject.")
    tasks = {}
    for model in measured:
        settings = given[_made_of(model, given)]
        tasks[model] = next((task for key, task in _TASKS.items() if settings.get(key) is not None), "other")
    with appearing_whole(target) as draft:
        if form == "cyclonedx":
            bom = ml_bom(store, record, measured, tasks)
            (draft / "models.cdx.json").write_text(json.dumps(bom, indent=1, ensure_ascii=False), encoding="utf-8")
        for model, findings in measured.items() if form == "huggingface" else ():
            folder = draft / re.sub(r"[^\w.+=-]", "_", model)
            folder.mkdir()
            (folder / "README.md").write_text(model_card(record, model, tasks[model], findings), encoding="utf-8")
    return f"{target}: {numerals.plural(len(measured), 'model card')} of run {record.id}: {', '.join(measured)}"


def _made_of(model: str, given: Iterable[str]) -> str:
    """The subject that a model is, or that it was defended from; empty where it is of none.

    >>> [_made_of(model, ["bert", "bert+crf"]) for model in ("bert+crf", "bert+crf+maadvt", "bert+maadvt", "other")]
    ['bert+crf', 'bert+crf', 'bert', '']
    """
    return max((name for name in given if f"{model}+".startswith(f"{name}+")), key=len, default="")


def ml_bom(
    store: Store, record: RunRecord, measured: Mapping[str, Sequence[Finding]], tasks: Mapping[str, str]
) -> dict[str, Any]:
    """The models of a run as CycloneDX 1.7, the same for the same run."""
    data, files = artifacts_of(record, "Samples")[0].digest, model_files(store, record)
    weights = {name: store.output(model).checksums for name, model in files.items()}
    dataset = {"type": "dataset", "name": _data_of(record)}
    about = {"run": record.id, "pipeline": record.pipeline, "seed": str(record.seed), "data": data}
    properties = [{"name": f"assay:{name}", "value": value} for name, value in about.items()]
    components = [
        {
            "type": "machine-learning-model",
            "bom-ref": f"model/{model}",
            "name": model,
            "modelCard": {
                "modelParameters": {"task": tasks[model], "datasets": [dataset]},
                "quantitativeAnalysis": {"performanceMetrics": [_performance_metric(finding) for finding in findings]},
            },
            "components": [
                {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": checksum}]}
                for name, checksum in sorted(weights.get(model, {}).items())
            ],
        }
        for model, findings in measured.items()
    ]
    tool = {"type": "application", "name": "assay", "version": __version__}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'urn:assay:{record.id}')}",
        "version": 1,
        "metadata": {"timestamp": record.started, "tools": {"components": [tool]}, "properties": properties},
        "components": components,
    }


def _performance_metric(finding: Finding) -> dict[str, Any]:
    """A finding as CycloneDX has it: numbers as text, and n beside the slice, since it has no place of its own."""
    ends = {"lowerBound": finding.low, "upperBound": finding.high}
    interval = {name: str(end) for name, end in ends.items() if end is not None}
    described = ", ".join(filter(None, (_slice_of(finding), "" if finding.n is None else f"n = {finding.n}")))
    metric: dict[str, Any] = {"type": finding.metric, "value": str(finding.value)}
    return metric | ({"slice": described} if described else {}) | ({"confidenceInterval": interval} if interval else {})


def model_card(record: RunRecord, model: str, task: str, findings: Sequence[Finding]) -> str:
    """The card of a model as Hugging Face reads it: a `model-index` with a result per slice, which its pages show."""
    data, results = _data_of(record), dict[str, dict[str, Any]]()
    for finding in findings:
        if title := _TITLES.get(finding.metric):
            interval = "" if finding.low is None or finding.high is None else f"{finding.low:.4g} to {finding.high:.4g}"
            n, kind, of = str(finding.n or ""), finding.metric.removeprefix("subject."), _slice_of(finding)
            name = ", ".join(filter(None, (title, interval and f"95 % interval {interval}", n and f"n = {n}")))
            dataset = {"type": data, "name": data} | ({"config": of} if of else {})
            result = results.setdefault(of, {"task": {"type": task}, "dataset": dataset, "metrics": []})
            result["metrics"].append({"type": kind, "value": finding.value, "name": name})
    head = front_matter(
        {"tags": ["robustness", "assay"], "model-index": [{"name": model, "results": [*results.values()]}]}
    )
    origin = f"Measured by Assay {__version__} in run `{record.id}` of `{record.pipeline}`, seed {record.seed}."
    return f"{head}\n# {escaped_markdown(model)}\n\n{origin}\n"


def _slice_of(finding: Finding) -> str:
    """Of what and of which slice a finding is; empty where it is of all."""
    return ", ".join(filter(None, (finding.of, finding.group)))


def _data_of(record: RunRecord) -> str:
    return source_in_words(record.settings.get("source") or {}) or record.pipeline


PIPELINE = "subject.yaml"
_CONFIG = "config.json"


def export_model(store: Store, record: RunRecord, name: str, target: Path) -> str:
    """Writes weights, card and the lines for pipelines.yaml, whole or not at all; returns what lies there.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> export_model(store, RunRecord("r1", "p", "2026-11-21", 0, "host", 1), "plain+maadvt", Path("new"))
    Traceback (most recent call last):
        ...
    assay.infra.errors.InputError: Run r1 has no defended network or classifier: it defended none, or broke off.
    """
    require_new(target)
    models = defended_models(store, record)
    if not models:
        raise InputError(f"Run {record.id} has no defended network or classifier: it defended none, or broke off.")
    if name not in models:
        variants = [model for model in models if model.startswith(f"{name}-")]
        others = f"of that kind it has {', '.join(variants)}" if variants else suggestion(name, models)
        raise InputError(f"Run {record.id} has no defended model {name!r}; {others}")
    contents = store.contents(store.output(models[name]))
    card = json.loads(contents[CARD])
    lines = subject_lines(name, card, contents, target)
    if _CONFIG in contents:
        contents = {**contents, _CONFIG: _naming_classes(contents[_CONFIG], card)}
    with appearing_whole(target) as draft:
        for file, content in contents.items():
            (draft / file).write_bytes(content)
        (draft / PIPELINE).write_text(lines, encoding="utf-8")
    return f"{target}: {WEIGHTS}, {CARD}, and in {PIPELINE} how a pipeline names it as its subject"


def model_files(store: Store, record: RunRecord) -> dict[str, Artifact[Any]]:
    """The files of every model that a run measured by samples, by its name: those that it answered with."""
    models, made = dict[str, Artifact[Any]](), {each.digest: each for each in artifacts_of(record, "SubjectFiles")}
    for outcomes in map(Outcomes.from_json, record.outcomes):
        of_two = outcomes.metric.startswith("defense.")  # both the model and its defence answer
        for table in () if of_two or outcomes.subject in models else outcomes.tables.values():
            manifest = store.manifest(*table.uri.rstrip("/").split("/")[-3:-1])
            files = manifest.ingredients["arguments"].get("files") if manifest else None
            if isinstance(files, dict) and files.get("digest") in made:
                models[outcomes.subject] = made[files["digest"]]
    return models


def defended_models(store: Store, record: RunRecord) -> dict[str, Artifact[Any]]:
    """The files of every model of a run that is none of its pipeline's own subjects, by name."""
    given = {str(subject["name"]) for subject in subjects_in(record.settings)}
    return {name: files for name, files in model_files(store, record).items() if name and name not in given}


def _naming_classes(config: bytes, card: Mapping[str, Any]) -> bytes:
    """The configuration of a text classifier with the classes that it learned: it has none, or those of its start.

    >>> _naming_classes(b'{"id2label": {"0": "bad", "1": "good"}}', {"columns": [0, 1], "class_names": ["good", "bad"]})
    b'{"id2label": {"0": "good", "1": "bad"}, "label2id": {"good": 0, "bad": 1}}'
    """
    codes = dict(zip(card["class_names"], card["columns"], strict=True))
    named = {"id2label": {str(code): name for name, code in codes.items()}, "label2id": codes}
    return json.dumps({**json.loads(config), **named}).encode()


def subject_lines(name: str, card: dict[str, Any], contents: dict[str, bytes], target: Path) -> str:
    """What to write under `subjects:`. Mean and std of images are the model's own, and go with its weights; refused of
    a text classifier that no folder of Hugging Face can hold, and of taggers and scorers."""
    if "network" in card:
        own = {key: card[key] for key in ("network", "width")}
        values = {**own, "weights": f"{target}/{WEIGHTS}", "mean": card["mean"], "std": card["std"]}
        about = f"{card['defence']['defense']}, made of {card['defends']}"
    elif _CONFIG in contents and "text" in card:
        values = {"classifier": str(target), "text": card["text"]}
        about = f"trained on attacked copies too; its classes in their order: {', '.join(card['class_names'])}"
    else:
        raise InputError(
            f"{name} is a tagger, a scorer, or a layer on MiniLM's features, which no folder holds as a subject: "
            "defend a network of images, `small-bert` or a Hugging Face classifier to hand one out."
        )
    written = ", ".join(f"{key}: {json.dumps(value)}" for key, value in {"name": name, **values}.items())
    return f"# {name}: {about}\nsubjects:\n  - {{{written}}}\n"
