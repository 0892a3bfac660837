"""`assay rules try` and `assay.votes`: what rules say of samples, how they do, and the samples that show it, outside
a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import image_columns
from assay.flows.audits.curation_flow import rulebook_of
from assay.flows.configuration.loading import load_project
from assay.flows.starting.column_roles import NONE, Answers, Question, settle
from assay.flows.starting.first_look import Look, Seen, address_of, first_look, read_samples
from assay.infra.errors import InputError, suggestion
from assay.infra.stages.exact import Seeds
from assay.infra.terminal import columns
from assay.tasks.ingest.settings import Source
from assay.tasks.labeling.rulebook_source import WrittenRulebook, class_codes, recode
from assay.tasks.labeling.rules import ABSTAIN, Rulebook
from assay.tasks.labeling.settings import Labeling, WrittenRules
from assay.tasks.labeling.summary import LabelingCounts, count_votes, labeling_counts
from assay.tasks.labeling.task import AnyRulebook
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.proportions import wilson_of
from assay.tasks.statistics.vote_counts import vote_matrix

if TYPE_CHECKING:
    import pandas as pd


_WRITTEN = (".py", ".yaml", ".yml")


def rulebook_in(file: str | Path) -> AnyRulebook:
    """The rulebook of a `rules.yaml` or `rules.py` (`rules.py:OBJECT`), or one of ours by name."""
    written = str(file)
    place, colon, attribute = written.partition(":")
    path = Path(place).absolute()
    if path.suffix not in _WRITTEN:
        return rulebook_of(Labeling(functions=written), Path.cwd())[0]
    return rulebook_of(Labeling(functions=f"{path.name}{colon}{attribute}"), path.parent)[0]


def cast_votes(
    rulebook: AnyRulebook, samples: pa.Table, only: Collection[str] = ()
) -> tuple[Rulebook, pa.Table, Mapping[str, str]]:
    """The rules (`only` those, if any are named), their votes in the rulebook's codes, and what some raised."""
    book = rulebook.load()
    stranger = next((name for name in only if name not in book.names), None)
    if stranger is not None:
        raise InputError(f"There is no rule {stranger!r} in {book.name}; {suggestion(stranger, book.names)}.")
    if only:
        book = Rulebook(book.name, book.classes, [rule for rule in book.rules if rule.name in only])
    with rulebook.at_work():
        votes, faults = apply_rules(samples, book)
    return book, votes, {name: f"sample {fault.sample}: {fault.message}" for name, fault in faults.items()}


def votes(
    rules: str | Path | Labeling,
    samples: Sequence[Mapping[str, Any]] | pa.Table | pd.DataFrame,
    *,
    only: Collection[str] = (),
) -> pd.DataFrame:
    """What rules say of samples: a column per rule, in it the name of a class, or None where the rule abstains.

    `rules` is a rules.yaml, a rules.py, a rulebook by name, or rules as `labeling` has them. Samples are a data frame,
    an Arrow table, or a list of dictionaries; a picture is an array [channels, height, width] under `image`. `only` the
    rules named there are asked, if any are: samples then need no more than those look at.

    >>> from assay.tasks.labeling.settings import WrittenRule
    >>> written = [WrittenRule(keywords=("win",), vote="spam"), WrittenRule(pattern="song", vote="ham")]
    >>> table = votes(Labeling(rules=tuple(written)), [{"text": "Win a song"}, {"text": "hello"}])
    >>> table["says win"].tolist(), table["matches song"].tolist()
    (['spam', None], ['ham', None])
    """
    rulebook = rulebook_of(rules, Path.cwd())[0] if isinstance(rules, Labeling) else rulebook_in(rules)
    book, table, faults = cast_votes(rulebook, sample_table(samples), only)
    if faults:
        name = min(faults)
        raise InputError(f"The labelling function {name} raised on {faults[name]}.")
    import pandas as pd

    names = dict(enumerate(book.classes))
    return pd.DataFrame(
        {rule: pd.Series([names.get(vote) for vote in table[rule].to_pylist()], dtype=object) for rule in book.names}
    )


def sample_table(samples: Sequence[Mapping[str, Any]] | pa.Table | pd.DataFrame) -> pa.Table:
    """Samples as the table that rules are shown, named by their position where they have no `id`.

    >>> sample_table([{"text": "a"}, {"text": "b"}])["id"].to_pylist()
    ['0', '1']
    """
    if isinstance(samples, pa.Table):
        table = samples
    elif hasattr(samples, "columns"):
        table = pa.Table.from_pandas(samples, preserve_index=False)
    else:
        rows = list(samples)
        plain = [{name: value for name, value in row.items() if name != "image"} for row in rows]
        pictures = [row["image"] for row in rows if "image" in row]
        table = pa.Table.from_pylist([row | {"": None} for row in plain]).drop_columns([""])
        if pictures:
            stacked = np.stack(pictures)
            pixels = stacked if stacked.dtype == np.uint8 else stacked.astype(np.float32)
            table = pa.table({**dict(zip(table.column_names, table.columns, strict=True)), **image_columns(pixels)})
    if "id" not in table.column_names:
        table = table.append_column("id", pa.array([str(row) for row in range(len(table))], pa.string()))
    return table


