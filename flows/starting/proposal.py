"""What a first audit of some data looks like: the keys of its pipeline, its rules, and why, as one frozen value."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import pyarrow.compute as pc
from pydantic import ValidationError

from assay.flows.starting.brought_model import CORRUPTIONS, NOISE, Brought, Line, seen_of, within
from assay.flows.starting.column_roles import Roles, chances_in
from assay.flows.starting.first_look import Holds, Look, Seen, read_samples
from assay.flows.starting.first_rules import FirstRules, first_rules, give_aways
from assay.infra.errors import InputError
from assay.tasks.ingest.file_search import SPLIT, SPLITS
from assay.tasks.ingest.settings import Source
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.order_test import FEWEST_CLUSTERS
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject

RESERVED = ("id", "gold", "labels")
"""Names of columns that mean something inside."""
_LARGEST, _SMALLEST, _DRAWN = 96, 8, 64
"""Pictures with longer sides than the first are drawn to the last; the second is the least that small-cnn takes."""
_AUDITED, _SLICES, _LONG = 200, 4, 80
_COMING_BACK = 0.05
_STEPS = 550


@dataclass(frozen=True)
class Proposal:
    """A first audit: what was seen, the lines of its pipeline, its rules."""

    name: str
    data: str
    roles: Roles
    seen: tuple[str, ...]
    looked_at: str
    lines: tuple[Line, ...]
    gates: tuple[Line, ...]
    rules: FirstRules
    brought: Brought | None = None

    @property
    def in_short(self) -> list[tuple[Line, str]]:
        """Every key of the pipeline, with its value in one line."""
        shown = {"labeling": f"{len(self.rules.rules)} rules found in the data"}
        return [(line, shown.get(line.key) or json.dumps(line.value, ensure_ascii=False)) for line in self.lines]


def source_settings(look: Look, roles: Roles, brought: Brought | None = None) -> dict[str, object]:
    """What `source` says of the data."""
    settings = dict(look.address.settings)
    settings[look.address.origin] = look.address.path
    if look.address.origin == "dataset":
        return settings
    if roles.kind == "images":
        return {**settings, **_pixels(look, brought)}
    for name in ("id", "label", "split", "group"):
        if getattr(roles, name) is not None:
            settings[name] = getattr(roles, name)
    label = look.column(roles.label or "")
    values = set[str]() if label is None else {*label.values}
    if roles.predicted:
        settings["score"] = settings.pop("label")
    elif label is None:
        settings["classes"] = list(roles.classes)
    elif (
        brought is not None
        and len(brought.classes) > 1
        and (values <= set(map(str, range(len(brought.classes)))) or values < set(brought.classes))
    ):
        settings["classes"] = list(brought.classes)
    elif label.holds == "numbers" and sorted(label.values) != [str(code) for code in range(label.distinct)]:
        settings["classes"] = sorted(label.values, key=int)  # its values are names: 1 and 2 are two classes, not three
    taken = {roles.id, roles.label, roles.group}
    if look.others or any(column.name in RESERVED and column.name not in taken for column in look.columns):
        kept = [column.name for column in look.columns if column.name not in taken and column.name not in RESERVED]
        settings["features"] = kept
    return settings


def _pixels(look: Look, brought: Brought | None) -> dict[str, object]:
    """How images are brought to one shape: to what a model sees, else where they are not of one shape that a small
    network takes."""
    side, seen = (None, None) if brought is None else (brought.side, brought.channels)
    sides = {side for _, height, width in look.shapes for side in (height, width)}
    same = len({shape[1:] for shape in look.shapes}) == 1
    small = max(sides, default=0) <= _LARGEST and min(sides, default=_SMALLEST) >= _SMALLEST
    fits = same and (sides == {side} if side else small)
    pixels: dict[str, object] = {} if fits else {"size": side or _DRAWN}
    channels = {shape[0] for shape in look.shapes}
    if len(channels) > 1 or 0 in channels or seen not in (None, *channels):
        pixels["channels"] = seen or 3
    return {"pixels": pixels} if pixels else {}


def propose(
    look: Look, roles: Roles, name: str, place: str, brought: Brought | None = None, seconds: float = math.inf
) -> Proposal:
    """A first audit of the data, which is read as a run would read it; `place` is where pipelines.yaml finds it. Of a
    model that is `brought` it takes about so many `seconds`."""
    source = source_settings(look, roles, brought)
    seen = read_samples(Source.model_validate_json(json.dumps(source)), Path.cwd())
    source[look.address.origin] = place
    theirs = brought is None and roles.predictions is not None
    if (theirs or (brought is not None and roles.kind == "table")) and (judging := _judging(seen, roles)):
        source["gold_in"] = [judging]
    away = () if roles.predicted else give_aways(seen, roles)
    numbers, words = ([name for name in names if name not in away] for names in (roles.numbers, roles.words))
    roles = replace(roles, numbers=tuple(numbers), words=tuple(words), give_away=away)
    rules = FirstRules((), (), 0.0, by_gold=False) if roles.predicted else first_rules(seen, roles)
    audited = _audited(look, roles, seen, rules) if brought is None else _brought(brought, roles, seen, rules, seconds)
    lines = (Line("source", source), *_curated(rules, brought is None, roles.group is not None), *audited)
    if not any(line.key in ("labeling", "subjects") for line in lines):
        raise InputError(
            f"Nothing of {look.address.path} can be audited as it is: no column of numbers or texts is left for a "
            f"model, and no rule was right more often than one answer. {_of_nearly_numbers(look, '. ')}Name another "
            "column with --label, or bring a model of your own (docs/bring-your-own.md)."
        )
    remarks = tuple(_remarks(look, roles, seen, rules, brought))
    gates = tuple(_gates(roles, rules, lines, theirs))
    return Proposal(name, place, roles, remarks, seen.in_words, lines, gates, rules, brought)


def _curated(rules: FirstRules, in_file: bool, grouped: bool) -> Iterator[Line]:
    """What makes weak labels and an order of them, where there are rules: in a file of their own, or in place."""
    if not rules.rules:
        return
    labelers = ["majority", "snorkel"] if len(rules.rules) > 2 else ["majority"]  # Snorkel's model needs three votes
    written = [rule.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True) for rule in rules.rules]
    labeling: dict[str, object] = {"functions": "rules.yaml"}
    comment = "the rules beside this file: assay rules try rules.yaml"
    if not in_file:
        labeling, comment = {"classes": list(rules.classes), "rules": written}, "found in the data: write your own"
    yield Line("labeling", labeling, comment)
    yield Line("weak_labels", {"labelers": labelers}, "how votes become a label and a confidence")
    if grouped or 2 ** len(rules.rules) >= FEWEST_CLUSTERS:  # else too few patterns of votes for its test
        yield Line("ordering", {"datasets": 5}, "D1 … D5, ever harder")


def _brought(brought: Brought, roles: Roles, seen: Seen, rules: FirstRules, seconds: float) -> Iterator[Line]:
    """The model that a person brings, and what is done to its samples in the time allowed."""
    subject = brought.subject(roles, seen.classes)
    if brought.what.endswith("trained here"):
        subject |= {"train": _training(seen.rows)}
    # What is wrong with it is said before all else.
    try:
        resolve_subject(Subject.model_validate_json(json.dumps(subject)), brought.beside.absolute())
    except ValidationError as error:
        said = [" ".join((*map(str, one["loc"]), one["msg"].removeprefix("Value error, "))) for one in error.errors()]
        raise InputError(f"{brought.written}: {'; '.join(said)}.") from error
    steps = {line.key: line for line in within(seconds, brought, roles.kind)}
    if (held := steps.pop("evaluation", None)) is not None and isinstance(held.value, dict):
        parts = {} if "train" in subject or roles.split else {"holdout": held.value["holdout"]}
        yield Line("evaluation", {**parts, **dict(_of_parts(seen, roles)), "limit": held.value["limit"]}, held.comment)
    yield Line("subjects", [subject])
    yield from steps.values()
    if roles.kind == "table":
        yield from _slices(roles, rules)
    yield Line("budget", f"{math.ceil(seconds)}s", "what is not begun by then is left to the next run")


_YOURS = "trained here; your own in its place: docs/bring-your-own.md"


def _audited(look: Look, roles: Roles, seen: Seen, rules: FirstRules) -> Iterator[Line]:
    """The models under audit, what is set apart for them, and what is done to their samples."""
    taught: dict[str, object] = {} if rules.by_gold else {"train_on": "weak"}
    logistic = {"name": "logistic", "model": "logistic", "features": list(roles.numbers), **taught}
    if roles.predictions is not None:
        theirs = {"name": "theirs", "predictions": roles.predictions}
        yield Line("subjects", [theirs], "what another model said; a model itself in its place: docs/bring-your-own.md")
        yield from _slices(roles, rules)
        return
    yield from _evaluation(look, roles, seen)
    if roles.kind == "table":
        if roles.numbers:
            yield Line("subjects", [logistic], _YOURS)
        yield from _slices(roles, rules)
        return
    if roles.kind == "texts":
        subject = {"name": "small-bert", "classifier": "small-bert", "text": str(roles.text), **taught}
        subject |= {"train": _training(seen.rows)}
        yield Line("subjects", [subject, logistic] if roles.numbers else [subject], _YOURS)
        yield NOISE
        return
    subject = {"name": "small-cnn", "network": "small-cnn", **taught, "train": _training(seen.rows)}
    yield Line("subjects", [subject], _YOURS)
    pgd = {"eps": [0, "2/255", "8/255"], "steps": 10}
    yield Line("attacks", [{"pgd": pgd}], "how little makes it wrong; more: docs/images.md")
    yield CORRUPTIONS


def _slices(roles: Roles, rules: FirstRules) -> Iterator[Line]:
    """The first columns of words, in whose values a model may be less right than elsewhere."""
    if (roles.numbers or roles.predictions) and roles.words and rules.by_gold:
        yield Line("slices", {"columns": list(roles.words[:_SLICES])}, "where it is less right than elsewhere")


def _training(rows: int) -> dict[str, object]:
    """So many epochs that little data is enough steps for a network to learn, and much data not too many.

    >>> _training(300), _training(50_000)
    ({'epochs': 30, 'batch_size': 16}, {'epochs': 6, 'batch_size': 64})
    """
    batch = 16 if rows < 1000 else 32 if rows < 10_000 else 64
    return {"epochs": min(40, max(6, math.ceil(_STEPS * batch / rows))), "batch_size": batch}


def _evaluation(look: Look, roles: Roles, seen: Seen) -> Iterator[Line]:
    """What is audited and what trains: by parts that the data has, else by its dates; and not all of much data."""
    evaluation: dict[str, object] = {}
    if since := _since(roles, seen):
        evaluation |= {"column": roles.day, "since": since}
    if roles.kind != "table":
        evaluation |= dict(_of_parts(seen, roles))
    if look.rows > 4 * _AUDITED and roles.kind != "table":
        evaluation["limit"] = _AUDITED
    if evaluation:
        yield Line("evaluation", evaluation, "what is audited; the rest may train")


def _of_parts(seen: Seen, roles: Roles) -> Iterator[tuple[str, object]]:
    """Which parts of the data are audited and train, where they are called otherwise than test and train."""
    if roles.split is None:
        return
    meant = _parts(seen, roles.split)
    audited, trains = _judging(seen, roles), meant.get("train")
    if audited is None or trains is None:
        raise InputError(
            f"The parts of the data are {', '.join(sorted(meant.values()))}: one that trains (train) and one that is "
            "audited (test) are needed; name another column with --split, or - for none."
        )
    yield from (("split", audited),) if audited != "test" else ()
    yield from (("train", trains),) if trains != "train" else ()


def _parts(seen: Seen, split: str) -> dict[str, str]:
    """The values of the column of parts, by what they mean: train, valid or test."""
    column = split if split in seen.samples.column_names else SPLIT
    values = sorted(str(value) for value in seen.samples[column].drop_null().unique().to_pylist())
    return {SPLITS.get(value.lower(), value): value for value in values}


def _judging(seen: Seen, roles: Roles) -> str | None:
    """The part whose samples no model learned from, where the data have one."""
    meant = {} if roles.split is None else _parts(seen, roles.split)
    return meant.get("test") or meant.get("valid")


def _since(roles: Roles, seen: Seen) -> str | None:
    """The day from which the latest quarter of the samples stands, as their column writes it; None where dates cannot
    be told apart by comparing them, where there is nothing to train or to judge by, or where groups come back: of a
    customer who is there before and after, what is measured after is no measure of new ones."""
    if roles.day is None or roles.label is None:
        return None
    days = [str(day) for day in seen.samples[roles.day].drop_null().to_pylist()]
    since = sorted(days)[3 * len(days) // 4][:10] if days else ""
    if not re.fullmatch(r"\d{4}[-/]\d{2}[-/]\d{2}", since) or min(days) >= since:
        return None
    if roles.group is not None:
        dated = seen.samples.filter(pc.is_valid(seen.samples[roles.day]))[GROUP].to_pylist()
        early = {group for group, day in zip(dated, days, strict=True) if day < since}
        late = {group for group, day in zip(dated, days, strict=True) if day >= since}
        if len(early & late) > _COMING_BACK * len(early | late):
            return None
    return since


def _gates(roles: Roles, rules: FirstRules, lines: tuple[Line, ...], theirs: bool) -> Iterator[Line]:
    """Bounds that hold today, and that a worse night does not keep to; `theirs` are predictions in a column."""
    if rules.rules:
        least = math.floor(80 * rules.covered) / 100
        comment = f"today {rules.covered:.0%} of the samples have a vote"
        yield Line("", {"finding": "labeling.coverage", "of": "", "at_least": least}, comment)
    if any(line.key == "subjects" for line in lines):
        by_day = any(
            "since" in line.value for line in lines if line.key == "evaluation" and isinstance(line.value, dict)
        )
        along = (roles.kind == "table" or theirs) and any(line.key == "ordering" for line in lines) and not by_day
        measured = {"finding": "subject.balanced_accuracy", "of": "clean"}
        if along:
            measured = {**measured, "of": "gold", "group": "D5"}
        if not rules.by_gold and along:
            measured = {"finding": "subject.accuracy", "of": "weak", "group": "D5"}
        worse = "no worse than the last night that passed, every class counting alike"
        if roles.predicted:
            measured, worse = {"finding": "regression.r2", "of": "clean"}, "no worse than the last night that passed"
        yield Line("", {**measured, "against": "last-passed", "drop_at_most": 0.05}, worse)


def _remarks(look: Look, roles: Roles, seen: Seen, rules: FirstRules, brought: Brought | None) -> Iterator[str]:
    """What was seen, a sentence each."""
    if brought is not None:
        yield seen_of(brought)
        empty = [column.name for column in look.columns if column.missing and column.name in brought.features]
        if look.address.origin == "csv" and (words := sorted({*empty} & {*roles.words})):
            learned = "if it learned that they are missing, as pandas reads them, give Parquet"
            yield f"Empty cells of {', '.join(words)} are empty texts to it; {learned}"
        if roles.split is None and not brought.what.endswith("trained here"):
            yield "No part is named train or test: what the model learned from, if it is here, is audited like the rest"
    gold = seen.samples["gold"]
    codes = Counter(gold.drop_null().to_pylist())
    shares = ", ".join(f"{name} {codes[code]:,}" for code, name in enumerate(seen.classes))
    if roles.kind == "images":
        yield f"{look.rows:,} images in folders of {len(look.classes)} classes: {shares}"
        sizes = [f"{channels or 'any'}×{height}×{width}" for channels, height, width in look.shapes]
        more = f" and {len(sizes) - 5} more" if len(sizes) > 5 else ""
        yield f"Shapes (channels, height, width): {', '.join(sizes[:5])}{more}"
        yield from _remarks_on_rejects(seen)
        yield from _remarks_on_rules(rules)
        return
    kinds = Counter(column.holds for column in look.columns)
    held = ", ".join(f"{kinds[what]} of {what}" for what in get_args(Holds) if kinds[what])
    text = f", text in {roles.text}" if roles.text else ""
    yield f"{look.rows:,} rows, {len(look.columns)} columns ({held}){text}"
    yield from _remarks_on_rejects(seen)
    label = (
        f"Label {roles.label}: {shares}" if roles.label else f"No label; classes as given: {', '.join(roles.classes)}"
    )
    yield f"Predicted: {roles.label}" if roles.predicted else label
    if roles.label and len(gold) and not roles.predicted:
        most = max(codes.values(), default=0) / max(sum(codes.values()), 1)
        missing = f"; without a label, judging nothing: {plural(gold.null_count, 'row')}" if gold.null_count else ""
        yield f"One answer for all is right on {most:.1%}{missing}"
    yield f"Id {roles.id}, unique" if roles.id else "No id: rows are named by file and line"
    group = look.column(roles.group or "")
    if group is not None:
        repeats = f" ({group.distinct:,} in {look.looked_at:,} rows)"
        whole = "" if roles.split else "samples of one are never parted, and "
        yield f"Group {roles.group}{repeats}: {whole}intervals count groups"
    if roles.split:
        judging = _judging(seen, roles) if brought is not None and roles.kind == "table" else None
        yield f"Parts by {roles.split}" + (f": only those in {judging} judge the model" if judging else "")
    if data := [column.name for column in look.columns if len(column.name) > _LONG or column.name.isdecimal()]:
        yield f"The first line is taken for names of columns; write them above it where it is a row: {', '.join(data)}"
    if nearly := _of_nearly_numbers(look):
        yield nearly
    if roles.predictions is not None and brought is None:
        chances = [name for name in chances_in(look.columns) if name not in (roles.label, roles.id, roles.group)]
        beside = f"; no rule looks at {', '.join(chances)}" if chances else ""
        yield f"Predictions in {roles.predictions}: they are audited, and nothing is trained{beside}"
    elif brought is None and (since := _since(roles, seen)):
        yield f"Dates in {roles.day}: rows before {since} train, those from then on are audited"
    if brought is None and roles.kind == "table" and roles.numbers and roles.words and roles.predictions is None:
        yield f"The model trained here looks at numbers alone: rules and slices look at {', '.join(roles.words[:6])}"
    left_out = {
        "they name or count rows": roles.suspects,
        "each tells the classes by itself: another name of the label, or known only after it": roles.give_away,
        "infinite in some row, which no model takes": [each.name for each in look.columns if each.holds == "other"],
        "neither numbers nor words": look.others,
    }
    yield from (f"Left out: {', '.join(names)} ({why})" for why, names in left_out.items() if names)
    yield from _remarks_on_rules(rules)


def _of_nearly_numbers(look: Look, end: str = "") -> str:
    names = ", ".join(look.nearly_numbers)
    return f"Read as words, as not all of their cells are numbers (1,5 is none, 1.5 is): {names}{end}" if names else ""


def _remarks_on_rejects(seen: Seen) -> Iterator[str]:
    """How many rows are no samples, with the first of them."""
    if out := seen.rejects.num_rows:
        yield f"{out:,} of them {'does' if out == 1 else 'do'} not fit and will be rejected, first {seen.first_reject}"


def _remarks_on_rules(rules: FirstRules) -> Iterator[str]:
    """Which rules were kept, where labels could say so."""
    tried = len(rules.rules) + len(rules.dropped)
    if rules.by_gold and not rules.rules:
        best = f"; the best: {rules.dropped[0].rule.called} {rules.dropped[0].how}" if rules.dropped else ""
        why = f"no two classes have one that is right more often than one answer ({tried} tried{best})"
        yield f"No rule is proposed: {why}"
    elif rules.dropped:
        yield f"{len(rules.dropped)} of {tried} rules were no better than one answer and are left out"
