"""`assay export`: the curated sets of a run as a folder that pandas and Hugging Face read in one line, with their
data card.
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import itertools
import json
import os
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from assay import __version__
from assay.data.images import COLUMNS, pixels_of, png
from assay.data.schemas import CuratedSets, class_names
from assay.data.templates import filled
from assay.flows.report.comparison import flat_settings
from assay.flows.report.records import artifacts_of, read_table, stage_arguments, tables_of
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.store import Store
from assay.tasks.ingest.image_pixels import ENDINGS
from assay.tasks.ingest.rows import is_list
from assay.tasks.ordering.settings import SCORES_IN_WORDS
from assay.tasks.reporting.numerals import p_concluded
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_of

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""What the column `image` holds."""

_READ_AS = json.dumps({"info": {"features": {"image": {"_type": "Image"}}}})


def original_paths(store: Store, record: RunRecord) -> dict[str, str]:
    """The paths of the images by sample, as the run's table names them; none where it held the images."""
    rows = (row for table in tables_of(store, record, "ImagePaths") for row in table.to_pylist())
    return {row["id"]: row["path"] for row in rows}


def with_pictures(table: pa.Table, paths: Mapping[str, str]) -> pa.Table:
    """The table with one column of PNG files where it had pixels and their extents; without images, as it is.

    The path is that in the table that named the image, or below its folder where samples are named so, and else the
    sample's name.
    """
    if not set(COLUMNS) <= set(table.column_names):
        return table
    cells = [
        {"bytes": png(pixels_of(table.slice(row, 1))[0]), "path": paths.get(str(name)) or _picture_path(str(name))}
        for row, name in enumerate(table["id"].to_pylist())
    ]
    kept = table.drop_columns(list(COLUMNS)).append_column("image", pa.array(cells, PICTURE))
    return kept.replace_schema_metadata({**(table.schema.metadata or {}), "huggingface": _READ_AS})


def _picture_path(name: str) -> str:
    """The path of an image's original, or one made of the sample's name.

    >>> _picture_path("cat/1.jpg"), _picture_path("table.csv:7")
    ('cat/1.jpg', 'table.csv:7.png')
    """
    return name if name.lower().endswith(ENDINGS) and not posixpath.isabs(name) else f"{name}.png"


ABOUT: Mapping[str, str] = YAML(typ="safe").load(filled("curated_columns.yaml"))
"""What each column is, in their order."""


@dataclass(frozen=True)
class CuratedFolder:
    """What an export holds: the whole order as one table, and how many rows each of D1 … DN takes of it."""

    whole: pa.Table
    sizes: tuple[int, ...]

    def dataset(self, number: int) -> pa.Table:
        """D_number: the first rows of the order."""
        return self.whole.slice(0, self.sizes[number - 1])


def curated_folder(
    curated: pa.Table, samples: pa.Table, classes: Mapping[int, str], paths: Mapping[str, str] = MappingProxyType({})
) -> CuratedFolder:
    """The curated table in its order, with class names, the samples' own columns, and where their images lay."""
    ordered = curated.sort_by("rank")
    columns = {name: ordered[name] for name in ordered.column_names}
    columns["label_name"] = _named(ordered["label"], classes)
    columns["gold_name"] = _named(ordered["gold"], classes)
    table = pa.table({name: columns[name] for name in ABOUT if name in columns})
    rows = pc.index_in(table["id"], samples["id"].combine_chunks())
    for name in samples.column_names:
        if name not in ("id", "gold"):
            shown = name if name not in ABOUT or name in COLUMNS else f"feature_{name}"
            table = table.append_column(shown, samples[name].take(rows))
    last = int(pc.max(ordered["dataset"]).as_py() or 0)
    counts = {int(entry["values"]): int(entry["counts"]) for entry in pc.value_counts(ordered["dataset"]).to_pylist()}
    sizes = itertools.accumulate(counts.get(number, 0) for number in range(1, last + 1))
    return CuratedFolder(with_pictures(table, paths), tuple(sizes))


def _named(codes: pa.ChunkedArray, classes: Mapping[int, str]) -> pa.Array:
    return pa.array([None if code is None else classes.get(code, str(code)) for code in codes.to_pylist()], pa.string())


