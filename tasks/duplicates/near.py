"""Near duplicates as a stage: keys that near ones share, and how alike two samples are that share a key.

Two samples are compared only where a key of theirs is the same, so that not all pairs need be looked at: keys are
counted where they lie. Everything is computed in whole numbers, sample by sample: no cut into partitions shows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from assay.data.images import pixels_of
from assay.data.schemas import WORDS, Findings, NearCandidates, NearDuplicates, NearKeys, Samples
from assay.infra.settings import Settings
from assay.infra.stages.exact import SparseSum
from assay.infra.stages.partitions import collect, columns_in, first_rows, map_partitions, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.holding_out import DOCUMENT, SPLIT, as_text, content_columns


class Duplicates(Settings):
    """Which samples are nearly another, and which audited ones are nearly in the training; `{}`: every default."""

    similarity: float = Field(default=0.8, ge=0.7, le=1.0)
    """How much two texts have in common at least: of the runs of five letters in either, the share that is in both."""

    bits: int = Field(default=3, ge=0, le=16)
    """In how many of the 128 bits of their difference hashes two images may differ. Up to 3 all are found, beyond that
    most."""

    digits: int = Field(default=3, ge=1, le=12)
    """To how many significant digits the numbers of a table are compared; texts beside them as they are, in small
    letters."""

    shown: int = Field(default=8, ge=0, le=100)
    """How many pairs the report shows."""


KEYS_AT_ONCE = 1 << 22
"""So many keys are counted at a time, in as many rounds as it takes: memory does not grow with the samples."""

Keys = npt.NDArray[np.uint64]
TRAINING, AUDITED = "training", "audited"
_RUN, _HASHES, _BANDS = 5, 64, 16  # bytes of a run, hashes of a text, bands of four of them
_CELLS, _STEP = 9, 2  # cells of an image, down and across; by how many levels one has to be brighter than the next
_AT_ONCE = 4096  # runs of a text, so that memory does not grow with its length
_CROWD = 50  # so many samples with one key are compared each with each
_POSITIVE = np.uint64(2**63 - 1)
_ODD = np.random.default_rng(0).integers(0, 2**63, (2, _HASHES), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_MIXED = np.random.default_rng(1).permutation(128)
_BLANKS = re.compile(r"\s+")


def runs_of(text: str) -> Keys:
    """The runs of five bytes of a text in small letters, each once, ascending; blanks count as one.

    >>> len(runs_of("A  house")), bool((runs_of("a house") == runs_of("A HOUSE ")).all())
    (3, True)
    """
    letters = np.frombuffer(_BLANKS.sub(" ", text.casefold().strip()).encode("utf-8", "replace"), np.uint8)
    letters = np.pad(letters, (0, max(0, _RUN - len(letters)))).astype(np.uint64)
    width = len(letters) - _RUN + 1
    runs = [letters[at : at + width] << np.uint64(8 * at) for at in range(_RUN)]
    return np.asarray(np.unique(np.bitwise_or.reduce(runs)), dtype=np.uint64)


def keys_of_runs(runs: Keys) -> Keys:
    """Sixteen keys of a text; two with a share s of their runs in common have one in common with 1 − (1 − s⁴)¹⁶."""
    odd, more = _ODD[:, :, None]
    parts = (runs[start : start + _AT_ONCE] for start in range(0, len(runs), _AT_ONCE))
    least = np.min([(part * odd + more).min(axis=1) for part in parts], axis=0) >> np.uint64(32)
    bands = (least.reshape(_BANDS, -1) * _ODD[0, : _HASHES // _BANDS]).sum(axis=1, dtype=np.uint64)
    return np.asarray(bands * np.uint64(_BANDS) + np.arange(_BANDS, dtype=np.uint64), dtype=np.uint64)


def image_hashes(samples: pa.Table) -> npt.NDArray[np.uint8]:
    """128 bits of each image, [n, 16]: whether a cell of 9 × 9 is brighter than the next one across, and down."""
    if not samples.num_rows:
        return np.zeros((0, 16), np.uint8)
    cells = np.rint(pixels_of(samples) * 255).mean(axis=1, dtype=np.float64)  # whole numbers, whose sums are exact
    for axis in (1, 2):
        large = cells.repeat(-(-_CELLS // cells.shape[axis]), axis)
        cells = np.stack([part.mean(axis) for part in np.array_split(large, _CELLS, axis)], axis)
    steps = [cells[:, :-1, 1:] - cells[:, :-1, :-1], cells[:, 1:, :-1] - cells[:, :-1, :-1]]
    return np.packbits((np.concatenate(steps, axis=1) > _STEP).reshape(len(cells), 128), axis=1)


def keys_of_images(hashes: npt.NDArray[np.uint8]) -> Keys:
    """Eight keys of each image, [n, 8]: its bits in four words, and in four more in another order."""
    mixed = np.packbits(np.unpackbits(hashes, axis=1)[:, _MIXED], axis=1)
    words = np.ascontiguousarray(np.concatenate([hashes, mixed], axis=1)).view("<u4").astype(np.uint64)
    return np.asarray(words * np.uint64(8) + np.arange(8, dtype=np.uint64), dtype=np.uint64)


def keys_of_rows(samples: pa.Table, columns: Sequence[str], digits: int) -> Keys:
    """Two keys of each row, [n, 2]: its values rounded, and cut, so that few near ones lie on two sides of a bound."""
    from pandas.util import hash_array

    keys = np.zeros((samples.num_rows, 2), np.uint64)
    for name in columns:
        column = samples[name].combine_chunks()
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            values = pc.fill_null(column.cast(pa.float64(), safe=False), math.nan).to_numpy(zero_copy_only=False)
            sized = (values != 0) & np.isfinite(values)
            size = np.floor(np.log10(np.abs(values), out=np.zeros(len(values)), where=sized))
            scaled = values * 10.0 ** (digits - 1 - size)
            parts = [hash_array(cut(scaled) + 0.0) + hash_array(size) for cut in (np.rint, np.floor)]
        else:
            if pa.types.is_binary(column.type) or (pa.types.is_nested(column.type) and column.type != WORDS):
                column = pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())
            texts = pc.fill_null(pc.utf8_lower(pc.utf8_trim_whitespace(as_text(column))), "")
            parts = [hash_array(np.asarray(texts.to_pylist(), dtype=object), categorize=False)] * 2
        keys = keys * np.uint64(6364136223846793005) + np.stack(parts, axis=1).astype(np.uint64)
    return np.asarray(keys * np.uint64(2) + np.arange(2, dtype=np.uint64), dtype=np.uint64)


def contents(samples: pa.Table, content: Sequence[str]) -> list[bytes]:
    """What each sample is compared by: the hash of its image, or the runs of its texts; nothing where rows are."""
    if content == ("image",):
        return [row.tobytes() for row in image_hashes(samples)]
    if not all(samples.schema.field(name).type in (pa.string(), WORDS) for name in content):
        return [b""] * samples.num_rows
    columns = (as_text(samples[name]).to_pylist() for name in content)
    return [runs_of("\n".join(text or "" for text in row)).tobytes() for row in zip(*columns, strict=True)]


def keys_in(samples: pa.Table, *, content: Sequence[str], digits: int) -> pa.Table:
    """The `NearKeys` of a partition."""
    held = contents(samples, content)
    if content == ("image",):
        keys = list(keys_of_images(np.frombuffer(b"".join(held), np.uint8).reshape(-1, 16)))
    elif all(held):
        keys = [keys_of_runs(np.frombuffer(runs, np.uint64)) for runs in held]
    else:
        keys = list(keys_of_rows(samples, content, digits))
    whole = [(each & _POSITIVE).astype(np.int64) for each in keys]
    return pa.table([samples["id"], pa.array(whole, pa.list_(pa.int64()))], schema=NearKeys.schema)


def count_keys(keys: pa.Table, *, part: int, parts: int) -> SparseSum:
    """How often each key stands in a partition, of those that fall to one of so many parts."""
    own = pc.list_flatten(keys["keys"]).to_numpy()
    return SparseSum.of(*np.unique(own[own % parts == part], return_counts=True))


def near_candidates(
    samples: pa.Table, keys: pa.Table, *, shared: npt.NDArray[np.int64], content: Sequence[str]
) -> pa.Table:
    """The `NearCandidates` of a partition: for each key that several samples have (`shared`, ascending), who has it and
    what it shows."""
    flat, rows = pc.list_flatten(keys["keys"]).to_numpy(), pc.list_parent_indices(keys["keys"]).to_numpy()
    hits = np.append(shared, -1)[np.searchsorted(shared, flat)] == flat
    chosen, place = np.unique(rows[hits], return_inverse=True)
    seen = samples.take(pa.array(chosen))
    shows = contents(seen, content)
    columns = [seen["id"].take(place), pa.array(flat[hits]), pa.array(shows, pa.binary()).take(place)]
    return pa.table(columns, schema=NearCandidates.schema)


def near_pairs(candidates: pa.Table, settings: Duplicates, images: bool) -> pa.Table:
    """The `NearDuplicates` among candidates with their part: those of two parts first, then the most alike."""
    rows = candidates.sort_by([("key", "ascending"), ("part", "ascending"), ("id", "ascending")])
    named = list(zip(rows["part"].to_pylist(), rows["id"].to_pylist(), strict=True))
    shows, bounds = rows["shows"], np.flatnonzero(np.diff(rows["key"].to_numpy(), prepend=-1, append=-1))
    found: dict[tuple[tuple[str, str], tuple[str, str]], float] = {}
    for start, stop in pairwise(bounds.tolist()):
        together: Iterable[tuple[int, int]] = combinations(range(start, stop), 2)
        if stop - start > _CROWD:  # of one part then each with the next, and all with the first of the other part
            other = next((at for at in range(start, stop) if named[at][0] != named[start][0]), start)
            together = chain(pairwise(range(start, stop)), ((at, other) for at in range(start, other)))
        for a, b in together:
            if (named[a], named[b]) not in found:
                found[named[a], named[b]] = _alike(shows[a].as_py(), shows[b].as_py(), images)
    least = 1 - settings.bits / 128 if images else settings.similarity
    near = sorted((a[0] == b[0], -alike, a, b) for (a, b), alike in found.items() if alike >= least)
    pairs = [
        {"first": first, "second": second, "first_part": part, "second_part": other, "similarity": -alike}
        for _, alike, (part, first), (other, second) in near
    ]
    return pa.Table.from_pylist(pairs, NearDuplicates.schema)


def _alike(first: bytes, second: bytes, images: bool) -> float:
    """The share of bits that are the same, or of runs in either text that are in both; 1 of rows with one key."""
    if images:
        return 1 - (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).bit_count() / 128
    if not first or not second:
        return float(first == second)
    ours, theirs = np.frombuffer(first, np.uint64), np.frombuffer(second, np.uint64)
    both = len(np.intersect1d(ours, theirs, assume_unique=True))
    return both / (len(ours) + len(theirs) - both)


def duplicate_findings(pairs: pa.Table, rows: Mapping[str, int]) -> list[Finding]:
    """`duplicates.share` of all samples, and `duplicates.leaked` of the audited ones where some were set apart."""
    ends = [(row[f"{end}_part"], row[end]) for row in pairs.to_pylist() for end in ("first", "second")]
    findings = [share("duplicates.share", len(set(ends)), sum(rows.values()))]
    if AUDITED in rows:
        crossing = pairs.filter(pc.not_equal(pairs["first_part"], pairs["second_part"]))
        leaked = share("duplicates.leaked", len(pc.unique(crossing["first"])), rows[AUDITED])
        findings.append(replace(leaked, verdict="red flag: nearly in the training" if leaked.value else leaked.verdict))
    return findings


class Measured(NamedTuple):
    """The findings, and the pairs that they rest on."""

    findings: Artifact[Findings]
    pairs: Artifact[NearDuplicates]


@stage(version=1, title="near duplicates")
def find_duplicates(parts: Mapping[str, Artifact[Samples]], texts: Sequence[str], settings: Duplicates) -> Measured:
    """The samples that are nearly another: within each part, and, of those set apart, between them."""
    names = columns_in(next(iter(parts.values())))
    besides = ("id", "gold", "labels", GROUP, DOCUMENT, SPLIT)
    content = content_columns(names, texts) or tuple(name for name in names if name not in besides)
    keys: dict[str, Artifact[NearKeys]] = {}
    for part, samples in parts.items():
        keys[part] = map_partitions(keys_in, samples, into=NearKeys, name=part, content=content, digits=settings.digits)
    rows = {part: samples.rows for part, samples in parts.items()}
    of_each = max(map(len, first_rows(next(iter(keys.values())), 1)["keys"].to_pylist()), default=1)
    rounds = max(1, -(-sum(rows.values()) * of_each // KEYS_AT_ONCE))
    shared = np.sort(np.concatenate([_shared(keys, at, rounds) for at in range(rounds)]))
    compared: dict[str, Any] = {"shared": shared, "content": content}
    candidates = []
    for part, samples in parts.items():
        near = map_partitions(
            near_candidates, samples, keys[part], into=NearCandidates, name=f"near_{part}", **compared
        )
        candidates.append(collect(near, None).append_column("part", pa.repeat(part, near.rows)))
    pairs = near_pairs(pa.concat_tables(candidates), settings, content == ("image",))
    findings = duplicate_findings(pairs, rows)
    leaked = f", {findings[1].value:.1%} of the audited nearly in the training" if findings[1:] else ""
    say(f"{pairs.num_rows} pairs · {findings[0].value or 0:.1%} of the samples have a near duplicate{leaked}")
    return Measured(write_table(findings_table(findings), into=Findings), write_table(pairs, into=NearDuplicates))


def _shared(keys: Mapping[str, Artifact[NearKeys]], part: int, parts: int) -> npt.NDArray[np.int64]:
    """The keys of one round that several samples have."""
    counted = [reduce_partitions(count_keys, artifact, part=part, parts=parts) for artifact in keys.values()]
    whole = sum(counted[1:], start=counted[0])
    return np.asarray(whole.places[whole.values > 1])
