"""The embedded data sets by name. A builder gives a table with `id`, `gold` and features; it is imported when called.

A table may name its classes, in the order of their codes, as a JSON list under `classes` in its schema's metadata.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pyarrow as pa
from pydantic import TypeAdapter

from assay.data.samples.wording import wording
from assay.infra.errors import InputError, suggestion
from assay.infra.user_code.sources import tree_of


@dataclass(frozen=True)
class EmbeddedSample:
    """A data set that needs no network: which function builds it, with which arguments, and from which modules."""

    name: str
    builder: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    made_of: tuple[str, ...] = ()
    """Files of other packages that the content is read from, as `package:file`."""
    several_labels: bool = False
    """Whether a sample may bear several labels at once."""

    @property
    def has_images(self) -> bool:
        """Whether its samples are images."""
        return "assay.data.images" in self.made_of

    @functools.cached_property
    def fingerprint(self) -> str:
        """The hash of the builder's source, its arguments and, where the data is somebody else's, their version."""
        module = self.builder.rpartition(":")[0]
        digest = hashlib.sha256(repr(sorted(self.arguments.items())).encode())
        for name in (*made_of(module), *self.made_of):
            digest.update(_source_of(name))
        return digest.hexdigest()

    def build(self) -> pa.Table:
        """The table."""
        module, _, function = self.builder.rpartition(":")
        table: pa.Table = getattr(importlib.import_module(module), function)(**self.arguments)
        return table


EMBEDDED = TypeAdapter(dict[str, EmbeddedSample]).validate_python(
    {name: {"name": name, **about} for name, about in wording("registry").items()}
)
"""The data sets by their names, as registry.yaml lists them."""


def embedded(name: str) -> EmbeddedSample:
    """The embedded data set of that name.

    >>> embedded("sample/breast-cancr")
    Traceback (most recent call last):
    assay.infra.errors.InputError: There is no embedded data set 'sample/breast-cancr'; did you mean sample/breast-...
    """
    if name in EMBEDDED:
        return EMBEDDED[name]
    raise InputError(f"There is no embedded data set {name!r}; {suggestion(name, EMBEDDED)}")


def made_of(module: str) -> tuple[str, ...]:
    """The module of a builder and those of this folder that it imports, directly or not.

    >>> made_of("assay.data.samples.breast_cancer")
    ('assay.data.samples.breast_cancer',)
    """
    modules, waiting = {module}, [module]
    while waiting:
        for node in ast.walk(tree_of(_source_of(waiting.pop()))):
            imported = node.module if isinstance(node, ast.ImportFrom) else None
            if imported is not None and imported.startswith(f"{__package__}.") and imported not in modules:
                modules.add(imported)
                waiting.append(imported)
    return tuple(sorted(modules))


def _source_of(name: str) -> bytes:
    """The bytes of a module's source, or (`package:file`) of a file that a package carries."""
    package, _, file = name.partition(":")
    spec = _spec_of(package)
    if spec is None or spec.origin is None:
        raise InputError(f"The embedded data set needs {package}, which is not installed here; reinstall Assay.")
    return (Path(spec.origin).parent / file if file else Path(spec.origin)).read_bytes()


def _spec_of(package: str) -> ModuleSpec | None:
    """Where a module lies; the packages around it are not imported, which would take seconds for some."""
    top, *rest = package.split(".")
    spec = importlib.util.find_spec(top)
    for name in rest:
        spec = spec and PathFinder.find_spec(f"{spec.name}.{name}", spec.submodule_search_locations)
    return spec
