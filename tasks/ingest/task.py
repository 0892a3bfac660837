"""The stages of ingest: samples enter, a share of them is drawn, image paths are kept, people's answers become
gold.
"""

from __future__ import annotations

import math
from collections import Counter
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.data import expectations
from assay.data.images import COLUMNS
from assay.data.schemas import (
    WORDS,
    Classes,
    ContractResults,
    Findings,
    ImagePaths,
    PeoplesAnswers,
    Rejects,
    Samples,
    class_names,
)
from assay.infra.errors import InputError
from assay.infra.stages.partitions import (
    Columns,
    Reuse,
    collect,
    columns_in,
    map_partitions,
    map_pieces,
    reduce_partitions,
    reduce_pieces,
)
from assay.infra.stages.runs import current_run
from assay.infra.stages.shuffle import Parcels
from assay.infra.stages.stage import say, stage, stage_seeds, waiting, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ingest.entry import (
    MOST_SUSPECTS,
    chosen_by_hash,
    count_ids,
    count_suspects,
    declared_classes,
    ids_dealt,
    ids_of,
    places_of,
    prepare,
    read_piece,
    repeated_hashes,
    repeated_in_part,
    survey_piece,
    surveyed_classes,
)
from assay.tasks.ingest.gold import LONG, long_sentences, require_repeated
from assay.tasks.ingest.iob import IOB1, TOKENS
from assay.tasks.ingest.label_studio import (
    CONFIRMED,
    NEW,
    OUTCOMES,
    OVERRULED,
    AnswerFiles,
    answer_findings,
    require_classes,
    settled_samples,
)
from assay.tasks.ingest.layout import Piece, content_of_pieces, most_rows, plan_pieces, read_span
from assay.tasks.ingest.reader_choice import FileIndex, Layout, Reading
from assay.tasks.ingest.readers import files_found_by
from assay.tasks.ingest.rows import shown
from assay.tasks.ingest.settings import Source, share_in_words
from assay.tasks.ingest.sources import ResolvedSource
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import GROUP
from assay.tasks.subjects.holding_out import DOCUMENT, rows_as_they_are

CONTRACT_ROWS = expectations.WHOLE_UP_TO


class Ingested(NamedTuple):
    """What came in, what did not, the classes by name, and what the contract found."""

    samples: Artifact[Samples]
    rejects: Artifact[Rejects]
    classes: Artifact[Classes]
    contract: Artifact[ContractResults]


@stage(version=3, title="ingest")
def ingest(source: ResolvedSource, settings: Source) -> Ingested:
    """The samples of a source; call it as `ingest(source, source.settings)`."""
    reading, files = prepare(source)
    partitions = current_run().compute.partitions
    pieces = plan_pieces(files, partitions if isinstance(partitions, int) else None, most_rows(reading.layout))
    classes = _classes(source, settings, reading, pieces, files)
    known = content_of_pieces(source, reading, classes)
    loading = expectations.warm_up()
    reuse = None if known is None else Reuse(content=known)
    samples, rejects = map_pieces(
        read_piece, pieces, into=(Samples, Rejects), reuse=reuse, reading=reading, classes=classes
    )
    _require_few_rejects(source, settings, samples.rows, rejects)
    _require_unique(source.label, samples, pieces, reading)
    source.require_unchanged()
    with waiting():
        loading.join()
    results = _contract(samples, reading, classes)
    contract = write_table(expectations.require_contract(results, source.label), into=ContractResults)
    names = pa.table({"code": np.arange(len(classes)), "name": list(classes)}, schema=Classes.schema)
    outcome = [f"{samples.rows} samples, {rejects.rows} rejected"]
    if source.settings.images is None and (origin := files_found_by(source.files, source.settings)):
        outcome.append(origin)
    if reading.convention == IOB1:
        outcome.append("tags read as IOB1")
        current_run().notice(
            f"No entity of {source.label} begins with B- where an I- would do, so its tags are taken as IOB1 and "
            "rewritten as IOB2: every entity begins with B-."
        )
    _warn_of_long_sentences(source.label, samples, reading.layout)
    _warn_of_slips(source.label, samples, reading.layout, classes)
    if reading.layout.image is not None and (form := reading.layout.image.form) is not None:
        outcome.append(f"{form.width} x {form.height} pixels, {plural(form.channels, 'channel')}")
    say(" · ".join(outcome))
    return Ingested(samples, rejects, write_table(names, into=Classes), contract)


