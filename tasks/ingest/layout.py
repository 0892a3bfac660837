"""The columns of a source and what each one means, settled before a row is read, from the first file's first rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from assay.data.biomedical_schemas import WORDS
from assay.data.images import COLUMNS
from assay.infra.errors import InputError, SettingError
from assay.tasks.ingest.arrays import is_array
from assay.tasks.ingest.casting import NEARLY_NUMBERS, plain_type
from assay.tasks.ingest.column_types import require_enterable, require_known_zones, require_roles
from assay.tasks.ingest.files import SourceFiles
from assay.tasks.ingest.heads import Head, unknown_column
from assay.tasks.ingest.image_folder import CLASS, PATH
from assay.tasks.ingest.image_folder import SPLIT as SPLIT_FOLDER
from assay.tasks.ingest.multilabel import LabelColumns, label_columns
from assay.tasks.ingest.pixels import Form
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.settings import Pixels, Source


@dataclass(frozen=True)
class ImageColumn:
    """Which column holds the images and as what; `form` is settled once the first image has been looked at."""

    name: str
    kind: Literal["path", "bytes", "array", "raw"]
    pixels: Pixels | None = None
    form: Form | None = None


@dataclass(frozen=True)
class Layout:
    """Which columns are read, as which types, and which of them are id, gold label, features and votes."""

    types: pa.Schema
    """The columns that are read, in the order of the samples, with the types they enter in."""
    id: str | None
    label: str | None
    features: tuple[str, ...]
    votes: tuple[str, ...]
    """The columns of `features` that are labelling functions' votes."""
    required: tuple[str, ...] = ()
    split: str | None = None
    group: str | None = None
    """The column of what is independent."""
    gold_in: tuple[str, ...] | None = None
    delimiter: str = ","
    closed: bool = False
    """Whether fields that are not among `types` are left out on purpose (`features` says which to keep)."""
    heads: Mapping[str, Head] = field(default_factory=dict)
    """Where the records of each text file begin."""
    classes: tuple[str, ...] | None = None
    """The classes that the data set itself names, if it does."""
    image: ImageColumn | None = None
    """The column that becomes the image's pixels, if there is one."""
    labels: LabelColumns | None = None
    """The columns that become `labels`, where a sample may bear several classes."""
    iob_columns: tuple[int, int] = (1, -1)
    """Where a line of an IOB file has its word and its tag."""
    tagged: tuple[str, str] | None = None
    """The columns with the words and the tags of sentences, where samples are tables of them."""
    score: str | None = None
    """The column with the number that samples bear."""
    other_truth: bool = False
    """Whether what is true of a sample is tags or a number, so that there are no classes."""
    nearly_numbers: tuple[str, ...] = ()
    """The columns that are text because a few cells of the first rows are no numbers."""
    source: Source | None = None
    """The source's settings, which know of readers that plug-ins bring."""


def layout_of(source: SourceFiles, given: pa.Table | None = None) -> Layout:
    """The layout of a source: names checked, types settled, each file seen to have the columns of the first."""
    settings = source.settings
    if given is not None:
        types = pa.schema([(field.name, plain_type(field.type)) for field in given.schema])
        return _assign(settings, types, source.label, {}, given.schema.metadata)
    reader = READERS.named(source.files[0].format, settings)
    types, heads = reader.columns(source.files, settings)
    return _assign(settings, types, source.files[0].name, heads, None)


@dataclass(frozen=True)
class _Named:
    """The columns that have a meaning of their own: as the settings say, else as our own data sets name them."""

    id: str | None
    label: str | None
    split: str | None
    image: str | None
    labels: tuple[str, ...]
    extents: tuple[str, ...] = ()
    """Height, width and channels, where the pixels of a data set of ours stand raw in a column."""
    unread: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        """The columns that are read for their meaning; they are no features."""
        return [one for one in (self.id, self.label, self.image, *self.labels, *self.extents) if one is not None]