_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def verdict_in_words(validity: Sequence[Finding]) -> str:
    """Whether the labels get worse along the order, as one sentence: as the page of the run concludes."""
    from assay.flows.report.sentences import order_in_words

    findings = FindingIndex(validity)
    for test, (text, _) in zip(findings.select("ordering.trend_p", of="ours"), order_in_words(findings), strict=False):
        p = "" if test.p_value is None else f", {p_concluded(test.p_value, test.p_adjusted)}"
        return f"**{text.removesuffix('.')} ({test.group}{p}).**"
    return "**Not measured**: no order was tested."


def front_matter(values: Mapping[str, object]) -> str:
    """What Hugging Face reads at the head of a card; JSON is YAML, and no text of a configuration breaks out of it.

    >>> print(front_matter({"license": "no", "tags": ["a"]}), end="")
    ---
    license: "no"
    tags: ["a"]
    ---
    """
    return "\n".join(["---", *(f"{key}: {json.dumps(value)}" for key, value in values.items()), "---", ""])


def data_card(record: RunRecord, folder: CuratedFolder, title: str, labeler: str, licence: str, verdict: str) -> str:
    """The card as Markdown, with the front matter that Hugging Face reads."""
    last, configurations = len(folder.sizes), {"curated": "curated.parquet"}
    configurations |= {f"D{number}": f"D{number}.parquet" for number in range(1, last + 1)}
    known = bool(_IDENTIFIER.fullmatch(licence))  # Hugging Face takes an identifier, or `other` with a name
    head = {
        "pretty_name": title,
        **({"license": licence.lower()} if known else {"license": "other", "license_name": licence}),
        "annotations_creators": ["machine-generated"],
        "tags": ["robustness", "weak-supervision", "assay"],
        "configs": [
            {"config_name": name, "default": name == "curated", "data_files": [{"split": "test", "path": file}]}
            for name, file in configurations.items()
        ],
    }
    made = [(stage.title, out["kind"], out["digest"]) for stage in record.stages for out in stage.outputs.values()]
    sets = [(f"D{number}", *_accuracy(folder.dataset(number))) for number in range(1, last + 1)]
    set_up = record.settings
    flat = flat_settings(set_up).items()
    settings = [(name, json.dumps(value, ensure_ascii=False)) for name, value in flat if value is not None]
    columns = [(each.name, each.type, ABOUT.get(each.name, "a column of the samples")) for each in folder.whole.schema]
    card = filled(
        "curated.md",
        title=escaped_markdown(title),
        description=escaped_markdown(set_up.get("description") or "") or "A data set that is hard on purpose.",
        samples=folder.sizes[-1] if folder.sizes else 0,
        last=last,
        licence=escaped_markdown(licence),
        labeler=escaped_markdown(labeler),
        pruned="all were kept" if set_up.get("pruning") is None else "those that depend on each other were pruned",
        score=SCORES_IN_WORDS[(set_up.get("ordering") or {}).get("by", "bound")],
        verdict=verdict,
        sets=markdown_table(("data set", "samples", "weak labels that are right", "of n with known class"), sets),
        columns=markdown_table(("column", "type", "what it is"), columns),
        run=record.id,
        pipeline=escaped_markdown(record.pipeline),
        started=record.started,
        seed=record.seed,
        version=__version__,
        stages=markdown_table(("stage", "artifact", "digest"), made),
        settings=markdown_table(("setting", "value"), settings),
    )
    return f"{front_matter(head)}\n{card}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in which text from outside does nothing."""
    cells = [[escaped_markdown(str(cell)) for cell in row] for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in ([*columns], ["---"] * len(columns), *cells))


def escaped_markdown(text: str) -> str:
    """Text from outside as Markdown that shows it and does nothing else.

    >>> escaped_markdown("a|b\\n<script>")
    'a\\\\|b &lt;script&gt;'
    """
    one_line = " ".join(text.split()).translate({ord(sign): f"\\{sign}" for sign in "\\|`*_[]#"})
    return html.escape(one_line, quote=False)


ROWS_IN_A_GROUP = 65_536