def _classes(
    source: ResolvedSource, settings: Source, reading: Reading, pieces: list[Piece], files: list[FileIndex]
) -> tuple[str, ...]:
    """The classes as given, or as all pieces together show them."""
    known = declared_classes(reading.layout, settings, source.label)
    if known is not None:
        return known
    content = content_of_pieces(source, reading)
    reuse = None if content is None else Reuse(content=content)
    survey = reduce_pieces(survey_piece, pieces, reuse=reuse, reading=reading)
    classes = surveyed_classes(reading.layout, survey["names"], survey["votes"], source.label)
    if reading.layout.label is not None:
        require_repeated(survey["names"], sum(file.filled for file in files), source.label)
    if survey["votes"] and "-1" not in survey["votes"]:
        current_run().notice(
            f"No vote of {source.label} is -1, so every function is taken to vote on every sample, for the classes "
            f"{', '.join(classes[:8])}; -1 is how a function abstains."
        )
    return classes


def _warn_of_slips(source: str, samples: Artifact[Samples], layout: Layout, classes: tuple[str, ...]) -> None:
    """A notice where a slip of the pen made a class of its own, or text of a column of numbers."""
    if layout.label is not None and len(classes) > 2:
        counts = reduce_partitions(count_classes, samples, reuse=Reuse(), classes=len(classes))
        single = [shown(name) for name, count in zip(classes, counts.tolist(), strict=True) if count == 1]
        if single:
            current_run().notice(
                f"Classes of {source} that one sample has, no other: {', '.join(single[:5])}. "
                "A slip? Name the classes under `classes`, and rows of other ones are rejected."
            )
    if layout.nearly_numbers:
        names = ", ".join(shown(name) for name in layout.nearly_numbers[:5])
        current_run().notice(
            f"Read as text, since some of their first cells are no numbers (1,5 is none, 1.5 is): {names} of {source}. "
            "Correct those cells, or say `columns: {NAME: float}`, which rejects their rows."
        )


def count_classes(samples: pa.Table, classes: int) -> NDArray[np.int64]:
    """How many samples of a partition have each class by gold, [k]."""
    gold = samples["gold"].drop_null().to_numpy()
    return np.bincount(gold[gold >= 0], minlength=classes).astype(np.int64)


def _warn_of_long_sentences(source: str, samples: Artifact[Samples], layout: Layout) -> None:
    """A notice where sentences are so long that models will cut them."""
    tokens = layout.tagged[0] if layout.tagged is not None else TOKENS
    if tokens not in layout.types.names or layout.types.field(tokens).type != WORDS:
        return
    merged = reduce_partitions(long_sentences, samples, reuse=Reuse(), tokens=tokens)
    if not merged.get("long"):
        return
    words, name = merged["longest"].value
    current_run().notice(
        f"Sentences of {source} with more than {LONG} words: {merged['long']}, the longest {name} with {words}. Models "
        "read some hundred words and cut the rest; is an empty line missing after each sentence?"
    )


def _require_few_rejects(source: ResolvedSource, settings: Source, samples: int, rejects: Artifact[Rejects]) -> None:
    total = samples + rejects.rows
    if samples and rejects.rows <= settings.max_rejects * total:
        return
    reasons = collect(rejects, ["file", "row", "column", "reason"])
    nothing = {"file": source.label, "row": 0, "column": None, "reason": "no rows"}
    first = reasons.slice(0, 1).to_pylist()[0] if reasons.num_rows else nothing
    allowed = f"and max_rejects allows a share of {settings.max_rejects:g}"
    if settings.images is not None:  # each is a file of its own, and has no rows
        raise InputError(
            f"{rejects.rows} of {total} {source.label} do not fit, the first is {first['file']} ({first['reason']}), "
            f"{allowed}; replace or remove them, or correct the source's settings."
        )
    column = f", column {first['column']}" if first["column"] else ""
    lost = settings.image is not None and first["column"] == settings.image and "no such file" in str(first["reason"])
    paths = "; paths in a table start from the folder that the table lies in" if lost else ""
    where = f"{first['file']} row {first['row']}{column} ({first['reason']}{paths})"
    raise InputError(
        f"{rejects.rows} of {total} rows of {source.label} do not fit, the first in {where}, {allowed}; correct the "
        "rows, or the source's settings."
    )


