"""What a first audit of some data looks like: the keys of its pipeline, its rules, and why, as one frozen value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from assay.flows.starting.column_roles import Roles
from assay.flows.starting.first_look import Holds, Look, Seen, read_samples
from assay.flows.starting.first_rules import FirstRules, first_rules
from assay.infra.errors import InputError
from assay.tasks.ingest.file_search import SPLITS
from assay.tasks.ingest.settings import Source

RESERVED = ("id", "gold", "labels")
"""Names of columns that mean something inside."""
_LARGEST, _SMALLEST, _DRAWN = 96, 8, 64
"""Pictures with longer sides than the first are drawn to the last; the second is the least that small-cnn takes."""
_AUDITED = 200
_STEPS = 550


@dataclass(frozen=True)
class Line:
    """A key of a pipeline, its value as plain YAML, and a comment."""

    key: str
    value: object
    comment: str = ""


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


def source_settings(look: Look, roles: Roles) -> dict[str, object]:
    """What `source` says of the data."""
    settings = dict(look.address.settings)
    settings[look.address.origin] = look.address.path
    if roles.kind == "images":
        return {**settings, **_pixels(look)}
    for name in ("id", "label", "split", "group"):
        if getattr(roles, name) is not None:
            settings[name] = getattr(roles, name)
    if roles.label is None:
        settings["classes"] = list(roles.classes)
    taken = {roles.id, roles.label, roles.group}
    if look.others or any(column.name in RESERVED and column.name not in taken for column in look.columns):
        kept = [column.name for column in look.columns if column.name not in taken and column.name not in RESERVED]
        settings["features"] = kept
    return settings


def _pixels(look: Look) -> dict[str, object]:
    """How images are brought to one shape, where they are not of one that a small network takes."""
    sides = {side for _, height, width in look.shapes for side in (height, width)}
    same = len({shape[1:] for shape in look.shapes}) == 1
    small = max(sides, default=0) <= _LARGEST and min(sides, default=_SMALLEST) >= _SMALLEST
    pixels: dict[str, object] = {} if same and small else {"size": _DRAWN}
    channels = {shape[0] for shape in look.shapes}
    if len(channels) > 1 or 0 in channels:
        pixels["channels"] = 3
    return {"pixels": pixels} if pixels else {}


def propose(look: Look, roles: Roles, name: str, place: str) -> Proposal:
    """A first audit of the data, which is read as a run would read it; `place` is where pipelines.yaml finds it."""
    source = source_settings(look, roles)
    strict = {name: tuple(value) if isinstance(value, list) else value for name, value in source.items()}
    seen = read_samples(Source.model_validate(strict), Path.cwd())
    source[look.address.origin] = place
    rules = first_rules(seen, roles)
    labelers = ["majority", "snorkel"] if len(rules.rules) > 2 else ["majority"]  # Snorkel's model needs three votes
    lines = (
        Line("source", source),
        Line("labeling", {"functions": "rules.yaml"}, "the rules beside this file: assay rules try rules.yaml"),
        Line("weak_labels", {"labelers": labelers}, "how votes become a label and a confidence"),
        Line("ordering", {"datasets": 5}, "D1 … D5, ever harder"),
        *_audited(look, roles, seen, rules),
    )
    remarks = tuple(_remarks(look, roles, seen, rules))
    return Proposal(name, place, roles, remarks, seen.in_words, lines, tuple(_gates(roles, rules, lines)), rules)


def _audited(look: Look, roles: Roles, seen: Seen, rules: FirstRules) -> Iterator[Line]:
    """The model under audit, what is set apart for it, and what is done to its samples."""
    taught: dict[str, object] = {} if rules.by_gold else {"train_on": "weak"}
    yours = "trained here; your own in its place: docs/bring-your-own.md"
    if roles.kind == "table":
        if roles.numbers:
            subject = {"name": "logistic", "model": "logistic", "features": list(roles.numbers), **taught}
            yield Line("subjects", [subject], yours)
        return
    yield from _evaluation(look, roles)
    if roles.kind == "texts":
        subject = {"name": "small-bert", "classifier": "small-bert", "text": str(roles.text), **taught}
        yield Line("subjects", [subject | {"train": _training(seen.rows)}], yours)
        yield Line("attacks", ["noise"], "typing errors; more: docs/word-attacks.md")
        return
    subject = {"name": "small-cnn", "network": "small-cnn", **taught, "train": _training(seen.rows)}
    yield Line("subjects", [subject], yours)
    pgd = {"eps": [0, "2/255", "8/255"], "steps": 10}
    yield Line("attacks", [{"pgd": pgd}], "how little makes it wrong; more: docs/images.md")
    corruptions = {"perturbations": ["gaussian-noise", "brightness"], "severities": [1, 3], "frames": 7}
    yield Line("corruptions", corruptions, "what cameras do; left out: all perturbations")


def _training(rows: int) -> dict[str, object]:
    """So many epochs that little data is enough steps for a network to learn, and much data not too many.

    >>> _training(300), _training(50_000)
    ({'epochs': 30, 'batch_size': 16}, {'epochs': 6, 'batch_size': 64})
    """
    batch = 16 if rows < 1000 else 32 if rows < 10_000 else 64
    return {"epochs": min(40, max(6, math.ceil(_STEPS * batch / rows))), "batch_size": batch}


def _evaluation(look: Look, roles: Roles) -> Iterator[Line]:
    """What is audited and what trains, where the data has parts under other names; and not all of much data."""
    evaluation: dict[str, object] = {}
    if roles.split is not None:
        column = look.column(roles.split)
        values = look.parts if column is None else column.values
        meant = {SPLITS.get(value.lower(), value): value for value in values}
        audited, trains = meant.get("test") or meant.get("valid"), meant.get("train")
        if audited is None or trains is None:
            raise InputError(
                f"The parts of the data are {', '.join(values)}: one that trains (train) and one that is audited "
                "(test) are needed; name another column with --split, or - for none."
            )
        evaluation |= {"split": audited} if audited != "test" else {}
        evaluation |= {"train": trains} if trains != "train" else {}
    if look.rows > 4 * _AUDITED:
        evaluation["limit"] = _AUDITED
    if evaluation:
        yield Line("evaluation", evaluation, "what is audited; the rest may train")


def _gates(roles: Roles, rules: FirstRules, lines: tuple[Line, ...]) -> Iterator[Line]:
    """Bounds that hold today, and that a worse night does not keep to."""
    least = math.floor(80 * rules.covered) / 100
    comment = f"today {rules.covered:.0%} of the samples have a vote"
    yield Line("", {"finding": "labeling.coverage", "of": "", "at_least": least}, comment)
    if any(line.key == "subjects" for line in lines):
        of = {"of": "gold" if rules.by_gold else "weak", "group": "D5"} if roles.kind == "table" else {}
        change = {"against": "last-passed", "drop_at_most": 0.05}
        yield Line("", {"finding": "subject.accuracy", **of, **change}, "no worse than the last night that passed")


def _remarks(look: Look, roles: Roles, seen: Seen, rules: FirstRules) -> Iterator[str]:
    """What was seen, a sentence each."""
    codes = Counter(seen.samples["gold"].drop_null().to_pylist())
    shares = ", ".join(f"{name} {codes[code]:,}" for code, name in enumerate(seen.classes))
    if roles.kind == "images":
        yield f"{look.rows:,} images in folders of {len(look.classes)} classes: {shares}"
        yield f"Shapes (channels, height, width): {', '.join('×'.join(map(str, shape)) for shape in look.shapes[:5])}"
        return
    kinds = Counter(column.holds for column in look.columns)
    held = ", ".join(f"{kinds[what]} of {what}" for what in get_args(Holds) if kinds[what])
    text = f", text in {roles.text}" if roles.text else ""
    yield f"{look.rows:,} rows, {len(look.columns)} columns ({held}){text}"
    yield f"Label {roles.label}: {shares}" if roles.label else f"No label; classes as given: {', '.join(roles.classes)}"
    yield f"Id {roles.id}, unique" if roles.id else "No column names the rows: they are named by file and line"
    remarks = {
        f"Group {roles.group}: samples of one are never parted, and intervals count groups": roles.group,
        f"Parts by {roles.split}": roles.split,
        f"Left out as suspicious, since they name or count rows: {', '.join(roles.suspects)}": roles.suspects,
        f"Tells the classes apart without a mistake, does it give the answer away? {', '.join(rules.give_away)}": (
            rules.give_away
        ),
        f"Left out, neither numbers nor text: {', '.join(look.others)}": look.others,
    }
    yield from (sentence for sentence, holds in remarks.items() if holds)
