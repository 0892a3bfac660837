"""The columns of a source and what each one means, settled before a row is read, from the first file's first rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.ingest.casting import plain_type
from assay.tasks.ingest.heads import Head, columns_of, unknown_column
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import ResolvedSource


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
    gold_in: tuple[str, ...] | None = None
    delimiter: str = ","
    closed: bool = False
    """Whether fields that are not among `types` are left out on purpose (`features` says which to keep)."""
    heads: Mapping[str, Head] = field(default_factory=dict)
    """Where the records of each text file begin."""
    classes: tuple[str, ...] | None = None
    """The classes that the data set itself names, if it does."""


def layout_of(source: ResolvedSource, given: pa.Table | None = None) -> Layout:
    """The layout of a source: names checked, types settled, each file seen to have the columns of the first."""
    settings = source.settings
    if given is not None:
        types = pa.schema([(field.name, plain_type(field.type)) for field in given.schema])
        return _assign(settings, types, source.label, {}, given.schema.metadata)
    types, heads = columns_of(source.files, settings)
    return _assign(settings, types, source.files[0].name, heads, None)


def _assign(
    settings: Source,
    types: pa.Schema,
    name: str,
    heads: dict[str, Head],
    metadata: dict[bytes, bytes] | None,
) -> Layout:
    """Every setting that names a column, checked against the columns there are."""
    own = metadata is not None and settings.dataset is not None
    identity = settings.id or ("id" if own and "id" in types.names else None)
    label = settings.label or ("gold" if own and "gold" in types.names else None)
    split = settings.split or ("split" if own and "split" in types.names else None)
    _require_named(settings, (identity, label, split), types.names, name)
    rest = [column for column in types.names if column not in (identity, label)]
    kept = [*(settings.features or ()), *([split] if split and split not in (settings.features or ()) else [])]
    votes: list[str] = []
    if own and (metadata or {}).get(b"holds") == b"votes":
        votes = [column for column in rest if column not in kept and pa.types.is_int8(types.field(column).type)]
    elif settings.votes is not None:
        votes = [column for column in rest if column not in kept]
    if settings.votes is not None or votes:
        _require_votes(votes, types, name)
    elif settings.features is not None:
        rest = kept
    _require_free_names(rest, name)
    _require_types(types, identity, label, name)
    read = [column for column in types.names if column in (identity, label) or column in rest]
    ordered = [column for column in (identity, label) if column is not None] + rest
    closed = settings.features is not None and settings.votes is None
    return Layout(
        types=pa.schema([_entering(types.field(column), votes, identity) for column in ordered if column in read]),
        id=identity, label=label, features=tuple(rest), votes=tuple(votes), required=tuple(settings.required),
        split=split, gold_in=settings.gold_in, delimiter=settings.delimiter, closed=closed, heads=heads,
        classes=tuple(json.loads(metadata[b"classes"])) if metadata and b"classes" in metadata else None,
    )  # fmt: skip


def _require_named(
    settings: Source, settled: tuple[str | None, str | None, str | None], names: Sequence[str], file: str
) -> None:
    """Nothing, or the sentence for the first setting that names a column which is not there."""
    named = list(zip(settled, ("id", "label", "split"), strict=True))
    named += [(column, "features") for column in settings.features or ()]
    named += [(column, "required") for column in settings.required]
    for column, setting in named:
        if column is not None and column not in names:
            raise unknown_column(column, setting, names, file)


def _require_free_names(features: Sequence[str], file: str) -> None:
    """Nothing, or the sentence for a feature that bears the name of the sample id or of the gold class."""
    for column, setting, meaning in (("id", "id", "sample id"), ("gold", "label", "gold class")):
        if column in features:
            raise InputError(
                f"{file} has a column {column!r}, which is the name of the {meaning} inside; say "
                f"`{setting}: {column}`, or leave it out by listing the columns to keep under `features`."
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
            raise InputError(
                f"{name} has {types.field(column).type} in column {column!r} where whole-number votes were "
                f"expected; if it is not a labelling function, list it under `features`."
            )


def _require_types(types: pa.Schema, identity: str | None, label: str | None, name: str) -> None:
    if identity is not None:
        found = types.field(identity).type
        if not (pa.types.is_integer(found) or pa.types.is_string(found)):
            raise InputError(f"{name} has {found} in id column {identity!r}; ids are text or whole numbers.")
    if label is not None:
        found = types.field(label).type
        known = pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_boolean(found)
        if not (known or pa.types.is_string(found)):
            raise InputError(f"{name} has {found} in label column {label!r}; a class is a name or a whole number.")