_AT_ONCE, _PART = 2_500_000, 2_500_000
"""Up to so many ids are checked in the flow's process; more are checked on the workers, in parts of about so many."""


def _require_unique(source: str, samples: Artifact[Samples], pieces: list[Piece], reading: Reading) -> None:
    """Nothing, or where the same id stands twice: equal hashes are suspected, and the ids behind them counted. Of very
    many rows each partition sends its hashes to the worker that compares that part of them."""
    ids = Columns(samples, ("id",))
    if samples.rows <= _AT_ONCE:
        suspects, bits = repeated_hashes(reduce_partitions(count_ids, ids, reuse=Reuse()))[:MOST_SUSPECTS], 48
    else:
        parts = -(-samples.rows // _PART)
        sent = map_partitions(ids_dealt, ids, into=Parcels, parts=parts)
        again = reduce_pieces(repeated_in_part, range(parts), sent=sent)["again"]
        suspects, bits = np.array(again.values, np.int64), 64
    if not len(suspects):
        return
    counts = reduce_partitions(count_suspects, ids, suspects=suspects, bits=bits)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if not repeated:
        return
    name = repeated[0]
    places = [f"{file} row {row}" for file, row in islice(places_of(name, pieces, reading), 5)]
    where = f" ({', '.join(places)})" if places else ""
    raise InputError(
        f"{source} has {counts[name]} samples named {name!r}{where}; an id names one sample, so correct them, or say "
        f"which column is the `id`."
    )


def _contract(samples: Artifact[Samples], reading: Reading, classes: tuple[str, ...]) -> pa.Table:
    """What the contracts find: of the whole table, or of a seeded sample of a huge one."""
    rows, share = samples.rows, min(1.0, CONTRACT_ROWS / samples.rows)
    votes, image = reading.layout.votes, reading.layout.image
    extents = COLUMNS[1:] if image is not None else ()
    columns = ["id", "gold", *votes, *extents]
    if share < 1.0:
        samples = map_partitions(chosen_by_hash, samples, into=Samples, name="drawn", share=share, columns=columns)
    table = collect(samples, columns)
    last = max(len(classes) - 1, 0)  # tags and scores are of no class: every gold is null
    results = [expectations.check_contract(table.select(["id", "gold"]), "samples", {"last_class": last})]
    if votes:
        extent = expectations.votes_extent(table, votes)
        results.append(expectations.check_contract(extent, "votes", {"last_class": last, "functions": len(votes)}))
    if image is not None and image.form is not None:
        form = {name: getattr(image.form, name) for name in extents}
        results.append(expectations.check_contract(table.select(["id", *extents]), "images", form))
    # What was counted over all rows, beside what the suites looked at.
    counted = [["samples"], ["ids are unique over all rows"], ["id"], [True], [rows], [0], [None]]
    return pa.concat_tables([*results, pa.table(counted, schema=ContractResults.schema)])


def drawn_rows(samples: pa.Table, share: float, seed: int) -> pa.Table:
    """The rows of the groups that are drawn; a sample without a group is one by itself.

    >>> rows = pa.table({"id": ["a", "b", "c", "d"], GROUP: ["p", "q", "p", "q"]})
    >>> drawn_rows(rows, 0.5, seed=3)["id"].to_pylist()
    ['a', 'c']
    """
    units, key = pc.unique(_units(samples)), seed.to_bytes(8, "little")
    digests = (
        blake2b(unit.encode(), digest_size=8, key=key, person=b"assay.share").digest() for unit in units.to_pylist()
    )
    hashes = np.frombuffer(b"".join(digests), dtype="<u8")
    drawn = units.filter(pa.array(hashes < int(share * 2.0**64)))
    return samples.filter(pc.is_in(_units(samples), value_set=drawn))


def _units(samples: pa.Table) -> pa.ChunkedArray:
    """What is drawn or not as one: the group, where there is none the document, else the id."""
    ids = pc.binary_join_element_wise("i", samples["id"].cast(pa.string()), "\0")
    column = next((name for name in (GROUP, DOCUMENT) if name in samples.column_names), None)
    if column is None or pa.types.is_nested(samples.schema.field(column).type):
        return ids
    return pc.coalesce(pc.binary_join_element_wise("g", samples[column].cast(pa.string()), "\0"), ids)


@stage(version=1, title="sample", draws=True)
def draw_share(samples: Artifact[Samples], share: float) -> Artifact[Samples]:
    """The samples whose group the seed draws, cut into partitions as large as those of all samples."""
    seed = stage_seeds().integer(bits=63)
    drawn = map_partitions(drawn_rows, samples, into=Samples, name="drawn", reuse=Reuse(), share=share, seed=seed)
    if not drawn.rows:
        raise InputError(
            f"A sample of {share_in_words(share)} of {samples.rows} samples drew none of them: ask for more, as in "
            f"--sample {min(1.0, max(2 * share, 20 / max(1, samples.rows))):.0%}."
        )
    say(f"{drawn.rows} of {samples.rows} samples drawn ({share_in_words(share)})")
    rows = math.ceil(samples.rows / max(1, samples.partitions))
    return map_partitions(rows_as_they_are, drawn, into=Samples, rows=rows)


def names_paths(settings: Source) -> bool:
    """Whether the source is a table with a column that may name image files."""
    return settings.image is not None and settings.images is None and settings.dataset is None


@stage(version=1, title="image paths")
def keep_paths(source: ResolvedSource, settings: Source) -> Artifact[ImagePaths]:  # noqa: ARG001 - a part of the key
    """The path of every image that the source's table names, by sample; none where it holds the images themselves."""
    reading, files = prepare(source)
    image = reading.layout.image
    if image is None or image.kind != "path":
        say("the table holds the images themselves")
        return write_table(ImagePaths.schema.empty_table(), into=ImagePaths)
    paths = map_pieces(paths_in_piece, plan_pieces(files), into=ImagePaths, reading=reading)
    say(f"{paths.rows} image paths kept")
    return paths


def paths_in_piece(piece: Piece, reading: Reading) -> pa.Table:
    """The ids and the paths of a piece's rows, where both are there."""
    image, layout, tables = reading.layout.image, reading.layout, [ImagePaths.schema.empty_table()]
    assert image is not None
    for span in piece.spans:
        rows = read_span(span, reading, tuple(dict.fromkeys([*([layout.id] if layout.id else []), image.name])))
        table = pa.table([ids_of(rows, layout), rows.table.column(image.name)], schema=ImagePaths.schema)
        tables.append(table.filter(pc.and_(pc.is_valid(table["id"]), pc.is_valid(table["path"]))))
    return pa.concat_tables(tables)


class Settled(NamedTuple):
    """The samples with people's gold in them, what people said of each that they were asked about, and the findings."""

    samples: Artifact[Samples]
    answers: Artifact[PeoplesAnswers]
    findings: Artifact[Findings]


@stage(version=3, title="answers")
def settle_gold(samples: Artifact[Samples], classes: Artifact[Classes], answers: AnswerFiles) -> Settled:
    """The samples whose gold is what people answered, where they did."""
    names = class_names(collect(classes, None))
    if not names or "labels" in columns_in(samples):
        raise InputError(
            f"{answers.label} (gold) gives one class a sample, and these samples have several, or another truth; leave "
            "source.gold out."
        )
    by_sample = answers.read()
    require_classes(by_sample, names, answers.label)
    settled, kept = map_partitions(
        settled_samples, samples, into=(Samples, PeoplesAnswers), by_sample=by_sample, classes=tuple(names)
    )
    table = collect(kept, None)
    counts = Counter(table["outcome"].to_pylist())
    elsewhere = len(by_sample) - table.num_rows
    if elsewhere:
        current_run().notice(
            f"{elsewhere} of the {len(by_sample)} samples that {answers.label} (gold) speaks of are not among "
            "tonight's; an answer finds its sample by its id."
        )
    given = sum(counts[outcome] for outcome in (NEW, CONFIRMED, OVERRULED))
    counted = ", ".join(f"{counts[outcome]} {word}" for outcome, (word, _) in OUTCOMES.items() if counts[outcome])
    say(f"{given} samples have people's gold{f' ({counted})' if counted else ''}")
    return Settled(settled, kept, write_table(findings_table(answer_findings(table)), into=Findings))
