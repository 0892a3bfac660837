"""Plug-ins: where they come from, and settings that know it, in the keys of stages and on the way to workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from importlib.metadata import EntryPoint
from operator import or_
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, SerializerFunctionWrapHandler, create_model, model_serializer

from assay.infra.code_reference import CodeReference
from assay.infra.code_referring import refer_to_code
from assay.infra.settings import Settings

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Origin:
    """Where a plug-in comes from: its code, and the package that brought it where one is installed."""

    name: str
    reference: CodeReference
    package: str = ""
    version: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """What of it enters a key."""
        known = {"name": self.name, "package": self.package, "version": self.version}
        return {**known, "source": self.reference.fingerprint}


class FromPlugins(Settings):
    """Settings that can name a plug-in: dumped with its identity, and pickled with its code."""

    plugin_field: ClassVar[str] = ""
    plugin_origins: ClassVar[Mapping[str, Origin]] = MappingProxyType({})

    @property
    def plugins_named(self) -> dict[str, Origin]:
        """The plug-ins among the words that these settings name."""
        named = getattr(self, self.plugin_field)
        words = (named,) if isinstance(named, str) else tuple(named or ())
        return {word: self.plugin_origins[word] for word in words if word in self.plugin_origins}

    @model_serializer(mode="wrap")
    def _with_identity(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        identities = {word: origin.identity for word, origin in self.plugins_named.items()}
        return {**dump(self), **({"plugins": identities} if identities else {})}

    def __reduce__(self) -> tuple[Any, ...]:
        # The class may be in nobody's module: it is made again over there, before the values inside are read.
        return _empty, type(self)._recipe, self.__getstate__()

    _recipe: ClassVar[tuple[Any, ...]] = ()


def with_types(base: type[M], types: Mapping[str, Any]) -> type[M]:
    """The model in which some fields take other types: those of a table that plug-ins have joined.

    >>> from assay.infra.settings import Compute
    >>> with_types(Compute, {"gpu": str})(gpu="perhaps").gpu
    'perhaps'
    """
    fields: dict[str, Any] = {name: (kind, base.model_fields[name]) for name, kind in types.items()}
    return create_model(base.__name__, __base__=base, __module__=base.__module__, __doc__=base.__doc__, **fields)


def installed(group: str) -> Iterator[Origin]:
    """What installed packages offer in a group."""
    folders = tuple((folder, _modified_at(folder)) for folder in sys.path)
    for point in sorted(_announced(folders).get(group, ()), key=lambda point: (point.name, point.value)):
        package, version = (point.dist.name, point.dist.version) if point.dist else ("an unknown package", "")
        written = f"{point.name} = {point.value} of {package} {version}".rstrip()
        reference = replace(refer_to_code(point.value, Path()), written=written)
        yield Origin(point.name, reference, package, version)


@lru_cache(maxsize=1)
def _announced(_folders: tuple[tuple[str, int], ...]) -> dict[str, list[EntryPoint]]:
    """What all packages in these folders announce, by group: looking through them takes longer than reading a file."""
    from importlib.metadata import entry_points

    points = entry_points()
    return {group: list(points.select(group=group)) for group in points.groups if group.startswith("assay.")}


def _modified_at(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def referred(written: str, folder: Path) -> Origin:
    """What a `module:object` brings; paths count from the folder."""
    return Origin(written, refer_to_code(written, folder))


def called(origin: Origin) -> str:
    """The plug-in as a sentence begins with it."""
    by = f" of {origin.package} {origin.version}".rstrip() if origin.package else ""
    return f'The plug-in "{origin.name}"{by}'


def place_of(origin: Origin) -> tuple[str, str, bool]:
    """Which object of which code it is, by whatever name."""
    return origin.reference.fingerprint, origin.reference.attribute, origin.reference.shipped


@lru_cache(maxsize=256)
def tagged_settings(tag: str, word: str, origin: Origin) -> type[Settings]:
    """The settings of a plug-in, told where it comes from."""
    settings: type[Settings] = vars(origin.reference.load())["settings"]
    return _extended(settings, tag, {word: origin}, (tagged_settings, tag, word, origin), {})


@lru_cache(maxsize=256)
def listing_settings(
    base: type[Settings],
    listing: str,
    origins: tuple[tuple[str, Origin], ...],
    words: tuple[str, ...],
    references: tuple[tuple[str, str], ...],
) -> type[Settings]:
    """Settings that list words, told of plug-ins."""
    declared = base.model_fields[listing]
    spelt = dict(references)

    def spelt_out(value: object) -> object:
        return spelt.get(value, value) if isinstance(value, str) else value

    word = Annotated[Literal[words], BeforeValidator(spelt_out)] if spelt else Literal[words]
    wider = {listing: (_widened(declared.annotation, word), declared)}
    return _extended(base, listing, dict(origins), (listing_settings, base, listing, origins, words, references), wider)


def _extended(
    base: type[Settings], naming: str, origins: Mapping[str, Origin], recipe: tuple[Any, ...], fields: dict[str, Any]
) -> type[Settings]:
    parents = cast(tuple[type[FromPlugins], ...], (FromPlugins, base))
    model = create_model(base.__name__, __base__=parents, __module__=base.__module__, __doc__=base.__doc__, **fields)
    model.plugin_field, model.plugin_origins, model._recipe = naming, MappingProxyType(dict(origins)), recipe
    return model


def _widened(annotation: Any, word: Any) -> Any:
    """The type with the words that it takes replaced by `word`."""
    kind, parts = get_origin(annotation), get_args(annotation)
    if kind is Literal:
        return word
    if kind in (Union, UnionType):
        return reduce(or_, (_widened(part, word) for part in parts))
    if kind is Annotated:
        return Annotated[_widened(parts[0], word), *parts[1:]]
    return kind[tuple(_widened(part, word) for part in parts)] if kind is not None else annotation


def _empty(make: Callable[..., type[Settings]], *recipe: Any) -> Settings:
    """Settings of a class made by its recipe, whose values are filled in by pickle."""
    kind = make(*recipe)
    return kind.__new__(kind)