def _named(settings: Source, names: Sequence[str], metadata: Mapping[bytes, bytes]) -> _Named:
    """The columns with a meaning, in a data set of ours or a folder of images by the names that these have."""
    if settings.iob is not None:
        return _Named(None, None, SPLIT_FOLDER if SPLIT_FOLDER in names else None, None, ())
    if settings.images is not None:
        return _Named(PATH, CLASS, SPLIT_FOLDER if SPLIT_FOLDER in names else None, None, ())
    own = settings.dataset is not None and bool(metadata)

    def known(given: str | None, name: str, holds: bool = True) -> str | None:
        return given or (name if own and holds and name in names else None)

    images = metadata.get(b"images")
    labels = settings.labels
    if labels is None:
        labels = ("labels",) if own and images and settings.label is None and "labels" in names else ()
    label = None if labels else known(settings.label, "gold")
    extents = COLUMNS[1:] if own and images == b"raw" else ()
    unread = ("gold",) if own and labels else ()  # all null beside labels
    image = known(settings.image, "image", bool(images))
    return _Named(known(settings.id, "id"), label, known(settings.split, "split"), image, labels, extents, unread)


def _assign(
    settings: Source,
    types: pa.Schema,
    name: str,
    heads: dict[str, Head],
    metadata: dict[bytes, bytes] | None,
) -> Layout:
    """Every setting that names a column, checked against the columns there are."""
    schema_metadata = metadata or {}
    named = _named(settings, types.names, schema_metadata)
    identity, label, split = named.id, named.label, named.split
    _require_named(settings, named, types.names, name)
    image = _image_column(settings, named, types, schema_metadata, name)
    group = settings.group  # no feature, unless it is named among them: a patient's number says nothing of another
    rest = [column for column in types.names if column not in (*named.read, *named.unread, group)]
    truths = (settings.tags and settings.tokens, settings.tags, settings.score)
    kept = list(dict.fromkeys([*(settings.features or ()), *(one for one in (split, *truths) if one)]))
    tagged, score = _tagged(settings, types, name), _score(settings, types, name)
    votes: list[str] = []
    if settings.dataset is not None and schema_metadata.get(b"holds") == b"votes":
        votes = [column for column in rest if column not in kept and pa.types.is_int8(types.field(column).type)]
    elif settings.votes is not None:
        votes = [column for column in rest if column not in kept]
    if settings.votes is not None or votes:
        _require_votes(votes, types, name)
    elif settings.features is not None:
        rest = kept
    elif settings.images is not None:
        rest = [split] if split else []
    _require_free_names(rest, name, image is not None, bool(named.labels))
    require_roles(types, identity, label, {"split": split, "group": group}, name)
    require_enterable(types, rest, name)
    require_known_zones(types, [*rest, *([group] if group is not None and group in types.names else [])], name)
    labels = label_columns(named.labels, types, name) if named.labels else None
    closed = settings.features is not None and settings.votes is None
    read = dict.fromkeys([*named.read, *rest, *([group] if group is not None else [])])
    return Layout(
        types=pa.schema([_entering(types.field(column), votes, identity) for column in read]),
        id=identity,
        label=label,
        features=tuple(rest),
        votes=tuple(votes),
        required=tuple(settings.required),
        split=split,
        group=group,
        gold_in=settings.gold_in,
        delimiter=settings.delimiter,
        closed=closed,
        heads=heads,
        classes=tuple(json.loads(schema_metadata[b"classes"])) if b"classes" in schema_metadata else None,
        image=image,
        labels=labels,
        iob_columns=settings.iob_columns,
        tagged=tagged,
        score=score,
        nearly_numbers=tuple(one.name for one in types if NEARLY_NUMBERS in (one.metadata or {})),
        other_truth=any(one is not None for one in (settings.iob, settings.tags, settings.score)),
        source=settings,
    )


def _tagged(settings: Source, types: pa.Schema, name: str) -> tuple[str, str] | None:
    """The columns of words and tags, seen to be lists of texts."""
    if settings.tags is None:
        return None
    for column, setting in ((settings.tokens, "tokens"), (settings.tags, "tags")):
        if column not in types.names:
            raise unknown_column(column, setting, types.names, name)
        dtype = types.field(column).type
        if dtype != WORDS:
            raise InputError(
                f"{name} has {dtype} in column {column!r}, and `{setting}` are a list of texts per sentence; give them "
                "as jsonl, parquet or iob."
            )
    return settings.tokens, settings.tags


def _score(settings: Source, types: pa.Schema, name: str) -> str | None:
    """The column of numbers, seen to hold numbers."""
    if settings.score is None:
        return None
    if settings.score not in types.names:
        raise unknown_column(settings.score, "score", types.names, name)
    dtype = types.field(settings.score).type
    if not (pa.types.is_floating(dtype) or pa.types.is_integer(dtype)):
        raise InputError(f"{name} has {dtype} in column {settings.score!r}, and a `score` is a number.")
    return settings.score