def export_run(
    store: Store, record: RunRecord, target: Path, labeler: str | None = None, licence: str | None = None
) -> str:
    """Writes the folder, whole or not at all, and returns a sentence on what lies there."""
    from assay.flows.check import licence_of

    require_new(target)
    chosen, curated = _curated(store, record, labeler)
    samples = read_table(store, artifacts_of(record, "Samples")[0])  # as they came in: later ones are noisy, or copies
    classes = dict(enumerate(classes_of(store, record)))
    folder = curated_folder(curated, samples, classes, original_paths(store, record))
    dataset = (record.settings.get("source") or {}).get("dataset")
    known = licence_of(dataset) if dataset else None
    title, licence = f"{record.pipeline}, curated ({chosen})", licence or known or "unknown"
    ours = [found for found in findings_of(store, record) if found.of in ("ours", "") and found.group in (chosen, "")]
    verdict = verdict_in_words([found for found in ours if found.stage == "ordering"])
    with appearing_whole(target) as draft:
        last = len(folder.sizes)
        files = [_write(draft, "curated.parquet", folder.whole, "the whole order, easiest first")]
        for number in range(1, last + 1):
            about = f"D{number} of {last}: the easiest {number / last:.0%} of the order"
            files.append(_write(draft, f"D{number}.parquet", folder.dataset(number), about))
        (draft / "README.md").write_text(data_card(record, folder, title, chosen, licence, verdict), encoding="utf-8")
        described = {
            "name": title,
            "description": f"{record.settings.get('description') or ''} {verdict}".strip(),
            "license": licence,
            "url": f"urn:assay:{record.id}",
            "creator": {"@type": "sc:Organization", "name": "not stated"},
            "datePublished": record.started[:10],
            "version": "1.0.0",
            "rai:dataAnnotationProtocol": f"The labels are weak: {chosen} combines the votes of labelling functions.",
            "rai:machineAnnotationTools": f"Assay {__version__}, labeler {chosen}",
            "rai:dataUseCases": "Testing models on samples that are ever harder; weak labels are no ground truth.",
            "rai:dataBiases": "Samples are ordered by how sure the rules are of them, and are no random draw.",
            "rai:dataLimitations": verdict.replace("**", ""),
        }
        metadata = croissant(described, files, folder.whole.schema, dict(ABOUT))
        (draft / "croissant.json").write_text(json.dumps(metadata, indent=2, ensure_ascii=False), encoding="utf-8")
    sets = f"D1 … D{len(folder.sizes)} ({folder.sizes[0]} … {folder.sizes[-1]} samples, {chosen})"
    return f"{target}: {sets}, README.md, croissant.json"