Why = Literal["votes on", "misses", "stands alone on"]
WHYS: tuple[Why, ...] = ("votes on", "misses", "stands alone on")

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """Rules that have voted: what was counted, which classes each votes for, and the rows that show what it does."""

    counts: LabelingCounts
    classes: tuple[str, ...]
    votes: npt.NDArray[np.int8]  # [n, m]
    gold: npt.NDArray[np.int64]  # [n], -1 where there is none
    faults: Mapping[str, str]

    @property
    def has_gold(self) -> bool:
        """Whether any sample's class is known."""
        return bool((self.gold >= 0).any())

    def rows(self, rule: int, why: Why) -> Rows:
        """The samples that a rule votes on; that it misses: it abstains, and gold, or else another rule, says a class
        that it votes for; or that it alone votes on."""
        voted = self.votes[:, rule] != ABSTAIN
        if why == "votes on":
            return np.flatnonzero(voted)
        if why == "stands alone on":
            return np.flatnonzero(voted & ((self.votes != ABSTAIN).sum(axis=1) == 1))
        speaks_for = np.flatnonzero(self.counts.votes[rule])
        if self.has_gold:
            return np.flatnonzero(~voted & np.isin(self.gold, speaks_for))
        return np.flatnonzero(~voted & np.isin(self.votes, speaks_for).any(axis=1))

    def shown(self, rule: int, why: Why, most: int) -> Rows:
        """At most so many of these, drawn with seed 0, in their order."""
        rows = self.rows(rule, why)
        if len(rows) <= most:
            return rows
        return np.sort(Seeds(0, "samples of rules").generator().choice(rows, most, replace=False))


def try_rules(rulebook: AnyRulebook, samples: pa.Table, classes: tuple[str, ...]) -> Trial:
    """The rules at work on samples, which have `id`, `gold` and what rules look at."""
    book, votes, faults = cast_votes(rulebook, samples)
    votes = recode(votes, class_codes(book.name, book.classes, classes))
    counted = count_votes(votes, samples["gold"], len(classes))
    gold = samples["gold"].fill_null(ABSTAIN).to_numpy().astype(np.int64)
    return Trial(labeling_counts(book.names, counted), classes, vote_matrix(votes), gold, faults)


LONGEST = 100
_SHOWN_COLUMNS = 4
_UNSHOWN = ("id", "gold", "image", "height", "width", "channels", "labels")

HEADINGS = ("rule", "votes for", "coverage", "overlaps", "conflicts", "right by gold")


def table_of_rules(trial: Trial) -> str:
    """A line per rule, and what they come to together."""
    counts, n = trial.counts, max(trial.counts.samples, 1)
    cast = counts.votes.sum(axis=1)
    rows = []
    for at, name in enumerate(counts.functions):
        voted = ", ".join(trial.classes[code] for code in counts.votes[at].nonzero()[0]) or "nothing"
        shares = [f"{int(count) / n:.1%}" for count in (cast[at], counts.overlaps[at], counts.conflicts[at])]
        rows.append([name, voted, *shares, _share_right(int(counts.gold_hits[at]), int(counts.gold_votes[at]))])
    together = (
        f"Of {plural(counts.samples, 'sample')} {counts.covered / n:.1%} have a vote, {counts.overlapped / n:.1%} "
        f"several, {counts.conflicted / n:.1%} votes that conflict."
    )
    raised = [f"{name} raised on {example}" for name, example in sorted(trial.faults.items())]
    return "\n".join([columns(HEADINGS, rows), together, *raised])


def _share_right(hits: int, votes: int) -> str:
    """The share of right votes with Wilson's interval.

    >>> _share_right(9, 10), _share_right(0, 0)
    ('90% [60, 98] of 10', '–')
    """
    if not votes:
        return "–"
    low, high = wilson_of(hits, votes)
    return f"{hits / votes:.0%} [{100 * low:.0f}, {100 * high:.0f}] of {votes:,}"


def samples_of_rules(trial: Trial, samples: pa.Table, written: WrittenRules | None, most: int, masked: bool) -> str:
    """Per rule the samples that it votes on, misses, and stands alone on."""
    looked_at = {} if written is None else {rule.called: rule.columns for rule in written.rules}
    lines = []
    for at, name in enumerate(trial.counts.functions):
        lines.append(f"\n{name}")
        for why in WHYS:
            count, rows = len(trial.rows(at, why)), trial.shown(at, why, most)
            some = f", {len(rows)} of them:" if len(rows) < count else ":" if count else ""
            lines.append(f"  {why} {count:,}{some}")
            for row in rows.tolist():
                gold = "" if trial.gold[row] < 0 else f"  (gold: {trial.classes[trial.gold[row]]})"
                shown = shown_sample(samples, row, looked_at.get(name, ()), masked)
                lines.append(f"    {samples['id'][row].as_py()}{gold}  {shown}".rstrip())
    return "\n".join(lines)