def _image_column(
    settings: Source, named: _Named, types: pa.Schema, metadata: Mapping[bytes, bytes], name: str
) -> ImageColumn | None:
    """The column of images and what stands in it, by its type."""
    image = _typed_image_column(settings, named, types, metadata, name)
    if image is not None and image.kind in ("path", "bytes") and image.pixels is not None and image.pixels.shape:
        raise SettingError(
            f"{name} holds image files, and `pixels.shape` is about lists of numbers; remove it, or say `size`.",
            "pixels.shape",
            "",
        )
    return image


def _typed_image_column(
    settings: Source, named: _Named, types: pa.Schema, metadata: Mapping[bytes, bytes], name: str
) -> ImageColumn | None:
    if settings.images is not None:
        return ImageColumn(PATH, "path", settings.pixels)
    if named.image is None:
        if settings.pixels is not None:
            raise InputError(f"{name} holds no images, and `pixels` is about images; remove it, or say `image`.")
        return None
    dtype = types.field(named.image).type
    if settings.dataset is not None and metadata.get(b"images") == b"raw":
        return ImageColumn(named.image, "raw", settings.pixels)
    struct = pa.types.is_struct(dtype) and dtype.get_field_index("bytes") >= 0  # as Hugging Face writes images
    if pa.types.is_large_binary(dtype) or (struct and pa.types.is_large_binary(dtype.field("bytes").type)):
        return ImageColumn(named.image, "bytes", settings.pixels)
    if pa.types.is_string(dtype):
        return ImageColumn(named.image, "path", settings.pixels)
    if is_array(dtype):
        return ImageColumn(named.image, "array", settings.pixels)
    raise InputError(
        f"{name} has {dtype} in image column {named.image!r}; an image is a path, the bytes of a file, or a list of "
        "numbers."
    )


def _require_named(settings: Source, named: _Named, names: Sequence[str], file: str) -> None:
    """Nothing, or the sentence for the first setting that names a column which is not there."""
    references = [
        (named.id, "id"),
        (named.label, "label"),
        (named.split, "split"),
        (named.image, "image"),
        (settings.group, "group"),
    ]
    references += [(column, "labels") for column in named.labels]
    references += [(column, "features") for column in settings.features or ()]
    references += [(column, "required") for column in settings.required]
    for column, setting in references:
        if column is not None and column not in names:
            raise unknown_column(column, setting, names, file)


def _require_free_names(features: Sequence[str], file: str, images: bool, labels: bool) -> None:
    """Nothing, or the sentence for a feature that bears a name which has a meaning inside."""
    ours = [("id", "id", "sample id"), ("gold", "label", "gold class")]
    ours += [("labels", "labels", "list of labels")] if labels else []
    for column, setting, meaning in ours:
        if column in features:
            raise InputError(
                f"{file} has a column {column!r}, which is the name of the {meaning} inside; say "
                f"`{setting}: {column}`, or leave it out by listing the columns to keep under `features`."
            )
    for column in COLUMNS if images else ():
        if column in features:
            raise InputError(
                f"{file} has a column {column!r}, which is a name of the image's own columns inside; leave it out by "
                "listing the columns to keep under `features`, or rename it."
            )


def _entering(field: pa.Field, votes: Sequence[str], identity: str | None) -> pa.Field:
    """A column's type as it is read: votes as whole numbers, narrowed later; an int8 that is no vote is widened."""
    if field.name in votes:
        return pa.field(field.name, pa.int64())
    if pa.types.is_int8(field.type) and field.name != identity:
        return pa.field(field.name, pa.int16())
    return field.with_nullable(True).remove_metadata()


def _require_votes(votes: Sequence[str], types: pa.Schema, name: str) -> None:
    if not votes:
        raise InputError(f"{name} has no column of votes beside id, label and features; add at least one.")
    for column in votes:
        if not pa.types.is_integer(types.field(column).type):
            way_out = f"say `id: {column}`" if column == "id" else "list it under `features`"
            raise InputError(
                f"{name} has {types.field(column).type} in column {column!r} where whole-number votes were "
                f"expected; if it is not a labelling function, {way_out}."
            )
