"""Partitions that an earlier result holds already: looked up by what they are made of, before anything is computed.

A result under another key may share most of its partitions with the one that is asked for: last night's, before a file
came. A partition is known by its *step* (stage, version, seed, numeric profile, the function and its constants) and by
its *inputs* (the rows in their order, and the columns). What is known exactly is taken, by a link to the file; what is
not is computed. The store's `partitions/STAGE/STEP/` lists the results that hold a step's partitions; it is a help for
finding them and nothing more: what counts is a committed manifest, and files in their full size beside it.
"""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.infra.errors import RunError
from assay.infra.stages.partition_work import PartitionWork
from assay.infra.storage.artifacts import Manifest, Part
from assay.infra.storage.keys import InexactError, fingerprint
from assay.infra.storage.parquet import name_of_part

if TYPE_CHECKING:
    from assay.infra.stages.stage import Workbench
    from assay.infra.storage.artifacts import Table


MOST_RESULTS = 8
"""So many results of a step are looked into, the latest first: one more file a night is in the last of them."""


@dataclass(frozen=True)
class Reuse:
    """That partitions of a step may be taken from earlier results; only for functions of nothing but what they are
    given.

    The constants in `bounds` say when to give up and change no result: they are left out. Pieces of something outside
    the store are known by what `content` says of each, which has to stand for the constants as well.
    """

    bounds: frozenset[str] = frozenset()
    content: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Step:
    """A function over partitions: what all of its calls share. `inputs` are what its inputs are, for earlier results
    to be looked up by."""

    bench: Workbench
    function: Callable[..., Any]
    constants: dict[str, Any]
    inputs: Sequence[str]
    reuse: Reuse | None

    def key(self, names: Sequence[str], kinds: Sequence[type[Table]]) -> str:
        """What all partitions share, as a hash; empty where they are not to be taken from elsewhere.

        A function is known by its name, as its stage's version stands for its code; one that closes over something is
        not.
        """
        made, reuse = self.function, self.reuse
        plain = isinstance(made, types.FunctionType) and "<" not in made.__qualname__ and not made.__closure__
        if reuse is None or not plain:
            return ""
        given = {name: value for name, value in self.constants.items() if name not in reuse.bounds}
        try:
            known = fingerprint({} if reuse.content is not None else given)
        except InexactError:
            return ""
        outputs = [[name, kind.__module__, kind.__qualname__] for name, kind in zip(names, kinds, strict=True)]
        return json_hash([self.bench.surroundings, made.__module__, made.__qualname__, known, outputs])

    def lookup_key(self, work: PartitionWork, key: str) -> str:
        """What a partition is looked up by: the step and its inputs; empty where one of them is not known exactly."""
        if not key or self.reuse is None or work.posted:
            return ""
        if work.piece is not None:
            return f"{key}.{json_hash(self.reuse.content(work.piece))}" if self.reuse.content is not None else ""
        inputs = [[[rows.part.schema, rows.part.rows, rows.mark] for rows in slices] for slices in work.sources]
        if not all(rows.part.schema for slices in work.sources for rows in slices):
            return ""  # written by an earlier version, which did not note the columns
        try:
            return f"{key}.{json_hash([list(self.inputs), inputs, fingerprint(work.aligned)])}"
        except InexactError:
            return ""


def take_earlier_parts(bench: Workbench, step: str, work: Sequence[PartitionWork]) -> dict[int, Part]:
    """By index the partitions that an earlier result holds, each at its place in the new one."""
    earlier = find_earlier_parts(
        bench, step, {item.content for item in work if item.content}, lambda manifest: manifest.parts
    )
    placed = {item.index: _placed(bench, earlier[item.content], item) for item in work if item.content in earlier}
    return {index: part for index, part in placed.items() if part is not None}


def find_earlier_parts(
    bench: Workbench, step: str, wanted: Collection[str], parts_of: Callable[[Manifest], Iterable[Part]]
) -> dict[str, Part]:
    """By content the parts that earlier results hold whole, each with the result that it is from."""
    parts: dict[str, Part] = {}
    if not step or not wanted or bench.run.fresh:
        return parts
    store = bench.run.store
    for key in [key for key in store.results_with(bench.stage, step) if key != bench.key][:MOST_RESULTS]:
        manifest = store.standing(bench.stage, key)
        if manifest is None or manifest.key == bench.key:
            continue
        sizes = store.folder.sizes(store.place(manifest.stage, manifest.key))
        for part in parts_of(manifest):
            whole = all(sizes.get(file.file) == file.bytes for file in part.files)
            if whole and part.content in wanted and part.content not in parts:
                parts[part.content] = replace(part, taken_from=f"{manifest.stage}/{manifest.key}")
        if len(parts) == len(wanted):
            break
    return parts


def differs_error(bench: Workbench, work: PartitionWork, taken_from: str, what: str) -> RunError:
    """The sentence for a partition that comes out otherwise than an earlier result has it."""
    return RunError(
        f"{bench.title}: {work.name}, was taken from {taken_from}, and computed again it gives other {what}: a file in "
        "the store was changed, or the stage depends on something outside its settings and inputs. Run again with "
        "--fresh, which takes nothing from earlier results."
    )


def _placed(bench: Workbench, part: Part, work: PartitionWork) -> Part | None:
    """The part with its files in the place of the new result; None where one of them has just gone."""
    files = []
    for file, prefix in zip(part.files, work.prefixes, strict=True):
        name = name_of_part(f"{prefix}-{work.index:05d}", file.sums)
        if not bench.run.store.folder.share(file.file, name):
            return None
        files.append(replace(file, file=name))
    return replace(part, index=work.index, files=tuple(files), inputs=work.marks(), content=work.content)


def json_hash(value: object) -> str:
    """The hash of plain JSON values, in whatever order mappings have them."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()