def shown_sample(samples: pa.Table, row: int, looked_at: Sequence[str], masked: bool) -> str:
    """What a person judges a sample by: the columns that the rule looks at, else the first ones. A picture's id is its
    path.

    >>> shown_sample(pa.table({"id": ["a"], "age": [61], "note": ["fell  ill"]}), 0, (), False)
    'age 61 · note fell ill'
    """
    if masked:
        return "(masked)"
    first = [name for name in samples.column_names if name not in _UNSHOWN][:_SHOWN_COLUMNS]
    chosen = [name for name in looked_at if name in samples.column_names] or first
    cells = [(name, " ".join(str(samples[name][row].as_py()).split())) for name in chosen]
    text = " · ".join(f"{name} {cell}" for name, cell in cells)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


SECONDS = 0.3
"""Between two looks at a file that is watched."""


def saves(file: Path, sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:
    """Counts the saves of a file, and of the Python files beside one, for ever; the first is how it is now."""
    known, number = stamps(file), 0
    yield number
    while True:
        sleep(SECONDS)
        now = stamps(file)
        if now != known and now:  # an editor that replaces the file leaves none for a moment
            known, number = now, number + 1
            yield number


def stamps(file: Path) -> dict[str, tuple[int, int]]:
    """When the file, and the modules that it may import, changed last, and how large they are."""
    watched = [file, *sorted(file.parent.glob("*.py"))] if file.suffix == ".py" else [file]
    states = {}
    for path in watched:
        with suppress(OSError):
            state = path.stat()
            states[str(path)] = (state.st_mtime_ns, state.st_size)
    return states if str(file) in states else {}


@dataclass(frozen=True)
class Samples:
    """The source that rules are tried on, from which folder its paths count, and whether its texts are to be hidden."""

    source: Source
    base: Path
    masked: bool = False


def samples_from_data(data: str, label: str | None, identity: str | None) -> Samples:
    """The source behind a path; the label is the column named, or the one that is called like one."""
    address = address_of(data, Path.cwd())
    if address.origin == "images":
        return Samples(Source.model_validate(address.settings), Path.cwd())
    seen = first_look(address, Path.cwd())
    settled = settle(seen, Answers("table", label or _label(seen), ("0", "1"), identity))
    roles = {} if isinstance(settled, Question) else {"id": settled.id, "label": settled.label}
    return Samples(Source.model_validate({**address.settings, **roles}), Path.cwd())


def _label(seen: Look) -> str | None:
    """The label that the columns' names leave no doubt about; none, and no question, where they leave one."""
    settled = settle(seen, Answers("table"))
    return NONE if isinstance(settled, Question) else settled.label


def samples_of_pipeline(config: str, name: str) -> Samples:
    """The source of a pipeline."""
    project = load_project(config, pipeline=name)
    pipeline = project.pipeline(name)
    return Samples(pipeline.source, project.folder, pipeline.masked)


class Session:
    """Rules in a file, and samples, which are read when they are first needed."""

    def __init__(self, rules: str, samples: Samples, show: int) -> None:
        self._rules, self._samples, self._show = rules, samples, show
        self._seen: Seen | None = None
        self._read_from = samples.source

    def say(self) -> str:
        """What the rules, as they are now, do on the samples."""
        rulebook = rulebook_in(self._rules)
        seen = self._read(rulebook.load().classes)
        trial = try_rules(rulebook, seen.samples, seen.classes)
        written = rulebook.written if isinstance(rulebook, WrittenRulebook) else None
        gold = "" if trial.has_gold else " · no gold: name its column with --label"
        parts = [f"{self._rules} on {seen.in_words}{gold}", table_of_rules(trial)]
        if self._show:
            parts.append(samples_of_rules(trial, seen.samples, written, self._show, self._samples.masked))
        return "\n".join(parts)

    def _read(self, classes: tuple[str, ...]) -> Seen:
        """The samples; where nothing says which classes there are, those are the rules'."""
        source = self._samples.source
        if not any((source.label, source.classes, source.images, source.dataset, source.labels)):
            source = source.model_copy(update={"classes": classes})
        if self._seen is None or self._read_from != source:
            self._seen, self._read_from = read_samples(source, self._samples.base), source
        return self._seen


def require_file(rules: str) -> Path | None:
    """The file that is watched; None where the rulebook is one by name."""
    path = Path(place := rules.partition(":")[0]).absolute()
    if path.suffix not in _WRITTEN:
        return None
    if not path.is_file():
        raise InputError(f"There is no file {place} with rules: name a rules.yaml or a rules.py.")
    return path