def require_new(target: Path) -> None:
    """Raises unless the folder is new, or empty."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is there and not empty; name a new folder with --to.")


@contextlib.contextmanager
def appearing_whole(target: Path) -> Iterator[Path]:
    """A folder to write into that gets its name when all is written, and is gone when something went wrong."""
    draft: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        yield draft
        draft.chmod(0o755)
        if target.exists():
            target.rmdir()
        os.replace(draft, target)
    except OSError as error:
        reason = error.strerror or "it failed"
        raise InputError(f"Cannot write to {target}: {reason}; make room, or name another folder with --to.") from error
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _write(folder: Path, name: str, table: pa.Table, about: str) -> ExportedFile:
    path = folder / name
    pq.write_table(table, path, row_group_size=ROWS_IN_A_GROUP, compression="zstd")
    with path.open("rb") as content:
        checksum = hashlib.file_digest(content, "sha256").hexdigest()
    return ExportedFile(name, about, checksum, path.stat().st_size)


def _curated(store: Store, record: RunRecord, labeler: str | None) -> tuple[str, pa.Table]:
    """The labeler whose order is exported, and that order."""
    by_labeler: dict[str, Artifact[CuratedSets]] = {
        str(stage_arguments(store, stage)["labeler"]): Artifact.from_json(stage.outputs["result"])
        for stage in record.stages
        if stage.stage == "order_adversarially"
    }
    if not by_labeler:
        asked = record.settings.get("ordering") is not None
        reason = f"it ended before the ordering, as {record.status}" if asked else "its pipeline configures no ordering"
        raise InputError(f"Run {record.id} has no curated sets: {reason}.  (assay runs shows all)")
    chosen = labeler or next(iter(by_labeler))
    if chosen not in by_labeler:
        raise InputError(
            f"Run {record.id} has no curated sets of the labeler {chosen}; it has {', '.join(by_labeler)}."
        )
    return chosen, read_table(store, by_labeler[chosen])


def classes_of(store: Store, record: RunRecord) -> list[str]:
    """The names of the classes of a run, in the order of their codes."""
    return class_names(pa.concat_tables(tables_of(store, record, "Classes")))


def _accuracy(dataset: pa.Table) -> tuple[int, str, int]:
    """How many samples a data set has, the share of weak labels that are right, and over how many that is known."""
    right = pc.equal(dataset["label"], dataset["gold"])
    share, known = pc.mean(right).as_py(), dataset.num_rows - right.null_count
    return dataset.num_rows, "not measured" if share is None else f"{share:.1%}", known


# Croissant 1.0 metadata (JSON-LD) of an exported folder, with fields of its RAI extension, so that search engines and
# loaders of data sets understand it.

CONTEXT: dict[str, Any] = json.loads(filled("croissant_context.json"))
"""The context that the Croissant 1.0 specification asks every file to carry, word for word."""

_TYPES = (
    (pa.types.is_boolean, "Boolean"),
    (pa.types.is_integer, "Integer"),
    (pa.types.is_floating, "Float"),
    (pa.types.is_decimal, "Float"),
    (pa.types.is_date, "Date"),
    (PICTURE.equals, "ImageObject"),
    (pa.types.is_timestamp, "DateTime"),
)
CITE_AS = "S. Pugh et al., Curating Naturally Adversarial Datasets for Trustworthy AI in Healthcare"


@dataclass(frozen=True)
class ExportedFile:
    """One file of an export: its path in the folder, what is in it, its checksum and size."""

    path: str
    about: str
    sha256: str
    bytes: int


def croissant(
    described: Mapping[str, Any], files: Sequence[ExportedFile], schema: pa.Schema, about: dict[str, str]
) -> dict[str, Any]:
    """The metadata of a folder whose Parquet files share one schema: a record set for each.

    How it is `described` (name, licence, who made it, …) stands in the words of schema.org.
    """
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        **described,
        "citeAs": CITE_AS,
        "distribution": [_file_object(file) for file in files],
        "recordSet": [_record_set(file, schema, about) for file in files],
    }


def data_type(dtype: pa.DataType) -> str:
    """The schema.org type of an Arrow type.

    >>> data_type(pa.int16()), data_type(pa.string())
    ('sc:Integer', 'sc:Text')
    """
    return next((f"sc:{name}" for is_of_type, name in _TYPES if is_of_type(dtype)), "sc:Text")


def _file_object(file: ExportedFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path.rsplit("/", 1)[-1],
        "description": file.about,
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _record_set(file: ExportedFile, schema: pa.Schema, about: dict[str, str]) -> dict[str, Any]:
    name = file.path.rsplit("/", 1)[-1].removesuffix(".parquet")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": file.about,
        "key": {"@id": f"{name}/id"},
        "field": [
            _field(f"{name}/{identifier}", file, column, about.get(column.name, "a column of the samples"))
            for identifier, column in zip(identifiers(schema.names), schema, strict=True)
        ],
    }


def identifiers(names: Sequence[str]) -> list[str]:
    """Names as identifiers: without spaces or signs, which loaders refuse, and no two the same.

    >>> identifiers(["mean area", "mean-area", "mean_area", "ρ"])
    ['mean_area', 'mean-area', 'mean_area_2', '_']
    """
    unique: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        repeats = itertools.chain([plain], (f"{plain}_{number}" for number in itertools.count(2)))
        unique.append(next(name_ for name_ in repeats if name_ not in unique))
    return unique


def _field(identifier: str, file: ExportedFile, column: pa.Field, about: str) -> dict[str, Any]:
    listed = is_list(column.type)
    field = {
        "@type": "cr:Field",
        "@id": identifier,
        "name": column.name,
        "description": about,
        "dataType": data_type(column.type.value_type if listed else column.type),
        "source": {"fileObject": {"@id": file.path}, "extract": {"column": column.name}},
    }
    return {**field, "repeated": True} if listed else field
